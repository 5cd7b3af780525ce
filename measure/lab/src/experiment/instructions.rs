//! Instructions in user space that an answer takes, counted under [`callgrind`](super::callgrind).
//!
//! The difference of two runs over the queries that the second answered more, for each contender, case and round. Another build
//! of Zonda (`before`) has its ratio beside it, round by round.

use std::time::Instant;

use serde_json::{Value, json};

use super::{Lab, Subject, Values, callgrind, interval_text, table};
use crate::{
    Error, agreement,
    agreement::Ttls,
    data::Set,
    recipe::{Case, Name},
    record::Figure,
    statistics,
};

/// What is counted, as figures are named.
const METRIC: &str = "instructions";
/// The same over those of the contender `before`, in the same round.
const RATIO: &str = "instructions over before";
/// Most ways to answer that are shown: enough for the codes that zones give.
const CODES_MAX: usize = 4;

/// What was found.
#[derive(Default)]
struct Found {
    counts: Values,
    ratios: Values,
    /// Contender, case, octets an answer and codes of the last run, for the tables.
    answers: Vec<(String, String, f64, String)>,
}

/// Measures all contenders in all cases.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    callgrind::check()?;
    let (mut found, cases) = (Found::default(), lab.recipe.cases.clone());
    for case in &cases {
        let set = lab.set(case)?;
        lab.record.notes.push(format!("{}: {} records, {}", case.name, set.zones.records, set.source));
        let subjects = alike(lab, case, &set)?;
        measure(lab, case, &set, subjects, &mut found)?;
    }
    if found.counts.contenders().is_empty() {
        return Err(Error::Nobody);
    }
    report(lab, &cases, found);
    Ok(())
}

/// Contenders that come up, asked a sample of the queries, without callgrind: who answers differently does other work.
fn alike(lab: &mut Lab, case: &Case, set: &Set) -> Result<Vec<Subject>, Error> {
    let (names, mut running) = (lab.names.clone(), super::Running::new());
    let subjects = lab.subjects(&names, 1);
    lab.start_all(subjects, &set.zones, &mut running, &case.name)?;
    let sample = agreement::sample(&set.queries, lab.effort.agreement)?;
    lab.compare(&running, &sample, Ttls::Compared, case, &case.name)?;
    Ok(running.into_iter().map(|(subject, _)| subject).collect())
}

fn measure(
    lab: &mut Lab,
    case: &Case,
    set: &Set,
    mut subjects: Vec<Subject>,
    found: &mut Found,
) -> Result<(), Error> {
    let queries = callgrind::queries(lab, case, set)?;
    let (began, runs, at) = (Instant::now(), lab.effort.runs, case.name.as_str());
    for round in 0..runs {
        let text = format!("{at}: counting, round {} of {runs}", round + 1);
        lab.say_left(&text, began, round, runs - round);
        let mut failed = Vec::new();
        for subject in &subjects {
            let read = |run: callgrind::Run| Ok((callgrind::instructions(&run.files)?, run));
            match callgrind::twice(lab, subject, &set.zones, &queries, &[], read) {
                Ok(two) => push(lab, subject, at, two, found),
                Err(error @ Error::Server { .. }) => {
                    failed.push(subject.label.clone());
                    lab.note(format!("{at}, {}: {error}", subject.label));
                }
                Err(error) => return Err(error),
            }
        }
        subjects.retain(|subject| !failed.contains(&subject.label));
        push_ratios(&subjects, at, found);
        lab.record.blocks.kept += 1;
    }
    Ok(())
}

fn push(lab: &mut Lab, subject: &Subject, at: &str, two: [(u64, callgrind::Run); 2], found: &mut Found) {
    let [counts, answered] =
        [two.each_ref().map(|one| one.0 as f64), two.each_ref().map(|one| one.1.answered())];
    let each = (counts[1] - counts[0]) / (answered[1] - answered[0]).max(1.0);
    let outcome = &two[1].1.outcome;
    let octets = outcome["octets_per_answer"].as_f64().unwrap_or(0.0);
    found.counts.push(&subject.label, at, each);
    found.answers.push((subject.label.clone(), at.to_owned(), octets, codes(&outcome["rcodes"])));
    lab.record.raw.push(json!({
        "instructions_of": subject.label, "at": at, "instructions": counts, "answered": answered, "an_answer": each,
        "rcodes": outcome["rcodes"], "octets_per_answer": octets,
    }));
}

/// Of the round that was the last: all others over `before`.
fn push_ratios(subjects: &[Subject], at: &str, found: &mut Found) {
    let last = |label: &str| found.counts.of(label, at).last().copied();
    if !subjects.iter().any(|subject| subject.name == Name::Before) {
        return;
    }
    let Some(before) = last(Name::Before.text()).filter(|&count| count > 0.0) else { return };
    let others = subjects.iter().filter(|subject| subject.name != Name::Before);
    let ratios: Vec<_> =
        others.filter_map(|subject| Some((subject.label.clone(), last(&subject.label)? / before))).collect();
    ratios.into_iter().for_each(|(label, ratio)| found.ratios.push(&label, at, ratio));
}

/// `NOERROR 38 %, NXDOMAIN 62 %`, the most frequent first.
fn codes(counts: &Value) -> String {
    let Some(counts) = counts.as_object() else { return String::new() };
    let mut counts: Vec<(&str, f64)> =
        counts.iter().map(|(code, count)| (code.as_str(), count.as_f64().unwrap_or(0.0))).collect();
    counts.sort_by(|one, other| other.1.total_cmp(&one.1));
    let sum: f64 = counts.iter().map(|(_, count)| count).sum();
    let text = |(code, count): &(&str, f64)| format!("{code} {:.0} %", 100.0 * count / sum.max(1.0));
    counts.iter().filter(|(_, count)| *count > 0.0).take(CODES_MAX).map(text).collect::<Vec<_>>().join(", ")
}

fn report(lab: &mut Lab, cases: &[Case], found: Found) {
    let places: Vec<String> = cases.iter().map(|case| case.name.clone()).collect();
    let figures = found.counts.figures(METRIC, "", false);
    let ratios = found.ratios.figures(RATIO, "", false);
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
        let rows = figures.iter().filter(|figure| figure.at == *at).map(row).collect();
        let columns =
            ["server", "instructions", "least", "most", "over before", "95 %", "octets/answer", "codes"];
        let note = "Of user space, by answer: the difference of two runs, of which the second has twice as many queries.";
        lab.record.tables.push(table(at, &columns, rows, note));
    }
    lab.record.charts.push(found.counts.bars("Instructions an answer", "instructions", &places, true));
    lab.record.figures.extend(figures);
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
