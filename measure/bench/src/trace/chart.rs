//! A chart of requests per second over a trace, as SVG: the average of each column as a line, the most in a second
//! behind it, the 95th percentile as a dashed line.

use std::fmt::Write;

use super::{
    rates::{Column, Seconds},
    report::{Report, asked, date},
    tally::Tally,
};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 52.0;
const TOP: f64 = 62.0;
const BOTTOM: f64 = 52.0;
/// One a pixel at most: more could not be seen.
const COLUMNS_MAX: u64 = (WIDTH - LEFT - RIGHT) as u64;
/// Marks on an axis, about.
const MARKS: f64 = 6.0;

/// The chart of a trace. Cannot fail: without requests the axes stand alone.
pub fn svg(report: &Report, tally: &Tally) -> String {
    let seconds = Seconds::new(&asked(tally, report.is_rebuilt).seconds, &report.packets);
    let (columns, width) = seconds.columns(COLUMNS_MAX);
    let top = nice_step(seconds.max().max(1) as f64 / MARKS);
    let scale = Scale {
        seconds: (columns.len() as u64 * width) as f64,
        rate: (seconds.max().max(1) as f64 / top).ceil() * top,
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
         height=\"{HEIGHT}\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#333\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    head(&mut svg, report, width);
    rates_axis(&mut svg, &scale, top);
    time_axis(&mut svg, &scale);
    let step = width as f64;
    if width > 1 {
        let most = |column: &Column| column.max as f64;
        area(&mut svg, &scale, step, columns.iter().map(most), "fill=\"#b9d3ee\"");
    }
    let mean = columns.iter().map(|column| column.mean);
    match width {
        1 => area(&mut svg, &scale, step, mean, "fill=\"#b9d3ee\" stroke=\"#1f5fa6\" stroke-width=\"1.5\""),
        _ => line(&mut svg, &scale, step, mean),
    }
    percentile(&mut svg, &scale, report.rates.burst_95);
    svg.push_str("</svg>\n");
    svg
}

/// From seconds and rates to places.
struct Scale {
    seconds: f64,
    rate: f64,
}

impl Scale {
    fn x(&self, second: f64) -> f64 {
        LEFT + second / self.seconds * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, rate: f64) -> f64 {
        HEIGHT - BOTTOM - rate / self.rate * (HEIGHT - TOP - BOTTOM)
    }
}

fn head(svg: &mut String, report: &Report, width: u64) {
    let what = if report.is_rebuilt { "requests rebuilt from replies" } else { "requests" };
    let rates = report.rates;
    text(
        svg,
        LEFT,
        24.0,
        "font-size=\"16\" font-weight=\"bold\"",
        &format!("{} {what} from {}", report.requests.count, date(report.packets.first)),
    );
    let columns = match width {
        1 => String::new(),
        _ => format!("; line: average of {} each, light: most in a second", duration(width)),
    };
    let numbers = format!(
        "per second: {:.1} on average, 95% of seconds {} at most, most {}{columns}",
        rates.average, rates.burst_95, rates.burst_max
    );
    text(svg, LEFT, 44.0, "", &numbers);
}

fn rates_axis(svg: &mut String, scale: &Scale, step: f64) {
    let mut rate = 0.0;
    while rate <= scale.rate {
        let y = scale.y(rate);
        rule(
            svg,
            [LEFT, y, WIDTH - RIGHT, y],
            if rate > 0.0 { "stroke=\"#ddd\"" } else { "stroke=\"#333\"" },
        );
        text(svg, LEFT - 8.0, y + 4.0, "text-anchor=\"end\"", &format!("{rate}"));
        rate += step;
    }
    let (x, y) = (18.0, (TOP + HEIGHT - BOTTOM) / 2.0);
    let turned = format!("text-anchor=\"middle\" transform=\"rotate(-90 {x} {y})\"");
    text(svg, x, y, &turned, "requests per second");
}

fn time_axis(svg: &mut String, scale: &Scale) {
    let step = time_step(scale.seconds / MARKS);
    let mut second = 0;
    while (second as f64) <= scale.seconds {
        let (x, y) = (scale.x(second as f64), HEIGHT - BOTTOM);
        rule(svg, [x, y, x, y + 5.0], "stroke=\"#333\"");
        text(svg, x, y + 20.0, "text-anchor=\"middle\"", &duration(second));
        second += step;
    }
    text(svg, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 12.0, "text-anchor=\"middle\"", "time since the start");
}

fn percentile(svg: &mut String, scale: &Scale, rate: u64) {
    let y = scale.y(rate as f64);
    rule(svg, [LEFT, y, WIDTH - RIGHT, y], "stroke=\"#c0392b\" stroke-dasharray=\"6 4\"");
    text(svg, WIDTH - RIGHT + 6.0, y + 4.0, "fill=\"#c0392b\"", "95%");
}

/// Steps from the time axis up, filled.
fn area(svg: &mut String, scale: &Scale, step: f64, rates: impl Iterator<Item = f64>, style: &str) {
    let mut path = format!("M{:.1} {:.1}", scale.x(0.0), scale.y(0.0));
    for (place, rate) in rates.enumerate() {
        let from = place as f64 * step;
        let _ = write!(path, "L{:.1} {:.1}H{:.1}", scale.x(from), scale.y(rate), scale.x(from + step));
    }
    let _ = writeln!(svg, "<path d=\"{path}V{:.1}Z\" {style}/>", scale.y(0.0));
}

fn line(svg: &mut String, scale: &Scale, step: f64, rates: impl Iterator<Item = f64>) {
    let point = |(place, rate): (usize, f64)| {
        format!("{:.1},{:.1} ", scale.x((place as f64 + 0.5) * step), scale.y(rate))
    };
    let points: String = rates.enumerate().map(point).collect();
    let style = "fill=\"none\" stroke=\"#1f5fa6\" stroke-width=\"1.5\"";
    let _ = writeln!(svg, "<polyline points=\"{}\" {style}/>", points.trim_end());
}

fn rule(svg: &mut String, [x1, y1, x2, y2]: [f64; 4], style: &str) {
    let _ = writeln!(svg, "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {style}/>");
}

/// `content`: of ours, so without marks that XML would take for its own.
fn text(svg: &mut String, x: f64, y: f64, style: &str, content: &str) {
    debug_assert!(!content.contains(['<', '&']));
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" {style}>{content}</text>");
}

/// 1, 2 or 5 times a power of ten, at least `least` and at least 1.
fn nice_step(least: f64) -> f64 {
    let power = 10f64.powi(least.max(1.0).log10().floor() as i32);
    [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| *step >= least)
        .unwrap_or(power)
}

/// Seconds between marks, at least `least`: what clocks have.
fn time_step(least: f64) -> u64 {
    const STEPS: [u64; 16] = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 21_600];
    let found = STEPS.into_iter().find(|step| *step as f64 >= least);
    found.unwrap_or_else(|| nice_step(least / 86_400.0) as u64 * 86_400)
}

fn duration(seconds: u64) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes, rest) {
        (0, 0, _) | (0, 1, _) => format!("{seconds} s"),
        (0, _, 0) => format!("{minutes} min"),
        (0, ..) => format!("{minutes} min {rest} s"),
        (_, 0, 0) => format!("{hours} h"),
        _ => format!("{hours}:{minutes:02} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Packets, Reader, capture::SECOND};

    fn chart(seconds: u64, rate: impl Fn(u64) -> u64) -> String {
        let mut reader = Reader::new(&[53]);
        reader.packets = Packets { origin: Some(0), last: (seconds - 1) * SECOND, ..Packets::default() };
        let mut tally = Tally::default();
        for second in (0..seconds).filter(|second| rate(*second) > 0) {
            tally.requests.seconds.insert(second as i64, rate(second));
            tally.requests.all.count += rate(second);
        }
        svg(&Report::new(&reader, &tally, false, Vec::new()), &tally)
    }

    #[test]
    fn charts() {
        for (seconds, rate) in [(1, 0), (1, 1), (60, 700), (10_000, 3), (200_000, 1 << 30)] {
            let svg = chart(seconds, |second| rate + second * rate / 100);
            assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
            assert!(svg.len() < 100_000 && !svg.contains("NaN") && !svg.contains("inf"), "{seconds} {rate}");
            assert!((15..60).contains(&svg.lines().count()), "{seconds} {rate}: {}", svg.lines().count());
        }
    }

    #[test]
    fn steps() {
        assert_eq!([0.1, 1.0, 1.1, 3.0, 70.0, 2e6].map(nice_step), [1.0, 1.0, 2.0, 5.0, 100.0, 2e6]);
        assert_eq!([0.2, 7.0, 61.0, 50_000.0, 1e6].map(time_step), [1, 10, 120, 86_400, 20 * 86_400]);
        let texts = [5, 90, 120, 150, 3600, 5400].map(duration);
        assert_eq!(texts, ["5 s", "90 s", "2 min", "2 min 30 s", "1 h", "1:30 h"]);
    }
}
