//! How long it takes until a zone that comes from a primary is a pack.
//!
//! `cargo run --release -p control --example transfer_in -- ADDRESS:PORT ZONE [TIMES]`

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Instant;

use control::secondary::{Primary, Room, Task, Transfers};
use transfer::incoming::{Kind, Limits};
use transfer::refresh::Job;
use zone::{Pack, PackBuilder, TextStamp};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().and_then(|text| text.parse().ok()).expect("address and port");
    let zone: wire::NameBuf =
        arguments.next().and_then(|text| text.parse().ok()).expect("the name of a zone");
    let times = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(5);
    let primary = Arc::new(Primary { address, key: None, source: None });
    let (sender, reports) = channel();
    let room = Room::new(std::env::temp_dir().into());
    let transfers = Transfers::start(1, room, false, Arc::new(move |report| drop(sender.send(report))))
        .expect("a thread");
    for _ in 0..times {
        let job = Job { zone: 0, primary: 0, kind: Kind::Axfr, ours: None, has_edns: true, is_udp: false };
        let start = Instant::now();
        let primary = Arc::clone(&primary);
        transfers.push(Task { job, zone: zone.clone(), primary, limits: Limits::default() });
        let report = reports.recv().expect("a report");
        let done = report.result.unwrap_or_else(|stop| panic!("the server {stop}"));
        let came = start.elapsed();
        let contents = report.contents.expect("all of the zone");
        let mut builder = PackBuilder::new(sync::random::Random::new(7).next_u64());
        builder.add_zone(&contents, TextStamp::default()).expect("a zone that fits");
        let pack = Pack::open(builder.finish().expect("an index")).expect("a sound pack");
        println!(
            "{} records, {} messages: {:.3} s until all is there in order, {:.3} s until it is a pack of {} octets",
            done.counts.records,
            done.counts.messages,
            came.as_secs_f64(),
            start.elapsed().as_secs_f64(),
            pack.octets().len(),
        );
    }
}
