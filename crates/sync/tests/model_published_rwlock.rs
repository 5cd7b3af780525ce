//! The reader-writer lock as it was published, under the model checker: no two that exclude each other, and nobody who sleeps
//! for ever.

#![allow(unsafe_code, dead_code)]

/// The checker's atomics in place of those of the standard library.
mod primitives {
    use loom::sync::atomic::fence;
    pub(crate) use loom::sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicU32, Ordering},
    };

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Step {
        ReaderLeft,
        WriterLeft,
        Sleeps,
    }

    std::thread_local! {
        /// The one that is left out: a fault, which the checker must find.
        pub(crate) static LEFT_OUT: std::cell::Cell<Option<Step>> = const { std::cell::Cell::new(None) };
    }

    pub(crate) fn ordered(step: Step) {
        if LEFT_OUT.get() != Some(step) {
            fence(Ordering::SeqCst);
        }
    }
}

/// As the crate has it.
pub trait Exclusion {
    /// Unlocked.
    fn new(quota: u32) -> Self;
    /// Waits until this thread may read.
    fn read(&self);
    /// Ends a reader.
    fn read_unlock(&self);
    /// Waits until this thread alone may write.
    fn write(&self);
    /// Ends a writer.
    fn write_unlock(&self);
}

#[path = "../src/rwlock/published.rs"]
mod published;

use loom::{cell::UnsafeCell, sync::Arc, thread};
use primitives::{LEFT_OUT, Step};
use published::Published;

/// A lock and a number that it protects; the checker reports each access that the lock does not order.
struct Protected {
    lock: Published,
    number: UnsafeCell<u32>,
}

// SAFETY: the checker finds every access that is not ordered.
unsafe impl Sync for Protected {}
// SAFETY: as above.
unsafe impl Send for Protected {}

impl Protected {
    fn read(&self) {
        self.lock.read();
        // SAFETY: the checker reports a change that is not ordered with it.
        self.number.with(|number| unsafe { *number });
        self.lock.read_unlock();
    }

    fn write(&self) {
        self.lock.write();
        // SAFETY: the checker reports any access that is not ordered with it.
        self.number.with_mut(|number| unsafe { *number += 1 });
        self.lock.write_unlock();
    }
}

type Part = fn(&Protected);

/// Runs one part in each thread, the first in the main one.
fn check(preemptions: usize, quota: u32, parts: &[Part]) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    let parts = parts.to_vec();
    builder.check(move || {
        let protected = Arc::new(Protected { lock: Published::new(quota), number: UnsafeCell::new(0) });
        let spawn = |&part: &Part| {
            let protected = Arc::clone(&protected);
            thread::spawn(move || part(&protected))
        };
        let threads: Vec<_> = parts[1..].iter().map(spawn).collect();
        parts[0](&protected);
        threads.into_iter().for_each(|thread| thread.join().expect("its assertions hold"));
    });
}

#[test]
fn writers_exclude_each_other_and_readers() {
    check(3, 1, &[Protected::write, Protected::write]);
    check(3, 1, &[Protected::read, Protected::write]);
    check(2, 1, &[Protected::read, Protected::write, Protected::write]);
    check(2, 4, &[Protected::read, Protected::read, Protected::write]);
}

/// In a process of its own, since a model that fails may panic while it panics.
#[test]
fn a_fence_left_out_is_found() {
    let program = std::env::current_exe().expect("this program");
    let mut command = std::process::Command::new(&program);
    command.args(["--ignored", "--exact", "run_without_a_fence"]).env("RUST_BACKTRACE", "0");
    let output = command.output().expect("this program runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("running 1 test") && !output.status.success(), "{said}");
}

#[test]
#[ignore = "run by the test of the fault"]
fn run_without_a_fence() {
    LEFT_OUT.set(Some(Step::ReaderLeft));
    check(3, 1, &[Protected::read, Protected::write]);
}
