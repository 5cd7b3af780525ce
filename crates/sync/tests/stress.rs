//! Epochs, locks and work areas with the real fences, under load: no value is seen after its end, all are freed;
//! nobody waits longer than promised. `crates/sync/tsan` runs this under the thread sanitizer.

#![allow(unsafe_code)] // a race that the sanitizer must find

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sync::{Areas, Buckets, Cell, Collector, Counter, Domain, RwLock};

static ALIVE: AtomicI64 = AtomicI64::new(0);

/// Octets that all tell the value's number, until it is dropped.
struct Value(Vec<u64>);

impl Value {
    fn new(number: u64) -> Arc<Value> {
        ALIVE.fetch_add(1, Ordering::SeqCst);
        Arc::new(Value(vec![number; 64]))
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.0.fill(u64::MAX);
        ALIVE.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn readers_never_see_a_freed_value() {
    const REPLACEMENTS: u64 = 20_000;
    let domain = Domain::with_bounds(1000, usize::MAX);
    let collector = Collector::start(std::slice::from_ref(&domain)).expect("a thread");
    let cell = Cell::new(&domain, Value::new(0));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..4)
            .map(|_| {
                let (mut reader, cell, stop) = (domain.reader(), &cell, &stop);
                scope.spawn(move || {
                    let (mut last, mut changes) = (0, 0u64);
                    while !stop.load(Ordering::Relaxed) {
                        reader.begin();
                        let value = cell.load(&reader.guard().expect("within a batch"));
                        let number = value.0[0];
                        assert!(value.0.iter().all(|word| *word == number), "torn or freed");
                        assert!(number >= last && number <= REPLACEMENTS);
                        changes += u64::from(number != last);
                        last = number;
                        reader.end();
                    }
                    changes
                })
            })
            .collect();
        for number in 1..=REPLACEMENTS {
            assert!(domain.wait_for_room(Instant::now() + Duration::from_secs(60)), "readers move on");
            cell.replace(Value::new(number), 512);
        }
        stop.store(true, Ordering::Relaxed);
        for reader in readers {
            assert!(reader.join().expect("the reader's assertions hold") > 0, "a reader saw changes");
        }
    });
    assert_eq!(cell.current().0[0], REPLACEMENTS);
    drop((cell, collector));
    assert_eq!((domain.collect().left, ALIVE.load(Ordering::SeqCst)), (0, 0));
}

/// Threads of the tests of fairness: four for each core of a machine with two.
const THREADS: usize = 8;

/// A lock whose readers and writers count who passes whom.
struct Turns {
    lock: RwLock<[u64; 2]>,
    /// Writer sections that began while a reader waited, since a reader had the lock. Readers that wait are admitted all
    /// together, and no writer begins until they have been there; so this is what the one that waits longest has seen.
    passed: AtomicU32,
    worst: AtomicU32,
    waits: AtomicU64,
}

impl Turns {
    fn new(quota: u32) -> Turns {
        let lock = RwLock::with_quota("turns", [0; 2], quota);
        Turns { lock, passed: AtomicU32::new(0), worst: AtomicU32::new(0), waits: AtomicU64::new(0) }
    }

    fn read(&self) {
        let pair = self.lock.read();
        if self.passed.swap(0, Ordering::Relaxed) > 0 {
            self.waits.fetch_add(1, Ordering::Relaxed);
        }
        assert_eq!(pair[0], pair[1]);
    }

    fn write(&self) {
        let mut pair = self.lock.write();
        if self.lock.counts().2 > 0 {
            let passed = self.passed.fetch_add(1, Ordering::Relaxed) + 1;
            self.worst.fetch_max(passed, Ordering::Relaxed);
        }
        pair[0] += 1;
        // Long enough for others to come meanwhile.
        (0..20).for_each(|_| std::hint::spin_loop());
        pair[1] += 1;
    }
}

/// Writers pass a waiting reader `quota` times and once more at most, however many threads want the lock.
fn readers_wait_at_most(quota: u32, readers: usize, sections: u64) {
    let (turns, done) = (Turns::new(quota), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..readers {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    turns.read();
                }
            });
        }
        let writers: Vec<_> =
            (readers..THREADS).map(|_| scope.spawn(|| (0..sections).for_each(|_| turns.write()))).collect();
        let ends: Vec<_> = writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        done.store(true, Ordering::Relaxed);
        ends.into_iter().for_each(|end| end.expect("the writer's assertions hold"));
    });
    let (worst, waits) = (turns.worst.into_inner(), turns.waits.into_inner());
    println!(
        "quota {quota:>2}, {readers} readers, {} writers: a waiting reader let {worst} writers pass at most, of {} \
         allowed; readers were passed {waits} times",
        THREADS - readers,
        quota + 1
    );
    assert!(worst <= quota + 1, "{worst} writers passed a reader with quota {quota}");
    assert_eq!(turns.lock.read()[1], sections * (THREADS - readers) as u64);
}

fn readers_wait(sections: u64) {
    for quota in [1, 4, 16] {
        readers_wait_at_most(quota, 1, sections);
        readers_wait_at_most(quota, 4, sections);
    }
}

#[test]
fn no_reader_waits_for_more_writers_than_the_quota_and_one() {
    readers_wait(2000);
}

mod long {
    #[test]
    #[ignore = "long: make test-long"]
    fn no_reader_waits_for_more_writers_than_the_quota_and_one() {
        super::readers_wait(10_000);
    }
}

/// Writers that asked one after the other have their turns in this order, round after round.
#[test]
fn writers_come_in_the_order_in_which_they_asked() {
    const ROUNDS: u32 = 50;
    let lock = RwLock::new(Vec::new());
    for round in 0..ROUNDS {
        let first = lock.write();
        let asked = lock.counts().0;
        std::thread::scope(|scope| {
            for number in 0..THREADS as u32 {
                let lock = &lock;
                scope.spawn(move || {
                    while lock.counts().0 != asked + number {
                        std::thread::yield_now();
                    }
                    lock.write().push(number);
                });
            }
            while lock.counts().0 != asked + THREADS as u32 {
                std::thread::yield_now();
            }
            drop(first);
        });
        let order = std::mem::take(&mut *lock.write());
        assert!(order.iter().copied().eq(0..THREADS as u32), "round {round}: {order:?}");
    }
    println!("{} writers in their order in each of {ROUNDS} rounds", THREADS);
}

/// Memory that one thread after the other has is written by each; counters tell the last holder.
#[test]
fn areas_buckets_and_counters_among_threads() {
    let areas = Arc::new(Areas::with_limit(3));
    let buckets = Buckets::new(7, |_| RwLock::new(0u64));
    let (holders, freed) = (Counter::new(THREADS as u32), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for thread in 0..THREADS as u64 {
            let (areas, buckets, holders, freed) = (&areas, &buckets, &holders, &freed);
            scope.spawn(move || {
                for turn in 0..1000 {
                    if let Some(area) = areas.take_shared() {
                        let part = area.slice(50, thread).expect("room");
                        assert!(part.iter().all(|&word| word == thread));
                    }
                    holders.hold();
                    *buckets.of(thread + turn).write() += 1;
                    assert!(!holders.release());
                }
                freed.fetch_add(u32::from(holders.release()), Ordering::Relaxed);
            });
        }
    });
    let sum: u64 = buckets.iter().map(|bucket| *bucket.read()).sum();
    assert_eq!((sum, freed.into_inner(), areas.made() <= 3), (1000 * THREADS as u64, 1, true));
}

/// What two threads change as they like.
struct Raced(UnsafeCell<u64>);

// SAFETY: none: this is the race that the sanitizer is to find. Only run on purpose, and only a number.
unsafe impl Sync for Raced {}

/// Must fail under the sanitizer: else it sees nothing in the other tests either.
#[test]
#[ignore = "a race, for the sanitizer to find"]
fn a_race() {
    let (raced, started) = (Raced(UnsafeCell::new(0)), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let (raced, started) = (&raced, &started);
            scope.spawn(move || {
                // Both at once. Relaxed: this must not order what they do.
                started.fetch_add(1, Ordering::Relaxed);
                while started.load(Ordering::Relaxed) < 2 {
                    std::thread::yield_now();
                }
                for number in 0..100_000 {
                    // SAFETY: as above.
                    unsafe { raced.0.get().write_volatile(number) };
                }
            });
        }
    });
}
