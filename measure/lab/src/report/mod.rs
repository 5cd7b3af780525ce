//! The report of an experiment: one HTML file that needs nothing else. It has no script and loads nothing, and a policy
//! at its head says so to the browser: what a server says of itself could not do harm even if it came through.
//!
//! * `parts`: contenders, agreement, blocks, notes. * `tables`: figures, tables, charts, and what was published.
//! * `beside`: ours and what was published in one row. * `quiet`: how quiet the machine was for each figure.

mod beside;
mod parts;
mod quiet;
mod tables;

use std::{fmt::Write, path::Path};

use crate::{
    chart,
    escape::html,
    file::{self, Error},
    machine,
    record::Record,
};

pub(crate) use tables::open_table;

const STYLE: &str = include_str!("style.css");

/// Writes `report.html` into the directory of the result.
pub fn write(directory: &Path, record: &Record) -> Result<(), Error> {
    file::write(directory, file::REPORT, &page(record))
}

/// Writes the report of an old record anew. `path`: the directory of the result, or the record in it.
pub fn rewrite(path: &Path) -> Result<Record, Error> {
    let record = file::read(path)?;
    let directory = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
    write(directory, &record)?;
    Ok(record)
}

/// The whole page.
pub fn page(record: &Record) -> String {
    let mut page = opened(&record.title);
    head(&mut page, record);
    parts::notes(&mut page, record);
    machine_strip(&mut page, record);
    if tables::are_many(record) {
        tables::results(&mut page, record);
        tables::figures(&mut page, record);
    } else {
        tables::figures(&mut page, record);
        tables::results(&mut page, record);
    }
    beside::section(&mut page, record);
    page.push_str("<section>\n<h2>What the figures rest on</h2>\n<div class=\"grounds\">\n");
    parts::contenders(&mut page, record);
    parts::agreement(&mut page, record);
    parts::blocks(&mut page, record);
    page.push_str("</div>\n</section>\n</main>\n");
    foot(&mut page, record);
    page.push_str("</body>\n</html>\n");
    page
}

/// A page of the same looks around what `body` writes.
pub(crate) fn plain(title: &str, body: impl FnOnce(&mut String)) -> String {
    let mut page = opened(title);
    body(&mut page);
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

/// A page up to its content.
fn opened(title: &str) -> String {
    let mut page = String::with_capacity(64 << 10);
    // Writing to a string cannot fail.
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{} – zonda-bench lab</title>\n<style>\n{}{STYLE}</style>\n</head>\n<body>\n<main>\n",
        html(title),
        chart::STYLE
    );
    page
}

fn head(page: &mut String, record: &Record) {
    let _ = writeln!(page, "<header>\n<p class=\"recipe\">lab · {}</p>", html(&record.recipe));
    let _ = writeln!(page, "<h1>{}</h1>", html(&record.title));
    if record.quick {
        page.push_str("<p class=\"badge\">quick run: shows that all works, not how fast</p>\n");
    }
    let _ = writeln!(
        page,
        "<p class=\"when\"><time datetime=\"{}\">{}</time>, took {}</p>",
        html(&record.started),
        html(&date(&record.started)),
        duration(record.seconds)
    );
    page.push_str("<div class=\"method\">\n");
    paragraphs(page, &record.method);
    page.push_str("</div>\n</header>\n");
}

fn machine_strip(page: &mut String, record: &Record) {
    let facts = machine::facts(&record.machine);
    page.push_str("<section class=\"machine\" aria-label=\"Machine\">\n");
    if facts.is_empty() {
        page.push_str("<p>The record does not say what machine this was.</p>\n");
    } else {
        page.push_str("<dl>\n");
        for (name, text) in facts {
            let _ = writeln!(page, "<div><dt>{name}</dt><dd>{}</dd></div>", html(&text));
        }
        page.push_str("</dl>\n");
    }
    if let Ok(all) = serde_json::to_string_pretty(&record.machine)
        && !record.machine.is_null()
    {
        let _ = writeln!(
            page,
            "<details><summary>All that is known of the machine</summary>\n<pre tabindex=\"0\">{}</pre></details>",
            html(&all)
        );
    }
    page.push_str("</section>\n");
}

fn foot(page: &mut String, record: &Record) {
    let _ = writeln!(
        page,
        "<footer>\n<p><code>{}</code></p>\n<p>Begun {}, took {}. Raw results: <a href=\"record.json\">record.json</a>, \
         format {}. Drawn by zonda-bench {}.</p>\n</footer>",
        html(&record.command.join(" ")),
        html(&date(&record.started)),
        duration(record.seconds),
        record.format,
        env!("CARGO_PKG_VERSION")
    );
}

/// Paragraphs apart by empty lines.
fn paragraphs(page: &mut String, text: &str) {
    for paragraph in text.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty()) {
        let _ = writeln!(page, "<p>{}</p>", html(paragraph));
    }
}

/// `2026-11-21T13:04:05Z` as `2026-11-21 13:04 UTC`; anything else as it is.
pub(crate) fn date(started: &str) -> String {
    let parts = started.strip_suffix('Z').and_then(|text| text.split_once('T'));
    match parts.and_then(|(day, time)| Some((day, time.get(..5)?))) {
        Some((day, time)) => format!("{day} {time} UTC"),
        None => started.to_owned(),
    }
}

pub(crate) fn duration(seconds: f64) -> String {
    // Beyond a year somebody set a clock; the cast keeps to the ends of its type.
    let whole = seconds.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, _) => format!("{seconds:.1} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
