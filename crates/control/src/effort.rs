//! How much of the processors loading takes.
//!
//! Before anything is served it takes all of them: whoever asks gets SERVFAIL until it is done, so that nobody gains by waiting. From then
//! on workers come first. As many threads load as there are processors without a worker, at least one, and these have the lowest priority,
//! so that even this one gets what workers leave.
//!
//! What has the lowest priority holds no lock that others wait for, as these would wait for all that goes before it. So it reads, checks,
//! compares and packs, and hands what comes of it to whoever makes the change, a thread of the usual priority, which publishes it.

use std::panic::resume_unwind;

use crate::parallel::map_on_threads;
use crate::system::yield_to_others;

/// How many threads load, and whether they leave the processors to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    threads: usize,
    yields: bool,
}

impl Effort {
    /// All processors.
    pub fn all() -> Effort {
        Effort { threads: net::worker_count_default(), yields: false }
    }

    /// What `workers` leave; all where there are none.
    pub fn beside(workers: usize) -> Effort {
        let all = Effort::all();
        match workers {
            0 => all,
            _ => Effort { threads: all.threads.saturating_sub(workers).max(1), yields: true },
        }
    }

    /// Threads that read text.
    pub fn threads(self) -> usize {
        self.threads
    }

    /// Whether work is left to [threads](Effort::begin) that others go before.
    pub fn yields(self) -> bool {
        self.yields
    }

    /// To be called by each thread that was made for work, before it; what it starts itself is as it is. There is no way back.
    pub fn begin(self) {
        if self.yields {
            yield_to_others();
        }
    }

    /// Does `work`, which waits for nothing that the caller holds, while the caller waits.
    pub fn run<R: Send>(self, work: impl FnOnce() -> R + Send) -> R {
        if !self.yields {
            return work();
        }
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                self.begin();
                work()
            });
            thread.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    /// Does `work` for each of `items`, the results in the order of the items, while the caller waits.
    pub fn map<T: Sync, R: Send>(self, items: &[T], work: impl Fn(&T) -> R + Send + Sync) -> Vec<R> {
        self.run(|| map_on_threads(self.threads, items, work))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Nice value and policy of the calling thread, as the system shows them.
    fn priority() -> (i64, i64) {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        // Behind the name, which is in brackets and can hold anything, the third field of all.
        let fields: Vec<i64> = stat
            .rsplit(") ")
            .next()
            .unwrap()
            .split_whitespace()
            .skip(1)
            .map(|field| field.parse().unwrap_or(-1))
            .collect();
        (fields[19 - 4], fields[41 - 4])
    }

    /// `SCHED_BATCH` of the system.
    const BATCH: i64 = 3;

    #[test]
    fn work_beside_workers_yields_and_its_caller_does_not() {
        let before = priority();
        let effort = Effort::beside(1);
        assert_eq!(effort.run(priority), (19, BATCH));
        let items = vec![(); 1000];
        assert!(effort.map(&items, |()| priority()).iter().all(|found| *found == (19, BATCH)));
        // Threads of a thread that yields do too.
        let inner = effort.run(|| std::thread::scope(|scope| scope.spawn(priority).join().unwrap()));
        assert_eq!(inner, (19, BATCH));
        assert_eq!((priority(), Effort::all().run(priority)), (before, before));
    }

    #[test]
    fn as_many_threads_as_processors_without_a_worker() {
        let all = net::worker_count_default();
        let threads = |workers| Effort::beside(workers).threads();
        assert_eq!([0, all, all + 7].map(threads), [all, 1, 1]);
        assert_eq!(threads(1), (all - 1).max(1));
        assert!(Effort::beside(all).yields() && !Effort::beside(0).yields());
    }
}
