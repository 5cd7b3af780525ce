//! The lock profiler: for each lock, where it was made and where it is taken, how often, for how long, and how long
//! threads waited for it.
//!
//! Off, as it is at first, it costs each acquisition one look at a flag. On, each thread counts in a table of its own,
//! so that the profiler is not itself what threads wait for; [`report`] adds the tables up at any time, and [`AtExit`]
//! at the end.
//!
//! A lock is known by the line that made it and a name, such as `zone data`: ten thousand locks of the same line are
//! one. A line that takes a lock which a function of its own took for it (`#[track_caller]`) is the line of the caller.
//!
//! Source: Jinmei and Vixie (USENIX 2006), section 3; `ISC_MUTEX_PROFILE` of BIND 9.

mod report;

use std::{
    cell::Cell,
    collections::HashMap,
    io::Write,
    panic::Location,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

pub use report::{Cause, Lock, Locker, Report, Summary};

static ON: AtomicBool = AtomicBool::new(false);

/// Turns the profiler on or off. What was taken before is not counted, or not to its end.
pub fn set(on: bool) {
    ON.store(on, Ordering::Relaxed);
}

/// Whether it is on.
#[inline(always)]
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// What was counted since the program began, or since [`clear`].
pub fn report() -> Report {
    let mut all = tables().ended.clone();
    let running = tables().running.clone();
    for table in running {
        add(&mut all, &table.lock().unwrap_or_else(PoisonError::into_inner));
    }
    Report::of(&all)
}

/// Begins to count anew.
pub fn clear() {
    let mut tables = tables();
    tables.ended.clear();
    tables.running.iter().for_each(|table| table.lock().unwrap_or_else(PoisonError::into_inner).clear());
}

/// What this thread has waited for locks while the profiler was on, for the difference between two moments: the time
/// that a query spent waiting, for instance. [`clear`] leaves it as it is. Costs one load from the thread's own memory.
#[inline]
pub fn waited_here() -> Duration {
    Duration::from_nanos(WAITED_NS.get())
}

/// Writes the report when it is dropped, at the end of `main`.
pub struct AtExit<W: Write>(pub W);

impl<W: Write> Drop for AtExit<W> {
    fn drop(&mut self) {
        if is_on() {
            // A program that ends can do nothing about a place that takes no more.
            let _ = write!(self.0, "{}", report());
        }
    }
}

/// Where a lock was made, and what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    pub(crate) name: &'static str,
    pub(crate) made: &'static Location<'static>,
}

impl Origin {
    /// At the caller's line.
    #[track_caller]
    pub(crate) fn here(name: &'static str) -> Origin {
        Origin { name, made: Location::caller() }
    }
}

/// One line that takes locks of one origin.
type Key = (Origin, &'static Location<'static>);
type Table = HashMap<Key, Sum>;

/// What a line did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    count: u64,
    held: Duration,
    waited: Duration,
}

/// The beginning of an acquisition; nothing where the profiler is off.
#[derive(Clone, Copy)]
pub(crate) struct Began(Option<Instant>);

/// A lock that is held; nothing where the profiler was off.
#[derive(Default)]
pub(crate) struct Held(Option<Since>);

struct Since {
    at: &'static Location<'static>,
    waited: Duration,
    since: Instant,
}

/// What is counted once the lock is released.
pub(crate) struct Done(Option<(&'static Location<'static>, Sum)>);

impl Began {
    #[inline(always)]
    pub(crate) fn now() -> Began {
        Began(is_on().then(Instant::now))
    }

    /// The lock is had.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn held(self) -> Held {
        let at = Location::caller();
        Held(self.0.map(|began| {
            let since = Instant::now();
            let waited = since - began;
            WAITED_NS.set(WAITED_NS.get().saturating_add(waited.as_nanos() as u64));
            Since { at, waited, since }
        }))
    }
}

impl Held {
    /// Stops the clock; to be counted with [`Done::count`] when the lock is free, so that nobody waits for that.
    #[inline(always)]
    pub(crate) fn done(&mut self) -> Done {
        Done(
            self.0
                .take()
                .map(|Since { at, waited, since }| (at, Sum { count: 1, held: since.elapsed(), waited })),
        )
    }

    /// Counts it and goes on as another acquisition by the same line, without a wait.
    #[inline(always)]
    pub(crate) fn again(&mut self, origin: Origin) -> Held {
        let at = self.0.as_ref().map(|held| held.at);
        self.done().count(origin);
        Held(at.map(|at| Since { at, waited: Duration::ZERO, since: Instant::now() }))
    }
}

impl Done {
    #[inline(always)]
    pub(crate) fn count(self, origin: Origin) {
        if let Some((at, sum)) = self.0 {
            count(origin, at, sum);
        }
    }
}

#[cold]
fn count(origin: Origin, at: &'static Location<'static>, sum: Sum) {
    // A lock that is released while its thread ends, after its table was, is not counted.
    let _ = OWN.try_with(|own| {
        own.0.lock().unwrap_or_else(PoisonError::into_inner).entry((origin, at)).or_default().add(sum);
    });
}

impl Sum {
    fn add(&mut self, other: Sum) {
        self.count += other.count;
        self.held += other.held;
        self.waited += other.waited;
    }
}

/// Tables of all threads.
struct Tables {
    running: Vec<Arc<Mutex<Table>>>,
    /// Of threads that are no more.
    ended: Table,
}

static TABLES: std::sync::LazyLock<Mutex<Tables>> =
    std::sync::LazyLock::new(|| Mutex::new(Tables { running: Vec::new(), ended: Table::new() }));

fn tables() -> std::sync::MutexGuard<'static, Tables> {
    TABLES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The table of a thread, which no other touches but for a report.
struct Own(Arc<Mutex<Table>>);

std::thread_local! {
    static OWN: Own = Own::new();
    /// See [`waited_here`].
    static WAITED_NS: Cell<u64> = const { Cell::new(0) };
}

impl Own {
    fn new() -> Own {
        let table = Arc::default();
        tables().running.push(Arc::clone(&table));
        Own(table)
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let mut tables = tables();
        tables.running.retain(|table| !Arc::ptr_eq(table, &self.0));
        add(&mut tables.ended, &self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn add(all: &mut Table, more: &Table) {
    for (key, sum) in more {
        all.entry(*key).or_default().add(*sum);
    }
}

#[cfg(test)]
mod tests;
