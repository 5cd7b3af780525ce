//! The lock profiler: for each lock, where it was made and where it is taken, how often, for how long, and how long
//! threads waited for it.
//!
//! Off, as it is at first, it costs each acquisition one look at a flag. On, each thread counts in a table of its own,
//! so that the profiler is not itself what threads wait for; [`report`] adds the tables up at any time, and [`AtExit`]
//! at the end.
//!
//! Waiting is what an acquisition takes beyond that of a lock which nobody has, two looks at the clock included: that is
//! measured each time the profiler is turned on.
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
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

pub use report::{Cause, Lock, Locker, Report, Summary};

static ON: AtomicBool = AtomicBool::new(false);
/// What it takes to get a lock that nobody has, with two looks at the clock. No waiting.
static FREE_NS: AtomicU64 = AtomicU64::new(0);
/// Acquisitions that [`FREE_NS`] is the median of: some microseconds.
const SAMPLES: usize = 201;

/// Turns the profiler on or off. What was taken before is not counted, or not to its end.
pub fn set(on: bool) {
    if on && !is_on() {
        FREE_NS.store(free_ns(), Ordering::Relaxed);
    }
    tables().clock.set(on);
    ON.store(on, Ordering::Relaxed);
}

/// What of the time that an acquisition took was waiting.
fn beyond(taken: Duration, free_ns: u64) -> Duration {
    taken.saturating_sub(Duration::from_nanos(free_ns))
}

fn free_ns() -> u64 {
    let lock = Mutex::new(());
    let mut samples: Vec<u64> = (0..SAMPLES)
        .map(|_| {
            let began = Instant::now();
            let held = lock.lock().unwrap_or_else(PoisonError::into_inner);
            let taken = began.elapsed();
            drop(held);
            taken.as_nanos() as u64
        })
        .collect();
    samples.sort_unstable();
    samples[SAMPLES / 2]
}

/// Whether it is on.
#[inline(always)]
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// For how long it was on since the program began, or since [`clear`].
pub fn on_for() -> Duration {
    tables().clock.time()
}

/// Whose acquisitions a report is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// All threads.
    All,
    /// Those that said [`begin_worker`].
    Workers,
}

/// Makes this thread a worker: one whose waiting keeps work from being done.
pub fn begin_worker() {
    OWN.with(|own| own.0.is_worker.store(true, Ordering::Relaxed));
}

/// What was counted since the program began, or since [`clear`].
pub fn report() -> Report {
    report_of(Threads::All)
}

/// The same of some threads.
pub fn report_of(threads: Threads) -> Report {
    let (mut all, running) = {
        let tables = tables();
        let mut ended = tables.ended_workers.clone();
        if threads == Threads::All {
            add(&mut ended, &tables.ended);
        }
        (ended, tables.running.clone())
    };
    let is_wanted = |table: &&Arc<Counted>| threads == Threads::All || table.is_worker();
    running.iter().filter(is_wanted).for_each(|table| add(&mut all, &table.lock()));
    Report::of(&all)
}

/// Begins to count anew.
pub fn clear() {
    let mut tables = tables();
    tables.ended.clear();
    tables.ended_workers.clear();
    tables.clock.clear();
    tables.running.iter().for_each(|table| table.lock().clear());
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
            let waited = beyond(since - began, FREE_NS.load(Ordering::Relaxed));
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
        own.0.lock().entry((origin, at)).or_default().add(sum);
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
#[derive(Default)]
struct Tables {
    running: Vec<Arc<Counted>>,
    /// Of threads that are no more and were no workers.
    ended: Table,
    /// Of workers that are no more.
    ended_workers: Table,
    clock: Clock,
}

static TABLES: std::sync::LazyLock<Mutex<Tables>> = std::sync::LazyLock::new(Mutex::default);

fn tables() -> MutexGuard<'static, Tables> {
    TABLES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a thread did. No other touches it but for a report.
#[derive(Default)]
struct Counted {
    is_worker: AtomicBool,
    sums: Mutex<Table>,
}

impl Counted {
    fn is_worker(&self) -> bool {
        self.is_worker.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread's own, which outlives it only until it is added to what all others did.
struct Own(Arc<Counted>);

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
        let ended = if self.0.is_worker() { &mut tables.ended_workers } else { &mut tables.ended };
        add(ended, &self.0.lock());
    }
}

/// How long the profiler was on.
#[derive(Default)]
struct Clock {
    before: Duration,
    since: Option<Instant>,
}

impl Clock {
    fn set(&mut self, on: bool) {
        if on == self.since.is_some() {
            return;
        }
        self.before = self.time();
        self.since = on.then(Instant::now);
    }

    fn time(&self) -> Duration {
        self.before + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn clear(&mut self) {
        self.before = Duration::ZERO;
        self.since = self.since.map(|_| Instant::now());
    }
}

fn add(all: &mut Table, more: &Table) {
    for (key, sum) in more {
        all.entry(*key).or_default().add(*sum);
    }
}

#[cfg(test)]
mod tests;
