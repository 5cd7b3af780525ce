//! What the simulation says beside what was measured at the same place: the only points at which it can be checked here.

use super::{Found, at, simulate::Curve};
use crate::{
    experiment::table,
    record::{Chart, Point, Role, Series, Table},
    statistics,
};

/// A difference below this is none worth a word, however narrow the intervals: the machine itself is left out of the model.
const WORTH_SAYING: f64 = 0.1;

/// A protection at a number of threads, each with a core.
#[derive(Clone, Debug, PartialEq)]
pub struct Residual {
    /// Which protection.
    pub name: &'static str,
    /// With how many.
    pub threads: usize,
    /// Rounds that it was measured in.
    pub rounds: usize,
    /// Median rate, and the least and greatest of all rounds.
    pub measured: (f64, (f64, f64)),
    /// Rate, and its interval by the error of the inputs.
    pub simulated: (f64, (f64, f64)),
    /// Share of the cores' time that waits in the simulation.
    pub waited: f64,
}

impl Residual {
    /// The simulated rate over the measured one, less 1.
    pub fn error(&self) -> f64 {
        self.simulated.0 / self.measured.0 - 1.0
    }

    /// Whether there were as many rounds as a verdict needs.
    fn is_decided(&self) -> bool {
        statistics::coverage(self.rounds).is_some()
    }

    /// Whether the two disagree: their intervals have nothing in common, and the difference is worth a word.
    pub fn is_wrong(&self) -> bool {
        let ((_, (least, most)), (_, (low, high))) = (self.measured, self.simulated);
        self.is_decided() && (low > most || high < least) && self.error().abs() > WORTH_SAYING
    }

    /// `71 % above what was measured with 2 threads`.
    fn text(&self) -> String {
        let error = self.error();
        let side = if error > 0.0 { "above" } else { "below" };
        format!("{:.0} % {side} what was measured with {} threads", error.abs() * 100.0, self.threads)
    }
}

/// Of all curves, with more than one thread.
pub fn residuals(found: &Found, curves: &[Curve]) -> Vec<Residual> {
    let mut all = Vec::new();
    for curve in curves {
        for &threads in found.threads.iter().filter(|&&threads| threads > 1 && threads <= found.cores) {
            let values = found.rates.of(curve.name, &at(threads));
            let mut outcomes = curve.outcomes.iter().zip(&curve.intervals);
            let simulated = outcomes.find(|(outcome, _)| outcome.cores == threads);
            let (Some((outcome, &interval)), true) = (simulated, statistics::median(values) > 0.0) else {
                continue;
            };
            all.push(Residual {
                name: curve.name,
                threads,
                rounds: values.len(),
                measured: (statistics::median(values), statistics::ends(values)),
                simulated: (outcome.rate, interval),
                waited: outcome.share_waited(),
            });
        }
    }
    all
}

/// The name of a simulated line, which says where it is known to be wrong.
pub fn name(curve: &str, residuals: &[Residual]) -> String {
    let wrong = residuals.iter().filter(|residual| residual.name == curve && residual.is_wrong());
    let worst = wrong.max_by(|one, other| one.error().abs().total_cmp(&other.error().abs()));
    let known = worst.map_or_else(String::new, |worst| format!(", {}", worst.text()));
    format!("{curve}, simulated{known}")
}

/// A sentence for each curve that is wrong.
pub fn notes(residuals: &[Residual]) -> Vec<String> {
    let wrong = residuals.iter().filter(|residual| residual.is_wrong());
    let note = |residual: &Residual| {
        format!(
            "simulated and measured disagree: {} is {}; what is simulated beyond that is worth no more",
            residual.name,
            residual.text()
        )
    };
    wrong.map(note).collect()
}

/// All residuals in numbers.
pub fn beside(residuals: &[Residual]) -> Table {
    let row = |residual: &Residual| {
        let ((measured, (least, most)), (simulated, (low, high))) = (residual.measured, residual.simulated);
        vec![
            residual.name.to_owned(),
            residual.threads.to_string(),
            format!("{measured:.0} [{least:.0}, {most:.0}]"),
            format!("{simulated:.0} [{low:.0}, {high:.0}]"),
            format!("{:+.1} %", residual.error() * 100.0),
            match (residual.is_decided(), residual.is_wrong()) {
                (false, _) => "not decided, by too few runs",
                (true, true) => "disagree",
                (true, false) => "not told apart",
            }
            .to_owned(),
            format!("{:.1} %", residual.waited * 100.0),
        ]
    };
    let columns =
        ["protection", "threads", "measured/s", "simulated/s", "residual", "the two", "waiting, simulated"];
    let note = "Measured: median, least and greatest of all rounds. Simulated: with the interval that the error of the inputs leaves, 95 % of what \
                comes of inputs drawn anew from all that were measured. They disagree where the two have nothing in common and differ by more than a tenth. \
                Nothing was fitted to these points: the simulation knows one thread, and what the machine takes for lines and waking. \
                Snapshots share nothing, so that their residual is that of the machine: cores that are threads of one, a host that \
                is busy. What the others' residuals have beyond it is the simulation's.";
    table("The simulation beside what was measured", &columns, residuals.iter().map(row).collect(), note)
}

/// The same as a chart; nothing on one core.
pub fn chart(residuals: &[Residual]) -> Option<Chart> {
    let bar = |(x, residual): (usize, &Residual)| {
        let ((measured, _), (_, (low, high))) = (residual.measured, residual.simulated);
        let percent = |rate: f64| (rate / measured - 1.0) * 100.0;
        Point::at(x as f64, residual.error() * 100.0).between(percent(low), percent(high))
    };
    let points: Vec<Point> = residuals.iter().enumerate().map(bar).collect();
    let place = |residual: &Residual| format!("{}, {}", residual.name, at(residual.threads));
    let places = residuals.iter().map(place).collect();
    let series = vec![Series { name: "simulated".to_owned(), role: Role::Simulated, points }];
    let y_label = "% of the measured rate; bars: error of the inputs";
    let is_there = !series[0].points.is_empty();
    is_there.then(|| Chart::bars("Residuals: simulated beyond measured", y_label, places, series))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn residual(measured: (f64, (f64, f64)), simulated: (f64, (f64, f64))) -> Residual {
        Residual { name: "bind9", threads: 2, rounds: 6, measured, simulated, waited: 0.1 }
    }

    #[test]
    fn what_disagrees_says_so() {
        let wrong = residual((100.0, (90.0, 110.0)), (171.0, (150.0, 190.0)));
        let same = residual((100.0, (90.0, 110.0)), (130.0, (105.0, 150.0)));
        let little = residual((100.0, (99.0, 101.0)), (105.0, (104.0, 106.0)));
        assert_eq!([&wrong, &same, &little].map(Residual::is_wrong), [true, false, false]);
        let few = Residual { rounds: 5, ..wrong.clone() };
        assert_eq!((few.is_wrong(), beside(&[few]).rows[0][5].contains("too few")), (false, true));
        let all = [little, wrong, same];
        assert_eq!(name("bind9", &all), "bind9, simulated, 71 % above what was measured with 2 threads");
        assert_eq!(name("paper", &all), "paper, simulated");
        assert_eq!(notes(&all).len(), 1);
        let table = beside(&all);
        assert_eq!(table.rows[1][2..6], ["100 [90, 110]", "171 [150, 190]", "+71.0 %", "disagree"]);
        assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
        let chart = chart(&all);
        let point = chart.as_ref().map(|chart| chart.series[0].points[1]);
        assert_eq!(point.map(|point| (point.y.round(), point.low.map(f64::round))), Some((71.0, Some(50.0))));
    }
}
