#![allow(clippy::unwrap_used)]

use std::{
    sync::atomic::{AtomicU32, AtomicU64},
    time::Duration,
};

use super::*;
use crate::event::{Futex, Portable};

/// How often the threads of a test lock.
const TURNS: u64 = 20_000;

/// Four threads read a pair of numbers that are always equal, two change it, in all the ways there are.
fn stress<E: Event>(quota: u32) {
    let lock: RwLock<[u64; 2], E> = RwLock::with_quota("test", [0; 2], quota);
    let changes = AtomicU64::new(0);
    let change = |pair: &mut [u64; 2]| {
        assert_eq!(pair[0], pair[1]);
        pair[0] += 1;
        std::hint::black_box(&mut *pair);
        pair[1] += 1;
        changes.fetch_add(1, Ordering::Relaxed);
    };
    thread::scope(|scope| {
        for thread in 0..2 {
            let (lock, change) = (&lock, &change);
            scope.spawn(move || {
                for turn in 0..TURNS {
                    match (turn + thread) % 4 {
                        0 => {
                            if let Some(mut pair) = lock.try_write() {
                                change(&mut pair);
                            }
                        }
                        1 => {
                            if let Ok(mut pair) = lock.read().try_upgrade() {
                                change(&mut pair);
                            }
                        }
                        2 => {
                            let mut pair = lock.write();
                            change(&mut pair);
                            let pair = pair.downgrade();
                            assert_eq!(pair[0], pair[1]);
                        }
                        _ => change(&mut lock.write()),
                    }
                }
            });
        }
        for _ in 0..4 {
            scope.spawn(|| {
                for turn in 0..TURNS {
                    let pair = if turn % 8 == 0 { lock.try_read() } else { Some(lock.read()) };
                    if let Some(pair) = pair {
                        assert_eq!(pair[0], pair[1]);
                    }
                }
            });
        }
    });
    assert_eq!(*lock.read(), [changes.load(Ordering::Relaxed); 2]);
    let (asked, done, waiting) = lock.counts();
    assert_eq!((asked, waiting), (done, 0));
    assert!(!lock.is_poisoned());
    lock.into_inner();
}

#[test]
fn readers_see_whole_changes() {
    stress::<Futex>(QUOTA);
    stress::<Portable>(QUOTA);
    stress::<Futex>(1);
    stress::<Futex>(u32::MAX);
}

#[test]
fn who_may_have_it_with_whom() {
    let mut lock = RwLock::new(0);
    {
        let reader = lock.read();
        assert!(lock.try_read().is_some() && lock.try_write().is_none());
        let other = lock.try_read().unwrap();
        let reader = reader.try_upgrade().err().unwrap();
        drop(other);
        let mut writer = reader.try_upgrade().ok().unwrap();
        *writer += 1;
        assert!(lock.try_read().is_none() && lock.try_write().is_none());
        assert_eq!(format!("{lock:?}"), "RwLock(locked)");
        let reader = writer.downgrade();
        assert!(lock.try_read().is_some() && lock.try_write().is_none());
        assert_eq!(*reader, 1);
    }
    *lock.get_mut() += 1;
    assert_eq!((format!("{lock:?}").as_str(), lock.into_inner()), ("RwLock(2)", 2));
}

/// What would wait for itself with a writer in between, or at once, is told where it is asked.
#[cfg(debug_assertions)]
#[test]
fn who_asks_twice_panics() {
    let (lock, other) = (RwLock::new(0), RwLock::new(0));
    let panics = |asks: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(asks)).is_err();
    let reads = || drop(lock.read());
    let writes = || drop(lock.write());
    let first = lock.read();
    assert!(panics(&reads) && panics(&writes));
    // Whatever the guard has become, and though another one of the thread is gone.
    let first = first.try_upgrade().ok().unwrap();
    drop(other.read());
    assert!(panics(&reads) && panics(&writes));
    let (first, second) = (first.downgrade(), lock.try_read().unwrap());
    assert!(panics(&reads));
    drop(first);
    assert!(panics(&reads));
    drop(second);
    assert!(!panics(&reads) && !panics(&writes));
    // Another thread is another matter.
    let _reader = lock.read();
    thread::scope(|scope| scope.spawn(reads).join().unwrap());
}

/// Waits until a lock has seen so many writers ask and so many readers wait.
fn await_counts(lock: &RwLock<Vec<u32>>, writers: u32, readers: u32) {
    while lock.counts().0 != writers || lock.counts().2 != readers {
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn writers_in_their_order_and_readers_after_the_quota() {
    let lock = RwLock::with_quota("test", Vec::new(), 3);
    let reads_at = AtomicU32::new(0);
    thread::scope(|scope| {
        let first = lock.write();
        for number in 0..6 {
            let lock = &lock;
            scope.spawn(move || lock.write().push(number));
            await_counts(lock, number + 2, 0);
        }
        scope.spawn(|| {
            let length = lock.read().len();
            reads_at.store(length as u32, Ordering::Relaxed);
        });
        await_counts(&lock, 7, 1);
        drop(first);
    });
    assert_eq!(*lock.read(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(reads_at.into_inner(), 2, "after three writers, of which the first wrote nothing");
}

#[test]
fn a_writer_that_panics() {
    let lock = RwLock::new(1);
    let panics = |with_writer: bool| {
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let _guards =
                    if with_writer { (None, Some(lock.write())) } else { (Some(lock.read()), None) };
                panic!("as the test wants it");
            });
            assert!(thread.join().is_err());
        });
    };
    panics(false);
    assert!(!lock.is_poisoned());
    panics(true);
    assert!(lock.is_poisoned());
    *lock.write() += 1;
    assert_eq!(*lock.read(), 2);
    lock.clear_poison();
    assert!(!lock.is_poisoned());
}
