//! Updates as text: the commands of `nsupdate` that `gen updates` writes, and their like.
//!
//! | line | meaning |
//! |---|---|
//! | `server ADDR [PORT]` | where to send, unless the command line says |
//! | `zone NAME` | the zone of what follows |
//! | `class IN`, `ttl SECONDS` | for what follows |
//! | `[prereq] yxdomain NAME`, `nxdomain NAME` | the name is in use, is not (RFC 2136 2.4.4, 2.4.5) |
//! | `[prereq] yxrrset NAME TYPE [RDATA]`, `nxrrset NAME TYPE` | the RRset is there, is not (2.4.1 to 2.4.3) |
//! | `[update] add NAME [TTL] TYPE RDATA` | 2.5.1 |
//! | `[update] delete NAME [TYPE [RDATA]]` | 2.5.2 to 2.5.4; also `del` |
//! | `send`, or an empty line | ends a message |
//!
//! `IN` may stand before a type. Names are absolute with or without a final dot. `;` begins a comment.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
};

use wire::{
    Name, NameBuf,
    iana::{class, opcode, rtype},
};
use zonefile::{NoIncludes, Options, Record, Source};

use super::words::Words;
use crate::{Error, error, error::LineProblem};

/// Longest line taken: RDATA of 65,535 octets, all escaped as `\DDD`, and the words before it.
const LINE_OCTETS_MAX: usize = 300_000;
/// Most octets of messages kept in memory: ten million small updates.
const OCTETS_MAX: usize = 1 << 30;
/// Longest message without its signature: what TCP carries, less a TSIG record with the longest names and MAC.
pub const MESSAGE_OCTETS_MAX: usize = 65_535 - tsig_octets_max();

/// A TSIG record at most: two names, the fixed fields of the record and of its RDATA, 64 octets of MAC.
const fn tsig_octets_max() -> usize {
    255 + 10 + 255 + 16 + 64
}

/// Update messages, ready but for ID and signature.
#[derive(Debug)]
pub struct Script {
    path: PathBuf,
    octets: Vec<u8>,
    ends: Vec<Message>,
    /// Where the file says to send them.
    pub server: Option<SocketAddr>,
}

#[derive(Clone, Copy, Debug)]
struct Message {
    end: usize,
    /// Records in the update section.
    changes: u32,
    /// Line that ended it.
    line: usize,
}

impl Script {
    /// Reads a file whole; errors name the line. `zone`: for a file that names none.
    pub fn read(path: &Path, zone: Option<&Name>) -> Result<Script, Error> {
        let mut reader =
            BufReader::with_capacity(1 << 18, File::open(path).map_err(error::file(path, "open"))?);
        let mut parser = Parser::new(path, zone);
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let bounded = Read::take(&mut reader, LINE_OCTETS_MAX as u64).read_until(b'\n', &mut line);
            if bounded.map_err(error::file(path, "read"))? == 0 {
                parser.at(number - 1, Parser::send)?;
                break;
            }
            if line.len() >= LINE_OCTETS_MAX {
                return Err(parser.fault(number, LineProblem::TooLong));
            }
            let text = String::from_utf8_lossy(&line).into_owned();
            parser.at(number, |parser| parser.line(text.trim_end_matches(['\n', '\r'])))?;
        }
        if parser.script.count() == 0 {
            return Err(Error::Empty { path: path.to_owned(), wanted: "updates" });
        }
        Ok(parser.script)
    }

    /// How many messages there are.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// Message number `index`, which must be below the count.
    pub fn message(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1].end };
        &self.octets[start..self.ends[index].end]
    }

    /// Records in the update section of a message.
    pub fn changes(&self, index: usize) -> u32 {
        self.ends[index].changes
    }

    /// An error if a message is longer than this.
    pub fn check_length(&self, octets_max: usize) -> Result<(), Error> {
        match (0..self.count()).find(|&index| self.message(index).len() > octets_max) {
            Some(index) => Err(Error::Line {
                path: self.path.clone(),
                line: self.ends[index].line,
                problem: LineProblem::LongForDatagram,
            }),
            None => Ok(()),
        }
    }
}

/// What stops a line: a problem of its words or of a record in it.
enum Stop {
    Problem(LineProblem),
    Record(Box<zonefile::Report>),
}

impl From<LineProblem> for Stop {
    fn from(problem: LineProblem) -> Stop {
        Stop::Problem(problem)
    }
}

struct Parser {
    script: Script,
    zone: Option<NameBuf>,
    ttl: Option<u32>,
    /// Records of the open message.
    prerequisites: Vec<u8>,
    updates: Vec<u8>,
    /// How many of each.
    counts: [u16; 2],
    line: usize,
}

impl Parser {
    fn new(path: &Path, zone: Option<&Name>) -> Parser {
        Parser {
            script: Script { path: path.to_owned(), octets: Vec::new(), ends: Vec::new(), server: None },
            zone: zone.map(Name::to_owned),
            ttl: None,
            prerequisites: Vec::new(),
            updates: Vec::new(),
            counts: [0; 2],
            line: 0,
        }
    }

    fn fault(&self, line: usize, problem: LineProblem) -> Error {
        Error::Line { path: self.script.path.clone(), line, problem }
    }

    /// Does a step of a line; its problem becomes an error with the place.
    fn at(&mut self, line: usize, step: impl FnOnce(&mut Parser) -> Result<(), Stop>) -> Result<(), Error> {
        self.line = line;
        step(self).map_err(|stop| match stop {
            Stop::Problem(problem) => self.fault(line, problem),
            Stop::Record(report) => Error::Zone { report },
        })
    }

    fn line(&mut self, line: &str) -> Result<(), Stop> {
        let mut words = Words { line, at: 0 };
        let Some(command) = words.next() else { return self.send() };
        if command.starts_with(';') {
            return Ok(());
        }
        match command.to_ascii_lowercase().as_str() {
            "server" => self.server(&mut words),
            "zone" => {
                self.zone = Some(words.name()?);
                Ok(())
            }
            "class" => match words.next() {
                Some(class) if class.eq_ignore_ascii_case("in") => Ok(()),
                _ => Err(LineProblem::Class.into()),
            },
            "ttl" => {
                self.ttl = Some(words.number()?);
                Ok(())
            }
            "prereq" => match words.next() {
                Some(word) => self.prerequisite(&word.to_ascii_lowercase(), &mut words),
                None => Err(LineProblem::MissingField.into()),
            },
            "update" => match words.next().map(str::to_ascii_lowercase).as_deref() {
                Some("add") => self.add(&mut words),
                Some("delete" | "del") => self.delete(&mut words),
                Some(_) => Err(LineProblem::UpdateCommand.into()),
                None => Err(LineProblem::MissingField.into()),
            },
            "add" => self.add(&mut words),
            "delete" | "del" => self.delete(&mut words),
            "key" => Err(LineProblem::KeyCommand.into()),
            "send" => self.send(),
            word => self.prerequisite(word, &mut words),
        }
    }

    fn server(&mut self, words: &mut Words<'_>) -> Result<(), Stop> {
        let address = words.next().and_then(|word| word.parse::<IpAddr>().ok());
        let port = words.next().map_or(Ok(53), str::parse::<u16>);
        let (Some(address), Ok(port)) = (address, port) else { return Err(LineProblem::Server.into()) };
        let server = SocketAddr::new(address, port);
        if self.script.server.replace(server).is_some_and(|before| before != server) {
            return Err(LineProblem::Server.into());
        }
        Ok(())
    }

    fn prerequisite(&mut self, word: &str, words: &mut Words<'_>) -> Result<(), Stop> {
        let is_known = matches!(word, "yxdomain" | "nxdomain" | "yxrrset" | "nxrrset");
        if !is_known {
            return Err(LineProblem::UpdateCommand.into());
        }
        let name = self.owner(words)?;
        let class = if word.starts_with("yx") { class::ANY } else { class::NONE };
        let record = match word {
            "yxdomain" | "nxdomain" => record(&name, rtype::ANY, class, 0, &[]),
            _ => {
                let rtype = words.rtype()?;
                match (word, words.is_at_end()) {
                    (_, true) => record(&name, rtype, class, 0, &[]),
                    ("yxrrset", false) => record(&name, rtype, class::IN, 0, &self.rdata(rtype, words)?),
                    _ => return Err(LineProblem::TooMany.into()),
                }
            }
        };
        self.prerequisites.extend(record);
        self.count(0)
    }

    fn add(&mut self, words: &mut Words<'_>) -> Result<(), Stop> {
        let name = self.owner(words)?;
        let ttl = words.ttl().or(self.ttl).ok_or(LineProblem::NoTtl)?;
        let rtype = words.rtype()?;
        let rdata = self.rdata(rtype, words)?;
        self.updates.extend(record(&name, rtype, class::IN, ttl, &rdata));
        self.count(1)
    }

    fn delete(&mut self, words: &mut Words<'_>) -> Result<(), Stop> {
        let name = self.owner(words)?;
        words.ttl();
        if words.is_at_end() {
            self.updates.extend(record(&name, rtype::ANY, class::ANY, 0, &[]));
            return self.count(1);
        }
        let rtype = words.rtype()?;
        let change = match words.is_at_end() {
            true => record(&name, rtype, class::ANY, 0, &[]),
            false => record(&name, rtype, class::NONE, 0, &self.rdata(rtype, words)?),
        };
        self.updates.extend(change);
        self.count(1)
    }

    /// The owner name, which must be in the zone: a server would refuse all else (RFC 2136 3.2.3, 3.4.1.3).
    fn owner(&self, words: &mut Words<'_>) -> Result<NameBuf, Stop> {
        let name = words.name()?;
        let zone = self.zone.as_ref().ok_or(LineProblem::NoZone)?;
        if !name.is_at_or_below(zone) {
            return Err(LineProblem::NotInZone.into());
        }
        Ok(name)
    }

    /// RDATA in wire form from the rest of the line, read as in a zone file.
    fn rdata(&self, rtype: u16, words: &mut Words<'_>) -> Result<Vec<u8>, Stop> {
        let (offset, rest) = words.rest();
        let head = format!(". 0 IN {} ", rtype::Text(rtype));
        let text = format!("{head}{rest}\n");
        let name = self.script.path.display().to_string();
        let source = Source { name, input: Box::new(text.as_bytes()) };
        let mut rdata = None;
        let mut take = |record: &Record<'_>| {
            rdata = Some(record.rdata.to_vec());
            Ok(())
        };
        let read = zonefile::read(source, &Options::new(Name::root()), &mut NoIncludes, &mut take);
        read.map_err(|mut report| {
            for diagnostic in &mut report.diagnostics {
                diagnostic.line = self.line as u32;
                diagnostic.column = (diagnostic.column + offset as u32).saturating_sub(head.len() as u32);
            }
            Stop::Record(Box::new(report))
        })?;
        rdata.ok_or(LineProblem::MissingField.into())
    }

    fn count(&mut self, section: usize) -> Result<(), Stop> {
        let zone_octets = self.zone.as_ref().map_or(0, |zone| zone.octets().len()) + 16;
        if self.prerequisites.len() + self.updates.len() + zone_octets > MESSAGE_OCTETS_MAX {
            return Err(LineProblem::LongMessage.into());
        }
        // At most 65,535 octets, so the count fits.
        self.counts[section] += 1;
        Ok(())
    }

    /// Ends the open message, if anything is in it.
    fn send(&mut self) -> Result<(), Stop> {
        let Some(zone) = &self.zone else {
            return if self.counts == [0; 2] { Ok(()) } else { Err(LineProblem::NoZone.into()) };
        };
        if self.counts == [0; 2] {
            return Ok(());
        }
        let [prerequisites, updates] = self.counts;
        let octets = &mut self.script.octets;
        for field in [0, u16::from(opcode::UPDATE) << 11, 1, prerequisites, updates, 0] {
            octets.extend_from_slice(&field.to_be_bytes());
        }
        octets.extend_from_slice(zone.octets());
        octets.extend_from_slice(&rtype::SOA.to_be_bytes());
        octets.extend_from_slice(&class::IN.to_be_bytes());
        octets.append(&mut self.prerequisites);
        octets.append(&mut self.updates);
        if octets.len() > OCTETS_MAX {
            return Err(LineProblem::TooMany.into());
        }
        let end = octets.len();
        self.script.ends.push(Message { end, changes: updates.into(), line: self.line });
        self.counts = [0; 2];
        Ok(())
    }
}

fn record(name: &Name, rtype: u16, class: u16, ttl: u32, rdata: &[u8]) -> Vec<u8> {
    let mut octets = name.octets().to_vec();
    octets.extend_from_slice(&rtype.to_be_bytes());
    octets.extend_from_slice(&class.to_be_bytes());
    octets.extend_from_slice(&ttl.to_be_bytes());
    // RDATA that the reader of zone files takes fits.
    octets.extend_from_slice(&(rdata.len() as u16).to_be_bytes());
    octets.extend_from_slice(rdata);
    octets
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn script(text: &str) -> Result<Script, Error> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Script::read(file.path(), None)
    }

    const HEAD: &[u8] = b"\0\0\x28\0\0\x01";
    const ZONE: &[u8] = b"\x07example\0\0\x06\0\x01";

    #[test]
    fn every_form() {
        let text = "; a comment\nserver 192.0.2.1 5353\nzone Example\nttl 9\n\n\
            prereq yxdomain a.example.\nnxdomain b.example\nprereq yxrrset a.example A\n\
            yxrrset a.example IN A 192.0.2.1 ; note\nnxrrset a.example TXT\n\
            update add x.example 60 IN TXT \"two words\"\nadd y.example A 192.0.2.2\n\
            update delete a.example\ndelete a.example A\ndel a.example 5 IN A 192.0.2.1\nsend\nsend\n\
            delete z.example";
        let script = script(text).unwrap();
        assert_eq!(script.server, Some("192.0.2.1:5353".parse().unwrap()));
        assert_eq!((script.count(), script.changes(0), script.changes(1)), (2, 5, 1));
        let expected = [
            HEAD,
            b"\0\x05\0\x05\0\0\x07Example\0\0\x06\0\x01",
            b"\x01a\x07example\0\0\xff\0\xff\0\0\0\0\0\0",
            b"\x01b\x07example\0\0\xff\0\xfe\0\0\0\0\0\0",
            b"\x01a\x07example\0\0\x01\0\xff\0\0\0\0\0\0",
            b"\x01a\x07example\0\0\x01\0\x01\0\0\0\0\0\x04\xc0\0\x02\x01",
            b"\x01a\x07example\0\0\x10\0\xfe\0\0\0\0\0\0",
            b"\x01x\x07example\0\0\x10\0\x01\0\0\0\x3c\0\x0a\x09two words",
            b"\x01y\x07example\0\0\x01\0\x01\0\0\0\x09\0\x04\xc0\0\x02\x02",
            b"\x01a\x07example\0\0\xff\0\xff\0\0\0\0\0\0",
            b"\x01a\x07example\0\0\x01\0\xff\0\0\0\0\0\0",
            b"\x01a\x07example\0\0\x01\0\xfe\0\0\0\0\0\x04\xc0\0\x02\x01",
        ]
        .concat();
        assert_eq!(script.message(0), expected);
    }

    #[test]
    fn a_small_message() {
        let script = script("zone example\nupdate delete z.example\n").unwrap();
        let expected =
            [HEAD, b"\0\0\0\x01\0\0", ZONE, b"\x01z\x07example\0\0\xff\0\xff\0\0\0\0\0\0"].concat();
        assert_eq!(script.message(0), expected);
        assert!(script.check_length(expected.len()).is_ok());
        assert!(matches!(
            script.check_length(expected.len() - 1),
            Err(Error::Line { line: 2, problem: LineProblem::LongForDatagram, .. })
        ));
    }

    #[test]
    fn bad_lines() {
        for (line, needle) in [
            ("update add a.example A 192.0.2.1", ":2: no TTL"),
            ("update add a.example 5 A 192.0.2", ":2:26: expected an IPv4 address, found \"192.0.2\""),
            ("update add a.example 5 A", ":2:25: "),
            ("update add a.example 5 A 192.0.2.1 x", ":2:36: "),
            ("update change a.example", ":2: expected"),
            ("upset a.example", ":2: expected"),
            ("update", ":2: a field is missing"),
            ("update add a.example 5 NOTYPE x", ":2: unknown RR type"),
            ("update delete a..example", ":2: bad name"),
            ("update delete other.", ":2: the name is not in the zone"),
            ("prereq nxrrset a.example A 192.0.2.1", ":2: more"),
            ("class CH", ":2: "),
            ("server localhost", ":2: expected an IP address"),
            ("key name secret", ":2: keys"),
            ("ttl x", ":2: bad number"),
        ] {
            let error = script(&format!("zone example.\n{line}\nsend\n")).unwrap_err().to_string();
            assert!(error.contains(needle), "{line}: {error}");
        }
        assert!(script("update delete a.example\n").unwrap_err().to_string().contains(":1: no zone"));
        assert!(matches!(script("zone example\n"), Err(Error::Empty { .. })));
        let long = "update add a.example 5 TXT x\n".repeat(4000);
        let error = script(&format!("zone example\n{long}send\n")).unwrap_err().to_string();
        assert!(error.contains("message is longer"), "{error}");
    }
}
