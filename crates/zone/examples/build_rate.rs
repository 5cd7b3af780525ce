//! How fast a pack of a delegation-only zone is built, and how large it gets, step by step.
//!
//! `cargo run --release -p zone --example build_rate -- [DELEGATIONS] [sorted|random]`
//!
//! Times are processor time of the process, so that others on the machine matter little.
//! Two name servers for each delegation: 70 % share one of 100,000 pairs, 30 % have a pair of their own.

use wire::iana::rtype;
use wire::{Name, NameBuf};
use zone::contents::SourcePosition;
use zone::section::Section;
use zone::{ContentsBuilder, Pack, PackBuilder, TextStamp};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let count: u32 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let sorted = arguments.next().is_none_or(|text| text == "sorted");
    let mut random = 0x1234_5678_9abc_def1_u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut labels: Vec<Vec<u8>> = (0..count)
        .map(|number| {
            let mut label: Vec<u8> = (0..6 + next() % 8).map(|_| b'a' + (next() % 26) as u8).collect();
            label.extend_from_slice(format!("{:x}", number & 0xfff).as_bytes());
            label
        })
        .collect();
    if sorted {
        labels.sort();
    }
    let apex: NameBuf = "net".parse().expect("a name");
    let mut contents = ContentsBuilder::new(&apex);
    let soa = [&b"\x01a\0\x01b\0"[..], &[0; 20]].concat();
    let mut push = |owner: &[u8], same, rtype, rdata: &[u8]| {
        contents
            .push(Name::trusted(owner), same, rtype, 172_800, rdata, SourcePosition::default())
            .expect("in the zone");
    };
    push(apex.octets(), false, rtype::SOA, &soa);
    let mut last = processor_ns();
    let mut owner = Vec::new();
    let mut server = Vec::new();
    for (number, label) in labels.iter().enumerate() {
        owner.clear();
        owner.push(label.len() as u8);
        owner.extend_from_slice(label);
        owner.extend_from_slice(b"\x03net\0");
        let shared = next() % 10 < 7;
        let pair = (next() % 316 + 1) * (next() % 316) % 100_000;
        for which in [b'1', b'2'] {
            server.clear();
            server.extend_from_slice(&[3, b'n', b's', which]);
            let host = if shared { format!("provider{pair}") } else { format!("host{number}") };
            server.push(host.len() as u8);
            server.extend_from_slice(host.as_bytes());
            server.extend_from_slice(b"\x03com\0");
            push(&owner, which == b'2', rtype::NS, &server);
        }
    }
    let records = contents.record_count();
    let mut step = |what: &str| {
        let now = processor_ns();
        println!("{what:10} {:6.0} ns/RR", (now - last) as f64 / records as f64);
        last = now;
    };
    step("push");
    let contents = contents.finish();
    step("sort");
    let mut builder = PackBuilder::new(next());
    builder.add_zone(&contents, TextStamp::default()).expect("a sound zone");
    step("zone");
    let backing = builder.finish().expect("no crowd");
    step("finish");
    drop(contents);
    step("drop");
    let pack = Pack::open(backing).expect("a sound pack");
    step("open");
    for section in Section::ALL {
        let octets = pack.section(section).len();
        println!("{:14} {octets:11} octets {:6.2} an RR", section.name(), octets as f64 / records as f64);
    }
    println!(
        "total {} octets, {:.2} an RR",
        pack.octets().len(),
        pack.octets().len() as f64 / records as f64
    );
}

/// Processor time of the main thread so far.
fn processor_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|field| field.parse().ok()).unwrap_or(0)
}
