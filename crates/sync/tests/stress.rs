//! The snapshot protocol with the real fences, under load: no value is seen after its end, all are freed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;
use sync::Published;

static ALIVE: AtomicI64 = AtomicI64::new(0);

/// Octets that all tell the value's number, until it is dropped.
struct Value(Vec<u64>);

impl Value {
    fn new(number: u64) -> Arc<Value> {
        ALIVE.fetch_add(1, Ordering::SeqCst);
        Arc::new(Value(vec![number; 64]))
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.0.fill(u64::MAX);
        ALIVE.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn readers_never_see_a_freed_value() {
    const REPLACEMENTS: u64 = 20_000;
    let published = Published::new(Value::new(0));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..4)
            .map(|_| {
                let mut reader = published.reader();
                let stop = &stop;
                scope.spawn(move || {
                    let (mut last, mut changes) = (0, 0u64);
                    while !stop.load(Ordering::Relaxed) {
                        reader.begin();
                        let value = reader.value().expect("within a batch");
                        let number = value.0[0];
                        assert!(value.0.iter().all(|word| *word == number), "torn or freed");
                        assert!(number >= last && number <= REPLACEMENTS);
                        changes += u64::from(number != last);
                        last = number;
                        reader.end();
                        assert!(reader.value().is_none());
                    }
                    changes
                })
            })
            .collect();
        for number in 1..=REPLACEMENTS {
            published.replace(Value::new(number));
        }
        stop.store(true, Ordering::Relaxed);
        for reader in readers {
            assert!(reader.join().expect("the reader's assertions hold") > 0, "a reader saw changes");
        }
    });
    assert_eq!(published.reclaim(), 0);
    assert_eq!(ALIVE.load(Ordering::SeqCst), 1);
    assert_eq!(published.current().0[0], REPLACEMENTS);
    drop(published);
    assert_eq!(ALIVE.load(Ordering::SeqCst), 0);
}

#[test]
fn a_sleeping_reader_holds_nothing_and_a_busy_one_its_value() {
    let published = Published::new(Arc::new(1));
    let mut busy = published.reader();
    let idle = published.reader();
    busy.begin();
    published.replace(Arc::new(2));
    published.replace(Arc::new(3));
    assert_eq!(busy.value(), Some(&1));
    // The second value was never in a batch of `busy`, but the writer cannot know: it waits as well.
    assert_eq!(published.reclaim(), 2);
    busy.begin();
    assert_eq!((busy.value(), published.reclaim()), (Some(&3), 0));
    drop(busy);
    std::thread::sleep(Duration::from_millis(1));
    published.replace(Arc::new(4));
    assert_eq!(published.reclaim(), 0);
    drop(idle);
}
