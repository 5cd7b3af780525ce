//! Readings of the last minute, and rates from two of them.

use std::cmp::Reverse;
use std::collections::VecDeque;

use control::command::{Count, Top, TopAsked};

/// Over how long the slower rates are.
pub const MINUTE_SECONDS: f64 = 60.0;

/// Most readings that are kept: those of a minute if one comes each second, and some.
const READINGS_MAX: usize = 64;

/// Readings that are nearer say nothing about a rate.
const STEP_SECONDS_MIN: f64 = 0.01;

/// Readings of one server, the newest last.
#[derive(Clone, Default)]
pub struct History {
    readings: VecDeque<Top>,
}

/// How often something happens a second. None: there are no two readings yet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    /// Since the reading before.
    pub now: Option<f64>,
    /// In the last minute, or since there are readings.
    pub minute: Option<f64>,
}

/// The same of a count with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedRate {
    pub name: String,
    /// Since the start of the server.
    pub count: u64,
    pub now: Option<f64>,
    pub minute: Option<f64>,
}

impl History {
    /// One more. Those of a server that is another one now, or has begun anew, are forgotten.
    pub fn add(&mut self, top: Top) {
        if let Some(last) = self.readings.back_mut() {
            let is_same = last.pid == top.pid && last.uptime_seconds <= top.uptime_seconds;
            let seconds = top.clock_seconds - last.clock_seconds;
            // Who asks is looked at in the newest alone.
            last.asked = TopAsked::default();
            if !is_same || !(0.0..=MINUTE_SECONDS).contains(&seconds) {
                self.readings.clear();
            } else if seconds < STEP_SECONDS_MIN {
                self.readings.pop_back();
            }
        }
        self.readings.push_back(top);
        while self.readings.len() > READINGS_MAX || self.seconds() > MINUTE_SECONDS + 0.5 {
            self.readings.pop_front();
        }
    }

    pub fn newest(&self) -> Option<&Top> {
        self.readings.back()
    }

    /// From the oldest reading to the newest.
    pub fn seconds(&self) -> f64 {
        match (self.readings.front(), self.readings.back()) {
            (Some(first), Some(last)) => last.clock_seconds - first.clock_seconds,
            _ => 0.0,
        }
    }

    /// The reading before the newest, the oldest one and the newest.
    fn ends(&self) -> Option<(&Top, &Top, &Top)> {
        let before = self.readings.len().checked_sub(2)?;
        Some((self.readings.get(before)?, self.readings.front()?, self.readings.back()?))
    }

    /// How fast a number grows that never becomes less.
    pub fn rate(&self, of: impl Fn(&Top) -> f64) -> Rate {
        let Some((before, first, last)) = self.ends() else { return Rate::default() };
        // Counters are read while they are counted: a sum may seem less than a moment before.
        let between = |from: &Top| {
            let seconds = (last.clock_seconds - from.clock_seconds).max(STEP_SECONDS_MIN);
            ((of(last) - of(from)) / seconds).max(0.0)
        };
        Rate { now: Some(between(before)), minute: Some(between(first)) }
    }

    /// How fast each of a list of counts grows, in the order of the newest reading. One that is not in an older reading was 0 then.
    pub fn rates(&self, list: impl Fn(&Top) -> &[Count]) -> Vec<NamedRate> {
        let Some(newest) = self.newest() else { return Vec::new() };
        let counted = |top: &Top, name: &str| {
            list(top).iter().find(|count| count.name == name).map_or(0.0, |count| count.count as f64)
        };
        let named = |count: &Count| {
            let Rate { now, minute } = self.rate(|top| counted(top, &count.name));
            NamedRate { name: count.name.clone(), count: count.count, now, minute }
        };
        list(newest).iter().map(named).collect()
    }

    /// The same, those first of which there was most in the last minute, then since the start: an order that does not change each second.
    pub fn most_rates(&self, list: impl Fn(&Top) -> &[Count]) -> Vec<NamedRate> {
        let mut rates = self.rates(list);
        rates.sort_by_key(|rate| (Reverse(rate.minute.unwrap_or(0.0) as u64), Reverse(rate.count)));
        rates
    }
}
