//! Runs of several kinds that alternate: rounds in which each has one, in random order, so that a slower minute of the
//! machine slows all. Values of one round are those that compare.

use std::time::Instant;

use bench::random::Random;

use super::{Lab, Mark, Values};
use crate::{Error, recipe::Name, record::Target, statistics};

/// Order of the runs.
const SEED: u64 = 4;

/// Makes all rounds of the effort; `run` makes one of the kind with that index, in the round with that number, and judges whether
/// it counts ([`super::validity`]). A kind that fails is left out with a note.
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

/// Adds the ratio of two to `ratios`, one value for each round that both have. What the generator limited on one side says
/// nothing certain of the ratio.
pub fn divide(values: &Values, pair: &Pair<'_>, label: &str, ratios: &mut Values) {
    let of = |name| {
        let marks = values.marks(name, pair.at).iter().copied();
        values.of(name, pair.at).iter().copied().zip(marks).collect::<Vec<(f64, Mark)>>()
    };
    let others = of(pair.other);
    for (one, mark) in of(pair.one) {
        let of_round = others.iter().find(|(value, other)| other.round == mark.round && *value > 0.0);
        if let Some((other, of_other)) = of_round {
            let is_at_least = mark.is_at_least || of_other.is_at_least;
            ratios.push_marked(label, pair.at, one / other, Mark { is_at_least, ..mark });
        }
    }
}

/// Values of one contender at a place less those of another, one for each round that both have, with the marks of the former.
pub fn subtract(
    ones: &Values,
    (one, at): (&str, &str),
    others: &Values,
    (other, there): (&str, &str),
) -> Vec<(f64, Mark)> {
    let theirs: Vec<(f64, usize)> = others
        .of(other, there)
        .iter()
        .copied()
        .zip(others.marks(other, there).iter().map(|mark| mark.round))
        .collect();
    let less = |(value, mark): (&f64, &Mark)| {
        let of_round = theirs.iter().find(|(_, round)| *round == mark.round);
        of_round.map(|(theirs, _)| (value - theirs, *mark))
    };
    ones.of(one, at).iter().zip(ones.marks(one, at)).filter_map(less).collect()
}

/// What came of a target: the median of the ratios and its interval beside the least that is wanted.
pub fn target(what: String, values: &[f64], least: f64) -> Target {
    bounded(what, values, Some(least), None)
}

/// The same with a bound from below, or from above. The median is that of logarithms where all values are above 0.
fn bounded(what: String, values: &[f64], least: Option<f64>, most: Option<f64>) -> Target {
    let positive = values.iter().all(|&value| value > 0.0);
    Target {
        what,
        median: if positive { statistics::median_of_logarithms(values) } else { statistics::median(values) },
        interval: statistics::interval(values),
        coverage: statistics::coverage(values.len()),
        at_least: 0,
        least,
        most,
    }
}

/// What came of the targets of a recipe of zones that change. `values`: of a metric, a contender and a place, one a round. `metric`: of those that
/// name none.
pub fn change_targets(lab: &mut Lab, metric: &str, values: impl Fn(&str, &str, &str) -> Vec<f64>) {
    for target in lab.recipe.changes.targets.clone() {
        let metric = target.metric.as_deref().unwrap_or(metric);
        let ones = values(metric, target.of.text(), &target.at);
        let over_at = target.over_at.as_ref().unwrap_or(&target.at);
        let others: Vec<Vec<f64>> =
            target.over.iter().map(|name| values(metric, name.text(), over_at)).collect();
        let (values, over) = if target.over.is_empty() {
            (ones, String::new())
        } else {
            let names: Vec<&str> = target.over.iter().map(|name| name.text()).collect();
            let best = if names.len() > 1 { "the best of " } else { "" };
            (over_best(&ones, &others, target.most.is_some()), format!(" over {best}{}", names.join(", ")))
        };
        if values.is_empty() {
            continue;
        }
        let at = if *over_at == target.at { String::new() } else { format!(" at {over_at}") };
        let what = format!("{metric} of {} at {}{over}{at}", target.of.text(), target.at);
        lab.record.targets.push(bounded(what, &values, target.least, target.most));
    }
}

/// Each value over the best of the others of its round; `is_less_better`: over the least of them.
fn over_best(ones: &[f64], others: &[Vec<f64>], is_less_better: bool) -> Vec<f64> {
    let best = |round: usize| {
        let of_round = others.iter().filter_map(|values| values.get(round).copied());
        of_round
            .filter(|&value| value > 0.0)
            .reduce(|one, other| if is_less_better { one.min(other) } else { one.max(other) })
    };
    let ratio = |(round, &one): (usize, &f64)| Some(one / best(round)?);
    ones.iter().enumerate().filter_map(ratio).collect()
}

/// The name of our own echo server in messages.
pub fn echo_label(group: &str, at: &str) -> String {
    format!("{} {group}, {at}", Name::Echo.text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_within_a_round() {
        let mut values = Values::default();
        for (who, round, value, is_at_least) in [
            ("a", 1, 2.0, false),
            ("a", 3, 6.0, false),
            ("b", 2, 5.0, false),
            ("b", 3, 3.0, true),
            ("a", 4, 1.0, false),
        ] {
            values.push_marked(who, "", value, Mark { round, is_at_least, shares: None });
        }
        let mut ratios = Values::default();
        divide(&values, &Pair { one: "a", other: "b", at: "" }, "a over b", &mut ratios);
        assert_eq!((ratios.of("a over b", ""), ratios.at_least("a over b", "")), (&[2.0][..], 1));
    }

    #[test]
    fn differences_are_within_a_round() {
        let mut values = Values::default();
        for (who, round, value) in [("a", 1, 2.0), ("a", 3, 6.0), ("b", 2, 5.0), ("b", 3, 1.0)] {
            values.push_marked(who, "", value, Mark { round, ..Mark::default() });
        }
        let less: Vec<_> = subtract(&values, ("a", ""), &values, ("b", ""));
        assert_eq!(less.iter().map(|(value, mark)| (*value, mark.round)).collect::<Vec<_>>(), [(5.0, 3)]);
    }

    #[test]
    fn the_best_of_each_round() {
        let others = [vec![2.0, 8.0], vec![4.0, 4.0, 1.0]];
        assert_eq!(over_best(&[1.0, 1.0, 1.0, 1.0], &others, true), [0.5, 0.25, 1.0]);
        assert_eq!(over_best(&[8.0, 8.0], &others, false), [2.0, 1.0]);
        assert!(over_best(&[1.0], &[vec![]], true).is_empty());
    }
}
