//! Counters and counted pointers by many threads at once.

use std::{sync::Arc, thread};

use sync::{
    Counted, Counter,
    protection::{Count, OrdinaryCounter},
    unshared::UnsharedCounter,
};

#[test]
fn the_last_one_knows() {
    let counter = Counter::new(4);
    let last: u32 = thread::scope(|scope| {
        let work = || {
            for _ in 0..10_000 {
                counter.hold();
                assert!(!counter.release());
            }
            u32::from(counter.release())
        };
        [(); 4].map(|()| scope.spawn(work)).into_iter().map(|thread| thread.join().unwrap_or(9)).sum()
    });
    assert_eq!((last, counter.holders()), (1, 0));
}

#[test]
#[should_panic(expected = "more often than held")]
fn one_too_many() {
    let counter = Counter::new(1);
    counter.release();
    counter.release();
}

fn check<C: Count>(threads: usize) {
    let alive = Arc::new(());
    let counted: Counted<Arc<()>, C> = Counted::new(Arc::clone(&alive));
    let work = || (0..1000).for_each(|_| assert_eq!(Arc::strong_count(&counted.clone()), 2));
    match threads {
        0 => work(),
        _ => thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work)))),
    }
    let other = counted.clone();
    drop(counted);
    assert_eq!(Arc::strong_count(&alive), 2);
    drop(other);
    assert_eq!(Arc::strong_count(&alive), 1);
}

#[test]
fn the_last_holder_frees_it() {
    check::<Counter>(4);
    check::<OrdinaryCounter>(4);
    check::<UnsharedCounter>(0);
}
