//! What changing one of many zones costs, and what it costs the others.
//!
//! `cargo run --release -p auth --example publications -- times|heap|rate|repeat ZONES [COUNT]`
//!
//! * `times`: publishing COUNT (200) small zones one by one, each in a pack of its own: median and worst.
//! * `heap`: octets of slots, views and versions a zone, with one parent and with as many parents as zones.
//! * `rate`: 10,000 publications a second for COUNT (10) seconds beside a worker that answers from other zones: answers that were kept and are made
//!   again, garbage, processor time an answer with and without.
//! * `repeat`: COUNT publications and nothing else, for callgrind: (I(2N) - I(N)) / N is the cost of one.
#![allow(unsafe_code)] // a counting allocator

mod common;

use common::{apex, name, pack};

use auth::{Client, Responder, Server, Transport, inspect};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use sync::Collector;
use wire::iana::rtype;
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

/// Publications a second of `rate`.
const RATE: u64 = 10_000;
/// Zones that the worker of `rate` asks for: so few that hardly two want the same place among kept answers.
const ASKED: usize = 400;

type Outcome = Result<(), String>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let usage = "usage: publications times|heap|rate|repeat ZONES [COUNT]";
    let [what, zones, rest @ ..] = &arguments[..] else { return Err(usage.into()) };
    let zones: usize = zones.parse().map_err(|_| usage)?;
    let count = |default| rest.first().map_or(Ok(default), |text| text.parse().map_err(|_| usage));
    match &**what {
        "times" => times(zones, count(200)?),
        "heap" => heap(zones),
        "rate" => rate(zones, count(10)? as u64),
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

fn rate(zones: usize, seconds: u64) -> Outcome {
    let (catalog, slots, _) = catalog(zones, false)?;
    let domain = catalog.domain().clone();
    let _collector = Collector::start(std::slice::from_ref(&domain)).map_err(|error| error.to_string())?;
    // The worker asks for the first zones, the others are published.
    let numbers: Vec<usize> = scattered(zones - ASKED, 20_000).iter().map(|at| ASKED + at).collect();
    let packs = [small_packs(&numbers, 2)?, small_packs(&numbers, 3)?];
    let (is_over, is_publishing) = (AtomicBool::new(false), AtomicBool::new(false));
    // Answers, those that were kept, nanoseconds: without and with publications.
    let counts: [[AtomicU64; 3]; 2] = Default::default();
    let worker = || -> Outcome {
        let (mut reader, mut responder, server) = (catalog.reader(), Responder::new(), Server::default());
        let names = (0..ASKED).map(|at| name(&format!("ns.z{at}.example")));
        let queries = names
            .map(|name| Ok(inspect::query(0, &name?, rtype::A, Some((1232, false)))))
            .collect::<Result<Vec<_>, String>>()?;
        let mut buffer = vec![0; 1232];
        for query in queries.iter().chain(&queries) {
            reader.with(|view| {
                responder.answer(query, view, &server, &Client::unknown(Transport::Udp), &mut buffer)
            });
        }
        while !is_over.load(Ordering::Relaxed) {
            let mode = usize::from(is_publishing.load(Ordering::Relaxed));
            let (begin, before) = (processor_ns(), responder.repeated());
            for batch in queries.chunks(64) {
                reader.with(|view| {
                    for query in batch {
                        responder.answer(query, view, &server, &Client::unknown(Transport::Udp), &mut buffer);
                    }
                });
            }
            if mode == usize::from(is_publishing.load(Ordering::Relaxed)) {
                let spent = [ASKED as u64, responder.repeated() - before, processor_ns() - begin];
                for (to, by) in counts[mode].iter().zip(spent) {
                    to.fetch_add(by, Ordering::Relaxed);
                }
            }
        }
        Ok(())
    };
    let publisher = || -> Outcome {
        std::thread::sleep(Duration::from_secs(seconds / 4 + 1));
        is_publishing.store(true, Ordering::Relaxed);
        let (begin, mut count, mut garbage) = (Instant::now(), 0, Vec::new());
        while begin.elapsed() < Duration::from_secs(seconds) {
            while count < begin.elapsed().as_micros() as u64 * RATE / 1_000_000 {
                let at = count as usize;
                let packs = &packs[at / numbers.len() % 2];
                publish(&catalog, slots[numbers[at % numbers.len()]], &packs[at % numbers.len()])?;
                count += 1;
                if count % RATE == 0 {
                    garbage.push((domain.garbage(), HEAP.load(Ordering::Relaxed)));
                }
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        is_over.store(true, Ordering::Relaxed);
        println!("{count} publications in {:.1} s", begin.elapsed().as_secs_f64());
        let shown = |((pieces, octets), heap): &((usize, usize), i64)| {
            format!("{pieces} pieces {octets} octets, heap {heap}")
        };
        for at in [0, garbage.len() / 2, garbage.len().saturating_sub(1)] {
            if let Some(seen) = garbage.get(at) {
                println!("garbage after {} s: {}", at + 1, shown(seen));
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads = [scope.spawn(worker), scope.spawn(publisher)];
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a panic".to_owned())?)
    })?;
    for (text, count) in ["without", "with"].iter().zip(&counts) {
        let [answers, kept, ns] = [0, 1, 2].map(|at| count[at].load(Ordering::Relaxed));
        println!(
            "{text} publications: {answers} answers, {} of them not kept, {:.1} ns each",
            answers - kept,
            ns as f64 / answers as f64
        );
    }
    Ok(())
}

/// Processor time of this thread, which others on the machine do not disturb much.
fn processor_ns() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0)
}
