//! What became of all runs of a recipe, by rule.

use std::collections::BTreeMap;

use super::{AGAIN_MAX, Bounds, Conditions, Rule};
use crate::{
    record::{Quietness, RuleCount, Softirq, Validity},
    statistics,
};

/// Of the runs of a recipe, repetitions are at most one in so many: a machine that is never quiet ends with few values, not
/// with a longer run.
const AGAIN_ONE_IN: usize = 3;

/// What is to be done with a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Decision {
    /// It counts.
    Counts,
    /// It is to be made again.
    Again,
    /// It does not count.
    Discarded,
}

/// How many runs broke a rule.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    broken: usize,
    again: usize,
    discarded: usize,
}

/// What became of all runs so far.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Runs, without repetitions.
    firsts: usize,
    repetitions: usize,
    rules: BTreeMap<Rule, Counted>,
    /// Shares stolen, and taken by others, of runs that count.
    shares: Vec<(f64, f64)>,
    /// Seconds by core in soft interrupts, of runs that count.
    softirq: BTreeMap<usize, f64>,
}

impl Ledger {
    /// Runs so far, with repetitions.
    pub fn runs(&self) -> usize {
        self.firsts + self.repetitions
    }

    /// What is to be done with a run that broke these rules. `attempt`: from 1 on, of the same run. In a quick form all counts.
    pub fn decide(&mut self, broken: &[Rule], attempt: usize, is_quick: bool) -> Decision {
        self.begin(attempt);
        let has_room = attempt <= AGAIN_MAX && self.repetitions < self.firsts.div_ceil(AGAIN_ONE_IN);
        self.settle(broken, has_room, is_quick)
    }

    fn begin(&mut self, attempt: usize) {
        if attempt > 1 {
            self.repetitions += 1;
        } else {
            self.firsts += 1;
        }
    }

    /// The same of a run that cannot be made again.
    pub fn decide_once(&mut self, broken: &[Rule], is_quick: bool) -> Decision {
        self.firsts += 1;
        self.settle(broken, false, is_quick)
    }

    fn settle(&mut self, broken: &[Rule], has_room: bool, is_quick: bool) -> Decision {
        let grave: Vec<Rule> = broken.iter().copied().filter(|rule| !rule.is_mark()).collect();
        let decision = match () {
            () if grave.is_empty() => Decision::Counts,
            // Who holds no rate has no value, in a quick form too.
            () if is_quick && !grave.contains(&Rule::Failed) => Decision::Counts,
            () if has_room && grave.iter().all(|rule| rule.is_again()) => Decision::Again,
            () => Decision::Discarded,
        };
        for rule in broken {
            let counted = self.rules.entry(*rule).or_default();
            counted.broken += 1;
            counted.again += usize::from(decision == Decision::Again && !rule.is_mark());
            counted.discarded += usize::from(decision == Decision::Discarded && !rule.is_mark());
        }
        decision
    }

    /// Counts the rules that something broke which cannot be made again.
    pub fn note(&mut self, broken: &[Rule]) {
        self.firsts += 1;
        broken.iter().for_each(|rule| self.rules.entry(*rule).or_default().broken += 1);
    }

    /// A server ended, or was silent, in a run that nothing was decided of. `attempt`: from 1 on, of the same run.
    pub fn failed(&mut self, attempt: usize) {
        self.begin(attempt);
        self.rules.entry(Rule::Failed).or_default().broken += 1;
    }

    /// A run counts that was made under these conditions.
    pub fn count(&mut self, conditions: &Conditions) {
        self.shares.push((conditions.stolen, conditions.others));
        for &(core, seconds) in &conditions.softirq {
            *self.softirq.entry(core).or_default() += seconds;
        }
    }

    /// What a record says of all that, with the cores of servers and generator.
    pub fn told(&self, bounds: &Bounds, server: &[usize], load: &[usize]) -> Validity {
        const RULES: [Rule; 7] = [
            Rule::Stolen,
            Rule::Others,
            Rule::Schedule,
            Rule::Losses,
            Rule::Failed,
            Rule::Echoes,
            Rule::Generator,
        ];
        let rule = |rule: Rule| {
            let Counted { broken, again, discarded } = self.rules.get(&rule).copied().unwrap_or_default();
            RuleCount { rule: rule.name().to_owned(), bound: bounds.text(rule), broken, again, discarded }
        };
        let used = |core: &usize| match (server.contains(core), load.contains(core)) {
            (true, true) => "servers and generator",
            (true, false) => "servers",
            (false, true) => "generator",
            (false, false) => "",
        };
        let softirq = self.softirq.iter().map(|(core, &seconds)| Softirq {
            core: *core,
            of: used(core).to_owned(),
            seconds,
        });
        Validity {
            runs: self.runs(),
            rules: if self.runs() > 0 { RULES.map(rule).to_vec() } else { Vec::new() },
            quietness: quietness(&self.shares),
            softirq: softirq.collect(),
        }
    }
}

/// Median and greatest of shares stolen, and taken by others; nothing of nothing.
pub fn quietness(shares: &[(f64, f64)]) -> Option<Quietness> {
    let of = |part: fn(&(f64, f64)) -> f64| {
        let all: Vec<f64> = shares.iter().map(part).collect();
        (statistics::median(&all), statistics::ends(&all).1)
    };
    let runs = shares.len();
    (runs > 0).then(|| Quietness { runs, stolen: of(|share| share.0), others: of(|share| share.1) })
}
