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
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use bench::query::Query;

use super::{
    Lab, Mark, Values,
    internet::Internet,
    runs,
    validity::{self, Gather, Heard},
};
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
    /// By case: questions a name in the first round that counts.
    kinds: BTreeMap<String, Kinds>,
}

/// Label of the way and type, by resolver.
type Kinds = BTreeMap<(String, String), BTreeMap<String, f64>>;

impl Gather for Found {
    fn gather(&mut self, run: Found, mark: Mark) {
        let Found { questions, streams, trips, median, high, user, system, signatures, failed, pss, .. } =
            run;
        for (all, one) in [
            (&mut self.questions, questions),
            (&mut self.streams, streams),
            (&mut self.trips, trips),
            (&mut self.median, median),
            (&mut self.high, high),
            (&mut self.user, user),
            (&mut self.system, system),
            (&mut self.signatures, signatures),
            (&mut self.failed, failed),
            (&mut self.pss, pss),
        ] {
            all.gather(one, mark);
        }
        self.codes.gather(run.codes, mark);
        for (case, kinds) in run.kinds {
            add_kinds(self.kinds.entry(case).or_default(), kinds);
        }
    }
}

/// Adds the questions of a resolver that has none yet.
fn add_kinds(all: &mut Kinds, one: Kinds) {
    let known: BTreeSet<String> = all.values().flat_map(|by| by.keys().cloned()).collect();
    for (kind, by) in one {
        all.entry(kind).or_default().extend(by.into_iter().filter(|(who, _)| !known.contains(who)));
    }
    // A kind of which only resolvers that were known before had some.
    all.retain(|_, by| !by.is_empty());
}

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
    let takes_part = |lab: &Lab, which: usize, round| lab.takes_part(contenders[which], round);
    runs::alternate_some(lab, &labels, takes_part, |lab, which, round| {
        let label = format!("{}, round {round}", labels[which]);
        validity::gathered(lab, &label, round, found, |lab, found| {
            let turn = turn::take(lab, &spot, contenders[which], internet, round)?;
            found.take(lab, &spot, &turn, internet, round);
            if round == 1 {
                answers[which] = turn.answers;
            }
            // So many at a time: a closed loop has no schedule, and what was not answered is a result.
            Ok(Heard::default())
        })
        .map(drop)
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
    let mut seen = BTreeSet::new();
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
    use super::{Kinds, add_kinds, evenly};

    #[test]
    fn questions_are_those_of_the_first_round_that_counts() {
        let kinds = |who: &str, kind: &str, count: f64| -> Kinds {
            [(("root".to_owned(), kind.to_owned()), [(who.to_owned(), count)].into())].into()
        };
        let mut all = Kinds::new();
        for (who, kind, count) in [("a", "NS", 1.0), ("a", "A", 9.0), ("b", "NS", 2.0), ("a", "NS", 8.0)] {
            add_kinds(&mut all, kinds(who, kind, count));
        }
        let ns = [("a".to_owned(), 1.0), ("b".to_owned(), 2.0)];
        assert_eq!(all, [(("root".to_owned(), "NS".to_owned()), ns.into())].into());
    }

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
