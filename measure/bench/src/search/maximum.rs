//! The highest rate a server takes without losing a query: the metric of the USENIX paper.
//!
//! 1. Double the rate, or raise it by a first step, in short bursts until a trial fails.
//! 2. Bisect between the last good and the first bad rate with longer trials until they are close. A bad trial is
//!    repeated, for noise, unless it was so bad that no noise explains it; a disturbed one does not count, good or bad.
//! 3. Climb from there in growing steps as long as trials are good: a bad minute of the machine may have had a rate
//!    refused that holds, and everything above it was then never tried.
//! 4. Confirm with a few long trials; where one fails, repeats and all, go down a step and confirm again.
//!
//! Every loop is bounded, so the search ends whatever the server does.

use serde_json::{Value, json};

use super::{Limits, Step, Verdict, verdict_text};
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
/// Disturbed trials at a rate that are made again without counting: enough where every other second is disturbed, few
/// enough to come to an end where all are.
const DISTURBED_MAX: usize = 12;
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
    /// What a trial must keep.
    pub limits: Limits,
    /// First rate tried; 0 for the default.
    pub rate_start: f64,
    /// Steps from there, as share of the rate: 1 doubles it, less is quicker where the rate is known roughly.
    pub first_step: f64,
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
            limits: Limits::default(),
            rate_start: 0.0,
            first_step: 1.0,
        }
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
        json!({
            "rate": self.rate, "confirmed": self.confirmed, "limit": verdict_text(self.limit),
            "rate_nearly": self.rate_nearly, "steps": self.steps.iter().map(|&step| step.to_json()).collect::<Vec<_>>(),
        })
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
            let answered = matches!(step.verdict, Verdict::Good | Verdict::Lost);
            answered && step.lost as f64 <= step.sent as f64 * NEARLY_SHARE
        };
        let rate_nearly = self.steps.iter().filter(nearly).map(|step| step.rate).fold(good, f64::max);
        Ok(Maximum { rate: good, confirmed, limit: self.limit, rate_nearly, steps: self.steps })
    }

    /// The last good and the first bad rate; 0 for the former where the start is too high already even after
    /// coming down as often as it may go up, or where no trial at it counts: lower rates would be disturbed as well.
    fn double(&mut self) -> Result<(f64, f64), Error> {
        let start = if self.plan.rate_start > 0.0 { self.plan.rate_start } else { RATE_START };
        let seconds = self.plan.burst_seconds;
        let factor = 1.0 + self.plan.first_step;
        if self.holds(start, seconds)? {
            let mut good = start;
            for _ in 0..DOUBLINGS_MAX {
                if !self.holds(good * factor, seconds)? {
                    break;
                }
                good *= factor;
            }
            return Ok((good, good * factor));
        }
        let mut bad = start;
        if self.limit == Verdict::Disturbed {
            return Ok((0.0, bad));
        }
        for _ in 0..DOUBLINGS_MAX {
            if bad * seconds < 2.0 {
                break;
            }
            if self.holds(bad / factor, seconds)? {
                return Ok((bad / factor, bad));
            }
            bad /= factor;
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

    /// Whether one of the trials at a rate is good. Where none is, the server was the limit if it lost queries or
    /// fell behind in any that the generator sent as planned, undisturbed.
    fn holds(&mut self, rate: f64, seconds: f64) -> Result<bool, Error> {
        let (mut limit, mut attempts, mut disturbed) = (Verdict::Disturbed, 0, 0);
        while attempts < self.plan.attempts.max(1) && disturbed < DISTURBED_MAX {
            let verdict = self.step(rate, seconds)?;
            match verdict {
                Verdict::Good => return Ok(true),
                Verdict::Disturbed => disturbed += 1,
                Verdict::Lost | Verdict::Slow | Verdict::Behind => attempts += 1,
            }
            if verdict.is_of_server() || limit == Verdict::Disturbed {
                limit = verdict;
            }
            if self.steps.last().is_some_and(Step::is_hopeless) {
                break;
            }
        }
        self.limit = limit;
        Ok(false)
    }

    fn step(&mut self, rate: f64, seconds: f64) -> Result<Verdict, Error> {
        let step = self.plan.limits.step(rate, seconds, &(self.trial)(rate, seconds)?);
        (self.report)(&step);
        self.steps.push(step);
        Ok(step.verdict)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{random::Random, search::tests::outcome};

    /// A server that loses what comes above `capacity`, and one query in a trial of `noise` of all trials; a
    /// generator that can send `reach` queries a second.
    fn search(plan: Plan, capacity: f64, reach: f64, noise: f64) -> Maximum {
        let mut random = Random::new(1);
        let trial = |rate: f64, seconds: f64| {
            let planned = (rate * seconds) as u64;
            let sent = (rate.min(reach) * seconds) as u64;
            let mut lost = (sent as f64 - capacity * seconds).max(0.0) as u64;
            lost += u64::from(random.chance(noise)).min(sent - lost);
            Ok(outcome(planned, sent, lost, seconds, seconds))
        };
        find_maximum(&plan, trial, |_| {}).unwrap()
    }

    #[test]
    fn buffers_hide_no_lack_of_capacity() {
        // Room for 100,000 queries: it loses nothing in trials of 8 s up to 112,500/s.
        let trial = |rate: f64, seconds: f64| {
            let sent = (rate * seconds) as u64;
            let lost = (sent as f64 - 100_000.0 * seconds - 100_000.0).max(0.0) as u64;
            Ok(outcome(sent, sent, lost, seconds, (sent - lost) as f64 / 100_000.0))
        };
        let found = find_maximum(&Plan::default(), trial, |_| {}).unwrap();
        assert!((0.985..=1.011).contains(&(found.rate / 100_000.0)), "{}", found.rate);
        assert_eq!(found.limit, Verdict::Slow);
        let careless = Plan {
            limits: Limits { overtime_share: 1.0, ..Limits::default() },
            confirm_trials: 0,
            ..Plan::default()
        };
        let found = find_maximum(&careless, trial, |_| {}).unwrap();
        assert!(found.rate > 110_000.0, "{}", found.rate);
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
            Ok(outcome(sent, sent, lost, seconds, seconds))
        };
        let found = find_maximum(&Plan::default(), trial, |_| {}).unwrap();
        assert!((0.98..=1.001).contains(&(found.rate / 100_000.0)), "{}", found.rate);
    }

    #[test]
    fn disturbed_trials_do_not_count() {
        // Two of three trials are disturbed and lose a tenth; a capacity of 100,000/s otherwise.
        let mut number = 0;
        let mut trial = |rate: f64, seconds: f64, disturbed_of_3: u64| {
            number += 1;
            let sent = (rate * seconds) as u64;
            let disturbed = number % 3 < disturbed_of_3;
            let lost = (sent as f64 - 100_000.0 * seconds).max(if disturbed {
                sent as f64 / 10.0 + 1.0
            } else {
                0.0
            });
            let stolen_share = if disturbed { 0.05 } else { 0.0 };
            Ok(Outcome { stolen_share, ..outcome(sent, sent, lost as u64, seconds, seconds) })
        };
        let found = find_maximum(&Plan::default(), |rate, seconds| trial(rate, seconds, 2), |_| {}).unwrap();
        assert!((0.985..=1.001).contains(&(found.rate / 100_000.0)), "{}", found.rate);
        assert!(found.confirmed && found.limit == Verdict::Lost);
        let found = find_maximum(&Plan::default(), |rate, seconds| trial(rate, seconds, 3), |_| {}).unwrap();
        assert_eq!((found.rate, found.limit), (0.0, Verdict::Disturbed));
    }

    #[test]
    fn a_machine_that_is_never_quiet_is_told_soon() {
        // A little is stolen all the time, and nothing is lost by it.
        let trial = |rate: f64, seconds: f64| {
            let sent = (rate * seconds) as u64;
            Ok(Outcome { stolen_share: 0.006, ..outcome(sent, sent, 0, seconds, seconds) })
        };
        let found = find_maximum(&Plan::default(), trial, |_| {}).unwrap();
        assert_eq!((found.rate, found.limit, found.steps.len()), (0.0, Verdict::Disturbed, DISTURBED_MAX));
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
        let plan = Plan { limits: Limits { lost_share: 0.1, ..Limits::default() }, ..Plan::default() };
        let found = search(plan, 90_000.0, 1e9, 0.0);
        assert!((0.98..=1.01).contains(&(found.rate / 100_000.0)), "{}", found.rate);
    }
}
