//! When queries are due, and how they are divided among the workers.

/// How queries are paced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// So many queries a second, evenly.
    Open {
        /// Queries a second, above 0.
        rate: f64,
    },
    /// So many queries outstanding.
    Closed {
        /// At least 1.
        window: u64,
    },
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
pub struct Schedule {
    share: Share,
    interval_ns: f64,
    /// How many of them are taken, and how many there are.
    taken: u64,
    count: u64,
    last_ns: u64,
}

impl Schedule {
    /// Evenly, `rate` a second among all workers.
    pub fn even(rate: f64, trial: &Trial, share: Share) -> Schedule {
        let total = ((trial.seconds * rate) as u64).min(trial.queries_max).max(1);
        Schedule { share, interval_ns: 1e9 / rate, taken: 0, count: share.of(total), last_ns: 0 }
    }

    /// Takes the next time if it is not after `now_ns`.
    pub fn take_due(&mut self, now_ns: u64) -> Option<u64> {
        let next_ns = self.next_ns()?;
        if next_ns > now_ns {
            return None;
        }
        self.taken += 1;
        self.last_ns = next_ns;
        Some(next_ns)
    }

    /// Times that are left.
    pub fn left(&self) -> u64 {
        self.count - self.taken
    }

    /// The last time of all, where all were taken.
    pub fn last_ns(&self) -> u64 {
        self.last_ns
    }

    fn next_ns(&self) -> Option<u64> {
        let number = self.taken * self.share.workers as u64 + self.share.worker as u64;
        (self.taken < self.count).then_some((number as f64 * self.interval_ns) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(mut schedule: Schedule) -> Vec<u64> {
        std::iter::from_fn(|| schedule.take_due(u64::MAX)).collect()
    }

    #[test]
    fn workers_share_a_plan() {
        let trial = Trial { pace: Pace::Open { rate: 1000.0 }, seconds: 0.1, queries_max: u64::MAX };
        let alone = times(Schedule::even(1000.0, &trial, Share { worker: 0, workers: 1 }));
        assert_eq!((alone.len(), alone[1], alone[99]), (100, 1_000_000, 99_000_000));
        let parts = (0..3).map(|worker| times(Schedule::even(1000.0, &trial, Share { worker, workers: 3 })));
        let mut together: Vec<_> = parts.flatten().collect();
        together.sort_unstable();
        assert_eq!(together, alone);
    }

    #[test]
    fn nothing_is_due_early() {
        let trial = Trial { pace: Pace::Open { rate: 10.0 }, seconds: 1.0, queries_max: 3 };
        let mut schedule = Schedule::even(10.0, &trial, Share { worker: 0, workers: 1 });
        assert_eq!(schedule.take_due(0), Some(0));
        assert_eq!(schedule.take_due(99_999_999), None);
        assert_eq!((schedule.take_due(100_000_000), schedule.left()), (Some(100_000_000), 1));
        assert_eq!((schedule.take_due(1 << 40), schedule.take_due(1 << 40)), (Some(200_000_000), None));
        assert_eq!((schedule.left(), schedule.last_ns()), (0, 200_000_000));
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
