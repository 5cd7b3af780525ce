//! One RRset, one zone's keys: is one of the signatures genuine (RFC 4035 5.3).

use dnssec::CanonicalSet;
use dnssec::key::{Dnskey, FLAG_ZONE, PROTOCOL_DNSSEC};
use dnssec::verify::{Rrsig, Source, Statement};
use wire::iana::rtype;
use wire::{Name, RdataList, Rrset};

use crate::fault::Fault;
use crate::limits::{
    FAILURES_OF_RRSET_MAX, KEYS_MAX, KEYS_OF_TAG_MAX, Limit, MEMO_ENTRIES, Meter, SIGNATURES_OF_RRSET_MAX,
};
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

/// What a worker verifies with: working space, and a memory of what is genuine. A signature that was verified is not verified again while it is
/// remembered: whether it is genuine depends on nothing but what is in it. Its period is looked at each time.
pub struct Verifier {
    set: CanonicalSet,
    buffer: Vec<u8>,
    memo: Memo,
}

impl Default for Verifier {
    fn default() -> Verifier {
        Verifier::new(MEMO_ENTRIES)
    }
}

impl Verifier {
    /// One that remembers so many signatures, rounded to fours.
    pub fn new(entries: usize) -> Verifier {
        Verifier { set: CanonicalSet::new(), buffer: Vec::new(), memo: Memo::new(entries) }
    }
}

/// Statements that are genuine: rows of four, each found by the first octets of the statement; the one that was of use last stands first, and the last goes. So
/// what proves for one name after the other that its zone has no DS stays, however many signatures come by that are seen once.
///
/// 32 octets of SHA-256 each: with half of them somebody could look for two statements that share them, have one verified that is true of a zone of
/// their own, and use the other.
struct Memo {
    rows: Vec<[Statement; 4]>,
}

impl Memo {
    fn new(entries: usize) -> Memo {
        Memo { rows: vec![[[0; 32]; 4]; entries.div_ceil(4)] }
    }

    fn row(&mut self, statement: &Statement) -> Option<&mut [Statement; 4]> {
        let number = statement.iter().take(8).fold(0u64, |number, &octet| number << 8 | u64::from(octet));
        let count = self.rows.len() as u64;
        if count == 0 { None } else { self.rows.get_mut((number % count) as usize) }
    }

    fn is_known(&mut self, statement: &Statement) -> bool {
        let Some(row) = self.row(statement) else { return false };
        let Some(at) = row.iter().position(|known| known == statement) else { return false };
        row[..=at].rotate_right(1);
        true
    }

    fn remember(&mut self, statement: Statement) {
        if let Some(row) = self.row(&statement) {
            row.rotate_right(1);
            row[0] = statement;
        }
    }
}

/// What verifying takes beside the RRset.
pub(crate) struct Bench<'a> {
    pub policy: &'a Policy,
    /// Seconds since 1970.
    pub now: u64,
    pub meter: &'a mut Meter,
    pub verifier: &'a mut Verifier,
}

impl Bench<'_> {
    /// Verifies one signature with one key over the set that is in the working space.
    fn verify(&mut self, rrsig: &Rrsig<'_>, rrset: &Rrset<'_>, key: &Dnskey<'_>) -> Result<(), Fault> {
        let Verifier { set, buffer, memo } = &mut *self.verifier;
        let statement = rrsig.state(rrset.owner, set, key, buffer).map_err(translate)?;
        if memo.is_known(&statement) {
            self.meter.count_known();
            return Ok(());
        }
        self.meter.count_signature()?;
        match rrsig.verify_stated(key, buffer) {
            Ok(()) => {
                memo.remember(statement);
                Ok(())
            }
            Err(found) => {
                self.meter.count_failure();
                Err(translate(found))
            }
        }
    }
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

/// Verifies one of the signatures of `rrset` by `zone` with one of `keys`: RDATA of DNSKEY records, of which those count that may sign.
///
/// Returns the first that is genuine. Else the gravest fault, or the bound that was reached.
pub(crate) fn verify(
    rrset: &Rrset<'_>,
    zone: &Name,
    keys: RdataList<'_>,
    bench: &mut Bench<'_>,
) -> Result<Verified, Fault> {
    verify_by(rrset, zone, keys, |key| key.is_zone_key(), bench)
}

/// The same with revoked keys: they sign the DNSKEY RRset to say that they are (RFC 5011 2.1), and nothing else.
pub(crate) fn verify_by_revoked(
    rrset: &Rrset<'_>,
    zone: &Name,
    keys: RdataList<'_>,
    bench: &mut Bench<'_>,
) -> Result<Verified, Fault> {
    let is_revoked_zone_key =
        |key: &Dnskey<'_>| key.is_revoked() && key.flags & FLAG_ZONE != 0 && key.protocol == PROTOCOL_DNSSEC;
    verify_by(rrset, zone, keys, is_revoked_zone_key, bench)
}

fn verify_by(
    rrset: &Rrset<'_>,
    zone: &Name,
    keys: RdataList<'_>,
    may_verify: impl Fn(&Dnskey<'_>) -> bool,
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
        let of_tag =
            keys.iter().take(KEYS_MAX).filter_map(Dnskey::parse).filter(|key| {
                key.tag == rrsig.key_tag && key.algorithm == rrsig.algorithm && may_verify(key)
            });
        let mut outcome = Fault::KeyMissing;
        for key in of_tag.take(KEYS_OF_TAG_MAX) {
            if failures >= FAILURES_OF_RRSET_MAX {
                return Err(Limit::Failures.into());
            }
            if !is_filled {
                bench.verifier.set.fill(rrset.rtype, rrset.rdatas);
                is_filled = true;
            }
            match bench.verify(&rrsig, rrset, &key) {
                Ok(()) => return Ok(verified(&rrsig, rrset, bench.now)),
                Err(found @ Fault::TooMuchWork(_)) => return Err(found),
                Err(found) => {
                    failures += 1;
                    outcome = found.or_graver(Some(outcome));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Those of one row, by number.
    fn statement(number: u8) -> Statement {
        let mut statement = [0; 32];
        (statement[7], statement[31]) = (4, number);
        statement
    }

    #[test]
    fn what_is_of_use_stays() {
        let mut memo = Memo::new(16);
        memo.remember(statement(1));
        for number in 2..100 {
            memo.remember(statement(number));
            assert!(memo.is_known(&statement(1)) && memo.is_known(&statement(number)), "{number}");
        }
        assert!([97, 98, 99].into_iter().all(|number| memo.is_known(&statement(number))));
        assert!(!memo.is_known(&statement(96)) && !memo.is_known(&[9; 32]));
        let mut none = Memo::new(0);
        none.remember(statement(1));
        assert!(!none.is_known(&statement(1)));
    }
}
