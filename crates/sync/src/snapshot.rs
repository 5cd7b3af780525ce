//! One value of a domain of its own, with readers that know it: a [`Cell`] and its [`Domain`] for where nothing else is
//! published. Who replaces the value collects, too.

use crate::{
    Cell, Domain,
    epoch::{self, Collected},
};
use std::sync::Arc;

/// A shared value; see the module. `Published` is the writers' side, [`Published::reader`] makes the others.
pub struct Published<T: Send + Sync + 'static> {
    cell: Arc<Cell<T>>,
}

/// One reader, owned by one thread.
pub struct Reader<T: Send + Sync + 'static> {
    cell: Arc<Cell<T>>,
    reader: epoch::Reader,
}

impl<T: Send + Sync + 'static> Published<T> {
    /// Publishes the first value.
    pub fn new(value: Arc<T>) -> Published<T> {
        Published { cell: Arc::new(Cell::new(&Domain::new(), value)) }
    }

    /// A new reader, to be moved to its thread.
    pub fn reader(&self) -> Reader<T> {
        Reader { cell: Arc::clone(&self.cell), reader: self.cell.domain().reader() }
    }

    /// The present value, kept alive for the caller. Takes a lock: not for the query path.
    pub fn current(&self) -> Arc<T> {
        self.cell.current()
    }

    /// Publishes `value`. Batches that begin after this returns see it; the old one is freed by this call
    /// or a later one of [`Published::reclaim`], when no batch uses it any more. Never waits for readers.
    pub fn replace(&self, value: Arc<T>) {
        self.cell.replace(value, size_of::<T>());
        self.reclaim();
    }

    /// Frees replaced values that no batch uses any more; returns how many are left.
    pub fn reclaim(&self) -> usize {
        let Collected { left, .. } = self.cell.domain().collect();
        left
    }
}

impl<T: Send + Sync + 'static> Reader<T> {
    /// Begins a batch. One that was not ended (its thread panicked and went on) is ended first.
    #[inline]
    pub fn begin(&mut self) {
        self.reader.begin();
    }

    /// The value, at least as new as when the batch began; `None` between batches.
    #[inline]
    pub fn value(&self) -> Option<&T> {
        Some(self.cell.load(&self.reader.guard()?))
    }

    /// Ends the batch: its value may be freed.
    #[inline]
    pub fn end(&mut self) {
        self.reader.end();
    }
}
