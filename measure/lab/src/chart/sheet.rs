//! Charts beside each other in one SVG file that needs nothing else, for texts that show a file and no page.

use std::fmt::Write;

use super::{STYLE, WIDTH, body, text};
use crate::{escape, record::Chart};

/// Around the charts and between them.
const GAP: f64 = 28.0;
/// Height of a heading.
const HEAD: f64 = 30.0;
/// Charts in a row.
const COLUMNS: usize = 2;

/// The charts under their titles, two in a row, with lines of text below all. It has its own paper, as a page that shows it
/// may be light where the reader's setting is dark.
pub fn sheet(title: &str, charts: &[Chart], foot: &[String]) -> String {
    let mut all = String::new();
    let mut top = GAP;
    for row in charts.chunks(COLUMNS) {
        let mut height: f64 = 0.0;
        for (column, chart) in row.iter().enumerate() {
            let (svg, drawn) = body(chart);
            let left = GAP + column as f64 * (WIDTH + GAP);
            // Writing to a string cannot fail.
            let _ = writeln!(all, "<g transform=\"translate({left:.0} {top:.0})\">");
            text::write(&mut all, 0.0, text::SIZE, "c-head", &chart.title);
            let _ = writeln!(all, "<g transform=\"translate(0 {HEAD})\">\n{svg}</g>\n</g>");
            height = height.max(drawn + HEAD);
        }
        top += height + GAP;
    }
    let columns = charts.len().clamp(1, COLUMNS) as f64;
    let width = GAP + columns * (WIDTH + GAP);
    for line in foot.iter().flat_map(|line| text::wrapped(line, width - 2.0 * GAP)) {
        text::write(&mut all, GAP, top, "c-soft", &line);
        top += text::LINE;
    }
    let height = top + GAP / 2.0;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart sheet\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n\
         <rect class=\"c-paper\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"8\"/>\n{all}</svg>\n",
        escape::html(title)
    )
}
