//! Figures, tables and charts, and beside ours what the recipe's source published.

use std::fmt::Write;

use super::{paragraphs, quiet};
use crate::{
    chart,
    escape::html,
    figures::{self, Column, Grid},
    number,
    record::{Chart, Figure, Published, Record, Role, Table, Text},
};

/// Rows of figures that come before the results.
const ROWS_FIRST_MAX: usize = 40;
/// Charts that stand in one column, beside what was published.
const CHARTS_BESIDE_MAX: usize = 8;
/// Columns from which on a table is set closely.
const DENSE_FROM: usize = 6;

/// The figures that records are compared by.
pub fn figures(page: &mut String, record: &Record) {
    let grids = figures::grids(record);
    if grids.is_empty() {
        return;
    }
    page.push_str(
        "<section>\n<h2>In figures</h2>\n<p class=\"caption\">Medians; below each, in small, the interval that holds the \
         median with 95 % or more, between two of the values in order, where there are six or more. \
         ≥, ≤: some of the values are known from one side only, as the generator was the limit, queries were lost, or nobody \
         waited longer; ?: from none.</p>\n<div class=\"grids\">\n",
    );
    for grid in &grids {
        grid_table(page, grid);
    }
    page.push_str("</div>\n");
    quiet::section(page, record);
    page.push_str("</section>\n");
}

fn grid_table(page: &mut String, grid: &Grid) {
    page.push_str(if grid.columns.len() >= DENSE_FROM { "<figure class=\"dense\">\n" } else { "<figure>\n" });
    // Writing to a string cannot fail.
    if !grid.title.is_empty() {
        let _ = writeln!(page, "<figcaption>{}</figcaption>", html(&grid.title));
    }
    open_table(page, &grid.title);
    let corner = if grid.by_contender { "contender" } else { "" };
    let _ = write!(page, "<th scope=\"col\">{corner}</th>");
    for Column { name, metric } in &grid.columns {
        let _ = write!(page, "<th scope=\"col\">{}", html(name));
        if let Some((unit, more_is_better)) = metric {
            let unit = figures::unit_name(unit);
            let unit = if unit.is_empty() { String::new() } else { format!("{}, ", html(unit)) };
            let _ = write!(page, "<small>{unit}{}</small>", figures::direction(*more_is_better));
        }
        page.push_str("</th>");
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for (name, cells) in &grid.rows {
        let _ = write!(page, "<tr><th scope=\"row\">{}</th>", html(name));
        for cell in cells {
            let _ = write!(page, "<td>{}</td>", cell.map_or_else(|| "–".to_owned(), figure_cell));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n</figure>\n");
}

/// Median, with a mark where it is known from one side only, and below it the interval.
pub fn figure_cell(figure: &Figure) -> String {
    let median = format!("{}{}", figure.known().sign(), number::long(figure.median));
    let median = match &figure.quietness {
        Some(quietness) => format!("<span title=\"{}\">{median}</span>", html(&quietness.words())),
        None => median,
    };
    match figure.interval {
        Some((low, high)) => {
            format!("{median}<small>{} – {}</small>", number::long(low), number::long(high))
        }
        None => median,
    }
}

/// Whether there are too many figures to come before the results: who reads a report wants to know what came of it.
pub fn are_many(record: &Record) -> bool {
    figures::grids(record).iter().map(|grid| grid.rows.len()).sum::<usize>() > ROWS_FIRST_MAX
}

/// Our charts and tables, and beside them what was published; below them where ours are many.
pub fn results(page: &mut String, record: &Record) {
    let has_own = !record.charts.is_empty() || !record.tables.is_empty();
    if !has_own && record.published.is_empty() {
        return;
    }
    let is_wide = record.charts.len() > CHARTS_BESIDE_MAX;
    let class = if record.published.is_empty() || is_wide { "results" } else { "results beside" };
    let _ = writeln!(page, "<section>\n<h2>Results</h2>\n<div class=\"{class}\">\n<div class=\"ours\">");
    if !record.published.is_empty() {
        let is_simulated = |chart: &Chart| chart.series.iter().any(|series| series.role == Role::Simulated);
        let how = if record.charts.iter().any(is_simulated) { "Measured and simulated" } else { "Measured" };
        let _ = writeln!(page, "<h3>{how} here</h3>");
    }
    // Many charts would keep the tables, which say what they mean, from being seen.
    if is_wide {
        record.tables.iter().for_each(|table| self::table(page, table));
        charts(page, &record.charts, "ours");
    } else {
        charts(page, &record.charts, "ours");
        record.tables.iter().for_each(|table| self::table(page, table));
    }
    record.texts.iter().for_each(|text| self::text(page, text));
    page.push_str("</div>\n");
    if !record.published.is_empty() {
        page.push_str(
            "<aside class=\"published-by\" aria-label=\"Published by others\">\n<h3>Published</h3>\n",
        );
        for (place, published) in record.published.iter().enumerate() {
            self::published(page, published, place);
        }
        page.push_str("</aside>\n");
    }
    page.push_str("</div>\n</section>\n");
}

fn published(page: &mut String, published: &Published, place: usize) {
    let _ = writeln!(page, "<article>\n<p class=\"source\"><cite>{}</cite></p>", html(&published.source));
    page.push_str("<div class=\"caption\">\n");
    paragraphs(page, &published.note);
    page.push_str("</div>\n");
    charts(page, &published.charts, &format!("published-{place}"));
    for table in &published.tables {
        self::table(page, table);
    }
    page.push_str("</article>\n");
}

fn charts(page: &mut String, charts: &[Chart], id: &str) {
    if charts.is_empty() {
        return;
    }
    page.push_str("<div class=\"charts\">\n");
    for (place, chart) in charts.iter().enumerate() {
        let svg = chart::svg(chart, &format!("{id}-{place}"));
        let _ = writeln!(page, "<figure>\n<figcaption>{}</figcaption>\n{svg}</figure>", html(&chart.title));
    }
    page.push_str("</div>\n");
}

fn text(page: &mut String, text: &Text) {
    let (title, lines) = (html(&text.title), html(text.text.trim_end()));
    let _ = writeln!(page, "<figure>\n<figcaption>{title}</figcaption>\n<pre tabindex=\"0\">{lines}</pre>");
    if !text.note.is_empty() {
        let _ = writeln!(page, "<p class=\"caption\">{}</p>", html(&text.note));
    }
    page.push_str("</figure>\n");
}

fn table(page: &mut String, table: &Table) {
    let class = if table.columns.len() >= DENSE_FROM { " class=\"dense\"" } else { "" };
    let _ = writeln!(page, "<figure{class}>\n<figcaption>{}</figcaption>", html(&table.title));
    open_table(page, &table.title);
    // A column of words stands to the left as a whole, its head too.
    let is_prose: Vec<bool> = (0..table.columns.len())
        .map(|place| {
            place > 0 && table.rows.iter().filter_map(|row| row.get(place)).any(|cell| is_prose(cell))
        })
        .collect();
    let class = |place: usize| if is_prose.get(place) == Some(&true) { " class=\"prose\"" } else { "" };
    for (place, column) in table.columns.iter().enumerate() {
        let _ = write!(page, "<th scope=\"col\"{}>{}</th>", class(place), html(column));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        page.push_str("<tr>");
        for (place, cell) in row.iter().enumerate() {
            let _ = match place {
                0 => write!(page, "<th scope=\"row\">{}</th>", html(cell)),
                _ => write!(page, "<td{}>{}</td>", class(place), html(cell)),
            };
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
    if !table.note.is_empty() {
        let _ = writeln!(page, "<p class=\"caption\">{}</p>", html(&table.note));
    }
    page.push_str("</figure>\n");
}

/// Whether a cell holds words that may be broken, and not a number that must stand in line with others.
fn is_prose(cell: &str) -> bool {
    cell.chars().filter(|character| character.is_alphabetic()).count() > 12
}

/// Up to the heads of the columns; wide tables scroll by themselves, with the keyboard too.
pub fn open_table(page: &mut String, title: &str) {
    let label = if title.is_empty() { "figures" } else { title };
    let _ = write!(
        page,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>\n<thead><tr>",
        html(label)
    );
}
