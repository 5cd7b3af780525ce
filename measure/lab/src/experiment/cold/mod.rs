//! Resolvers that know nothing yet: what each new name costs them, in questions, in time, in work.
//!
//! ```text
//! generator -- each name once, so many at a time --> a resolver, started anew -- questions --> link: counted, a round trip --> model Internet
//! ```
//!
//! A case is a model Internet, and whether resolvers validate. It is started once; then there are rounds in which each resolver has its turn, in random order: started,
//! left alone until it has found the root and asks nothing more, asked for all names, asked again for a sample of them, ended.

mod counted;
mod report;
mod turn;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use bench::query::Query;

use super::{Lab, Values, internet::Internet, runs};
use crate::{
    Error,
    agreement::{self, Answers},
    data::InternetWanted,
    error,
    recipe::Case,
    statistics,
};

/// How far away all servers are: from one end of a continent to the other.
pub const ROUND_TRIP: Duration = Duration::from_millis(20);
/// Of the Internet that is made.
const SEED: u64 = 1;
/// Where few names are asked for, each question of the first round is written down: a few hundred octets a name.
const WRITTEN_MAX: usize = 5_000;

/// Values of all rounds, by resolver and case.
#[derive(Default)]
struct Found {
    /// Questions to servers, a name.
    questions: Values,
    /// Of these over TCP.
    streams: Values,
    /// Mean latency over the round trip.
    trips: Values,
    /// Median and 99th percentile of latency, milliseconds.
    median: Values,
    high: Values,
    /// Median less that of Unbound in the same round, milliseconds.
    beyond: Values,
    /// Processor time a name, microseconds.
    user: Values,
    system: Values,
    /// Signatures verified a name, of those that tell.
    signatures: Values,
    /// Queries without an answer, or with an error, as share.
    failed: Values,
    /// Octets of memory at the end.
    pss: Values,
    /// Response codes, by resolver and case.
    codes: BTreeMap<(String, String), BTreeMap<String, u64>>,
    /// By case: questions a name in the first round.
    kinds: BTreeMap<String, Kinds>,
}

/// Label of the way and type, by resolver.
type Kinds = BTreeMap<(String, String), BTreeMap<String, f64>>;

/// A case with its names.
struct Spot<'a> {
    case: &'a Case,
    /// Query file: each name once.
    queries: PathBuf,
    names: usize,
    sample: Vec<Query>,
}

/// Measures all cases.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let cases = lab.recipe.cases.clone();
    let mut found = Found::default();
    // Those that have the same Internet use one after the other.
    let mut internet: Option<(InternetWanted, Internet)> = None;
    for case in &cases {
        let names = ((case.size as f64 * lab.effort.scale) as usize).max(1);
        let wanted = InternetWanted { names, signed_percent: case.signed, seed: SEED };
        if internet.as_ref().is_none_or(|(known, _)| *known != wanted) {
            // Its addresses are needed by the next one.
            drop(internet.take());
            lab.say(&format!("{}: starting the servers of {names} names", case.name));
            internet = Some((wanted, Internet::start(lab, &wanted, ROUND_TRIP)?));
        }
        let Some((_, internet)) = &internet else { return Err(Error::Nobody) };
        measure(lab, case, names, internet, &mut found)?;
    }
    if lab.record.raw.is_empty() {
        return Err(Error::Nobody);
    }
    beyond_unbound(&mut found, &cases);
    report::report(lab, &cases, &found);
    Ok(())
}

/// All rounds of a case.
fn measure(
    lab: &mut Lab,
    case: &Case,
    names: usize,
    internet: &Internet,
    found: &mut Found,
) -> Result<(), Error> {
    let queries = queries(lab, internet, case, names)?;
    let sample = agreement::sample(&queries, lab.effort.agreement)?;
    let spot = Spot { case, queries, names, sample };
    let contenders = lab.able(internet.role(case.validate), &format!(", {}", case.name));
    let labels: Vec<String> =
        contenders.iter().map(|name| format!("{}, {}", name.text(), case.name)).collect();
    let mut answers: Vec<Option<Answers>> = contenders.iter().map(|_| None).collect();
    runs::alternate(lab, &labels, |lab, which, round| {
        if !lab.takes_part(contenders[which], round - 1) {
            return Ok(());
        }
        let turn = turn::take(lab, &spot, contenders[which], internet, round)?;
        found.take(lab, &spot, &turn, internet, round);
        if round == 1 {
            answers[which] = turn.answers;
        }
        Ok(())
    })?;
    let answers: Vec<Answers> = answers.into_iter().flatten().collect();
    lab.agree(agreement::hold(&answers, &spot.sample), &case.name, &case.name);
    Ok(())
}

/// So many names of those that are in the Internet, evenly of all, each once.
fn queries(lab: &Lab, internet: &Internet, case: &Case, names: usize) -> Result<PathBuf, Error> {
    let from = internet.folder.join("names");
    let text = fs::read_to_string(&from).map_err(error::file(&from, "read"))?;
    let lines = evenly(&text, names);
    let path = lab.folder("queries")?.join(format!("{}.queries", case.name.replace([' ', ','], "-")));
    let all: String = lines.iter().map(|line| format!("{line} rd\n")).collect();
    fs::write(&path, all).map_err(error::file(&path, "write"))?;
    Ok(path)
}

/// So many different lines, evenly of all, in an order that has nothing to do with that of the file.
fn evenly(text: &str, count: usize) -> Vec<&str> {
    let mut seen = std::collections::BTreeSet::new();
    let all: Vec<&str> = text.lines().filter(|line| seen.insert(*line)).collect();
    let count = count.min(all.len());
    let mut some: Vec<&str> = (0..count).map(|at| all[at * all.len() / count]).collect();
    bench::random::Random::new(SEED).shuffle(&mut some);
    some
}

/// By how much medians are above Unbound's of the same round.
fn beyond_unbound(found: &mut Found, cases: &[Case]) {
    let names: Vec<String> = found.median.contenders().into_iter().map(str::to_owned).collect();
    for case in cases {
        let theirs = found.median.marked("unbound", &case.name);
        for name in names.iter().filter(|name| *name != "unbound") {
            for (more, mark) in runs::less(&found.median.marked(name, &case.name), &theirs) {
                found.beyond.push_marked(name, &case.name, more, mark);
            }
        }
    }
}

/// Questions of a round as lines, for whoever wants to know why there are so many.
fn write_questions(path: &Path, book: &crate::bed::link::Book, internet: &Internet) -> Result<(), Error> {
    let line = |asked: &crate::bed::link::Asked| {
        let milliseconds = asked.at.duration_since(book.since).as_secs_f64() * 1000.0;
        let (way, kind) = (&internet.link.ways()[asked.way].label, wire::iana::rtype::Text(asked.qtype));
        let over = if asked.is_stream { " tcp" } else { "" };
        format!("{milliseconds:.1}\t{way}\t{}\t{kind}{over}\n", asked.qname)
    };
    let lines: String = book.asked.iter().map(line).collect();
    fs::write(path, lines).map_err(error::file(path, "write"))
}

/// The median of a resolver's values in a case.
fn median(values: &Values, who: &str, at: &str) -> f64 {
    statistics::median(values.of(who, at))
}

#[cfg(test)]
mod tests {
    use super::evenly;

    #[test]
    fn names_are_asked_for_once_each() {
        let text: String = (0..100).map(|number| format!("n{}. A\n", number / 2)).collect();
        assert_eq!(evenly(&text, 1000).len(), 50);
        let mut some = evenly(&text, 5);
        assert_ne!(some, ["n0. A", "n10. A", "n20. A", "n30. A", "n40. A"], "not in their order");
        some.sort_unstable();
        assert_eq!(some, ["n0. A", "n10. A", "n20. A", "n30. A", "n40. A"]);
        assert_eq!(evenly("", 5), Vec::<&str>::new());
    }
}
