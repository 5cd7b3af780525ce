//! What repeats is said once a while: workers only count, and a thread of control looks at the counts each second.
//!
//! ```text
//! counts of workers --once a second--> Repeated, one a kind --> a line at once, then one each REPEAT_PAUSE, with how often
//! rows of rate limits --------------> limited ---------------> who is, and was; as many lines in that time
//! requests on threads of their own -> Failures, of two kinds -> the same, and why the last failed
//! ```
//!
//! With each look what tells others of queries is started again, should it have met a fault; transfers are cut that keep too much of what is served no more, negative trust anchors end whose time has come, and keys of
//! trust anchors are looked at.
//!
//! Who has one more kind adds it to [`Kind`]: how it is counted, and how it is said.

mod failures;

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use net::WorkerCounters;

pub(crate) use self::failures::{Failures, Line, Words};
use crate::controller::Controller;
use crate::limited;
use crate::text::{Span, grouped};
use crate::transfers::PINNED_OCTETS_MAX;

/// Least time between two lines of a kind. Shorter, and a flood of a day writes thousands; longer, and who looks at the log while it lasts sees nothing.
pub(crate) const REPEAT_PAUSE: Duration = Duration::from_secs(60);
/// How often it is looked.
const INTERVAL: Duration = Duration::from_secs(1);

/// What happened so often until it was said last, and when that was.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Repeated {
    said: Option<Instant>,
    told: u64,
}

/// What is to be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// How often it happened since it was said last.
    pub(crate) count: u64,
    /// How long ago that is, if it ever was.
    pub(crate) since: Option<Duration>,
}

impl Due {
    /// How often, in words: `1,234`, `1,234 in the last 3 min`.
    pub(crate) fn often(&self) -> String {
        let often = grouped(self.count);
        self.since.map_or_else(|| often.clone(), |since| format!("{often} in the last {}", Span(since)))
    }
}

impl Repeated {
    /// Takes in that it happened so often in all. What is to be said of it now, if anything is.
    pub(crate) fn look(&mut self, total: u64, now: Instant) -> Option<Due> {
        // Counts of a server that took over begin anew.
        self.told = self.told.min(total);
        let since = self.said.map(|said| now.saturating_duration_since(said));
        if total == self.told || since.is_some_and(|since| since < REPEAT_PAUSE) {
            return None;
        }
        let due = Due { count: total - self.told, since };
        *self = Repeated { said: Some(now), told: total };
        Some(due)
    }

    /// As [`Repeated::look`], of what is said otherwise when it begins: the first line comes after a pause.
    pub(crate) fn look_late(&mut self, total: u64, now: Instant) -> Option<Due> {
        if self.said.is_none() && total > self.told {
            self.said = Some(now);
        }
        self.look(total, now)
    }
}

/// What is counted and said.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// As many TCP connections as there may be.
    Connections,
    /// As many of one client network as it may have.
    ConnectionsOfNetwork,
    /// No descriptor or no memory for a connection more: another is closed, or accepting pauses.
    Descriptors,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Connections, Kind::ConnectionsOfNetwork, Kind::Descriptors];

    /// How often it happened.
    fn count(self, counts: &WorkerCounters) -> u64 {
        match self {
            Kind::Connections => counts.tcp_limit_all,
            Kind::ConnectionsOfNetwork => counts.tcp_limit_prefix,
            Kind::Descriptors => counts.tcp_exhausted + counts.tcp_accept_pauses,
        }
    }

    fn say(self, due: Due) {
        let Due { count, since } = due;
        let often = grouped(count);
        let time = since.map_or_else(String::new, |since| format!(" in the last {}", Span(since)));
        match self {
            Kind::Connections => tracing::warn!(
                kind = "tcp-limit-all",
                count,
                "TCP: as many connections as `connections` in [tcp] lets in; {often} refused or displaced{time}"
            ),
            Kind::ConnectionsOfNetwork => tracing::warn!(
                kind = "tcp-limit-prefix",
                count,
                "TCP: client networks with as many connections as `connections-per-prefix` in [tcp] lets in; {often} refused{time}"
            ),
            Kind::Descriptors => tracing::error!(
                kind = "tcp-exhausted",
                count,
                "TCP: descriptors or memory ran out (see `ulimit -n`, LimitNOFILE of the service); \
                 {often} times a connection was closed for another, or none was accepted{time}"
            ),
        }
    }
}

/// What the thread knows.
#[derive(Default)]
struct Watch {
    kinds: [Repeated; Kind::ALL.len()],
    limited: limited::Lines,
}

impl Watch {
    fn look(&mut self, controller: &Controller, now: Instant) {
        // Not held while a line is written.
        let counts = controller.running.lock().as_ref().map(|running| running.counters());
        let counts = counts.unwrap_or_default().into_iter().reduce(WorkerCounters::sum).unwrap_or_default();
        for (kind, repeated) in Kind::ALL.into_iter().zip(&mut self.kinds) {
            repeated.look(kind.count(&counts), now).into_iter().for_each(|due| kind.say(due));
        }
        self.limited.look(controller, now);
        controller.catalog.cut_pins(PINNED_OCTETS_MAX);
        controller.recursion.iter().for_each(|recursion| recursion.watch_clock());
        controller.recursion.iter().for_each(|recursion| recursion.end_negatives());
        controller.recursion.iter().for_each(|recursion| recursion.tend_anchors());
        controller.observing.mend(controller, now);
        controller.transfers.say(now);
        controller.telling.say(now);
        controller.verifier.say(now);
        controller.forwarder.say(now);
    }
}

/// Looks each second on a thread of its own, as long as there is a server.
pub(crate) fn watch(controller: &Arc<Controller>) -> std::io::Result<()> {
    let controller: Weak<Controller> = Arc::downgrade(controller);
    let mut watch = Watch::default();
    let looks = move || {
        loop {
            std::thread::sleep(INTERVAL);
            let Some(controller) = controller.upgrade() else { return };
            watch.look(&controller, Instant::now());
        }
    };
    std::thread::Builder::new().name("watch".into()).spawn(looks).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_at_once_and_then_one_each_pause() {
        let (start, mut repeated) = (Instant::now(), Repeated::default());
        let mut look = |total, seconds| repeated.look(total, start + Duration::from_secs(seconds));
        assert_eq!(look(0, 0), None);
        assert_eq!(look(3, 1), Some(Due { count: 3, since: None }));
        for seconds in 2..61 {
            assert_eq!(look(3 + seconds, seconds), None);
        }
        assert_eq!(look(100, 61), Some(Due { count: 97, since: Some(REPEAT_PAUSE) }));
        assert_eq!(look(100, 1000), None, "nothing more");
        assert_eq!(look(101, 1001), Some(Due { count: 1, since: Some(Duration::from_secs(940)) }));
        // Another server's counts.
        assert_eq!(look(0, 1002), None);
        assert_eq!(look(2, 1100), Some(Due { count: 2, since: Some(Duration::from_secs(99)) }));
    }

    #[test]
    fn what_is_said_otherwise_at_first_is_said_a_pause_later() {
        let (start, mut repeated) = (Instant::now(), Repeated::default());
        let mut look = |total, seconds| repeated.look_late(total, start + Duration::from_secs(seconds));
        assert_eq!([look(0, 0), look(5, 1), look(9, 60)], [None; 3]);
        assert_eq!(look(9, 61), Some(Due { count: 9, since: Some(REPEAT_PAUSE) }));
    }
}
