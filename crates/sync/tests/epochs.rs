//! Epochs with the real fences: what is freed when, bounds, the collector.

#![allow(unsafe_code)] // reading words

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sync::epoch::{COLLECT_AT, COLLECT_EVERY, Collected, Held, Word};
use sync::{Cell, Collector, Domain};

/// Counts what is dropped.
struct Counted<'c>(&'c AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn counter() -> &'static AtomicUsize {
    Box::leak(Box::default())
}

/// Waits until `is_so`, five seconds at most.
fn wait_until(is_so: impl Fn() -> bool) -> bool {
    let until = Instant::now() + Duration::from_secs(5);
    while !is_so() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    is_so()
}

#[test]
fn readers_hold_what_they_may_have_seen_and_no_more() {
    let (domain, dropped) = (Domain::new(), counter());
    let cell = Cell::new(&domain, Arc::new(1));
    let (mut busy, idle) = (domain.reader(), domain.reader());
    assert!(busy.guard().is_none() && idle.guard().is_none());
    busy.begin();
    let value = cell.load(&busy.guard().expect("within a batch"));
    cell.replace(Arc::new(2), 100);
    domain.retire(Box::new(|| drop(Counted(dropped))), 11);
    assert_eq!(domain.garbage(), (2, 111));
    assert_eq!(domain.collect(), Collected { freed: 0, left: 2, octets_left: 111 });
    assert_eq!((*value, *cell.load(&busy.guard().expect("within a batch")), *cell.current()), (1, 2, 2));
    busy.begin();
    domain.retire_value(Box::new(Counted(dropped)), 7);
    // The batch that the first two waited for is over, that of the third is not.
    assert_eq!(domain.collect(), Collected { freed: 2, left: 1, octets_left: 7 });
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
    drop(busy);
    assert_eq!(domain.collect(), Collected { freed: 1, left: 0, octets_left: 0 });
    assert_eq!(dropped.load(Ordering::SeqCst), 2);
}

#[test]
fn a_value_may_be_read_when_its_cell_is_gone() {
    let (domain, dropped) = (Domain::new(), counter());
    let mut reader = domain.reader();
    reader.begin();
    let cell = Cell::new(&domain, Arc::new(Counted(dropped)));
    let value = cell.load(&reader.guard().expect("within a batch"));
    drop(cell);
    assert_eq!((domain.collect().left, value.0.load(Ordering::SeqCst)), (1, 0));
    reader.end();
    assert_eq!((domain.collect().left, dropped.load(Ordering::SeqCst)), (0, 1));
}

#[test]
#[should_panic(expected = "another domain")]
fn a_guard_of_another_domain_is_refused() {
    let mut reader = Domain::new().reader();
    reader.begin();
    Cell::new(&Domain::new(), Arc::new(1)).load(&reader.guard().expect("within a batch"));
}

#[test]
fn words_say_nothing_numbers_and_values() {
    let (domain, dropped) = (Domain::new(), counter());
    let mut reader = domain.reader();
    let word = Word::default();
    let mut said = |word: &Word<(u64, Counted<'static>)>| {
        reader.begin();
        let guard = reader.guard().expect("within a batch");
        assert!(guard.is_of(&domain) && !guard.is_of(&Domain::new()));
        // SAFETY: the guard is of the domain that all replacements here name, and the word outlives the batch.
        let said = match unsafe { word.load(&guard) } {
            Held::Nothing => None,
            Held::Number(number) => Some(number),
            Held::Value(value) => Some(value.0),
        };
        reader.end();
        said
    };
    assert_eq!((said(&word), word.bits()), (None, 0));
    word.replace(Held::Number((1 << 63) - 1), &domain, 0);
    assert_eq!((said(&word), word.bits()), (Some((1 << 63) - 1), u64::MAX));
    word.replace(Held::Value(Box::new((7, Counted(dropped)))), &domain, 0);
    assert_eq!((said(&word), domain.garbage().0), (Some(7), 0));
    let bits = word.bits();
    assert_eq!(word.replace(Held::Value(Box::new((8, Counted(dropped)))), &domain, 40), bits);
    assert_eq!((domain.garbage(), dropped.load(Ordering::SeqCst), said(&word)), ((1, 40), 0, Some(8)));
    assert_eq!((domain.collect().freed, dropped.load(Ordering::SeqCst)), (1, 1));
    drop(word);
    assert_eq!(dropped.load(Ordering::SeqCst), 2);
}

#[test]
fn publishers_wait_for_room_and_are_told_when_there_is() {
    let domain = Domain::with_bounds(2, 100);
    let soon = || Instant::now() + Duration::from_millis(5);
    let retire = |octets| domain.retire(Box::new(|| ()), octets);
    retire(99);
    assert!(domain.wait_for_room(soon()));
    retire(0);
    assert!(!domain.wait_for_room(soon()), "two pieces");
    domain.collect();
    retire(100);
    assert!(!domain.wait_for_room(soon()), "100 octets");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| domain.wait_for_room(Instant::now() + Duration::from_secs(60)));
        std::thread::sleep(Duration::from_millis(5));
        domain.collect();
        assert!(waits.join().expect("no panic"));
    });
}

#[test]
fn garbage_that_panics_does_not_keep_the_rest() {
    let (domain, dropped) = (Domain::new(), counter());
    domain.retire(Box::new(|| panic!("garbage that panics, on purpose")), 1);
    domain.retire_value(Box::new(Counted(dropped)), 1);
    let collecting = std::panic::AssertUnwindSafe(|| domain.collect());
    assert!(std::panic::catch_unwind(collecting).is_err());
    assert_eq!((dropped.load(Ordering::SeqCst), domain.garbage()), (1, (0, 0)));
}

/// A reader that does not move on holds what came before it and, as nobody can know better, what was published during its
/// batch; others that began in between hold what is younger than themselves and nothing else.
#[test]
fn many_groups_become_one_and_wait_for_the_right_readers() {
    const GROUPS: usize = 200;
    let (domain, dropped) = (Domain::new(), counter());
    let (mut stuck, mut late) = (domain.reader(), domain.reader());
    stuck.begin();
    for group in 0..GROUPS {
        if group == GROUPS - 1 {
            late.begin();
        }
        domain.retire_value(Box::new(Counted(dropped)), 1);
        assert_eq!(domain.collect().left, group + 1);
    }
    drop(stuck);
    let freed = domain.collect().freed;
    assert!((1..GROUPS).contains(&freed), "the last group waits for the late reader: {freed}");
    late.end();
    assert_eq!((domain.collect().left, dropped.load(Ordering::SeqCst)), (0, GROUPS));
}

#[test]
fn a_collector_serves_its_domains_until_it_ends() {
    let (one, other, dropped) = (Domain::new(), Domain::new(), counter());
    one.retire_value(Box::new(Counted(dropped)), 1);
    let collector = Collector::start(&[one.clone(), other.clone()]).expect("a thread");
    assert!(wait_until(|| dropped.load(Ordering::SeqCst) == 1), "what was there before");
    one.retire(Box::new(|| panic!("garbage that panics, on purpose")), 1);
    for turn in 0..50 {
        let mut reader = other.reader();
        reader.begin();
        other.retire_value(Box::new(Counted(dropped)), 1);
        one.retire_value(Box::new(Counted(dropped)), 1);
        assert!(
            wait_until(|| dropped.load(Ordering::SeqCst) == 2 + 2 * turn),
            "the one is not delayed by the other"
        );
        drop(reader);
        assert!(wait_until(|| dropped.load(Ordering::SeqCst) == 3 + 2 * turn));
    }
    assert_eq!((one.garbage().0, other.garbage().0), (0, 0));
    other.retire_value(Box::new(Counted(dropped)), 1);
    drop(collector);
    assert_eq!(dropped.load(Ordering::SeqCst), 102, "a last collection");
    other.retire_value(Box::new(Counted(dropped)), 1);
    assert_eq!(other.garbage().0, 1, "nobody collects any more");
}

#[test]
fn a_collector_sleeps_without_garbage_and_looks_again_while_there_is() {
    let domain = Domain::new();
    let collector = Collector::start(std::slice::from_ref(&domain)).expect("a thread");
    // The round that it begins with.
    assert!(wait_until(|| collector.rounds() == 1));
    std::thread::sleep(10 * COLLECT_EVERY);
    assert_eq!(collector.rounds(), 1, "nothing is there");
    let mut reader = domain.reader();
    reader.begin();
    domain.retire(Box::new(|| ()), 0);
    assert!(wait_until(|| collector.rounds() >= 5), "the reader may be done");
    reader.end();
    assert!(wait_until(|| domain.garbage().0 == 0));
    let rounds = collector.rounds();
    std::thread::sleep(10 * COLLECT_EVERY);
    assert!(collector.rounds() <= rounds + 1, "nothing is there any more");
}

/// Less garbage than that is gathered for so long that none of it is freed earlier.
#[test]
fn a_collector_does_not_wait_when_there_is_much() {
    let domain = Domain::new();
    let _collector = Collector::start(std::slice::from_ref(&domain)).expect("a thread");
    let took = |pieces: usize| {
        let began = Instant::now();
        (0..pieces).for_each(|_| domain.retire(Box::new(|| ()), 0));
        while domain.garbage().0 > 0 {
            std::thread::yield_now();
        }
        began.elapsed()
    };
    assert!((0..5).all(|_| took(COLLECT_AT / 2) >= COLLECT_EVERY));
    // As often as another program may take the processor away.
    let until = Instant::now() + Duration::from_secs(10);
    while took(COLLECT_AT) >= COLLECT_EVERY {
        assert!(Instant::now() < until, "it always waits");
    }
}
