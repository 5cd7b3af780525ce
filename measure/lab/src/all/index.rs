//! The page of a run of recipes: each with its verdicts, and a link to its report.

use std::fmt::Write;

use super::{
    All, Entry, State,
    text::{form, hours, state, verdict},
};
use crate::{escape::html, file::REPORT, report};

/// Name of the page in the folder of all results.
pub const INDEX: &str = "index.html";

/// The whole page.
pub fn page(all: &All) -> String {
    report::plain("All recipes", |page| {
        let commit = if all.commit.is_empty() { "unknown" } else { &all.commit };
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "<header>\n<p class=\"recipe\">lab · all</p>\n<h1>All recipes, {}</h1>\n<p class=\"when\">Commit {}. Left: about \
             {}.</p>\n</header>\n<section>",
            form(all.form),
            html(commit),
            hours(all.seconds_left())
        );
        report::open_table(page, "recipes");
        page.push_str(
            "<th scope=\"col\">recipe</th><th scope=\"col\" class=\"prose\">what</th><th scope=\"col\">state</th>\
             <th scope=\"col\">begun</th><th scope=\"col\">took</th><th scope=\"col\" class=\"prose\">verdicts</th>\
             </tr></thead>\n<tbody>\n",
        );
        all.entries.iter().for_each(|entry| row(page, entry));
        page.push_str("</tbody></table></div>\n</section>\n");
    })
}

fn row(page: &mut String, entry: &Entry) {
    let name = html(&entry.recipe.name);
    let linked = match entry.record() {
        Some(_) => format!("<a href=\"{name}/{REPORT}\">{name}</a>"),
        None => name,
    };
    let (begun, took, said) = match (&entry.state, entry.record()) {
        (_, Some(record)) => {
            (report::date(&record.started), report::duration(record.seconds), verdict(record))
        }
        (State::Failed(why), _) => ("–".to_owned(), "–".to_owned(), why.clone()),
        (..) => ("–".to_owned(), format!("about {}", hours(entry.seconds)), String::new()),
    };
    let class = if matches!(entry.state, State::Failed(_)) { " class=\"bad\"" } else { "" };
    let _ = writeln!(
        page,
        "<tr><th scope=\"row\">{linked}</th><td class=\"prose\">{}</td><td{class}>{}</td><td>{}</td><td>{}</td>\
         <td class=\"prose\">{}</td></tr>",
        html(&entry.recipe.title),
        state(entry),
        html(&begun),
        html(&took),
        html(&said)
    );
}
