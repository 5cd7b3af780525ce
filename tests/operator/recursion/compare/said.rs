//! What is compared of an answer.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use zonda_tests::message::{DO, flag};
use zonda_tests::response::{Record, Response};
use zonda_tests::rtype;

/// A record without its TTL: owner, type, RDATA.
type Row = (String, u16, Vec<u8>);
/// Owner and type.
pub type Set = (String, u16);
/// A set, and its TTL as two have it.
pub type OtherTtl<'a> = (&'a Set, u32, u32);
/// Where an RRSIG says of how many labels it is (RFC 4034 3.1.3).
const SIGNATURE_LABELS_AT: usize = 3;
/// Octets of an RRSIG before its signer: type covered to key tag.
const SIGNATURE_HEAD_OCTETS: usize = 18;

/// What a resolver said.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Said {
    pub rcode: u16,
    pub ad: bool,
    /// AA, RD, RA, CD and what is reserved; then whether there is an OPT record, and DO.
    flags: (u16, bool, bool),
    /// Records of the answer, folded, without signatures.
    pub answer: BTreeSet<Row>,
    /// Who signed them: owner, and the head of the RDATA.
    signatures: BTreeSet<(String, Vec<u8>)>,
    /// Types of the authority section, and the owners of SOA records; what is delegated left out.
    authority: BTreeSet<(String, u16)>,
    /// TTLs of the answer's sets and of the SOA record of a denial.
    ttls: BTreeMap<Set, u32>,
    /// Why it failed, as it says: extended error and text (RFC 8914). Not compared.
    why: Option<String>,
}

/// Option EDE (RFC 8914 2).
const EXTENDED_ERROR: u16 = 15;
/// CPU of the HINFO record that stands for ANY.
const HINFO: &[u8] = b"\x07RFC8482";
/// Records, and characters of each, that are shown of what differs.
const SHOWN: usize = 6;
const SHOWN_OCTETS: usize = 80;

/// The parts in the order in which they are compared.
pub const PARTS: [&str; 7] = ["rcode", "answer", "flags", "ad", "signatures", "authority", "ttl"];

pub const SERVFAIL: u16 = 2;
/// By how much TTLs may differ beside the time that went by: each of two servers rounds, and asks in turn.
pub const SECONDS_APART: u32 = 2;
/// In place of an RCODE: nothing came.
const NOTHING: u16 = u16::MAX;

impl Said {
    /// Of a response, or of none.
    pub fn of(response: Option<&Response>) -> Said {
        let Some(response) = response else { return Said { rcode: NOTHING, ..Said::default() } };
        let folded = |records: &[Record]| records.iter().map(Record::folded).collect::<Vec<_>>();
        let (answer, authority) = (folded(&response.answer), folded(&response.authority));
        let is_plain = |one: &&Record| one.rtype != rtype::RRSIG;
        let is_proof = |one: &&Record| is_plain(one) && one.rtype != rtype::NS;
        let place = |one: &Record| {
            (if one.rtype == rtype::SOA { one.owner.to_string() } else { String::new() }, one.rtype)
        };
        let row = |one: &Record| (one.owner.to_string(), one.rtype, one.rdata.clone());
        let signature = |one: &Record| {
            (one.owner.to_string(), one.rdata.iter().take(SIGNATURE_HEAD_OCTETS).copied().collect())
        };
        let soa = authority.iter().filter(|one| one.rtype == rtype::SOA);
        let timed = answer.iter().filter(is_plain).chain(soa);
        let edns = response.edns.as_ref();
        let why = response.option(EXTENDED_ERROR).and_then(|option| option.split_at_checked(2));
        let kept = flag::AA | flag::RD | flag::RA | flag::CD | flag::Z;
        Said {
            rcode: response.rcode(),
            ad: response.has(flag::AD),
            flags: (response.flags & kept, edns.is_some(), edns.is_some_and(|edns| edns.flags & DO != 0)),
            answer: answer.iter().filter(is_plain).map(row).collect(),
            signatures: answer.iter().filter(|one| !is_plain(one)).map(signature).collect(),
            authority: authority.iter().filter(is_proof).map(place).collect(),
            ttls: timed.map(|one| ((one.owner.to_string(), one.rtype), one.ttl)).collect(),
            why: why.map(|(code, text)| format!("{} {}", code[1], String::from_utf8_lossy(text))),
        }
    }

    /// Whether a part is the same as another's. `seconds`: since the first question, by which TTLs may differ.
    pub fn agrees(&self, other: &Said, part: &str, seconds: u32) -> bool {
        match part {
            "rcode" => self.rcode == other.rcode,
            "answer" => self.answer == other.answer,
            "flags" => self.flags == other.flags,
            "ad" => self.ad == other.ad,
            "signatures" => self.signatures == other.signatures,
            "ttl" => self.other_ttls(other, seconds).next().is_none(),
            _ => self.authority == other.authority,
        }
    }

    /// The first part in which it differs from another: the others mostly follow from it.
    pub fn difference(&self, other: &Said, seconds: u32) -> Option<&'static str> {
        PARTS.into_iter().find(|part| !self.agrees(other, part, seconds))
    }

    /// What both have, with TTLs that are further apart than the time that went by: the set, and the two.
    pub fn other_ttls<'a>(&'a self, other: &'a Said, seconds: u32) -> impl Iterator<Item = OtherTtl<'a>> {
        let both = self.ttls.iter().filter_map(|(set, ttl)| Some((set, *ttl, *other.ttls.get(set)?)));
        both.filter(move |(_, ttl, theirs)| theirs.abs_diff(*ttl) > seconds + SECONDS_APART)
    }

    /// Whether a set has this TTL, or is not there.
    pub fn has_ttl(&self, set: &Set, wanted: u32, seconds: u32) -> bool {
        self.ttls.get(set).is_none_or(|ttl| ttl.abs_diff(wanted) <= seconds + SECONDS_APART)
    }

    /// Whether NSEC and NSEC3 of the authority section are all that the other lacks.
    pub fn has_proofs_alone(&self, other: &Said) -> bool {
        other.lacks_proofs_alone(self)
    }

    /// Whether something of the answer was made of a wildcard: a signature has fewer labels than its owner (RFC 4035 5.3.4).
    pub fn is_made_of_a_wildcard(&self) -> bool {
        self.signatures.iter().any(|(owner, head)| {
            let labels = owner.split('.').filter(|label| !label.is_empty()).count();
            head.get(SIGNATURE_LABELS_AT).is_some_and(|of_signature| usize::from(*of_signature) < labels)
        })
    }

    /// Types of the answer's records.
    pub fn types(&self) -> BTreeSet<u16> {
        self.answer.iter().map(|(_, rtype, _)| *rtype).collect()
    }

    /// Whether NSEC and NSEC3 are all that the other has more in the authority section.
    pub fn lacks_proofs_alone(&self, other: &Said) -> bool {
        let mut more = other.authority.difference(&self.authority);
        self.authority.is_subset(&other.authority)
            && more.all(|(_, rtype)| matches!(*rtype, rtype::NSEC | rtype::NSEC3))
    }

    /// Whether all that it gives is the HINFO record that stands for ANY (RFC 8482 4.2).
    pub fn is_hinfo(&self) -> bool {
        let is_such = |row: &Row| row.1 == rtype::HINFO && row.2.starts_with(HINFO);
        self.answer.len() == 1 && self.answer.iter().all(is_such)
    }

    /// Whether there are signatures in the answer section.
    pub fn is_signed(&self) -> bool {
        !self.signatures.is_empty()
    }

    /// The TTL of denials that the SOA record of the answer says (RFC 2308 4).
    pub fn denial_ttl(&self) -> Option<u32> {
        let soa = self.answer.iter().find(|row| row.1 == rtype::SOA)?;
        soa.2.last_chunk().map(|octets| u32::from_be_bytes(*octets))
    }

    /// Whether the answer has a record of a type.
    pub fn has(&self, of: &str) -> bool {
        let number = rtype::number(of).expect("the type of a rule");
        self.answer.iter().any(|(_, rtype, _)| *rtype == number)
    }
}

impl fmt::Debug for Said {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (flags, has_edns, is_dnssec_ok) = self.flags;
        let of_flags =
            [(flag::AA, "aa"), (flag::RD, "rd"), (flag::RA, "ra"), (flag::CD, "cd"), (flag::Z, "z")];
        let mut words: Vec<&str> =
            of_flags.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, word)| *word).collect();
        words.extend(self.ad.then_some("AD"));
        words.extend(has_edns.then_some("edns"));
        words.extend(is_dnssec_ok.then_some("do"));
        write!(out, "rcode {} [{}]", self.rcode, words.join(" "))?;
        for (owner, rtype, rdata) in self.answer.iter().take(SHOWN) {
            let rdata: String = rtype::rdata_text(*rtype, rdata).chars().take(SHOWN_OCTETS).collect();
            write!(out, " | {owner} {} {rdata}", rtype::name(*rtype))?;
        }
        if self.answer.len() > SHOWN {
            write!(out, " | {} more", self.answer.len() - SHOWN)?;
        }
        for (owner, head) in &self.signatures {
            write!(out, " | signed {owner} {}", rtype::name(u16::from_be_bytes([head[0], head[1]])))?;
        }
        for (owner, rtype) in &self.authority {
            write!(out, " | authority {owner} {}", rtype::name(*rtype))?;
        }
        for ((owner, rtype), ttl) in &self.ttls {
            write!(out, " | ttl {owner} {} {ttl}", rtype::name(*rtype))?;
        }
        self.why.as_ref().map_or(Ok(()), |why| write!(out, " | extended error {why}"))
    }
}
