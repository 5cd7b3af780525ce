//! Measures reading: `cargo run --release -p zonefile --example rate -- FILE ORIGIN [scalar]`.
//!
//! Reads the file five times and prints the best and the median time, records and octets a second. The
//! text is read from memory, so that the disk is not measured.

use std::process::ExitCode;
use std::time::Instant;

use wire::NameBuf;
use zonefile::{NoIncludes, Options, Record, Scanner, Source};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, origin, options @ ..] = &arguments[..] else {
        eprintln!("usage: rate FILE ORIGIN [scalar] [print]");
        return ExitCode::from(2);
    };
    match measure(path, origin, options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(path: &str, origin: &str, words: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let text = std::fs::read(path)?;
    let mut options = Options::new(&*NameBuf::from_text(origin)?);
    if words.iter().any(|word| word == "scalar") {
        options.scanner = Scanner::Scalar;
    }
    let prints = words.iter().any(|word| word == "print");
    let mut seconds = Vec::new();
    let (mut records, mut octets) = (0, 0);
    for _ in 0..5 {
        let mut line = Vec::new();
        let mut rdata_octets = 0;
        let mut sink = |record: &Record<'_>| {
            rdata_octets += record.rdata.len() + record.owner.octets().len();
            if prints {
                line.clear();
                zonefile::print::line(record.owner, record.ttl, record.rtype, record.rdata, &mut line);
            }
            Ok(())
        };
        let source = Source { name: path.to_owned(), input: Box::new(&text[..]) };
        let start = Instant::now();
        let summary = zonefile::read(source, &options, &mut NoIncludes, &mut sink)?;
        seconds.push(start.elapsed().as_secs_f64());
        (records, octets) = (summary.records, summary.octets);
        std::hint::black_box(rdata_octets);
    }
    seconds.sort_by(f64::total_cmp);
    for (what, time) in [("best", seconds[0]), ("median", seconds[2])] {
        println!(
            "{what}: {records} records, {octets} octets in {:.3} s: {:.2} M records/s, {:.0} ns/record, {:.0} MB/s",
            time,
            records as f64 / time / 1e6,
            time * 1e9 / records as f64,
            octets as f64 / time / 1e6,
        );
    }
    Ok(())
}
