//! Searching the rate a server sustains, trial by trial.
//!
//! A trial offers a rate in open loop and is judged by [`Limits`]: it holds where nothing was lost, the generator kept
//! its schedule and the last reply came as good as in time. What still waits in the server's buffers at the end is more
//! than it can take; so buffers can be large enough to carry a server over a moment in which its machine stands
//! still, and yet make no rate look sustained that is not.
//!
//! A trial during which a hypervisor took processor time away shows nothing, and is made again, *whether it held or not*.
//! Were those that held counted, and only those that failed made again, then of the trials at a rate too many would have
//! held, and what is found would be too high: where 60 % of all trials are disturbed, by some three hundredths
//! (`tests::rates_are_not_higher_for_time_stolen`).
//!
//! * [`maximum`]: doubling, bisection, confirmation; for a quiet machine.
//! * [`staircase`]: the rate that half of all trials hold; for a machine that is not quiet, where the highest rate that
//!   ever held is a matter of luck.

pub mod maximum;
pub mod staircase;

use serde_json::{Value, json};
use wire::iana::rcode;

use crate::load::Outcome;

/// A trial that loses more than this share, or sends less than the rest, is not repeated: a virtual machine that
/// stands still for a tenth of a second, as ours does, loses half as much of a trial of a second.
const HOPELESS_SHARE: f64 = 0.25;
/// However short a trial is, its last reply may come so late: a wait of the scheduler, not of the server.
const OVERTIME_SECONDS_MIN: f64 = 0.01;

/// What a trial must keep to hold its rate.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Share of lost queries that is accepted; 0 for loss-free.
    pub lost_share: f64,
    /// How long after the last query was due the last reply may come, as share of the trial's length.
    pub overtime_share: f64,
    /// Share of the machine's processor time that a hypervisor may take during a trial for it to count.
    pub stolen_share: f64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { lost_share: 0.0, overtime_share: 0.01, stolen_share: 0.005 }
    }
}

impl Limits {
    /// The trial of a rate as a step of a search.
    fn step(&self, rate: f64, seconds: f64, outcome: &Outcome) -> Step {
        Step {
            rate,
            seconds,
            planned: outcome.planned,
            sent: outcome.sent,
            lost: outcome.lost(),
            failed: outcome.rcodes[usize::from(rcode::SERVFAIL)]
                + outcome.rcodes[usize::from(rcode::REFUSED)],
            overtime_seconds: outcome.overtime(),
            stolen_share: outcome.stolen_share,
            verdict: self.judge(outcome),
        }
    }

    fn judge(&self, outcome: &Outcome) -> Verdict {
        // Before anything is known of what the trial brought.
        if outcome.stolen_share > self.stolen_share {
            return Verdict::Disturbed;
        }
        let overtime_max = (outcome.planned_seconds * self.overtime_share).max(OVERTIME_SECONDS_MIN);
        if !outcome.kept_schedule() || outcome.sending_overtime() > overtime_max {
            Verdict::Behind
        } else if outcome.lost_share() > self.lost_share {
            Verdict::Lost
        } else if outcome.overtime() > overtime_max {
            Verdict::Slow
        } else {
            Verdict::Good
        }
    }
}

/// What a trial showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing lost, schedule kept, all answered in time.
    Good,
    /// Queries were lost though the generator kept its schedule.
    Lost,
    /// Nothing was lost, but queries still waited in the server's buffers when the trial ended.
    Slow,
    /// The generator could not keep its schedule: it is the limit.
    Behind,
    /// A hypervisor took time away: it shows nothing, whatever it brought.
    Disturbed,
}

impl Verdict {
    /// Whether it was the server that failed.
    fn is_of_server(self) -> bool {
        matches!(self, Verdict::Lost | Verdict::Slow)
    }

    /// Whether the trial held its rate; `None` where it shows nothing.
    fn held(self) -> Option<bool> {
        (self != Verdict::Disturbed).then_some(self == Verdict::Good)
    }
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
    /// Replies that say SERVFAIL or REFUSED: they are no loss, and no answers either.
    pub failed: u64,
    /// How long after the last query was due the last reply came.
    pub overtime_seconds: f64,
    /// Share of the machine's processor time that a hypervisor took.
    pub stolen_share: f64,
    /// What it showed.
    pub verdict: Verdict,
}

impl Step {
    /// As a JSON object.
    pub fn to_json(self) -> Value {
        json!({
            "rate": self.rate, "seconds": self.seconds, "sent": self.sent, "lost": self.lost, "failed": self.failed,
            "overtime_seconds": self.overtime_seconds, "stolen_share": self.stolen_share,
            "verdict": verdict_text(self.verdict),
        })
    }

    /// Whether it counts and so much was missing that a repetition would not help.
    fn is_hopeless(&self) -> bool {
        self.verdict != Verdict::Disturbed
            && (self.sent - self.lost) as f64 <= self.planned as f64 * (1.0 - HOPELESS_SHARE)
    }
}

/// How a verdict is written.
pub fn verdict_text(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Good => "good",
        Verdict::Lost => "server lost queries",
        Verdict::Slow => "server fell behind",
        Verdict::Behind => "generator behind schedule",
        Verdict::Disturbed => "machine disturbed",
    }
}

/// A line for the progress of a search.
impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Step { rate, seconds, sent, lost, .. } = self;
        let (overtime_ms, verdict) = (self.overtime_seconds * 1000.0, verdict_text(self.verdict));
        write!(
            f,
            "{rate:>10.0}/s for {seconds} s: {lost} of {sent} lost, {overtime_ms:.1} ms overtime, {verdict}"
        )
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// The outcome of a trial in a model: the last reply at `finished_seconds`.
    pub fn outcome(planned: u64, sent: u64, lost: u64, seconds: f64, finished_seconds: f64) -> Outcome {
        let received = sent - lost;
        let planned_seconds = seconds;
        Outcome { planned, sent, received, seconds, planned_seconds, finished_seconds, ..Outcome::default() }
    }

    #[test]
    fn verdicts() {
        let limits = Limits::default();
        let good = outcome(1000, 1000, 0, 2.0, 2.019);
        assert_eq!(limits.judge(&good), Verdict::Good);
        let judged = |outcome: Outcome| limits.judge(&outcome);
        assert_eq!(judged(Outcome { received: 999, ..good.clone() }), Verdict::Lost);
        assert_eq!(judged(Outcome { finished_seconds: 2.021, ..good.clone() }), Verdict::Slow);
        assert_eq!(
            judged(Outcome { seconds: 2.021, finished_seconds: 2.03, ..good.clone() }),
            Verdict::Behind
        );
        assert_eq!(judged(Outcome { sent: 999, received: 999, ..good.clone() }), Verdict::Behind);
        assert_eq!(judged(Outcome { own_drops: 1, received: 999, ..good.clone() }), Verdict::Behind);
        let stolen = Outcome { stolen_share: 0.006, ..good };
        assert_eq!(judged(stolen.clone()), Verdict::Disturbed, "that it held is luck too");
        assert_eq!(judged(Outcome { received: 999, ..stolen }), Verdict::Disturbed);
    }

    /// What half of the trials of the model hold.
    const CAPACITY: f64 = 100_000.0;
    /// Staircases of a mean: its standard error is below half a hundredth.
    const STAIRCASES: u64 = 10;

    /// The mean of what staircases find, over the true rate: a server whose capacity varies by a tenth to either side from
    /// trial to trial, as `stolen` of all trials are disturbed and slower by up to a twentieth. `counts_held`: the steal of
    /// trials that hold is hidden, so that they count and only those that fail are made again.
    fn found(stolen: f64, counts_held: bool) -> f64 {
        let plan = staircase::Plan {
            trial_seconds: 1.0,
            trials: 60,
            step: 0.02,
            rate_start: CAPACITY,
            first_step: 0.12,
            limits: Limits::default(),
        };
        let one = |seed: u64| {
            let mut random = Random::new(seed);
            let trial = |rate: f64, seconds: f64| {
                let mut part = || random.index(1 << 20) as f64 / f64::from(1 << 20);
                let (able, slower, chance) = (CAPACITY * (0.9 + 0.2 * part()), 1.0 - 0.05 * part(), part());
                let is_stolen = chance < stolen;
                let able = if is_stolen { able * slower } else { able };
                let sent = (rate * seconds) as u64;
                let lost = (sent as f64 - able * seconds).max(0.0) as u64;
                let is_told = is_stolen && !(counts_held && lost == 0);
                let mut outcome = outcome(sent, sent, lost, seconds, seconds);
                outcome.stolen_share = if is_told { 0.05 } else { 0.0 };
                Ok(outcome)
            };
            staircase::walk(&plan, trial, |_| {}).unwrap().rate.ln()
        };
        ((1..=STAIRCASES).map(one).sum::<f64>() / STAIRCASES as f64).exp() / CAPACITY
    }

    #[test]
    fn rates_are_not_higher_for_time_stolen() {
        for stolen in [0.0, 0.6] {
            let found = found(stolen, false);
            assert!((0.985..=1.015).contains(&found), "{stolen}: {found}");
        }
        // What counting trials that held comes to.
        let biased = found(0.6, true);
        assert!(biased > 1.025, "{biased}");
    }
}
