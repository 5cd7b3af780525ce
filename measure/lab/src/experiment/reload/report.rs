//! What a record says of reloads.

use super::{Found, NEW};
use crate::{
    experiment::{Lab, Values, interval_text, latency::answered_text, table},
    recipe::Case,
    record::{Chart, Figure},
    statistics,
};

/// Adds what was found to the record.
pub fn report(lab: &mut Lab, cases: &[Case], found: &Found) {
    let places: Vec<String> = cases.iter().map(|case| case.name.clone()).collect();
    for at in &places {
        lab.record.tables.push(times(at, found));
        lab.record.tables.push(queries(at, found));
    }
    let all = found.metrics().into_iter();
    lab.record.figures.extend(all.flat_map(|(values, metric, unit)| values.figures(metric, unit, false)));
    lab.record.charts.push(found.new.bars(
        "From the command to the new serial",
        "milliseconds",
        &places,
        true,
    ));
    lab.record.charts.extend(places.iter().map(|at| percentiles(at, found)));
}

fn times(at: &str, found: &Found) -> crate::record::Table {
    let row = |figure: &Figure| {
        let who = figure.contender.as_str();
        vec![
            who.to_owned(),
            format!("{:.0}", statistics::median(found.count.of(who, at))),
            format!("{:.1}", figure.median),
            interval_text(figure, 1),
            format!("{:.1}", statistics::ends(found.longest.of(who, at)).1),
        ]
    };
    let figures = found.new.figures(NEW, "ms", false);
    let rows = figures.iter().filter(|figure| figure.at == at).map(row).collect();
    let columns = ["server", "reloads a run", "median ms", "95 %", "longest ms"];
    let note = "From the start of the command to the first answer with the new serial, asked every millisecond. Longest: of all \
                runs that count.";
    table(&format!("{at}: from the command to the new serial"), &columns, rows, note)
}

fn queries(at: &str, found: &Found) -> crate::record::Table {
    let (without, with) = (&found.without, &found.with);
    let ratios = found.over_none.figures("", "", false);
    let row = |who: &str| {
        let median = |values: &Values, scale: f64, digits: usize| {
            let of = values.of(who, at);
            let sign = values.known(who, at).sign();
            if of.is_empty() {
                String::new()
            } else {
                format!("{sign}{:.digits$}", statistics::median(of) * scale)
            }
        };
        let ratio = ratios.iter().find(|figure| figure.contender == who && figure.at == at);
        vec![
            who.to_owned(),
            median(&found.rate, 1.0, 0),
            median(&without.p99, 1.0, 0),
            median(&with.p99, 1.0, 0),
            ratio.map_or_else(String::new, |figure| format!("{}{:.2}", figure.known().sign(), figure.median)),
            ratio.map_or_else(String::new, |figure| interval_text(figure, 2)),
            format!(
                "{}{:.1}",
                with.longest.known(who, at).sign(),
                statistics::ends(with.longest.of(who, at)).1 / 1e3
            ),
            median(&without.lost, 1.0, 0),
            median(&with.lost, 1.0, 0),
            answered_text(with.answered.of(who, at)),
            median(&without.waited, 100.0, 1),
            median(&with.waited, 100.0, 1),
        ]
    };
    let names = found.over_none.contenders();
    let rows = names.into_iter().filter(|who| !found.new.of(who, at).is_empty()).map(row).collect();
    let columns = [
        "server",
        "queries/s",
        "p99 us without",
        "with",
        "ratio",
        "95 %",
        "longest answer ms",
        "lost without",
        "with",
        "answered",
        "waited % without",
        "with",
    ];
    let note = "Medians of all runs that count; without and with reloads, one directly after the other. Longest answer, and what was answered: of \
                the worst run with reloads. Waited: share of the time in which the threads that answer had no processor; known of Zonda's only.";
    table(&format!("{at}: queries meanwhile"), &columns, rows, note)
}

/// p99 without and with reloads.
fn percentiles(at: &str, found: &Found) -> Chart {
    let sides = [("without reloads", &found.without.p99), ("with reloads", &found.with.p99)];
    let mut values = Values::default();
    for (side, of) in sides {
        for who in of.contenders() {
            let marked = of.marked(who, at).into_iter();
            marked.for_each(|(value, mark)| values.push_marked(who, side, value, mark));
        }
    }
    let places = sides.map(|(side, _)| side.to_owned());
    values.bars(&format!("{at}: 99 % of the answers within"), "microseconds", &places, true)
}
