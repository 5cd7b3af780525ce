//! What answers are to be: recorded from one server, held against what another one says.
//!
//! A file has a line for each query, which is the line of a query file, a colon, and up to five fields:
//!
//! ```text
//! www.example. A do : NOERROR 2 1f0c... 0 -
//!                     RCODE   records of the answer section and their hash, of the authority section likewise
//! ```
//!
//! A field that is `-`, or left away at the end, is not compared; nor are records where either answer is truncated.
//! A line without words after the type is good for every query with its question that has no line of its own.
//!
//! *Normalised* is an answer whose records are sorted, with compressed names written out and all owner names, and the
//! names in RDATA that may be compressed, in lower case. TTLs count. The additional section, and with it OPT, does not.

use std::{
    collections::HashMap,
    fmt,
    fs::File,
    io::{BufRead, BufReader, BufWriter, Write},
    path::Path,
};

use wire::{
    header::{HEADER_OCTETS, u16_at},
    iana::{rcode, rtype},
    record::RecordView,
};

use crate::{Error, error, error::LineProblem, query::Query};

/// Differences that are kept to be shown.
pub const SHOWN_MAX: usize = 10;
/// Longest line taken: that of a query file and five fields.
const LINE_OCTETS_MAX: u64 = 1_400;
/// Most jumps of a compressed name: each label may be reached by one.
const JUMPS_MAX: usize = 128;

/// A normalised answer, or what it is to be: `None` is not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The four bits of the header.
    pub rcode: Option<u8>,
    /// Records of answer and authority sections, and what they hash to.
    pub sections: [Section; 2],
}

/// A section of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// How many records.
    pub records: Option<u16>,
    /// The hash of all of them.
    pub hash: Option<u64>,
}

impl Answer {
    /// Normalises a reply; `None` where it is damaged.
    pub fn of_reply(reply: &[u8]) -> Option<Answer> {
        if reply.len() < HEADER_OCTETS {
            return None;
        }
        let rcode = Some(reply[3] & 15);
        let is_truncated = reply[2] & 2 != 0;
        if is_truncated {
            return Some(Answer { rcode, sections: [Section::default(); 2] });
        }
        let mut at = HEADER_OCTETS;
        for _ in 0..u16_at(reply, 4) {
            at = wire::record::skip_name(reply, at)? + 4;
        }
        let mut sections = [Section::default(); 2];
        for (section, count_at) in sections.iter_mut().zip([6, 8]) {
            let count = u16_at(reply, count_at);
            // No more records than octets, whatever the header says: each is read before the next.
            let mut records = Vec::new();
            for _ in 0..count {
                let record = RecordView::read(reply, at)?;
                records.push(normal_record(reply, &record)?);
                at = record.end();
            }
            records.sort_unstable();
            *section = Section { records: Some(count), hash: Some(hash(records.iter().flatten().copied())) };
        }
        Some(Answer { rcode, sections })
    }

    /// Whether an answer is this one, as far as both tell.
    pub fn agrees(&self, other: &Answer) -> bool {
        fn same<T: PartialEq>(one: Option<T>, two: Option<T>) -> bool {
            one.is_none() || two.is_none() || one == two
        }
        let pairs = self.sections.iter().zip(&other.sections);
        same(self.rcode, other.rcode)
            && pairs.into_iter().all(|(one, two)| same(one.records, two.records) && same(one.hash, two.hash))
    }

    /// Reads the fields after the colon.
    fn from_text(text: &str) -> Result<Answer, LineProblem> {
        let mut fields = text.split_ascii_whitespace().map(|field| Some(field).filter(|&field| field != "-"));
        let mut next = || fields.next().flatten();
        let rcode = next().map(|field| code_from_text(field).ok_or(LineProblem::BadCode)).transpose()?;
        let mut section = || {
            let records = next().map(str::parse).transpose().map_err(|_| LineProblem::BadNumber)?;
            let hash = next().map(|field| u64::from_str_radix(field, 16)).transpose();
            Ok::<_, LineProblem>(Section { records, hash: hash.map_err(|_| LineProblem::BadNumber)? })
        };
        let sections = [section()?, section()?];
        if fields.next().is_some() {
            return Err(LineProblem::TooManyFields);
        }
        Ok(Answer { rcode, sections })
    }
}

/// As in a file.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rcode.map(|code| (code, rcode::mnemonic(code.into()))) {
            Some((_, Some(name))) => f.write_str(name)?,
            Some((code, None)) => write!(f, "RCODE{code}")?,
            None => f.write_str("-")?,
        }
        for section in self.sections {
            match section.records {
                Some(records) => write!(f, " {records}")?,
                None => f.write_str(" -")?,
            }
            match section.hash {
                Some(hash) => write!(f, " {hash:016x}")?,
                None => f.write_str(" -")?,
            }
        }
        Ok(())
    }
}

fn code_from_text(text: &str) -> Option<u8> {
    (0..16).find(|&code| match rcode::mnemonic(code.into()) {
        Some(name) => name.eq_ignore_ascii_case(text),
        None => format!("RCODE{code}").eq_ignore_ascii_case(text),
    })
}

/// A record with all that may be compressed written out and in lower case.
fn normal_record(message: &[u8], record: &RecordView<'_>) -> Option<Vec<u8>> {
    let mut octets = Vec::with_capacity(64);
    write_name(message, record.owner, &mut octets)?;
    octets.extend_from_slice(&record.rtype.to_be_bytes());
    octets.extend_from_slice(&record.class.to_be_bytes());
    octets.extend_from_slice(&record.ttl.to_be_bytes());
    let (skip, names) = name_places(record.rtype);
    let end = record.end();
    let mut at = record.rdata_at + skip;
    octets.extend_from_slice(message.get(record.rdata_at..at.min(end))?);
    for _ in 0..names {
        if at < end {
            at = write_name(message, at, &mut octets)?;
        }
    }
    octets.extend_from_slice(message.get(at.min(end)..end)?);
    Some(octets)
}

/// Octets before the names of a type's RDATA, and how many names: of the types whose names may be compressed (RFC 3597
/// 4) or have been by some server.
fn name_places(rtype: u16) -> (usize, usize) {
    match rtype {
        rtype::NS | rtype::CNAME | rtype::PTR | rtype::DNAME => (0, 1),
        rtype::MD | rtype::MF | rtype::MB | rtype::MG | rtype::MR => (0, 1),
        rtype::SOA | rtype::MINFO | rtype::RP => (0, 2),
        rtype::MX | rtype::AFSDB | rtype::RT | rtype::KX => (2, 1),
        rtype::PX => (2, 2),
        rtype::SRV => (6, 1),
        _ => (0, 0),
    }
}

/// Appends the name at `at` without compression and in lower case; returns where it ends in its own place.
fn write_name(message: &[u8], at: usize, to: &mut Vec<u8>) -> Option<usize> {
    let end = wire::record::skip_name(message, at)?;
    let (mut from, begin) = (at, to.len());
    for _ in 0..JUMPS_MAX {
        loop {
            let length = usize::from(*message.get(from)?);
            match length {
                0 => {
                    to.push(0);
                    return (to.len() - begin <= 255).then_some(end);
                }
                1..=63 => {
                    let label = message.get(from..from + 1 + length)?;
                    to.push(length as u8);
                    to.extend(label[1..].iter().map(u8::to_ascii_lowercase));
                    if to.len() - begin > 255 {
                        return None;
                    }
                    from += 1 + length;
                }
                0xc0..=0xff => break,
                _ => return None,
            }
        }
        from = usize::from(u16::from_be_bytes([message[from], *message.get(from + 1)?]) & 0x3fff);
    }
    None
}

/// FNV-1a, 64 bits.
fn hash(octets: impl Iterator<Item = u8>) -> u64 {
    octets.fold(0xcbf2_9ce4_8422_2325, |hash, octet| (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3))
}

/// What an answer is expected for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// The hash of a query with all its words.
    Query(u64),
    /// The hash of a question, whatever else the query has.
    Question(u64),
}

/// What the answers to many queries are to be.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Expected {
    by_query: HashMap<u64, Answer>,
    by_question: HashMap<u64, Answer>,
}

impl Expected {
    /// Reads a file; errors name the line.
    pub fn read(path: &Path) -> Result<Expected, Error> {
        let mut reader = BufReader::new(File::open(path).map_err(error::file(path, "open"))?);
        let (mut expected, mut line) = (Expected::default(), Vec::new());
        for number in 1.. {
            line.clear();
            let bounded = std::io::Read::take(&mut reader, LINE_OCTETS_MAX).read_until(b'\n', &mut line);
            if bounded.map_err(error::file(path, "read"))? == 0 {
                break;
            }
            let problem = |problem| Error::Line { path: path.to_owned(), line: number, problem };
            if line.len() as u64 == LINE_OCTETS_MAX {
                return Err(problem(LineProblem::TooLong));
            }
            if let Some((query, answer)) = parse_line(&line).map_err(problem)? {
                expected.insert(&query, answer);
            }
        }
        match expected.is_empty() {
            true => Err(Error::Empty { path: path.to_owned(), wanted: "expected answers" }),
            false => Ok(expected),
        }
    }

    /// Adds one answer; the first of two for the same query counts.
    fn insert(&mut self, query: &Query, answer: Answer) {
        let mut packet = Vec::new();
        query.write(&mut packet);
        let is_plain = query.edns.is_none() && !query.rd && !query.cd;
        if let Some((whole, question)) = keys(&packet) {
            self.by_query.entry(whole).or_insert(answer);
            if is_plain {
                self.by_question.entry(question).or_insert(answer);
            }
        }
    }

    /// How many answers there are, of queries and of questions.
    pub fn len(&self) -> usize {
        self.by_query.len() + self.by_question.len()
    }

    /// Whether nothing is expected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All answers, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (Key, &Answer)> {
        let queries = self.by_query.iter().map(|(&key, answer)| (Key::Query(key), answer));
        queries.chain(self.by_question.iter().map(|(&key, answer)| (Key::Question(key), answer)))
    }

    /// Adds what [`Expected::iter`] gave.
    pub fn add(&mut self, key: Key, answer: Answer) {
        match key {
            Key::Query(key) => self.by_query.insert(key, answer),
            Key::Question(key) => self.by_question.insert(key, answer),
        };
    }

    /// The answer to a query is to be this; `None` where nothing is said.
    pub fn of_query(&self, packet: &[u8]) -> Option<&Answer> {
        let (whole, question) = keys(packet)?;
        self.by_query.get(&whole).or_else(|| self.by_question.get(&question))
    }
}

/// Writes a file of answers: the packets of queries with what was answered.
pub fn write<'a>(path: &Path, answers: impl Iterator<Item = (&'a [u8], Answer)>) -> Result<u64, Error> {
    let mut output = BufWriter::new(File::create(path).map_err(error::file(path, "create"))?);
    let mut written = 0;
    for (packet, answer) in answers {
        let Some(query) = Query::of_packet(packet) else { continue };
        writeln!(output, "{query} : {answer}").map_err(error::file(path, "write"))?;
        written += 1;
    }
    output.flush().map_err(error::file(path, "write"))?;
    Ok(written)
}

/// A line of the file; `None` for empty lines and comments.
fn parse_line(line: &[u8]) -> Result<Option<(Query, Answer)>, LineProblem> {
    // A colon may be part of a name, so only one that stands alone parts query and answer.
    let parting =
        line.windows(3).position(|three| matches!(three, [b' ' | b'\t', b':', b' ' | b'\t' | b'\n']));
    let (query, answer) = match parting {
        Some(at) => (&line[..at], &line[at + 2..]),
        None => (line, &b""[..]),
    };
    let Some(query) = Query::from_line(query)? else { return Ok(None) };
    if parting.is_none() {
        return Err(LineProblem::MissingField);
    }
    let answer = std::str::from_utf8(answer).map_err(|_| LineProblem::BadNumber)?;
    Ok(Some((query, Answer::from_text(answer)?)))
}

/// Hashes of a query without its ID, and of its question alone; letter case does not count.
fn keys(packet: &[u8]) -> Option<(u64, u64)> {
    let (name, _) = wire::Name::split_from(packet.get(HEADER_OCTETS..)?).ok()?;
    let end = HEADER_OCTETS + name.octets().len() + 4;
    let question = packet.get(HEADER_OCTETS..end)?.iter().map(u8::to_ascii_lowercase);
    let key = hash(question);
    let rest = packet[2..HEADER_OCTETS].iter().chain(&packet[end..]).copied();
    Some((hash(key.to_be_bytes().into_iter().chain(rest)), key))
}

/// One answer that is not what it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The line of a query file.
    pub query: String,
    /// What the answer is to be, as in a file.
    pub expected: String,
    /// What it was.
    pub found: String,
}

/// What a worker compares, and what came of it.
#[derive(Default)]
pub struct Comparison {
    /// Replies with something to compare them with.
    pub compared: u64,
    /// Those that differ.
    pub different: u64,
    /// The first of them.
    pub first: Vec<Mismatch>,
}

impl Comparison {
    /// Compares the reply to a query.
    pub fn take(&mut self, expected: &Expected, packet: &[u8], reply: &[u8]) {
        let Some(wanted) = expected.of_query(packet) else { return };
        self.compared += 1;
        let found = Answer::of_reply(reply);
        if found.as_ref().is_some_and(|found| wanted.agrees(found)) {
            return;
        }
        self.different += 1;
        if self.first.len() < SHOWN_MAX {
            self.first.push(Mismatch {
                query: Query::of_packet(packet).map_or_else(String::new, |query| query.to_string()),
                expected: wanted.to_string(),
                found: found.map_or_else(|| "a damaged message".to_owned(), |found| found.to_string()),
            });
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn packet(line: &str) -> Vec<u8> {
        let mut packet = Vec::new();
        Query::from_line(line.as_bytes()).unwrap().unwrap().write(&mut packet);
        packet
    }

    /// A reply to `example. MX` with two records, in one form or another of the same.
    fn reply(compressed: bool, turned: bool, ttl: u8) -> Vec<u8> {
        let mut reply = b"\x12\x34\x84\0\0\x01\0\x02\0\0\0\0\x07example\0\0\x0f\0\x01".to_vec();
        let owner: &[u8] = if compressed { b"\xc0\x0c" } else { b"\x07EXAMPLE\0" };
        let target: &[u8] = if compressed { b"\x01m\xc0\x0c" } else { b"\x01m\x07eXample\0" };
        for preference in if turned { [20, 10] } else { [10, 20] } {
            reply.extend_from_slice(owner);
            reply.extend_from_slice(&[0, 15, 0, 1, 0, 0, 0, ttl, 0, target.len() as u8 + 2, 0, preference]);
            reply.extend_from_slice(target);
        }
        reply
    }

    #[test]
    fn answers_are_normalised() {
        let one = Answer::of_reply(&reply(true, false, 60)).unwrap();
        assert_eq!(one.sections[0].records, Some(2));
        assert_eq!(Answer::of_reply(&reply(false, true, 60)), Some(one));
        assert!(!one.agrees(&Answer::of_reply(&reply(true, false, 61)).unwrap()), "TTLs count");
        let mut nxdomain = reply(true, false, 60);
        nxdomain[3] = 3;
        assert!(!one.agrees(&Answer::of_reply(&nxdomain).unwrap()));
        let mut truncated = reply(true, false, 61);
        truncated[2] |= 2;
        assert!(one.agrees(&Answer::of_reply(&truncated).unwrap()));
    }

    #[test]
    fn damaged_replies() {
        let whole = reply(true, false, 60);
        for length in 0..whole.len() {
            assert_eq!(Answer::of_reply(&whole[..length]), None, "{length}");
        }
        let mut loops = whole.clone();
        let at = whole.len() - 2;
        loops[at + 1] = at as u8;
        assert_eq!(Answer::of_reply(&loops), None);
    }

    #[test]
    fn files() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (plain, dnssec) = (packet("Example. MX"), packet("example. MX do"));
        let answer = Answer::of_reply(&reply(true, false, 60)).unwrap();
        assert_eq!(write(file.path(), [(&plain[..], answer)].into_iter()).unwrap(), 1);
        let expected = Expected::read(file.path()).unwrap();
        assert_eq!(expected.of_query(&packet("eXample. MX")), Some(&answer));
        assert_eq!(expected.of_query(&dnssec), Some(&answer), "a line without words is good for all");
        assert_eq!(expected.of_query(&packet("example. A")), None);
        std::fs::write(file.path(), "; by hand\nexample. MX : nxdomain\nexample. MX do : NOERROR 0\n")
            .unwrap();
        let expected = Expected::read(file.path()).unwrap();
        assert_eq!(expected.of_query(&plain).unwrap().rcode, Some(3));
        assert_eq!(expected.of_query(&dnssec).unwrap().to_string(), "NOERROR 0 - - -");
        let mut comparison = Comparison::default();
        comparison.take(&expected, &packet("other. A"), &reply(true, false, 60));
        comparison.take(&expected, &plain, &reply(true, false, 60));
        comparison.take(&expected, &plain, b"short");
        assert_eq!((comparison.compared, comparison.different), (2, 2));
        assert_eq!(comparison.first[0].query, "Example. MX");
        assert_eq!(
            (&comparison.first[0].expected[..], &comparison.first[1].found[..]),
            ("NXDOMAIN - - - -", "a damaged message")
        );
        assert!(comparison.first[0].found.starts_with("NOERROR 2 "));
    }

    #[test]
    fn bad_lines() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (text, wanted) in [
            ("a. A : NOERROR\na. A\n", LineProblem::MissingField),
            ("\na. A : NOPE\n", LineProblem::BadCode),
            ("\na. A : - x\n", LineProblem::BadNumber),
            ("\na. A : - 1 z\n", LineProblem::BadNumber),
            ("\na. A : NOERROR 1 - 1 - 1\n", LineProblem::TooManyFields),
            ("\na. NOTYPE : NOERROR\n", LineProblem::UnknownType),
        ] {
            std::fs::write(file.path(), text).unwrap();
            match Expected::read(file.path()) {
                Err(Error::Line { line: 2, problem, .. }) => assert_eq!(problem, wanted, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
        std::fs::write(file.path(), "; nothing\n").unwrap();
        assert!(matches!(Expected::read(file.path()), Err(Error::Empty { .. })));
    }
}
