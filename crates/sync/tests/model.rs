//! The snapshot protocol under the model checker: every interleaving and every reordering that the memory
//! model allows, for small numbers of threads and turns.

#![allow(unsafe_code)]

/// The checker's atomics in place of those of the standard library.
mod primitives {
    pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
    pub(crate) use loom::sync::{Arc, Mutex};

    pub(crate) fn prepare() {}

    pub(crate) fn light() {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }

    pub(crate) fn heavy() {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }
}

#[path = "../src/snapshot.rs"]
mod snapshot;

use loom::cell::UnsafeCell;
use snapshot::Published;
use std::sync::Arc;

/// A value whose readers and whose end the checker tracks: reading it while or after it is dropped fails.
struct Tracked(UnsafeCell<u32>);

// SAFETY: the checker finds every access that is not ordered.
unsafe impl Sync for Tracked {}

impl Tracked {
    fn new(number: u32) -> Arc<Tracked> {
        Arc::new(Tracked(UnsafeCell::new(number)))
    }

    fn read(&self) -> u32 {
        // SAFETY: read only; the checker reports a write that is not ordered with it.
        self.0.with(|number| unsafe { *number })
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        // SAFETY: the only owner; the checker reports a read that is not ordered before.
        self.0.with_mut(|number| unsafe { *number = u32::MAX });
    }
}

fn check(readers: usize, batches: usize, replacements: u32) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let published = Published::new(Tracked::new(0));
        let threads: Vec<_> = (0..readers)
            .map(|_| {
                let mut reader = published.reader();
                loom::thread::spawn(move || {
                    let mut last = 0;
                    for _ in 0..batches {
                        reader.begin();
                        let first = reader.value().expect("within a batch").read();
                        let second = reader.value().expect("within a batch").read();
                        reader.end();
                        assert_eq!(first, second, "a batch sees one value");
                        assert!(first >= last && first <= replacements, "values come in order");
                        last = first;
                    }
                })
            })
            .collect();
        for number in 1..=replacements {
            published.replace(Tracked::new(number));
        }
        for thread in threads {
            thread.join().expect("the reader's assertions hold");
        }
        assert_eq!(published.reclaim(), 0, "nobody uses an old value");
        assert_eq!(published.current().read(), replacements);
    });
}

#[test]
fn one_reader_two_batches() {
    check(1, 2, 2);
}

#[test]
fn two_readers() {
    check(2, 1, 1);
}
