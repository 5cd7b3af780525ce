//! What the figures rest on: who took part, whether all answered alike, which blocks count, and what warns.

use std::fmt::Write;

use crate::{
    escape::html,
    record::{Agreement, Record, RuleCount, Softirq, Validity},
};

/// Lines of a list that are shown at once; more are folded.
const SHOWN_MAX: usize = 5;

pub fn notes(page: &mut String, record: &Record) {
    if record.notes.is_empty() {
        return;
    }
    page.push_str(
        "<section class=\"notes\" role=\"note\" aria-label=\"Warnings\">\n<h2>Read this first</h2>\n<ul>\n",
    );
    for note in &record.notes {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "<li>{}</li>", html(note));
    }
    page.push_str("</ul>\n</section>\n");
}

pub fn contenders(page: &mut String, record: &Record) {
    page.push_str("<div class=\"ground\">\n<h3>Who took part</h3>\n");
    if record.contenders.is_empty() {
        page.push_str("<p>Nobody.</p>\n");
    }
    for contender in &record.contenders {
        let _ = writeln!(
            page,
            "<details class=\"contender\"><summary><b>{}</b> <span class=\"version\">{}</span></summary>",
            html(&contender.name),
            html(&contender.version)
        );
        if !contender.command.is_empty() {
            let _ = writeln!(page, "<pre tabindex=\"0\">{}</pre>", html(&contender.command.join(" ")));
        }
        if !contender.settings.trim().is_empty() {
            let _ = writeln!(page, "<pre tabindex=\"0\">{}</pre>", html(contender.settings.trim_end()));
        }
        page.push_str("</details>\n");
    }
    page.push_str("</div>\n");
}

pub fn agreement(page: &mut String, record: &Record) {
    page.push_str("<div class=\"ground\">\n<h3>Whether all answer alike</h3>\n");
    if record.agreement.is_empty() {
        page.push_str("<p>Answers were not compared.</p>\n</div>\n");
        return;
    }
    page.push_str(
        "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">contender</th><th scope=\"col\">asked</th>\
         <th scope=\"col\">equal</th><th scope=\"col\">different</th></tr></thead>\n<tbody>\n",
    );
    for Agreement { contender, asked, equal, .. } in &record.agreement {
        let different = asked.saturating_sub(*equal);
        let class = if different > 0 { " class=\"bad\"" } else { "" };
        let _ = writeln!(
            page,
            "<tr><th scope=\"row\">{}</th><td>{asked}</td><td>{equal}</td><td{class}>{different}</td></tr>",
            html(contender)
        );
    }
    page.push_str("</tbody></table></div>\n");
    for Agreement { contender, differences, .. } in &record.agreement {
        if !differences.is_empty() {
            let _ = writeln!(
                page,
                "<details><summary>How {} differs</summary>\n<pre tabindex=\"0\">{}</pre></details>",
                html(contender),
                html(&differences.join("\n"))
            );
        }
    }
    page.push_str("</div>\n");
}

pub fn blocks(page: &mut String, record: &Record) {
    let blocks = &record.blocks;
    let discarded = blocks.discarded.len();
    page.push_str("<div class=\"ground\">\n<h3>Which blocks count</h3>\n");
    let _ = writeln!(
        page,
        "<p>{} of {} blocks count{}</p>",
        blocks.kept,
        blocks.kept + discarded,
        if discarded > 0 { "; the others were discarded:" } else { "." }
    );
    list(page, &blocks.discarded, "discarded");
    rules(page, &record.validity);
    page.push_str("</div>\n");
}

/// What each rule came to, and how quiet the machine was.
fn rules(page: &mut String, validity: &Validity) {
    if !validity.rules.is_empty() {
        page.push_str(
            "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">rule</th><th scope=\"col\">bound</th>\
             <th scope=\"col\">broken</th><th scope=\"col\">made again</th><th scope=\"col\">discarded</th></tr></thead>\n\
             <tbody>\n",
        );
        for RuleCount { rule, bound, broken, again, discarded } in &validity.rules {
            let _ = writeln!(
                page,
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{broken}</td><td>{again}</td><td>{discarded}</td></tr>",
                html(rule),
                html(bound)
            );
        }
        let _ = writeln!(page, "</tbody></table></div>\n<p class=\"caption\">Of {} runs.</p>", validity.runs);
    }
    if let Some(quietness) = &validity.quietness {
        let _ = writeln!(page, "<p>{}</p>", html(&quietness.words()));
    }
    if !validity.softirq.is_empty() {
        let core = |Softirq { core, of, seconds }: &Softirq| format!("core {core} ({of}) {seconds:.1} s");
        let cores: Vec<String> = validity.softirq.iter().map(core).collect();
        let _ = writeln!(
            page,
            "<p>Time in soft interrupts, which receiving is most of: {}.</p>",
            html(&cores.join(", "))
        );
    }
}

/// The first lines, the others folded.
fn list(page: &mut String, lines: &[String], what: &str) {
    let (first, rest) = lines.split_at(lines.len().min(SHOWN_MAX));
    let items = |page: &mut String, lines: &[String]| {
        page.push_str("<ul>\n");
        for line in lines {
            let _ = writeln!(page, "<li>{}</li>", html(line));
        }
        page.push_str("</ul>\n");
    };
    if !first.is_empty() {
        items(page, first);
    }
    if !rest.is_empty() {
        let _ = writeln!(page, "<details><summary>{} more {what}</summary>", rest.len());
        items(page, rest);
        page.push_str("</details>\n");
    }
}
