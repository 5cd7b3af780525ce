//! What changing one of many zones costs, and what it costs the others.
//!
//! `cargo run --release -p auth --example publications -- times|heap|rate|parts|repeat|counted ZONES [COUNT]`
//!
//! * `times`: publishing COUNT (200) small zones one by one, each in a pack of its own: median and worst.
//! * `heap`: octets of slots, views and versions a zone, with one parent and with as many parents as zones.
//! * `rate`: 10,000 publications a second for COUNT (60) seconds beside a worker that answers from other zones: what they cost an answer, answers
//!   that were kept and are made again, what is retired and not freed yet, and the verdict (exit status 1 where it is not kept). Needs valgrind.
//! * `parts`: one zone of ZONES names, changed 1,000 times a second for COUNT (10) seconds, as a whole and by parts: which share of 100,000 answers a second
//!   is made anew. Time is counted in answers, so that the figures are the same on any machine; exit status 1 where parts save less than three quarters.
//! * `counted`: COUNT rounds of a worker, and before each batch the publications of its time, none for COUNT 0: what `rate` counts
//!   the instructions of.
//! * `repeat`: COUNT publications and nothing else, for callgrind: (I(2N) - I(N)) / N is the cost of one.
#![allow(unsafe_code)] // a counting allocator

#[path = "../common/mod.rs"]
mod common;
mod parts;
mod rate;

use common::{apex, name, pack};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};
use sync::Collector;
use zone::catalog::{SlotNumber, ViewSource};
use zone::{Catalog, Pack, ZoneView};

static HEAP: AtomicI64 = AtomicI64::new(0);

struct Counting;

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HEAP.fetch_add(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller's duties are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HEAP.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

type Outcome = Result<(), String>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let usage = "usage: publications times|heap|rate|parts|repeat|counted ZONES [COUNT]";
    let [what, zones, rest @ ..] = &arguments[..] else { return Err(usage.into()) };
    let zones: usize = zones.parse().map_err(|_| usage)?;
    let count = |default| rest.first().map_or(Ok(default), |text| text.parse().map_err(|_| usage));
    match &**what {
        "times" => times(zones, count(200)?),
        "heap" => heap(zones),
        "rate" => rate::rate(zones, count(60)? as u64),
        "parts" => parts::parts(zones, count(10)? as u64),
        "counted" => rate::counted(zones, count(100)?),
        "repeat" => repeat(zones, count(1000)?),
        _ => Err(usage.into()),
    }
}

/// A catalog of one pack with so many zones, and their slots.
fn catalog(zones: usize, has_own_parent: bool) -> Result<(Catalog, Vec<SlotNumber>, i64), String> {
    let apexes = (0..zones).map(|at| apex(at, has_own_parent)).collect::<Result<Vec<_>, _>>()?;
    let pack = Arc::new(pack(&apexes, 1, 1)?);
    drop(apexes);
    let catalog = Catalog::new(1);
    let before = HEAP.load(Ordering::Relaxed);
    let hold = catalog.add_pack(Arc::clone(&pack));
    let begin = Instant::now();
    let slots = {
        let shown: Vec<_> = (0..zones as u32)
            .filter_map(|zone| {
                Some((ZoneView::new(&pack, zone)?.apex(), ViewSource::Pack(hold.number(), zone)))
            })
            .collect();
        catalog.insert(&shown)
    };
    catalog.domain().collect();
    let octets = HEAP.load(Ordering::Relaxed) - before - (slots.capacity() * size_of::<SlotNumber>()) as i64;
    eprintln!("{zones} zones inserted in {:.0} ms", begin.elapsed().as_secs_f64() * 1e3);
    Ok((catalog, slots, octets))
}

fn heap(zones: usize) -> Outcome {
    for has_own_parent in [false, true] {
        let (_catalog, _, octets) = catalog(zones, has_own_parent)?;
        let parents = if has_own_parent { "as many parents" } else { "one parent" };
        println!("{zones} zones with {parents}: {:.1} octets a zone", octets as f64 / zones as f64);
    }
    Ok(())
}

/// Packs for publications: each with one zone of those that have these numbers.
fn small_packs(numbers: &[usize], serial: u32) -> Result<Vec<Arc<Pack>>, String> {
    let packs = numbers.iter().map(|&at| Ok(Arc::new(pack(&[apex(at, false)?], at as u64, serial)?)));
    packs.collect()
}

fn publish(catalog: &Catalog, slot: SlotNumber, pack: &Arc<Pack>) -> Outcome {
    let hold = catalog.add_pack(Arc::clone(pack));
    catalog
        .publish(slot, None, ViewSource::Pack(hold.number(), 0))
        .map_err(|_| "somebody else publishes".into())
}

/// Numbers of zones, far from each other.
fn scattered(zones: usize, count: usize) -> Vec<usize> {
    (0..count).map(|at| at * 7919 % zones).collect()
}

fn times(zones: usize, count: usize) -> Outcome {
    let (catalog, slots, _) = catalog(zones, false)?;
    let _collector = Collector::start(&[catalog.domain().clone()]).map_err(|error| error.to_string())?;
    let numbers = scattered(zones, count);
    let packs = small_packs(&numbers, 2)?;
    let mut spans = Vec::new();
    for (&at, pack) in numbers.iter().zip(&packs) {
        // As far apart as commands of an operator.
        std::thread::sleep(Duration::from_millis(5));
        let begin = Instant::now();
        publish(&catalog, slots[at], pack)?;
        spans.push(begin.elapsed());
    }
    spans.sort();
    println!(
        "{count} of {zones} zones published: median {:?}, worst {:?}",
        spans[count / 2],
        spans[count - 1]
    );
    Ok(())
}

fn repeat(zones: usize, count: usize) -> Outcome {
    let (catalog, slots, _) = catalog(zones, false)?;
    let numbers = scattered(zones, 100);
    let packs = small_packs(&numbers, 2)?;
    for at in 0..count {
        publish(&catalog, slots[numbers[at % 100]], &packs[at % 100])?;
        if at % 64 == 63 {
            catalog.domain().collect();
        }
    }
    Ok(())
}
