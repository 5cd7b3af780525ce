//! `zonda-bench gen`.

mod internet;
mod queries;
mod slice;
mod updates;
mod zone;

use std::{
    fs::File,
    io::{self, BufWriter},
    path::Path,
    process::ExitCode,
};

use bench::{
    Error,
    generate::text::{Counts, OUTPUT_OCTETS},
};
use clap::Subcommand;
use wire::NameBuf;

/// What to make.
#[derive(Subcommand)]
pub enum Command {
    /// Make a zone, or many.
    #[command(subcommand)]
    Zone(zone::Zone),
    /// Make a query file from a capture or for a zone.
    Queries(queries::Queries),
    /// Make updates for nsupdate that hold in a zone, one after the other.
    Updates(updates::Updates),
    /// Make a root, TLDs and zones below them of real names, for authoritative servers that resolvers are to ask.
    Internet(internet::Internet),
    /// Cut a zone and its queries by the first letter of the label below the apex.
    Slice(slice::Slice),
}

pub fn run(command: Command) -> Result<ExitCode, Error> {
    match command {
        Command::Zone(zone) => zone::run(zone)?,
        Command::Queries(options) => queries::run(&options)?,
        Command::Updates(options) => updates::run(&options)?,
        Command::Internet(options) => internet::run(&options)?,
        Command::Slice(options) => slice::run(&options)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn create(path: &Path) -> Result<BufWriter<File>, Error> {
    let fault = |cause| Error::File { path: path.to_owned(), action: "create", cause };
    Ok(BufWriter::with_capacity(OUTPUT_OCTETS, File::create(path).map_err(fault)?))
}

fn to_file(path: &Path, write: impl FnOnce(BufWriter<File>) -> io::Result<Counts>) -> Result<Counts, Error> {
    let fault = |cause| Error::File { path: path.to_owned(), action: "write", cause };
    write(create(path)?).map_err(fault)
}

/// A name in lower case with final dot.
fn origin(text: &str) -> Result<String, Error> {
    Ok(origin_name(text)?.to_lowercase().to_string())
}

fn origin_name(text: &str) -> Result<NameBuf, Error> {
    bench::query::name_from_text(text)
        .ok_or(Error::Option { option: "--origin", rule: "must be a domain name" })
}

fn share(option: &'static str, value: f64) -> Result<(), Error> {
    match (0.0..=1.0).contains(&value) {
        true => Ok(()),
        false => Err(Error::Option { option, rule: "must be from 0 to 1" }),
    }
}
