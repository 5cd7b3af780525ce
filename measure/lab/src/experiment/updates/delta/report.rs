//! Tables of what was found.

use super::{Found, METRICS};
use crate::{
    experiment::{Lab, interval_text, table},
    recipe::{Case, Name},
    record::Figure,
    statistics,
};

/// What was found of a case.
pub(super) fn report(lab: &mut Lab, case: &Case, found: &Found) {
    let at = case.name.as_str();
    let order = lab.labels();
    let cell = |metric: &str, who: &str, digits: usize| {
        let values = found.of(metric, who, at);
        if values.is_empty() { String::new() } else { format!("{:.digits$}", statistics::median(values)) }
    };
    let row = |who: &String| {
        let times = METRICS[..4].iter().map(|(metric, ..)| cell(metric, who, 3));
        let memory = METRICS[4..7].iter().map(|(metric, ..)| cell(metric, who, 1));
        [who.clone()].into_iter().chain(times).chain(memory).collect::<Vec<String>>()
    };
    let rows: Vec<Vec<String>> = order.iter().map(row).filter(|row| !row[1].is_empty()).collect();
    let columns = [
        "server",
        "until the reply ms",
        "until served ms",
        "worst",
        "served after reply, worst ms",
        "memory: first KiB",
        "next nine, worst KiB",
        "all the others, each KiB",
    ];
    let note = "Medians and the worst of all updates, one at a time, each of which adds a name. Served after the reply: 0 where the first query sent after the reply had the name, \
                else from the reply until one had it. Memory: what has no file, after each of the first ten.";
    lab.record.tables.push(table(&format!("One update: {at}"), &columns, rows, note));
    let who = Name::Zonda.text();
    let figures = |metric: &str| {
        let values = found.by.iter().find(|(known, _)| *known == metric);
        values.map_or_else(Vec::new, |(_, values)| values.figures(metric, "", true))
    };
    let rows: Vec<Vec<String>> = figures("rate over the pack alone")
        .iter()
        .filter(|figure| figure.at.starts_with(at))
        .map(|figure: &Figure| {
            let of = |metric: &str| {
                let median = statistics::median(found.of(metric, who, &figure.at));
                format!("{}{median:.0}", found.known(metric, who, &figure.at).sign())
            };
            vec![
                figure.at.clone(),
                of("rate of the pack alone"),
                of("rate over the delta"),
                format!("{}{:.3}", figure.known().sign(), figure.median),
                interval_text(figure, 3),
                figure.values.len().to_string(),
            ]
        })
        .collect();
    if !rows.is_empty() {
        let columns = ["queries", "pack alone /s", "over the delta /s", "ratio", "95 %", "pairs"];
        let note =
            "Two servers on the same core in turn, one with the changes, one without; through the network.";
        lab.record.tables.push(table(&format!("Queries over a delta: {at}"), &columns, rows, note));
    }
    let (octets, starts) =
        (found.of("octets a changed record", who, at), found.of("start that replays", who, at));
    if !octets.is_empty() {
        let text =
            |values: &[f64]| values.iter().map(|value| format!("{value:.0}")).collect::<Vec<_>>().join(", ");
        let row = vec![text(octets), text(starts)];
        let note = "Memory that the server allocated for the changes, divided by them. Start: from exec until the last serial is served, killed before.";
        lab.record.tables.push(table(
            &format!("Many changed records: {at}"),
            &["octets a record", "starts ms"],
            vec![row],
            note,
        ));
    }
}
