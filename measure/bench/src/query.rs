//! Queries as text and as packets.
//!
//! A query file has one query a line, as queryperf and dnsperf read them: `NAME TYPE`, then, for this tool,
//! words that those two ignore or that are left away:
//!
//! | word | meaning |
//! |---|---|
//! | `edns`, `edns=SIZE` | an OPT record with that payload size, 1232 by default (RFC 6891) |
//! | `do`, `do=SIZE` | the same with DO set (RFC 3225) |
//! | `cookie` | a client cookie in the OPT record (RFC 7873), always the same |
//! | `rd`, `cd` | the header bit set |
//!
//! Empty lines and lines that begin with `;` or `#` are ignored.

use std::{
    fmt,
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

use wire::{NameBuf, iana::rtype};

use crate::{Error, error, error::LineProblem, random::Random};

/// Most queries kept in memory: at about 60 octets each, 1.2 GB.
pub const QUERIES_MAX: usize = 20_000_000;
/// Payload size where a line names none: what fits unfragmented nearly everywhere (DNS flag day 2020).
pub const PAYLOAD_OCTETS: u16 = 1232;
/// Longest line taken: a name of 255 octets, all escaped as `\DDD`, and the words.
const LINE_OCTETS_MAX: usize = 1_200;
/// A COOKIE option with a client's part alone (RFC 7873 4.1).
const COOKIE: &[u8; 12] = b"\0\x0a\0\x08zonda-be";
/// Longest packet made: header, a name of 255 octets, type and class, and an OPT of 11 with a cookie.
pub const QUERY_OCTETS_MAX: usize = 12 + 255 + 4 + 11 + COOKIE.len();

/// The OPT of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edns {
    /// Largest UDP payload the client takes.
    pub payload_octets: u16,
    /// DNSSEC records wanted (RFC 3225).
    pub dnssec_ok: bool,
    /// A client cookie (RFC 7873).
    pub has_cookie: bool,
}

impl Default for Edns {
    fn default() -> Edns {
        Edns { payload_octets: PAYLOAD_OCTETS, dnssec_ok: false, has_cookie: false }
    }
}

/// One query, class IN, opcode QUERY.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Query {
    /// Name asked for, case as given.
    pub name: NameBuf,
    /// Type asked for.
    pub rtype: u16,
    /// OPT, if any.
    pub edns: Option<Edns>,
    /// Recursion desired.
    pub rd: bool,
    /// Checking disabled.
    pub cd: bool,
}

impl Query {
    /// Reads a line without its line end; `None` for empty lines and comments.
    pub fn from_line(line: &[u8]) -> Result<Option<Query>, LineProblem> {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let Some(name) = words.next() else { return Ok(None) };
        if matches!(name[0], b';' | b'#') {
            return Ok(None);
        }
        let root = wire::Name::root();
        let name = NameBuf::from_text_at(name, Some(root)).map_err(LineProblem::Name)?;
        let rtype = rtype::from_text(words.next().ok_or(LineProblem::MissingField)?)
            .ok_or(LineProblem::UnknownType)?;
        let mut query = Query { name, rtype, edns: None, rd: false, cd: false };
        for word in words {
            query.apply(word)?;
        }
        Ok(Some(query))
    }

    fn apply(&mut self, word: &[u8]) -> Result<(), LineProblem> {
        let (key, size) = match word.iter().position(|&octet| octet == b'=') {
            Some(at) => (&word[..at], Some(&word[at + 1..])),
            None => (word, None),
        };
        let key = key.to_ascii_lowercase();
        match (&key[..], size) {
            (b"rd", None) => self.rd = true,
            (b"cd", None) => self.cd = true,
            (b"cookie", None) => self.edns.get_or_insert_default().has_cookie = true,
            (b"edns" | b"do", size) => {
                let payload_octets = match size {
                    Some(text) => number(text).ok_or(LineProblem::BadNumber)?,
                    None => PAYLOAD_OCTETS,
                };
                let has_cookie = self.edns.is_some_and(|edns| edns.has_cookie);
                self.edns = Some(Edns { payload_octets, dnssec_ok: key == b"do", has_cookie });
            }
            _ => return Err(LineProblem::UnknownFlag),
        }
        Ok(())
    }

    /// The type as text.
    pub fn rtype_text(&self) -> rtype::Text {
        rtype::Text(self.rtype)
    }

    /// Reads a packet as [`Query::write`] makes it; `None` for others.
    pub fn of_packet(packet: &[u8]) -> Option<Query> {
        let flags = packet.get(2..4)?;
        let (name, rest) = wire::Name::split_from(packet.get(12..)?).ok()?;
        let rtype = u16::from_be_bytes([*rest.first()?, *rest.get(1)?]);
        // After type and class: root, type, payload size, extended RCODE and version, flags, no options or a cookie.
        let edns = match rest.get(4..)? {
            [] => None,
            [0, 0, 41, high, low, _, _, flags, _, _, _, options @ ..] => {
                let payload_octets = u16::from_be_bytes([*high, *low]);
                Some(Edns { payload_octets, dnssec_ok: flags & 0x80 != 0, has_cookie: options == COOKIE })
            }
            _ => return None,
        };
        Some(Query { name: name.to_owned(), rtype, edns, rd: flags[0] & 1 != 0, cd: flags[1] & 16 != 0 })
    }

    /// Appends the message in wire form with ID 0.
    pub fn write(&self, packet: &mut Vec<u8>) {
        let flags = u16::from(self.rd) << 8 | u16::from(self.cd) << 4;
        let additional = u16::from(self.edns.is_some());
        for field in [0, flags, 1, 0, 0, additional] {
            packet.extend_from_slice(&field.to_be_bytes());
        }
        packet.extend_from_slice(self.name.octets());
        packet.extend_from_slice(&self.rtype.to_be_bytes());
        packet.extend_from_slice(&wire::iana::class::IN.to_be_bytes());
        if let Some(edns) = self.edns {
            packet.push(0);
            packet.extend_from_slice(&rtype::OPT.to_be_bytes());
            packet.extend_from_slice(&edns.payload_octets.to_be_bytes());
            let options = if edns.has_cookie { &COOKIE[..] } else { &[] };
            packet.extend_from_slice(&[0, 0, u8::from(edns.dnssec_ok) << 7, 0, 0, options.len() as u8]);
            packet.extend_from_slice(options);
        }
    }
}

/// The line of a query file.
impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Escaped in names is what master files ask for, and there `#` begins no comment.
        f.write_str(if self.name.octets().get(1) == Some(&b'#') { "\\" } else { "" })?;
        write!(f, "{} {}", self.name, self.rtype_text())?;
        if let Some(edns) = self.edns {
            f.write_str(if edns.dnssec_ok { " do" } else { " edns" })?;
            if edns.payload_octets != PAYLOAD_OCTETS {
                write!(f, "={}", edns.payload_octets)?;
            }
            f.write_str(if edns.has_cookie { " cookie" } else { "" })?;
        }
        f.write_str(if self.rd { " rd" } else { "" })?;
        f.write_str(if self.cd { " cd" } else { "" })
    }
}

/// Queries as packets, ready to send but for their ID: kept in memory, or made from their number.
#[derive(Default)]
pub struct QuerySet {
    octets: Vec<u8>,
    ends: Vec<u32>,
    /// Of a capture: when each was sent, from the first on.
    times_ns: Vec<u64>,
    /// All queries, where they are made.
    made: Option<MadeNames>,
}

impl QuerySet {
    /// Queries for names that are made on the fly.
    pub fn made(names: MadeNames) -> QuerySet {
        QuerySet { made: Some(names), ..QuerySet::default() }
    }

    /// Reads a query file whole; errors name the line.
    pub fn read(path: &Path) -> Result<QuerySet, Error> {
        let mut set = QuerySet::default();
        each_query(path, |query| {
            set.push(&query);
            !set.is_full()
        })?;
        if set.count() == 0 {
            return Err(Error::Empty { path: path.to_owned(), wanted: "queries" });
        }
        Ok(set)
    }

    /// Adds one query.
    pub fn push(&mut self, query: &Query) {
        query.write(&mut self.octets);
        self.ends.push(self.octets.len() as u32);
    }

    /// Adds a query as a packet, with its time where it is of a capture; false, and nothing is added, where the octets
    /// are no query.
    pub fn push_packet(&mut self, packet: &[u8], time_ns: Option<u64>) -> bool {
        let question = packet.get(12..).and_then(|rest| wire::Name::split_from(rest).ok());
        if packet.len() > QUERY_OCTETS_MAX || question.is_none_or(|(_, rest)| rest.len() < 4) {
            return false;
        }
        self.octets.extend_from_slice(packet);
        self.ends.push(self.octets.len() as u32);
        self.times_ns.extend(time_ns);
        true
    }

    /// Adds one query of a capture, sent at `time_ns`; one out of order counts as sent with the one before it.
    pub fn push_at(&mut self, query: &Query, time_ns: u64) {
        self.push(query);
        self.times_ns.push(self.times_ns.last().map_or(time_ns, |&last| time_ns.max(last)));
    }

    /// Whether no more queries have room.
    pub fn is_full(&self) -> bool {
        self.ends.len() >= QUERIES_MAX || self.octets.len() > u32::MAX as usize - QUERY_OCTETS_MAX
    }

    /// When each query was sent, in ascending order; empty where nobody knows.
    pub fn times_ns(&self) -> &[u64] {
        &self.times_ns
    }

    /// The same queries in an order in which up to `run` of equal length stand together, the runs shuffled by
    /// `seed`: what can leave as one train of segments, with the mix kept at a larger scale.
    pub fn in_runs(&self, run: usize, seed: u64) -> QuerySet {
        let mut order: Vec<usize> = (0..self.kept()).collect();
        let mut random = Random::new(seed);
        random.shuffle(&mut order);
        order.sort_by_key(|&index| self.packet(index).len());
        let same_length = |&one: &usize, &two: &usize| self.packet(one).len() == self.packet(two).len();
        let mut runs: Vec<&[usize]> =
            order.chunk_by(same_length).flat_map(|class| class.chunks(run.max(1))).collect();
        random.shuffle(&mut runs);
        let mut set = QuerySet { made: self.made.clone(), ..QuerySet::default() };
        for &index in runs.into_iter().flatten() {
            set.octets.extend_from_slice(self.packet(index));
            set.ends.push(set.octets.len() as u32);
        }
        set
    }

    /// How many queries there are; of names that are made, as many as 32 bits can number.
    pub fn count(&self) -> usize {
        if self.made.is_some() { u32::MAX as usize } else { self.kept() }
    }

    /// How many queries are kept in memory: 0 where names are made.
    pub fn kept(&self) -> usize {
        self.ends.len()
    }

    /// Octets of a packet.
    pub fn octets(&self, index: usize) -> usize {
        self.made.as_ref().map_or_else(|| self.packet(index).len(), MadeNames::octets)
    }

    /// Writes packet number `index` to the beginning of `room`, which holds [`QUERY_OCTETS_MAX`] or as many octets as
    /// the packet has; returns how many that are.
    pub fn write(&self, index: usize, room: &mut [u8]) -> usize {
        let Some(made) = &self.made else {
            let packet = self.packet(index);
            room[..packet.len()].copy_from_slice(packet);
            return packet.len();
        };
        made.write(index as u64, room)
    }

    /// Packet number `index`, which must be below the number of those kept.
    pub fn packet(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.octets[start..self.ends[index] as usize]
    }
}

/// Queries for random names below a suffix, each a function of seed and number: no cache has seen them before.
#[derive(Clone, Debug)]
pub struct MadeNames {
    /// The query with a label that is written anew for each.
    template: Vec<u8>,
    seed: u64,
}

/// Octets of a random label: 60 bits of letters and digits, so that two alike are not to be expected.
const MADE_LABEL_OCTETS: usize = 12;
/// Where the label's octets begin: after the header and its length.
const MADE_LABEL_AT: usize = 13;

impl MadeNames {
    /// Names below `query.name`, else like `query`; `None` where that name is too long to take a label more.
    pub fn new(query: &Query, seed: u64) -> Option<MadeNames> {
        let suffix = query.name.octets();
        if suffix.len() + 1 + MADE_LABEL_OCTETS > 255 {
            return None;
        }
        let mut template = Vec::new();
        query.write(&mut template);
        let label = [&[MADE_LABEL_OCTETS as u8][..], &[b'a'; MADE_LABEL_OCTETS]].concat();
        template.splice(MADE_LABEL_AT - 1..MADE_LABEL_AT - 1, label);
        Some(MadeNames { template, seed })
    }

    fn octets(&self) -> usize {
        self.template.len()
    }

    fn write(&self, number: u64, room: &mut [u8]) -> usize {
        const SET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
        room[..self.template.len()].copy_from_slice(&self.template);
        let mut bits = Random::part(self.seed, number).next_u64();
        for octet in &mut room[MADE_LABEL_AT..MADE_LABEL_AT + MADE_LABEL_OCTETS] {
            *octet = SET[bits as usize & 31];
            bits >>= 5;
        }
        self.template.len()
    }
}

/// Hands each query of a file to `take` until that returns false.
pub fn each_query(path: &Path, mut take: impl FnMut(Query) -> bool) -> Result<(), Error> {
    let mut reader = BufReader::with_capacity(1 << 18, File::open(path).map_err(error::file(path, "open"))?);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let bounded = std::io::Read::take(&mut reader, LINE_OCTETS_MAX as u64).read_until(b'\n', &mut line);
        if bounded.map_err(error::file(path, "read"))? == 0 {
            break;
        }
        let whole = line.len() < LINE_OCTETS_MAX;
        let query = if whole { Query::from_line(&line) } else { Err(LineProblem::TooLong) };
        match query {
            Ok(Some(query)) => {
                if !take(query) {
                    break;
                }
            }
            Ok(None) => {}
            Err(problem) => return Err(Error::Line { path: path.to_owned(), line: number, problem }),
        }
    }
    Ok(())
}

/// An absolute name, with or without final dot; `None` where the text is no name.
pub fn name_from_text(text: &str) -> Option<NameBuf> {
    NameBuf::from_text(text).ok()
}

fn number(text: &[u8]) -> Option<u16> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, packet: &[u8]) {
        let query = Query::from_line(line.as_bytes()).unwrap().unwrap();
        let mut written = Vec::new();
        query.write(&mut written);
        assert_eq!(written, packet);
        assert!(written.len() <= QUERY_OCTETS_MAX);
        assert_eq!(Query::from_line(query.to_string().as_bytes()).unwrap().unwrap(), query);
        assert_eq!(Query::of_packet(&written), Some(query));
        assert_eq!(Query::of_packet(&written[..written.len() - 12]), None);
    }

    #[test]
    fn lines_and_packets() {
        check("a.B. A", b"\0\0\0\0\0\x01\0\0\0\0\0\0\x01a\x01B\0\0\x01\0\x01");
        check(". ns do=4096 rd", b"\0\0\x01\0\0\x01\0\0\0\0\0\x01\0\0\x02\0\x01\0\0\x29\x10\0\0\0\x80\0\0\0");
        check(
            "x\tTYPE65280 \tedns cd",
            b"\0\0\0\x10\0\x01\0\0\0\0\0\x01\x01x\0\xff\0\0\x01\0\0\x29\x04\xd0\0\0\0\0\0\0",
        );
        check("\\#a A", b"\0\0\0\0\0\x01\0\0\0\0\0\0\x02#a\0\0\x01\0\x01");
        check("\\;a A", b"\0\0\0\0\0\x01\0\0\0\0\0\0\x02;a\0\0\x01\0\x01");
    }

    #[test]
    fn bad_lines() {
        for (line, problem) in [
            ("a.example", LineProblem::MissingField),
            ("a.example NOTYPE", LineProblem::UnknownType),
            ("a.example TYPE65536", LineProblem::UnknownType),
            ("a.example A dnssec", LineProblem::UnknownFlag),
            ("a.example A do=70000", LineProblem::BadNumber),
            ("a..example A", LineProblem::Name(wire::name::NameError::EmptyLabel)),
        ] {
            assert_eq!(Query::from_line(line.as_bytes()), Err(problem), "{line}");
        }
        for line in ["", "  ", "; comment", "# comment"] {
            assert_eq!(Query::from_line(line.as_bytes()), Ok(None));
        }
    }

    #[test]
    fn runs_of_equal_length() {
        let mut set = QuerySet::default();
        for number in 0..1000 {
            let line = format!("name{}. A", number * number % 7919);
            set.push(&Query::from_line(line.as_bytes()).unwrap().unwrap());
        }
        let packets =
            |set: &QuerySet| (0..set.count()).map(|index| set.packet(index).to_vec()).collect::<Vec<_>>();
        let (mut before, after) = (packets(&set), packets(&set.in_runs(16, 1)));
        let changes = after.windows(2).filter(|pair| pair[0].len() != pair[1].len()).count();
        assert!(changes < 1000 / 16 + 10, "{changes}");
        let mut sorted = after.clone();
        before.sort();
        sorted.sort();
        assert!(before == sorted);
        assert!(after == packets(&set.in_runs(16, 1)));
    }

    #[test]
    fn made_names() {
        let query = Query::from_line(b"example. AAAA do").unwrap().unwrap();
        let set = QuerySet::made(MadeNames::new(&query, 7).unwrap());
        let name = |set: &QuerySet, index| {
            let mut room = [0; QUERY_OCTETS_MAX];
            let octets = set.write(index, &mut room);
            assert_eq!(octets, set.octets(index));
            assert_eq!(room[octets - 15..octets - 11], [0, 28, 0, 1]);
            wire::Name::split_from(&room[12..octets]).unwrap().0.to_owned().to_string()
        };
        let names: std::collections::HashSet<_> = (0..10_000).map(|index| name(&set, index)).collect();
        assert_eq!(names.len(), 10_000);
        assert!(names.iter().all(|name| name.len() == 21 && name.ends_with(".example.")));
        assert_eq!(name(&set, 5), name(&set.in_runs(64, 1), 5));
        assert_ne!(name(&set, 5), name(&QuerySet::made(MadeNames::new(&query, 8).unwrap()), 5));
        let long = format!("{}{}. A", "a123456789.".repeat(22), "b");
        assert!(MadeNames::new(&Query::from_line(long.as_bytes()).unwrap().unwrap(), 1).is_none());
    }

    #[test]
    fn files() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "; head\na. A\n\nb. AAAA do\n").unwrap();
        let set = QuerySet::read(file.path()).unwrap();
        assert_eq!((set.count(), set.packet(0).len(), set.packet(1).len()), (2, 19, 30));
        std::fs::write(file.path(), "a. A\nb.\n").unwrap();
        assert!(matches!(QuerySet::read(file.path()), Err(Error::Line { line: 2, .. })));
        std::fs::write(file.path(), "").unwrap();
        assert!(matches!(QuerySet::read(file.path()), Err(Error::Empty { .. })));
        std::fs::write(file.path(), "a".repeat(5000)).unwrap();
        assert!(matches!(QuerySet::read(file.path()), Err(Error::Line { line: 1, .. })));
    }
}
