//! What a delta costs: octets a changed record, time of a change, rate of walks beside those of the pure pack.
//!
//! `cargo run --release -p zone --example delta_figures -- [names of the zone, 1,000,000] [changed records, 400,000]`
//!
//! A delta has no more octets than its pack, or 64 MiB: more records need a larger zone.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Instant;
use wire::iana::rtype;
use wire::{NameBuf, SortKey};
use zone::change::Records;
use zone::contents::SourcePosition;
use zone::delta::Rebuild;
use zone::delta::image::{Block, Loader};
use zone::{Change, ContentsBuilder, DeltaWriter, Pack, PackBuilder, TextStamp, ZoneView};

fn soa(serial: u32) -> Vec<u8> {
    [&b"\x02ns\0\x04host\0"[..], &serial.to_be_bytes(), &[0; 16]].concat()
}

fn name(number: usize) -> NameBuf {
    format!("h{number:07}.example.").parse().unwrap()
}

fn pack(names: usize) -> Pack {
    let apex: NameBuf = "example.".parse().unwrap();
    let mut contents = ContentsBuilder::new(&apex);
    contents.push(&apex, false, rtype::SOA, 60, &soa(0), SourcePosition::default()).unwrap();
    for number in 0..names {
        let address = (number as u32).to_be_bytes();
        contents.push(&name(number), false, rtype::A, 60, &address, SourcePosition::default()).unwrap();
    }
    let mut builder = PackBuilder::new(5);
    builder.add_zone(&contents.finish(), TextStamp::default()).unwrap();
    Pack::open(builder.finish().unwrap()).unwrap()
}

/// A change of the address of each of these names, as the last byte says.
fn change(serial: u32, numbers: &[usize]) -> Change {
    let apex: NameBuf = "example.".parse().unwrap();
    let (mut removed, mut added) = (Records::default(), Records::default());
    removed.push(&apex, rtype::SOA, 60, &soa(serial));
    added.push(&apex, rtype::SOA, 60, &soa(serial + 1));
    for &number in numbers {
        removed.push(&name(number), rtype::A, 60, &(number as u32).to_be_bytes());
        added.push(&name(number), rtype::A, 60, &(!(number as u32)).to_be_bytes());
    }
    Change::new(removed, added).unwrap()
}

/// Nanoseconds a walk, of names in an order of their own.
fn walks(view: &ZoneView<'_>, names: usize, prefix: &str) -> f64 {
    let keys: Vec<SortKey> = (0..20_000usize)
        .map(|at| at * 7919 % names)
        .map(|at| SortKey::of(&format!("{prefix}{at:07}.example.").parse::<NameBuf>().unwrap()))
        .collect();
    let mut best = f64::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        let found: u32 =
            keys.iter().map(|key| view.walk(key).unwrap().node.number()).fold(0, u32::wrapping_add);
        std::hint::black_box(found);
        best = best.min(start.elapsed().as_nanos() as f64 / keys.len() as f64);
    }
    best
}

/// What an image costs to write to memory, and to put in again by one thread, without checksums and files.
fn image(writer: &DeltaWriter, pack: &Arc<Pack>) {
    let (mut octets, start) = (Vec::new(), Instant::now());
    let mut write = |part: &[u8]| {
        octets.extend_from_slice(part);
        Ok(())
    };
    let mark = writer.pin().unwrap().write(None, &mut write).unwrap();
    let wrote = start.elapsed();
    println!("image: {} octets, {:.0} ms", octets.len(), wrote.as_secs_f64() * 1e3);
    let (mut from, start) = (&octets[..], Instant::now());
    let mut loader = Loader::new(Arc::clone(pack), 0, mark.rows() as usize).unwrap();
    loop {
        let block = Block::read(&mut from).unwrap();
        let is_end = block.is_end();
        loader.put(block).unwrap();
        if is_end {
            break;
        }
    }
    let (again, _) = loader.finish().unwrap();
    println!("  put in again: {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    assert_eq!(again.newest().row(), writer.newest().row());
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<usize>().unwrap());
    let names = arguments.next().unwrap_or(1_000_000);
    let records = arguments.next().unwrap_or(400_000).min(names);
    let pack = Arc::new(pack(names));
    println!("pack: {names} names, {} octets", pack.octets().len());
    let mut writer = DeltaWriter::new(Arc::clone(&pack), 0).unwrap();
    let pure = ZoneView::new(&pack, 0).unwrap();
    let (hit, miss) = (walks(&pure, names, "h"), walks(&pure, names, "x"));
    println!("pure pack: {hit:.0} ns a walk to a name that is there, {miss:.0} ns to one that is not");
    // One record a commit first, in an order of their own, then a hundred.
    let order: Vec<usize> = (0..records).map(|at| at * 611_953 % records).collect();
    let (one, many) = order.split_at(records.min(20_000));
    let octets =
        |writer: &DeltaWriter| writer.newest_box().delta().octets() + writer.newest_box().cells_octets();
    let (mut serial, start) = (0, Instant::now());
    let mut slowest = 0;
    for (at, number) in one.iter().enumerate() {
        let change = change(serial, &[*number]);
        let begin = Instant::now();
        let applied = writer.apply(&change).unwrap();
        writer.published(applied.changed.state());
        slowest = slowest.max(begin.elapsed().as_micros());
        if at == 0 {
            println!("the first commit: {} us, {} octets", begin.elapsed().as_micros(), octets(&writer));
        }
        serial += 1;
    }
    let each = start.elapsed().as_secs_f64() * 1e6 / one.len() as f64;
    println!("{} commits of one record: {each:.1} us each, the slowest {slowest} us", one.len());
    println!("  {:.0} octets a record", octets(&writer) as f64 / one.len() as f64);
    let start = Instant::now();
    for numbers in many.chunks(100) {
        let applied = writer.apply(&change(serial, numbers)).unwrap();
        writer.published(applied.changed.state());
        serial += 1;
    }
    let each = start.elapsed().as_secs_f64() * 1e6 / many.len().max(1) as f64;
    println!("{} records, a hundred a commit: {each:.1} us each", many.len());
    println!("  {:.0} octets a record", octets(&writer) as f64 / records as f64);
    let (hit, miss) = (walks(&writer.newest(), names, "h"), walks(&writer.newest(), names, "x"));
    println!("with the delta: {hit:.0} ns a walk to a name that is there, {miss:.0} ns to one that is not");
    let start = Instant::now();
    let rebuild = Rebuild::copy(writer.newest_box()).unwrap();
    let copy = rebuild.finish(&writer).map_err(|failed| failed.1).unwrap();
    println!(
        "copy: {:.0} ms, {:.0} octets a record",
        start.elapsed().as_secs_f64() * 1e3,
        octets(&copy) as f64 / records as f64
    );
    let (hit, miss) = (walks(&copy.newest(), names, "h"), walks(&copy.newest(), names, "x"));
    println!("  {hit:.0} ns a walk to a name that is there, {miss:.0} ns to one that is not");
    let start = Instant::now();
    let pieces = copy.newest_box().condensed(usize::MAX, zone::delta::PIECE_NAMES_MAX).unwrap();
    let octets: usize =
        pieces.iter().map(|piece| piece.removed().octets().len() + piece.added().octets().len()).sum();
    println!(
        "said as {} changes of {octets} octets: {:.0} ms",
        pieces.len(),
        start.elapsed().as_secs_f64() * 1e3
    );
    let start = Instant::now();
    let mut again = DeltaWriter::new(Arc::clone(&pack), 0).unwrap();
    for piece in &pieces {
        let applied = again.apply(piece).unwrap();
        again.published(applied.changed.state());
    }
    let replay = start.elapsed();
    println!("applied again, as by a start: {:.0} ms", replay.as_secs_f64() * 1e3);
    image(&copy, &pack);
    let start = Instant::now();
    let mut builder = PackBuilder::new(6);
    builder.merge_zone(&copy.newest()).unwrap();
    let merged = Pack::open(builder.finish().unwrap()).unwrap();
    println!("merge: {:.0} ms, {} octets", start.elapsed().as_secs_f64() * 1e3, merged.octets().len());
}
