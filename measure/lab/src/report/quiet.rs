//! How quiet the machine was for each figure, and where the generator was the limit.

use std::fmt::Write;

use super::tables::open_table;
use crate::{
    escape::html,
    known::Known,
    record::{Figure, Quietness, Record},
};

/// A row: figures of one contender at one place that are of the same runs.
struct Row<'a> {
    first: &'a Figure,
    metrics: Vec<&'a str>,
}

/// A table that unfolds, where the record says something of it.
pub fn section(page: &mut String, record: &Record) {
    let rows = rows(record);
    if rows.is_empty() {
        return;
    }
    page.push_str(
        "<details>\n<summary>How quiet the machine was for each figure, and what the limit was</summary>\n",
    );
    open_table(page, "quietness");
    for head in
        ["of", "figures", "runs", "stolen: median, most", "others: median, most", "known from one side"]
    {
        // Writing to a string cannot fail.
        let _ = write!(page, "<th scope=\"col\">{head}</th>");
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    rows.iter().for_each(|row| line(page, row));
    page.push_str("</tbody></table></div>\n</details>\n");
}

fn rows(record: &Record) -> Vec<Row<'_>> {
    let mut rows: Vec<Row> = Vec::new();
    for figure in
        record.figures.iter().filter(|figure| figure.quietness.is_some() || figure.known() != Known::Exactly)
    {
        let is_same = |row: &&mut Row| {
            let first = row.first;
            let key = |figure: &Figure| (figure.quietness, figure.at_least, figure.at_most);
            (&first.contender, &first.at, key(first)) == (&figure.contender, &figure.at, key(figure))
        };
        match rows.iter_mut().find(is_same) {
            Some(row) => row.metrics.push(&figure.metric),
            None => rows.push(Row { first: figure, metrics: vec![&figure.metric] }),
        }
    }
    rows
}

fn line(page: &mut String, Row { first, metrics }: &Row) {
    let at = if first.at.is_empty() { String::new() } else { format!(", {}", first.at) };
    let share = |(median, most): (f64, f64)| format!("{:.2} %, {:.2} %", median * 100.0, most * 100.0);
    let [runs, stolen, others] = match first.quietness {
        Some(Quietness { runs, stolen, others }) => [runs.to_string(), share(stolen), share(others)],
        None => [(); 3].map(|()| "–".to_owned()),
    };
    let limited = match (first.at_least, first.at_most) {
        (0, 0) => "none".to_owned(),
        (at_least, 0) => format!("{at_least} of {} at least", first.values.len()),
        (0, at_most) => format!("{at_most} of {} at most", first.values.len()),
        (at_least, at_most) => {
            format!("{at_least} of {} at least, {at_most} at most", first.values.len())
        }
    };
    let _ = writeln!(
        page,
        "<tr><th scope=\"row\">{}{}</th><td class=\"prose\">{}</td><td>{runs}</td><td>{stolen}</td><td>{others}</td>\
         <td>{limited}</td></tr>",
        html(&first.contender),
        html(&at),
        html(&metrics.join(", "))
    );
}
