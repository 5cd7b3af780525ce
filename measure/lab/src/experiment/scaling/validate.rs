//! The seeds' curves beside the simulation of them: whether what it says of more cores is worth anything.

use scaling::{
    Effort, Fault,
    bind::{self, Checked, Curve, THREADS, profile},
    run,
};

use crate::{
    Error,
    experiment::{Lab, table},
    record::{Chart, Point, Role, Series, Table},
};

/// The goal of the paper, with one to four processors.
const GOAL: [f64; 4] = [1.0, 1.5, 2.0, 2.5];
/// BIND 8 as a resolver with 80 % hits (table 1).
const BIND8: f64 = 36_647.0;
/// Decimal point of errors.
const PERCENT: f64 = 100.0;

/// Adds curves, errors and parameters to the record.
pub fn validate(lab: &mut Lab, effort: Effort) -> Result<(), Error> {
    let curves = bind::curves();
    let mut checked = Vec::new();
    for curve in &curves {
        lab.go_on()?;
        match curve.check(effort) {
            Ok(one) => checked.push((curve, one)),
            Err(fault) => lab.note(format!("{} is not simulated: {fault}", curve.name)),
        }
    }
    match figure_3(effort) {
        Ok((chart, table)) => {
            lab.record.charts.push(chart);
            lab.record.tables.push(table);
        }
        Err(fault) => lab.note(format!("figure 3 is not simulated: {fault}")),
    }
    let record = &mut lab.record;
    for (title, is_wanted) in GROUPS {
        let chosen: Vec<&(&Curve, Checked)> = checked.iter().filter(|(curve, _)| is_wanted(curve)).collect();
        record.charts.push(growth(title, &chosen));
    }
    record.charts.extend(checked.iter().find(|(curve, _)| is_figure_6(curve)).map(figure_6));
    record.tables.push(points(&checked));
    record.tables.push(parameters(&curves));
    Ok(())
}

/// A heading, and which curves are below it.
type Group = (&'static str, fn(&Curve) -> bool);

/// Charts of several curves.
const GROUPS: [Group; 3] = [
    ("Seeds, BIND 9.3 with its locks (2004): published and simulated", |curve| curve.is_stock),
    ("Seeds, BIND++ without contended locks (2004): published and simulated", |curve| {
        !curve.is_stock && curve.name.contains("BIND++")
    }),
    ("Seeds, table 1 (2006), other shares of hits: published and simulated", |curve| {
        curve.name.contains("hits") && !is_figure_6(curve)
    }),
];

fn is_figure_6(curve: &Curve) -> bool {
    curve.name.contains("figure 6")
}

fn series(name: String, role: Role, values: [f64; 4]) -> Series {
    let point = |(&threads, y): (&usize, f64)| Point::at(threads as f64, y);
    Series { name, role, points: THREADS.iter().zip(values).map(point).collect() }
}

fn chart(title: &str, y_label: &str, series: Vec<Series>) -> Chart {
    Chart::lines(title, ["threads", y_label], series)
}

/// Rates over that with one thread: machines of four speeds in one chart.
fn growth(title: &str, curves: &[&(&Curve, Checked)]) -> Chart {
    let one = |values: [f64; 4], first: f64| values.map(|value| value / first);
    let published = curves.iter().map(|(curve, _)| {
        series(curve.name.to_owned(), Role::Published, one(curve.published, curve.published[0]))
    });
    let simulated = curves.iter().map(|(curve, checked)| {
        let name = format!("{}, simulated", curve.name);
        series(name, Role::Simulated, one(checked.rates, checked.rates[0]))
    });
    let goal = series("goal of the paper".to_owned(), Role::Target, GOAL);
    chart(title, "rate over that with one thread", published.chain(simulated).chain([goal]).collect())
}

fn figure_6((curve, checked): &(&Curve, Checked)) -> Chart {
    let name = "BIND 9 new".to_owned();
    chart(
        "Seeds, figure 6 (2006), 80 % hits: published and simulated",
        "queries a second",
        vec![
            series(name.clone(), Role::Published, curve.published),
            series(format!("{name}, simulated"), Role::Simulated, checked.rates),
            series("goal of the paper".to_owned(), Role::Target, GOAL.map(|goal| goal * curve.published[0])),
            series("BIND 8".to_owned(), Role::Target, [BIND8; 4]),
        ],
    )
}

/// The root server of the paper: of its rates only the shape is known, of its locks a profile.
fn figure_3(effort: Effort) -> Result<(Chart, Table), Fault> {
    let growth = |model: &scaling::Model| {
        let mut rates = [0.0; 4];
        for (rate, threads) in rates.iter_mut().zip(THREADS) {
            *rate = run(model, threads, effort)?.rate;
        }
        Ok(rates.map(|rate| rate / rates[0]))
    };
    let (old, new) = (growth(&profile::old())?, growth(&profile::new())?);
    let lines = chart(
        "Seeds, figure 3 (2006), root server: simulated from the lock profile",
        "rate over that with one thread",
        vec![
            series("old BIND 9, simulated".to_owned(), Role::Simulated, old),
            series("new BIND 9, simulated".to_owned(), Role::Simulated, new),
            series("goal of the paper".to_owned(), Role::Target, GOAL),
        ],
    );
    let found = profile::profile(effort)?;
    let percent = |share: f64| format!("{:.1} %", share * PERCENT);
    let row = |what: &str, published: String, simulated: String, used: &str| {
        vec![what.to_owned(), published, simulated, used.to_owned()]
    };
    let mut rows = vec![row(
        "threads waiting for locks, 4 threads",
        percent(profile::SHARE_WAITED),
        percent(found.share_waited),
        "fitted",
    )];
    for ((cause, published), simulated) in profile::CAUSES.iter().zip(profile::SPLIT).zip(found.split) {
        rows.push(row(&format!("of it: {cause}"), percent(published), percent(simulated), "fitted"));
    }
    let us = |ns: f64| format!("{:.1} µs", ns / 1000.0);
    rows.push(row(
        "one wait for the memory lock",
        us(profile::MEMORY_WAIT_NS),
        us(found.memory_wait_ns),
        "predicted",
    ));
    rows.push(row(
        "old, 4 threads over 1",
        "never above BIND 8; goal 2.5".to_owned(),
        format!("{:.2}", old[3]),
        "predicted",
    ));
    rows.push(row(
        "new, 4 threads over 1",
        "almost linear".to_owned(),
        format!("{:.2}", new[3]),
        "predicted",
    ));
    let columns = ["what", "published", "simulated", "the point is"];
    let note = "Section 3 and figure 3 of the paper. Figure 3 is a plot without a table, so that only its text can be compared.";
    Ok((lines, table("Seeds: the lock profile of the old BIND 9, and figure 3", &columns, rows, note)))
}

fn points(checked: &[(&Curve, Checked)]) -> Table {
    let mut rows = Vec::new();
    for (curve, checked) in checked {
        for (at, threads) in THREADS.iter().enumerate() {
            rows.push(vec![
                curve.name.to_owned(),
                threads.to_string(),
                format!("{:.0}", curve.published[at]),
                format!("{:.0}", checked.rates[at]),
                format!("{:+.1} %", checked.errors[at] * PERCENT),
                curve.uses[at].text().to_owned(),
            ]);
        }
    }
    let columns = ["curve", "threads", "published/s", "simulated/s", "error", "the point is"];
    let note = "Given: an input. Fitted: a parameter was chosen for it. Predicted: not used.";
    table("Seeds: every published point beside the simulation", &columns, rows, note)
}

fn parameters(curves: &[Curve]) -> Table {
    let root = profile::parameters();
    let of_root = root.iter().map(|parameter| ("root server, section 3", parameter));
    let of_curve = |curve: &'static str, all| std::iter::repeat(curve).zip(all);
    let of_curves = curves.iter().flat_map(|curve| of_curve(curve.name, curve.parameters.iter()));
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (curve, parameter) in of_root.chain(of_curves) {
        let row = [parameter.name, &parameter.value, parameter.origin].map(str::to_owned);
        // What several curves share is said once.
        match rows.iter_mut().find(|known| known[..3] == row) {
            Some(known) => known[3] = format!("{}; {curve}", known[3]),
            None => rows.push(row.into_iter().chain([curve.to_owned()]).collect()),
        }
    }
    let columns = ["parameter", "value", "origin", "curves"];
    table(
        "Seeds: what the models know, and from where",
        &columns,
        rows,
        "Sources: the mail of December 2004 (A, B, C) and the paper of 2006.",
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const EFFORT: Effort = Effort { queries: 1200, seed: 1 };

    #[test]
    fn every_curve_is_in_one_chart() {
        for curve in bind::curves() {
            let charts = GROUPS.iter().filter(|(_, is_wanted)| is_wanted(&curve)).count();
            assert_eq!(charts + usize::from(is_figure_6(&curve)), 1, "{}", curve.name);
        }
    }

    #[test]
    fn charts_and_tables_are_whole() {
        let (chart, table) = figure_3(EFFORT).unwrap();
        assert_eq!((chart.series.len(), table.rows.len()), (3, 8));
        let curves = bind::curves();
        let checked: Vec<(&Curve, Checked)> =
            curves.iter().take(2).map(|curve| (curve, curve.check(EFFORT).unwrap())).collect();
        let all: Vec<&(&Curve, Checked)> = checked.iter().collect();
        let chart = growth("t", &all);
        let slots: Vec<usize> = crate::chart::data::drawn(&chart).iter().map(|series| series.slot).collect();
        assert_eq!(slots[..2], slots[2..4], "a simulated line has the colour of its published one");
        for table in [points(&checked), parameters(&curves), table] {
            assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{}", table.title);
        }
    }
}
