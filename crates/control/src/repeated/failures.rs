//! Requests that go wrong on a thread of their own: how many fail, how many find no place, and the last failure in words.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use sync::Mutex;

use super::Repeated;

/// Counts since the start, and what was said of them.
pub(crate) struct Failures {
    pub(crate) failed: AtomicU64,
    pub(crate) over_quota: AtomicU64,
    said: Mutex<SaidOf>,
    words: &'static Words,
}

/// A kind of line in the log, and what it says happened so often.
pub(crate) struct Line {
    pub(crate) kind: &'static str,
    pub(crate) what: &'static str,
}

/// The lines of both.
pub(crate) struct Words {
    pub(crate) failed: Line,
    pub(crate) over_quota: Line,
}

#[derive(Default)]
struct SaidOf {
    failed: Repeated,
    over_quota: Repeated,
    /// The last that failed.
    failure: String,
}

impl Failures {
    /// None yet. `lock`: what the lock is called in the lock profile.
    pub(crate) fn new(lock: &'static str, words: &'static Words) -> Failures {
        Failures {
            failed: AtomicU64::new(0),
            over_quota: AtomicU64::new(0),
            said: Mutex::named(lock, SaidOf::default()),
            words,
        }
    }

    /// One has failed.
    pub(crate) fn fail(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// One has found no place.
    pub(crate) fn refuse(&self) {
        self.over_quota.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes why the last failed, to be said with the next line.
    pub(crate) fn note(&self, failure: String) {
        self.said.lock().failure = failure;
    }

    /// Writes lines of what went wrong since the last time. To be called by no worker.
    pub(crate) fn say(&self, now: Instant) {
        let (failed, over_quota) = (&self.failed, &self.over_quota);
        let (failed, over_quota) = (failed.load(Ordering::Relaxed), over_quota.load(Ordering::Relaxed));
        // Not held while a line is written.
        let (failed, over_quota, failure) = {
            let mut said = self.said.lock();
            let (failed, over_quota) = (said.failed.look(failed, now), said.over_quota.look(over_quota, now));
            (failed, over_quota, failed.map(|_| said.failure.clone()).unwrap_or_default())
        };
        let Words { failed: of_failed, over_quota: of_quota } = self.words;
        if let Some(due) = failed {
            let (count, often) = (due.count, due.often());
            tracing::warn!(kind = of_failed.kind, count, "{}: {often}; the last: {failure}", of_failed.what);
        }
        if let Some(due) = over_quota {
            let (count, often) = (due.count, due.often());
            tracing::warn!(kind = of_quota.kind, count, "{}: {often}", of_quota.what);
        }
    }
}
