//! What was measured and simulated, as figures, targets, charts and tables.

use bench::host::sharing::Sharing;
use scaling::{Outcome, usl::Fit};

use super::{
    Found, SUBJECTS, at,
    residual::{self, Residual},
    simulate::{self, Curve, Inputs},
};
use crate::{
    experiment::{Lab, Values, runs, table},
    record::{Chart, Point, Role, Series, Table},
};

/// What one core more shall bring, of the rate of one: the line that the paper drew.
const TARGET_SHARE: f64 = 0.5;
/// With four threads a core, snapshots shall keep so much of the rate with one.
const KEPT_LEAST: f64 = 0.9;

/// Adds all of it to the record.
pub fn report(lab: &mut Lab, sharing: &Sharing, inputs: &Inputs, found: &Found, curves: &[Curve]) {
    let crowded = measured(lab, found);
    let residuals = residual::residuals(found, curves);
    residual::notes(&residuals).into_iter().for_each(|note| lab.note(note));
    let flows = lab.effort.flows;
    let record = &mut lab.record;
    record.charts.push(rates(found, curves, &residuals));
    record.charts.extend(residual::chart(&residuals));
    record.charts.push(growth(curves, &residuals, flows));
    record.charts.push(skewed(curves, &residuals));
    record.charts.push(oversubscribed(found, &crowded));
    record.tables.extend([
        laws(curves),
        residual::beside(&residuals),
        at_cores(curves, flows),
        costs(sharing, inputs),
        visits(inputs),
    ]);
}

/// Adds the figures and targets of what was measured; returns rates with more threads than cores over that with as many.
pub fn measured(lab: &mut Lab, found: &Found) -> Values {
    let crowded = crowded(found);
    targets(lab, found, &crowded);
    let record = &mut lab.record;
    record.figures.extend(found.rates.figures("rate", "/s", true));
    record.figures.extend(found.cpu.figures("CPU a query", "us", false));
    record.figures.extend(crowded.figures("rate over that with a thread a core", "", true));
    crowded
}

/// Rates with more threads than cores over that with as many, one for each round that has both.
fn crowded(found: &Found) -> Values {
    let mut ratios = Values::default();
    for subject in &SUBJECTS {
        let full = found.rates.marked(subject.name(), &at(found.cores));
        for &threads in found.threads.iter().filter(|&&threads| threads > found.cores) {
            let place = at(threads);
            for (ratio, mark) in runs::over(&found.rates.marked(subject.name(), &place), &full) {
                ratios.push_marked(subject.name(), &place, ratio, mark);
            }
        }
    }
    ratios
}

fn targets(lab: &mut Lab, found: &Found, crowded: &Values) {
    let Some(&most) = found.threads.last() else { return };
    let values = crowded.marked("snapshot", &at(most));
    if !values.is_empty() {
        let what =
            format!("snapshot: rate of {} over {} on {} cores", at(most), at(found.cores), found.cores);
        lab.record.targets.push(runs::target(what, &values, KEPT_LEAST));
    }
}

fn chart(title: &str, labels: [&str; 2], y_log: bool, series: Vec<Series>) -> Chart {
    Chart::lines(title, [labels[0], labels[1]], series).log(y_log)
}

fn series(name: &str, role: Role, points: impl Iterator<Item = (f64, f64)>) -> Series {
    let points = points.map(|(x, y)| Point::at(x, y)).collect();
    Series { name: name.to_owned(), role, points }
}

/// Names of simulated series say so, and where they are known to be wrong: whoever sees one line alone knows what it is.
fn simulated(curve: &Curve, residuals: &[Residual], outcomes: &[Outcome], divide_by: f64) -> Series {
    let points = outcomes.iter().map(|outcome| (outcome.cores as f64, outcome.rate / divide_by));
    series(&residual::name(curve.name, residuals), Role::Simulated, points)
}

/// The same with names all alike, and the intervals.
fn uniform(curve: &Curve, residuals: &[Residual], divide_by: f64) -> Series {
    let mut line = simulated(curve, residuals, &curve.outcomes, divide_by);
    for (point, &(low, high)) in line.points.iter_mut().zip(&curve.intervals) {
        (point.low, point.high) = (Some(low / divide_by), Some(high / divide_by));
    }
    line
}

fn target(name: &str, one: f64, cores: impl Iterator<Item = usize>) -> Series {
    let goal = |cores: usize| (cores as f64, one * (1.0 + TARGET_SHARE * (cores as f64 - 1.0)));
    series(name, Role::Target, cores.map(goal))
}

fn rates(found: &Found, curves: &[Curve], residuals: &[Residual]) -> Chart {
    let mut all = Vec::new();
    for subject in &SUBJECTS {
        let with_core = found.threads.iter().filter(|&&threads| threads <= found.cores);
        let points =
            with_core.filter_map(|&threads| found.rates.point(threads as f64, subject.name(), &at(threads)));
        all.push(Series {
            name: format!("{}, measured", subject.name()),
            role: Role::Measured,
            points: points.collect(),
        });
    }
    for curve in curves {
        all.push(uniform(curve, residuals, 1.0));
    }
    if let Some(curve) = curves.last() {
        let cores = curve.outcomes.iter().map(|outcome| outcome.cores);
        all.push(target(&format!("target, {}", curve.name), curve.outcomes[0].rate, cores));
    }
    chart("Queries a second: measured points, simulated lines", ["cores", "queries a second"], true, all)
}

fn growth(curves: &[Curve], residuals: &[Residual], flows: usize) -> Chart {
    let mut all: Vec<Series> =
        curves.iter().map(|curve| uniform(curve, residuals, curve.outcomes[0].rate)).collect();
    if let Some(curve) = curves.last() {
        let cores = || curve.outcomes.iter().map(|outcome| outcome.cores);
        let one = curve.outcomes[0].rate;
        let spread = |outcome: &Outcome| {
            (outcome.cores as f64, outcome.rate / one * simulate::spread(outcome.cores, flows))
        };
        let name = format!("{}, a socket a core, {flows} flows, simulated", curve.name);
        all.push(series(&name, Role::Simulated, curve.outcomes.iter().map(spread)));
        all.push(target("target", 1.0, cores()));
    }
    chart("Growth, simulated: rate over that with one core", ["cores", "rate over one core"], true, all)
}

fn skewed(curves: &[Curve], residuals: &[Residual]) -> Chart {
    let line = |curve: &Curve| simulated(curve, residuals, &curve.skewed, curve.skewed[0].rate);
    let all = curves.iter().map(line);
    chart(
        "Growth, simulated, with names as skewed as a root server's",
        ["cores", "rate over one core"],
        true,
        all.collect(),
    )
}

fn oversubscribed(found: &Found, crowded: &Values) -> Chart {
    let line = |subject: &super::Subject| {
        let full = Point::at(found.cores as f64, 1.0);
        let more = found.threads.iter().filter(|&&threads| threads > found.cores);
        let more = more.filter_map(|&threads| crowded.point(threads as f64, subject.name(), &at(threads)));
        Series {
            name: subject.name().to_owned(),
            role: Role::Measured,
            points: std::iter::once(full).chain(more).collect(),
        }
    };
    let mut all: Vec<Series> = SUBJECTS.iter().map(line).collect();
    let goal = found.threads.iter().filter(|&&threads| threads >= found.cores);
    all.push(series("target, snapshot", Role::Target, goal.map(|&threads| (threads as f64, KEPT_LEAST))));
    chart(
        &format!("Measured: more threads than the {} cores", found.cores),
        ["threads", "rate over that with a thread a core"],
        false,
        all,
    )
}

/// `0.052 [0.049, 0.055]`.
fn with_interval(value: f64, interval: Option<(f64, f64)>) -> String {
    let digits = |value: f64| {
        if value == 0.0 || value >= 0.01 { format!("{value:.3}") } else { format!("{value:.2e}") }
    };
    match interval {
        Some((low, high)) => format!("{} [{}, {}]", digits(value), digits(low), digits(high)),
        None => digits(value),
    }
}

fn laws(curves: &[Curve]) -> Table {
    let mut rows = Vec::new();
    for curve in curves {
        for (name, fit, is_measured) in
            [("measured", &curve.measured, true), ("simulated", &curve.simulated, false)]
        {
            let Some(Fit { law, alpha, beta }) = fit else { continue };
            let is_beta_there = !is_measured || beta.is_some();
            let cell = |text: String| if is_beta_there { text } else { "–".to_owned() };
            rows.push(vec![
                format!("{}, {name}", curve.name),
                with_interval(law.alpha, *alpha),
                cell(with_interval(law.beta, *beta)),
                cell(law.peak().map_or_else(|| "none".to_owned(), |peak| format!("{peak:.0}"))),
                if is_measured { "–".to_owned() } else { format!("{:.1}", law.growth(64.0)) },
            ]);
        }
    }
    let columns = ["protection", "α [95 %]", "β [95 %]", "cores at the peak", "64 cores over one"];
    let note = "The universal scalability law. With two numbers of cores only α can be fitted. A measured α holds all that the \
                second core costs, of the machine too; a simulated one only locks and lines.";
    table("How rates grow: parameters of the law", &columns, rows, note)
}

/// Cores of which the table has a column.
const SHOWN: [usize; 6] = [1, 4, 8, 16, 32, 64];

fn at_cores(curves: &[Curve], flows: usize) -> Table {
    let cells = |outcomes: &[Outcome], factor: &dyn Fn(usize) -> f64| {
        let rate = |cores| {
            outcomes.iter().find(|outcome| outcome.cores == cores).map_or(0.0, |outcome| outcome.rate)
        };
        SHOWN.map(|cores| format!("{:.2}", rate(cores) / rate(1).max(1e-9) * factor(cores)))
    };
    let mut rows = Vec::new();
    let mut row = |name: String, cells: [String; 6]| rows.push(std::iter::once(name).chain(cells).collect());
    for curve in curves {
        row(curve.name.to_owned(), cells(&curve.outcomes, &|_| 1.0));
        row(format!("{}, skewed names", curve.name), cells(&curve.skewed, &|_| 1.0));
    }
    if let Some(curve) = curves.last() {
        let spread = |cores| simulate::spread(cores, flows);
        row(format!("{}, a socket a core, {flows} flows", curve.name), cells(&curve.outcomes, &spread));
    }
    let columns = ["protection", "1 core", "4", "8", "16", "32", "64"];
    let note = "All simulated. With a socket a core the kernel spreads flows by chance: the fullest core is at its limit first.";
    table("Rate over that with one core, simulated", &columns, rows, note)
}

fn costs(sharing: &Sharing, inputs: &Inputs) -> Table {
    let machine = inputs.machine();
    let is_measured = |measured: bool| if measured { "measured" } else { "assumed" };
    let row =
        |name: &str, ns: f64, origin: &str| vec![name.to_owned(), format!("{ns:.1}"), origin.to_owned()];
    let rows = vec![
        row("an atomic change of a line at hand", machine.atomic_ns, "measured"),
        row("more, from another core", machine.transfer_ns, is_measured(!sharing.pairs.is_empty())),
        row("going to sleep, or waking another", machine.wake_ns, is_measured(sharing.wake.is_some())),
        row("from waking to running", machine.resume_ns, is_measured(sharing.wake.is_some())),
        row("looking for a lock before sleeping", machine.spin_ns, "assumed"),
    ];
    table("What the machine takes", &["what", "ns", "origin"], rows, "As `zonda-bench host` measures it.")
}

fn visits(inputs: &Inputs) -> Table {
    let rows = inputs.visits().map(|(thing, visits)| {
        vec![thing.name().to_owned(), format!("{:.1}", visits.per_query), format!("{:.0}", visits.held_ns)]
    });
    let note = "From the lock profile of one thread; the clock of the profiler is taken off. Counters are taken by locks in the \
                profile, by one atomic change with `system-atomic` and `paper`; memory is shared with `bind9` alone.";
    table("What a query takes", &["lock", "times a query", "ns each"], rows.collect(), note)
}
