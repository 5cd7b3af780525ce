//! `zonda-bench trace`.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use bench::{
    Error,
    error::CaptureProblem,
    trace::{DNS_PORT, Message, Reader, message::Parts, queries::QueryFile, report::Report, tally::Tally},
};
use clap::Args;

/// Options of the characterisation.
#[derive(Args)]
#[command(after_help = "\
Examples:
  zonda-bench trace monday.pcap tuesday.pcap
  xz -dc capture.pcapng.xz | zonda-bench trace --json -
  zonda-bench trace --chart rate.svg --queries queries.txt capture.pcap
  zonda-bench trace --rebuild --queries queries.txt replies.pcap
Requests are messages with QR clear, replies those with QR set. A request failed if its reply has a code other than
NOERROR; the failed ones of a type are the failed replies to questions of that type. A capture that holds replies only
is taken as with --rebuild.")]
pub struct Arguments {
    /// Captures (pcap or pcapng), read one after the other as one trace; - for standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The same as JSON on standard output.
    #[arg(long)]
    json: bool,
    /// Write a chart of requests per second.
    #[arg(long, value_name = "FILE.svg")]
    chart: Option<PathBuf>,
    /// Write the ordinary queries as a query file for `load`.
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
    /// Take every reply for a request, also where there are requests.
    #[arg(long)]
    rebuild: bool,
    /// Port of the DNS, instead of 53; can be given several times.
    #[arg(long = "port", value_name = "PORT", default_values_t = [DNS_PORT])]
    ports: Vec<u16>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    if arguments.files.iter().filter(|file| file.as_path() == Path::new("-")).count() > 1 {
        return Err(Error::Option { option: "FILE", rule: "standard input can be read once only" });
    }
    let mut queries = match &arguments.queries {
        Some(path) => Some(QueryFile::create(path, arguments.rebuild)?),
        None => None,
    };
    let (report, tally) = read(arguments, &mut queries)?;
    if let (Some(queries), Some(path)) = (queries, &arguments.queries) {
        eprintln!("{} queries written to {}", queries.end()?, path.display());
    }
    if let Some(path) = &arguments.chart {
        let fault = |cause| Error::File { path: path.clone(), action: "write", cause };
        std::fs::write(path, lab::chart::document(&lab::trace::chart(&report, &tally))).map_err(fault)?;
    }
    let text = match arguments.json {
        true => format!("{:#}\n", report.json()),
        false => report.to_string(),
    };
    let fault = |cause| Error::File { path: "standard output".into(), action: "write", cause };
    io::stdout().write_all(text.as_bytes()).map_err(fault)?;
    for fault in &report.faults {
        eprintln!("zonda-bench: {fault}");
    }
    Ok(if report.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Reads all files. A file that ends early is a fault of the report; what cannot be read at all is an error.
fn read(arguments: &Arguments, queries: &mut Option<QueryFile>) -> Result<(Report, Tally), Error> {
    let mut reader = Reader::new(&arguments.ports);
    let (mut tally, mut faults) = (Tally::default(), Vec::new());
    let mut take = |message: &Message<'_>| {
        let parts = Parts::read(message);
        tally.add(message, parts.as_ref());
        if let (Some(queries), Some(parts)) = (&mut *queries, &parts) {
            queries.add(parts);
        }
    };
    for file in &arguments.files {
        match reader.read(file, &mut take) {
            Ok(()) => {}
            Err(error @ Error::Capture { problem: CaptureProblem::Truncated, .. }) => {
                faults.push(error.to_string());
            }
            Err(error) => return Err(error),
        }
    }
    reader.end(&mut take);
    Ok((Report::new(&reader, &tally, arguments.rebuild, faults), tally))
}
