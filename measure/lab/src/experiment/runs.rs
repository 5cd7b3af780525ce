//! Runs of several kinds that alternate: rounds in which each has one, in random order, so that a slower minute of the
//! machine slows all. Values of one round are those that compare.

use std::time::Instant;

use bench::random::Random;

use super::{Lab, Values};
use crate::{Error, recipe::Name, record::Target, statistics};

/// Order of the runs.
const SEED: u64 = 4;

/// Makes all rounds of the effort; `run` makes one of the kind with that index, in the round with that number. A kind that
/// fails is left out with a note.
pub fn alternate(
    lab: &mut Lab,
    labels: &[String],
    mut run: impl FnMut(&mut Lab, usize, usize) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut order: Vec<usize> = (0..labels.len()).collect();
    let (mut random, began, rounds) = (Random::new(SEED), Instant::now(), lab.effort.runs);
    for round in 0..rounds {
        let text = format!("run {} of {rounds} of each of {}", round + 1, order.len());
        lab.say_left(&text, began, round, rounds - round);
        random.shuffle(&mut order);
        let mut failed = Vec::new();
        for &which in &order {
            lab.go_on()?;
            match run(lab, which, round + 1) {
                Err(error @ (Error::Server { .. } | Error::Program { .. } | Error::Output { .. })) => {
                    lab.note(format!("{} is left out: {error}", labels[which]));
                    failed.push(which);
                }
                result => result?,
            }
        }
        order.retain(|which| !failed.contains(which));
        if order.is_empty() {
            return if round > 0 { Ok(()) } else { Err(Error::Nobody) };
        }
        lab.record.blocks.kept += 1;
    }
    Ok(())
}

/// Of which two the values are divided, round by round.
pub struct Pair<'a> {
    pub one: &'a str,
    pub other: &'a str,
    pub at: &'a str,
}

/// Adds the ratio of two to `ratios`, one value for each round that both have.
pub fn divide(values: &Values, pair: &Pair<'_>, label: &str, ratios: &mut Values) {
    let (ones, others) = (values.of(pair.one, pair.at), values.of(pair.other, pair.at));
    for (one, other) in ones.iter().zip(others).filter(|(_, other)| **other > 0.0) {
        ratios.push(label, pair.at, one / other);
    }
}

/// What came of a target: the median of the ratios and its interval beside the least that is wanted.
pub fn target(what: String, values: &[f64], least: f64) -> Target {
    let interval = statistics::interval_of_logarithms(values);
    Target { what, median: statistics::median_of_logarithms(values), interval, least }
}

/// The name of our own echo server in messages.
pub fn echo_label(group: &str, at: &str) -> String {
    format!("{} {group}, {at}", Name::Echo.text())
}
