//! The rate that half of all trials hold, found by going up after each that does and down after each that does not
//! (the up-and-down method of Dixon and Mood, 1948).
//!
//! On a machine that is disturbed, the rate that held once is luck and the rate that always held is lower than what the
//! server can do. The middle between them is a property of server and machine together, and where several servers take
//! turns on the same machine, trial by trial, its ratios are a property of the servers.

use serde_json::{Value, json};

use super::{Limits, Step, Verdict, verdict_text};
use crate::{Error, load::Outcome};

/// Trials until the steps are as small as they shall be: twenty doublings and as many to come back.
const APPROACH_MAX: usize = 60;
/// Disturbed trials are made again; so many times the trials that count are the end of patience: enough where three of
/// four are disturbed. What is found then is of the trials that count, fewer than were wanted.
const TRIALS_FACTOR_MAX: usize = 4;
/// Rates offered: one query a trial at least, and more than a machine can send at most.
const RATES: std::ops::RangeInclusive<f64> = 1.0..=1e8;

/// Length and number of trials.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Length of a trial.
    pub trial_seconds: f64,
    /// Trials that count, after the approach.
    pub trials: usize,
    /// Steps of the rate, as share of it.
    pub step: f64,
    /// First rate tried.
    pub rate_start: f64,
    /// First step of the approach, as share of the rate: 1 doubles it, less is quicker where the rate is known roughly.
    pub first_step: f64,
    /// What a trial must keep.
    pub limits: Limits,
}

/// The result.
#[derive(Clone, Debug)]
pub struct Staircase {
    /// Geometric mean of the rates of the trials that count; 0 where none did.
    pub rate: f64,
    /// Standard deviation of their logarithms, about the relative spread of a single trial.
    pub spread: f64,
    /// How many of them held.
    pub held: usize,
    /// What most of the others failed for: with [`Verdict::Behind`] the true rate may be higher.
    pub limit: Verdict,
    /// Trials of the approach, disturbed ones with them.
    pub approach: Vec<Step>,
    /// Trials after it, disturbed ones with them, which do not count.
    pub steps: Vec<Step>,
}

impl Staircase {
    /// How many trials count.
    pub fn counted(&self) -> usize {
        self.steps.iter().filter(|step| step.verdict.held().is_some()).count()
    }

    /// As a JSON object.
    pub fn to_json(&self) -> Value {
        let list = |steps: &[Step]| steps.iter().map(|&step| step.to_json()).collect::<Vec<_>>();
        json!({
            "rate": self.rate, "spread": self.spread, "held": self.held, "limit": verdict_text(self.limit),
            "approach": list(&self.approach), "steps": list(&self.steps),
        })
    }
}

/// Walks the staircase with `trial`, which offers a rate for some seconds; `report` hears of each step.
pub fn walk(
    plan: &Plan,
    mut trial: impl FnMut(f64, f64) -> Result<Outcome, Error>,
    mut report: impl FnMut(&Step),
) -> Result<Staircase, Error> {
    let mut offer = |rate| {
        let step = plan.limits.step(rate, plan.trial_seconds, &trial(rate, plan.trial_seconds)?);
        report(&step);
        Ok::<_, Error>(step)
    };
    let (mut rate, smallest) = (plan.rate_start, 1.0 + plan.step);
    let (mut approach, mut steps) = (Vec::new(), Vec::new());
    // Halves the (logarithmic) step wherever the direction changes.
    let (mut factor, mut rising) = (1.0 + plan.first_step, None);
    while factor > smallest && approach.len() < APPROACH_MAX {
        let step = offer(rate)?;
        approach.push(step);
        let Some(held) = step.verdict.held() else { continue };
        if rising.is_some_and(|rising| rising != held) {
            factor = factor.sqrt();
        }
        rising = Some(held);
        rate = next(rate, held, factor.max(smallest));
    }
    // Where not one trial of the approach counts, there is no place to go on from, and no moment without a disturbance.
    if !approach.is_empty() && approach.iter().all(|step| step.verdict.held().is_none()) {
        return Ok(summary(approach, steps));
    }
    let mut counted = 0;
    while counted < plan.trials && steps.len() < plan.trials * TRIALS_FACTOR_MAX {
        let step = offer(rate)?;
        steps.push(step);
        if let Some(held) = step.verdict.held() {
            counted += 1;
            rate = next(rate, held, smallest);
        }
    }
    Ok(summary(approach, steps))
}

fn next(rate: f64, held: bool, factor: f64) -> f64 {
    (if held { rate * factor } else { rate / factor }).clamp(*RATES.start(), *RATES.end())
}

fn summary(approach: Vec<Step>, steps: Vec<Step>) -> Staircase {
    let counted: Vec<&Step> = steps.iter().filter(|step| step.verdict.held().is_some()).collect();
    let number = counted.len().max(1) as f64;
    let mean = counted.iter().map(|step| step.rate.ln()).sum::<f64>() / number;
    let variance = counted.iter().map(|step| (step.rate.ln() - mean).powi(2)).sum::<f64>() / number;
    let of = |verdict| counted.iter().filter(|step| step.verdict == verdict).count();
    let failures = [Verdict::Slow, Verdict::Lost, Verdict::Behind];
    let limit = failures.into_iter().filter(|&verdict| of(verdict) > 0).max_by_key(|&verdict| of(verdict));
    Staircase {
        rate: if counted.is_empty() { 0.0 } else { mean.exp() },
        spread: variance.sqrt(),
        held: of(Verdict::Good),
        limit: limit.unwrap_or(if counted.is_empty() { Verdict::Disturbed } else { Verdict::Good }),
        approach,
        steps,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{random::Random, search::tests::outcome};

    const PLAN: Plan = Plan {
        trial_seconds: 1.0,
        trials: 60,
        step: 0.02,
        rate_start: 1000.0,
        first_step: 1.0,
        limits: LIMITS,
    };
    const LIMITS: Limits = Limits { lost_share: 0.0, overtime_share: 0.01, stolen_share: 0.005 };

    /// A server that takes `capacity` a second, in a share `slow` of all trials a fifth less; `stolen` of all trials
    /// are disturbed and lose a tenth, or hold all the same.
    fn walked(capacity: f64, slow: f64, stolen: f64) -> Staircase {
        walked_by(&PLAN, capacity, slow, stolen)
    }

    fn walked_by(plan: &Plan, capacity: f64, slow: f64, stolen: f64) -> Staircase {
        let mut random = Random::new(1);
        let trial = |rate: f64, seconds: f64| {
            let sent = (rate * seconds) as u64;
            let able = capacity * seconds * if random.chance(slow) { 0.8 } else { 1.0 };
            let disturbed = random.chance(stolen);
            let lost = (sent as f64 - able).max(if disturbed { sent as f64 / 10.0 } else { 0.0 });
            let stolen_share = if disturbed { 0.05 } else { 0.0 };
            Ok(Outcome { stolen_share, ..outcome(sent, sent, lost as u64, seconds, seconds) })
        };
        walk(plan, trial, |_| {}).unwrap()
    }

    #[test]
    fn finds_the_capacity() {
        for capacity in [40.0, 900.0, 123_456.0, 3.3e6] {
            let found = walked(capacity, 0.0, 0.0);
            assert!((0.97..=1.03).contains(&(found.rate / capacity)), "{capacity}: {}", found.rate);
            assert!(found.held.abs_diff(30) <= 2 && found.limit == Verdict::Lost, "{found:?}");
            assert_eq!(found.steps.len(), 60);
        }
    }

    #[test]
    fn a_rate_known_roughly_is_found_sooner() {
        let near = Plan { rate_start: 90_000.0, first_step: 0.12, ..PLAN };
        let [far, near] = [&PLAN, &near].map(|plan| walked_by(plan, 100_000.0, 0.0, 0.0));
        assert!((0.97..=1.03).contains(&(near.rate / far.rate)), "{} {}", near.rate, far.rate);
        assert!(near.approach.len() <= 6 && far.approach.len() >= 12, "{near:?} {far:?}");
        let wrong = Plan { rate_start: 1000.0, first_step: 0.12, ..PLAN };
        let found = walked_by(&wrong, 100_000.0, 0.0, 0.0);
        assert!(
            (0.97..=1.03).contains(&(found.rate / 100_000.0)),
            "what was wrong costs trials: {}",
            found.rate
        );
    }

    #[test]
    fn ratios_survive_noise() {
        let (one, other) = (walked(100_000.0, 0.3, 0.3), walked(85_000.0, 0.3, 0.3));
        let ratio = other.rate / one.rate;
        assert!((0.83..=0.87).contains(&ratio), "{ratio}");
        assert!((0.9..=1.0).contains(&(one.rate / 100_000.0)), "{}", one.rate);
    }

    #[test]
    fn ends_where_nothing_or_everything_holds() {
        let nothing = walked(0.0, 0.0, 0.0);
        assert!(nothing.rate <= 1.0 && nothing.held == 0 && nothing.limit == Verdict::Lost);
        let everything = walk(&PLAN, |_, _| Ok(Outcome::default()), |_| {}).unwrap();
        assert!(everything.rate > 1e7 && everything.limit == Verdict::Good);
        let disturbed = walked(1000.0, 0.0, 1.0);
        assert_eq!((disturbed.rate, disturbed.limit), (0.0, Verdict::Disturbed));
        assert_eq!((disturbed.approach.len(), disturbed.steps.len()), (APPROACH_MAX, 0));
    }
}
