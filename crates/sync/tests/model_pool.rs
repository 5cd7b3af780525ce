//! The pool of work areas under the model checker: a thing that is taken belongs to one thread.

#![allow(unsafe_code, dead_code)]

/// The checker's atomics in place of those of the standard library.
mod primitives {
    pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

    loom::thread_local! {
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

#[path = "../src/area/pool.rs"]
mod pool;

use loom::{cell::UnsafeCell, sync::Arc, thread};
use pool::Pool;

/// A thing that the checker watches.
struct Thing(UnsafeCell<u32>);

// SAFETY: the checker finds every access that is not ordered.
unsafe impl Sync for Thing {}

fn check(things: usize, threads: usize, turns: usize) {
    loom::model(move || {
        let pool = Arc::new(Pool::new(things));
        let work = move |pool: &Pool<Thing>| {
            for _ in 0..turns {
                let Some(taken) = pool.take(|| Thing(UnsafeCell::new(0))) else { continue };
                // SAFETY: the checker reports any access that is not ordered with it.
                taken.0.with_mut(|number| unsafe { *number += 1 });
                pool.put(taken);
            }
        };
        let others: Vec<_> = (1..threads)
            .map(|_| {
                let pool = Arc::clone(&pool);
                thread::spawn(move || work(&pool))
            })
            .collect();
        work(&pool);
        others.into_iter().for_each(|thread| thread.join().expect("its assertions hold"));
        assert!((1..=things).contains(&pool.made()));
        let all: Vec<_> = (0..things).map_while(|_| pool.take(|| Thing(UnsafeCell::new(0)))).collect();
        assert_eq!(all.len(), things, "none is lost");
        all.into_iter().for_each(|taken| pool.put(taken));
    });
}

#[test]
fn one_thing_two_threads() {
    check(1, 2, 2);
}

#[test]
fn two_things_two_threads() {
    check(2, 2, 2);
}
