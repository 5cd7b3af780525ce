//! What tests need: a cache that is filled from words, queries, and responses as words.
#![allow(clippy::unwrap_used)]

use crate::policy::Clients;
use crate::{Client, IsOfOurs, Policy, Responder, Served};
use cache::{Cache, Entry, Key, Kind, Moment, Security, Subject};
use resolve::{Outcome, Time};
use wire::header::{self, u16_at};
use wire::iana::{ede, rtype};
use wire::record::RecordView;
use wire::rrset::{RdataListBuf, Rrset, RrsetListBuf};
use wire::{Address, Name, NameBuf, Places, Transport};

/// When tests begin: not at a whole second.
pub(crate) const BEGIN: Moment = Moment(10_000_500);
/// Seconds since 1970 then.
const WALL: u64 = 1_700_000_000;

pub(crate) fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

/// RDATA of A from a number, of CNAME and its kin from a name, of all else the octets.
pub(crate) fn rdata(rtype: u16, text: &str) -> Vec<u8> {
    match rtype {
        rtype::A => text.parse::<std::net::Ipv4Addr>().unwrap().octets().to_vec(),
        rtype::AAAA => text.parse::<std::net::Ipv6Addr>().unwrap().octets().to_vec(),
        rtype::CNAME | rtype::DNAME | rtype::PTR | rtype::NS => name(text).octets().to_vec(),
        rtype::SOA => [name(text).octets(), b"\0", &[0; 20]].concat(),
        _ => text.as_bytes().to_vec(),
    }
}

pub(crate) fn list(rtype: u16, texts: &[&str]) -> RdataListBuf {
    let rdatas: Vec<_> = texts.iter().map(|text| rdata(rtype, text)).collect();
    rdatas.iter().map(|rdata| &rdata[..]).collect()
}

/// Sets from (owner, type, TTL, one record), signed with "sig" where `signed`.
pub(crate) fn sets(rows: &[(&str, u16, u32, &[&str])], signed: bool) -> RrsetListBuf {
    let mut all = RrsetListBuf::new();
    for (owner, rtype, ttl, texts) in rows {
        let signatures = signatures(signed);
        all.push(&Rrset {
            owner: &name(owner),
            rtype: *rtype,
            ttl: *ttl,
            rdatas: list(*rtype, texts).list(),
            signatures: signatures.list(),
        });
    }
    all
}

fn signatures(signed: bool) -> RdataListBuf {
    if signed { [&b"\0\x01sig"[..]].into_iter().collect() } else { RdataListBuf::new() }
}

/// A worker's world.
pub(crate) struct Kit {
    pub cache: Cache,
    pub policy: Policy,
    pub responder: Responder,
    pub now: Moment,
    pub transport: Transport,
    pub address: &'static str,
    /// Whether a zone of ours has begun the answer.
    pub is_of_ours: bool,
    /// The apex of a zone of ours.
    pub ours: Option<NameBuf>,
    pub room: Vec<u8>,
}

impl Kit {
    pub(crate) fn new() -> Kit {
        Kit {
            cache: Cache::new(),
            policy: Policy { clients: Clients::All, rotates: false, ..Policy::default() },
            responder: Responder::new(1),
            now: BEGIN,
            transport: Transport::Udp,
            address: "192.0.2.1:5353",
            is_of_ours: false,
            ours: None,
            room: vec![0xee; 65_535],
        }
    }

    fn put(&self, name: &Name, subject: Subject, entry: Entry<'_>) {
        assert!(self.try_put(name, subject, entry));
    }

    fn try_put(&self, name: &Name, subject: Subject, entry: Entry<'_>) -> bool {
        self.cache.put(&Key { name, subject }, &entry, self.now, self.now)
    }

    /// Keeps data; signed where they are secure or bogus.
    pub(crate) fn data(&self, owner: &str, rtype: u16, ttl: u32, texts: &[&str], security: Security) {
        self.wildcard(owner, rtype, ttl, texts, security, &RrsetListBuf::new());
    }

    /// The same with what proves that nothing is nearer than the wildcard that they were made from.
    pub(crate) fn wildcard(
        &self,
        owner: &str,
        rtype: u16,
        ttl: u32,
        texts: &[&str],
        security: Security,
        beside: &RrsetListBuf,
    ) {
        assert!(self.try_wildcard(owner, rtype, ttl, texts, security, beside));
    }

    /// The same; `false` where the cache does not take it.
    pub(crate) fn try_wildcard(
        &self,
        owner: &str,
        rtype: u16,
        ttl: u32,
        texts: &[&str],
        security: Security,
        beside: &RrsetListBuf,
    ) -> bool {
        let (rdatas, signatures) =
            (list(rtype, texts), signatures(matches!(security, Security::Secure | Security::Bogus)));
        let entry = Entry {
            rdatas: rdatas.list(),
            signatures: signatures.list(),
            beside: beside.list(),
            ede: (security == Security::Bogus).then_some(ede::SIGNATURE_EXPIRED),
            ..bare(Kind::Data, security, ttl)
        };
        self.try_put(&name(owner), subject(rtype, security), entry)
    }

    /// Keeps a denial: of a type, or of the name; with SOA and NSEC.
    pub(crate) fn denial(&self, owner: &str, rtype: Option<u16>, zone: &str, ttl: u32, security: Security) {
        assert!(self.try_denial(owner, rtype, zone, ttl, security));
    }

    /// The same; `false` where the cache does not take it.
    pub(crate) fn try_denial(
        &self,
        owner: &str,
        rtype: Option<u16>,
        zone: &str,
        ttl: u32,
        security: Security,
    ) -> bool {
        let is_signed = security == Security::Secure;
        let beside = match is_signed {
            true => sets(&[(zone, rtype::SOA, ttl, &[zone]), (zone, rtype::NSEC, ttl, &["nsec"])], true),
            false => sets(&[(zone, rtype::SOA, ttl, &[zone])], false),
        };
        let kind = if rtype.is_some() { Kind::NoData } else { Kind::NameError };
        let subject = rtype.map_or(Subject::Existence, |rtype| subject(rtype, security));
        self.try_put(&name(owner), subject, Entry { beside: beside.list(), ..bare(kind, security, ttl) })
    }

    /// Keeps a denial as it comes with a referral.
    pub(crate) fn bare_denial(&self, owner: &str, rtype: u16) {
        let beside = sets(&[(owner, rtype::NSEC, 60, &["nsec"])], true);
        let entry = Entry { beside: beside.list(), ..bare(Kind::NoData, Security::Secure, 60) };
        self.put(&name(owner), Subject::Rrset(rtype), entry);
    }

    /// Keeps a failure.
    pub(crate) fn failure(&self, owner: &str, rtype: u16, ede: Option<u16>) {
        let entry = Entry { ede, ..bare(Kind::Failure, Security::Insecure, 30) };
        self.put(&name(owner), Subject::Failure(rtype), entry);
    }

    /// Keeps one that is no fact: a reason to give what has expired.
    pub(crate) fn no_fact(&self, owner: &str, rtype: u16, ede: u16) {
        let entry = Entry { ede: Some(ede), ..bare(Kind::Failure, Security::Unchecked, 30) };
        self.put(&name(owner), Subject::Failure(rtype), entry);
    }

    /// Has a query served.
    pub(crate) fn serve(&mut self, query: &[u8]) -> (Served, Option<Said>) {
        let address = Address::from(self.address.parse::<std::net::SocketAddr>().unwrap());
        let is_of_ours = |name: &Name| self.ours.as_ref().is_some_and(|apex| name.is_at_or_below(apex));
        let client = Client {
            transport: self.transport,
            address: &address,
            is_proved: false,
            is_of_ours: self.is_of_ours,
            ours: self.ours.is_some().then_some(&is_of_ours as IsOfOurs<'_>),
            ahead: None,
        };
        let time = self.time();
        let world = (&self.policy, &self.cache);
        let served = self.responder.serve(query, &client, world, time, &mut self.room);
        let said = match served {
            Served::Octets(octets) => Some(read(&self.room[..octets])),
            _ => None,
        };
        (served, said)
    }

    pub(crate) fn time(&self) -> Time {
        Time { now: self.now, wall: WALL }
    }

    /// What is said to a question with RD.
    pub(crate) fn ask(&mut self, text: &str, rtype: u16, flags: u16, dnssec_ok: bool) -> String {
        let query = query(text, rtype, header::RD | flags, Some((1232, dnssec_ok)), b"");
        match self.serve(&query) {
            (_, Some(said)) => said.words(),
            (served, _) => format!("{served:?}"),
        }
    }

    /// What a client that waited gets.
    pub(crate) fn reply(&mut self, waiting: &mut crate::Waiting, outcome: &Outcome) -> Option<Said> {
        let time = self.time();
        let world = (&self.policy, &self.cache);
        match self.responder.reply(waiting, outcome, world, time, &mut self.room) {
            crate::Replied::Octets(octets) => Some(read(&self.room[..octets])),
            crate::Replied::Ask => None,
        }
    }
}

fn subject(rtype: u16, security: Security) -> Subject {
    match security {
        Security::Unchecked | Security::Bogus => Subject::Unchecked(rtype),
        Security::Secure | Security::Insecure => Subject::Rrset(rtype),
    }
}

fn bare(kind: Kind, security: Security, ttl: u32) -> Entry<'static> {
    Entry { kind, security, zone_labels: 1, ..Entry::data(wire::RdataList::EMPTY, BEGIN, ttl) }
}

/// A query. `edns`: size and DO; `options`: of it.
pub(crate) fn query(
    text: &str,
    qtype: u16,
    flags: u16,
    edns: Option<(u16, bool)>,
    options: &[u8],
) -> Vec<u8> {
    let mut octets = vec![0xab, 0xcd];
    let counts = [flags, 1, 0, 0, u16::from(edns.is_some())];
    counts.iter().for_each(|field| octets.extend(field.to_be_bytes()));
    octets.extend(name(text).octets());
    octets.extend(qtype.to_be_bytes());
    octets.extend([0, 1]);
    if let Some((size, dnssec_ok)) = edns {
        octets.extend([0, 0, 41]);
        octets.extend(size.to_be_bytes());
        octets.extend([0, 0, u8::from(dnssec_ok) << 7, 0]);
        octets.extend((options.len() as u16).to_be_bytes());
        octets.extend(options);
    }
    octets
}

/// A response, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub octets: Vec<u8>,
    pub flags: u16,
    pub rcode: u16,
    pub edes: Vec<u16>,
    /// Words of extended errors.
    pub texts: Vec<String>,
    /// Its records by section, OPT left out: `owner TTL TYPE RDATA`.
    pub sections: [Vec<String>; 3],
    pub has_opt: bool,
}

/// Reads a response; panics for what is none.
pub(crate) fn read(octets: &[u8]) -> Said {
    let flags = u16_at(octets, 2);
    let mut said = Said {
        octets: octets.to_vec(),
        flags,
        rcode: flags & 15,
        edes: Vec::new(),
        texts: Vec::new(),
        sections: Default::default(),
        has_opt: false,
    };
    let mut places = Places::new();
    let mut at = 12;
    for _ in 0..u16_at(octets, 4) {
        at = places.follow(octets, at).unwrap() + 4;
    }
    for section in 0..3 {
        for _ in 0..u16_at(octets, 6 + 2 * section) {
            let record = RecordView::read(octets, at).unwrap();
            at = record.end();
            if record.rtype == rtype::OPT {
                said.has_opt = true;
                said.rcode |= (record.ttl >> 24 << 4) as u16;
                let mut rest = record.rdata;
                while let Some((&[c, d, l, m], after)) = rest.split_first_chunk::<4>() {
                    let (data, after) = after.split_at(u16_at(&[l, m], 0).into());
                    if u16_at(&[c, d], 0) == 15 {
                        said.edes.push(u16_at(data, 0));
                        said.texts.push(String::from_utf8_lossy(&data[2..]).into_owned());
                    }
                    rest = after;
                }
                continue;
            }
            let owner = text_at(octets, record.owner);
            let shown = match record.rtype {
                rtype::A => std::net::Ipv4Addr::from(<[u8; 4]>::try_from(record.rdata).unwrap()).to_string(),
                rtype::AAAA => {
                    std::net::Ipv6Addr::from(<[u8; 16]>::try_from(record.rdata).unwrap()).to_string()
                }
                rtype::CNAME | rtype::DNAME | rtype::PTR | rtype::NS | rtype::SOA => {
                    text_at(octets, record.rdata_at)
                }
                _ => String::from_utf8_lossy(record.rdata).trim_start_matches(char::is_control).to_string(),
            };
            let rtype = wire::iana::rtype::Text(record.rtype);
            said.sections[section].push(format!("{owner} {} {rtype} {shown}", record.ttl));
        }
    }
    assert_eq!(at, octets.len(), "octets after the last record");
    said
}

fn text_at(octets: &[u8], at: usize) -> String {
    let mut places = Places::new();
    places.follow(octets, at).unwrap();
    let mut buffer = [0; 255];
    places.copy_ancestor(octets, places.label_count(), &mut buffer).to_string()
}

impl Said {
    /// Code, flags (AA, TC, AD, CD; not RA, which is expected), errors, then the sections: `NOERROR ad | a ... | b ...`.
    pub(crate) fn words(&self) -> String {
        let mut words = wire::iana::rcode::mnemonic(self.rcode).unwrap().to_string();
        let flags = [(header::AA, " aa"), (header::TC, " tc"), (header::AD, " ad"), (header::CD, " cd")];
        flags.iter().filter(|(flag, _)| self.flags & flag != 0).for_each(|(_, word)| words += word);
        assert_eq!(self.flags & (header::QR | header::RA), header::QR | header::RA);
        self.edes.iter().for_each(|code| words += &format!(" {code}"));
        let last = self.sections.iter().rposition(|records| !records.is_empty()).map_or(0, |last| last + 1);
        self.sections[..last].iter().for_each(|records| words += &format!(" | {}", records.join(", ")));
        words
    }
}
