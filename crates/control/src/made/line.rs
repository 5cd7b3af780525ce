//! Lines of the file `made`: a zone or the end of one, each with a sum of its own.
//!
//! ```text
//! + ZONE KIND SOA-EDIT-API SOA-EDIT ACCOUNT API-RECTIFY BY [REQUEST] SUM     a zone is made
//! = ZONE ... SUM                                                             the same, with other fields
//! - ZONE SERIAL TIME [REQUEST] SUM                                           it is gone
//! ? ZONE REQUEST SUM                                                         by what this was done, where its line is written no more
//!
//! REQUEST   KEY:REPEAT:REQUEST:SERIAL:TIME                                   where it had a key of repeats; hashes in hexadecimal digits
//! ```
//!
//! Texts are in single quotes, so that an empty one is there, and have `%XX` for all octets but letters, digits and some signs. Sums are of all that stands before them.

use std::fmt::Write;

use api::frame::Kind;
use wire::NameBuf;
use zone::section::checksum;

use super::{Gone, MadeZone, Request};
use crate::dynamic::repeats::Repeat;

/// The first line of a file.
pub(super) const HEAD: &str = "zonda made 1\n";

/// How lines begin.
pub(super) const MADE: char = '+';
pub(super) const SET: char = '=';
const GONE: char = '-';
const DONE: char = '?';

/// What a line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// There is such a zone from here on.
    Zone(NameBuf, MadeZone, Option<Request>),
    /// There is not.
    Gone(NameBuf, Gone, Option<Request>),
    /// This was carried out before.
    Done(NameBuf, Request),
}

/// The line of a zone, with its end.
pub(super) fn of_zone(mark: char, name: &NameBuf, zone: &MadeZone, request: Option<&Request>) -> String {
    let kind = match zone.kind {
        Kind::Native => "Native",
        Kind::Master => "Master",
    };
    let mut line = format!("{mark} {name} {kind}");
    [&zone.soa_edit_api, &zone.soa_edit, &zone.account]
        .into_iter()
        .for_each(|text| put_text(text, &mut line));
    line.push_str(if zone.api_rectify { " rectify" } else { " plain" });
    put_text(&zone.by, &mut line);
    put_request(request, &mut line);
    ended(line)
}

/// The line of one that is gone.
pub(super) fn of_gone(name: &NameBuf, Gone { serial, time }: Gone, request: Option<&Request>) -> String {
    let mut line = format!("{GONE} {name} {serial} {time}");
    put_request(request, &mut line);
    ended(line)
}

/// The line of what was carried out.
pub(super) fn of_request(name: &NameBuf, request: &Request) -> String {
    let mut line = format!("{DONE} {name}");
    put_request(Some(request), &mut line);
    ended(line)
}

fn put_request(request: Option<&Request>, line: &mut String) {
    let Some(Request { repeat, serial, time }) = request else { return };
    line.push(' ');
    for hash in repeat.hashes() {
        let _ = write!(line, "{:032x}:", u128::from_be_bytes(hash));
    }
    let _ = write!(line, "{serial}:{time}");
}

fn ended(mut line: String) -> String {
    // Writing to a string does not fail.
    let _ = writeln!(line, " {:016x}", checksum(line.as_bytes()));
    line
}

fn put_text(text: &str, line: &mut String) {
    line.push_str(" '");
    for octet in text.bytes() {
        match octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_' | b'.' | b':' | b'@') {
            true => line.push(char::from(octet)),
            false => drop(write!(line, "%{octet:02X}")),
        }
    }
    line.push('\'');
}

/// What a line says, without its end; `None`: it is damaged.
pub(super) fn read(line: &str) -> Option<Line> {
    let (said, sum) = line.rsplit_once(' ')?;
    (u64::from_str_radix(sum, 16).ok()? == checksum(said.as_bytes())).then_some(())?;
    let fields: Vec<&str> = said.split(' ').collect();
    match fields[..] {
        ["+" | "=", name, kind, soa_edit_api, soa_edit, account, rectify, by, ref rest @ ..] => {
            let kind = match kind {
                "Native" => Kind::Native,
                "Master" => Kind::Master,
                _ => return None,
            };
            let zone = MadeZone {
                kind,
                soa_edit_api: text(soa_edit_api)?,
                soa_edit: text(soa_edit)?,
                account: text(account)?,
                api_rectify: rectify == "rectify",
                by: text(by)?,
            };
            Some(Line::Zone(self::name(name)?, zone, one_or_none(rest)?))
        }
        ["-", name, serial, time, ref rest @ ..] => {
            let gone = Gone { serial: serial.parse().ok()?, time: time.parse().ok()? };
            Some(Line::Gone(self::name(name)?, gone, one_or_none(rest)?))
        }
        ["?", name, text] => Some(Line::Done(self::name(name)?, request(text)?)),
        _ => None,
    }
}

/// The request of a line that has one or not.
fn one_or_none(fields: &[&str]) -> Option<Option<Request>> {
    match fields {
        [] => Some(None),
        [text] => request(text).map(Some),
        _ => None,
    }
}

fn request(text: &str) -> Option<Request> {
    let fields: Vec<&str> = text.split(':').collect();
    let [key, name, request, serial, time] = fields[..] else { return None };
    let hash = |digits| u128::from_str_radix(digits, 16).ok().map(u128::to_be_bytes);
    let repeat = Repeat::from_hashes([hash(key)?, hash(name)?, hash(request)?]);
    Some(Request { repeat, serial: serial.parse().ok()?, time: time.parse().ok()? })
}

fn name(text: &str) -> Option<NameBuf> {
    NameBuf::from_text(text).ok().map(|name| name.to_lowercase())
}

fn text(quoted: &str) -> Option<Box<str>> {
    let mut rest = quoted.strip_prefix('\'')?.strip_suffix('\'')?;
    let mut octets = Vec::with_capacity(rest.len());
    while let Some((before, after)) = rest.split_once('%') {
        octets.extend_from_slice(before.as_bytes());
        octets.push(u8::from_str_radix(after.get(..2)?, 16).ok()?);
        rest = &after[2..];
    }
    octets.extend_from_slice(rest.as_bytes());
    Some(String::from_utf8(octets).ok()?.into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn zone(account: &str) -> MadeZone {
        MadeZone {
            kind: Kind::Master,
            soa_edit_api: "".into(),
            soa_edit: "INCEPTION-INCREMENT".into(),
            account: account.into(),
            api_rectify: true,
            by: "acme".into(),
        }
    }

    fn request() -> Request {
        let repeat = Repeat::from_hashes([[0; 16], [0xff; 16], *b"of what is asked"]);
        Request { repeat, serial: 7, time: 1_795_305_601 }
    }

    #[test]
    fn there_and_back() {
        // Names may have blanks and quotes, which are escaped as in zone files.
        for text in ["example.com.", ".", r"a\032b\'\%.x.", r"\255.x."] {
            let name: NameBuf = text.parse().unwrap();
            for account in ["", "a b", "100 %", "'", "größe", "-"] {
                for request in [None, Some(request())] {
                    let line = of_zone(MADE, &name, &zone(account), request.as_ref());
                    let read = read(line.strip_suffix('\n').unwrap());
                    assert_eq!(read, Some(Line::Zone(name.clone(), zone(account), request)), "{line}");
                }
            }
            let gone = Gone { serial: u32::MAX, time: 1_795_305_601 };
            for request in [None, Some(request())] {
                let line = of_gone(&name, gone, request.as_ref());
                assert_eq!(read(line.trim_end()), Some(Line::Gone(name.clone(), gone, request)));
            }
            let line = of_request(&name, &request());
            assert_eq!(read(line.trim_end()), Some(Line::Done(name, request())));
        }
    }

    /// Whatever is changed in a line, it is none any more.
    #[test]
    fn damage_is_seen() {
        let line = of_zone(SET, &"example.com.".parse().unwrap(), &zone("ours"), Some(&request()));
        let line = line.trim_end();
        for at in 0..line.len() {
            let mut octets = line.as_bytes().to_vec();
            octets[at] ^= 1;
            assert!(String::from_utf8(octets).ok().is_none_or(|other| read(&other).is_none()), "{at}");
            assert!(read(&line[..at]).is_none(), "{at}");
        }
    }
}
