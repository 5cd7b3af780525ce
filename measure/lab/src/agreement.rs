//! Whether servers answer alike: a sample of the queries, asked of each, compared with the first.
//!
//! Compared are response code, AA, TC, the records of the answer section in any order and, where there are no answers,
//! those of the authority section: below positive answers it holds what is merely helpful, which minimal responses leave
//! out. The additional section is not compared.

use std::{collections::BTreeSet, io, net::UdpSocket, time::Duration};

use bench::query::{self, Query};
use wire::{
    header,
    iana::rcode,
    rdata::Names,
    record::{RecordView, skip_name},
};

use crate::{Error, bed::Bed, contender, contender::Server, record::Agreement};

/// Differences told in full.
const DIFFERENCES_MAX: usize = 8;
/// Times a question is asked before silence counts as the answer.
const ATTEMPTS: usize = 3;
/// How long an answer is waited for.
const WAIT: Duration = Duration::from_millis(500);
/// A contender that differs in more than this share of the questions does other work than the others, and is not ranked with them. Some differences
/// are to be expected: what fits into 512 octets is decided differently, and TTLs of negative answers differ.
pub const DIFFERENT_SHARE_MAX: f64 = 0.05;

/// What is compared of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    /// None came.
    Silence,
    /// Octets that are no message.
    Broken,
    /// A response.
    Response {
        rcode: u16,
        authoritative: bool,
        truncated: bool,
        answer: BTreeSet<Record>,
        authority: BTreeSet<Record>,
    },
}

impl Answer {
    /// The same without TTLs, where those are ignored.
    fn with(mut self, ttls: Ttls) -> Answer {
        if let (Ttls::Ignored, Answer::Response { answer, authority, .. }) = (ttls, &mut self) {
            for section in [answer, authority] {
                let records = std::mem::take(section).into_iter();
                *section = records.map(|(owner, rtype, _, rdata)| (owner, rtype, 0, rdata)).collect();
            }
        }
        self
    }
}

/// Owner, type, TTL and RDATA, names in lower case and not compressed.
type Record = (Vec<u8>, u16, u32, Vec<u8>);

/// A sample of a query file, spread over all of it.
pub fn sample(path: &std::path::Path, count: usize) -> Result<Vec<Query>, Error> {
    let mut all = 0;
    query::each_query(path, |_| {
        all += 1;
        true
    })?;
    let stride = (all / count.max(1)).max(1);
    let (mut at, mut sample) = (0, Vec::new());
    query::each_query(path, |query| {
        if at % stride == 0 && sample.len() < count {
            sample.push(query);
        }
        at += 1;
        sample.len() < count
    })?;
    Ok(sample)
}

/// Whether TTLs are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ttls {
    /// They are.
    Compared,
    /// They are not: those of caches fall from second to second.
    Ignored,
}

/// What a server answered to a sample, one for each question.
pub struct Answers {
    contender: String,
    all: Vec<Answer>,
}

/// Asks every server the sample; the first is what the others are compared with.
pub fn compare<'a>(
    bed: &Bed,
    servers: impl Iterator<Item = &'a Server>,
    sample: &[Query],
    ttls: Ttls,
) -> Result<Vec<Agreement>, Error> {
    let answers = servers.map(|server| answers(bed, server, sample, ttls));
    Ok(hold(&answers.collect::<Result<Vec<_>, _>>()?, sample))
}

/// Asks a server the sample.
pub fn answers(bed: &Bed, server: &Server, sample: &[Query], ttls: Ttls) -> Result<Answers, Error> {
    let socket = contender::socket(bed, server.address)?;
    let all = sample.iter().map(|query| ask(&socket, query).with(ttls)).collect();
    Ok(Answers { contender: server.name.text().to_owned(), all })
}

/// Holds answers to a sample against those of the first.
pub fn hold(all: &[Answers], sample: &[Query]) -> Vec<Agreement> {
    let Some(first) = all.first() else { return Vec::new() };
    let held = |answers: &Answers| {
        let mut agreement = Agreement {
            contender: answers.contender.clone(),
            asked: sample.len() as u64,
            equal: 0,
            differences: Vec::new(),
        };
        for ((query, answer), wanted) in sample.iter().zip(&answers.all).zip(&first.all) {
            if answer == wanted {
                agreement.equal += 1;
            } else if agreement.differences.len() < DIFFERENCES_MAX {
                agreement.differences.push(format!("{query}: {}", difference(answer, wanted)));
            }
        }
        agreement
    };
    all.iter().map(held).collect()
}

fn ask(socket: &UdpSocket, query: &Query) -> Answer {
    let mut packet = Vec::new();
    query.write(&mut packet);
    let mut buffer = [0; 4096];
    for id in 1..=ATTEMPTS as u16 {
        packet[..2].copy_from_slice(&id.to_be_bytes());
        let received = (|| -> io::Result<usize> {
            socket.send(&packet)?;
            socket.set_read_timeout(Some(WAIT))?;
            loop {
                let octets = socket.recv(&mut buffer)?;
                // The answer to the attempt before may come late: any that repeats the question is one.
                if octets >= 12
                    && buffer[12..octets].starts_with(&packet[12..12 + query.name.octets().len() + 4])
                {
                    return Ok(octets);
                }
                if octets >= 12 && buffer[4..6] == [0, 0] {
                    return Ok(octets);
                }
            }
        })();
        if let Ok(octets) = received {
            return read(&buffer[..octets]).unwrap_or(Answer::Broken);
        }
    }
    Answer::Silence
}

fn read(message: &[u8]) -> Option<Answer> {
    let field = |at| header::u16_at(message, at);
    let flags = field(2);
    let mut at = 12;
    for _ in 0..field(4) {
        at = skip_name(message, at)? + 4;
    }
    let (answer, authority) = (field(6), field(8));
    let mut answer = section(message, &mut at, answer)?;
    let mut authority = section(message, &mut at, authority)?;
    let truncated = flags & 0x0200 != 0;
    if truncated {
        // What a server leaves out of an answer that is too long is its own choice.
        answer.clear();
        authority.clear();
    }
    Some(Answer::Response {
        rcode: flags & 0xf,
        authoritative: flags & 0x0400 != 0,
        truncated,
        authority: if answer.is_empty() { authority } else { BTreeSet::new() },
        answer,
    })
}

fn section(message: &[u8], at: &mut usize, count: u16) -> Option<BTreeSet<Record>> {
    let mut records = BTreeSet::new();
    for _ in 0..count {
        let view = RecordView::read(message, *at)?;
        *at = view.end();
        records.insert((name(message, view.owner)?, view.rtype, view.ttl, rdata(message, &view)?));
    }
    Some(records)
}

/// RDATA with its names in full, those that canonical form folds in lower case (RFC 4034 6.2).
fn rdata(message: &[u8], view: &RecordView<'_>) -> Option<Vec<u8>> {
    let mut octets = Vec::with_capacity(view.rdata.len());
    let mut at = view.rdata_at;
    for found in Names::in_message(view.rtype, message, at, view.end()) {
        let found = found.ok()?;
        if found.uses.fold {
            octets.extend_from_slice(message.get(at..found.at)?);
            octets.extend_from_slice(&name(message, found.at)?);
            at = found.end;
        }
    }
    octets.extend_from_slice(message.get(at..view.end())?);
    Some(octets)
}

/// The name at `at`, uncompressed and in lower case.
fn name(message: &[u8], at: usize) -> Option<Vec<u8>> {
    let mut places = wire::Places::new();
    places.follow(message, at).ok()?;
    let mut octets = Vec::with_capacity(places.name_octets());
    for &label in places.labels() {
        let label = usize::from(label);
        octets.extend_from_slice(message.get(label..=label + usize::from(*message.get(label)?))?);
    }
    octets.push(0);
    octets.make_ascii_lowercase();
    Some(octets)
}

/// What differs, in words.
fn difference(answer: &Answer, wanted: &Answer) -> String {
    let (
        Answer::Response { rcode, authoritative, truncated, answer: records, authority },
        Answer::Response { rcode: code, authoritative: aa, truncated: tc, answer: others, authority: theirs },
    ) = (answer, wanted)
    else {
        return format!("{}, not {}", kind(answer), kind(wanted));
    };
    let mut said = Vec::new();
    if rcode != code {
        said.push(format!("{}, not {}", rcode_text(*rcode), rcode_text(*code)));
    }
    for (flag, one, other) in [("AA", authoritative, aa), ("TC", truncated, tc)] {
        if one != other {
            said.push(format!("{flag} {}", if *one { "set" } else { "not set" }));
        }
    }
    for (section, one, other) in [("answer", records, others), ("authority", authority, theirs)] {
        let (more, less) = (one.difference(other).count(), other.difference(one).count());
        if more + less > 0 {
            said.push(format!("{section}: {more} records more, {less} fewer"));
        }
    }
    said.join("; ")
}

fn kind(answer: &Answer) -> &'static str {
    match answer {
        Answer::Silence => "no answer",
        Answer::Broken => "octets that are no message",
        Answer::Response { .. } => "an answer",
    }
}

fn rcode_text(code: u16) -> String {
    rcode::mnemonic(code).map_or_else(|| format!("RCODE{code}"), str::to_owned)
}
