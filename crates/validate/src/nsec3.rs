//! What NSEC3 records show about a name (RFC 5155 8).
//!
//! ```text
//! name            a.b.c.example    hash matches a record: it exists, with the record's types
//! next closer       b.c.example    hash covered by a record: it does not exist (with opt-out: it may be a delegation without DS)
//! closest encloser    c.example    hash matches a record: it exists
//! ```
//!
//! Each hash is counted before it is computed. Going up from the name, none is computed twice.

use dnssec::TypeBitmap;
use dnssec::nsec3::{self, ALGORITHM_SHA1, FLAG_OPT_OUT, Hash, Nsec3, Nsec3Params};
use wire::iana::rtype;
use wire::{Name, Rrset};

use crate::denial::Shown;
use crate::limits::{Limit, Meter};
use crate::nsec::is_delegation;

/// An NSEC3 record of a zone.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    owner: Hash,
    nsec3: Nsec3<'a>,
}

/// Why a record is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// It is not one record of the zone in the form of RFC 5155 3, or of a hash or with flags that nobody knows (8.1, 8.2).
    Unknown,
    /// More iterations than are computed.
    Iterations,
}

impl<'a> Record<'a> {
    /// Reads the record of `rrset` as one of the zone `apex`.
    pub fn read(apex: &Name, rrset: &Rrset<'a>, iterations_max: u16) -> Result<Record<'a>, Unusable> {
        let mut rdatas = rrset.rdatas.iter();
        let (Some(rdata), None) = (rdatas.next(), rdatas.next()) else { return Err(Unusable::Unknown) };
        let owner = rrset.owner.labels().next().and_then(nsec3::hash_of_label).ok_or(Unusable::Unknown)?;
        let is_of_zone = rrset.owner.parent().is_some_and(|parent| parent.eq_ignore_case(apex));
        let &[ALGORITHM_SHA1, flags, high, low, ..] = rdata else { return Err(Unusable::Unknown) };
        if rrset.rtype != rtype::NSEC3 || !is_of_zone || flags & !FLAG_OPT_OUT != 0 {
            return Err(Unusable::Unknown);
        }
        // Before the fields are read: more than are ever computed is no reason to leave the record out.
        if u16::from_be_bytes([high, low]) > iterations_max {
            return Err(Unusable::Iterations);
        }
        let nsec3 = Nsec3::parse(rdata).map_err(|_| Unusable::Unknown)?;
        Ok(Record { owner, nsec3 })
    }

    /// How names are hashed.
    pub fn params(&self) -> Nsec3Params<'a> {
        self.nsec3.params
    }

    /// The types at the owner.
    pub fn types(&self) -> TypeBitmap<'a> {
        self.nsec3.types
    }

    /// The hash of the owner, and the next one.
    pub fn range(&self) -> (&Hash, &'a Hash) {
        (&self.owner, self.nsec3.next)
    }

    /// Whether delegations without DS may lie between owner and next.
    pub fn is_opt_out(&self) -> bool {
        self.nsec3.is_opt_out()
    }

    fn covers(&self, hash: &Hash) -> bool {
        nsec3::covers(&self.owner, self.nsec3.next, hash)
    }
}

/// What `records` show about `name`, a name of the zone `apex`; all have the parameters of the first. None where they show nothing.
///
/// Work: a hash for `name` and each ancestor up to the first that a record matches.
pub fn shows<'a>(
    records: &[Record<'a>],
    apex: &Name,
    name: &Name,
    meter: &mut Meter,
) -> Result<Option<Shown<'a>>, Limit> {
    let Some(params) = records.first().map(Record::params) else { return Ok(None) };
    let (mut candidate, mut labels) = (name, name.label_count());
    let mut next_closer = None;
    loop {
        meter.count_hash(params.iterations())?;
        let hash = params.hash(candidate);
        if let Some(record) = records.iter().find(|record| record.owner == hash) {
            return Ok(enclosed(records, record, labels, next_closer));
        }
        if candidate.eq_ignore_case(apex) {
            return Ok(None);
        }
        next_closer = Some(hash);
        let Some(parent) = candidate.parent() else { return Ok(None) };
        (candidate, labels) = (parent, labels - 1);
    }
}

/// What is shown where `encloser` matches the deepest name that any does, and `next_closer` is the hash of the name one label below; none where
/// that is the name asked for itself.
fn enclosed<'a>(
    records: &[Record<'a>],
    encloser: &Record<'a>,
    labels: usize,
    next_closer: Option<Hash>,
) -> Option<Shown<'a>> {
    let types = encloser.types();
    let Some(next_closer) = next_closer else { return Some(Shown::Types(types)) };
    // Below a zone cut, and below a DNAME, other rules say what there is (RFC 5155 8.3).
    if is_delegation(&types) || types.contains(rtype::DNAME) {
        return None;
    }
    let covering = records.iter().find(|record| record.covers(&next_closer))?;
    Some(Shown::Absent { encloser_labels: labels, is_opt_out: covering.is_opt_out() })
}

/// The same of a name whose parent is known to exist: one hash.
pub fn shows_child<'a>(
    records: &[Record<'a>],
    name: &Name,
    meter: &mut Meter,
) -> Result<Option<Shown<'a>>, Limit> {
    let Some(params) = records.first().map(Record::params) else { return Ok(None) };
    meter.count_hash(params.iterations())?;
    let hash = params.hash(name);
    if let Some(record) = records.iter().find(|record| record.owner == hash) {
        return Ok(Some(Shown::Types(record.types())));
    }
    let covering = records.iter().find(|record| record.covers(&hash));
    Ok(covering.map(|record| Shown::Absent {
        encloser_labels: name.label_count().saturating_sub(1),
        is_opt_out: record.is_opt_out(),
    }))
}
