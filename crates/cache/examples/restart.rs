//! A cache that is filled, written, and taken in by another: memory and times.
//!
//! `cargo run --release -p cache --example restart -- 1000000 256`: entries, MiB.
//!
//! A third argument is the file `cache` of a server that was told to write it: it gets these entries beside what it says that they depend on, for measurements of that server's start.

use std::time::Instant;

use cache::dump::{Dump, Situation};
use cache::{Cache, Copied, Entry, Key, Moment, Settings};
use wire::name::NameBuf;
use wire::rrset::RdataListBuf;

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let [count, mebibytes] = numbers[..] else {
        eprintln!("restart ENTRIES MEBIBYTES");
        std::process::exit(2)
    };
    let settings = Settings { octets: mebibytes << 20, ..Settings::default() };
    let before = resident_octets();
    let old = Cache::with(&settings, [1, 2, 3]);
    println!("resident at the begin {} KiB", (resident_octets() - before) >> 10);
    let begun = Instant::now();
    for number in 0..count {
        put(&old, number);
    }
    let counts = old.counts();
    println!(
        "{:.0} ns a put, resident {} of {} KiB; {counts:?}",
        begun.elapsed().as_nanos() as f64 / count as f64,
        (resident_octets() - before) >> 10,
        mebibytes << 10
    );
    let situation = Situation { now: Moment(2_000), wall: 1_000 };
    let mut octets = Vec::new();
    let begun = Instant::now();
    let written = old.write_dump(&mut octets, &situation, &[]);
    println!("written {written:?} entries, {} octets, in {:?}", octets.len(), begun.elapsed());
    if let Some(path) = std::env::args().nth(3) {
        return replace(&old, &path);
    }
    let begun = Instant::now();
    let new = Cache::with(&settings, [4, 5, 6]);
    let Ok(dump) = Dump::open(Box::new(octets), &situation) else { return };
    new.restore(dump);
    println!("opened: {:?}", begun.elapsed());
    let mut copied = Copied::new();
    let some = (0..count).step_by(count.div_ceil(100)).filter_map(host);
    let found = some.filter(|host| new.peek(&Key::rrset(host, 1), &mut copied).is_some()).count();
    println!("{found} of a hundred were there when they were asked for: {:?}", begun.elapsed());
    let loaded = loop {
        let restored = new.take_in(situation.now);
        if restored.is_done {
            break restored.loaded;
        }
    };
    println!("all: {:?}, {loaded:?}", begun.elapsed());
    let mut copied = Copied::new();
    let found = (0..count).filter(|number| {
        host(*number).is_some_and(|host| new.peek(&Key::rrset(&host, 1), &mut copied).is_some())
    });
    println!("{} of {} are there again", found.count(), counts.entries);
}

/// Writes the entries to a file of a server, as if it had learned them now.
fn replace(cache: &Cache, path: &str) {
    let wall = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
    let situation = Situation { now: Moment(2_000), wall };
    let before = std::fs::read(path).unwrap_or_default();
    let Ok(dump) = Dump::open(Box::new(before), &situation) else { return eprintln!("{path} is no cache") };
    let mut octets = Vec::new();
    let written =
        cache.write_dump(&mut octets, &situation, dump.about()).and_then(|_| std::fs::write(path, &octets));
    println!("{path}: {written:?}");
}

fn host(number: usize) -> Option<NameBuf> {
    NameBuf::from_text(&format!("www.h{number:08}.example.com.")).ok()
}

fn put(cache: &Cache, number: usize) {
    let (Some(host), list) = (host(number), [&[192, 0, 2, 1][..]].into_iter().collect::<RdataListBuf>())
    else {
        return;
    };
    let entry = Entry { zone_labels: 2, ..Entry::data(list.list(), Moment(0), 3600) };
    cache.put(&Key::rrset(&host, 1), &entry, Moment(1), Moment(1));
}

fn resident_octets() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}
