//! Lines over a quantity.

use std::fmt::Write;

use super::{
    WIDTH, classes,
    data::Drawn,
    hint, legend, line,
    scale::Scale,
    text::{self, LINE},
};
use crate::{
    number,
    record::{Chart, Role},
};

/// Height of the area that lines are in.
const HEIGHT: f64 = 220.0;
/// Between the sides of that area and the first and last x, so that marks do not touch the sides.
const PAD: f64 = 16.0;
/// Room to the right for half of the last mark's text.
const RIGHT: f64 = 12.0;
/// Points of a series up to which each has a mark; more would hide the line.
const MARKED_MAX: usize = 40;
/// Values of x up to which each has a mark of the axis.
const EACH_MAX: usize = 12;
/// From this ratio of the greatest to the least x on, and with at least [`LOG_COUNT`] of them, x is logarithmic.
const LOG_RATIO: f64 = 50.0;
/// See [`LOG_RATIO`].
const LOG_COUNT: usize = 4;

/// Where things are.
struct Frame {
    left: f64,
    top: f64,
    x: Scale,
    y: Scale,
}

impl Frame {
    fn x(&self, value: f64) -> f64 {
        self.left + PAD + self.x.place(value) * (WIDTH - RIGHT - self.left - 2.0 * PAD)
    }

    fn y(&self, value: f64) -> f64 {
        self.top + HEIGHT * (1.0 - self.y.place(value))
    }

    fn bottom(&self) -> f64 {
        self.top + HEIGHT
    }
}

/// Draws the chart; its height. `series` is not empty.
pub fn draw(svg: &mut String, chart: &Chart, series: &[Drawn]) -> f64 {
    let mut top = legend::draw(svg, chart.kind, series);
    let y_label =
        if chart.y_log { format!("{} (logarithmic)", chart.y_label) } else { chart.y_label.clone() };
    for label in text::wrapped(&y_label, WIDTH) {
        text::write(svg, 0.0, top + text::SIZE, "c-soft", &label);
        top += LINE;
    }
    let values = || series.iter().flat_map(|series| series.points.iter().flat_map(|point| point.values()));
    let y = if chart.y_log { Scale::log(values()) } else { Scale::from_zero(values()) };
    let left = y.marks.iter().map(|&mark| text::width(&number::short(mark))).fold(16.0, f64::max) + 8.0;
    let (x, marks, is_log) = x_axis(series);
    let frame = Frame { left, top: top + 10.0, x, y };
    axes(svg, &frame, &marks);
    // What is ours is drawn last, on top.
    let mut order: Vec<_> = series.iter().collect();
    order.sort_by_key(|series| series.role == Role::Measured);
    for series in order {
        draw_series(svg, &frame, chart, series);
    }
    let mut bottom = frame.bottom() + 20.0;
    let x_label = if is_log { format!("{} (logarithmic)", chart.x_label) } else { chart.x_label.clone() };
    for label in text::wrapped(&x_label, WIDTH - left) {
        bottom += LINE;
        text::write(svg, (left + WIDTH - RIGHT) / 2.0, bottom, "c-soft c-mid", &label);
    }
    bottom + 8.0
}

/// The axis, its marks, and whether it is logarithmic.
fn x_axis(series: &[Drawn]) -> (Scale, Vec<f64>, bool) {
    let mut values: Vec<f64> =
        series.iter().flat_map(|series| series.points.iter().map(|point| point.x)).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let (low, high) = (values.first().copied().unwrap_or(0.0), values.last().copied().unwrap_or(1.0));
    let is_log = low > 0.0 && high / low >= LOG_RATIO && values.len() >= LOG_COUNT;
    let scale = Scale::tight(low, high, is_log);
    let marks = match (values.len() <= EACH_MAX, is_log) {
        (true, _) => values,
        (_, true) => Scale::log([low, high].into_iter()).marks,
        (_, false) => Scale::linear(low, high).marks,
    };
    (scale, marks.into_iter().filter(|mark| (low..=high).contains(mark)).collect(), is_log)
}

fn axes(svg: &mut String, frame: &Frame, x_marks: &[f64]) {
    for &mark in &frame.y.marks {
        let y = frame.y(mark);
        let class = if mark == 0.0 { "c-axis" } else { "c-grid" };
        line(svg, class, [frame.left, y, WIDTH - RIGHT, y]);
        text::write(svg, frame.left - 6.0, y + 4.5, "c-end c-soft", &number::short(mark));
    }
    line(svg, "c-axis", [frame.left, frame.bottom(), WIDTH - RIGHT, frame.bottom()]);
    // Marks whose text would run into that of the one before have none.
    let mut free_from = f64::NEG_INFINITY;
    for &mark in x_marks {
        let (x, name) = (frame.x(mark), number::short(mark));
        line(svg, "c-axis", [x, frame.bottom(), x, frame.bottom() + 4.0]);
        let half = text::width(&name) / 2.0;
        if x - half > free_from {
            text::write(svg, x, frame.bottom() + 19.0, "c-mid c-soft", &name);
            free_from = x + half + 4.0;
        }
    }
}

fn draw_series(svg: &mut String, frame: &Frame, chart: &Chart, series: &Drawn) {
    // Writing to a string cannot fail.
    let _ = writeln!(svg, "<g class=\"{}\">", classes(series));
    for point in &series.points {
        if let Some((low, high)) = point.spread {
            let (x, low, high) = (frame.x(point.x), frame.y(low), frame.y(high));
            let (l, r) = (x - 4.0, x + 4.0);
            let _ = writeln!(
                svg,
                "<path class=\"c-spread\" d=\"M{l:.1} {high:.1}H{r:.1}M{x:.1} {high:.1}V{low:.1}M{l:.1} {low:.1}H{r:.1}\"/>"
            );
        }
    }
    let points: Vec<_> = series
        .points
        .iter()
        .map(|point| format!("{:.1} {:.1}", frame.x(point.x), frame.y(point.y)))
        .collect();
    let _ = writeln!(svg, "<path class=\"c-line\" d=\"M{}\"/>", points.join("L"));
    let is_marked = series.role != Role::Target && series.points.len() <= MARKED_MAX;
    for point in series.points.iter().filter(|_| is_marked) {
        legend::mark(svg, series.slot, frame.x(point.x), frame.y(point.y), &hint(chart, series, point));
    }
    svg.push_str("</g>\n");
}
