//! What is kept, and what of two is believed: beside [`Entry::is_believed_before`], all rules of it.
//!
//! | put | takes out, of the same name |
//! |---|---|
//! | data or its denial, `Rrset` | the failure of the type; the denial of the name |
//! | the denial of the name, `Existence` | data and denials of all types |
//!
//! unless what would go is fresh and believed before what comes, or is data and what comes is an unproved denial: then that is not kept.

use crate::entry::{Entry, Kind, Rank, Security};
use crate::limits::{COMMON_TYPES, RECORDS_MAX, SIGNATURES_MAX};
use crate::{Key, Moment, Subject};

/// Whether an entry may be kept at a key at all: its kind fits, it is within the limits, and a cut has its parent's word.
pub(crate) fn is_kept(key: &Key<'_>, entry: &Entry<'_>) -> bool {
    let fits = match key.subject {
        // A denial of the name that is not proved, or not worth more, counts for its type alone.
        Subject::Rrset(_) | Subject::Unchecked(_) => {
            matches!(entry.kind, Kind::Data | Kind::NoData | Kind::NameError)
        }
        Subject::Failure(_) => entry.kind == Kind::Failure,
        Subject::Existence => entry.kind == Kind::NameError,
        // A zone's own word about its servers is data (ghost domains); the root has nobody else's.
        Subject::Cut => entry.kind == Kind::Cut && (entry.rank < Rank::Authority || key.name.is_root()),
    };
    fits && entry.rdatas.iter().nth(RECORDS_MAX).is_none()
        && entry.signatures.iter().nth(SIGNATURES_MAX).is_none()
}

/// Whether `kept` stands against `new`.
pub(crate) fn stands(kept: &Entry<'_>, new: &Entry<'_>, now: Moment) -> bool {
    kept.ttl_left(now).is_some() && kept.is_believed_before(new)
}

/// Whether `known`, of which `new` says the contrary for the same name, stands against it. Some servers deny names of which they have data, when asked for a type
/// that they do not know (RFC 4074 4.2): a denial of the name that is not proved never takes fresh data out.
pub(crate) fn contradicts(known: &Entry<'_>, new: &Entry<'_>, now: Moment) -> bool {
    let is_doubted = new.kind == Kind::NameError && new.security != Security::Secure;
    let is_fresh_data = known.kind == Kind::Data && known.ttl_left(now).is_some();
    is_doubted && is_fresh_data || stands(known, new, now)
}

/// Whether it counts towards [`MINOR_MAX`](crate::limits::MINOR_MAX).
pub(crate) fn is_minor(subject: Subject, kind: Kind) -> bool {
    match subject {
        Subject::Failure(_) | Subject::Unchecked(_) => true,
        Subject::Rrset(rtype) => kind != Kind::Data && !COMMON_TYPES.contains(&rtype),
        Subject::Existence | Subject::Cut => false,
    }
}

/// Whether it never leaves for a denial of the same name: what a name is looked up for.
pub(crate) fn is_protected(subject: Subject, kind: Kind) -> bool {
    matches!((subject, kind), (Subject::Rrset(_), Kind::Data) | (Subject::Cut, _))
}

/// What putting something under a subject does to another of the same name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    None,
    /// It goes.
    Out,
    /// It goes, unless it stands.
    OutUnlessStands,
}

/// What becomes of what is known under `on` when something is put under `put`, of the same name. Of the same subject: nothing, it is replaced anyway.
pub(crate) fn effect(put: Subject, on: Subject) -> Effect {
    match (put, on) {
        (Subject::Rrset(put), Subject::Failure(on)) if put == on => Effect::Out,
        (Subject::Existence, Subject::Failure(_)) => Effect::Out,
        (Subject::Rrset(_), Subject::Existence) | (Subject::Existence, Subject::Rrset(_)) => {
            Effect::OutUnlessStands
        }
        _ => Effect::None,
    }
}
