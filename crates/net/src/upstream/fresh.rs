//! How many questions have a socket of their own: as many a second as are paid for, and fewer where far more is asked.
//!
//! ```text
//! a question -> demand: more than four times what is paid for? -- no --> rate: `fresh_per_second`, a tenth of a second at once
//!                                                               `- yes -> scarce: a quarter of it             half of each burst is for `Need::Fresh`
//! ```

use std::time::{Duration, Instant};

use super::settings::{FRESH_PER_SECOND_MAX, UpstreamSettings};
use crate::worker::Rate;

/// Part of a second whose fresh sockets may be opened at once: questions come in bursts. And the part in which demand is counted.
const FRESH_BURST: u32 = 10;

/// Beyond so many times what is paid for, fresh sockets are for one question in many: each is a fortieth of a millisecond, and an attacker who must take the ports of the
/// pool as known loses nothing by the few others. Then a part of them is enough,
const FRESH_WORTH: u32 = 4;
/// one of so many: those who guess do not know which question has one.
const SCARCE_PART: u32 = 4;

/// What a question wants of its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// One of its own before others have one: nothing else protects its answer, or the answer matters for many.
    Fresh,
    /// One of its own if there are more than those others may want: it has a cookie, or is one of a flood.
    Any,
}

/// The fresh sockets that a worker may open.
#[derive(Debug)]
pub(super) struct Allowance {
    rate: Rate,
    /// The same while far more is asked than it pays for.
    scarce: Rate,
    demand: Demand,
}

impl Allowance {
    pub(super) fn new(settings: &UpstreamSettings, now: Instant) -> Self {
        Self {
            rate: rate(settings, 1, now),
            scarce: rate(settings, SCARCE_PART, now),
            demand: Demand::new(now),
        }
    }

    /// Goes by other settings; what is asked stays known.
    pub(super) fn configure(&mut self, settings: &UpstreamSettings, now: Instant) {
        (self.rate, self.scarce) = (rate(settings, 1, now), rate(settings, SCARCE_PART, now));
    }

    /// Whether one more question may have a socket of its own.
    pub(super) fn take(&mut self, need: Need, settings: &UpstreamSettings, now: Instant) -> bool {
        let (rate, part) = match self.demand.is_high(fresh_per_second(settings), now) {
            true => (&mut self.scarce, SCARCE_PART),
            false => (&mut self.rate, 1),
        };
        rate.take_above(kept_for_others(need, settings, part), now)
    }
}

/// Whether far more is asked than fresh sockets are paid for: by the tenth of a second before, or this one already.
#[derive(Debug)]
struct Demand {
    since: Instant,
    asked: u32,
    was_high: bool,
}

impl Demand {
    fn new(now: Instant) -> Self {
        Self { since: now, asked: 0, was_high: false }
    }

    /// One more question, where so many a second have a fresh socket.
    fn is_high(&mut self, fresh_per_second: u32, now: Instant) -> bool {
        let high = fresh_per_second.saturating_mul(FRESH_WORTH) / FRESH_BURST;
        let span = Duration::from_secs(1) / FRESH_BURST;
        let passed = now.saturating_duration_since(self.since);
        if passed >= span {
            let is_next = passed < 2 * span;
            *self = Self { since: now, asked: 0, was_high: is_next && self.asked > high };
        }
        self.asked = self.asked.saturating_add(1);
        self.was_high || self.asked > high
    }
}

/// Fresh sockets that are paid for.
fn fresh_per_second(settings: &UpstreamSettings) -> u32 {
    settings.fresh_per_second.min(FRESH_PER_SECOND_MAX)
}

/// Fresh sockets that must be left for questions with more need.
fn kept_for_others(need: Need, settings: &UpstreamSettings, part: u32) -> u32 {
    match need {
        Need::Fresh => 0,
        Need::Any => burst(settings, part) / 2,
    }
}

/// Fresh sockets that may be opened at once.
fn burst(settings: &UpstreamSettings, part: u32) -> u32 {
    fresh_per_second(settings).div_ceil(FRESH_BURST * part)
}

/// One of so many parts of the fresh sockets that are paid for.
fn rate(settings: &UpstreamSettings, part: u32, now: Instant) -> Rate {
    let pause = Duration::from_secs(1).saturating_mul(part).checked_div(fresh_per_second(settings));
    Rate::new(burst(settings, part), pause.unwrap_or(Duration::MAX), now)
}
