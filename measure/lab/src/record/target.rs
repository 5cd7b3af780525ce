//! What was wanted, what came of it, and whether that is enough.

use serde::{Deserialize, Serialize};

use crate::known::Known;

/// A ratio, or a value, that shall be at least or at most so much.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Target {
    /// Of what, over what.
    pub what: String,
    /// Median of the values, of ratios those within a round.
    pub median: f64,
    /// Lower and upper end of its interval by order statistics; absent with fewer than six values.
    pub interval: Option<(f64, f64)>,
    /// What the interval covers, 0.95 or more; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
    /// Of how many values it is known only that they are at least so much.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub at_least: usize,
    /// Of how many it is known only that they are at most so much; what is not known at all counts as both.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub at_most: usize,
    /// What it shall be at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    /// What it shall be at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
}

impl Target {
    /// `met` if the whole interval is, `missed` if none of it is, and `not decided` without one. Of values that are known from one side only what that
    /// side suffices for: with some that are at least so much a least value can be met and not missed, a greatest one missed and not met.
    pub fn verdict(&self) -> &'static str {
        let Some((low, high)) = self.interval else { return "not decided" };
        let is_met = |value: f64| {
            self.least.is_none_or(|least| value >= least) && self.most.is_none_or(|most| value <= most)
        };
        let verdict = match (is_met(low), is_met(high)) {
            (true, true) => (true, "met"),
            (false, false) => (false, "missed"),
            _ if is_met(self.median) => (true, "met by the median only"),
            _ => (false, "missed by the median"),
        };
        if self.may_say(verdict.0) { verdict.1 } else { "not decided" }
    }

    /// What is known of the median.
    pub fn known(&self) -> Known {
        Known::of(self.at_least, self.at_most)
    }

    /// Whether what is known of the values suffices to call it met, or else missed.
    fn may_say(&self, is_met: bool) -> bool {
        match (self.known(), self.least.is_some(), self.most.is_some()) {
            (Known::Exactly, ..) => true,
            (Known::NotAtAll, ..) => false,
            // Whoever is within two bounds has to be known from both sides.
            (_, true, true) => false,
            (known, has_least, _) => (known == Known::AtLeast) == (is_met == has_least),
        }
    }

    /// The bound as a number, and as words: `at least 3`.
    pub fn bound(&self) -> (f64, String) {
        match (self.least, self.most) {
            (Some(least), _) => (least, format!("at least {least}")),
            (None, most) => {
                let most = most.unwrap_or(f64::INFINITY);
                (most, format!("at most {most}"))
            }
        }
    }
}
