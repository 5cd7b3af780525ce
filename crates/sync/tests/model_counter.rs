//! Counters and counted pointers under the model checker: the value is freed once, by one holder, after all that the others
//! did with it.

#![allow(unsafe_code, dead_code)]

/// The checker's atomics in place of those of the standard library.
mod primitives {
    pub(crate) use loom::sync::atomic::Ordering;

    /// Whether holders leave without an order: the fault that must be found.
    pub(crate) static IS_UNORDERED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

    #[derive(Debug)]
    pub(crate) struct AtomicU32(loom::sync::atomic::AtomicU32);

    impl AtomicU32 {
        pub(crate) fn new(value: u32) -> AtomicU32 {
            AtomicU32(loom::sync::atomic::AtomicU32::new(value))
        }

        pub(crate) fn load(&self, order: Ordering) -> u32 {
            self.0.load(order)
        }

        pub(crate) fn fetch_add(&self, value: u32, order: Ordering) -> u32 {
            self.0.fetch_add(value, order)
        }

        pub(crate) fn fetch_sub(&self, value: u32, order: Ordering) -> u32 {
            let is_unordered = IS_UNORDERED.load(std::sync::atomic::Ordering::Relaxed);
            self.0.fetch_sub(value, if is_unordered { Ordering::Relaxed } else { order })
        }
    }
}

/// Of the protections, the one counter that is checked.
mod protection {
    use super::counter::Counter;

    pub(crate) trait Count: Send + Sync {
        fn new(holders: u32) -> Self;
        fn hold(&self);
        fn release(&self) -> bool;
    }

    impl Count for Counter {
        fn new(holders: u32) -> Counter {
            Counter::new(holders)
        }

        fn hold(&self) {
            Counter::hold(self);
        }

        fn release(&self) -> bool {
            Counter::release(self)
        }
    }
}

#[path = "../src/counted.rs"]
mod counted;
#[path = "../src/counter.rs"]
mod counter;

use loom::{cell::UnsafeCell, thread};

/// A value that the checker watches: used with any number of others, freed alone.
struct Watched(UnsafeCell<u32>);

// SAFETY: the checker finds every access that is not ordered.
unsafe impl Sync for Watched {}

impl Drop for Watched {
    fn drop(&mut self) {
        // SAFETY: the checker reports any access that is not ordered with it.
        self.0.with_mut(|number| unsafe { *number += 1 });
    }
}

type Held = counted::Counted<Watched, counter::Counter>;

fn check(threads: usize) {
    loom::model(move || {
        let held = Held::new(Watched(UnsafeCell::new(0)));
        let work = |held: Held| {
            let again = held.clone();
            drop(held);
            // SAFETY: as above.
            again.0.with(|number| unsafe { assert_eq!(*number, 0, "nobody has freed it") });
        };
        let others: Vec<_> = (1..threads)
            .map(|_| {
                let held = held.clone();
                thread::spawn(move || work(held))
            })
            .collect();
        work(held);
        others.into_iter().for_each(|thread| thread.join().expect("its assertions hold"));
    });
}

#[test]
fn two_holders() {
    check(2);
}

/// What takes many orders of steps to try.
mod long {
    #[test]
    #[ignore = "long: make test-long"]
    fn three_holders() {
        super::check(3);
    }
}

/// In a process of its own, since a model that fails may panic while it panics, which ends the process.
#[test]
fn holders_that_leave_without_order_are_found() {
    let program = std::env::current_exe().expect("this program");
    let mut command = std::process::Command::new(&program);
    command.args(["--ignored", "--exact", "run_unordered"]).env("RUST_BACKTRACE", "0");
    let output = command.output().expect("this program runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("running 1 test") && !output.status.success(), "{said}");
}

#[test]
#[ignore = "run by the test of the fault"]
fn run_unordered() {
    primitives::IS_UNORDERED.store(true, std::sync::atomic::Ordering::Relaxed);
    check(2);
}
