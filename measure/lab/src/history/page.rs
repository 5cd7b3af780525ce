//! A history as a page: a chart for each place, and the table below it.

use std::fmt::Write;

use super::{
    History, Line, Of,
    text::{commit, marks},
};
use crate::{
    escape::html,
    figures,
    known::Known,
    number,
    record::{Chart, Point, Role, Series},
    report,
};

/// Charts on a page; places beyond are in the table alone.
const CHARTS_MAX: usize = 24;

/// The whole page.
pub fn page(history: &History) -> String {
    let title = format!("{} over time", history.recipe);
    report::plain(&title, |page| {
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "<header>\n<p class=\"recipe\">lab · history</p>\n<h1>{}</h1>\n<p class=\"method\">{}, {}. Medians of {} \
             records with their intervals; records differ by more than the program, and what may be claimed of two of \
             them says a comparison.</p>\n</header>",
            html(&title),
            html(&label(history)),
            figures::direction(history.more_is_better),
            history.records.len()
        );
        charts(page, history);
        table(page, history);
    })
}

fn label(history: &History) -> String {
    match figures::unit_name(&history.unit) {
        "" => history.metric.clone(),
        unit => format!("{}, {unit}", history.metric),
    }
}

fn charts(page: &mut String, history: &History) {
    let places = super::distinct(history.lines.iter().map(|line| &*line.at));
    page.push_str("<section>\n<div class=\"charts\">\n");
    for (number, at) in places.iter().take(CHARTS_MAX).enumerate() {
        let chart = chart(history, at);
        let svg = crate::chart::svg(&chart, &format!("history-{number}"));
        let _ = writeln!(page, "<figure>\n<figcaption>{}</figcaption>\n{svg}</figure>", html(&chart.title));
    }
    page.push_str("</div>\n");
    if places.len() > CHARTS_MAX {
        let _ = writeln!(
            page,
            "<p class=\"caption\">{} more places are in the table.</p>",
            places.len() - CHARTS_MAX
        );
    }
    page.push_str("</section>\n");
}

/// A line a contender; records stand at equal distances, in the order of time, as their number in the table says.
fn chart(history: &History, at: &str) -> Chart {
    let series = |line: &Line| Series {
        name: line.contender.clone(),
        role: Role::Measured,
        points: line
            .values
            .iter()
            .enumerate()
            .filter_map(|(number, value)| {
                let value = (*value)?;
                let (low, high) = value.interval.unzip();
                let known = Known::of(value.at_least, value.at_most);
                Some(Point { low, high, known, ..Point::at((number + 1) as f64, value.median) })
            })
            .collect(),
    };
    let title = if at.is_empty() { &history.metric } else { at };
    let lines = history.lines.iter().filter(|line| line.at == at);
    Chart::lines(title, ["record", &label(history)], lines.map(series).collect())
}

fn table(page: &mut String, history: &History) {
    page.push_str(
        "<section>\n<h2>Records</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"records\"><table>\n\
         <thead><tr><th scope=\"col\">record</th>",
    );
    for Of { name, started, .. } in &history.records {
        let _ = write!(
            page,
            "<th scope=\"col\">{}<small>{}</small></th>",
            html(name),
            html(&report::date(started))
        );
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    row(page, "number", history.records.iter().enumerate().map(|(number, _)| (number + 1).to_string()));
    row(page, "commit", history.records.iter().map(|of| html(&commit(&of.commit))));
    row(page, "unlike the newest", history.records.iter().map(|of| html(&marks(of))));
    for line in &history.lines {
        row(
            page,
            &super::text::heading(line),
            line.values.iter().map(|value| value.map_or_else(|| "–".to_owned(), cell)),
        );
    }
    page.push_str("</tbody></table></div>\n</section>\n");
}

fn row(page: &mut String, name: &str, cells: impl Iterator<Item = String>) {
    let _ = write!(page, "<tr><th scope=\"row\">{}</th>", html(name));
    cells.for_each(|cell| page.push_str(&format!("<td>{cell}</td>")));
    page.push_str("</tr>\n");
}

fn cell(value: super::Value) -> String {
    let median = value.text();
    match value.interval {
        Some((low, high)) => format!("{median}<small>{} – {}</small>", number::long(low), number::long(high)),
        None => median,
    }
}
