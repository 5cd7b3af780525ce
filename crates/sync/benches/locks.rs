//! What a lock costs that nobody contends for: ours beside those of the standard library and of `parking_lot`.
//!
//! `cargo bench -p sync`. Each figure is the median of many short rounds, in which all locks have their turn in an
//! order that changes; so a machine that is disturbed now and then disturbs all alike.

use std::{hint::black_box, time::Instant};

use sync::{
    RwLock,
    event::{Futex, Portable},
};

/// Rounds of all locks.
const ROUNDS: usize = 201;
/// Locks and unlocks of a turn: about 100 µs.
const TURN: u32 = 10_000;

type Turn<'t> = Box<dyn Fn() + 't>;

fn main() {
    // `cargo test` runs it without this word, and wants it built.
    if !std::env::args().any(|word| word == "--bench") {
        return;
    }
    let ours = RwLock::new(1u64);
    let portable: RwLock<u64, sync::rwlock::Raw<Portable>> =
        RwLock::with_quota("rwlock", 1, sync::rwlock::QUOTA);
    let (system, parking) = (std::sync::RwLock::new(1u64), parking_lot::RwLock::new(1u64));
    let (mutex, parking_mutex) = (std::sync::Mutex::new(1u64), parking_lot::Mutex::new(1u64));
    let raw = sync::rwlock::Raw::<Futex>::new(4);
    let domain = sync::Domain::new();
    let cell = sync::Cell::new(&domain, std::sync::Arc::new(1u64));
    let reader = std::cell::RefCell::new(domain.reader());
    let _collector = sync::Collector::start(std::slice::from_ref(&domain)).expect("a thread");
    let reads: Vec<(&str, Turn<'_>)> = vec![
        (
            "parking_lot::RwLock",
            Box::new(|| {
                black_box(*parking.read());
            }),
        ),
        (
            "sync::RwLock",
            Box::new(|| {
                black_box(*ours.read());
            }),
        ),
        (
            "sync::RwLock, portable",
            Box::new(|| {
                black_box(*portable.read());
            }),
        ),
        (
            "sync::rwlock::Raw",
            Box::new(|| {
                raw.read();
                raw.read_unlock();
            }),
        ),
        (
            "std::sync::RwLock",
            Box::new(|| {
                black_box(*system.read().expect("no panic"));
            }),
        ),
        (
            "sync::Cell",
            Box::new(|| {
                let mut reader = reader.borrow_mut();
                reader.begin();
                black_box(reader.guard().map(|guard| *cell.load(&guard)));
                reader.end();
            }),
        ),
    ];
    let writes: Vec<(&str, Turn<'_>)> = vec![
        (
            "parking_lot::RwLock",
            Box::new(|| {
                *parking.write() += 1;
            }),
        ),
        (
            "sync::RwLock",
            Box::new(|| {
                *ours.write() += 1;
            }),
        ),
        (
            "std::sync::RwLock",
            Box::new(|| {
                *system.write().expect("no panic") += 1;
            }),
        ),
        (
            "std::sync::Mutex",
            Box::new(|| {
                *mutex.lock().expect("no panic") += 1;
            }),
        ),
        (
            "parking_lot::Mutex",
            Box::new(|| {
                *parking_mutex.lock() += 1;
            }),
        ),
        // A publication: allocates the new value; another thread frees the old one.
        (
            "sync::Cell",
            Box::new(|| {
                cell.replace(std::sync::Arc::new(1), 8);
            }),
        ),
    ];
    compare("read and unlock", &reads);
    compare("write and unlock", &writes);
}

fn compare(what: &str, locks: &[(&str, Turn<'_>)]) {
    let mut found = vec![Vec::new(); locks.len()];
    for round in 0..ROUNDS {
        for step in 0..locks.len() {
            let which = (round + step * (1 + round % 2 * (locks.len() - 2))) % locks.len();
            let began = Instant::now();
            for _ in 0..TURN {
                locks[which].1();
            }
            found[which].push(began.elapsed().as_secs_f64() * 1e9 / f64::from(TURN));
        }
    }
    println!("{what:<28} {:>8} {:>28}", "ns", "beside the first");
    let first = found[0].clone();
    for ((name, _), times) in locks.iter().zip(&found) {
        let ratios = times.iter().zip(&first).map(|(own, first)| own / first).collect();
        println!("{name:<28} {:>8.2} {:>27.2}×", median(times.clone()), median(ratios));
    }
    println!();
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
