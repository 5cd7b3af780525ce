//! Which runs count: what the machine did meanwhile, the rules that this must obey, and what follows where it does not.
//!
//! A run whose conditions break a rule is made again where it stood, a few times, and then discarded and counted by the rule.
//! Rules never look at the value that was measured. Design: `docs/design/laboratory.md`, section 1.
//!
//! * `watch`: conditions of a run. * `rules`: named, each with its bound in the recipe. * `ledger`: what became of all runs.
//! * `gather`: what a run found, apart until it counts.
//!
//! | a run | how | of |
//! |---|---|---|
//! | brings a value | [`judged`], again; [`judged_by`] other bounds | echo servers, generators, latency, memory, starts, the engine |
//! | fills many | [`gathered`], again | updates, transfers, resolvers in trouble, cold caches, scaling |
//! | cannot be made again | [`gathered_once`], discarded | histories, which take hours; blocks of caching resolvers, whose caches have moved on, judge themselves |
//! | measures no time | [`watched`], counts | octets that are kept of updates without end |

mod gather;
mod ledger;
mod rules;
mod watch;

use serde_json::Value;

pub use gather::Gather;
pub(in crate::experiment) use gather::gather_fields;
pub use ledger::{Decision, Ledger, quietness};
pub use rules::{Bounds, Rule};
pub use watch::{Conditions, Heard, Watch};

use super::{Lab, Mark, usage};
use crate::{Error, known::Known, record::RuleCount};

/// How often a run is made again at most: what disturbs for longer disturbs the next one too.
pub const AGAIN_MAX: usize = 2;

/// What a staircase says of its limit where the generator did not keep up.
pub const GENERATOR_BEHIND: &str = "generator behind schedule";

/// What is known of the rate of a closed loop, by what the generator said of it, as an object.
pub fn known_of(outcome: &Value) -> Known {
    let mut conditions = Conditions::default();
    conditions.hear(Heard::of(outcome, false));
    Known::at_least_if(conditions.is_limited)
}

/// What is known of percentiles that the generator told: what was lost would have come later than all else.
pub fn known_of_latency(outcome: &Value) -> Known {
    let mut conditions = Conditions::default();
    conditions.hear(Heard::of(outcome, true));
    Known::at_least_if(conditions.has_losses())
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
    make: impl FnMut(&mut Lab) -> Result<Made<T>, Error>,
) -> Result<Option<Judged<T>>, Error> {
    let bounds = Bounds::of(lab);
    judged_by(lab, &bounds, label, make)
}

/// The same by other bounds than those of most runs.
pub fn judged_by<T>(
    lab: &mut Lab,
    bounds: &Bounds,
    label: &str,
    mut make: impl FnMut(&mut Lab) -> Result<Made<T>, Error>,
) -> Result<Option<Judged<T>>, Error> {
    attempts(lab, bounds, true, label, |lab| {
        let Made { value, raw, outcome, answers_all } = make(lab)?;
        lab.record.raw.push(raw);
        Ok((value, Heard::of(&outcome, answers_all)))
    })
}

/// Makes a run that fills a `T` of its own and says what it heard of generators, again where its conditions break a rule. What it
/// found is added to `found` if it counts in the end; returns whether it does. `round`: values of one round compare.
pub fn gathered<T: Gather>(
    lab: &mut Lab,
    label: &str,
    round: usize,
    found: &mut T,
    make: impl FnMut(&mut Lab, &mut T) -> Result<Heard, Error>,
) -> Result<bool, Error> {
    gather(lab, true, label, round, found, make)
}

/// The same of what cannot be made again.
pub fn gathered_once<T: Gather>(
    lab: &mut Lab,
    label: &str,
    found: &mut T,
    make: impl FnMut(&mut Lab, &mut T) -> Result<Heard, Error>,
) -> Result<bool, Error> {
    gather(lab, false, label, 0, found, make)
}

fn gather<T: Gather>(
    lab: &mut Lab,
    is_again: bool,
    label: &str,
    round: usize,
    found: &mut T,
    mut make: impl FnMut(&mut Lab, &mut T) -> Result<Heard, Error>,
) -> Result<bool, Error> {
    let bounds = Bounds::of(lab);
    let judged = attempts(lab, &bounds, is_again, label, |lab| {
        let mut run = T::default();
        let heard = make(lab, &mut run)?;
        Ok((run, heard))
    })?;
    let counts = judged.is_some();
    if let Some(Judged { value, conditions }) = judged {
        found.gather(value, Mark::of(round, &conditions));
    }
    Ok(counts)
}

/// Attempts at a run until it counts, or is discarded. `is_again`: whether it can be made again.
fn attempts<T>(
    lab: &mut Lab,
    bounds: &Bounds,
    is_again: bool,
    label: &str,
    mut make: impl FnMut(&mut Lab) -> Result<(T, Heard), Error>,
) -> Result<Option<Judged<T>>, Error> {
    for attempt in 1.. {
        lab.go_on()?;
        let written_before = lab.record.raw.len();
        let watch = Watch::begin(&lab.used_cores());
        let made = make(lab);
        let mut conditions = watch.end();
        let (value, heard) = made.inspect_err(|_| lab.validity.failed(attempt))?;
        conditions.hear(heard);
        let (broken, is_quick) = (bounds.broken(&conditions), lab.record.quick);
        let decision = match is_again {
            true => lab.validity.decide(&broken, attempt, is_quick),
            false => lab.validity.decide_once(&broken, is_quick),
        };
        write_down_all(lab, written_before, &conditions, &broken, decision == Decision::Counts);
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

/// Watches what measures octets and no time: rules are counted, and it counts whatever they say.
pub fn watched<T>(lab: &mut Lab, make: impl FnOnce(&mut Lab) -> Result<T, Error>) -> Result<T, Error> {
    let watch = Watch::begin(&lab.used_cores());
    let written_before = lab.record.raw.len();
    let made = make(lab).inspect_err(|_| lab.validity.failed(1))?;
    let conditions = watch.end();
    let broken = Bounds::of(lab).broken(&conditions);
    lab.validity.note(&broken);
    lab.validity.count(&conditions);
    write_down_all(lab, written_before, &conditions, &broken, true);
    Ok(made)
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

/// Adds the same to all raw results of a run.
fn write_down_all(lab: &mut Lab, from: usize, conditions: &Conditions, broken: &[Rule], counts: bool) {
    for raw in lab.record.raw[from..].iter_mut().filter(|raw| raw.is_object()) {
        write_down(raw, conditions, broken, counts);
    }
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
    if told.runs > 0 && !usage::sees_all() {
        lab.note(
            "programs outside of this one's PID namespace cannot be seen: others took at most the time in which cores were busy, less \
             what the experiment took, and that is what stands for them"
                .to_owned(),
        );
    }
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
#[allow(clippy::unwrap_used)]
mod tests;
