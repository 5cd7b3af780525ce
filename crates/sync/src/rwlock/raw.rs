//! The lock without what it protects: three atomics, of which only two kinds of change are asked, add and
//! compare-and-swap.
//!
//! ```text
//! write_requests      tickets given to writers; each takes the next one
//! write_completions   tickets that are done: the writer whose number this is may begin
//! cnt_and_flag        readers (31 bits, from bit 1) | a writer is active (bit 0)
//! ```
//!
//! A *writer* takes a ticket, waits until all before it are done, then until `cnt_and_flag` is 0, and makes it 1.
//! A *reader* waits while a writer waits or is active (requests and completions differ), then adds itself to
//! `cnt_and_flag`; from then on no writer can begin, and once the flag is clear it has the lock.
//!
//! Writers come first, but not for ever: after `quota` writers in a row, the last of them *admits* all readers that
//! wait: it adds them to `cnt_and_flag` itself, before it clears the flag. A reader thus waits for `quota` writers
//! that begin after it came, and for one more that was about to begin, however slowly it wakes up. Readers that wait
//! are counted in `waiting`, in one word with the number of the admission that they wait for:
//!
//! ```text
//! waiting             admissions so far (32 bits) | readers that wait for the next one (32 bits)
//! ```
//!
//! Source: Jinmei and Vixie, "Implementation and Evaluation of Moderate Parallelism in the BIND9 DNS Server" (USENIX
//! 2006), section 4.3, after Mellor-Crummey and Scott (1991). The admission is ours: in the paper readers are only
//! woken, and may find the next writer active.

use crate::{
    event::Event,
    primitives::{AtomicU32, AtomicU64, Duty, Ordering, Step, is_left_out, ordered},
};

const WRITER: u32 = 1;
const READER: u32 = 2;
/// Readers beyond which the process ends: guards that are forgotten again and again would else overflow the count, and
/// a writer begin beside readers.
const READERS_MAX: u32 = 1 << 30;
/// Of `waiting`: the readers.
const READERS: u64 = u32::MAX as u64;

/// Writers in a row before readers have their turn, as in BIND 9.4.
pub const QUOTA: u32 = 4;

/// See the module.
pub struct Raw<E> {
    write_requests: AtomicU32,
    write_completions: AtomicU32,
    cnt_and_flag: AtomicU32,
    /// Writers that began since a reader had the lock. Written by whoever holds the lock.
    granted: AtomicU32,
    waiting: AtomicU64,
    quota: u32,
    readable: E,
    writeable: E,
}

impl<E: Event> Raw<E> {
    /// Unlocked. `quota`: writers in a row before readers have their turn, at least 1.
    pub fn new(quota: u32) -> Raw<E> {
        Raw {
            write_requests: AtomicU32::new(0),
            write_completions: AtomicU32::new(0),
            cnt_and_flag: AtomicU32::new(0),
            granted: AtomicU32::new(0),
            waiting: AtomicU64::new(0),
            quota: quota.max(1),
            readable: E::new(),
            writeable: E::new(),
        }
    }

    /// Locks for reading.
    #[inline]
    pub fn read(&self) {
        if !self.is_writer_there() || !self.wait_for_admission() {
            self.add_reader();
        }
        self.readable.wait_while(|| self.cnt_and_flag.load(Ordering::SeqCst) & WRITER != 0);
        self.begin_turn_of_readers();
    }

    /// Locks for reading if no writer waits or is active.
    #[inline]
    pub fn try_read(&self) -> bool {
        if self.is_writer_there() {
            return false;
        }
        if self.add_reader() & WRITER != 0 {
            self.read_unlock();
            return false;
        }
        self.begin_turn_of_readers();
        true
    }

    /// Ends a reader.
    #[inline]
    pub fn read_unlock(&self) {
        let before = self.cnt_and_flag.fetch_sub(READER, Ordering::SeqCst);
        if before == READER {
            ordered(Step::ReaderLeft);
            if self.is_writer_there() {
                self.writeable.wake_all();
            }
        }
    }

    /// Locks for writing, after all writers that asked before.
    #[inline]
    pub fn write(&self) {
        let ticket = self.write_requests.fetch_add(1, Ordering::SeqCst);
        if !is_left_out(Duty::WaitForTurn) {
            self.writeable.wait_while(|| self.write_completions.load(Ordering::SeqCst) != ticket);
        }
        self.writeable.wait_while(|| !self.begin_writer(0));
        self.count_writer();
    }

    /// Locks for writing if nobody has the lock, before writers that wait.
    #[inline]
    pub fn try_write(&self) -> bool {
        self.begin_writer(0) && self.take_turn_of_writer()
    }

    /// Makes the only reader a writer, before writers that wait; a reader that is not alone stays one.
    #[inline]
    pub fn try_upgrade(&self) -> bool {
        self.begin_writer(READER) && self.take_turn_of_writer()
    }

    /// Ends a writer.
    #[inline]
    pub fn write_unlock(&self) {
        let is_last = self.write_requests.load(Ordering::SeqCst)
            == self.write_completions.load(Ordering::SeqCst).wrapping_add(1);
        let is_due = is_last || self.granted.load(Ordering::Relaxed) >= self.quota;
        if is_due && !is_left_out(Duty::Admit) {
            self.admit();
        }
        self.cnt_and_flag.fetch_sub(WRITER, Ordering::SeqCst);
        self.write_completions.fetch_add(1, Ordering::SeqCst);
        ordered(Step::WriterLeft);
        if self.is_writer_there() {
            self.writeable.wake_all();
        } else if self.has_waiting_readers() && !is_left_out(Duty::AdmitLate) {
            // They came since we looked, and no writer is there to admit them.
            self.admit_late();
        }
        self.readable.wake_all();
    }

    /// Makes a writer a reader; all readers that wait have the lock with it.
    #[inline]
    pub fn downgrade(&self) {
        self.admit();
        self.begin_turn_of_readers();
        self.cnt_and_flag.fetch_add(READER - WRITER, Ordering::SeqCst);
        self.write_completions.fetch_add(1, Ordering::SeqCst);
        ordered(Step::WriterLeft);
        if !self.is_writer_there() {
            self.admit();
        }
        self.readable.wake_all();
    }

    /// Writers that asked so far, writers that are done, readers that wait to be admitted.
    pub fn counts(&self) -> (u32, u32, u32) {
        let readers = (self.waiting.load(Ordering::SeqCst) & READERS) as u32;
        (self.write_requests.load(Ordering::SeqCst), self.write_completions.load(Ordering::SeqCst), readers)
    }

    /// Whether a writer waits or is active.
    #[inline]
    fn is_writer_there(&self) -> bool {
        self.write_requests.load(Ordering::SeqCst) != self.write_completions.load(Ordering::SeqCst)
    }

    #[inline]
    fn has_waiting_readers(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) & READERS != 0
    }

    /// Adds a reader; returns `cnt_and_flag` from before.
    #[inline]
    fn add_reader(&self) -> u32 {
        let before = self.cnt_and_flag.fetch_add(READER, Ordering::SeqCst);
        if before / READER >= READERS_MAX {
            std::process::abort();
        }
        before
    }

    /// Has a reader wait until it is admitted, or until no writer is there. Returns whether it was admitted: then it
    /// is counted already.
    #[cold]
    fn wait_for_admission(&self) -> bool {
        let admissions = self.waiting.fetch_add(1, Ordering::SeqCst) >> 32;
        ordered(Step::ReaderWaits);
        if !self.is_writer_there() && self.stop_waiting(admissions) {
            return false;
        }
        self.readable.wait_while(|| self.waiting.load(Ordering::SeqCst) >> 32 == admissions);
        true
    }

    /// Takes a reader out of those that wait; false where it was admitted meanwhile.
    fn stop_waiting(&self, admissions: u64) -> bool {
        let mut waiting = self.waiting.load(Ordering::SeqCst);
        while waiting >> 32 == admissions {
            match self.waiting.compare_exchange(waiting, waiting - 1, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => return true,
                Err(now) => waiting = now,
            }
        }
        false
    }

    /// Admits all readers that wait. The caller holds the lock, for reading or writing: so `cnt_and_flag` does not
    /// become 0 while they are added, though the first of them may be gone before the caller is.
    fn admit(&self) {
        let mut waiting = self.waiting.load(Ordering::SeqCst);
        let mut added: u32 = 0;
        loop {
            let count = (waiting & READERS) as u32;
            if count != added {
                // They are counted before they are told. There may be fewer than last time.
                let more = count.wrapping_sub(added).wrapping_mul(READER);
                self.cnt_and_flag.fetch_add(more, Ordering::SeqCst);
                added = count;
            }
            let next = (waiting >> 32).wrapping_add(1) << 32;
            if count == 0 {
                return;
            }
            match self.waiting.compare_exchange(waiting, next, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => return,
                Err(now) => waiting = now,
            }
        }
    }

    /// Admits readers after the lock was released, as a reader; where a writer has begun meanwhile, it will see to them.
    #[cold]
    fn admit_late(&self) {
        if self.add_reader() & WRITER == 0 {
            self.admit();
        }
        self.read_unlock();
    }

    #[inline]
    fn begin_writer(&self, from: u32) -> bool {
        self.cnt_and_flag.compare_exchange(from, WRITER, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// A writer without a ticket takes the place of the one whose turn it is: the paper's way to jump the queue.
    #[inline]
    fn take_turn_of_writer(&self) -> bool {
        self.write_completions.fetch_sub(1, Ordering::SeqCst);
        self.count_writer();
        true
    }

    #[inline]
    fn count_writer(&self) {
        if is_left_out(Duty::CountWriter) {
            return;
        }
        let granted = self.granted.load(Ordering::Relaxed);
        self.granted.store(granted.saturating_add(1), Ordering::Relaxed);
    }

    #[inline]
    fn begin_turn_of_readers(&self) {
        // Readers share the line: it is written only where that changes something.
        if self.granted.load(Ordering::Relaxed) != 0 {
            self.granted.store(0, Ordering::Relaxed);
        }
    }
}
