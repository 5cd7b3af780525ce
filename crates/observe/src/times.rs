//! How long something takes, in little memory: how many took how long, in ranges, which fade as the counts of [`crate::sketch`] do.
//!
//! ```text
//! range     0         1 2 3 4                   5 6 7 8           ...   61 62                63
//! takes     < 1 us    1 to 2 us in quarters     2 to 4 us               33.6 to 50.3 ms      longer
//! ```
//!
//! A range is at most a quarter longer than where it begins, and so is what is told of a percentile: where the range ends that it is in.

use std::time::{Duration, Instant};

use crate::sketch::Fading;

/// Ranges: at 64 the last one begins at 50 ms, where an answer that waits for nobody is late by any measure, and all of them are eight lines of the processor's cache.
pub const RANGES: usize = 64;
/// Octave that the second range begins with: 1,024 ns. Less than that a batch of one query does not take.
const OCTAVE_FIRST: u32 = 10;
/// Ranges of an octave.
const PARTS: u32 = 4;

/// How many took how long.
pub struct Times {
    /// In weights since the beginning.
    counts: [f64; RANGES],
    fading: Fading,
}

/// What is told of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Took {
    /// How many it is of, faded.
    pub count: f64,
    /// For each of [`PERCENTS`] the time that so many of them took at most; `None`: longer than all ranges but the last.
    pub percentiles: [Option<Duration>; PERCENTS.len()],
    /// Where ranges end in which there are some, `None` of the last, and how many are in each; the shortest first.
    pub ranges: Vec<(Option<Duration>, f64)>,
}

/// Of how many in a hundred a time is told. Samples of half a minute hold some dozens of the last.
pub const PERCENTS: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

impl Times {
    /// Nothing yet.
    #[must_use]
    pub fn new(now: Instant) -> Times {
        Times { counts: [0.0; RANGES], fading: Fading::new(now) }
    }

    /// One more, which stands for `times` of them.
    pub fn add(&mut self, nanoseconds: u64, times: f64, now: Instant) {
        let weight = self.fading.weigh(self.counts.iter_mut(), now);
        self.counts[range_of(nanoseconds)] += times * weight;
    }

    /// What there is now.
    pub fn took(&self, now: Instant) -> Took {
        let fading = self.fading.at(now);
        let sum: f64 = self.counts.iter().sum();
        let in_ranges = self.counts.iter().enumerate().filter(|(_, count)| **count > 0.0);
        Took {
            count: sum / fading,
            percentiles: PERCENTS.map(|percent| self.percentile(sum * percent / 100.0)),
            ranges: in_ranges.map(|(range, count)| (end_of(range), count / fading)).collect(),
        }
    }

    /// Where the range ends in which the first so many have been counted.
    fn percentile(&self, wanted: f64) -> Option<Duration> {
        let mut counted = 0.0;
        let is_in = |(_, count): &(usize, &f64)| {
            counted += **count;
            **count > 0.0 && counted >= wanted
        };
        self.counts.iter().enumerate().find(is_in).and_then(|(range, _)| end_of(range))
    }
}

fn range_of(nanoseconds: u64) -> usize {
    if nanoseconds < 1 << OCTAVE_FIRST {
        return 0;
    }
    let octave = nanoseconds.ilog2();
    let part = nanoseconds >> (octave - PARTS.ilog2()) & u64::from(PARTS - 1);
    let range = 1 + u64::from((octave - OCTAVE_FIRST) * PARTS) + part;
    range.min(RANGES as u64 - 1) as usize
}

/// What is in a range took less; `None`: the last one does not end.
fn end_of(range: usize) -> Option<Duration> {
    let nanoseconds = match range as u32 {
        0 => 1 << OCTAVE_FIRST,
        range if range as usize == RANGES - 1 => return None,
        range => {
            let (octave, part) = ((range - 1) / PARTS + OCTAVE_FIRST, (range - 1) % PARTS);
            u64::from(PARTS + part + 1) << (octave - PARTS.ilog2())
        }
    };
    Some(Duration::from_nanos(nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::HALF_LIFE;
    use sync::Random;

    /// Every time is in one range, which ends behind it and begins no more than a quarter before that.
    #[test]
    fn each_time_is_in_its_range() {
        let ends: Vec<u128> =
            (0..RANGES - 1).map(|range| end_of(range).map_or(0, |end| end.as_nanos())).collect();
        assert!(ends.is_sorted_by(|one, other| one < other) && end_of(RANGES - 1).is_none(), "{ends:?}");
        assert_eq!((ends[0], ends[1], ends[4], ends[RANGES - 2]), (1_024, 1_280, 2_048, 50_331_648));
        for (range, end) in ends.iter().enumerate() {
            let end = *end as u64;
            assert_eq!((range_of(end - 1), range_of(end)), (range, range + 1), "{range}");
            assert!(range == 0 || end * 4 <= ends[range - 1] as u64 * 5, "{range}");
        }
        assert_eq!((range_of(0), range_of(u64::MAX)), (0, RANGES - 1));
    }

    /// Percentiles are those of all times, to a range.
    #[test]
    fn percentiles_are_those_of_a_sorted_list() {
        let (now, mut random) = (Instant::now(), Random::new(5));
        let (mut times, mut exact) = (Times::new(now), Vec::new());
        for _ in 0..20_000 {
            // From 300 ns to 30 ms, as many in each octave.
            let nanoseconds = (300.0 * 100_000_f64.powf(random.unit())) as u64;
            times.add(nanoseconds, 2.0, now);
            exact.push(nanoseconds);
        }
        exact.sort_unstable();
        let took = times.took(now);
        assert_eq!(took.count, 40_000.0);
        for (percent, told) in PERCENTS.into_iter().zip(took.percentiles) {
            let of_list = exact[(exact.len() as f64 * percent / 100.0).ceil() as usize - 1];
            let told = told.map_or(0, |told| told.as_nanos() as u64);
            assert_eq!(range_of(told - 1), range_of(of_list), "{percent}: {told}, {of_list}");
        }
        let in_ranges: f64 = took.ranges.iter().map(|(_, count)| count).sum();
        assert!((in_ranges - took.count).abs() < 1e-6);
    }

    #[test]
    fn what_was_fades_and_what_is_long_is_said_to_be() {
        let begin = Instant::now();
        let mut times = Times::new(begin);
        assert_eq!(times.took(begin), Took::default());
        (0..1_000).for_each(|_| times.add(10_000_000_000, 1.0, begin));
        assert_eq!(times.took(begin).percentiles, [None; 4]);
        let later = begin + 100 * HALF_LIFE;
        times.add(1_500, 1.0, later);
        let took = times.took(later);
        let end = Some(Duration::from_nanos(1_536));
        assert_eq!((took.percentiles, took.ranges[0]), ([end; 4], (end, 1.0)));
        assert!((took.count - 1.0).abs() < 1e-9);
    }
}
