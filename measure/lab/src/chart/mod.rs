//! Charts as SVG: lines over a quantity, and bars over names.
//!
//! Colours, dashes and fonts are classes whose rules are in [`STYLE`], so that a page has them once and may follow the
//! reader's light or dark setting. Series differ by colour and by mark, so that nobody must tell colours apart. What is
//! drawn is also said in words, for those who listen.
//!
//! * [`data`]: what of the values can be drawn at all.
//! * [`scale`]: axes and their marks. * [`text`]: widths and breaks of lines.
//! * `lines`, `bars`: the two kinds. * `legend`: which mark is which series. * `sheet`: several in one file.

pub mod data;
pub mod scale;
pub mod text;

mod bars;
mod legend;
mod lines;
mod sheet;

use std::fmt::Write;

use crate::{
    escape, number,
    record::{Chart, ChartKind, Role},
};
use data::Drawn;
pub use sheet::sheet;

/// Rules for the classes that charts use, for a style sheet.
pub const STYLE: &str = include_str!("style.css");

/// Width of every chart, in its own units. As wide as a column of a report on a large screen and not much wider than a
/// phone, so that letters are readable on both.
const WIDTH: f64 = 460.0;
/// Of a chart in a file of its own: between heading and chart, and around both.
const HEADING_GAP: f64 = 8.0;
const MARGIN: f64 = 10.0;
/// Points of a series that the description in words names.
const DESCRIBED_MAX: usize = 12;

/// The chart as an `svg` element of a page that has [`STYLE`] and the chart's heading. `id`: unlike that of any other chart on the
/// page. Cannot fail: what cannot be drawn is left out, and a chart of nothing says so.
pub fn svg(chart: &Chart, id: &str) -> String {
    let (body, height) = body(chart);
    element(chart, id, [0.0, 0.0, WIDTH, height], &body)
}

/// The chart as a file of its own: with style, paper and heading. Follows the reader's light or dark setting too.
pub fn document(chart: &Chart) -> String {
    let (body, height) = body(chart);
    let lines = text::wrapped(&chart.title, WIDTH);
    let top = -(lines.len() as f64 * text::LINE + HEADING_GAP + MARGIN);
    let mut head = format!("<style>\n{STYLE}</style>\n");
    // Writing to a string cannot fail.
    let _ = writeln!(
        head,
        "<rect class=\"c-paper\" x=\"-{MARGIN}\" y=\"{top:.0}\" width=\"100%\" height=\"100%\"/>"
    );
    for (place, line) in lines.iter().enumerate() {
        text::write(&mut head, 0.0, top + MARGIN + text::LINE * (place + 1) as f64 - 4.0, "c-head", line);
    }
    element(chart, "chart", [-MARGIN, top, WIDTH + 2.0 * MARGIN, height - top], &(head + &body))
}

fn body(chart: &Chart) -> (String, f64) {
    let series = data::drawn(chart);
    let mut body = String::new();
    let height = match (series.is_empty(), chart.kind) {
        (true, _) => nothing(&mut body),
        (_, ChartKind::Lines) => lines::draw(&mut body, chart, &series),
        (_, ChartKind::Bars) => bars::draw(&mut body, chart, &series),
    };
    (body, height)
}

fn element(chart: &Chart, id: &str, [left, top, width, height]: [f64; 4], body: &str) -> String {
    let id = escape::html(id);
    let title = escape::html(&chart.title);
    let words = escape::html(&in_words(chart, &data::drawn(chart)));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"{left} {top:.0} {width} {height:.0}\" role=\"img\" \
         aria-labelledby=\"{id}-title {id}-words\">\n<title id=\"{id}-title\">{title}</title>\n\
         <desc id=\"{id}-words\">{words}</desc>\n{body}</svg>\n"
    )
}

fn nothing(svg: &mut String) -> f64 {
    text::write(svg, WIDTH / 2.0, 40.0, "c-mid c-soft", "no values");
    70.0
}

/// The chart for those who do not see it.
fn in_words(chart: &Chart, series: &[Drawn]) -> String {
    let kind = if chart.kind == ChartKind::Lines { "Line" } else { "Bar" };
    let mut words = format!("{kind} chart: {} by {}.", chart.y_label, chart.x_label);
    for Drawn { name, role, points, .. } in series {
        let role = match role {
            Role::Measured => "",
            Role::Target => " (target)",
            Role::Published => " (published)",
            Role::Simulated => " (simulated)",
        };
        // Writing to a string cannot fail.
        let _ = write!(words, " {name}{role}:");
        for point in points.iter().take(DESCRIBED_MAX) {
            let _ = write!(words, " {}: {};", place_name(chart, point.x), number::long(point.y));
        }
        if points.len() > DESCRIBED_MAX {
            let _ = write!(words, " and {} more", points.len() - DESCRIBED_MAX);
        }
        words.truncate(words.trim_end_matches(';').len());
        words.push('.');
    }
    words
}

/// What stands at `x`: a category, or the quantity.
fn place_name(chart: &Chart, x: f64) -> String {
    match chart.kind {
        ChartKind::Bars => chart.categories.get(x as usize).cloned().unwrap_or_default(),
        ChartKind::Lines => number::short(x),
    }
}

/// What a pointer over a point shows.
fn hint(chart: &Chart, series: &Drawn, point: &data::Spot) -> String {
    let spread = point.spread.map_or_else(String::new, |(low, high)| {
        format!(" ({} to {})", number::long(low), number::long(high))
    });
    let place = place_name(chart, point.x);
    // A series that is alone may have no name.
    let what = if series.name.is_empty() { place } else { format!("{}, {place}", series.name) };
    escape::html(&format!("{what}: {}{}{spread}", point.known.sign(), number::long(point.y)))
}

fn line(svg: &mut String, class: &str, [x1, y1, x2, y2]: [f64; 4]) {
    let _ = writeln!(svg, "<path class=\"{class}\" d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\"/>");
}

/// Classes of a series: its colour and its role.
fn classes(series: &Drawn) -> String {
    let role = match series.role {
        Role::Measured => "measured",
        Role::Target => "target",
        Role::Published => "published",
        Role::Simulated => "simulated",
    };
    format!("c-series c{} {role}", series.slot)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
