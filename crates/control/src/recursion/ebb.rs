//! What a flood of questions took of memory goes back to the system when it is over.
//!
//! ```text
//! worker: many tasks, then few -> ebbed -> is a thread waiting? no: one more, which waits a second, and has the allocator give back what is free
//! ```
//!
//! A worker never does that itself: it takes milliseconds. Those whose floods end within a second share one thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::system::trim_memory;

/// How long is waited, for the other workers and for what still ends.
const PAUSE: Duration = Duration::from_secs(1);

/// Whether a thread is waiting.
#[derive(Debug, Default)]
pub(super) struct Ebb {
    is_waiting: Arc<AtomicBool>,
}

impl Ebb {
    /// A flood is over at some worker.
    #[cold]
    pub(super) fn ebbed(&self) {
        if self.is_waiting.swap(true, Ordering::AcqRel) {
            return;
        }
        let is_waiting = Arc::clone(&self.is_waiting);
        let give_back = move || {
            std::thread::sleep(PAUSE);
            is_waiting.store(false, Ordering::Release);
            trim_memory();
        };
        // Without a thread it stays as it is until the next flood.
        if std::thread::Builder::new().name("memory".into()).spawn(give_back).is_err() {
            self.is_waiting.store(false, Ordering::Release);
        }
    }
}
