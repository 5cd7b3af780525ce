//! How the log of changes is, as others see it: what the changer has said last, so that who asks waits for no disk, nor for a lock that is held while one is waited for.

use std::time::{Duration, Instant};

use journal::commit::Condition;
use journal::log::Status;
use sync::Mutex;

use super::changer::Changer;
use super::handle::Dynamic;
use super::log::Log;
use crate::command::ChangesLog;

/// How long a write is waited for before that is something wrong: disks that are busy take a second at the worst.
const HANGS: Duration = Duration::from_secs(5);

/// See the module.
pub(super) struct Outline(Mutex<Known>);

#[derive(Default)]
struct Known {
    state: State,
    /// What waits for it.
    waiting: usize,
    /// Since it was begun; none before.
    status: Option<Status>,
    /// Since when it is being written.
    writing: Option<Instant>,
}

/// What becomes of changes.
#[derive(Default, PartialEq, Eq)]
enum State {
    /// It is begun with the first.
    #[default]
    NotBegun,
    /// They are taken.
    Ready,
    /// Another server may be about to take over.
    Held,
    /// They are refused: why, as a line.
    Refused(String),
}

/// The log is being written as long as this lives.
pub(super) struct Writing<'o>(&'o Outline);

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.0.0.lock().writing = None;
    }
}

impl Outline {
    pub(super) fn new() -> Outline {
        Outline(Mutex::named("how the log of changes is", Known::default()))
    }

    /// From now on the disk is waited for.
    pub(super) fn writing(&self) -> Writing<'_> {
        self.0.lock().writing = Some(Instant::now());
        Writing(self)
    }
}

/// What is wrong with the log, as a line. `None`: nothing.
pub(super) fn problem(condition: &Condition) -> Option<String> {
    match condition {
        Condition::Ready => None,
        Condition::Undecided(error) | Condition::Full(Some(error)) => Some(format!(
            "the log of changes cannot be written: {error}; updates get SERVFAIL, zones are served as they were"
        )),
        Condition::Full(None) => {
            Some("the log of changes is full; updates get SERVFAIL, zones are served as they were".to_owned())
        }
    }
}

impl Changer {
    /// Says how the log is.
    pub(super) fn tell_log(&self) {
        let (state, waiting, status) = match &self.log {
            Log::Open(open) => {
                let (condition, waiting) = open.committer.condition();
                let state = problem(&condition).map_or(State::Ready, State::Refused);
                (state, waiting, Some(open.committer.status()))
            }
            Log::Read(_) => (State::NotBegun, 0, None),
            Log::Closed => {
                let refused = self.trouble.as_ref().map(|(trouble, _)| {
                    State::Refused(format!("{trouble}; no zone is updated until that is mended"))
                });
                (refused.unwrap_or(State::Held), 0, None)
            }
        };
        let mut known = self.controller.dynamic.outline.0.lock();
        *known = Known { state, waiting, status, writing: None };
    }
}

impl Dynamic {
    /// How the log of changes is.
    pub(crate) fn changes_log(&self) -> ChangesLog {
        let problem = self.log_problem();
        let known = self.outline.0.lock();
        let state = match &known.state {
            State::NotBegun => "not begun",
            State::Ready => "ready",
            State::Held => "held",
            State::Refused(_) => "refuses changes",
        };
        let told = ChangesLog {
            state: state.to_owned(),
            problem,
            waiting: known.waiting as u64,
            writing_seconds: known.writing.map_or(0, |since| since.elapsed().as_secs()),
            ..ChangesLog::default()
        };
        let Some(status) = &known.status else { return told };
        let mean = status.time.checked_div(u32::try_from(status.groups).unwrap_or(u32::MAX));
        ChangesLog {
            segments: status.segments_used as u64,
            segments_max: status.segments_max as u64,
            groups: status.groups,
            records: status.records,
            octets: status.octets,
            write_us: mean.unwrap_or_default().as_micros() as u64,
            write_us_max: status.time_max.as_micros() as u64,
            ..told
        }
    }

    /// What is wrong with it, as a line.
    pub(crate) fn log_problem(&self) -> Option<String> {
        let known = self.outline.0.lock();
        if let State::Refused(why) = &known.state {
            return Some(why.clone());
        }
        let waited = known.writing.map(|since| since.elapsed()).filter(|waited| *waited >= HANGS)?;
        let seconds = waited.as_secs();
        Some(format!("the log of changes has waited for the disk for {seconds} s; updates wait for it too"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_hangs_is_something_wrong() {
        let dynamic = Dynamic::new();
        let changes = |dynamic: &Dynamic| (dynamic.changes_log().state, dynamic.log_problem());
        assert_eq!(changes(&dynamic), ("not begun".to_owned(), None));
        dynamic.outline.0.lock().state = State::Ready;
        let writing = dynamic.outline.writing();
        assert_eq!(changes(&dynamic), ("ready".to_owned(), None), "it has just begun");
        dynamic.outline.0.lock().writing = Instant::now().checked_sub(HANGS + Duration::from_secs(1));
        assert_eq!(dynamic.changes_log().writing_seconds, 6);
        let problem = dynamic.log_problem().unwrap_or_default();
        assert!(problem.starts_with("the log of changes has waited for the disk for 6 s"), "{problem}");
        drop(writing);
        assert_eq!(changes(&dynamic), ("ready".to_owned(), None));
        let full = problem_of_full();
        dynamic.outline.0.lock().state = State::Refused(full.clone());
        assert_eq!(changes(&dynamic), ("refuses changes".to_owned(), Some(full)));
    }

    fn problem_of_full() -> String {
        assert_eq!(problem(&Condition::Ready), None);
        problem(&Condition::Full(None)).unwrap_or_default()
    }
}
