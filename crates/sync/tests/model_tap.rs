//! Taps under the model checker: what is read was written, in order, also when readers come and go; and the same with faults,
//! which must be found.

#![allow(dead_code)]

/// The checker's atomics in place of those of the standard library.
mod primitives {
    use std::cell::Cell;

    pub(crate) use loom::sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    };

    /// Whether words are handed over without an order: the fault that must be found.
    pub(crate) const HEAD: u32 = 1;
    pub(crate) const TAIL: u32 = 2;

    std::thread_local! {
        /// The checker runs all threads of a model on the one that asked for it.
        pub(crate) static FAULT: Cell<u32> = const { Cell::new(0) };
    }

    pub(crate) struct AtomicU64(loom::sync::atomic::AtomicU64);

    impl AtomicU64 {
        pub(crate) fn new(value: u64) -> AtomicU64 {
            AtomicU64(loom::sync::atomic::AtomicU64::new(value))
        }

        pub(crate) fn load(&self, order: Ordering) -> u64 {
            self.0.load(if FAULT.get() == HEAD { Ordering::Relaxed } else { order })
        }

        pub(crate) fn store(&self, value: u64, order: Ordering) {
            self.0.store(value, if FAULT.get() == TAIL { Ordering::Relaxed } else { order });
        }
    }
}

#[path = "../src/tap.rs"]
mod tap;

use loom::thread;
use primitives::{FAULT, HEAD, TAIL};
use tap::{Wants, ring};

const ALL: Wants = Wants { one_in: 1, query_octets: 8, response_octets: 0, others: false };

fn model(preemptions: usize, act: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(act);
}

/// `records` records of a word, in a ring that has room for two; the reader looks as often. If it `goes`, another comes then.
fn records(preemptions: usize, records: u64, goes: bool) {
    model(preemptions, move || {
        let (mut writer, tap) = ring(4 * 8);
        let mut reader = tap.attach(ALL).expect("the first");
        let thread = thread::spawn(move || {
            for number in 1..=records {
                if writer.wants().is_none() {
                    continue;
                }
                writer.write([number], []);
                writer.publish();
            }
        });
        let (mut last, mut count, mut record) = (0, 0, Vec::new());
        let mut look = |reader: &mut tap::Reader| {
            if reader.read(&mut record) {
                let number = u64::from_le_bytes(record[..].try_into().expect("eight octets"));
                assert!(last < number && number <= records, "{number} after {last}");
                (last, count) = (number, count + 1);
            }
        };
        (0..records).for_each(|_| look(&mut reader));
        if goes {
            drop(reader);
            reader = tap.attach(ALL).expect("the only one");
            (0..2).for_each(|_| look(&mut reader));
        }
        thread.join().expect("no panic");
        (0..2).for_each(|_| look(&mut reader));
        assert!(goes || count + reader.dropped() == records, "each is read, or dropped and counted");
    });
}

#[test]
fn records_are_as_they_were_written() {
    records(2, 3, false);
}

#[test]
fn readers_come_and_go() {
    records(2, 2, true);
}

/// Name of the variable that says which fault a process of its own is to run with.
const FAULT_VARIABLE: &str = "SYNC_MODEL_FAULT";

/// Each in a process of its own, since a model that fails may panic while it panics, which ends the process.
#[test]
fn faults_are_found() {
    let program = std::env::current_exe().expect("this program");
    for fault in [0, HEAD, TAIL] {
        let mut command = std::process::Command::new(&program);
        command.args(["--ignored", "--exact", "run_with_fault"]).env(FAULT_VARIABLE, fault.to_string());
        let output = command.env("RUST_BACKTRACE", "0").output().expect("this program runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("running 1 test"), "{said}");
        assert_eq!(output.status.success(), fault == 0, "{fault}: {said}");
    }
}

#[test]
#[ignore = "run by the test of the faults"]
fn run_with_fault() {
    let fault = std::env::var(FAULT_VARIABLE).ok().and_then(|fault| fault.parse().ok());
    FAULT.set(fault.unwrap_or(0));
    records(2, 3, false);
}

/// More changes of thread: minutes.
mod long {
    use super::*;

    #[test]
    #[ignore = "long"]
    fn records_with_more_of_all() {
        records(3, 4, false);
        records(3, 3, true);
    }
}
