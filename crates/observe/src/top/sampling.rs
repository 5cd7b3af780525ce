//! One in how many queries is taken: as many a second whether much is asked or little. Of a quiet server that is each, and of one under a flood so few that workers do not feel it.

use std::time::{Duration, Instant};

/// Most samples a second, of all workers together. Each costs a worker 500 instructions (`crates/net/examples/tap.rs`), which is a thousandth of a processor in all, however many queries
/// there are. Counts that have half faded in ten seconds are of 70,000 of them then, of which a thousandth is 70.
pub(super) const SAMPLES_A_SECOND_MAX: u32 = 5000;

/// One in so many at first, as nothing is known of the rate: 20,000 a second of two and a half millions, for a moment.
pub(super) const ONE_IN_FIRST: u32 = 128;

/// Rarer than that nothing is taken: there is no machine that answers so many.
const ONE_IN_MAX: u32 = 1 << 16;

/// How long is looked before more are taken: in that time a hundredth of a second's samples make a rate.
const WINDOW: Duration = Duration::from_millis(100);

/// Samples after which it is looked at once, as there are twice too many.
const SAMPLES_EARLY: u32 = SAMPLES_A_SECOND_MAX / 5;

/// By how much more are taken after a window, at most: few samples say little about a rate.
const LESS_MAX: u32 = 8;

/// By how much fewer queries there have to be before more of them are taken, so that a rate near a power of two does not have it change each time.
const LESS_MARGIN: f64 = 1.25;

/// No window is shorter: the first samples of a round may be those of a whole turn of it.
const ELAPSED_MIN: Duration = Duration::from_millis(1);

/// The rate, and what it is found from.
pub(super) struct Sampling {
    one_in: u32,
    /// In this window.
    samples: u32,
    begun: Instant,
    /// Whether a window has passed after which no more were to be taken.
    is_settled: bool,
}

impl Sampling {
    pub(super) fn new(now: Instant) -> Sampling {
        Sampling { one_in: ONE_IN_FIRST, samples: 0, begun: now, is_settled: false }
    }

    /// A power of two.
    pub(super) fn one_in(&self) -> u32 {
        self.one_in
    }

    /// Whether the rate is known.
    pub(super) fn is_settled(&self) -> bool {
        self.is_settled
    }

    pub(super) fn taken(&mut self) {
        self.samples = self.samples.saturating_add(1);
    }

    /// Looks at what came, if there is enough of it.
    pub(super) fn adapt(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.begun);
        if elapsed < WINDOW && self.samples < SAMPLES_EARLY {
            return;
        }
        let queries = f64::from(self.samples) * f64::from(self.one_in);
        let rate = queries / elapsed.max(ELAPSED_MIN).as_secs_f64();
        let one_in = |rate: f64| {
            let one_in = (rate / f64::from(SAMPLES_A_SECOND_MAX)).ceil() as u32;
            one_in.clamp(1, ONE_IN_MAX).next_power_of_two()
        };
        let more = one_in(rate * LESS_MARGIN).max(self.one_in / LESS_MAX);
        let before = self.one_in;
        self.one_in = one_in(rate).max(before.min(more));
        self.is_settled |= self.one_in >= before;
        (self.samples, self.begun) = (0, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half a minute at these rates a second, in rounds of five milliseconds: how many samples were taken in each second.
    fn samples(rates: impl Fn(u32) -> u32) -> Vec<u32> {
        let begin = Instant::now();
        let mut sampling = Sampling::new(begin);
        let (mut now, mut rest) = (begin, 0.0);
        let second = |second| {
            let mut taken = 0;
            for _ in 0..200 {
                now += Duration::from_millis(5);
                rest += f64::from(rates(second)) / 200.0 / f64::from(sampling.one_in());
                while rest >= 1.0 {
                    rest -= 1.0;
                    taken += 1;
                    sampling.taken();
                }
                sampling.adapt(now);
            }
            taken
        };
        (0..30).map(second).collect()
    }

    #[test]
    fn of_few_queries_each_is_taken() {
        let samples = samples(|_| 500);
        assert!(samples[0] > 300, "{samples:?}");
        assert!(samples[1..].iter().all(|samples| samples.abs_diff(500) <= 2), "{samples:?}");
    }

    #[test]
    fn of_many_no_more_than_there_may_be() {
        for rate in [20_000, 300_000, 5_000_000] {
            let samples = samples(|_| rate);
            let range = SAMPLES_A_SECOND_MAX * 2 / 5 - 100..=SAMPLES_A_SECOND_MAX + 100;
            assert!(samples[1..].iter().all(|samples| range.contains(samples)), "{rate}: {samples:?}");
        }
    }

    /// What is looked at is not another share each time that a rate is a little more or less.
    #[test]
    fn a_rate_near_a_power_of_two() {
        let samples = samples(|second| if second % 2 == 0 { 19_900 } else { 20_100 });
        assert!(samples[3..].iter().all(|samples| samples.abs_diff(2500) < 50), "{samples:?}");
    }

    /// A flood that begins is sampled less within a round or two, not after a window.
    #[test]
    fn a_flood_begins_and_ends() {
        let samples = samples(|second| if (10..20).contains(&second) { 2_000_000 } else { 1000 });
        // A round of it, and a tail.
        assert!(samples[10] < 10_000 + 2 * SAMPLES_A_SECOND_MAX, "{samples:?}");
        assert!(samples[11..20].iter().all(|samples| *samples <= SAMPLES_A_SECOND_MAX), "{samples:?}");
        assert!(samples[21..].iter().all(|samples| samples.abs_diff(1000) <= 2), "{samples:?}");
    }
}
