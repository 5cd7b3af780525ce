//! Entries that are for a client: fresh, or stale where that will do, and validated unless it sets CD.

use super::Asked;
use crate::limits::STALE_TTL_MAX;
use crate::writer::Lasts;
use cache::{Copied, Entry, Kind, Moment, Named, Security, Subject};
use wire::iana::rtype;

/// Where an RRset is looked for: clients with CD see what nobody has validated too.
pub(super) fn subjects(asked: &Asked<'_>, rtype: u16) -> impl Iterator<Item = Subject> + use<> {
    let unchecked = asked.wishes.checking_disabled().then_some(Subject::Unchecked(rtype));
    std::iter::once(Subject::Rrset(rtype)).chain(unchecked)
}

/// An entry that has not expired, or not for long where that will do, and is for this client.
pub(super) fn fresh<'c>(
    asked: &Asked<'_>,
    named: &Named<'_, '_>,
    subject: Subject,
    copied: &'c mut Copied,
) -> Option<Entry<'c>> {
    let entry = named.get(subject, copied)?;
    if entry.ttl_left(asked.now).is_none() {
        let is_kept = entry.expired_for(asked.now) < u64::from(asked.policy.stale_seconds);
        asked.stale.filter(|_| is_kept)?;
    }
    let is_checked = !matches!(entry.security, Security::Unchecked | Security::Bogus);
    (is_checked || entry.kind == Kind::Failure || asked.wishes.checking_disabled()).then_some(entry)
}

/// Whether a denial has the SOA record that clients keep it by (RFC 2308 5): one that came with a referral has none.
pub(super) fn has_soa(entry: &Entry<'_>) -> bool {
    entry.beside.iter().any(|set| set.rtype == rtype::SOA)
}

/// From when on and for how long an entry is good.
pub(super) fn span_of(entry: &Entry<'_>, now: Moment) -> (Moment, u32) {
    match entry.ttl_left(now) {
        Some(_) => (entry.stored, entry.ttl),
        None => (now, STALE_TTL_MAX),
    }
}

/// For how long an entry is good.
#[inline(always)]
pub(super) fn left_of(entry: &Entry<'_>, now: Moment) -> Lasts {
    let (stored, ttl) = span_of(entry, now);
    Lasts::from(stored, ttl, now)
}
