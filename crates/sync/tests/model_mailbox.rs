//! Mailboxes under the model checker: nothing is lost or comes twice, no wake-up is lost, and none depends on another pusher;
//! and the same with faults, which must be found.

#![allow(unsafe_code, dead_code)]

/// The checker's atomics in place of those of the standard library.
mod primitives {
    use std::cell::Cell;

    pub(crate) use loom::sync::atomic::Ordering;
    use loom::sync::atomic::fence;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Step {
        Pushed,
        OwnerSleeps,
    }

    /// What is left out.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Fault {
        None,
        Fence(Step),
        /// That a thing is in the list after it was made.
        Push,
        /// That a thing is used after it was taken.
        Take,
        /// That whoever finds the owner asleep wakes it: only the first does.
        EachWakes,
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

    /// The head of the list.
    pub(crate) struct AtomicPtr<T>(loom::sync::atomic::AtomicPtr<T>);

    impl<T> AtomicPtr<T> {
        pub(crate) fn new(pointer: *mut T) -> AtomicPtr<T> {
            AtomicPtr(loom::sync::atomic::AtomicPtr::new(pointer))
        }

        pub(crate) fn load(&self, order: Ordering) -> *mut T {
            self.0.load(order)
        }

        pub(crate) fn swap(&self, pointer: *mut T, order: Ordering) -> *mut T {
            self.0.swap(pointer, order)
        }

        pub(crate) fn compare_exchange(
            &self,
            old: *mut T,
            new: *mut T,
            order: Ordering,
            otherwise: Ordering,
        ) -> Result<*mut T, *mut T> {
            let fault = if new.is_null() { Fault::Take } else { Fault::Push };
            let order = if FAULT.get() == fault { Ordering::Relaxed } else { order };
            self.0.compare_exchange(old, new, order, otherwise)
        }
    }

    /// Whether the owner sleeps.
    pub(crate) struct AtomicU32(loom::sync::atomic::AtomicU32);

    impl AtomicU32 {
        pub(crate) fn new(value: u32) -> AtomicU32 {
            AtomicU32(loom::sync::atomic::AtomicU32::new(value))
        }

        pub(crate) fn load(&self, order: Ordering) -> u32 {
            match FAULT.get() {
                Fault::EachWakes => self.0.swap(0, Ordering::AcqRel),
                _ => self.0.load(order),
            }
        }

        pub(crate) fn store(&self, value: u32, order: Ordering) {
            self.0.store(value, order);
        }
    }
}

#[path = "../src/mailbox.rs"]
mod mailbox;

use loom::{
    cell::UnsafeCell,
    sync::{Arc, Condvar, Mutex},
    thread,
};
use mailbox::{Mailbox, Wake};
use primitives::{FAULT, Fault, Step};

/// A value whose making and end the checker orders, and whose loss it reports.
struct Tracked {
    number: UnsafeCell<usize>,
    _is_dropped: Arc<()>,
}

// SAFETY: the checker finds every access that is not ordered.
unsafe impl Send for Tracked {}

impl Tracked {
    fn new(number: usize) -> Tracked {
        let tracked = Tracked { number: UnsafeCell::new(0), _is_dropped: Arc::new(()) };
        // SAFETY: the checker reports any access that is not ordered with it.
        tracked.number.with_mut(|place| unsafe { *place = number });
        tracked
    }

    fn number(&self) -> usize {
        // SAFETY: as above.
        self.number.with(|number| unsafe { *number })
    }
}

/// What an eventfd does.
struct Event(Mutex<bool>, Condvar);

impl Event {
    fn write(&self) {
        *self.0.lock().expect("no thread panics") = true;
        self.1.notify_one();
    }

    fn wait(&self) {
        let mut is_written = self.0.lock().expect("no thread panics");
        while !*is_written {
            is_written = self.1.wait(is_written).expect("no thread panics");
        }
        *is_written = false;
    }
}

fn model(preemptions: usize, act: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(act);
}

/// Pushers of `each` things, which have numbers in their order. The owner sleeps whenever nothing is there, until it has all of
/// those who wake it; the first pusher never does (it lost its processor when it was about to) if `one_is_lost`.
fn pushers(preemptions: usize, count: usize, each: usize, one_is_lost: bool) {
    model(preemptions, move || {
        let shared = Arc::new((Mailbox::new(), Event(Mutex::new(false), Condvar::new())));
        let threads: Vec<_> = (0..count)
            .map(|pusher| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    for number in 0..each {
                        let wake = shared.0.push((pusher, Tracked::new(number)));
                        let wake = wake.unwrap_or_else(|_| panic!("it is open"));
                        if wake == Wake::Needed && !(one_is_lost && pusher == 0) {
                            shared.1.write();
                        }
                    }
                })
            })
            .collect();
        let (mailbox, event) = &*shared;
        let mut next = vec![0; count];
        let mut take = || {
            for (pusher, thing) in mailbox.take() {
                assert_eq!(thing.number(), next[pusher], "in the order in which they came");
                next[pusher] += 1;
            }
            next[usize::from(one_is_lost)..].iter().all(|&taken| taken == each)
        };
        while !take() {
            if mailbox.prepare_to_sleep() {
                event.wait();
                mailbox.awake();
            }
        }
        threads.into_iter().for_each(|thread| thread.join().expect("its assertions hold"));
        take();
        assert!(next.iter().all(|&taken| taken == each) && mailbox.is_empty(), "all came");
    });
}

/// A pusher beside an owner who closes the mailbox: each thing is taken or comes back.
fn ends(preemptions: usize) {
    model(preemptions, || {
        let mailbox = Arc::new(Mailbox::new());
        let pushed = Arc::clone(&mailbox);
        let pusher = thread::spawn(move || {
            let results = [0, 1].map(|number| pushed.push(Tracked::new(number)));
            results.into_iter().filter(Result::is_ok).count()
        });
        let before = mailbox.take().inspect(|thing| assert!(thing.number() < 2)).count();
        let at_the_end = mailbox.close().inspect(|thing| assert!(thing.number() < 2)).count();
        assert!(mailbox.push(Tracked::new(2)).is_err());
        assert_eq!(pusher.join().expect("no panic"), before + at_the_end);
        assert!(mailbox.is_empty());
    });
}

#[test]
fn the_owner_is_woken() {
    pushers(3, 1, 2, false);
    pushers(2, 2, 1, false);
}

#[test]
fn a_pusher_that_never_wakes_holds_up_nobody() {
    pushers(2, 2, 1, true);
}

#[test]
fn nothing_is_lost_at_the_end() {
    ends(3);
}

/// Name of the variable that says which fault a process of its own is to run with.
const FAULT_VARIABLE: &str = "SYNC_MODEL_FAULT";

/// And what the checker says of each.
const FAULTS: [(Fault, &str); 6] = [
    (Fault::None, "test result: ok"),
    (Fault::Fence(Step::Pushed), "deadlock"),
    (Fault::Fence(Step::OwnerSleeps), "deadlock"),
    (Fault::Push, "Causality violation"),
    (Fault::Take, "Causality violation"),
    (Fault::EachWakes, "deadlock"),
];

/// Each in a process of its own, since a model that fails may panic while it panics, which ends the process.
#[test]
fn faults_are_found() {
    let program = std::env::current_exe().expect("this program");
    for (index, (fault, expected)) in FAULTS.iter().enumerate() {
        let mut command = std::process::Command::new(&program);
        command.args(["--ignored", "--exact", "run_with_fault"]).env(FAULT_VARIABLE, index.to_string());
        let output = command.env("RUST_BACKTRACE", "0").output().expect("this program runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = said + &String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("running 1 test") && said.contains(expected), "{fault:?}: {said}");
        assert_eq!(output.status.success(), *fault == Fault::None, "{fault:?}: {said}");
    }
}

#[test]
#[ignore = "run by the test of the faults"]
fn run_with_fault() {
    let index = std::env::var(FAULT_VARIABLE).ok().and_then(|index| index.parse::<usize>().ok());
    FAULT.set(FAULTS[index.unwrap_or(0)].0);
    pushers(2, 1, 1, false);
    pushers(2, 2, 1, true);
}

/// More changes of thread: minutes.
mod long {
    use super::*;

    #[test]
    #[ignore = "long"]
    fn pushers_with_more_of_all() {
        pushers(5, 1, 3, false);
        pushers(3, 2, 1, true);
        pushers(2, 2, 2, false);
        pushers(2, 3, 1, true);
        ends(6);
    }
}
