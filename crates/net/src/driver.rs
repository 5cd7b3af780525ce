//! The outward side of a worker, as its service sees it.

use std::marker::PhantomData;

use crate::context::Now;

/// What a worker keeps for its service.
pub(crate) struct Core<M> {
    now: Now,
    _message: PhantomData<M>,
}

impl<M> Core<M> {
    pub(crate) fn new() -> Self {
        Self { now: Now::read(), _message: PhantomData }
    }

    /// A turn begins.
    pub(crate) fn begin(&mut self, now: Now) {
        self.now = now;
    }

    pub(crate) fn now(&self) -> Now {
        self.now
    }
}

/// What a service can do beside answering at once. Borrowed for the time of one event.
pub struct Driver<'a, M> {
    core: &'a mut Core<M>,
}

impl<'a, M> Driver<'a, M> {
    pub(crate) fn new(core: &'a mut Core<M>) -> Self {
        Self { core }
    }

    /// The time at which the turn began.
    #[must_use]
    pub fn now(&self) -> Now {
        self.core.now
    }
}
