//! One RRset, one zone's keys: is one of the signatures genuine (RFC 4035 5.3).

use dnssec::CanonicalSet;
use dnssec::key::Dnskey;
use dnssec::verify::{Rrsig, Source};
use wire::iana::rtype;
use wire::{Name, RdataList, Rrset};

use crate::fault::Fault;
use crate::limits::{FAILURES_OF_RRSET_MAX, KEYS_MAX, KEYS_OF_TAG_MAX, Limit, SIGNATURES_OF_RRSET_MAX, Work};
use crate::policy::Policy;

/// A signature that was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verified {
    /// Longest time that the RRset may be kept, in seconds (RFC 4035 5.3.3).
    pub ttl_max: u32,
    /// The owner, or the wildcard it was made from.
    pub source: Source,
    pub key_tag: u16,
    pub algorithm: u8,
}

/// Working space, to be used again.
#[derive(Default)]
pub(crate) struct Scratch {
    set: CanonicalSet,
    buffer: Vec<u8>,
}

/// What verifying takes beside the RRset.
pub(crate) struct Bench<'a> {
    pub policy: &'a Policy,
    /// Seconds since 1970.
    pub now: u64,
    pub work: &'a mut Work,
    pub scratch: &'a mut Scratch,
}

/// Whether `signer` is a name whose zone could sign the RRset: where its apex must be, by the type.
pub(crate) fn may_sign(signer: &Name, rrset: &Rrset<'_>) -> bool {
    let owner = rrset.owner;
    match rrset.rtype {
        rtype::DNSKEY | rtype::SOA | rtype::NSEC3PARAM => owner.eq_ignore_case(signer),
        rtype::DS => !owner.eq_ignore_case(signer) && owner.is_at_or_below(signer),
        rtype::NSEC3 => owner.parent().is_some_and(|parent| parent.eq_ignore_case(signer)),
        _ => owner.is_at_or_below(signer),
    }
}

/// Whether records of the type can be made from a wildcard. Those of an apex or a zone cut cannot, denials are no data, and what DNAME at a
/// wildcard would do is undefined (RFC 4592 4, RFC 6672 3.3).
fn may_be_expanded(rtype: u16) -> bool {
    !matches!(
        rtype,
        rtype::DNSKEY
            | rtype::SOA
            | rtype::DS
            | rtype::NSEC
            | rtype::NSEC3
            | rtype::NSEC3PARAM
            | rtype::DNAME
    )
}

/// Verifies one of the signatures of `rrset` by `zone` with one of `keys`: RDATA of DNSKEY records that may sign.
///
/// Returns the first that is genuine. Else the gravest fault, or the bound that was reached.
pub(crate) fn verify(
    rrset: &Rrset<'_>,
    zone: &Name,
    keys: RdataList<'_>,
    bench: &mut Bench<'_>,
) -> Result<Verified, Fault> {
    let mut fault = None;
    let mut failures = 0;
    let mut is_filled = false;
    for rdata in rrset.signatures.iter().take(SIGNATURES_OF_RRSET_MAX) {
        let rrsig = match usable(rdata, rrset, zone, bench) {
            Ok(rrsig) => rrsig,
            Err(found) => {
                fault = Some(found.or_graver(fault));
                continue;
            }
        };
        let of_tag = keys.iter().take(KEYS_MAX).filter_map(Dnskey::parse);
        let of_tag = of_tag.filter(|key| key.tag == rrsig.key_tag && key.algorithm == rrsig.algorithm);
        let mut outcome = Fault::KeyMissing;
        for key in of_tag.take(KEYS_OF_TAG_MAX) {
            if failures >= FAILURES_OF_RRSET_MAX {
                return Err(Limit::Failures.into());
            }
            bench.work.count_signature()?;
            if !is_filled {
                bench.scratch.set.fill(rrset.rtype, rrset.rdatas);
                is_filled = true;
            }
            let Scratch { set, buffer } = &mut *bench.scratch;
            match rrsig.verify(rrset.owner, set, &key, buffer) {
                Ok(()) => return Ok(verified(&rrsig, rrset, bench.now)),
                Err(found) => {
                    failures += 1;
                    bench.work.failures += 1;
                    outcome = translate(found).or_graver(Some(outcome));
                }
            }
        }
        fault = Some(outcome.or_graver(fault));
    }
    Err(fault.unwrap_or(Fault::SignatureMissing))
}

/// The fields of a signature, when they do not rule it out.
fn usable<'a>(
    rdata: &'a [u8],
    rrset: &Rrset<'_>,
    zone: &Name,
    bench: &Bench<'_>,
) -> Result<Rrsig<'a>, Fault> {
    let rrsig = Rrsig::parse(rdata).ok_or(Fault::Malformed)?;
    if !rrsig.signer.eq_ignore_case(zone) || !may_sign(zone, rrset) {
        return Err(Fault::WrongSigner);
    }
    let source = rrsig.check_fields(rrset.owner, rrset.rtype).map_err(translate)?;
    // A wildcard above the signer's apex is in another zone.
    if usize::from(rrsig.labels) < zone.label_count() {
        return Err(Fault::WrongLabels);
    }
    if source != Source::Owner && !may_be_expanded(rrset.rtype) {
        return Err(Fault::WildcardExpanded);
    }
    if !bench.policy.is_supported(rrsig.algorithm) {
        return Err(Fault::UnsupportedAlgorithm);
    }
    rrsig.check_period(bench.now as u32).map_err(translate)?;
    Ok(rrsig)
}

fn verified(rrsig: &Rrsig<'_>, rrset: &Rrset<'_>, now: u64) -> Verified {
    // The period was checked, so that the difference is that of serial numbers; a TTL with the highest bit is 0 (RFC 2181 8).
    let left = rrsig.expiration.wrapping_sub(now as u32);
    let original = if rrsig.original_ttl >> 31 == 0 { rrsig.original_ttl } else { 0 };
    let source = match rrsig.check_fields(rrset.owner, rrset.rtype) {
        Ok(source) => source,
        Err(_) => Source::Owner,
    };
    Verified {
        ttl_max: rrset.ttl.min(original).min(left),
        source,
        key_tag: rrsig.key_tag,
        algorithm: rrsig.algorithm,
    }
}

fn translate(fault: dnssec::verify::Fault) -> Fault {
    use dnssec::verify::Fault as Verify;
    match fault {
        Verify::WrongType | Verify::Unsupported => Fault::UnsupportedAlgorithm,
        Verify::TooManyLabels => Fault::WrongLabels,
        Verify::WrongSigner => Fault::WrongSigner,
        Verify::NotYetValid => Fault::NotYetValid,
        Verify::Expired => Fault::Expired,
        Verify::EmptyPeriod => Fault::EndsBeforeBegin,
        Verify::WrongKey => Fault::KeyMissing,
        Verify::MalformedKey => Fault::Malformed,
        Verify::BadSignature => Fault::BadSignature,
    }
}
