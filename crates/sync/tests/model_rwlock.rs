//! The reader-writer lock under the model checker: every interleaving and every reordering that the memory model
//! allows, for small numbers of threads and turns; and the same with faults, which must be found.

#![allow(unsafe_code, dead_code)]

/// The checker's atomics in place of those of the standard library.
mod primitives {
    use std::{cell::Cell, collections::HashMap};

    use loom::sync::atomic::fence;
    pub(crate) use loom::sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicU32, AtomicU64, Ordering},
    };

    /// The checker tries every schedule anyway.
    pub(crate) fn spins() -> u32 {
        0
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Step {
        ReaderWaits,
        ReaderLeft,
        WriterLeft,
        Sleeps,
        Wakes,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Duty {
        WaitForTurn,
        CountWriter,
        Admit,
        AdmitLate,
    }

    /// What is left out.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Fault {
        None,
        Fence(Step),
        Duty(Duty),
        WakeUp,
    }

    std::thread_local! {
        /// The checker runs all threads of a model on the one that asked for it.
        pub(crate) static FAULT: Cell<Fault> = const { Cell::new(Fault::None) };
    }

    pub(crate) fn ordered(step: Step) {
        if FAULT.get() != Fault::Fence(step) {
            fence(Ordering::SeqCst);
        }
    }

    pub(crate) fn is_left_out(duty: Duty) -> bool {
        FAULT.get() == Fault::Duty(duty)
    }

    loom::lazy_static! {
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
        if FAULT.get() == Fault::WakeUp {
            return;
        }
        if let Some(condition) = SLEEPERS.lock().expect("no thread panics").get(&address(word)) {
            condition.notify_all();
        }
    }

    fn address(word: &AtomicU32) -> usize {
        std::ptr::from_ref(word).addr()
    }
}

#[path = "../src/event/mod.rs"]
mod event;
#[path = "../src/rwlock/raw.rs"]
mod raw;

use event::{Event, Futex, Portable};
use loom::{
    cell::UnsafeCell,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
};
use primitives::{Duty, FAULT, Fault, Step};
use raw::Raw;

/// A lock and a number that it protects; the checker reports each access that the lock does not order.
struct Protected<E> {
    lock: Raw<E>,
    number: UnsafeCell<u32>,
    /// Writers that began while a reader waited.
    passed: AtomicU32,
}

// SAFETY: the checker finds every access that is not ordered.
unsafe impl<E: Event> Sync for Protected<E> {}
// SAFETY: as above.
unsafe impl<E: Event> Send for Protected<E> {}

impl<E: Event + 'static> Protected<E> {
    fn new(quota: u32) -> Arc<Protected<E>> {
        Arc::new(Protected { lock: Raw::new(quota), number: UnsafeCell::new(0), passed: AtomicU32::new(0) })
    }

    fn load(&self) -> u32 {
        // SAFETY: the checker reports a change that is not ordered with it.
        self.number.with(|number| unsafe { *number })
    }

    fn add(&self) {
        if self.lock.counts().2 > 0 {
            self.passed.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: the checker reports any access that is not ordered with it.
        self.number.with_mut(|number| unsafe { *number += 1 });
    }

    fn read(&self) {
        self.lock.read();
        self.load();
        self.lock.read_unlock();
    }

    fn write(&self) {
        self.lock.write();
        self.add();
        self.lock.write_unlock();
    }

    fn try_write(&self) {
        if self.lock.try_write() {
            self.add();
            self.lock.write_unlock();
        }
    }

    fn try_read(&self) {
        if self.lock.try_read() {
            self.load();
            self.lock.read_unlock();
        }
    }

    fn upgrade(&self) {
        self.lock.read();
        let before = self.load();
        if self.lock.try_upgrade() {
            assert_eq!(self.load(), before, "nobody came between");
            self.add();
            self.lock.write_unlock();
        } else {
            self.lock.read_unlock();
        }
    }

    fn downgrade(&self) {
        self.lock.write();
        self.add();
        let before = self.load();
        self.lock.downgrade();
        assert_eq!(self.load(), before, "nobody came between");
        self.lock.read_unlock();
    }
}

type Part<E> = fn(&Protected<E>);

/// Runs one part in each thread, the first in the main one.
fn check<E: Event + 'static>(preemptions: usize, parts: &[Part<E>]) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    let parts = parts.to_vec();
    builder.check(move || {
        let protected = Protected::<E>::new(1);
        let threads: Vec<_> = parts[1..]
            .iter()
            .map(|&part| {
                let protected = Arc::clone(&protected);
                thread::spawn(move || part(&protected))
            })
            .collect();
        parts[0](&protected);
        threads.into_iter().for_each(|thread| thread.join().expect("its assertions hold"));
        let (asked, done, waiting) = protected.lock.counts();
        assert_eq!((asked, waiting), (done, 0), "all came and went");
        assert!(protected.lock.try_write(), "nobody has it");
    });
}

/// One thread waits for what another does.
fn check_event<E: Event + 'static>() {
    loom::model(|| {
        let shared = Arc::new((E::new(), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || other.0.wait_while(|| other.1.load(Ordering::SeqCst) == 0));
        shared.1.fetch_add(1, Ordering::SeqCst);
        shared.0.wake_all();
        thread.join().expect("it was woken");
    });
}

#[test]
fn who_waits_is_woken() {
    check_event::<Futex>();
    check_event::<Portable>();
}

#[test]
fn writers_exclude_each_other_and_readers() {
    check::<Futex>(3, &[Protected::write, Protected::write]);
    check::<Futex>(3, &[Protected::read, Protected::write]);
    check::<Futex>(2, &[Protected::read, Protected::write, Protected::write]);
    check::<Futex>(2, &[Protected::read, Protected::read, Protected::write]);
    check::<Portable>(2, &[Protected::read, Protected::write, Protected::write]);
}

#[test]
fn ways_without_waiting() {
    check::<Futex>(2, &[Protected::try_write, Protected::read]);
    check::<Futex>(2, &[Protected::try_read, Protected::write, Protected::write]);
}

#[test]
fn upgrade_and_downgrade() {
    check::<Futex>(2, &[Protected::upgrade, Protected::write, Protected::read]);
    check::<Futex>(2, &[Protected::upgrade, Protected::upgrade]);
    check::<Futex>(2, &[Protected::downgrade, Protected::write, Protected::read]);
    check::<Futex>(2, &[Protected::downgrade, Protected::read, Protected::read]);
}

fn write_down(protected: &Protected<Futex>, order: &std::sync::Mutex<Vec<u32>>, number: u32) {
    protected.lock.write();
    order.lock().expect("no thread panics").push(number);
    protected.add();
    protected.lock.write_unlock();
}

/// Two writers and a reader, in this order, wait for a third writer with a quota of two: it was the first of those two.
fn check_turns() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(1);
    builder.check(|| {
        let protected = Protected::<Futex>::new(2);
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        protected.lock.write();
        let spawn = |act: fn(&Protected<Futex>, &std::sync::Mutex<Vec<u32>>)| {
            let (other, order) = (Arc::clone(&protected), Arc::clone(&order));
            thread::spawn(move || act(&other, &order))
        };
        let wait_for = |counts: (u32, u32, u32)| {
            while protected.lock.counts() != counts {
                thread::yield_now();
            }
        };
        let one = spawn(|protected, order| write_down(protected, order, 1));
        wait_for((2, 0, 0));
        let two = spawn(|protected, order| write_down(protected, order, 2));
        wait_for((3, 0, 0));
        let reader = spawn(|protected, _| {
            protected.lock.read();
            assert_eq!(protected.load(), 1, "writers that were before the reader");
            protected.lock.read_unlock();
        });
        wait_for((3, 0, 1));
        protected.lock.write_unlock();
        [one, two, reader].into_iter().for_each(|thread| thread.join().expect("its assertions hold"));
        assert_eq!(*order.lock().expect("no thread panics"), [1, 2]);
    });
}

#[test]
fn writers_have_their_turns_in_order_and_readers_theirs_between() {
    check_turns();
}

/// A reader that waits is passed by no more writers than the quota, and by one that was about to begin.
#[test]
fn readers_have_their_turn_after_the_quota() {
    let reader: Part<Futex> = |protected| {
        protected.read();
        assert!(protected.passed.load(Ordering::Relaxed) <= 2);
    };
    let writers: Part<Futex> = |protected| (0..3).for_each(|_| protected.write());
    check(2, &[reader, writers]);
    check(2, &[reader, writers, Protected::write]);
}

/// Name of the variable that says which fault a process of its own is to run with.
const FAULT_VARIABLE: &str = "SYNC_MODEL_FAULT";

const FAULTS: [Fault; 11] = [
    Fault::None,
    Fault::WakeUp,
    Fault::Fence(Step::ReaderWaits),
    Fault::Fence(Step::ReaderLeft),
    Fault::Fence(Step::WriterLeft),
    Fault::Fence(Step::Sleeps),
    Fault::Fence(Step::Wakes),
    Fault::Duty(Duty::WaitForTurn),
    Fault::Duty(Duty::CountWriter),
    Fault::Duty(Duty::Admit),
    Fault::Duty(Duty::AdmitLate),
];

/// One fault of each kind, and none.
#[test]
fn faults_are_found() {
    let kinds = [Fault::None, Fault::WakeUp, Fault::Fence(Step::ReaderWaits), Fault::Duty(Duty::CountWriter)];
    find(|fault| kinds.contains(fault));
}

/// What takes many orders of steps to try, and all faults.
mod long {
    use super::*;

    #[test]
    #[ignore = "long: make test-long"]
    fn ways_without_waiting_of_three() {
        check::<Futex>(2, &[Protected::try_write, Protected::write, Protected::read]);
    }

    #[test]
    #[ignore = "long: make test-long"]
    fn all_faults_are_found() {
        find(|_| true);
    }
}

/// Each in a process of its own, since a model that fails may panic while it panics, which ends the process.
fn find(is_wanted: impl Fn(&Fault) -> bool) {
    let program = std::env::current_exe().expect("this program");
    for (index, fault) in FAULTS.iter().enumerate().filter(|(_, fault)| is_wanted(fault)) {
        let mut command = std::process::Command::new(&program);
        command.args(["--ignored", "--exact", "run_with_fault"]).env(FAULT_VARIABLE, index.to_string());
        let output = command.env("RUST_BACKTRACE", "0").output().expect("this program runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("running 1 test"), "{said}");
        assert_eq!(output.status.success(), *fault == Fault::None, "{fault:?}: {said}");
    }
}

#[test]
#[ignore = "run by the test of the faults"]
fn run_with_fault() {
    let index = std::env::var(FAULT_VARIABLE).ok().and_then(|index| index.parse::<usize>().ok());
    FAULT.set(FAULTS[index.unwrap_or(0)]);
    check_event::<Futex>();
    check_turns();
    check::<Futex>(3, &[Protected::read, Protected::write]);
    check::<Futex>(3, &[Protected::write, Protected::write]);
    check::<Futex>(2, &[Protected::read, Protected::write, Protected::write]);
}
