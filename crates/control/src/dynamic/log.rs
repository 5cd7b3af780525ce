//! The log as the changer has it: begun with the first change, closed while another server may take over.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use journal::commit::Condition;
use journal::{Committer, Recovery};

use super::changer::{Changer, wall};
use super::checkpoint::Floor;
use super::group::{Events, Payload};
use super::outline::problem;
use super::update::Said;
use crate::repeated::REPEAT_PAUSE;

/// The log: not written to before the first change, as most servers have none.
pub(super) enum Log {
    /// As it was found.
    Read(Box<(Recovery, Floor)>),
    /// Another server could have it, or it could not be begun: it is to be read again.
    Closed,
    /// Begun.
    Open(Box<Open>),
}

pub(super) struct Open {
    pub(super) committer: Committer<Payload>,
    pub(super) events: Events,
    pub(super) floor: Floor,
    _preparer: journal::log::Preparer,
}

/// How long it is not tried to begin the log after that failed: what is tried reads all of it.
const TROUBLE_PAUSE: Duration = Duration::from_secs(1);

impl Changer {
    /// Closes the log if that is asked for, once nothing waits for it and all that was written is decided.
    pub(super) fn hold(&mut self) {
        let dynamic = &self.controller.dynamic;
        if dynamic.is_held.load(Ordering::SeqCst)
            && let Log::Open(open) = &self.log
            && open.committer.condition() == (Condition::Ready, 0)
        {
            self.log = Log::Closed;
            // Who takes over reads it.
            let _ = self.controller.historian.flush();
            // What was said for it may be another server's to say.
            self.checkpoint = None;
            dynamic.is_open.store(false, Ordering::SeqCst);
        }
    }

    /// Makes sure that the log can be written.
    pub(super) fn open_log(&mut self) -> Result<(), Said> {
        if !matches!(self.log, Log::Open(_)) {
            let is_open = |is_open| self.controller.dynamic.is_open.store(is_open, Ordering::SeqCst);
            // Before it is looked whether somebody holds it, who looks at this when he does.
            is_open(true);
            let opened = self.may_be_opened().then(|| self.begin_log());
            match opened {
                Some(Ok(())) if self.trouble.take().is_some() && self.condition == Condition::Ready => {
                    tracing::info!("the log of changes can be written again; zones are updated");
                }
                Some(Ok(())) => {}
                Some(Err(trouble)) => self.say_trouble(trouble),
                None => {}
            }
            if !matches!(self.log, Log::Open(_)) {
                self.controller.dynamic.is_open.store(false, Ordering::SeqCst);
            }
        }
        match (&self.log, &self.condition) {
            (Log::Open(_), Condition::Ready) if !self.is_held() => Ok(()),
            _ => Err(Said::not_now()),
        }
    }

    fn is_held(&self) -> bool {
        self.controller.dynamic.is_held.load(Ordering::SeqCst) || self.controller.is_held()
    }

    /// Whether nobody holds it, and it was not tried in vain just now.
    fn may_be_opened(&self) -> bool {
        !self.is_held() && self.trouble.as_ref().is_none_or(|(_, at)| at.elapsed() > TROUBLE_PAUSE)
    }

    fn say_trouble(&mut self, trouble: String) {
        if self.trouble.as_ref().is_none_or(|(before, _)| *before != trouble) {
            tracing::error!(error = trouble, "{trouble}; no zone is updated until that is mended");
        }
        self.trouble = Some((trouble, Instant::now()));
    }

    /// Begins to write the log, as it was found or once it is read again.
    fn begin_log(&mut self) -> Result<(), String> {
        let (recovery, mut floor) = match std::mem::replace(&mut self.log, Log::Closed) {
            Log::Read(found) => *found,
            _ => {
                let found = super::recover::read(&self.controller)?;
                let found = found.ok_or("the log of changes has no folder")?;
                // What another server may have written is looked at again; nothing of ours is missing there.
                self.controller.historian.begin(&self.controller, &found.0);
                found
            }
        };
        let (is_first, first) = (floor.content().is_none(), recovery.next());
        let mut log = recovery.begin();
        // Where that fails the condition says so, and it is tried again.
        let _ = log.decide();
        if is_first {
            floor
                .raise(log.identity(), first, &log.status(), wall())
                .map_err(|error| format!("the log of changes cannot be begun: {error}"))?;
        }
        self.controller.historian.log_begins(&log.identity());
        let preparer = log.start_preparer(|| {});
        let preparer = preparer
            .map_err(|error| format!("a thread for the log of changes cannot be started: {error}"))?;
        let events = Events::new();
        let committer = Committer::new(log, Box::new(events.clone()));
        self.condition = committer.condition().0;
        self.log = Log::Open(Box::new(Open { committer, events, floor, _preparer: preparer }));
        Ok(())
    }

    /// Says how the log is: at once where that is another condition, and once a while as long as it lasts, as it is looked each second.
    pub(super) fn note(&mut self, condition: Condition) {
        let is_due = |at: Instant| at.elapsed() >= REPEAT_PAUSE;
        if condition == self.condition && !self.said.is_none_or(is_due) {
            return;
        }
        self.said = Some(Instant::now());
        match (&condition, problem(&condition)) {
            (_, None) => tracing::info!("the log of changes can be written again; zones are updated"),
            (Condition::Undecided(error) | Condition::Full(Some(error)), Some(problem)) => {
                tracing::error!(error, "{problem}");
            }
            (_, Some(problem)) => tracing::error!("{problem}"),
        }
        self.condition = condition;
    }
}
