//! Differences that nobody was told of, and that have to be found: those between versions that came whole.

use std::sync::{Arc, OnceLock};

use sync::Mutex;
use wire::{Name, NameBuf};

use crate::record::Entry;

/// What was found.
pub enum Found {
    /// Both versions are the same: there is no new one.
    Same,
    /// This leads from one to the other.
    Difference(Entry),
    /// Nothing short does, or the versions cannot be told by their serials: the history begins anew.
    Nothing,
}

type Work = Box<dyn FnOnce() -> Found + Send>;

/// A difference that is found later, by who is first to need it or has the time. It has its place among others from the moment on that it is pushed.
pub struct Later {
    zone: NameBuf,
    is_quick: bool,
    /// `None` once it is begun: what it has of the two versions goes with it.
    work: Mutex<Option<Work>>,
    done: OnceLock<Result<Option<Arc<Entry>>, NoWay>>,
}

/// See [`Found::Nothing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoWay;

impl Later {
    /// `is_quick`: it takes so little time that who is asked for it may wait.
    pub fn new(zone: &Name, is_quick: bool, work: impl FnOnce() -> Found + Send + 'static) -> Later {
        let work: Work = Box::new(work);
        let work = Mutex::named("difference to be found", Some(work));
        Later { zone: zone.to_owned(), is_quick, work, done: OnceLock::new() }
    }

    /// The zone.
    pub fn zone(&self) -> &Name {
        &self.zone
    }

    /// Whether somebody may wait for it.
    pub(super) fn is_quick(&self) -> bool {
        self.is_quick
    }

    /// Finds it, unless somebody has; waits while somebody is at it.
    pub fn find(&self) {
        self.done.get_or_init(|| {
            let work = self.work.lock().take();
            match work.map(|work| work()) {
                Some(Found::Same) => Ok(None),
                Some(Found::Difference(entry)) => Ok(Some(Arc::new(entry))),
                Some(Found::Nothing) | None => Err(NoWay),
            }
        });
    }

    /// What was found; `None` before that.
    pub(super) fn found(&self) -> Option<Result<Option<&Arc<Entry>>, NoWay>> {
        self.done.get().map(|done| done.as_ref().map(Option::as_ref).map_err(|no_way| *no_way))
    }
}
