//! What the machine did during a run.

use serde_json::{Value, json};

use super::super::usage::{self, Others, Ticks};

/// Begun before a run, ended after it.
pub struct Watch {
    used: Vec<usize>,
    before: Ticks,
    softirq: Vec<(usize, f64)>,
    others: Others,
}

/// What the machine did. What a kind of run cannot have is absent.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    /// Share of the used cores' time that the hypervisor took.
    pub stolen: f64,
    /// Share of all cores' time that other programs took.
    pub others: f64,
    /// Shares of both that may be rounding alone: the system counts in ticks, of which a short run has few.
    pub unsure: Unsure,
    /// How late the latest hundredth of the queries left, of runs with a schedule.
    pub late_ms: Option<f64>,
    /// Share of the queries without a reply, of runs that are to answer all.
    pub lost: Option<f64>,
    /// Whether the generator was the limit.
    pub is_limited: bool,
    /// Seconds of each used core that the kernel spent with receiving and the like.
    pub softirq: Vec<(usize, f64)>,
}

/// Shares that say nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unsure {
    /// A tick of each used core: what is stolen is rounded down for each of them, so that a moment may show as a whole tick.
    pub stolen: f64,
    /// See [`usage::Taken`].
    pub others: f64,
}

/// What a generator said of a run, as far as there are rules for it. Of several in a run the worst counts ([`Heard::and`]).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Heard {
    /// See [`Conditions::late_ms`].
    late_ms: Option<f64>,
    /// See [`Conditions::lost`].
    lost: Option<f64>,
    /// See [`Conditions::is_limited`].
    is_limited: bool,
}

impl Heard {
    /// Of an outcome, as `load --json` has it; null says nothing. `answers_all`: whether losses count.
    pub fn of(outcome: &Value, answers_all: bool) -> Heard {
        let number = |name: &str| outcome[name].as_f64();
        let lost = number("lost").zip(number("sent")).map(|(lost, sent)| lost / sent.max(1.0));
        Heard {
            late_ms: outcome["lateness_us"]["p99"].as_f64().map(|micros| micros / 1e3),
            lost: lost.filter(|_| answers_all),
            is_limited: number("workers_limited").is_some_and(|workers| workers > 0.0),
        }
    }

    /// The worse of both.
    pub fn and(self, other: Heard) -> Heard {
        let worse = |one: Option<f64>, other: Option<f64>| one.into_iter().chain(other).reduce(f64::max);
        Heard {
            late_ms: worse(self.late_ms, other.late_ms),
            lost: worse(self.lost, other.lost),
            is_limited: self.is_limited || other.is_limited,
        }
    }
}

impl Watch {
    /// Begins, with the cores that the run uses.
    pub fn begin(cores: &[usize]) -> Watch {
        Watch {
            used: cores.to_vec(),
            before: Ticks::of(cores),
            softirq: usage::softirq_seconds(cores),
            others: Others::new(),
        }
    }

    /// What the machine did since.
    pub fn end(self) -> Conditions {
        let mut passed = Ticks::default();
        passed.add_since(self.before, Ticks::of(&self.used));
        let all = (passed.busy + passed.idle + passed.stolen).max(1);
        let softirq = usage::softirq_seconds(&self.used).into_iter().zip(&self.softirq);
        let others = self.others.taken();
        Conditions {
            stolen: passed.stolen as f64 / all as f64,
            others: others.share,
            unsure: Unsure { stolen: self.used.len() as f64 / all as f64, others: others.unsure },
            softirq: softirq.map(|((core, now), (_, before))| (core, (now - before).max(0.0))).collect(),
            ..Conditions::default()
        }
    }
}

impl Conditions {
    /// Adds what the generator said.
    pub fn hear(&mut self, heard: Heard) {
        let Heard { late_ms, lost, is_limited } = heard;
        (self.late_ms, self.lost) = (late_ms, lost);
        self.is_limited |= is_limited;
    }

    /// For the record.
    pub fn json(&self) -> Value {
        let Conditions { stolen, others, unsure, late_ms, lost, is_limited, softirq } = self;
        json!({
            "stolen_share": stolen, "others_share": others, "stolen_unsure": unsure.stolen, "others_unsure": unsure.others, "late_ms": late_ms, "lost_share": lost,
            "generator_is_limit": is_limited, "softirq_seconds": softirq,
        })
    }
}
