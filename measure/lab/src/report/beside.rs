//! Our figures and what was published of the same thing, in one row with their ratio.

use std::fmt::Write;

use super::tables::{figure_cell, open_table};
use crate::{
    escape::html,
    figures, number,
    record::{Beside, Figure, Record},
};

/// A published value and a figure of ours that is of the same thing.
struct Row<'a> {
    source: &'a str,
    published: &'a Beside,
    ours: &'a Figure,
}

impl Row<'_> {
    /// Ours over theirs; `None` where the units differ, or a value is not above 0.
    fn ratio(&self) -> Option<f64> {
        let is_fit =
            self.ours.unit == self.published.unit && self.published.value > 0.0 && self.ours.median > 0.0;
        is_fit.then(|| self.ours.median / self.published.value)
    }
}

/// The rows, where there are some.
pub fn section(page: &mut String, record: &Record) {
    let rows = rows(record);
    if rows.is_empty() {
        return;
    }
    page.push_str(
        "<section>\n<h2>Ours beside what was published</h2>\n<p class=\"caption\">Ratios are of ours to the published \
         value. Rates and times of other machines say how machines have grown; what compares is ratios, shares and octets, \
         as the notes of the sources below tell.</p>\n<figure>\n",
    );
    open_table(page, "Ours beside what was published");
    for head in ["published", "value", "ours", "figure", "ours / published"] {
        // Writing to a string cannot fail.
        let _ = write!(page, "<th scope=\"col\">{head}</th>");
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    let mut before = "";
    for row in &rows {
        // A source stands once, above all that is of it.
        line(page, row, if row.source == before { "" } else { row.source });
        before = row.source;
    }
    page.push_str("</tbody></table></div>\n</figure>\n</section>\n");
}

fn rows(record: &Record) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for source in &record.published {
        for published in &source.beside {
            let is_it = |figure: &&Figure| {
                figure.metric == published.metric
                    && figure.at == published.at
                    && (published.contenders.is_empty() || published.contenders.contains(&figure.contender))
            };
            let figures = record.figures.iter().filter(is_it);
            rows.extend(figures.map(|ours| Row { source: &source.source, published, ours }));
        }
    }
    rows
}

fn line(page: &mut String, row: &Row, source: &str) {
    let Row { published, ours, .. } = row;
    let at = if ours.at.is_empty() { String::new() } else { format!(", {}", ours.at) };
    let source = if source.is_empty() { String::new() } else { format!("<small>{}</small>", html(source)) };
    let signed = |ratio| ours.known().sign().to_owned() + &number::long(ratio);
    let ratio = row.ratio().map_or_else(|| "units differ".to_owned(), signed);
    let _ = writeln!(
        page,
        "<tr><th scope=\"row\">{}{source}</th><td>{}</td><td class=\"prose\">{}<small>{}</small></td><td>{}</td>\
         <td>{ratio}</td></tr>",
        html(&published.what),
        html(&with_unit(number::long(published.value), &published.unit)),
        html(&ours.contender),
        html(&format!("{}{at}", ours.metric)),
        html_cell(ours),
    );
}

/// Median and interval, with the unit where there is one.
fn html_cell(figure: &Figure) -> String {
    match figures::unit_name(&figure.unit) {
        "" => figure_cell(figure),
        unit => format!("{}<small>{}</small>", figure_cell(figure), html(unit)),
    }
}

fn with_unit(number: String, unit: &str) -> String {
    match figures::unit_name(unit) {
        "" => number,
        unit => format!("{number} {unit}"),
    }
}
