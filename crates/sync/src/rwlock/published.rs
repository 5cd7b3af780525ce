//! The reader-writer lock as it was published, to be compared with ours ([`Raw`](super::Raw)): the same three atomics, and one mutex
//! with two conditions for all who wait.
//!
//! | | published | ours |
//! |---|---|---|
//! | who has to wait | sleeps at once | looks again for about a microsecond, then sleeps |
//! | sleeping | a mutex and a condition | a futex of its own for readers and for writers |
//! | after `quota` writers | readers are woken and count themselves: a writer that is faster has its turn before them | the writer counts them before it leaves |
//!
//! What is the paper's and what experiments do not need is left out: ways without waiting, readers that become writers and back.
//!
//! Source: Jinmei and Vixie (USENIX 2006), 4.3. What it leaves open is as simple as can be: conditions wake all.

use std::sync::PoisonError;

use super::Exclusion;
use crate::primitives::{AtomicU32, Condvar, Mutex, MutexGuard, Ordering, Step, ordered};

const WRITER: u32 = 1;
const READER: u32 = 2;
/// See the same of [`Raw`](super::Raw).
const READERS_MAX: u32 = 1 << 30;

/// See the module.
pub struct Published {
    write_requests: AtomicU32,
    write_completions: AtomicU32,
    cnt_and_flag: AtomicU32,
    /// Writers that began since a reader had the lock. Written by whoever holds the lock.
    granted: AtomicU32,
    quota: u32,
    sleepers: Mutex<Sleepers>,
    readable: Condvar,
    writeable: Condvar,
}

/// Who waits, under the mutex.
#[derive(Default)]
struct Sleepers {
    readers: u32,
    /// How often readers were woken: who waits for its turn goes on with the next.
    turns: u32,
}

impl Published {
    /// Whether a writer waits or is active.
    #[inline]
    fn is_writer_there(&self) -> bool {
        self.write_requests.load(Ordering::SeqCst) != self.write_completions.load(Ordering::SeqCst)
    }

    #[inline]
    fn is_written(&self) -> bool {
        self.cnt_and_flag.load(Ordering::SeqCst) & WRITER != 0
    }

    fn sleepers(&self) -> MutexGuard<'_, Sleepers> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a reader sleep while `is_early`, which is told whether readers were woken since.
    #[cold]
    fn sleep_reader(&self, is_early: impl Fn(bool) -> bool) {
        let mut sleepers = self.sleepers();
        let turn = sleepers.turns;
        sleepers.readers += 1;
        ordered(Step::Sleeps);
        while is_early(sleepers.turns != turn) {
            sleepers = self.readable.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
        }
        sleepers.readers -= 1;
    }

    /// Has a writer sleep while `is_early`.
    #[cold]
    fn sleep_writer(&self, is_early: impl Fn() -> bool) {
        let mut sleepers = self.sleepers();
        ordered(Step::Sleeps);
        while is_early() {
            sleepers = self.writeable.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Wakes the readers that sleep; returns whether there were any.
    fn wake_readers(&self) -> bool {
        let mut sleepers = self.sleepers();
        sleepers.turns = sleepers.turns.wrapping_add(1);
        let are_there = sleepers.readers > 0;
        drop(sleepers);
        self.readable.notify_all();
        are_there
    }

    /// Wakes all writers, as only they know whose turn it is.
    fn wake_writers(&self) {
        // Who has looked but does not sleep yet holds the mutex.
        drop(self.sleepers());
        self.writeable.notify_all();
    }

    #[inline]
    fn begin_writer(&self) -> bool {
        self.cnt_and_flag.compare_exchange(0, WRITER, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

impl Exclusion for Published {
    fn new(quota: u32) -> Published {
        Published {
            write_requests: AtomicU32::new(0),
            write_completions: AtomicU32::new(0),
            cnt_and_flag: AtomicU32::new(0),
            granted: AtomicU32::new(0),
            quota: quota.max(1),
            sleepers: Mutex::new(Sleepers::default()),
            readable: Condvar::new(),
            writeable: Condvar::new(),
        }
    }

    #[inline]
    fn read(&self) {
        if self.is_writer_there() {
            self.sleep_reader(|is_woken| !is_woken && self.is_writer_there());
        }
        let before = self.cnt_and_flag.fetch_add(READER, Ordering::SeqCst);
        if before / READER >= READERS_MAX {
            std::process::abort();
        }
        // A writer was faster. No other can begin from now on.
        if before & WRITER != 0 {
            self.sleep_reader(|_| self.is_written());
        }
        // Readers share the line: it is written only where that changes something.
        if self.granted.load(Ordering::Relaxed) != 0 {
            self.granted.store(0, Ordering::Relaxed);
        }
    }

    #[inline]
    fn read_unlock(&self) {
        let before = self.cnt_and_flag.fetch_sub(READER, Ordering::SeqCst);
        if before == READER {
            ordered(Step::ReaderLeft);
            if self.is_writer_there() {
                self.wake_writers();
            }
        }
    }

    #[inline]
    fn write(&self) {
        let ticket = self.write_requests.fetch_add(1, Ordering::SeqCst);
        let is_before = || self.write_completions.load(Ordering::SeqCst) != ticket;
        if is_before() {
            self.sleep_writer(is_before);
        }
        if !self.begin_writer() {
            self.sleep_writer(|| !self.begin_writer());
        }
        let granted = self.granted.load(Ordering::Relaxed);
        self.granted.store(granted.saturating_add(1), Ordering::Relaxed);
    }

    #[inline]
    fn write_unlock(&self) {
        let is_turn_over = self.granted.load(Ordering::Relaxed) >= self.quota;
        let readers = self.cnt_and_flag.fetch_sub(WRITER, Ordering::SeqCst) / READER;
        self.write_completions.fetch_add(1, Ordering::SeqCst);
        ordered(Step::WriterLeft);
        let is_last = !self.is_writer_there();
        let are_readers_next = (is_turn_over || is_last || readers > 0) && self.wake_readers();
        // The last of those readers wakes the writers.
        if !are_readers_next && self.is_writer_there() {
            self.wake_writers();
        }
    }
}
