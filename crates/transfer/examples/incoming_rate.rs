//! What a whole zone costs that comes in: processor time and memory of each step.
//!
//! `cargo run --release -p transfer --example incoming_rate -- [DELEGATIONS] [sorted|random] [ARENA MIB]`
//!
//! Runs that do not fit the arena go to a file.
//!
//! A zone of delegations with two name servers each, in messages of 16 KiB that are made as they are taken, so that they are not in
//! memory. Times are processor time of the process, so that others on the machine matter little; the time to make messages is left out.

use std::os::unix::fs::FileExt;

use transfer::incoming::{Incoming, Kind, Limits, NoStorage, Question, Runs, Spool, Step, Times};
use wire::builder::{Case, Suffixes};
use wire::header::{AA, QR};
use wire::iana::{class, rtype};
use wire::render::Section;
use wire::{Name, NameBuf};
use zone::{Pack, PackBuilder, TextStamp};

const MESSAGE_OCTETS: usize = 16 << 10;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let count: u32 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(500_000);
    let sorted = arguments.next().is_none_or(|text| text == "sorted");
    let apex: NameBuf = "net".parse().expect("a name");
    let question =
        Question { zone: apex.clone(), kind: Kind::Axfr, ours: None, id: 7, has_edns: true, is_udp: false };
    let mut incoming = Incoming::new(question, None, Limits::default(), 0);
    let arena: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(16);
    let mut sink =
        Spool::new(&apex, arena << 20, Storage { file: tempfile::tempfile().expect("a file"), octets: 0 });
    let mut source = Source { count, sorted, at: 0, record: 0 };
    let mut suffixes = Box::new(Suffixes::new(1));
    let mut message = vec![0; MESSAGE_OCTETS];
    let (mut taken, mut octets_in_all) = (0, 0);
    let done = loop {
        let octets = source.message(&mut message, &mut suffixes);
        octets_in_all += octets;
        let before = processor_ns();
        let step = incoming.message(&message[..octets], Times::default(), &mut sink).expect("a sound stream");
        taken += processor_ns() - before;
        if let Step::Done(done) = step {
            break done;
        }
    };
    let records = done.counts.records as f64;
    let say = |step: &str, ns: u64| {
        let peak = status("VmHWM:") as f64 * 1024.0 / records;
        println!(
            "{step:8} {:6.0} ns a record, peak {peak:5.0} octets a record, now {:5.0}",
            ns as f64 / records,
            status("VmRSS:") as f64 * 1024.0 / records
        );
    };
    println!("{records} records in {} messages, {octets_in_all} octets", done.counts.messages);
    say("take", taken);
    let before = processor_ns();
    let runs = sink.run_count();
    let contents = sink.finish(u64::MAX).expect("room");
    println!("{runs} runs in a file");
    say("sort", processor_ns() - before);
    let before = processor_ns();
    let mut builder = PackBuilder::new(7);
    builder.add_zone(&contents, TextStamp::default()).expect("a zone that fits");
    say("build", processor_ns() - before);
    drop(contents);
    let before = processor_ns();
    let pack = Pack::open(builder.finish().expect("an index")).expect("a sound pack");
    say("finish", processor_ns() - before);
    println!("pack: {:.1} octets a record", pack.octets().len() as f64 / records);
}

/// Runs in a file.
struct Storage {
    file: std::fs::File,
    octets: u64,
}

impl Runs for Storage {
    fn append(&mut self, octets: &[u8]) -> Result<(), NoStorage> {
        self.file.write_all_at(octets, self.octets).map_err(|_| NoStorage)?;
        self.octets += octets.len() as u64;
        Ok(())
    }

    fn read(&mut self, at: u64, to: &mut [u8]) -> Result<(), NoStorage> {
        self.file.read_exact_at(to, at).map_err(|_| NoStorage)
    }
}

/// The records of the zone, one by one.
struct Source {
    count: u32,
    sorted: bool,
    at: u32,
    record: u32,
}

impl Source {
    /// Writes the next message; returns its octets.
    fn message(&mut self, buffer: &mut [u8], suffixes: &mut Suffixes) -> usize {
        let apex: NameBuf = "net".parse().expect("a name");
        let is_first = self.at == 0 && self.record == 0;
        let mut out =
            wire::Builder::new(buffer, (MESSAGE_OCTETS, 0), suffixes, Case::Exact, 7).expect("room");
        if is_first {
            out.question(&apex, rtype::AXFR, class::IN).expect("room");
        }
        out.begin_section(Section::Answer);
        let soa = [&b"\x01a\0\x01b\0"[..], &[0; 20]].concat();
        if is_first {
            out.record(&apex, (rtype::SOA, class::IN, 60), &soa).expect("room");
        }
        while self.at < self.count {
            let (owner, server) = self.next_record();
            if out.record(Name::trusted(&owner), (rtype::NS, class::IN, 172_800), &server).is_err() {
                return out.finish(QR | AA, u16::from(is_first));
            }
            self.record += 1;
            if self.record == 2 {
                (self.at, self.record) = (self.at + 1, 0);
            }
        }
        out.record(&apex, (rtype::SOA, class::IN, 60), &soa).expect("room");
        out.finish(QR | AA, u16::from(is_first))
    }

    fn next_record(&self) -> (Vec<u8>, Vec<u8>) {
        let number =
            if self.sorted { self.at } else { (u64::from(self.at) * 0x9e37_79b1 % (1 << 32)) as u32 };
        let label = format!("{number:08x}shop");
        let mut owner = vec![label.len() as u8];
        owner.extend_from_slice(label.as_bytes());
        owner.extend_from_slice(b"\x03net\0");
        let hash = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let host =
            if hash % 10 < 7 { format!("provider{}", hash % 100_000) } else { format!("host{number}") };
        let mut server = vec![3, b'n', b's', b'1' + self.record as u8, host.len() as u8];
        server.extend_from_slice(host.as_bytes());
        server.extend_from_slice(b"\x03com\0");
        (owner, server)
    }
}

fn processor_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// A line of the process's state, in KiB.
fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}
