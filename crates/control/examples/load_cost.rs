//! What the checks of a load cost beside all of it: reading the text, building the pack, whatever the checks of the load are, on one thread.
//!
//! `cargo run --release -p control --example load_cost -- ORIGIN=FILE [TIMES]`
//!
//! Times are processor time of the thread, so that others on the machine matter little. `TIMES`: how often the zone is loaded: a
//! small one as so many zones of one pack, with a label before the origin, a large one into a pack each time.

use std::sync::atomic::AtomicU64;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::ClockId;

use control::effort::Effort;
use control::load::{Job, compile};
use control::read::{open_source, read_opened};
use control::sources::Source;
use zone::check::{self, Level, Severity};
use zonefile::Buffers;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let zone = arguments.next().expect("ORIGIN=FILE");
    let (origin, file) = control::wanted::parse_argument(&zone).expect("ORIGIN=FILE");
    let times: usize = arguments.next().map_or(1, |text| text.parse().expect("a number"));
    let is_small = std::fs::metadata(&file).expect("the file").len() < 1 << 16;
    let source = Source::File(file);
    let name = |number: usize| match is_small {
        true => format!("z{number}.{origin}").parse().expect("a name"),
        false => origin.clone(),
    };
    let jobs: Vec<Job> = (0..times)
        .map(|id| Job {
            id,
            name: name(id),
            source: source.clone(),
            refuse: Severity::Fatal,
            digest: Default::default(),
        })
        .collect();
    let began = processor_ns(ClockId::ProcessCPUTime);
    for some in jobs.chunks(if is_small { times } else { 1 }) {
        assert!(compile(some, Effort::beside(net::WORKERS_MAX)).is_ok(), "zones that load");
    }
    let load = processor_ns(ClockId::ProcessCPUTime) - began;

    let now = SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_secs()).ok();
    let (mut buffers, octets) = (Buffers::new(), AtomicU64::new(0));
    let (mut spent, mut records) = ([0; 3], 0);
    const LEVELS: [(&str, Level); 3] =
        [("load", Level::Load), ("quick", Level::Quick), ("semantic", Level::Semantic)];
    for job in &jobs {
        let opened = open_source(&job.source).expect("the file");
        let Ok(text) = read_opened(&job.name, opened, &mut buffers, &octets) else { panic!("a zone") };
        for (spent, (_, level)) in spent.iter_mut().zip(LEVELS) {
            let options = check::Options { level, now, ..check::Options::default() };
            let began = processor_ns(ClockId::ThreadCPUTime);
            check::check(&text.contents, &options, &mut |_| {});
            *spent += processor_ns(ClockId::ThreadCPUTime) - began;
        }
        records += text.contents.record_count();
    }
    // What the clock itself costs.
    let began = processor_ns(ClockId::ThreadCPUTime);
    for _ in 0..times {
        std::hint::black_box(processor_ns(ClockId::ThreadCPUTime));
    }
    let clock = processor_ns(ClockId::ThreadCPUTime) - began;
    let each = |ns: u64| ns as f64 / records as f64;
    println!("{times} zones, {records} records; whole load {:.1} ns a record", each(load));
    for (spent, (what, _)) in spent.into_iter().zip(LEVELS) {
        let spent = spent.saturating_sub(clock);
        println!(
            "{what:<9} {:6.1} ns a record, {:5.1} % of the whole load",
            each(spent),
            spent as f64 * 100.0 / load as f64
        );
    }
}

/// Processor time of the thread, or of the whole process, so far.
fn processor_ns(of: ClockId) -> u64 {
    let time = rustix::time::clock_gettime(of);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
