//! Reclamation by epochs under the model checker: every interleaving and every reordering that the memory model allows, for
//! small numbers of threads and turns; and the same with faults, which must be found.

#![allow(unsafe_code, dead_code, unused_imports)]

/// The checker's atomics in place of those of the standard library.
mod primitives {
    use std::cell::Cell;

    use loom::sync::atomic::fence;
    pub(crate) use loom::sync::{Arc, Condvar, Mutex, MutexGuard, atomic::Ordering};

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Duty {
        NoteReaders,
    }

    /// What is left out.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Fault {
        None,
        /// The collector's fence.
        Heavy,
        /// The readers' fence.
        Light,
        Duty(Duty),
        /// That what is published is ordered after the making of it.
        Publish,
        /// That the end of a batch is ordered after what was read in it.
        End,
        /// That a thing is unpublished before it is retired.
        Unpublish,
    }

    std::thread_local! {
        /// The checker runs all threads of a model on the one that asked for it.
        pub(crate) static FAULT: Cell<Fault> = const { Cell::new(Fault::None) };
    }

    pub(crate) fn prepare() {}

    pub(crate) fn light() {
        if FAULT.get() != Fault::Light {
            fence(Ordering::SeqCst);
        }
    }

    pub(crate) fn heavy() {
        if FAULT.get() != Fault::Heavy {
            fence(Ordering::SeqCst);
        }
    }

    pub(crate) fn is_left_out(duty: Duty) -> bool {
        FAULT.get() == Fault::Duty(duty)
    }

    fn unless(fault: Fault, order: Ordering) -> Ordering {
        if FAULT.get() == fault { Ordering::Relaxed } else { order }
    }

    /// Of cells: stored by who publishes.
    pub(crate) struct AtomicPtr<T>(loom::sync::atomic::AtomicPtr<T>);

    impl<T> AtomicPtr<T> {
        pub(crate) fn new(pointer: *mut T) -> AtomicPtr<T> {
            AtomicPtr(loom::sync::atomic::AtomicPtr::new(pointer))
        }

        pub(crate) fn load(&self, order: Ordering) -> *mut T {
            self.0.load(order)
        }

        pub(crate) fn swap(&self, pointer: *mut T, order: Ordering) -> *mut T {
            self.0.swap(pointer, unless(Fault::Publish, order))
        }
    }

    /// Of lines, stored by readers, and of words, exchanged by who publishes.
    pub(crate) struct AtomicU64(loom::sync::atomic::AtomicU64);

    impl AtomicU64 {
        pub(crate) fn new(value: u64) -> AtomicU64 {
            AtomicU64(loom::sync::atomic::AtomicU64::new(value))
        }

        pub(crate) fn load(&self, order: Ordering) -> u64 {
            self.0.load(order)
        }

        pub(crate) fn store(&self, value: u64, order: Ordering) {
            self.0.store(value, unless(Fault::End, order));
        }

        pub(crate) fn swap(&self, value: u64, order: Ordering) -> u64 {
            self.0.swap(value, unless(Fault::Publish, order))
        }
    }
}

#[path = "../src/epoch/mod.rs"]
mod epoch;

use epoch::{Cell, Domain, Held, Reader, Word};
use loom::{
    cell::UnsafeCell,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
};
use primitives::{Duty, FAULT, Fault};
use std::sync::Arc as Value;

/// A value whose readers and whose end the checker tracks: reading it before it is made, or while or after it is dropped,
/// fails.
struct Tracked(UnsafeCell<u32>);

// SAFETY: the checker finds every access that is not ordered.
unsafe impl Sync for Tracked {}
// SAFETY: as above.
unsafe impl Send for Tracked {}

impl Tracked {
    fn new(number: u32) -> Tracked {
        let tracked = Tracked(UnsafeCell::new(0));
        tracked.write(number);
        tracked
    }

    fn read(&self) -> u32 {
        // SAFETY: read only; the checker reports a write that is not ordered with it.
        self.0.with(|number| unsafe { *number })
    }

    fn write(&self, new: u32) {
        // SAFETY: the checker reports any access that is not ordered with it.
        self.0.with_mut(|number| unsafe { *number = new });
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        self.write(u32::MAX);
    }
}

fn model(preemptions: usize, act: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(act);
}

fn spawn_readers(
    domain: &Domain,
    count: usize,
    read: impl Fn(&mut Reader) + Clone + 'static,
) -> Vec<thread::JoinHandle<()>> {
    let readers = (0..count).map(|_| {
        let (mut reader, read) = (domain.reader(), read.clone());
        thread::spawn(move || read(&mut reader))
    });
    readers.collect()
}

fn join(threads: Vec<thread::JoinHandle<()>>) {
    threads.into_iter().for_each(|thread| thread.join().expect("its assertions hold"));
}

/// Readers beside one who publishes and collects after each `group` publications.
fn cells(preemptions: usize, readers: usize, batches: usize, publications: u32, group: u32) {
    model(preemptions, move || {
        let domain = Domain::new();
        let cell = Arc::new(Cell::new(&domain, Value::new(Tracked::new(0))));
        let shared = Arc::clone(&cell);
        let threads = spawn_readers(&domain, readers, move |reader| {
            let mut last = 0;
            for _ in 0..batches {
                reader.begin();
                let guard = reader.guard().expect("within a batch");
                let first = shared.load(&guard);
                let (before, second) = (first.read(), shared.load(&guard).read());
                assert_eq!(first.read(), before, "what was loaded stays");
                assert!(last <= before && before <= second && second <= publications, "values come in order");
                last = second;
                reader.end();
            }
        });
        for number in 1..=publications {
            cell.replace(Value::new(Tracked::new(number)), 1);
            if number % group == 0 {
                domain.collect();
            }
        }
        join(threads);
        assert_eq!((domain.collect().left, domain.garbage()), (0, (0, 0)), "nobody uses an old value");
        assert_eq!(cell.current().read(), publications);
    });
}

/// A reader and a collector, each with a thread of its own, beside one who publishes in a cell and in a word.
fn words(preemptions: usize) {
    model(preemptions, move || {
        let domain = Domain::new();
        let word = Arc::new(Word::new(Held::Value(Box::new(Tracked::new(0)))));
        let shared = Arc::clone(&word);
        let mut threads = spawn_readers(&domain, 1, move |reader| {
            reader.begin();
            let guard = reader.guard().expect("within a batch");
            // SAFETY: all replacements name the reader's domain, and the word outlives the batch.
            match unsafe { shared.load(&guard) } {
                Held::Nothing => panic!("never"),
                Held::Number(number) => assert_eq!(number, 1),
                Held::Value(value) => assert!([0, 2].contains(&value.read())),
            }
            reader.end();
        });
        let collected = domain.clone();
        threads.push(thread::spawn(move || {
            collected.collect();
        }));
        word.replace(Held::Number(1), &domain, 1);
        word.replace(Held::Value(Box::new(Tracked::new(2))), &domain, 1);
        join(threads);
        domain.collect();
        assert_eq!(domain.garbage(), (0, 0), "nobody uses an old value");
    });
}

/// One of two places is read; the other is written again once the readers of before have moved on.
fn acts(preemptions: usize) {
    model(preemptions, move || {
        let domain = Domain::new();
        let places = Arc::new(([Tracked::new(0), Tracked::new(1)], AtomicU32::new(0)));
        let shared = Arc::clone(&places);
        let mut threads = spawn_readers(&domain, 1, move |reader| {
            reader.begin();
            let place = shared.1.load(Ordering::Acquire);
            assert_eq!(shared.0[place as usize].read(), place, "not written before it is free");
            reader.end();
        });
        let collected = domain.clone();
        threads.push(thread::spawn(move || {
            collected.collect();
        }));
        let freed = Arc::clone(&places);
        let act = Box::new(move || freed.0[0].write(7));
        if FAULT.get() == Fault::Unpublish {
            domain.retire(act, 0);
            places.1.store(1, Ordering::Release);
        } else {
            places.1.store(1, Ordering::Release);
            domain.retire(act, 0);
        }
        join(threads);
        domain.collect();
        assert_eq!(places.0[0].read(), 7, "done once");
    });
}

/// A reader that comes while garbage is collected, and goes.
fn newcomers(preemptions: usize) {
    model(preemptions, move || {
        let domain = Domain::new();
        let cell = Arc::new(Cell::new(&domain, Value::new(Tracked::new(0))));
        let (shared, of) = (Arc::clone(&cell), domain.clone());
        let newcomer = thread::spawn(move || {
            let mut reader = of.reader();
            reader.begin();
            assert!(shared.load(&reader.guard().expect("within a batch")).read() <= 1);
        });
        cell.replace(Value::new(Tracked::new(1)), 1);
        domain.collect();
        newcomer.join().expect("its assertions hold");
        assert_eq!(domain.collect().left, 0, "it is gone");
    });
}

#[test]
fn one_reader_and_cells() {
    cells(2, 1, 2, 2, 1);
    cells(2, 1, 1, 2, 2);
}

#[test]
fn two_readers_and_a_cell() {
    cells(2, 2, 1, 1, 1);
}

#[test]
fn a_reader_a_collector_and_a_word() {
    words(2);
}

#[test]
fn a_place_is_used_again() {
    acts(2);
}

#[test]
fn a_reader_comes_and_goes() {
    newcomers(2);
}

/// Name of the variable that says which fault a process of its own is to run with.
const FAULT_VARIABLE: &str = "SYNC_MODEL_FAULT";

const FAULTS: [Fault; 7] = [
    Fault::None,
    Fault::Heavy,
    Fault::Light,
    Fault::Duty(Duty::NoteReaders),
    Fault::Publish,
    Fault::End,
    Fault::Unpublish,
];

/// Each in a process of its own, since a model that fails may panic while it panics, which ends the process.
#[test]
fn faults_are_found() {
    let program = std::env::current_exe().expect("this program");
    for (index, fault) in FAULTS.iter().enumerate() {
        let mut command = std::process::Command::new(&program);
        command.args(["--ignored", "--exact", "run_with_fault"]).env(FAULT_VARIABLE, index.to_string());
        let output = command.env("RUST_BACKTRACE", "0").output().expect("this program runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("running 1 test"), "{said}");
        assert_eq!(output.status.success(), *fault == Fault::None, "{fault:?}: {said}");
        assert_eq!(said.contains("Causality violation"), *fault != Fault::None, "{fault:?}: {said}");
    }
}

#[test]
#[ignore = "run by the test of the faults"]
fn run_with_fault() {
    let index = std::env::var(FAULT_VARIABLE).ok().and_then(|index| index.parse::<usize>().ok());
    FAULT.set(FAULTS[index.unwrap_or(0)]);
    // First the one in which no memory is freed, so that the checker finds it and not the allocator.
    acts(2);
    cells(2, 1, 1, 1, 1);
}

/// More threads, turns and changes of thread: minutes.
mod long {
    use super::*;

    #[test]
    #[ignore = "long"]
    fn cells_with_more_of_all() {
        cells(3, 1, 3, 3, 1);
        cells(3, 2, 1, 2, 1);
        cells(2, 2, 2, 2, 2);
    }

    #[test]
    #[ignore = "long"]
    fn words_acts_and_newcomers_with_more_changes_of_thread() {
        words(3);
        acts(4);
        newcomers(4);
    }
}
