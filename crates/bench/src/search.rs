//! The highest rate a server takes without losing a query: the metric of the USENIX paper.
//!
//! 1. Double the rate in short bursts until a trial fails.
//! 2. Bisect between the last good and the first bad rate with longer trials until they are close. A trial is
//!    good where nothing was lost and the generator kept its schedule; a bad one is repeated, for noise, unless it
//!    was so bad that no noise explains it.
//! 3. Climb from there in growing steps as long as trials are good: a bad minute of the machine may have had a rate
//!    refused that holds, and everything above it was then never tried.
//! 4. Confirm with a few long trials; where one fails, repeats and all, go down a step and confirm again.
//!
//! Every loop is bounded, so the search ends whatever the server does.

use serde_json::{Value, json};

use crate::{Error, load::Outcome};

/// Rate of the first burst: any server takes that.
const RATE_START: f64 = 1_000.0;
/// Doublings from there: a million times as much, more than a machine can send.
const DOUBLINGS_MAX: usize = 20;
/// Halvings: from a factor of two to a width of a millionth.
const HALVINGS_MAX: usize = 20;
/// Steps up in the climb: with steps of a hundredth that grow, more than a factor of ten.
const CLIMBS_MAX: usize = 20;
/// Steps down in the confirmation; further off, the bisection itself was disturbed.
const STEPS_DOWN_MAX: usize = 10;
/// A trial that loses more than this share, or sends less than the rest, is not repeated: a virtual machine that
/// stands still for a tenth of a second, as ours does, loses half as much of a trial of a second.
const HOPELESS_SHARE: f64 = 0.25;
/// Share of lost queries up to which a rate counts as nearly loss-free.
pub const NEARLY_SHARE: f64 = 1e-4;

/// Lengths of the trials and the precision wanted.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Length of a doubling burst.
    pub burst_seconds: f64,
    /// Length of a trial of the bisection.
    pub trial_seconds: f64,
    /// Length of a trial of the confirmation.
    pub confirm_seconds: f64,
    /// How many of those; none to leave the confirmation away.
    pub confirm_trials: usize,
    /// Precision as share of the rate.
    pub width: f64,
    /// Trials at a rate, of which one must be good; more of them on a machine that is disturbed often.
    pub attempts: usize,
    /// Share of lost queries that is accepted; 0 for loss-free.
    pub lost_share: f64,
    /// First rate tried; 0 for the default.
    pub rate_start: f64,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            burst_seconds: 2.0,
            trial_seconds: 8.0,
            confirm_seconds: 20.0,
            confirm_trials: 3,
            width: 0.01,
            attempts: 2,
            lost_share: 0.0,
            rate_start: 0.0,
        }
    }
}

/// What a trial showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing lost, schedule kept.
    Good,
    /// Queries were lost though the generator kept its schedule.
    Lost,
    /// The generator could not keep its schedule: it is the limit.
    Behind,
}

/// One trial of a search.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Offered queries a second.
    pub rate: f64,
    /// Length.
    pub seconds: f64,
    /// Queries the trial was to send.
    pub planned: u64,
    /// Queries sent.
    pub sent: u64,
    /// Queries lost.
    pub lost: u64,
    /// What it showed.
    pub verdict: Verdict,
}

impl Step {
    /// Whether so much was missing that a repetition would not help.
    fn is_hopeless(&self) -> bool {
        (self.sent - self.lost) as f64 <= self.planned as f64 * (1.0 - HOPELESS_SHARE)
    }
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Maximum {
    /// Highest rate that held; 0 where none did.
    pub rate: f64,
    /// Whether it passed the long trials.
    pub confirmed: bool,
    /// What stopped the next higher rate: [`Verdict::Behind`] means the true maximum may be higher.
    pub limit: Verdict,
    /// Highest rate tried at which no more than [`NEARLY_SHARE`] was lost.
    pub rate_nearly: f64,
    /// All trials in their order.
    pub steps: Vec<Step>,
}

impl Maximum {
    /// As a JSON object.
    pub fn to_json(&self) -> Value {
        let step = |step: &Step| {
            let verdict = verdict_text(step.verdict);
            json!({"rate": step.rate, "seconds": step.seconds, "sent": step.sent, "lost": step.lost, "verdict": verdict})
        };
        json!({
            "rate": self.rate, "confirmed": self.confirmed, "limit": verdict_text(self.limit),
            "rate_nearly": self.rate_nearly, "steps": self.steps.iter().map(step).collect::<Vec<_>>(),
        })
    }
}

/// How a verdict is written.
pub fn verdict_text(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Good => "good",
        Verdict::Lost => "server lost queries",
        Verdict::Behind => "generator behind schedule",
    }
}

/// Searches with `trial`, which offers a rate for some seconds; `report` hears of each step.
pub fn find_maximum(
    plan: &Plan,
    trial: impl FnMut(f64, f64) -> Result<Outcome, Error>,
    report: impl FnMut(&Step),
) -> Result<Maximum, Error> {
    Search { plan, trial, report, limit: Verdict::Good, steps: Vec::new() }.run()
}

struct Search<'p, T, R> {
    plan: &'p Plan,
    trial: T,
    report: R,
    limit: Verdict,
    steps: Vec<Step>,
}

impl<T: FnMut(f64, f64) -> Result<Outcome, Error>, R: FnMut(&Step)> Search<'_, T, R> {
    fn run(mut self) -> Result<Maximum, Error> {
        let (mut good, mut bad) = self.double()?;
        for _ in 0..HALVINGS_MAX {
            if good == 0.0 || bad / good <= 1.0 + self.plan.width {
                break;
            }
            // The geometric mean: precision is relative.
            let middle = (good * bad).sqrt();
            if self.holds(middle, self.plan.trial_seconds)? { good = middle } else { bad = middle }
        }
        if good > 0.0 {
            self.climb(&mut good)?;
        }
        let confirmed = self.confirm(&mut good)?;
        let nearly = |step: &&Step| {
            step.lost as f64 <= step.sent as f64 * NEARLY_SHARE && step.verdict != Verdict::Behind
        };
        let rate_nearly = self.steps.iter().filter(nearly).map(|step| step.rate).fold(good, f64::max);
        Ok(Maximum { rate: good, confirmed, limit: self.limit, rate_nearly, steps: self.steps })
    }

    /// The last good and the first bad rate; 0 for the former where the start is too high already even after
    /// coming down as often as it may go up.
    fn double(&mut self) -> Result<(f64, f64), Error> {
        let start = if self.plan.rate_start > 0.0 { self.plan.rate_start } else { RATE_START };
        let seconds = self.plan.burst_seconds;
        if self.holds(start, seconds)? {
            let mut good = start;
            for _ in 0..DOUBLINGS_MAX {
                if !self.holds(good * 2.0, seconds)? {
                    break;
                }
                good *= 2.0;
            }
            return Ok((good, good * 2.0));
        }
        let mut bad = start;
        for _ in 0..DOUBLINGS_MAX {
            if bad * seconds < 2.0 {
                break;
            }
            if self.holds(bad / 2.0, seconds)? {
                return Ok((bad / 2.0, bad));
            }
            bad /= 2.0;
        }
        Ok((0.0, bad))
    }

    /// Brings `rate` up as long as higher ones hold after all: by a width, by two, by four, and anew from one.
    fn climb(&mut self, rate: &mut f64) -> Result<(), Error> {
        let mut step = self.plan.width;
        for _ in 0..CLIMBS_MAX {
            let higher = *rate * (1.0 + step);
            if self.holds(higher, self.plan.trial_seconds)? {
                *rate = higher;
                step *= 2.0;
            } else if step > self.plan.width {
                step = self.plan.width;
            } else {
                break;
            }
        }
        Ok(())
    }

    /// Brings `rate` down until the long trials pass; false where they are not asked for or never do.
    fn confirm(&mut self, rate: &mut f64) -> Result<bool, Error> {
        if self.plan.confirm_trials == 0 || *rate == 0.0 {
            return Ok(false);
        }
        'steps: for _ in 0..STEPS_DOWN_MAX {
            for _ in 0..self.plan.confirm_trials {
                if !self.holds(*rate, self.plan.confirm_seconds)? {
                    *rate *= 1.0 - self.plan.width;
                    continue 'steps;
                }
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Whether one of the trials at a rate is good. Where none is, the server was the limit if it lost queries in
    /// any that the generator sent as planned.
    fn holds(&mut self, rate: f64, seconds: f64) -> Result<bool, Error> {
        let mut limit = Verdict::Behind;
        for _ in 0..self.plan.attempts.max(1) {
            match self.step(rate, seconds)? {
                Verdict::Good => return Ok(true),
                Verdict::Lost => limit = Verdict::Lost,
                Verdict::Behind => {}
            }
            if self.steps.last().is_some_and(Step::is_hopeless) {
                break;
            }
        }
        self.limit = limit;
        Ok(false)
    }

    fn step(&mut self, rate: f64, seconds: f64) -> Result<Verdict, Error> {
        let outcome = (self.trial)(rate, seconds)?;
        let verdict = match outcome.kept_schedule() {
            false => Verdict::Behind,
            true if outcome.lost_share() > self.plan.lost_share => Verdict::Lost,
            true => Verdict::Good,
        };
        let Outcome { planned, sent, .. } = outcome;
        let step = Step { rate, seconds, planned, sent, lost: outcome.lost(), verdict };
        (self.report)(&step);
        self.steps.push(step);
        Ok(verdict)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// A server that loses what comes above `capacity`, and one query in a trial of `noise` of all trials; a
    /// generator that can send `reach` queries a second.
    fn search(plan: Plan, capacity: f64, reach: f64, noise: f64) -> Maximum {
        let mut random = Random::new(1);
        let trial = |rate: f64, seconds: f64| {
            let planned = (rate * seconds) as u64;
            let sent = (rate.min(reach) * seconds) as u64;
            let mut lost = (sent as f64 - capacity * seconds).max(0.0) as u64;
            lost += u64::from(random.chance(noise)).min(sent - lost);
            Ok(Outcome { planned, sent, received: sent - lost, seconds, ..Outcome::default() })
        };
        find_maximum(&plan, trial, |_| {}).unwrap()
    }

    #[test]
    fn finds_the_capacity() {
        for capacity in [37.0, 900.0, 123_456.0, 3.3e6] {
            let found = search(Plan::default(), capacity, 1e9, 0.0);
            assert!(found.confirmed && found.limit == Verdict::Lost);
            let ratio = found.rate / capacity;
            assert!((0.985..=1.001).contains(&ratio), "{capacity}: {ratio}");
            assert!(found.steps.len() < 60, "{}", found.steps.len());
        }
    }

    #[test]
    fn noise_costs_repeats_and_little_else() {
        let found = search(Plan::default(), 200_000.0, 1e9, 0.1);
        assert!((0.85..=1.001).contains(&(found.rate / 200_000.0)), "{}", found.rate);
        assert!(found.rate_nearly >= found.rate);
    }

    #[test]
    fn more_attempts_find_the_capacity_through_more_noise() {
        let plan = Plan { attempts: 10, ..Plan::default() };
        let found = search(plan, 200_000.0, 1e9, 0.5);
        assert!((0.985..=1.001).contains(&(found.rate / 200_000.0)), "{}", found.rate);
        assert_eq!(found.limit, Verdict::Lost);
    }

    #[test]
    fn a_rate_refused_by_mistake_is_made_good() {
        // The first six trials above 60,000 a second are disturbed: 64,000, then 90,510 and what follows from it.
        let mut disturbed = 6;
        let trial = |rate: f64, seconds: f64| {
            let sent = (rate * seconds) as u64;
            let mut lost = (sent as f64 - 100_000.0 * seconds).max(0.0) as u64;
            if rate > 60_000.0 && disturbed > 0 {
                (lost, disturbed) = (lost.max(1), disturbed - 1);
            }
            Ok(Outcome { planned: sent, sent, received: sent - lost, seconds, ..Outcome::default() })
        };
        let found = find_maximum(&Plan::default(), trial, |_| {}).unwrap();
        assert!((0.98..=1.001).contains(&(found.rate / 100_000.0)), "{}", found.rate);
    }

    #[test]
    fn hopeless_rates_are_tried_once() {
        let plan = Plan { attempts: 10, ..Plan::default() };
        let found = search(plan, 70_000.0, 1e9, 0.0);
        let at_twice = found.steps.iter().filter(|step| step.rate > 93_400.0).count();
        let rates: std::collections::BTreeSet<_> =
            found.steps.iter().map(|step| step.rate as u64).filter(|&rate| rate > 93_400).collect();
        assert!(at_twice > 0 && at_twice == rates.len(), "{at_twice} trials at {} rates", rates.len());
    }

    #[test]
    fn a_slow_generator_is_told() {
        let found = search(Plan::default(), 1e9, 50_000.0, 0.0);
        assert_eq!(found.limit, Verdict::Behind);
        assert!(found.rate <= 50_001.0);
    }

    #[test]
    fn ends_where_nothing_or_everything_holds() {
        let nothing = search(Plan::default(), 0.0, 1e9, 1.0);
        assert_eq!((nothing.rate, nothing.confirmed), (0.0, false));
        let everything = search(Plan::default(), 1e30, 1e30, 0.0);
        assert!(everything.rate > 1e8);
    }

    #[test]
    fn accepted_loss() {
        let plan = Plan { lost_share: 0.1, ..Plan::default() };
        let found = search(plan, 90_000.0, 1e9, 0.0);
        assert!((0.98..=1.01).contains(&(found.rate / 100_000.0)), "{}", found.rate);
    }
}
