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

use std::{
    collections::HashMap,
    fs::File,
    io::{BufRead, BufReader, BufWriter, Write},
    path::Path,
};

use wire::header::HEADER_OCTETS;

use super::answer::hash;
pub use super::answer::{Answer, Section};
use crate::{Error, error, error::LineProblem, query::Query};

/// Differences that are kept to be shown.
pub const SHOWN_MAX: usize = 10;
/// Longest line taken: that of a query file and five fields.
const LINE_OCTETS_MAX: u64 = 1_400;

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
    use super::{super::answer::tests::reply, *};

    fn packet(line: &str) -> Vec<u8> {
        let mut packet = Vec::new();
        Query::from_line(line.as_bytes()).unwrap().unwrap().write(&mut packet);
        packet
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
