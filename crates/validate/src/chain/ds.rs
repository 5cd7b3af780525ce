//! A response to a question for DS: a delegation with DS, one without, no zone cut, or nothing that the zone has signed (RFC 4035 5.2, RFC 5155 8.6, 8.9).

use dnssec::verify::Rrsig;
use wire::iana::rtype;
use wire::rrset::RdataListBuf;
use wire::{Name, Rrset};

use super::{Held, Known};
use crate::denial::{Cut, Evidence};
use crate::fault::Fault;
use crate::limits::{DENIALS_MAX, Limit, SIGNATURES_OF_RRSET_MAX};
use crate::response::{Response, dname_above};
use crate::signature::{self, Bench, Verified};

/// What a response to a question for DS shows.
pub(super) enum DsFound {
    Ds { ds: RdataListBuf, verified: Verified },
    None { cut: Cut, ttl_max: u32 },
    Between(usize),
    Unproved(Fault),
    Bogus(Fault),
}

/// What a response to a question for the DS RRset of `next` shows, by signatures of a secure zone of the memo.
pub(super) fn judge_ds(
    response: &Response<'_>,
    next: &Name,
    zone: &Known,
    at: usize,
    mut bench: Bench<'_>,
) -> DsFound {
    let Known { name: apex, held: Held::Secure { keys, .. } } = zone else {
        return DsFound::Bogus(Fault::KeyMissing);
    };
    let iterations_max = bench.policy.nsec3_iterations_max;
    let mut verify = |rrset: &Rrset<'_>| signature::verify(rrset, apex, keys.list(), &mut bench);
    let unproved = |rrset: &Rrset<'_>, fault| match between(rrset, next, at) {
        Some(labels) => DsFound::Between(labels),
        None => DsFound::Unproved(fault),
    };
    if let Some(rrset) = find_set(response, next, rtype::DS) {
        if !is_signed_by(&rrset, apex) {
            return unproved(&rrset, Fault::SignatureMissing);
        }
        return match verify(&rrset) {
            Ok(verified) => DsFound::Ds { ds: rrset.rdatas.iter().collect(), verified },
            Err(fault) => DsFound::Bogus(fault),
        };
    }
    // An alias is no zone cut, and below a DNAME there is none.
    let alias = find_set(response, next, rtype::CNAME).filter(|set| is_signed_by(set, apex));
    let dname = dname_above(next, response).filter(|set| is_signed_by(set, apex));
    if let Some((alias, cut)) =
        alias.map(|alias| (alias, Cut::Within)).or(dname.map(|dname| (dname, Cut::WithinAllBelow)))
    {
        return match verify(&alias) {
            Ok(verified) => DsFound::None { cut, ttl_max: verified.ttl_max },
            Err(fault) => DsFound::Bogus(fault),
        };
    }
    if has_too_many_denials(response) {
        return DsFound::Bogus(Limit::Denials.into());
    }
    let mut evidence = Evidence::new(apex, iterations_max);
    let (mut ttl_max, mut fault, mut seen) = (u32::MAX, None, None);
    for rrset in response.authority.iter().filter(is_denial) {
        if !is_signed_by(&rrset, apex) {
            seen = seen.max(between(&rrset, next, at));
            continue;
        }
        match verify(&rrset) {
            Ok(verified) => {
                ttl_max = ttl_max.min(verified.ttl_max);
                if let Err(limit) = evidence.add(&rrset) {
                    return DsFound::Bogus(limit.into());
                }
            }
            Err(found @ Fault::TooMuchWork(_)) => return DsFound::Bogus(found),
            Err(found) => fault = Some(found.or_graver(fault)),
        }
    }
    match (evidence.is_empty(), fault, seen) {
        (true, Some(fault), _) => DsFound::Unproved(fault),
        (true, None, Some(labels)) => DsFound::Between(labels),
        (true, None, None) => DsFound::Unproved(Fault::DenialMissing),
        (false, ..) => match evidence.no_ds(next, bench.meter) {
            Ok(cut) => DsFound::None { cut, ttl_max },
            Err(fault @ Fault::TooMuchWork(_)) => DsFound::Bogus(fault),
            // It may be about a zone cut further up, as that of a referral is.
            Err(fault) => DsFound::Unproved(fault),
        },
    }
}

/// The RRset of a name and type in the answer section.
pub(super) fn find_set<'a>(response: &Response<'a>, name: &Name, rtype: u16) -> Option<Rrset<'a>> {
    response.answer.iter().find(|set| set.rtype == rtype && set.owner.eq_ignore_case(name))
}

/// Whether an RRset is one of NSEC or NSEC3 records.
pub(crate) fn is_denial(rrset: &Rrset<'_>) -> bool {
    matches!(rrset.rtype, rtype::NSEC | rtype::NSEC3)
}

/// Whether there are more of them than any proof has: then none is verified (NsecTrap, CVE-2026-85501).
pub(crate) fn has_too_many_denials(response: &Response<'_>) -> bool {
    response.authority.iter().filter(is_denial).count() > DENIALS_MAX
}

/// The names that an RRset is said to be signed by.
pub(crate) fn signers<'a>(rrset: &Rrset<'a>) -> impl Iterator<Item = &'a Name> {
    rrset.signatures.iter().take(SIGNATURES_OF_RRSET_MAX).filter_map(Rrsig::parse).map(|rrsig| rrsig.signer)
}

fn is_signed_by(rrset: &Rrset<'_>, zone: &Name) -> bool {
    signers(rrset).any(|signer| signer.eq_ignore_case(zone))
}

/// Labels of the deepest signer that is above `next` and has more labels than `at`.
fn between(rrset: &Rrset<'_>, next: &Name, at: usize) -> Option<usize> {
    let range = at + 1..next.label_count();
    let labels = signers(rrset).filter(|signer| next.is_at_or_below(signer)).map(Name::label_count);
    labels.filter(|labels| range.contains(labels)).max()
}
