//! When queries are due, and how they are divided among the workers.

use crate::random::Random;

/// How queries are paced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// So many queries a second, evenly.
    Open {
        /// Queries a second, above 0.
        rate: f64,
    },
    /// So many queries a second on average, with gaps as those of many clients that know nothing of each other: a
    /// Poisson process.
    Poisson {
        /// Queries a second, above 0.
        rate: f64,
        /// Start of the random stream.
        seed: u64,
    },
    /// At the times of the capture that the queries are of.
    Replay {
        /// How many times as fast, above 0.
        speed: f64,
        /// How often the capture is gone through; without, until the end of the trial.
        loops: Option<u64>,
    },
    /// So many queries outstanding.
    Closed {
        /// At least 1.
        window: u64,
    },
    /// As many outstanding as are answered without loss: see [`super::window`].
    SelfPaced {
        /// To begin with, at least 1.
        window: u64,
    },
}

impl Pace {
    /// Whether the next query waits for a reply.
    pub fn is_closed(self) -> bool {
        matches!(self, Pace::Closed { .. } | Pace::SelfPaced { .. })
    }
}

/// One trial.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// How queries are paced.
    pub pace: Pace,
    /// Length of the sending phase at most.
    pub seconds: f64,
    /// Queries at most.
    pub queries_max: u64,
}

/// Which of how many workers: query `n` of a trial is that of worker `n % workers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Counted from 0.
    pub worker: usize,
    /// At least 1.
    pub workers: usize,
}

impl Share {
    /// This worker's part of so many queries, or of so many places in a window.
    pub fn of(self, total: u64) -> u64 {
        let (worker, workers) = (self.worker as u64, self.workers as u64);
        total / workers + u64::from(worker < total % workers)
    }
}

/// The times at which a worker's queries of an open loop are due, in their order.
pub struct Schedule<'q> {
    share: Share,
    times: Times<'q>,
    /// How many of them are taken, and how many there may be.
    taken: u64,
    count: u64,
    /// Nothing is due from here on.
    end_ns: f64,
    last_ns: u64,
}

/// Where times come from.
enum Times<'q> {
    /// Query `n` of all workers at `n` times the interval.
    Even { interval_ns: f64 },
    /// Each worker has a process of its own; together they are one.
    Poisson { random: Random, mean_gap_ns: f64, next_ns: f64 },
    /// Those of a capture, over and over.
    Recorded { times_ns: &'q [u64], speed: f64, period_ns: f64 },
}

impl<'q> Schedule<'q> {
    /// The times of a trial; `None` in a closed loop. `recorded_ns`: the times of the queries, for [`Pace::Replay`].
    pub fn of(trial: &Trial, share: Share, recorded_ns: &'q [u64]) -> Option<Schedule<'q>> {
        let end_ns = trial.seconds * 1e9;
        let (times, total) = match trial.pace {
            Pace::Open { rate } => {
                (Times::Even { interval_ns: 1e9 / rate }, ((trial.seconds * rate) as u64).max(1))
            }
            Pace::Poisson { rate, seed } => {
                let mean_gap_ns = 1e9 / rate * share.workers as f64;
                let mut random = Random::part(seed, share.worker as u64);
                let next_ns = gap(&mut random, mean_gap_ns);
                (Times::Poisson { random, mean_gap_ns, next_ns }, u64::MAX)
            }
            Pace::Replay { speed, loops } => {
                let count = recorded_ns.len() as u64;
                let total = loops.unwrap_or(u64::MAX).saturating_mul(count);
                let period_ns = period(recorded_ns);
                (
                    Times::Recorded { times_ns: recorded_ns, speed, period_ns },
                    if count == 0 { 0 } else { total },
                )
            }
            Pace::Closed { .. } | Pace::SelfPaced { .. } => return None,
        };
        let count = share.of(total.min(trial.queries_max));
        Some(Schedule { share, times, taken: 0, count, end_ns, last_ns: 0 })
    }

    /// Takes the next time if it is not after `now_ns`.
    pub fn take_due(&mut self, now_ns: u64) -> Option<u64> {
        let next_ns = self.next_ns()?;
        if next_ns > now_ns {
            return None;
        }
        self.taken += 1;
        self.last_ns = next_ns;
        if let Times::Poisson { random, mean_gap_ns, next_ns } = &mut self.times {
            *next_ns += gap(random, *mean_gap_ns);
        }
        Some(next_ns)
    }

    /// Whether no time is left.
    pub fn is_done(&self) -> bool {
        self.next_ns().is_none()
    }

    /// Times that are left, of a Poisson process about.
    pub fn left(mut self) -> u64 {
        match &self.times {
            Times::Even { .. } => self.count - self.taken,
            Times::Poisson { mean_gap_ns, next_ns, .. } => {
                let left = ((self.end_ns - next_ns) / mean_gap_ns).max(0.0) as u64;
                left.min(self.count - self.taken)
            }
            // No more than a trial sends: a cheap count.
            Times::Recorded { .. } => std::iter::from_fn(|| self.take_due(u64::MAX)).count() as u64,
        }
    }

    /// The last time taken.
    pub fn last_ns(&self) -> u64 {
        self.last_ns
    }

    fn next_ns(&self) -> Option<u64> {
        if self.taken >= self.count {
            return None;
        }
        let number = self.taken.saturating_mul(self.share.workers as u64) + self.share.worker as u64;
        let next_ns = match &self.times {
            // The count says where these end.
            Times::Even { interval_ns } => return Some((number as f64 * interval_ns) as u64),
            Times::Poisson { next_ns, .. } => *next_ns,
            Times::Recorded { times_ns, speed, period_ns } => {
                let (round, index) = (number / times_ns.len() as u64, number % times_ns.len() as u64);
                (round as f64 * period_ns + times_ns[index as usize] as f64) / speed
            }
        };
        (next_ns < self.end_ns).then_some(next_ns as u64)
    }
}

/// An exponential gap.
fn gap(random: &mut Random, mean_ns: f64) -> f64 {
    -mean_ns * (1.0 - random.unit()).ln()
}

/// From the first query of a capture to the first of its repetition: its length and one mean gap.
fn period(times_ns: &[u64]) -> f64 {
    match times_ns {
        [_, .., last] if *last > 0 => *last as f64 * times_ns.len() as f64 / (times_ns.len() - 1) as f64,
        // All at once: a second apart.
        _ => 1e9,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn times(mut schedule: Schedule) -> Vec<u64> {
        std::iter::from_fn(|| schedule.take_due(u64::MAX)).collect()
    }

    fn trial(pace: Pace, seconds: f64, queries_max: u64) -> Trial {
        Trial { pace, seconds, queries_max }
    }

    fn of<'q>(trial: &Trial, worker: usize, workers: usize, recorded_ns: &'q [u64]) -> Schedule<'q> {
        Schedule::of(trial, Share { worker, workers }, recorded_ns).unwrap()
    }

    /// What three workers do together is what one does alone.
    #[track_caller]
    fn check_shared(trial: &Trial, recorded_ns: &[u64], alone: &[u64]) {
        assert_eq!(times(of(trial, 0, 1, recorded_ns)), alone);
        let mut together: Vec<_> =
            (0..3).flat_map(|worker| times(of(trial, worker, 3, recorded_ns))).collect();
        together.sort_unstable();
        assert_eq!(together, alone);
    }

    #[test]
    fn workers_share_a_plan() {
        let even: Vec<_> = (0..100).map(|number| number * 1_000_000).collect();
        check_shared(&trial(Pace::Open { rate: 1000.0 }, 0.1, u64::MAX), &[], &even);
        let replay = |speed, loops| Pace::Replay { speed, loops };
        check_shared(&trial(replay(1.0, Some(1)), 100.0, u64::MAX), &[0, 5, 5, 30], &[0, 5, 5, 30]);
        check_shared(&trial(replay(2.0, Some(2)), 100.0, 6), &[0, 20, 40], &[0, 10, 20, 30, 40, 50]);
        // Until the end of the trial.
        check_shared(&trial(replay(1.0, None), 1e-7, u64::MAX), &[0, 30], &[0, 30, 60, 90]);
        check_shared(&trial(replay(1.0, None), 2.5, u64::MAX), &[0], &[0, 1_000_000_000, 2_000_000_000]);
        check_shared(&trial(replay(1.0, None), 1.0, u64::MAX), &[], &[]);
    }

    #[test]
    fn poisson_gaps() {
        let plan = trial(Pace::Poisson { rate: 1e6, seed: 3 }, 0.1, u64::MAX);
        let alone = times(of(&plan, 0, 1, &[]));
        assert_eq!(alone, times(of(&plan, 0, 1, &[])), "same seed, same times");
        assert!((98_000..102_000).contains(&alone.len()), "{}", alone.len());
        assert!(alone.is_sorted() && alone.last() < Some(&100_000_000));
        // The share of gaps above the mean is 1/e.
        let long =
            alone.windows(2).filter(|pair| pair[1] - pair[0] > 1000).count() as f64 / alone.len() as f64;
        assert!((0.35..0.385).contains(&long), "{long}");
        let both: usize = (0..2).map(|worker| times(of(&plan, worker, 2, &[])).len()).sum();
        assert!((98_000..102_000).contains(&both), "{both}");
        assert_ne!(times(of(&plan, 0, 2, &[])), times(of(&plan, 1, 2, &[])));
        assert!((98_000..102_000).contains(&of(&plan, 0, 1, &[]).left()));
    }

    #[test]
    fn nothing_is_due_early() {
        let plan = trial(Pace::Open { rate: 10.0 }, 1.0, 3);
        let mut schedule = of(&plan, 0, 1, &[]);
        assert_eq!(schedule.take_due(0), Some(0));
        assert_eq!(schedule.take_due(99_999_999), None);
        assert_eq!(schedule.take_due(100_000_000), Some(100_000_000));
        assert!(!schedule.is_done());
        assert_eq!((schedule.take_due(1 << 40), schedule.take_due(1 << 40)), (Some(200_000_000), None));
        assert_eq!((schedule.last_ns(), schedule.is_done(), schedule.left()), (200_000_000, true, 0));
        assert!(
            Schedule::of(&trial(Pace::Closed { window: 1 }, 1.0, 3), Share { worker: 0, workers: 1 }, &[])
                .is_none()
        );
    }

    #[test]
    fn shares_add_up() {
        for total in 0..20 {
            for workers in 1..7 {
                let sum: u64 = (0..workers).map(|worker| Share { worker, workers }.of(total)).sum();
                assert_eq!(sum, total);
            }
        }
    }
}
