//! The lock profiler: for each lock, where it was made and where it is taken, how often, for how long, and how long
//! threads waited for it.
//!
//! Off, as it is at first, it costs each acquisition one look at a flag. On, each thread counts in a table of its own,
//! so that the profiler is not itself what threads wait for; [`report`] adds the tables up at any time, and [`AtExit`]
//! at the end.
//!
//! Waiting is what an acquisition takes beyond that of a lock which nobody has, two looks at the clock included: that is
//! measured each time the profiler is turned on. So is what one look takes, which is taken off the time that a lock is held.
//!
//! Timing every acquisition makes threads slower, and locks held for longer, so that more is waited than without the profiler.
//! [`set_sampled`] times one of so many, drawn at random, and has it stand for all of them: counts and times are then
//! estimates, and threads hardly slower.
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
    num::NonZeroU32,
    panic::Location,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

pub use report::{Cause, Lock, Locker, Report, Summary};

static ON: AtomicBool = AtomicBool::new(false);
/// What it takes to get a lock that nobody has, with two looks at the clock. No waiting.
static FREE_NS: AtomicU64 = AtomicU64::new(0);
/// What of the time that a lock is held is the clock: one look, half of it at either end.
static CLOCK_NS: AtomicU64 = AtomicU64::new(0);
/// Of how many acquisitions one is timed; 1: each.
static EVERY: AtomicU32 = AtomicU32::new(1);
/// Acquisitions that [`FREE_NS`] is the median of: some microseconds.
const SAMPLES: usize = 201;

/// Turns the profiler on or off. What was taken before is not counted, or not to its end.
pub fn set(on: bool) {
    if on && !is_on() {
        FREE_NS.store(free_ns(), Ordering::Relaxed);
        CLOCK_NS.store(clock_ns(), Ordering::Relaxed);
    }
    tables().clock.set(on);
    ON.store(on, Ordering::Relaxed);
}

/// Times one of `every` acquisitions from now on, each at 1 as in the beginning. Not to be changed while the profiler is on: an
/// acquisition that is under way would be counted by the other number.
pub fn set_sampled(every: NonZeroU32) {
    EVERY.store(every.get(), Ordering::Relaxed);
}

/// What the profiler's own clock takes and what is taken off for it, as measured when it was turned on last.
pub fn own_cost() -> Cost {
    let of = |cost: &AtomicU64| Duration::from_nanos(cost.load(Ordering::Relaxed));
    Cost { free: of(&FREE_NS), clock: of(&CLOCK_NS), every: EVERY.load(Ordering::Relaxed) }
}

/// See [`own_cost`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Of getting a lock that nobody has, with two looks at the clock: off each wait.
    pub free: Duration,
    /// Of one look: off each time that a lock was held.
    pub clock: Duration,
    /// Of how many acquisitions one is timed.
    pub every: u32,
}

/// What of a time is left without what the profiler adds to it.
fn beyond(taken: Duration, own_ns: u64) -> Duration {
    taken.saturating_sub(Duration::from_nanos(own_ns))
}

fn free_ns() -> u64 {
    let lock = Mutex::new(());
    median_ns(|| {
        let began = Instant::now();
        let held = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = began.elapsed();
        drop(held);
        taken
    })
}

fn clock_ns() -> u64 {
    median_ns(|| Instant::now().elapsed())
}

fn median_ns(mut take: impl FnMut() -> Duration) -> u64 {
    let mut samples: Vec<u64> = (0..SAMPLES).map(|_| take().as_nanos() as u64).collect();
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

/// The beginning of an acquisition, and for how many it stands; nothing where the profiler is off, or another one stands for it.
#[derive(Clone, Copy)]
pub(crate) struct Began(Option<(Instant, u32)>);

/// A lock that is held; nothing where the profiler was off.
#[derive(Default)]
pub(crate) struct Held(Option<Since>);

struct Since {
    at: &'static Location<'static>,
    waited: Duration,
    since: Instant,
    /// Acquisitions that it stands for.
    stands_for: u32,
}

/// What is counted once the lock is released.
pub(crate) struct Done(Option<(&'static Location<'static>, Sum)>);

impl Began {
    #[inline(always)]
    pub(crate) fn now() -> Began {
        Began(if is_on() { drawn() } else { None })
    }

    /// The lock is had.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn held(self) -> Held {
        let at = Location::caller();
        Held(self.0.map(|(began, stands_for)| {
            let since = Instant::now();
            let waited = beyond(since - began, FREE_NS.load(Ordering::Relaxed));
            WAITED_NS.set(WAITED_NS.get().saturating_add((waited * stands_for).as_nanos() as u64));
            Since { at, waited, since, stands_for }
        }))
    }
}

impl Held {
    /// Stops the clock; to be counted with [`Done::count`] when the lock is free, so that nobody waits for that.
    #[inline(always)]
    pub(crate) fn done(&mut self) -> Done {
        Done(self.0.take().map(|Since { at, waited, since, stands_for }| {
            let held = beyond(since.elapsed(), CLOCK_NS.load(Ordering::Relaxed));
            let count = u64::from(stands_for);
            (at, Sum { count, held: held * stands_for, waited: waited * stands_for })
        }))
    }

    /// Counts it and goes on as another acquisition by the same line, without a wait.
    #[inline(always)]
    pub(crate) fn again(&mut self, origin: Origin) -> Held {
        let before = self.0.as_ref().map(|held| (held.at, held.stands_for));
        self.done().count(origin);
        let (waited, since) = (Duration::ZERO, Instant::now());
        Held(before.map(|(at, stands_for)| Since { at, waited, since, stands_for }))
    }
}

/// Whether this acquisition is one that is timed, and for how many it then stands.
#[inline]
fn drawn() -> Option<(Instant, u32)> {
    let every = EVERY.load(Ordering::Relaxed);
    if every > 1 {
        let left = LEFT.get();
        if left > 0 {
            LEFT.set(left - 1);
            return None;
        }
        LEFT.set(gap(every));
    }
    Some((Instant::now(), every))
}

/// How many acquisitions are not timed before the next: all numbers from 0 to twice the mean alike, since at even distances it would be
/// the same lock of each query. (Xorshift, Marsaglia 2003: any stream that a query does not follow will do.)
fn gap(every: u32) -> u32 {
    let mut state = DRAW.get();
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    DRAW.set(state);
    ((state >> 32) % (2 * u64::from(every) - 1)) as u32
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
    /// Acquisitions of this thread until one is timed.
    static LEFT: Cell<u32> = const { Cell::new(0) };
    /// Where its draws are.
    static DRAW: Cell<u64> = const { Cell::new(0x9e37_79b9_7f4a_7c15) };
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
