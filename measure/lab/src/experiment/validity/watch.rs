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
    /// How late the latest hundredth of the queries left, of runs with a schedule.
    pub late_ms: Option<f64>,
    /// Share of the queries without a reply, of runs that are to answer all.
    pub lost: Option<f64>,
    /// Whether the generator was the limit.
    pub is_limited: bool,
    /// Seconds of each used core that the kernel spent with receiving and the like.
    pub softirq: Vec<(usize, f64)>,
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
        Conditions {
            stolen: passed.stolen as f64 / all as f64,
            others: self.others.share(),
            softirq: softirq.map(|((core, now), (_, before))| (core, (now - before).max(0.0))).collect(),
            ..Conditions::default()
        }
    }
}

impl Conditions {
    /// Adds what the generator said of a run, as `load --json` has it; null adds nothing. `answers_all`: whether losses count.
    pub fn add_outcome(&mut self, outcome: &Value, answers_all: bool) {
        let number = |name: &str| outcome[name].as_f64();
        self.is_limited |= number("workers_limited").is_some_and(|workers| workers > 0.0);
        self.late_ms = outcome["lateness_us"]["p99"].as_f64().map(|micros| micros / 1e3);
        if answers_all && let (Some(lost), Some(sent)) = (number("lost"), number("sent")) {
            self.lost = Some(lost / sent.max(1.0));
        }
    }

    /// For the record.
    pub fn json(&self) -> Value {
        let Conditions { stolen, others, late_ms, lost, is_limited, softirq } = self;
        json!({
            "stolen_share": stolen, "others_share": others, "late_ms": late_ms, "lost_share": lost,
            "generator_is_limit": is_limited, "softirq_seconds": softirq,
        })
    }
}
