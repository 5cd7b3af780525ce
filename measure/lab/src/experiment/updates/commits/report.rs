//! What the report has of changes over an HTTP API.

use super::{Found, Ground, LIMIT, POSTGRESQL, SQLITE};
use crate::{
    contender::Database,
    experiment::{
        Lab, Marked, Values, interval_text,
        runs::{self, Pair},
        table,
        updates::DISK,
    },
    recipe::Name,
    record::{Figure, Table},
    statistics,
};

/// The rate over that of the faster database, the metric's name.
const OF_DATABASE: &str = "rate over the faster database";

/// The rate over that of the database that a server has its zones in, likewise.
const OF_OWN: &str = "rate over its own database";

/// Adds tables, figures, targets and charts to the record.
pub(super) fn report(lab: &mut Lab, ground: &Ground, found: &mut Found) {
    let mut order: Vec<String> = ground.names.iter().map(|name| name.text().to_owned()).collect();
    order.extend([SQLITE, POSTGRESQL, LIMIT].map(str::to_owned));
    let windows: Vec<u64> = lab.recipe.windows().map(|(_, window)| window).collect();
    let names_at: Vec<String> = (0..ground.places.len())
        .flat_map(|case| windows.iter().map(move |&window| ground.at(case, window)))
        .collect();
    let places_at: Vec<&str> = names_at.iter().map(String::as_str).collect();
    for values in [&mut found.rates, &mut found.medians, &mut found.slow, &mut found.cpu] {
        values.arrange(&order);
        values.arrange_places(&places_at);
    }
    let found = &*found;
    let (mut of_limit, mut of_database, mut of_own) =
        (Values::default(), Values::default(), Values::default());
    for at in &names_at {
        for who in found.rates.contenders().into_iter().filter(|&who| who != LIMIT) {
            runs::divide(&found.rates, &Pair { one: who, other: LIMIT, at }, who, &mut of_limit);
        }
        for name in &ground.names {
            for (value, mark) in over_database(found, name.text(), at) {
                of_database.push_marked(name.text(), at, value, mark);
            }
            for (value, mark) in over_own(found, name.text(), at) {
                of_own.push_marked(name.text(), at, value, mark);
            }
        }
    }
    let rates = found.rates.figures("rate", "/s", true);
    let tables = names_at.iter().map(|at| table_of(at, &rates, found));
    lab.record.tables.extend(tables);
    runs::change_targets(lab, "rate", |metric, who, at| match metric {
        "rate" => found.rates.marked(who, at),
        "p50" => found.medians.marked(who, at),
        OF_DATABASE => over_database(found, who, at),
        OF_OWN => over_own(found, who, at),
        _ => Vec::new(),
    });
    let [rate, median] =
        [&found.disk_rates, &found.disk_medians].map(|values| statistics::median(values.of(DISK, "")));
    let row = vec![format!("{rate:.0}"), format!("{median:.1}")];
    let note = "Blocks of 4 KiB, each written in place and made durable before the next, past the system's cache where that can be.";
    let record = &mut lab.record;
    record.tables.push(table("The disk alone", &["writes/s", "median us"], vec![row], note));
    record.figures.extend(rates);
    for (values, metric) in [(&found.medians, "p50"), (&found.slow, "p99"), (&found.cpu, "CPU a change")] {
        record.figures.extend(values.figures(metric, "us", false));
    }
    record.figures.extend(of_limit.figures("share of limit", "", true));
    record.figures.extend(of_database.figures(OF_DATABASE, "", true));
    record.figures.extend(of_own.figures(OF_OWN, "", true));
    record.charts.push(found.rates.bars("Changes done", "changes a second", &names_at, true));
    record.charts.push(found.cpu.bars("Processor time a change", "microseconds", &names_at, true));
}

/// A rate over that of the faster database's statements in the same round.
fn over_database(found: &Found, who: &str, at: &str) -> Vec<Marked> {
    let databases = [SQLITE, POSTGRESQL].map(|database| found.rates.marked(database, at));
    runs::over(&found.rates.marked(who, at), &runs::best(&databases, false))
}

/// A rate over that of the statements of the server's own database in the same round; nothing of one without.
fn over_own(found: &Found, who: &str, at: &str) -> Vec<Marked> {
    let Some(database) = Name::from_text(who).and_then(Database::of) else { return Vec::new() };
    runs::over(&found.rates.marked(who, at), &found.rates.marked(super::alone(database), at))
}

fn table_of(at: &str, rates: &[Figure], found: &Found) -> Table {
    let median = |values: &Values, who: &str| statistics::median(values.of(who, at));
    let limit = median(&found.rates, LIMIT);
    let row = |figure: &Figure| {
        let who = figure.contender.as_str();
        let share = if limit > 0.0 { format!("{:.3}", figure.median / limit) } else { String::new() };
        // Those without a client of ours have neither.
        let latency = |values: &Values| match values.of(who, at).is_empty() {
            true => String::new(),
            false => format!("{:.0}", median(values, who)),
        };
        let failed =
            found.failed.get(&(who.to_owned(), at.to_owned())).map_or_else(String::new, u64::to_string);
        vec![
            who.to_owned(),
            format!("{:.0}", figure.median),
            interval_text(figure, 0),
            share,
            latency(&found.medians),
            latency(&found.slow),
            format!("{:.0}", median(&found.cpu, who)),
            failed,
        ]
    };
    let rows = rates.iter().filter(|figure| figure.at == at).map(row).collect();
    let columns = ["who", "changes/s", "95 %", "of limit", "median us", "p99 us", "CPU us", "failed"];
    let note = "Alone: the statements of a change of PowerDNS, without it. CPU: of a server with its database, in ticks of 10 ms; of \
                PostgreSQL alone with the making of its connections. Failed: refused or not answered, in all runs.";
    table(at, &columns, rows, note)
}
