//! Locks, epochs, mailboxes and work areas with more threads than the model checker can try all orders of: some thousand
//! schedules, at random and with few changes of thread at the worst places. Memory is sequentially consistent here, so
//! this finds faults of logic; those of ordering are found by the models.

#![allow(unsafe_code, dead_code, unused_imports)]

/// The scheduler's atomics in place of those of the standard library.
mod primitives {
    use std::collections::HashMap;

    pub(crate) use shuttle::sync::{
        Arc, Condvar, Mutex, MutexGuard,
        atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence},
    };

    pub(crate) fn prepare() {}

    pub(crate) fn light() {
        fence(Ordering::SeqCst);
    }

    pub(crate) fn heavy() {
        fence(Ordering::SeqCst);
    }

    /// A schedule in which a thread looks often is no other than one in which it sleeps.
    pub(crate) fn spins() -> u32 {
        0
    }

    #[derive(Clone, Copy)]
    pub(crate) enum Step {
        ReaderWaits,
        ReaderLeft,
        WriterLeft,
        Sleeps,
        Wakes,
        Pushed,
        OwnerSleeps,
    }

    pub(crate) fn ordered(_: Step) {}

    #[derive(Clone, Copy)]
    pub(crate) enum Duty {
        WaitForTurn,
        CountWriter,
        Admit,
        AdmitLate,
        NoteReaders,
    }

    pub(crate) fn is_left_out(_: Duty) -> bool {
        false
    }

    shuttle::lazy_static! {
        /// Who sleeps on which word.
        static ref SLEEPERS: Mutex<HashMap<usize, Arc<Condvar>>> = Mutex::new(HashMap::new());
    }

    pub(crate) fn futex_wait(word: &AtomicU32, expected: u32) {
        let mut sleepers = SLEEPERS.lock().expect("no thread panics");
        if word.load(Ordering::SeqCst) == expected {
            let condition = sleepers.entry(address(word)).or_insert_with(|| Arc::new(Condvar::new()));
            let condition = Arc::clone(condition);
            drop(condition.wait(sleepers).expect("no thread panics"));
        }
    }

    pub(crate) fn futex_wake(word: &AtomicU32) {
        if let Some(condition) = SLEEPERS.lock().expect("no thread panics").get(&address(word)) {
            condition.notify_all();
        }
    }

    fn address(word: &AtomicU32) -> usize {
        std::ptr::from_ref(word).addr()
    }

    shuttle::thread_local! {
        static PLACE: std::cell::Cell<usize> = std::cell::Cell::new(0);
    }

    /// As the one of the standard library, anew in each run.
    pub(crate) struct LastPlace;

    pub(crate) static LAST_PLACE: LastPlace = LastPlace;

    impl LastPlace {
        pub(crate) fn get(&self) -> usize {
            PLACE.with(std::cell::Cell::get)
        }

        pub(crate) fn set(&self, place: usize) {
            PLACE.with(|last| last.set(place));
        }
    }
}

#[path = "../src/epoch/mod.rs"]
mod epoch;
#[path = "../src/event/mod.rs"]
mod event;
#[path = "../src/mailbox.rs"]
mod mailbox;
#[path = "../src/area/pool.rs"]
mod pool;
#[path = "../src/rwlock/raw.rs"]
mod raw;

use std::sync::atomic::{AtomicBool as Flag, AtomicU32 as Number, Ordering};

use epoch::{Cell, Domain};
use event::{Event, Futex, Portable};
use mailbox::{Mailbox, Wake};
use pool::Pool;
use raw::Raw;
use shuttle::{
    sync::{Arc, Condvar, Mutex},
    thread,
};

/// Schedules of each case and of each way to make them: some seconds in all.
const SCHEDULES: usize = 1000;
/// Changes of thread that a fault may need at places of the scheduler's choice.
const CHANGES: usize = 3;

fn check(case: impl Fn() + Copy + Send + Sync + 'static) {
    shuttle::check_random(case, SCHEDULES);
    shuttle::check_pct(case, SCHEDULES, CHANGES);
}

/// A lock and who is inside. What is counted here is no step of the scheduler's: it is seen as it is.
struct Watched<E> {
    lock: Raw<E>,
    readers: Number,
    writer: Flag,
    /// Writers in a row that began while a reader waited, since a reader had the lock.
    passed: Number,
    quota: u32,
}

impl<E: Event> Watched<E> {
    fn new(quota: u32) -> Arc<Watched<E>> {
        let (readers, passed) = (Number::new(0), Number::new(0));
        Arc::new(Watched { lock: Raw::new(quota), readers, writer: Flag::new(false), passed, quota })
    }

    fn reads(&self) {
        assert!(!self.writer.load(Ordering::SeqCst), "a writer beside a reader");
        self.readers.fetch_add(1, Ordering::SeqCst);
        self.passed.store(0, Ordering::SeqCst);
        thread::yield_now();
        assert!(!self.writer.load(Ordering::SeqCst), "a writer beside a reader");
        self.readers.fetch_sub(1, Ordering::SeqCst);
    }

    fn writes(&self) {
        assert!(!self.writer.swap(true, Ordering::SeqCst), "two writers");
        if self.lock.counts().2 > 0 {
            let passed = self.passed.fetch_add(1, Ordering::SeqCst) + 1;
            assert!(passed <= self.quota + 1, "{passed} writers passed a reader");
        }
        thread::yield_now();
        assert_eq!(self.readers.load(Ordering::SeqCst), 0, "a reader beside a writer");
        self.writer.store(false, Ordering::SeqCst);
    }

    fn read(&self) {
        self.lock.read();
        self.reads();
        self.lock.read_unlock();
    }

    fn write(&self) {
        self.lock.write();
        self.writes();
        self.lock.write_unlock();
    }
}

fn spawn<T: Send + Sync + 'static>(
    shared: &Arc<T>,
    act: fn(&T, usize),
    count: usize,
) -> Vec<thread::JoinHandle<()>> {
    let threads = (0..count).map(|number| {
        let shared = Arc::clone(shared);
        thread::spawn(move || act(&shared, number))
    });
    threads.collect()
}

fn join(threads: Vec<thread::JoinHandle<()>>) {
    threads.into_iter().for_each(|thread| thread.join().expect("its assertions hold"));
}

/// Three writers and three readers, each twice.
fn lock_of<E: Event + 'static>(quota: u32) {
    let lock = Watched::<E>::new(quota);
    let mut threads = spawn(&lock, |lock, _| (0..2).for_each(|_| lock.write()), 3);
    threads.append(&mut spawn(&lock, |lock, _| (0..2).for_each(|_| lock.read()), 3));
    join(threads);
    let (asked, done, waiting) = lock.lock.counts();
    assert_eq!((asked, waiting), (done, 0), "all came and went");
    assert!(lock.lock.try_write(), "nobody has it");
}

#[test]
fn three_writers_and_three_readers() {
    check(|| lock_of::<Futex>(1));
    check(|| lock_of::<Futex>(2));
    check(|| lock_of::<Portable>(1));
}

/// The same beside threads that change from one side to the other and that do not wait.
#[test]
fn all_ways_at_once() {
    check(|| {
        let lock = Watched::<Futex>::new(2);
        let mut threads = spawn(&lock, |lock, _| lock.write(), 2);
        threads.append(&mut spawn(&lock, |lock, _| lock.read(), 2));
        let upgrade = |lock: &Watched<Futex>, _| {
            lock.lock.read();
            lock.reads();
            match lock.lock.try_upgrade() {
                true => {
                    lock.writes();
                    lock.lock.write_unlock();
                }
                false => lock.lock.read_unlock(),
            }
        };
        threads.append(&mut spawn(&lock, upgrade, 1));
        let downgrade = |lock: &Watched<Futex>, _| {
            if lock.lock.try_write() {
                lock.writes();
                lock.lock.downgrade();
                lock.reads();
                lock.lock.read_unlock();
            }
        };
        threads.append(&mut spawn(&lock, downgrade, 1));
        join(threads);
        assert!(lock.lock.try_write(), "nobody has it");
    });
}

/// A value that knows whether it is over.
struct Value {
    number: u32,
    is_alive: Flag,
}

impl Value {
    fn new(number: u32) -> std::sync::Arc<Value> {
        std::sync::Arc::new(Value { number, is_alive: Flag::new(true) })
    }

    fn read(&self) -> u32 {
        assert!(self.is_alive.load(Ordering::SeqCst), "read after its end");
        self.number
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.is_alive.store(false, Ordering::SeqCst);
    }
}

#[test]
fn cells_with_four_readers_two_writers_and_two_collectors() {
    check(|| {
        let domain = Domain::new();
        let cell = Arc::new(Cell::new(&domain, Value::new(0)));
        let readers = (0..4).map(|_| {
            let (mut reader, cell) = (domain.reader(), Arc::clone(&cell));
            thread::spawn(move || {
                for _ in 0..2 {
                    reader.begin();
                    let guard = reader.guard().expect("within a batch");
                    let value = cell.load(&guard);
                    let first = value.read();
                    thread::yield_now();
                    assert!(cell.load(&guard).read() < 5 && value.read() == first, "what was loaded stays");
                    reader.end();
                }
            })
        });
        let mut threads: Vec<_> = readers.collect();
        let replace = |cell: &Cell<Value>, number: usize| {
            (0..2).for_each(|turn| cell.replace(Value::new(1 + 2 * number as u32 + turn), 1));
        };
        threads.append(&mut spawn(&cell, replace, 2));
        let collect = |domain: &Domain, _| (0..2).for_each(|_| _ = domain.collect());
        threads.append(&mut spawn(&Arc::new(domain.clone()), collect, 2));
        join(threads);
        assert_eq!((domain.collect().left, domain.garbage()), (0, (0, 0)), "nobody uses an old value");
        assert!(cell.current().read() > 0);
    });
}

/// Three pushers, each three times, and an owner that sleeps while nothing is there.
#[test]
fn three_pushers_and_a_mailbox() {
    check(|| {
        let shared = Arc::new((Mailbox::new(), Mutex::new(false), Condvar::new()));
        let push = |shared: &(Mailbox<(usize, u32)>, Mutex<bool>, Condvar), pusher: usize| {
            for number in 0..3 {
                if shared.0.push((pusher, number)) == Ok(Wake::Needed) {
                    *shared.1.lock().expect("no thread panics") = true;
                    shared.2.notify_one();
                }
            }
        };
        let threads = spawn(&shared, push, 3);
        let (mailbox, is_woken, wakes) = &*shared;
        let mut next = [0; 3];
        while next != [3; 3] {
            for (pusher, number) in mailbox.take() {
                assert_eq!(number, next[pusher], "in the order in which they came");
                next[pusher] += 1;
            }
            if next != [3; 3] && mailbox.prepare_to_sleep() {
                let mut is_woken = is_woken.lock().expect("no thread panics");
                while !*is_woken {
                    is_woken = wakes.wait(is_woken).expect("no thread panics");
                }
                *is_woken = false;
                drop(is_woken);
                mailbox.awake();
            }
        }
        join(threads);
        assert!(mailbox.is_empty());
    });
}

#[test]
fn four_threads_and_two_areas() {
    check(|| {
        let pool = Arc::new(Pool::new(2));
        let work = |pool: &Pool<Flag>, _| {
            for _ in 0..3 {
                let Some(taken) = pool.take(|| Flag::new(false)) else { continue };
                assert!(!taken.swap(true, Ordering::SeqCst), "two have it");
                thread::yield_now();
                taken.store(false, Ordering::SeqCst);
                pool.put(taken);
            }
        };
        join(spawn(&pool, work, 4));
        assert!((1..=2).contains(&pool.made()));
        let all: Vec<_> = (0..2).map_while(|_| pool.take(|| Flag::new(false))).collect();
        assert_eq!(all.len(), 2, "none is lost");
        all.into_iter().for_each(|taken| pool.put(taken));
    });
}
