//! The state of managed keys as text, for a file: first the version, then of each zone what is known, one key a line.
//!
//! ```text
//! zonda-managed-keys 1
//! zone .
//! checked 1785628800
//! next 1785672000
//! ds 20326 8 2 E06D...
//! key valid 257 3 8 AwEAAa...
//! key missing 1785000000 257 3 8 AwEAAa...                since when
//! key pending 1785000000 1787592000 257 3 8 AwEAAa...     since when; when it will be trusted
//! key revoked 1785000000 385 3 8 AwEAAa...                since when; without the bit that revokes it
//! ```
//!
//! Times are seconds since 1970. Empty lines and lines that begin with `#` mean nothing. Keys and DS are written as in master files. Whatever cannot be
//! read is an error with its line, never left out: half of a state could trust what was revoked.

use std::fmt;

use wire::iana::rtype;
use wire::{Name, NameBuf};

use super::{KeyState, Managed, ManagedKey};

const TITLE: &str = "zonda-managed-keys 1";

/// Most lines that are read: more than a hundred zones have.
const LINES_MAX: usize = 4096;

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// Line, counted from 1.
    pub line: usize,
    /// What.
    pub fault: TextFault,
}

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFault {
    /// The first line is not the title with a version that is known.
    Title,
    /// A word that means nothing at the begin of a line.
    Word,
    /// Something about a zone before one is named.
    NoZone,
    /// The name of a zone cannot be read, or stands for the second time.
    Zone,
    /// A time is not a number of seconds.
    Time,
    /// A state that no key has.
    State,
    /// A key or DS record cannot be read.
    Record,
    /// More lines than are read.
    TooLong,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.fault {
            TextFault::Title => "expected `zonda-managed-keys 1`",
            TextFault::Word => "expected `zone`, `checked`, `next`, `ds` or `key`",
            TextFault::NoZone => "stands before any `zone`",
            TextFault::Zone => "expected a name that does not stand above",
            TextFault::Time => "expected a time in seconds since 1970",
            TextFault::State => "expected `valid`, `missing`, `pending` or `revoked`",
            TextFault::Record => "expected the fields of a record as in a master file",
            TextFault::TooLong => "more lines than are read",
        };
        write!(f, "line {}: {what}", self.line)
    }
}

impl std::error::Error for TextError {}

/// Writes states.
pub fn write<'m>(zones: impl IntoIterator<Item = &'m Managed>) -> String {
    let mut text = format!("{TITLE}\n");
    let dnskey = |rdata: &[u8]| zonefile::print::rdata(rtype::DNSKEY, rdata);
    for Managed { zone, ds, keys, checked, next } in zones {
        text += &format!("zone {zone}\nchecked {checked}\nnext {next}\n");
        for rdata in ds {
            text += &format!("ds {}\n", zonefile::print::rdata(rtype::DS, rdata));
        }
        for ManagedKey { rdata, state } in keys {
            let state = match state {
                KeyState::Valid => "valid".to_owned(),
                KeyState::Missing { since } => format!("missing {since}"),
                KeyState::Pending { since, until } => format!("pending {since} {until}"),
                KeyState::Revoked { since } => format!("revoked {since}"),
            };
            text += &format!("key {state} {}\n", dnskey(rdata));
        }
    }
    text
}

/// Reads what [`write`] has written.
pub fn read(text: &str) -> Result<Vec<Managed>, TextError> {
    let mut zones: Vec<Managed> = Vec::new();
    let mut lines = (1..).zip(text.lines());
    let at = |line| move |fault| TextError { line, fault };
    match lines.next() {
        Some((_, TITLE)) => {}
        _ => return Err(at(1)(TextFault::Title)),
    }
    for (number, line) in lines {
        if number > LINES_MAX {
            return Err(at(number)(TextFault::TooLong));
        }
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            read_line(line, &mut zones).map_err(at(number))?;
        }
    }
    Ok(zones)
}

fn read_line(line: &str, zones: &mut Vec<Managed>) -> Result<(), TextFault> {
    let (word, rest) = split(line);
    if word == "zone" {
        let zone = NameBuf::from_text(rest).map_err(|_| TextFault::Zone)?;
        if zones.iter().any(|known| known.zone.eq_ignore_case(&zone)) {
            return Err(TextFault::Zone);
        }
        zones.push(Managed::new(&zone, []));
        return Ok(());
    }
    if !matches!(word, "checked" | "next" | "ds" | "key") {
        return Err(TextFault::Word);
    }
    let managed = zones.last_mut().ok_or(TextFault::NoZone)?;
    match word {
        "checked" => managed.checked = time(rest)?,
        "next" => managed.next = time(rest)?,
        "ds" => managed.ds.push(record("DS", rest, rtype::DS)?),
        _ => managed.keys.push(key(rest)?),
    }
    Ok(())
}

fn key(text: &str) -> Result<ManagedKey, TextFault> {
    let (word, rest) = split(text);
    let (state, rest) = match word {
        "valid" => (KeyState::Valid, rest),
        "missing" | "revoked" => {
            let (since, rest) = split(rest);
            let since = time(since)?;
            let is_missing = word == "missing";
            (if is_missing { KeyState::Missing { since } } else { KeyState::Revoked { since } }, rest)
        }
        "pending" => {
            let (since, rest) = split(rest);
            let (until, rest) = split(rest);
            (KeyState::Pending { since: time(since)?, until: time(until)? }, rest)
        }
        _ => return Err(TextFault::State),
    };
    Ok(ManagedKey { rdata: record("DNSKEY", rest, rtype::DNSKEY)?, state })
}

fn split(text: &str) -> (&str, &str) {
    match text.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim_start()),
        None => (text, ""),
    }
}

fn time(text: &str) -> Result<u64, TextFault> {
    // Far enough below the end of the numbers that intervals can be added.
    text.parse().ok().filter(|&seconds: &u64| seconds < 1 << 48).ok_or(TextFault::Time)
}

/// The RDATA of a record whose fields stand in `fields`.
fn record(mnemonic: &str, fields: &str, rtype: u16) -> Result<Vec<u8>, TextFault> {
    // A line is a line: what could go on with the next one, or stands for another file, is none of it.
    if fields.contains(['(', ')', '$', '"', ';']) {
        return Err(TextFault::Record);
    }
    let line = format!(". 0 IN {mnemonic} {fields}\n");
    let mut records = zonefile::records(&line, Name::root()).map_err(|_| TextFault::Record)?;
    match records.pop() {
        Some(record) if records.is_empty() && record.rtype == rtype => Ok(record.rdata),
        _ => Err(TextFault::Record),
    }
}
