//! Which mark is which series: entries in rows, as many to a row as fit.

use std::fmt::Write;

use super::{
    WIDTH, classes,
    data::Drawn,
    text::{self, LINE},
};
use crate::record::{ChartKind, Role};

/// Width of the sample of a line or bar.
const SAMPLE: f64 = 26.0;
/// Between a sample and its name, and between entries.
const GAP: f64 = 6.0;

/// Draws the legend from the upper edge down; how much height it took. A single series of ours needs none where the
/// heading says what it is; then the height is 0.
pub fn draw(svg: &mut String, kind: ChartKind, series: &[Drawn]) -> f64 {
    if matches!(series, [only] if only.role == Role::Measured && only.name.is_empty()) {
        return 0.0;
    }
    let (mut x, mut y) = (0.0, LINE / 2.0);
    for entry in series {
        let name = text::fitted(entry.name, WIDTH - SAMPLE - GAP);
        let width = SAMPLE + GAP + text::width(&name);
        if x > 0.0 && x + width > WIDTH {
            (x, y) = (0.0, y + LINE + 2.0);
        }
        // Writing to a string cannot fail.
        let _ = writeln!(svg, "<g class=\"{}\">", classes(entry));
        sample(svg, kind, entry, x, y);
        svg.push_str("</g>\n");
        text::write(svg, x + SAMPLE + GAP, y + 4.5, "c-text", &name);
        x += width + 2.0 * GAP;
    }
    y + LINE / 2.0 + 8.0
}

fn sample(svg: &mut String, kind: ChartKind, entry: &Drawn, x: f64, y: f64) {
    match (kind, entry.role) {
        (ChartKind::Bars, Role::Measured | Role::Published | Role::Simulated) => {
            let _ = writeln!(
                svg,
                "<rect class=\"c-bar\" x=\"{:.1}\" y=\"{:.1}\" width=\"14\" height=\"11\"/>",
                x + 6.0,
                y - 5.5
            );
        }
        (ChartKind::Bars, Role::Target) => {
            let middle = x + SAMPLE / 2.0;
            super::line(svg, "c-line", [middle, y - 7.0, middle, y + 7.0]);
        }
        (ChartKind::Lines, role) => {
            super::line(svg, "c-line", [x, y, x + SAMPLE, y]);
            if role != Role::Target {
                mark(svg, entry.slot, x + SAMPLE / 2.0, y, "");
            }
        }
    }
}

/// The mark of a colour, so that colours need not be told apart; `hint`: what a pointer over it shows, escaped.
pub fn mark(svg: &mut String, slot: usize, x: f64, y: f64, hint: &str) {
    let hint = if hint.is_empty() { String::new() } else { format!("<title>{hint}</title>") };
    let shape = match slot % 8 {
        0 => "M-4 0A4 4 0 1 1 4 0A4 4 0 1 1 -4 0Z",
        1 => "M-3.6 -3.6H3.6V3.6H-3.6Z",
        2 => "M0 -4.8L4.6 3.4H-4.6Z",
        3 => "M0 -5.2L5.2 0L0 5.2L-5.2 0Z",
        4 => "M0 4.8L4.6 -3.4H-4.6Z",
        5 => "M-1.5 -4.5H1.5V-1.5H4.5V1.5H1.5V4.5H-1.5V1.5H-4.5V-1.5H-1.5Z",
        6 => "M-4.8 0L-2 -2L0 -4.8L2 -2L4.8 0L2 2L0 4.8L-2 2Z",
        _ => "M-4.6 -1.8H4.6V1.8H-4.6Z",
    };
    let _ = writeln!(
        svg,
        "<path class=\"c-mark\" transform=\"translate({x:.1} {y:.1})\" d=\"{shape}\">{hint}</path>"
    );
}
