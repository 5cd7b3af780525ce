//! Bars over names. They lie: names of any length stand beside or above them, and a phone has height enough.

use std::fmt::Write;

use super::{
    WIDTH, classes,
    data::{self, Drawn, Spot},
    hint, legend, line,
    scale::Scale,
    text::{self, LINE},
};
use crate::{
    number,
    record::{Chart, Role},
};

/// Names up to this width stand left of the bars, longer ones above.
const NAME_MAX: f64 = 130.0;
/// From one bar to the next of the same name.
const BAR: f64 = 15.0;
/// A bar's own height.
const THICK: f64 = 12.0;
/// Between the bars of two names.
const GAP: f64 = 11.0;

struct Frame {
    left: f64,
    right: f64,
    scale: Scale,
    /// Whether names stand above their bars.
    is_above: bool,
}

impl Frame {
    fn x(&self, value: f64) -> f64 {
        self.left + self.scale.place(value) * (self.right - self.left)
    }
}

/// Draws the chart; its height. `series` is not empty.
pub fn draw(svg: &mut String, chart: &Chart, series: &[Drawn]) -> f64 {
    let mut top = legend::draw(svg, chart.kind, series);
    for label in text::wrapped(&chart.x_label, WIDTH) {
        text::write(svg, 0.0, top + text::SIZE, "c-soft", &label);
        top += LINE;
    }
    let frame = frame(chart, series);
    top += 6.0;
    let mut bars = String::new();
    let mut y = top + GAP / 2.0;
    for (category, name) in chart.categories.iter().enumerate() {
        y += group(&mut bars, &frame, chart, series, (category, name), y);
    }
    let bottom = y - GAP / 2.0;
    let end = axis(svg, &frame, chart, top, bottom);
    svg.push_str(&bars);
    end
}

fn frame(chart: &Chart, series: &[Drawn]) -> Frame {
    let points = || series.iter().flat_map(|series| series.points.iter());
    let values = || points().flat_map(Spot::values);
    let names = chart.categories.iter().map(|name| text::width(name)).fold(0.0, f64::max);
    let is_above = names > NAME_MAX;
    let numbers = points().map(|point| text::width(&point.label())).fold(0.0, f64::max);
    Frame {
        left: if is_above { 2.0 } else { names + 8.0 },
        right: WIDTH - numbers - 10.0,
        scale: if chart.y_log { Scale::log(values()) } else { Scale::from_zero(values()) },
        is_above,
    }
}

/// The axis with its grid, below the bars; where it ends.
fn axis(svg: &mut String, frame: &Frame, chart: &Chart, top: f64, bottom: f64) -> f64 {
    let mut free_from = f64::NEG_INFINITY;
    for &mark in &frame.scale.marks {
        let (x, name) = (frame.x(mark), number::short(mark));
        line(svg, if mark == 0.0 { "c-axis" } else { "c-grid" }, [x, top, x, bottom]);
        let half = text::width(&name) / 2.0;
        // The first and the last text stay inside the chart.
        let x = x.clamp(half, WIDTH - half);
        if x - half > free_from {
            text::write(svg, x, bottom + 16.0, "c-mid c-soft", &name);
            free_from = x + half + 4.0;
        }
    }
    let mut end = bottom + 18.0;
    let label = if chart.y_log { format!("{} (logarithmic)", chart.y_label) } else { chart.y_label.clone() };
    let label = text::wrapped(&label, WIDTH);
    for label in &label {
        end += LINE;
        let half = text::width(label) / 2.0;
        let middle = ((frame.left + frame.right) / 2.0).min(WIDTH - half).max(half);
        text::write(svg, middle, end, "c-mid c-soft", label);
    }
    end + 8.0
}

/// The bars of a name; what height they took.
fn group(
    svg: &mut String,
    frame: &Frame,
    chart: &Chart,
    series: &[Drawn],
    (category, name): (usize, &str),
    y: f64,
) -> f64 {
    let point = |series: &Drawn| series.points.iter().find(|point| point.x == category as f64).copied();
    // Every series has its place in every group, so that the eye finds it again.
    let barred = series.iter().filter(|series| series.role != Role::Target).count().max(1);
    let height = barred as f64 * BAR;
    let head = if frame.is_above { LINE } else { 0.0 };
    match frame.is_above {
        true => text::write(svg, 0.0, y + text::SIZE, "c-text", &text::fitted(name, WIDTH)),
        false => text::write(svg, frame.left - 8.0, y + height / 2.0 + 4.5, "c-end c-text", name),
    }
    let top = y + head;
    for (place, series) in series.iter().filter(|series| series.role != Role::Target).enumerate() {
        if let Some(point) = point(series) {
            // Bars of one series that has no name are told apart by what they stand for.
            let own = data::own_slot(name).filter(|_| series.name.is_empty());
            let series = &Drawn { slot: own.unwrap_or(series.slot), ..series.clone() };
            bar(svg, frame, chart, series, &point, top + place as f64 * BAR);
        }
    }
    for series in series.iter().filter(|series| series.role == Role::Target) {
        if let Some(point) = point(series) {
            let x = frame.x(point.y);
            let _ = writeln!(
                svg,
                "<g class=\"{}\"><title>{}</title>",
                classes(series),
                hint(chart, series, &point)
            );
            line(svg, "c-line", [x, top - 3.0, x, top + height + 1.0]);
            svg.push_str("</g>\n");
        }
    }
    head + height + GAP
}

fn bar(svg: &mut String, frame: &Frame, chart: &Chart, series: &Drawn, point: &Spot, top: f64) {
    let start = if chart.y_log { frame.left } else { frame.x(0.0) };
    let (end, middle) = (frame.x(point.y), top + BAR / 2.0);
    let (left, width) = (start.min(end), (end - start).abs().max(0.5));
    // Writing to a string cannot fail.
    let _ = write!(
        svg,
        "<g class=\"{}\"><title>{}</title>\n<rect class=\"c-bar\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{width:.1}\" \
         height=\"{THICK}\"/>\n",
        classes(series),
        hint(chart, series, point),
        middle - THICK / 2.0
    );
    let mut free = start.max(end);
    if let Some((low, high)) = point.spread {
        let (low, high) = (frame.x(low), frame.x(high));
        let (t, b) = (middle - 3.5, middle + 3.5);
        let _ = writeln!(
            svg,
            "<path class=\"c-spread\" d=\"M{low:.1} {t:.1}V{b:.1}M{low:.1} {middle:.1}H{high:.1}M{high:.1} {t:.1}V{b:.1}\"/>"
        );
        free = free.max(high);
    }
    text::write(svg, free + 5.0, middle + 4.5, "c-text c-number", &point.label());
    svg.push_str("</g>\n");
}
