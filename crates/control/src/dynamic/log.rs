//! The log as the changer has it: begun with the first change, closed while another server may take over.

use std::sync::atomic::Ordering;

use journal::commit::Condition;
use journal::{Committer, Recovery};

use super::changer::{Changer, wall};
use super::checkpoint::Floor;
use super::group::{Events, Payload};
use super::update::Said;

/// The log: not written to before the first change, as most servers have none.
pub(super) enum Log {
    /// As it was found.
    Read(Option<Box<(Recovery, Floor)>>),
    /// Another server could have it: it is to be read again.
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

impl Changer {
    /// Closes the log if that is asked for, and all that is written is decided.
    pub(super) fn hold(&mut self) {
        let dynamic = &self.controller.dynamic;
        if dynamic.is_held.load(Ordering::SeqCst)
            && matches!(self.log, Log::Open(_))
            && self.condition == Condition::Ready
        {
            self.log = Log::Closed;
            dynamic.is_open.store(false, Ordering::SeqCst);
        }
    }

    /// Makes sure that the log can be written.
    pub(super) fn open_log(&mut self) -> Result<(), Said> {
        if self.controller.dynamic.is_held.load(Ordering::SeqCst) || self.controller.is_held() {
            return Err(Said::not_now());
        }
        if let Log::Closed = self.log {
            match super::recover::read(&self.controller) {
                Ok(found) => self.log = Log::Read(found.map(Box::new)),
                Err(error) => {
                    tracing::error!(error, "{error}; no zone is updated");
                    return Err(Said::not_now());
                }
            }
        }
        if let Log::Read(recovery) = &mut self.log {
            let Some(found) = recovery.take() else { return Err(Said::not_now()) };
            let (recovery, mut floor) = *found;
            let (is_first, first) = (floor.content().is_none(), recovery.next());
            let mut log = recovery.begin();
            // Where that fails the condition says so, and it is tried again.
            let _ = log.decide();
            if is_first && let Err(error) = floor.raise(log.identity(), first, &log.status(), wall()) {
                tracing::error!(%error, "the log of changes cannot be begun: {error}; no zone is updated until the next start");
                return Err(Said::not_now());
            }
            let events = Events::new();
            let preparer = match log.start_preparer(|| {}) {
                Ok(preparer) => preparer,
                Err(error) => {
                    tracing::error!(%error, "a thread for the log of changes cannot be started: {error}; no zone is updated");
                    return Err(Said::not_now());
                }
            };
            let committer = Committer::new(log, Box::new(events.clone()));
            self.condition = committer.condition().0;
            self.log = Log::Open(Box::new(Open { committer, events, floor, _preparer: preparer }));
            self.controller.dynamic.is_open.store(true, Ordering::SeqCst);
        }
        match self.condition {
            Condition::Ready => Ok(()),
            _ => Err(Said::not_now()),
        }
    }

    pub(super) fn note(&mut self, condition: Condition) {
        match &condition {
            Condition::Ready => tracing::info!("the log of changes can be written again; zones are updated"),
            Condition::Undecided(error) | Condition::Full(Some(error)) => {
                tracing::error!(
                    error,
                    "the log of changes cannot be written: {error}; updates get SERVFAIL, zones are served as they were"
                );
            }
            Condition::Full(None) => {
                tracing::error!(
                    "the log of changes is full; updates get SERVFAIL, zones are served as they were"
                );
            }
        }
        self.condition = condition;
    }
}
