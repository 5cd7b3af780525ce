//! The chart of `zonda-bench trace`: requests a second over a trace of packets.

use bench::trace::{
    rates::Seconds,
    report::{Report, asked, date},
    tally::Tally,
};

use crate::record::{Chart, Point, Role, Series};

/// Points of a line at most: a chart is not much wider, and more could not be seen.
const COLUMNS_MAX: u64 = 400;
/// Seconds of the units of time, with their names in charts; a trace is shown in the largest that it has [`UNITS_MIN`] of.
const UNITS: [(u64, &str); 4] = [(86_400, "days"), (3600, "hours"), (60, "minutes"), (1, "seconds")];
/// See [`UNITS`].
const UNITS_MIN: u64 = 3;

/// Averages and greatest rates by time, and what 95 of 100 seconds have at most.
pub fn chart(report: &Report, tally: &Tally) -> Chart {
    let seconds = Seconds::new(&asked(tally, report.is_rebuilt).seconds, &report.packets);
    let (columns, width) = seconds.columns(COLUMNS_MAX);
    let all = columns.len() as u64 * width;
    let (unit, unit_name) =
        UNITS.into_iter().find(|(unit, _)| all >= UNITS_MIN * unit).unwrap_or((1, "seconds"));
    // The middle of a column.
    let x = |place: usize| (place as f64 + 0.5) * width as f64 / unit as f64;
    let line = |name: String, role, values: &mut dyn Iterator<Item = (usize, f64)>| Series {
        name,
        role,
        points: values.map(|(place, y)| Point::at(x(place), y)).collect(),
    };
    let mean = match width {
        1 => "in each second".to_owned(),
        _ => format!("average of {width} s each"),
    };
    let mut series =
        vec![line(mean, Role::Measured, &mut columns.iter().map(|column| column.mean).enumerate())];
    if width > 1 {
        let most = &mut columns.iter().map(|column| column.max as f64).enumerate();
        series.push(line("most in a second of them".to_owned(), Role::Measured, most));
    }
    let ends = [0, columns.len().saturating_sub(1)].map(|place| (place, report.rates.burst_95 as f64));
    series.push(line("95 % of seconds at most".to_owned(), Role::Target, &mut ends.into_iter()));
    let what = if report.is_rebuilt { "requests rebuilt from replies" } else { "requests" };
    Chart::lines(
        format!("{} {what} from {}", report.requests.count, date(report.packets.first)),
        [&format!("{unit_name} since the start"), "requests a second"],
        series,
    )
}

#[cfg(test)]
mod tests {
    use bench::trace::{Packets, Reader};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn of(seconds: u64, rate: impl Fn(u64) -> u64) -> Chart {
        let mut reader = Reader::new(&[53]);
        reader.packets = Packets { origin: Some(0), last: (seconds - 1) * SECOND, ..Packets::default() };
        let mut tally = Tally::default();
        for second in (0..seconds).filter(|second| rate(*second) > 0) {
            tally.requests.seconds.insert(second as i64, rate(second));
            tally.requests.all.count += rate(second);
        }
        chart(&Report::new(&reader, &tally, false, Vec::new()), &tally)
    }

    #[test]
    fn short_and_long_traces() {
        for (seconds, rate, unit, lines) in [
            (1, 0, "seconds", 2),
            (1, 1, "seconds", 2),
            (60, 700, "seconds", 2),
            (10_000, 3, "minutes", 3),
            (200_000, 1 << 30, "hours", 3),
            (400_000, 1, "days", 3),
        ] {
            let chart = of(seconds, |second| rate + second * rate / 100);
            assert_eq!(
                (chart.x_label.split(' ').next(), chart.series.len()),
                (Some(unit), lines),
                "{seconds}"
            );
            assert!(chart.series.iter().all(|series| series.points.len() <= COLUMNS_MAX as usize));
            assert!(crate::chart::document(&chart).ends_with("</svg>\n"));
        }
    }

    #[test]
    fn a_burst_is_seen_in_the_second_line_only() {
        let chart = of(4000, |second| if second == 1234 { 1000 } else { 10 });
        let most = |at: usize| chart.series[at].points.iter().map(|point| point.y).fold(0.0, f64::max);
        assert_eq!((most(0), most(1), most(2)), (109.0, 1000.0, 10.0));
    }
}
