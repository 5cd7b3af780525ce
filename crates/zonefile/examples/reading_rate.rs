//! Measures reading: `cargo run --release -p zonefile --example reading_rate -- FILE ORIGIN [scalar] [print] [once]`.
//!
//! Reads the file in five rounds and prints the best and the median processor time of one reading. The text
//! is read from memory, so that the disk is not measured; small files are read several times a round, since
//! processor time is counted in steps of milliseconds.

use std::process::ExitCode;

use wire::NameBuf;
use zonefile::{NoIncludes, Options, Record, Scanner, Source};

/// Text read in one round, at least.
const ROUND_OCTETS: usize = 100_000_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, origin, options @ ..] = &arguments[..] else {
        eprintln!("usage: rate FILE ORIGIN [scalar] [print] [once]");
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
    let mut options = Options::new(&NameBuf::from_text(origin)?);
    if words.iter().any(|word| word == "scalar") {
        options.scanner = Scanner::Scalar;
    }
    let prints = words.iter().any(|word| word == "print");
    let mut seconds = Vec::new();
    let mut start = 0.0;
    let (mut records, mut octets) = (0, 0);
    let once = words.iter().any(|word| word == "once");
    let readings = if once { 1 } else { ROUND_OCTETS.div_ceil(text.len().max(1)) };
    for round in 0..5 * readings {
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
        if round % readings == 0 {
            start = processor_seconds()?;
        }
        let summary = zonefile::read(source, &options, &mut NoIncludes, &mut sink)?;
        if round % readings == readings - 1 {
            seconds.push((processor_seconds()? - start) / readings as f64);
        }
        (records, octets) = (summary.records, summary.octets);
        std::hint::black_box(rdata_octets);
    }
    seconds.sort_by(f64::total_cmp);
    for (what, time) in [("best", seconds[0]), ("median", seconds[2])] {
        println!(
            "{what}: {records} records, {octets} octets in {:.4} s: {:.2} M records/s, {:.0} ns/record, {:.0} MB/s",
            time,
            records as f64 / time / 1e6,
            time * 1e9 / records as f64,
            octets as f64 / time / 1e6,
        );
    }
    Ok(())
}

/// Time this process has run on a processor, which other work on the machine does not lengthen.
fn processor_seconds() -> std::io::Result<f64> {
    let text = std::fs::read_to_string("/proc/self/schedstat")?;
    let nanoseconds = text.split(' ').next().and_then(|field| field.parse::<f64>().ok());
    nanoseconds.map(|time| time / 1e9).ok_or_else(|| std::io::ErrorKind::InvalidData.into())
}
