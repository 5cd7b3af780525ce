//! How a joint trial goes, for somebody who watches.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::REPORT_EACH;
use crate::load::progress::{Counts, Snapshot};

/// An agent reports if it has done so within this time: five reports may be late.
const FRESH_MAX: Duration = REPORT_EACH.saturating_mul(6);

/// The last reports of all agents; clones show the same.
#[derive(Clone, Default)]
pub struct Live {
    reports: Arc<Mutex<Vec<Report>>>,
}

/// What one agent said last.
#[derive(Clone)]
struct Report {
    counts: Counts,
    /// When; before the first report the start of the trial.
    at: Instant,
    /// Answers a second between the last report and the one before.
    rate: f64,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing was said yet.
    Quiet,
    /// Reports come.
    Working,
    /// Its part of the trial is over.
    Done,
    /// It is gone.
    Lost,
}

/// How a joint trial goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Joint {
    /// All agents together.
    pub all: Snapshot,
    /// Answers a second of late. Reports come when they come: what is new in a second is not what was answered in one.
    pub rate: f64,
    /// Agents that report, or are done.
    pub reporting: usize,
    /// Agents in all.
    pub agents: usize,
}

impl Live {
    /// How it goes now.
    pub fn look(&self) -> Joint {
        let reports = self.lock();
        let mut all = Counts::default();
        reports.iter().for_each(|report| all.add(&report.counts));
        let reporting = |report: &&Report| match report.state {
            State::Working => report.at.elapsed() <= FRESH_MAX,
            State::Done => true,
            State::Quiet | State::Lost => false,
        };
        Joint {
            all: all.snapshot(),
            rate: reports.iter().map(|report| report.rate).sum(),
            reporting: reports.iter().filter(reporting).count(),
            agents: reports.len(),
        }
    }

    /// Begins a trial of so many agents, to start at `at`.
    pub(super) fn begin(&self, agents: usize, at: Instant) {
        let report = Report { counts: Counts::default(), at, rate: 0.0, state: State::Quiet };
        *self.lock() = vec![report; agents];
    }

    /// An agent said at `now` how it goes.
    pub(super) fn report(&self, agent: usize, counts: Counts, now: Instant) {
        if let Some(report) = self.lock().get_mut(agent) {
            let passed = now.saturating_duration_since(report.at).as_secs_f64();
            let answered = counts.received.saturating_sub(report.counts.received);
            let rate = if passed > 0.0 { answered as f64 / passed } else { report.rate };
            *report = Report { counts, at: now, rate, state: State::Working };
        }
    }

    /// An agent has done its part, with so many queries and answers, or is lost; what it said last stays.
    pub(super) fn end(&self, agent: usize, result: Option<(u64, u64)>) {
        if let Some(report) = self.lock().get_mut(agent) {
            report.rate = 0.0;
            report.state = if result.is_some() { State::Done } else { State::Lost };
            if let Some((sent, received)) = result {
                (report.counts.sent, report.counts.received) = (sent, received);
            }
        }
    }

    /// Whoever panicked in here left numbers behind, which are as good as any.
    fn lock(&self) -> MutexGuard<'_, Vec<Report>> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_add_up() {
        let (live, start) = (Live::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        live.begin(3, start);
        assert_eq!(live.look(), Joint { all: Snapshot::default(), rate: 0.0, reporting: 0, agents: 3 });
        live.report(0, Counts::new(10, 9), after(1));
        live.report(2, Counts::new(5, 5), after(1));
        assert_eq!(live.look().rate, 14.0);
        live.report(2, Counts::new(6, 6), after(3));
        live.report(3, Counts::new(1000, 1000), after(3));
        let seen = live.look();
        assert_eq!((seen.all.sent, seen.all.received, seen.rate, seen.reporting), (16, 15, 9.5, 2));
        live.end(0, Some((11, 11)));
        live.end(2, None);
        let seen = live.look();
        assert_eq!((seen.all.sent, seen.all.received, seen.rate, seen.reporting), (17, 17, 0.0, 1));
        live.begin(1, start);
        assert_eq!(live.look().agents, 1);
    }
}
