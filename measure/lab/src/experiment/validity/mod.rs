//! Which runs count: what the machine did meanwhile, the rules that this must obey, and what follows where it does not.
//!
//! A run whose conditions break a rule is made again where it stood, a few times, and then discarded and counted by the rule.
//! Rules never look at the value that was measured. Design: `docs/design/laboratory.md`, section 1.
//!
//! * `watch`: conditions of a run. * `rules`: named, each with its bound in the recipe. * `ledger`: what became of all runs.

mod ledger;
mod rules;
mod watch;

use serde_json::Value;

pub use ledger::{Decision, Ledger, quietness};
pub use rules::{Bounds, Rule};
pub use watch::{Conditions, Watch};

use super::Lab;
use crate::{Error, known::Known, record::RuleCount};

/// How often a run is made again at most: what disturbs for longer disturbs the next one too.
pub const AGAIN_MAX: usize = 2;

/// What a staircase says of its limit where the generator did not keep up.
pub const GENERATOR_BEHIND: &str = "generator behind schedule";

/// What is known of the rate of a closed loop, by what the generator said of it, as an object.
pub fn known_of(outcome: &Value) -> Known {
    let mut conditions = Conditions::default();
    conditions.add_outcome(outcome, false);
    Known::at_least_if(conditions.is_limited)
}

/// What one run brought.
pub struct Made<T> {
    /// What it measured.
    pub value: T,
    /// What is written down of it, whether it counts or not.
    pub raw: Value,
    /// What the generator said of it, as an object; null where there was none.
    pub outcome: Value,
    /// Whether it was to answer everything: percentiles and closed loops say nothing of what was lost.
    pub answers_all: bool,
}

/// A run that counts.
pub struct Judged<T> {
    /// What it measured.
    pub value: T,
    /// What the machine did meanwhile.
    pub conditions: Conditions,
}

/// Makes a run, again where its conditions break a rule; nothing where it does not count in the end. `label`: who and where.
/// Errors are those of `make`.
pub fn judged<T>(
    lab: &mut Lab,
    label: &str,
    mut make: impl FnMut(&mut Lab) -> Result<Made<T>, Error>,
) -> Result<Option<Judged<T>>, Error> {
    let bounds = Bounds::of(lab);
    for attempt in 1.. {
        lab.go_on()?;
        let watch = Watch::begin(&lab.used_cores());
        let made = make(lab);
        let mut conditions = watch.end();
        let Made { value, mut raw, outcome, answers_all } =
            made.inspect_err(|_| lab.validity.failed(attempt))?;
        conditions.add_outcome(&outcome, answers_all);
        let broken = bounds.broken(&conditions);
        let decision = lab.validity.decide(&broken, attempt, lab.record.quick);
        write_down(&mut raw, &conditions, &broken, decision == Decision::Counts);
        lab.record.raw.push(raw);
        match decision {
            Decision::Counts => {
                lab.validity.count(&conditions);
                return Ok(Some(Judged { value, conditions }));
            }
            Decision::Again => eprintln!("  {label}, again: {}", bounds.words(&broken, &conditions)),
            Decision::Discarded => {
                let why = format!("{label}, attempt {attempt}: {}", bounds.words(&broken, &conditions));
                eprintln!("  discarded: {why}");
                lab.record.blocks.discarded.push(why);
                return Ok(None);
            }
        }
    }
    Ok(None)
}

/// Watches something that cannot be made again: rules are counted, and it counts whatever they say.
pub fn watched<T>(lab: &mut Lab, make: impl FnOnce(&mut Lab) -> Result<T, Error>) -> Result<T, Error> {
    let judged_before = lab.validity.runs();
    let watch = Watch::begin(&lab.used_cores());
    let written_before = lab.record.raw.len();
    let made = make(lab);
    // Whoever judges its own runs has counted them.
    if lab.validity.runs() > judged_before {
        return made;
    }
    if made.is_err() {
        lab.validity.failed(1);
        return made;
    }
    let conditions = watch.end();
    let broken = Bounds::of(lab).broken(&conditions);
    lab.validity.note(&broken);
    lab.validity.count(&conditions);
    for raw in lab.record.raw[written_before..].iter_mut().filter(|raw| raw.is_object()) {
        write_down(raw, &conditions, &broken, true);
    }
    made
}

/// Watches a whole recipe, of which no run was watched, as one.
pub fn watched_as_one(lab: &mut Lab, make: impl FnOnce(&mut Lab) -> Result<(), Error>) -> Result<(), Error> {
    let watch = Watch::begin(&lab.used_cores());
    make(lab)?;
    if lab.validity.runs() == 0 {
        let conditions = watch.end();
        let broken = Bounds::of(lab).broken(&conditions);
        lab.validity.note(&broken);
        lab.validity.count(&conditions);
    }
    Ok(())
}

/// Adds to a raw result what the machine did meanwhile, which rules that broke, and whether it counts.
pub fn write_down(raw: &mut Value, conditions: &Conditions, broken: &[Rule], counts: bool) {
    raw["conditions"] = conditions.json();
    raw["broken"] = broken.iter().map(|rule| rule.name()).collect();
    raw["counts"] = counts.into();
}

/// Writes into the record what became of the rules.
pub fn finish(lab: &mut Lab) {
    let (server, load) = (lab.server_cores.clone(), lab.load_cores.clone());
    let told = lab.validity.told(&Bounds::of(lab), &server, &load);
    let is_mark =
        |rule: &&RuleCount| [Rule::Generator, Rule::Losses].iter().any(|mark| mark.name() == rule.rule);
    for rule in told.rules.iter().filter(|rule| !is_mark(rule)) {
        // Half of them is more than a quick look at the table of rules should have to find.
        let counts = rule.broken - rule.again - rule.discarded;
        if 2 * counts > told.runs {
            let (runs, name, bound) = (told.runs, &rule.rule, &rule.bound);
            lab.note(format!("{counts} of {runs} runs count that broke the rule `{name}` ({bound}): measure on a quiet machine"));
        }
    }
    lab.record.validity = told;
}

#[cfg(test)]
mod tests;
