//! Runs of several kinds that alternate: rounds in which each has one, in random order, so that a slower minute of the
//! machine slows all. Values of one round are those that compare.

use std::{collections::BTreeMap, time::Instant};

use bench::random::Random;

use super::{Lab, Mark, Marked, Rounds, Values, values};
use crate::{Error, known::Known, recipe::Name, record::Target, statistics};

/// Order of the runs.
const SEED: u64 = 4;

/// Makes all rounds of the effort, and spare ones; `run` makes one of the kind with that index, in the round with that number, and judges
/// whether it counts ([`super::validity`]). A kind that fails is left out with a note.
pub fn alternate(
    lab: &mut Lab,
    labels: &[String],
    run: impl FnMut(&mut Lab, usize, usize) -> Result<(), Error>,
) -> Result<(), Error> {
    alternate_some(lab, labels, |_, _, _| true, run)
}

/// The same where not every kind has a run in every round: `takes_part` says it of the kind with that index, in the round with that number.
pub fn alternate_some(
    lab: &mut Lab,
    labels: &[String],
    takes_part: impl Fn(&Lab, usize, usize) -> bool,
    mut run: impl FnMut(&mut Lab, usize, usize) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut order: Vec<usize> = (0..labels.len()).collect();
    let (mut random, began, mut rounds) = (Random::new(SEED), Instant::now(), Rounds::new(lab.effort.runs));
    while let Some(round) = rounds.next(lab) {
        let text = format!("run {round} of {} of each of {}", rounds.count(), order.len());
        lab.say_left(&text, began, round - 1, rounds.left());
        random.shuffle(&mut order);
        let mut failed = Vec::new();
        for &which in &order {
            lab.go_on()?;
            if !takes_part(lab, which, round) {
                continue;
            }
            match run(lab, which, round) {
                Err(error @ (Error::Server { .. } | Error::Program { .. } | Error::Output { .. })) => {
                    lab.note(format!("{} is left out: {error}", labels[which]));
                    failed.push(which);
                }
                result => result?,
            }
        }
        order.retain(|which| !failed.contains(which));
        if order.is_empty() {
            return if round > 1 { Ok(()) } else { Err(Error::Nobody) };
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
    let of = |name| values.marked(name, pair.at);
    for (ratio, mark) in over(&of(pair.one), &of(pair.other)) {
        ratios.push_marked(label, pair.at, ratio, mark);
    }
}

/// Ratios of values of the same round, of those over values above 0.
pub fn over(ones: &[Marked], others: &[Marked]) -> Vec<Marked> {
    let others: Vec<Marked> = others.iter().copied().filter(|(value, _)| *value > 0.0).collect();
    paired(ones, &others, |one, other| one / other)
}

/// Values less those of the same round.
pub fn less(ones: &[Marked], others: &[Marked]) -> Vec<Marked> {
    paired(ones, others, |one, other| one - other)
}

/// What `of` makes of two values of each round that both have; it grows with the first and falls with the second.
fn paired(ones: &[Marked], others: &[Marked], of: impl Fn(f64, f64) -> f64) -> Vec<Marked> {
    let pair = |&(one, mark): &Marked| {
        let (other, of_other) = others.iter().find(|(_, other)| other.round == mark.round)?;
        Some((of(one, *other), mark.known(mark.known.over(of_other.known))))
    };
    ones.iter().filter_map(pair).collect()
}

/// What came of a target: the median of the ratios and its interval beside the least that is wanted.
pub fn target(what: String, values: &[Marked], least: f64) -> Target {
    bounded(what, values, Some(least), None)
}

/// The same with a bound from below, or from above.
fn bounded(what: String, marked: &[Marked], least: Option<f64>, most: Option<f64>) -> Target {
    let (values, marks): (Vec<f64>, Vec<Mark>) = marked.iter().copied().unzip();
    let (at_least, at_most) = values::one_sided(&marks);
    Target {
        what,
        median: statistics::median(&values),
        interval: statistics::interval(&values),
        coverage: statistics::coverage(values.len()),
        at_least,
        at_most,
        least,
        most,
    }
}

/// What came of the targets of a recipe of zones that change. `values`: of a metric, a contender and a place, one a round. `metric`: of those that
/// name none.
pub fn change_targets(lab: &mut Lab, metric: &str, values: impl Fn(&str, &str, &str) -> Vec<Marked>) {
    for target in lab.recipe.changes.targets.clone() {
        let metric = target.metric.as_deref().unwrap_or(metric);
        let ones = values(metric, target.of.text(), &target.at);
        let over_at = target.over_at.as_ref().unwrap_or(&target.at);
        let others: Vec<Vec<Marked>> =
            target.over.iter().map(|name| values(metric, name.text(), over_at)).collect();
        let (values, over) = if target.over.is_empty() {
            (ones, String::new())
        } else {
            let names: Vec<&str> = target.over.iter().map(|name| name.text()).collect();
            let the_best = if names.len() > 1 { "the best of " } else { "" };
            let best = best(&others, target.most.is_some());
            (over(&ones, &best), format!(" over {the_best}{}", names.join(", ")))
        };
        if values.is_empty() {
            continue;
        }
        let at = if *over_at == target.at { String::new() } else { format!(" at {over_at}") };
        let what = format!("{metric} of {} at {}{over}{at}", target.of.text(), target.at);
        lab.record.targets.push(bounded(what, &values, target.least, target.most));
    }
}

/// The best value above 0 of each round that one of them has; `is_least`: the least of them.
pub fn best(all: &[Vec<Marked>], is_least: bool) -> Vec<Marked> {
    let mut rounds: BTreeMap<usize, Marked> = BTreeMap::new();
    for &(value, mark) in all.iter().flatten().filter(|(value, _)| *value > 0.0) {
        rounds
            .entry(mark.round)
            .and_modify(|before| *before = better(*before, (value, mark), is_least))
            .or_insert((value, mark));
    }
    rounds.into_values().collect()
}

/// The better of two. What is known of the other matters where it may be better after all.
fn better(one: Marked, other: Marked, is_least: bool) -> Marked {
    let is_one = if is_least { one.0 <= other.0 } else { one.0 >= other.0 };
    let ((value, mark), (_, beside)) = if is_one { (one, other) } else { (other, one) };
    let may_be_better = if is_least { !beside.known.is_from_below() } else { !beside.known.is_from_above() };
    let of_both = if is_least { Known::AtMost } else { Known::AtLeast };
    (value, if may_be_better { mark.known(mark.known.and(of_both)) } else { mark })
}

/// The name of our own echo server in messages.
pub fn echo_label(group: &str, at: &str) -> String {
    format!("{} {group}, {at}", Name::Echo.text())
}

#[cfg(test)]
mod tests {
    use super::{
        Known::{AtLeast, AtMost, Exactly, NotAtAll},
        *,
    };

    /// Values of rounds.
    fn marked(values: &[(usize, f64, Known)]) -> Vec<Marked> {
        values.iter().map(|&(round, value, known)| (value, Mark::in_round(round).known(known))).collect()
    }

    fn seen(marked: &[Marked]) -> Vec<(usize, f64, Known)> {
        marked.iter().map(|(value, mark)| (mark.round, *value, mark.known)).collect()
    }

    #[test]
    fn ratios_are_within_a_round() {
        let mut values = Values::default();
        for (who, round, value, known) in [
            ("a", 1, 2.0, Exactly),
            ("a", 3, 6.0, Exactly),
            ("b", 2, 5.0, Exactly),
            ("b", 3, 3.0, AtLeast),
            ("a", 4, 1.0, Exactly),
            ("a", 5, 1.0, AtLeast),
            ("b", 5, 1.0, AtLeast),
            ("a", 6, 1.0, Exactly),
            ("b", 6, 0.0, Exactly),
        ] {
            values.push_marked(who, "", value, Mark::in_round(round).known(known));
        }
        let mut ratios = Values::default();
        divide(&values, &Pair { one: "a", other: "b", at: "" }, "a over b", &mut ratios);
        let found = seen(&ratios.marked("a over b", ""));
        assert_eq!(found, [(3, 2.0, AtMost), (5, 1.0, NotAtAll)]);
        let less = less(&values.marked("a", ""), &values.marked("b", ""));
        assert_eq!(seen(&less), [(3, 3.0, AtMost), (5, 0.0, NotAtAll), (6, 1.0, Exactly)]);
    }

    #[test]
    fn the_best_of_each_round() {
        let exactly = |values: &[(usize, f64)]| {
            let all: Vec<_> = values.iter().map(|&(round, value)| (round, value, Exactly)).collect();
            marked(&all)
        };
        // One of them had no value in round 2: what it had in round 3 is of round 3.
        let others = [exactly(&[(1, 2.0), (2, 8.0), (3, 0.0)]), exactly(&[(1, 4.0), (3, 1.0)])];
        let values = |marked: &[Marked]| marked.iter().map(|(value, _)| *value).collect::<Vec<_>>();
        assert_eq!(values(&best(&others, true)), [2.0, 8.0, 1.0]);
        assert_eq!(values(&best(&others, false)), [4.0, 8.0, 1.0]);
        let ones = exactly(&[(2, 16.0), (4, 1.0)]);
        assert_eq!(seen(&over(&ones, &best(&others, false))), [(2, 2.0, Exactly)]);
        assert!(best(&[vec![]], true).is_empty());
    }

    #[test]
    fn the_best_may_be_another() {
        for (one, other, is_least, expected) in [
            ((4.0, Exactly), (2.0, AtLeast), false, (4.0, AtLeast)),
            ((4.0, Exactly), (2.0, AtMost), false, (4.0, Exactly)),
            ((4.0, AtMost), (2.0, Exactly), false, (4.0, AtMost)),
            ((4.0, AtMost), (2.0, AtLeast), false, (4.0, NotAtAll)),
            ((4.0, AtMost), (2.0, Exactly), true, (2.0, AtMost)),
            ((4.0, AtLeast), (2.0, Exactly), true, (2.0, Exactly)),
            ((4.0, Exactly), (2.0, AtLeast), true, (2.0, AtLeast)),
        ] {
            let all = [one, other].map(|(value, known)| marked(&[(1, value, known)]));
            let found = best(&all, is_least);
            assert_eq!((found[0].0, found[0].1.known), expected, "{one:?} {other:?} {is_least}");
        }
    }

    /// A target of six values of which some are known from one side.
    #[test]
    fn targets_are_decided_by_what_suffices() {
        let verdict = |known: &[Known], least, most| {
            let values: Vec<_> =
                (0..6).map(|at| (at, 2.0 + at as f64 / 10.0, *known.get(at).unwrap_or(&Exactly))).collect();
            bounded(String::new(), &marked(&values), least, most).verdict()
        };
        for (known, least, most, expected) in [
            (Exactly, Some(2.0), None, "met"),
            (Exactly, Some(3.0), None, "missed"),
            (AtLeast, Some(2.0), None, "met"),
            (AtLeast, Some(2.2), None, "met by the median only"),
            (AtLeast, Some(2.3), None, "not decided"),
            (AtLeast, Some(3.0), None, "not decided"),
            (AtLeast, None, Some(3.0), "not decided"),
            (AtLeast, None, Some(1.9), "missed"),
            (AtMost, Some(2.0), None, "not decided"),
            (AtMost, Some(3.0), None, "missed"),
            (AtMost, None, Some(3.0), "met"),
            (AtMost, None, Some(2.2), "not decided"),
            (NotAtAll, Some(1.0), None, "not decided"),
            (NotAtAll, None, Some(1.0), "not decided"),
            (AtLeast, Some(1.0), Some(9.0), "not decided"),
        ] {
            assert_eq!(verdict(&[known], least, most), expected, "{known:?} {least:?} {most:?}");
        }
        assert_eq!(verdict(&[AtLeast, AtMost], Some(1.0), None), "not decided");
    }
}
