//! Zones and updates from text, changes to text.
//!
//! ```text
//! yx NAME [TYPE [RDATA]]   nx NAME [TYPE]                      prerequisites
//! add NAME TTL TYPE RDATA  del NAME [TYPE [RDATA]]             updates
//! ```
#![allow(dead_code, clippy::unwrap_used)] // each test file uses its part

pub mod sign;

use change::{Applied, Asker, Draft, Limits, Policy, Request, Terms};
use wire::iana::{class, rcode, rtype};
use wire::{NameBuf, Transport};
use zone::contents::SourcePosition;
use zone::{Change, ContentsBuilder, Pack, PackBuilder, Records, TextStamp, ZoneView};

pub const ORIGIN: &str = "example.";
/// 2026-11-22 00:00:01 UTC.
pub const NOW: u64 = 1_795_305_601;

pub fn name(text: &str) -> NameBuf {
    NameBuf::from_text_at(text.as_bytes(), Some(&NameBuf::from_text(ORIGIN).unwrap())).unwrap()
}

/// A pack with the zone of these records alone.
pub fn pack(records: &[(NameBuf, u16, u32, Vec<u8>)]) -> Pack {
    let mut builder = ContentsBuilder::new(&name("@"));
    for (owner, rtype, ttl, rdata) in records {
        builder.push(owner, false, *rtype, *ttl, rdata, SourcePosition::default()).unwrap();
    }
    let mut pack = PackBuilder::new(7);
    pack.add_zone(&builder.finish(), TextStamp::default()).unwrap();
    Pack::open(pack.finish().unwrap()).unwrap()
}

/// Records from the lines of a zone file.
pub fn records(text: &str) -> Vec<(NameBuf, u16, u32, Vec<u8>)> {
    let origin = name("@");
    let text = trimmed(text);
    let all = zonefile::records(&text, &origin).unwrap_or_else(|report| panic!("{report}\n{text}"));
    all.into_iter().map(|record| (record.owner, record.rtype, record.ttl, record.rdata)).collect()
}

pub fn view(pack: &Pack) -> ZoneView<'_> {
    ZoneView::new(pack, 0).unwrap()
}

/// A message being written; names are not compressed.
pub struct Message {
    octets: Vec<u8>,
}

impl Message {
    pub fn new() -> Message {
        Message::of_zone(&name("@"), rtype::SOA, class::IN)
    }

    pub fn of_zone(zone: &NameBuf, qtype: u16, qclass: u16) -> Message {
        let mut octets = vec![0xab, 0xcd, 0x28, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        octets.extend_from_slice(zone.octets());
        octets.extend(qtype.to_be_bytes());
        octets.extend(qclass.to_be_bytes());
        Message { octets }
    }

    /// Adds a record to section 1, 2 or 3, which come in this order.
    pub fn push(
        &mut self,
        section: usize,
        owner: &NameBuf,
        (rtype, class, ttl): (u16, u16, u32),
        rdata: &[u8],
    ) {
        let at = 4 + 2 * section;
        let count = u16::from_be_bytes([self.octets[at], self.octets[at + 1]]) + 1;
        self.octets[at..at + 2].copy_from_slice(&count.to_be_bytes());
        self.octets.extend_from_slice(owner.octets());
        self.octets.extend(rtype.to_be_bytes());
        self.octets.extend(class.to_be_bytes());
        self.octets.extend(ttl.to_be_bytes());
        self.octets.extend((rdata.len() as u16).to_be_bytes());
        self.octets.extend_from_slice(rdata);
    }

    /// Adds a line of the script.
    pub fn line(&mut self, line: &str) {
        let (verb, rest) = line.trim().split_once(' ').unwrap();
        let (owner, rest) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
        let (owner, rest) = (name(owner), rest.trim());
        if verb == "add" {
            let (ttl, data) = rest.split_once(' ').unwrap();
            let (rtype, rdata) = data_of(data);
            return self.push(2, &owner, (rtype, class::IN, ttl.parse().unwrap()), &rdata);
        }
        let (section, without, with) = match verb {
            "yx" => (1, class::ANY, class::IN),
            "nx" => (1, class::NONE, class::NONE),
            "del" => (2, class::ANY, class::NONE),
            _ => panic!("{line}"),
        };
        match rest.split_once(' ') {
            None if rest.is_empty() => self.push(section, &owner, (rtype::ANY, without, 0), &[]),
            None => self.push(section, &owner, (type_of(rest), without, 0), &[]),
            Some(_) => {
                let (rtype, rdata) = data_of(rest);
                self.push(section, &owner, (rtype, with, 0), &rdata);
            }
        }
    }

    pub fn octets(&self) -> &[u8] {
        &self.octets
    }

    pub fn request(&self) -> Request {
        Request::read(&self.octets).unwrap()
    }
}

fn type_of(text: &str) -> u16 {
    rtype::from_text(text.as_bytes()).unwrap()
}

/// Type and RDATA of `TYPE RDATA`.
fn data_of(text: &str) -> (u16, Vec<u8>) {
    let (_, rtype, _, rdata) = records(&format!("@ 0 {text}")).remove(0);
    (rtype, rdata)
}

/// The message of a script.
pub fn message(script: &str) -> Message {
    let mut message = Message::new();
    script.lines().filter(|line| !line.trim().is_empty()).for_each(|line| message.line(line));
    message
}

pub fn terms(policy: Option<&Policy>) -> Terms<'_> {
    Terms { policy, limits: Limits::default(), now: NOW, proof: change::Proof::Here }
}

pub fn somebody() -> Asker<'static> {
    Asker { address: "192.0.2.1".parse().unwrap(), transport: Transport::Udp, key: None }
}

/// Applies a script; its response code.
#[track_caller]
pub fn apply(draft: &mut Draft<'_>, script: &str) -> u16 {
    match draft.update(&message(script).request(), &somebody(), &terms(None)).unwrap() {
        Applied::Done => rcode::NOERROR,
        Applied::Failed(failure) => {
            assert!(!failure.to_string().is_empty());
            failure.rcode()
        }
        Applied::Unproved | Applied::CommitFirst => panic!("commit first, or unproved"),
    }
}

/// Serials, then a line a record: `-` removed, `+` added. SOA records are left out.
pub fn text(change: &Change) -> String {
    let mut lines = vec![format!("{} -> {}", change.serial_before(), change.serial_after())];
    for (sign, records) in [("-", change.removed()), ("+", change.added())] {
        lines.extend(lines_of(sign, records));
    }
    lines.join("\n")
}

fn lines_of(sign: &str, records: &Records) -> Vec<String> {
    let line = |record: zone::Record<'_>| {
        let rdata = zonefile::print::rdata(record.rtype, record.rdata);
        format!("{sign} {} {} {} {rdata}", record.owner, record.ttl, rtype::Text(record.rtype))
    };
    records.iter().filter(|record| record.rtype != rtype::SOA).map(line).collect()
}

/// Lines without the blanks around them.
pub fn trimmed(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}
