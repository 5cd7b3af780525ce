//! Master files: presentation format to records and back (RFC 1035 5).
//!
//! [`read`] takes text and hands each record to a [`Sink`]; [`print`] writes a record as one line that
//! reads back as the same record; [`rdata`] knows the form of every type's RDATA. Nothing here opens a file,
//! looks at a clock or knows a zone: records come out in the order of the text, as they are written.
//!
//! ```text
//! input -> window -> scan (plain entries) -> fields -> entry -> rdata -> Sink
//!                `-> token (all others) -'      `-> directive -> include, generate
//! ```
//!
//! One pass, memory bounded by [`limits`], no allocation per record. All problems of a file are collected,
//! each with its position; reading goes on with the next entry.

mod directive;
mod entry;
mod error;
mod fields;
pub mod fuzz;
mod generate;
pub mod limits;
mod name;
mod octets;
pub mod print;
pub mod rdata;
mod reader;
mod scan;
mod text;
mod token;
mod window;

use std::io::{self, Read};
use std::sync::Arc;

pub use error::{Cause, Diagnostic, Found};
pub use scan::Scanner;
use wire::{Name, NameBuf};

/// Where an entry begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourcePosition {
    /// Number of the file in [`Summary::files`]; 0 is the one that reading began with.
    pub file: u16,
    /// Line, counted from 1.
    pub line: u32,
}

/// One record as it leaves the reader; all it refers to is valid until the next one.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Owner name, in the case it is written in.
    pub owner: &'a Name,
    /// Whether the owner's octets are those of the record handed over before. Exact in text without errors; after
    /// an entry with an error it may be false for the same owner, never true for another.
    pub same_owner: bool,
    /// Type; never one that exists in messages only.
    pub rtype: u16,
    /// TTL as written; above 2^31 - 1 it counts as zero (RFC 2181 8), for the receiver to say so.
    pub ttl: u32,
    /// RDATA in wire form, names uncompressed; well-formed for its type.
    pub rdata: &'a [u8],
    /// It is text of several words that stand without quotes, each a string of its own: often one was meant.
    pub has_bare_words: bool,
    /// Where its entry begins.
    pub position: SourcePosition,
}

/// Receives records in the order of the text.
pub trait Sink {
    /// Takes a record, or refuses it.
    fn record(&mut self, record: &Record<'_>) -> Result<(), Refusal>;
}

impl<F: FnMut(&Record<'_>) -> Result<(), Refusal>> Sink for F {
    fn record(&mut self, record: &Record<'_>) -> Result<(), Refusal> {
        self(record)
    }
}

/// What a receiver says to a record that it does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// This record is wrong, for this reason, which becomes a [`Diagnostic`]; reading goes on.
    Record(String),
    /// No more records, please; the receiver knows why.
    Stop,
}

/// Text and the name it is known by.
pub struct Source<'i> {
    /// For messages, and to notice that a file includes itself: the same file must have the same name.
    pub name: String,
    /// The text.
    pub input: Box<dyn Read + 'i>,
}

/// Opens the files of `$INCLUDE`; this crate opens none itself.
pub trait Opener {
    /// Opens `path`, as it is written in the file whose [`Source::name`] is `includer`. An error with a text of its own
    /// ([`io::Error::new`]) is shown by that text, which should name the file.
    fn open(&mut self, path: &str, includer: &str) -> io::Result<Source<'static>>;
}

/// Refuses every `$INCLUDE`.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoIncludes;

impl Opener for NoIncludes {
    fn open(&mut self, _path: &str, _includer: &str) -> io::Result<Source<'static>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// How to read.
#[derive(Clone, Debug)]
pub struct Options {
    /// The origin at the start, usually the name of the zone.
    pub origin: NameBuf,
    /// TTL of records before any `$TTL`; usually `None`.
    pub default_ttl: Option<u32>,
    /// Reading stops at this many problems, at least one.
    pub diagnostics_max: usize,
    /// How lines are scanned; for tests and measurements.
    pub scanner: Scanner,
}

impl Options {
    /// The usual way to read the zone `origin`.
    pub fn new(origin: &Name) -> Options {
        Options {
            origin: origin.to_owned(),
            default_ttl: None,
            diagnostics_max: limits::DIAGNOSTICS_MAX,
            scanner: Scanner::Best,
        }
    }
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Records handed over.
    pub records: u64,
    /// Octets of text.
    pub octets: u64,
    /// Names of the files, in the order they were opened; [`SourcePosition::file`] counts in here.
    pub files: Vec<Arc<str>>,
}

/// What is wrong with what was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The problems in the order of the text; empty only where the receiver stopped the reading.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether all text was read: not when the receiver or the limit of diagnostics stopped it.
    pub is_complete: bool,
    /// What was read all the same.
    pub summary: Summary,
}

impl std::fmt::Display for Report {
    /// One problem a line, without a final newline.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, diagnostic) in self.diagnostics.iter().enumerate() {
            write!(f, "{}{diagnostic}", if at > 0 { "\n" } else { "" })?;
        }
        if !self.is_complete && self.diagnostics.len() > 1 {
            write!(f, "\nreading stopped after {} problems", self.diagnostics.len())?;
        }
        Ok(())
    }
}

impl std::error::Error for Report {}

/// Room for one reading, to be used again for the next: 64 KiB for RDATA alone, and making and clearing that cost more than reading a zone
/// of five records.
pub struct Buffers {
    window: Vec<u8>,
    tape: Box<scan::Tape>,
    edges: Vec<u32>,
    rdata: octets::Octets,
}

impl Buffers {
    /// Room that was not used yet.
    pub fn new() -> Buffers {
        Buffers {
            window: Vec::new(),
            tape: Box::new([0; scan::EDGES_MAX]),
            edges: Vec::new(),
            rdata: octets::Octets::new(),
        }
    }
}

impl Default for Buffers {
    fn default() -> Buffers {
        Buffers::new()
    }
}

/// Reads a zone file and the files it includes, and hands each record to `sink`.
///
/// On problems the records without any are handed over all the same, so that `sink` can check more.
pub fn read(
    source: Source<'_>,
    options: &Options,
    opener: &mut dyn Opener,
    sink: &mut dyn Sink,
) -> Result<Summary, Report> {
    read_with(&mut Buffers::new(), source, options, opener, sink)
}

/// As [`read`], with room that was used before.
pub fn read_with(
    buffers: &mut Buffers,
    source: Source<'_>,
    options: &Options,
    opener: &mut dyn Opener,
    sink: &mut dyn Sink,
) -> Result<Summary, Report> {
    reader::Reader::new(source, options, buffers, opener, sink).read()
}

/// A record that owns its octets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordBuf {
    /// Owner name, in the case it is written in.
    pub owner: NameBuf,
    /// Type.
    pub rtype: u16,
    /// TTL.
    pub ttl: u32,
    /// RDATA in wire form.
    pub rdata: Vec<u8>,
}

impl From<&Record<'_>> for RecordBuf {
    fn from(record: &Record<'_>) -> RecordBuf {
        RecordBuf {
            owner: record.owner.to_owned(),
            rtype: record.rtype,
            ttl: record.ttl,
            rdata: record.rdata.to_vec(),
        }
    }
}

/// Reads all records of a text that fits in memory and includes no files.
pub fn records(text: &str, origin: &Name) -> Result<Vec<RecordBuf>, Report> {
    records_by(text, &Options::new(origin))
}

/// The same, read as the options say.
pub fn records_by(text: &str, options: &Options) -> Result<Vec<RecordBuf>, Report> {
    let mut records = Vec::new();
    let source = Source { name: "text".to_owned(), input: Box::new(text.as_bytes()) };
    let mut collect = |record: &Record<'_>| {
        records.push(RecordBuf::from(record));
        Ok(())
    };
    read(source, options, &mut NoIncludes, &mut collect)?;
    Ok(records)
}

/// The octets of a text in base64 (RFC 4648 4) that blanks may split into pieces; `None` where it is none, or longer than RDATA can be.
#[must_use]
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    let (mut out, mut decoder) = (octets::Octets::new(), text::base64::Decoder::default());
    for piece in text.split_ascii_whitespace() {
        decoder.push(piece.as_bytes(), &mut out).ok()?;
    }
    decoder.is_whole().then(|| out.as_slice().to_vec())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
