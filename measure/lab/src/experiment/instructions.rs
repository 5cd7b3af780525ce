//! Instructions in user space that an answer takes, counted under [`callgrind`](super::callgrind).
//!
//! The difference of two runs over the queries that the second answered more, for each contender, case and round. Another build
//! of Zonda (`before`) has its ratio beside it, round by round. Where cases say who watches the server, what its workers execute is counted alone, and how much more that is
//! than with nobody watching.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{
    Lab, Subject, Values,
    callgrind::{self, Outcome},
    interval_text,
    runs::{self, Pair, divide},
    table,
};
use crate::{
    Error, figures,
    recipe::{Name, Watched},
    record::Figure,
    statistics,
};

/// What is counted, as figures are named.
const METRIC: &str = "instructions";
/// The same over those of the contender `before`, in the same round.
const RATIO: &str = "instructions over before";
/// The same less those of the case in which nobody watches, in the same round.
const MORE: &str = "more than unwatched";
/// Most ways to answer that are shown: enough for the codes that zones give.
const CODES_MAX: usize = 4;

/// Takes a count from the files of a run.
type Read = fn(&[PathBuf]) -> Result<u64, Error>;

/// What was found.
#[derive(Default)]
struct Found {
    counts: Values,
    /// Contender, case, octets an answer and codes of each run, for the tables.
    answers: Vec<(String, String, f64, String)>,
}

/// Measures all contenders in all cases.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    callgrind::check()?;
    let mut found = Found::default();
    let is_of_workers = lab.recipe.cases.iter().any(|case| case.watched.is_some());
    let (options, read): (&[&str], Read) = match is_of_workers {
        true => (&callgrind::BY_THREAD, callgrind::instructions_of_workers),
        false => (&[], callgrind::instructions),
    };
    callgrind::rounds(lab, options, read, |lab, subject, at, two| {
        push(lab, subject, at, &two, &mut found);
        Ok(())
    })?;
    if found.counts.contenders().is_empty() {
        return Err(Error::Nobody);
    }
    found.counts.arrange(&lab.labels());
    report(lab, &found);
    if is_of_workers {
        report_watched(lab, &found.counts);
    }
    Ok(())
}

fn push(lab: &mut Lab, subject: &Subject, at: &str, two: &[(u64, Outcome); 2], found: &mut Found) {
    let each = callgrind::an_answer(two, |&count| count);
    let Outcome(outcome) = &two[1].1;
    let octets = outcome["octets_per_answer"].as_f64().unwrap_or(0.0);
    found.counts.push(&subject.label, at, each);
    found.answers.push((subject.label.clone(), at.to_owned(), octets, codes(&outcome["rcodes"])));
    lab.record.raw.push(json!({
        "instructions_of": subject.label, "at": at, "instructions": two.each_ref().map(|one| one.0),
        "answered": two.each_ref().map(|one| one.1.answered()), "an_answer": each, "rcodes": outcome["rcodes"],
        "octets_per_answer": octets,
    }));
}

/// All others over `before`, round by round.
fn ratios(counts: &Values, places: &[String]) -> Values {
    let (mut ratios, before) = (Values::default(), Name::Before.text());
    for one in counts.contenders().into_iter().filter(|&one| one != before) {
        for at in places {
            divide(counts, &Pair { one, other: before, at }, one, &mut ratios);
        }
    }
    ratios
}

/// How much more workers execute an answer where somebody watches.
fn report_watched(lab: &mut Lab, counts: &Values) {
    let cases = lab.recipe.cases.clone();
    let Some(alone) = cases.iter().find(|case| case.watched == Some(Watched::Nothing)) else { return };
    let mut more = Values::default();
    for one in counts.contenders() {
        for case in cases.iter().filter(|case| case.name != alone.name) {
            let rounds = counts.of(one, &case.name).iter().zip(counts.of(one, &alone.name));
            rounds.for_each(|(watched, alone)| more.push(one, &case.name, watched - alone));
        }
    }
    let figures = more.figures(MORE, figures::AN_ANSWER, false);
    let row = |figure: &Figure| {
        vec![
            figure.contender.clone(),
            figure.at.clone(),
            format!("{:+.1}", figure.median),
            interval_text(figure, 1),
        ]
    };
    let rows = figures.iter().map(row).collect();
    let note = "Instructions of the threads that receive queries, beyond those with nobody watching in the same round.";
    lab.record.tables.push(table(
        "What watching costs",
        &["server", "watched", "more an answer", "95 %"],
        rows,
        note,
    ));
    lab.record.figures.extend(figures);
    runs::change_targets(lab, MORE, |metric, who, at| match metric {
        MORE => more.marked(who, at),
        _ => counts.marked(who, at),
    });
}

/// `NOERROR 38 %, NXDOMAIN 62 %`, the most frequent first.
pub fn codes(counts: &Value) -> String {
    let Some(counts) = counts.as_object() else { return String::new() };
    let mut counts: Vec<(&str, f64)> =
        counts.iter().map(|(code, count)| (code.as_str(), count.as_f64().unwrap_or(0.0))).collect();
    counts.sort_by(|one, other| other.1.total_cmp(&one.1));
    let sum: f64 = counts.iter().map(|(_, count)| count).sum();
    let text = |(code, count): &(&str, f64)| format!("{code} {:.0} %", 100.0 * count / sum.max(1.0));
    counts.iter().filter(|(_, count)| *count > 0.0).take(CODES_MAX).map(text).collect::<Vec<_>>().join(", ")
}

fn report(lab: &mut Lab, found: &Found) {
    let places: Vec<String> = lab.recipe.cases.iter().map(|case| case.name.clone()).collect();
    let counts = found.counts.figures(METRIC, figures::AN_ANSWER, false);
    let ratios = ratios(&found.counts, &places).figures(RATIO, "", false);
    for at in &places {
        let row = |figure: &Figure| {
            let (least, most) = statistics::ends(&figure.values);
            let ratio = ratios.iter().find(|ratio| ratio.at == *at && ratio.contender == figure.contender);
            let answers = found.answers.iter().rev().find(|one| one.0 == figure.contender && one.1 == *at);
            let (octets, codes) = answers.map_or((0.0, ""), |one| (one.2, one.3.as_str()));
            let mut row = vec![figure.contender.clone()];
            row.extend([figure.median, least, most].map(|count| format!("{count:.1}")));
            row.push(ratio.map_or_else(String::new, |ratio| format!("{:.4}", ratio.median)));
            row.push(ratio.map_or_else(String::new, |ratio| interval_text(ratio, 4)));
            row.extend([format!("{octets:.0}"), codes.to_owned()]);
            row
        };
        let rows = counts.iter().filter(|figure| figure.at == *at).map(row).collect();
        let columns =
            ["server", "instructions", "least", "most", "over before", "95 %", "octets/answer", "codes"];
        let note = "Of user space, by answer: the difference of two runs, of which the second has twice as many queries.";
        lab.record.tables.push(table(at, &columns, rows, note));
    }
    lab.record.charts.push(found.counts.bars("Instructions an answer", "instructions", &places, true));
    lab.record.figures.extend(counts);
    lab.record.figures.extend(ratios);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_as_shares() {
        assert_eq!(
            codes(&json!({ "NOERROR": 1, "NXDOMAIN": 3, "REFUSED": 0 })),
            "NXDOMAIN 75 %, NOERROR 25 %"
        );
        assert_eq!(codes(&Value::Null), "");
    }
}
