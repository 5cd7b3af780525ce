//! Responses as text, and what is read from them.

mod classes;
mod forged;
mod properties;
mod recorded;

use wire::builder::{Builder, Case, Suffixes};
use wire::header;
use wire::iana::{class, rcode, rtype};
use wire::render::Section;
use wire::rrset::{Rrset, RrsetListBuf};
use wire::{Name, NameBuf};

use super::fuzz::check_scrubbed;
use super::*;

pub(crate) fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

/// A question: `zone qname TYPE`, options after it.
#[derive(Debug)]
pub(crate) struct Question {
    zone: NameBuf,
    qname: NameBuf,
    full: NameBuf,
    qtype: u16,
    pub(crate) change: fn(&mut Asked<'_>),
}

impl Question {
    /// From `zone qname TYPE`, to which ` for NAME` is added where the name is minimised.
    pub(crate) fn new(text: &str) -> Question {
        let words: Vec<&str> = text.split_whitespace().collect();
        let full = words.get(4).unwrap_or(&words[1]);
        Question {
            zone: name(words[0]),
            qname: name(words[1]),
            full: name(full),
            qtype: rtype::from_text(words[2].as_bytes()).unwrap(),
            change: |_| (),
        }
    }

    pub(crate) fn with(text: &str, change: fn(&mut Asked<'_>)) -> Question {
        Question { change, ..Question::new(text) }
    }

    pub(crate) fn asked(&self) -> Asked<'_> {
        let mut asked = Asked {
            zone: &self.zone,
            qname: &self.qname,
            qtype: self.qtype,
            full: &self.full,
            id: 0xabcd,
            source: Source::Authority,
            has_edns: true,
            cookie: None,
            is_case_random: true,
            is_stream: false,
            not_servers: NEVER_SERVERS,
        };
        (self.change)(&mut asked);
        asked
    }
}

/// Flags and response code of words such as `AA NXDOMAIN`.
fn flags(text: &str) -> u16 {
    text.split_whitespace().fold(header::QR, |flags, word| {
        flags
            | match word {
                "AA" => header::AA,
                "TC" => header::TC,
                "RA" => header::RA,
                "AD" => header::AD,
                word => {
                    let found = rcode::ALL.iter().find(|(_, name)| *name == word);
                    found.unwrap_or_else(|| panic!("{word}: no flag and no response code")).0 & 0xf
                }
            }
    })
}

/// A response as it is sent: `records` are lines of a zone file, sections after `---`.
pub(crate) fn message(asked: &Asked<'_>, words: &str, records: &str) -> Vec<u8> {
    let mut octets = vec![0; 65_535];
    let mut suffixes = Suffixes::new(1);
    let limits = (octets.len(), 0);
    let mut builder = Builder::new(&mut octets, limits, &mut suffixes, Case::Ignored, asked.id).unwrap();
    builder.question(asked.qname, asked.qtype, class::IN).unwrap();
    let sections = [Section::Answer, Section::Authority, Section::Additional];
    for (section, text) in sections.into_iter().zip(records.split("---")) {
        builder.begin_section(section);
        let text: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        if text.is_empty() {
            continue;
        }
        for record in zonefile::records(&text.join("\n"), Name::root()).unwrap() {
            let head = (record.rtype, class::IN, record.ttl);
            builder.record(&record.owner, head, &record.rdata).unwrap();
        }
    }
    let length = builder.finish(flags(words), 1);
    octets.truncate(length);
    octets
}

/// An OPT record at the end of a message.
pub(crate) fn with_opt(mut octets: Vec<u8>, rcode_upper: u8, options: &[u8]) -> Vec<u8> {
    octets.extend(b"\0\0\x29\x04\xd0");
    octets.extend([rcode_upper, 0, 0, 0]);
    octets.extend((options.len() as u16).to_be_bytes());
    octets.extend(options);
    octets[11] += 1;
    octets
}

/// One line a record, those of `section` named before each.
fn lines(section: &str, list: &RrsetListBuf, to: &mut String) {
    for set in list.list() {
        let mut printed = Vec::new();
        for rdata in set.rdatas {
            zonefile::print::line(set.owner, set.ttl, set.rtype, rdata, &mut printed);
        }
        let printed = String::from_utf8(printed).unwrap().replace(" IN ", " ");
        for line in printed.lines() {
            *to += &format!("{section} {line}\n");
        }
        if !set.signatures.is_empty() {
            *to += &format!("{section} + {} signatures\n", set.signatures.count());
        }
    }
}

/// What was read, as text.
pub(crate) fn print(reply: &Reply) -> String {
    let mut text = format!("{:?} {}\n", reply.kind, reply.name());
    lines("an", &reply.answer, &mut text);
    lines("au", &reply.authority, &mut text);
    lines("re", &reply.referral, &mut text);
    lines("gl", &reply.glue, &mut text);
    text
}

pub(crate) fn read(asked: &Asked<'_>, octets: &[u8]) -> Result<Reply, Mismatch> {
    let mut reply = Reply::new();
    let read = Reader::new(1).read(asked, octets, &mut reply);
    check_scrubbed(asked, octets, &reply);
    if read.is_err() {
        assert_eq!((reply.kind, print(&reply)), (Kind::Unread, "Unread .\n".into()));
    }
    read.map(|()| reply)
}

/// Reads a response, and compares what is read as text: the kind and its name, then records by section.
#[track_caller]
pub(crate) fn check(question: &str, words: &str, records: &str, expected: &str) {
    check_asked(&Question::new(question), words, records, expected);
}

#[track_caller]
pub(crate) fn check_asked(question: &Question, words: &str, records: &str, expected: &str) {
    let asked = question.asked();
    let octets = message(&asked, words, records);
    let reply = read(&asked, &octets).unwrap();
    let expected: String = expected
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(print(&reply), expected);
}

/// What a longer response left of room is held by whoever keeps the reply.
#[test]
fn room_is_counted() {
    let mut reply = Reply::new();
    assert_eq!(reply.octets(), 0);
    let rdatas = [[0; 200]; 20].iter().map(|rdata| &rdata[..]).collect::<wire::rrset::RdataListBuf>();
    let set = Rrset {
        owner: &name("x."),
        rtype: rtype::TXT,
        ttl: 1,
        rdatas: rdatas.list(),
        signatures: Default::default(),
    };
    reply.referral.push(&set);
    let held = reply.octets();
    reply.clear();
    assert!(held > 4_000 && reply.octets() == held);
}

/// First answers have the TTLs that the cache keeps them with: longer ones for what is not signed, shorter ones for all.
#[test]
fn ttls_are_held_to_what_is_kept() {
    let limits = cache::Limits { ttl_min: 60, ttl_max: 100, negative_ttl_max: 30, ..Default::default() };
    let held = |words: &str, records: &str| {
        let question = Question::new("example. www.example. A");
        let asked = question.asked();
        let mut reply = read(&asked, &message(&asked, words, records)).unwrap();
        reply.cap(&limits);
        let sets =
            [&reply.answer, &reply.authority].map(|list| list.list().iter().map(|set| set.ttl).collect());
        let [answer, authority]: [Vec<u32>; 2] = sets;
        (answer, authority)
    };
    let signature = "www.example. 5 RRSIG A 8 2 300 20300101000000 20200101000000 1 example. AAAA";
    assert_eq!(held("AA NOERROR", "www.example. 5 A 192.0.2.1").0, [60]);
    assert_eq!(held("AA NOERROR", "www.example. 500 A 192.0.2.1").0, [100]);
    assert_eq!(held("AA NOERROR", &format!("www.example. 5 A 192.0.2.1\n{signature}")).0, [5]);
    let denied = "---\nexample. 50 SOA ns.example. host.example. 1 2 3 4 50";
    assert_eq!(held("AA NXDOMAIN", denied), (vec![], vec![30]));
}
