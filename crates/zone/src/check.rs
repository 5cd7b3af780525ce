//! Semantic checks of a zone: what careful operators want to hear before it is served.
//!
//! In: [`Contents`], sorted and classified. Out: [`Finding`]s through a callback, in a fixed order for a
//! given zone, and a [`Summary`]. Records that never got into the contents (bad syntax, owners of other
//! zones) are not seen here.
//!
//! ```text
//! level     looks at                                              cost for each record
//! Load      what makes a zone impossible to serve                 a look at its type
//! NoDnssec  + delegations, glue, targets, names                   + a hash lookup for each name in RDATA
//! Quick     + shape of DNSSEC, dates; no spelling, no notices      + a look at each of its records
//! Semantic  + what repeats the origin, what soon expires          + a look at each name in RDATA
//! Full      + signatures, NSEC3 hashes, ZONEMD digests            + the arithmetic, on several threads
//! ```
//!
//! Severities follow BIND and Knot DNS, the stricter of the two where an operator wants it;
//! `docs/rfc-notes/checks.md` lists both for every check. The time is an argument: nothing here reads a
//! clock.

use dnssec::key::Dnskey;
use wire::Name;
use wire::iana::rtype;

use crate::contents::{Contents, Flags, NodeRef, RRsetRef, SourcePosition};

mod delegation;
mod digest;
mod finding;
mod fit;
mod keys;
mod names;
mod nsec;
mod nsec3;
mod repeated;
mod signature;
mod structure;
mod target;
mod zonemd;

pub use digest::{Anchor, Demand, Verified, verify_digest};
pub use finding::{CHECK_COUNT, Check, Detail, Finding, Severity, Summary, Timestamp};
pub use fit::fit;

use names::NameIndex;

/// How deep to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Only what makes the zone impossible to serve.
    Load,
    /// Everything that is not about DNSSEC.
    NoDnssec,
    /// What a server can look at whenever it loads a zone, DNSSEC included: everything that needs no cryptography, but for names that repeat the
    /// origin and signatures that are still good.
    Quick,
    /// Everything that needs no cryptography.
    Semantic,
    /// Everything.
    Full,
}

/// What to check, and how much to say.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How deep to look.
    pub level: Level,
    /// The time to hold signatures against, in seconds since 1970; `None`: periods of validity are not
    /// checked.
    pub now: Option<u64>,
    /// Findings of each kind and severity that are reported one by one; all are counted.
    pub findings_per_check_max: u64,
    /// Threads that verify signatures; at least one is used.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { level: Level::Full, now: None, findings_per_check_max: FINDINGS_PER_CHECK_MAX, threads: 1 }
    }
}

/// Default of [`Options::findings_per_check_max`]: more of one kind is one mistake made many times, and
/// the summary has the number.
pub const FINDINGS_PER_CHECK_MAX: u64 = 100;

/// Checks a zone; each finding goes to `report`.
pub fn check(contents: &Contents, options: &Options, report: &mut dyn FnMut(Finding)) -> Summary {
    let mut reporter =
        Reporter { per_check_max: options.findings_per_check_max, summary: Summary::default(), sink: report };
    structure::check(contents, &mut reporter);
    if options.level > Level::Load {
        let facts = Facts::new(contents, *options);
        structure::check_sets(&facts, &mut reporter);
        delegation::check(&facts, &mut reporter);
        if options.level != Level::Quick || facts.has_any_of(&target::TYPES) {
            target::check(&facts, &mut reporter);
        }
        if options.level != Level::Quick {
            repeated::check(&facts, &mut reporter);
        }
        if options.level == Level::NoDnssec {
            return reporter.summary;
        }
        keys::check(&facts, &mut reporter);
        if facts.is_signed() {
            signature::check(&facts, &mut reporter);
            nsec::check(&facts, &mut reporter);
            nsec3::check(&facts, &mut reporter);
        } else {
            nsec3::check_owners(&facts, &mut reporter);
        }
        zonemd::check(&facts, &mut reporter);
    }
    reporter.summary
}

/// The zone with what several checks ask of it.
struct Facts<'c> {
    contents: &'c Contents,
    options: Options,
    index: NameIndex<'c>,
    soa: Option<Soa<'c>>,
    keys: Vec<Dnskey<'c>>,
    /// See [`Contents::types`].
    types: [u64; 4],
    /// There is something made with keys; not looked for in a zone without any.
    has_proofs: bool,
}

impl<'c> Facts<'c> {
    fn new(contents: &'c Contents, options: Options) -> Facts<'c> {
        let apex = contents.node(0);
        let is_proof = |rtype| matches!(rtype, rtype::RRSIG | rtype::NSEC | rtype::NSEC3 | rtype::NSEC3PARAM);
        let has_proof = |node: NodeRef<'_>| node.rrsets().any(|set| is_proof(set.rtype()));
        let keys = apex.rrset(rtype::DNSKEY).into_iter().flat_map(|set| set.records());
        Facts {
            contents,
            options,
            index: NameIndex::new(contents),
            types: contents.types(),
            soa: apex.rrset(rtype::SOA).and_then(Soa::of),
            keys: keys.filter_map(|record| Dnskey::parse(record.rdata)).collect(),
            has_proofs: apex.rrset(rtype::DNSKEY).is_some() && contents.nodes().any(has_proof),
        }
    }

    fn apex(&self) -> NodeRef<'c> {
        self.contents.node(0)
    }

    /// Whether the zone has any of these types, each one of the first 256: where it has not, a pass over all names is spared.
    fn has_any_of(&self, types: &[u16]) -> bool {
        types.iter().any(|rtype| self.types[usize::from(rtype / 64)] >> (rtype % 64) & 1 != 0)
    }

    /// A zone with keys and anything made with them is meant to be signed. Without keys its signatures mean nothing, and keys alone are
    /// published ahead of signing or of a move between operators (RFC 6781 4.1.1.1, 4.3.5.1).
    fn is_signed(&self) -> bool {
        !self.keys.is_empty() && self.has_proofs
    }

    /// The TTL that NSEC and NSEC3 records should have (RFC 9077 3).
    fn denial_ttl(&self) -> Option<u32> {
        self.soa.map(|soa| soa.ttl.min(soa.minimum))
    }

    /// Reports denial records whose TTL is not the one that RFC 9077 asks for.
    fn check_denial_ttl(&self, node: NodeRef<'c>, set: RRsetRef<'c>, reporter: &mut Reporter<'_>) {
        if let Some(expected) = self.denial_ttl().filter(|&ttl| ttl != set.ttl()) {
            let detail = || Detail::Numbers { found: set.ttl(), expected };
            reporter.add(Check::NsecTtl, At::set(node, set), detail);
        }
    }
}

/// The SOA record.
#[derive(Clone, Copy)]
struct Soa<'c> {
    ttl: u32,
    mname: &'c Name,
    rname: &'c Name,
    serial: u32,
    refresh: u32,
    retry: u32,
    expire: u32,
    minimum: u32,
    position: SourcePosition,
}

impl<'c> Soa<'c> {
    /// Reads the first record of the set; `None` when it has another shape.
    fn of(set: RRsetRef<'c>) -> Option<Soa<'c>> {
        let record = set.records().next()?;
        let (mname, rest) = Name::split_from(record.rdata).ok()?;
        let (rname, rest) = Name::split_from(rest).ok()?;
        let (numbers, []) = rest.as_chunks::<4>() else { return None };
        let &[serial, refresh, retry, expire, minimum] = numbers else { return None };
        let number = u32::from_be_bytes;
        Some(Soa {
            ttl: set.ttl(),
            mname,
            rname,
            serial: number(serial),
            refresh: number(refresh),
            retry: number(retry),
            expire: number(expire),
            minimum: number(minimum),
            position: record.position,
        })
    }
}

/// What a finding is about.
#[derive(Clone, Copy)]
struct At<'c> {
    node: NodeRef<'c>,
    rtype: Option<u16>,
    position: Option<SourcePosition>,
}

impl<'c> At<'c> {
    /// A name, without a record to point at.
    fn node(node: NodeRef<'c>) -> At<'c> {
        At { node, rtype: None, position: None }
    }

    /// An RRset that is not there.
    fn absent(node: NodeRef<'c>, rtype: u16) -> At<'c> {
        At { node, rtype: Some(rtype), position: None }
    }

    /// An RRset: the position is that of its first record.
    fn set(node: NodeRef<'c>, set: RRsetRef<'c>) -> At<'c> {
        At { node, rtype: Some(set.rtype()), position: set.records().next().map(|record| record.position) }
    }

    /// A record.
    fn record(node: NodeRef<'c>, rtype: u16, position: SourcePosition) -> At<'c> {
        At { node, rtype: Some(rtype), position: Some(position) }
    }
}

/// Counts findings and passes on the first of each kind and severity: many warnings must not hide an error
/// of the same kind.
struct Reporter<'r> {
    per_check_max: u64,
    summary: Summary,
    sink: &'r mut dyn FnMut(Finding),
}

impl Reporter<'_> {
    /// Reports with the usual severity; `detail` is only made when the finding is passed on.
    fn add(&mut self, check: Check, at: At<'_>, detail: impl FnOnce() -> Detail) {
        self.add_as(check, check.severity(), at, detail);
    }

    /// Reports with another severity.
    fn add_as(&mut self, check: Check, severity: Severity, at: At<'_>, detail: impl FnOnce() -> Detail) {
        if self.summary.add(check, severity) < self.per_check_max {
            (self.sink)(Finding {
                check,
                severity,
                owner: at.node.name(),
                rtype: at.rtype,
                position: at.position,
                detail: detail(),
            });
        }
    }

    /// Counts findings that cannot be reported one by one.
    fn count(&mut self, check: Check, count: u64) {
        for _ in 0..count {
            self.summary.add(check, check.severity());
        }
    }

    /// Takes over what another reporter of the same zone found: `summary` counts all, `findings` are those
    /// passed on.
    fn join(&mut self, summary: &Summary, findings: Vec<Finding>) {
        let mut passed = self.summary.clone();
        for finding in findings {
            let passed = passed.slot(finding.check, finding.severity);
            if *passed < self.per_check_max {
                *passed += 1;
                (self.sink)(finding);
            }
        }
        self.summary.join(summary);
    }
}

/// No more to say.
fn nothing() -> Detail {
    Detail::None
}

/// A detail that names a name.
fn name_detail(name: &Name) -> impl FnOnce() -> Detail {
    move || Detail::Name(name.to_owned())
}

/// Whether the zone answers from this node: neither hidden by a cut or DNAME nor an owner of NSEC3 records.
fn is_authoritative(node: NodeRef<'_>) -> bool {
    !node.flags().has_any(Flags(Flags::OCCLUDED.0 | Flags::NSEC3.0))
}

/// Whether an RRset of this type is authoritative at this node: at a zone cut only what the parent side has
/// (RFC 4035 2.2), elsewhere everything.
fn is_authoritative_set(node: NodeRef<'_>, rtype: u16) -> bool {
    is_authoritative(node) && (!node.flags().has(Flags::CUT) || matches!(rtype, rtype::DS | rtype::NSEC))
}

#[cfg(test)]
mod tests;
