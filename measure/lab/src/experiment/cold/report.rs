//! What resolvers came to: figures, a table for each case, where they asked and for what, charts.

use super::{Case, Found, Lab, median};
use crate::{
    experiment::{Values, runs, table},
    record::Table,
};

/// Adds all that was found to the record.
pub fn report(lab: &mut Lab, cases: &[Case], found: &Found) {
    let record = &mut lab.record;
    let metrics = [
        (&found.questions, "questions", "", false),
        (&found.trips, "round trips", "", false),
        (&found.median, "median", "ms", false),
        (&found.high, "p99", "ms", false),
        (&found.user, "user CPU", "us", false),
        (&found.system, "system CPU", "us", false),
        (&found.signatures, "signatures", "", false),
        (&found.streams, "over TCP", "", false),
        (&found.beyond, "beyond unbound", "ms", false),
        (&found.failed, "failed", "", false),
        (&found.pss, "PSS", "octets", false),
    ];
    for (values, metric, unit, more_is_better) in metrics {
        record.figures.extend(values.figures(metric, unit, more_is_better));
    }
    for case in cases {
        record.tables.push(of_case(case, found));
        record.tables.extend(kinds(case, found));
    }
    let places: Vec<String> = cases.iter().map(|case| case.name.clone()).collect();
    for (values, title, unit) in [
        (&found.questions, "Questions to servers, a name", "questions"),
        (&found.median, "Latency, median", "milliseconds"),
        (&found.high, "Latency, 99th percentile", "milliseconds"),
        (&found.user, "Processor time a name, in the program (user)", "microseconds"),
        (&found.system, "Processor time a name, in the kernel (system)", "microseconds"),
    ] {
        record.charts.push(values.bars(title, unit, &places, false));
    }
    runs::change_targets(lab, "questions", |metric, who, at| {
        let values = metrics_of(found, metric);
        values.map_or_else(Vec::new, |values| values.marked(who, at))
    });
}

/// The values of a metric that targets name.
fn metrics_of<'a>(found: &'a Found, metric: &str) -> Option<&'a Values> {
    Some(match metric {
        "questions" => &found.questions,
        "round trips" => &found.trips,
        "median" => &found.median,
        "p99" => &found.high,
        "user CPU" => &found.user,
        "system CPU" => &found.system,
        "signatures" => &found.signatures,
        "beyond unbound" => &found.beyond,
        _ => return None,
    })
}

/// All that was found in a case.
fn of_case(case: &Case, found: &Found) -> Table {
    let at = case.name.as_str();
    let row = |who: &&str| {
        let text = |values: &Values, digits: usize| match values.of(who, at).is_empty() {
            true => "-".to_owned(),
            false => format!("{:.digits$}", median(values, who, at)),
        };
        let codes = found.codes.get(&((*who).to_owned(), at.to_owned()));
        let codes = codes.into_iter().flatten().filter(|(_, count)| **count > 0);
        let codes: Vec<String> = codes.map(|(code, count)| format!("{code} {count}")).collect();
        vec![
            (*who).to_owned(),
            text(&found.questions, 3),
            text(&found.streams, 3),
            text(&found.trips, 2),
            text(&found.median, 2),
            text(&found.high, 1),
            text(&found.user, 1),
            text(&found.system, 1),
            text(&found.signatures, 3),
            format!("{:.1}", median(&found.pss, who, at) / f64::from(1 << 20)),
            codes.join(", "),
        ]
    };
    let contenders = found.questions.contenders();
    let there = contenders.iter().filter(|who| !found.questions.of(who, at).is_empty());
    let columns = [
        "resolver",
        "questions",
        "over TCP",
        "round trips",
        "median ms",
        "p99 ms",
        "user us",
        "system us",
        "signatures",
        "PSS MiB",
        "answers",
    ];
    let note = "Questions, processor time and signatures are by name; questions are those that arrived at authoritative servers. Latency is that of queries that were answered; \
                round trips are its mean in units of 20 ms. Answers are those of all rounds.";
    table(at, &columns, there.map(row).collect(), note)
}

/// Where was asked for what, by 1,000 names.
fn kinds(case: &Case, found: &Found) -> Option<Table> {
    let kinds = found.kinds.get(&case.name)?;
    let who: Vec<&str> = found.questions.contenders();
    let row = |((way, qtype), by): (&(String, String), &std::collections::BTreeMap<String, f64>)| {
        let cells = who
            .iter()
            .map(|who| by.get(*who).map_or_else(|| "0".to_owned(), |count| format!("{:.0}", count * 1000.0)));
        [format!("{way}: {qtype}")].into_iter().chain(cells).collect()
    };
    let columns: Vec<&str> = ["asked"].into_iter().chain(who.iter().copied()).collect();
    let title = format!("{}: questions by 1,000 names, by server and type", case.name);
    Some(table(&title, &columns, kinds.iter().map(row).collect(), "In the first round."))
}
