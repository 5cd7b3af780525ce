//! The keys of a zone: from DS records of its parent, or from an anchor, to a validated DNSKEY RRset (RFC 4035 5.2, RFC 6840 5).
//!
//! ```text
//! DS of an algorithm and digest that we verify -> zone key with tag, algorithm, digest -> signature of that key over the DNSKEY RRset -> keys
//! ```

use dnssec::digest::{ds_digest_octets, is_ds_digest};
use dnssec::key::{Dnskey, Ds, FLAG_ZONE, PROTOCOL_DNSSEC};
use wire::rrset::RdataListBuf;
use wire::{Name, RdataList, Rrset};

use crate::fault::{Fault, Insecurity};
use crate::limits::{DIGESTS_OF_ZONE_MAX, DS_MAX, KEYS_MAX, KEYS_OF_TAG_MAX, Limit};
use crate::policy::Policy;
use crate::signature::{self, Bench, Verified};

/// Digest of a DS record by SHA-1.
const DIGEST_SHA1: u8 = 1;

/// The DS records that can be used, at most [`DS_MAX`]; else why the zone is insecure.
///
/// SHA-1 digests are left out where a stronger one can be used (RFC 4509 3).
pub fn usable_ds<'a>(ds: RdataList<'a>, policy: &Policy) -> Result<Vec<Ds<'a>>, Insecurity> {
    let known: Vec<_> = ds
        .iter()
        .filter_map(Ds::parse)
        .filter(|ds| policy.is_supported(ds.algorithm))
        .take(DS_MAX * DS_MAX)
        .collect();
    if known.is_empty() {
        return Err(Insecurity::UnsupportedAlgorithm);
    }
    let is_strong = |ds: &Ds<'_>| ds.digest_type != DIGEST_SHA1 && ds_digest_octets(ds.digest_type).is_some();
    let has_strong = known.iter().any(is_strong);
    let is_usable = |ds: &Ds<'_>| is_strong(ds) || !has_strong && ds.digest_type == DIGEST_SHA1;
    let usable: Vec<_> = known.into_iter().filter(is_usable).take(DS_MAX).collect();
    if usable.is_empty() { Err(Insecurity::UnsupportedDigest) } else { Ok(usable) }
}

/// Where the chain enters a zone.
pub(crate) enum Entry<'a> {
    /// DS records of the parent that are validated, or of an anchor.
    Ds(RdataList<'a>),
    /// Keys of an anchor.
    Keys(RdataList<'a>),
}

/// Keys that are validated.
pub(crate) struct Validated {
    /// Those that may sign, of algorithms that are verified.
    pub keys: RdataListBuf,
    pub signature: Verified,
}

/// Validates the DNSKEY RRset of `rrset.owner`. `entries`: any one of them suffices.
pub(crate) fn validate(
    rrset: &Rrset<'_>,
    entries: &[Entry<'_>],
    bench: &mut Bench<'_>,
) -> Result<Result<Validated, Insecurity>, Fault> {
    let mut search =
        Search { owner: rrset.owner, keys: rrset.rdatas, digests: 0, fault: None, found: vec![] };
    let mut insecurity = None;
    for entry in entries {
        match entry {
            Entry::Ds(ds) => match usable_ds(*ds, bench.policy) {
                Ok(usable) => search.ds(&usable, bench)?,
                Err(found) => insecurity = Some(found),
            },
            Entry::Keys(keys) => match search.same(*keys, bench.policy) {
                Ok(()) => {}
                Err(found) => insecurity = Some(found),
            },
        }
    }
    if search.found.is_empty() {
        return match (search.fault, insecurity) {
            (None, Some(insecurity)) => Ok(Err(insecurity)),
            (fault, _) => Err(fault.unwrap_or(Fault::NoMatchingKey)),
        };
    }
    if search.found.iter().all(|key| !has_size(key)) {
        return Ok(Err(Insecurity::UnsupportedKeySize));
    }
    let found: RdataListBuf = search.found.into_iter().collect();
    let signature = signature::verify(rrset, rrset.owner, found.list(), bench)?;
    let may_sign = |rdata: &&[u8]| {
        Dnskey::parse(rdata).is_some_and(|key| key.is_zone_key() && bench.policy.is_supported(key.algorithm))
    };
    let keys = rrset.rdatas.iter().filter(may_sign).take(KEYS_MAX).collect();
    Ok(Ok(Validated { keys, signature }))
}

/// Whether a key is of a size that is verified here.
fn has_size(rdata: &[u8]) -> bool {
    Dnskey::parse(rdata).is_some_and(|key| dnssec::key::is_size_supported(key.algorithm, key.public_key))
}

/// The search for keys of the zone that entries point at.
struct Search<'a> {
    owner: &'a Name,
    keys: RdataList<'a>,
    digests: u16,
    /// Why a key that was pointed at does not count.
    fault: Option<Fault>,
    found: Vec<&'a [u8]>,
}

impl<'a> Search<'a> {
    fn ds(&mut self, usable: &[Ds<'_>], bench: &mut Bench<'_>) -> Result<(), Fault> {
        for ds in usable {
            let of_tag = self.keys.iter().take(KEYS_MAX).filter(|rdata| {
                Dnskey::parse(rdata).is_some_and(|key| key.tag == ds.key_tag && key.algorithm == ds.algorithm)
            });
            for rdata in of_tag.take(KEYS_OF_TAG_MAX) {
                if self.digests >= DIGESTS_OF_ZONE_MAX {
                    return Err(Limit::Digests.into());
                }
                self.digests += 1;
                bench.meter.count_digest()?;
                if is_ds_digest(ds.digest_type, ds.digest, self.owner, rdata) == Ok(true) {
                    self.take(rdata);
                }
            }
        }
        Ok(())
    }

    /// Keys of an anchor that are in the RRset. That all are of algorithms that are not verified is no fault.
    fn same(&mut self, anchors: RdataList<'_>, policy: &Policy) -> Result<(), Insecurity> {
        let is_supported = |rdata: &&[u8]| {
            Dnskey::parse(rdata).is_some_and(|key| policy.is_supported(key.algorithm) && !key.is_revoked())
        };
        let mut count = 0;
        for anchor in anchors.iter().filter(is_supported).take(DS_MAX) {
            count += 1;
            if let Some(rdata) = self.keys.iter().take(KEYS_MAX).find(|rdata| *rdata == anchor) {
                self.take(rdata);
            }
        }
        if count == 0 { Err(Insecurity::UnsupportedAlgorithm) } else { Ok(()) }
    }

    fn take(&mut self, rdata: &'a [u8]) {
        match Dnskey::parse(rdata) {
            Some(key) if key.is_zone_key() => {
                if !self.found.contains(&rdata) {
                    self.found.push(rdata);
                }
            }
            Some(key) if key.flags & FLAG_ZONE == 0 || key.protocol != PROTOCOL_DNSSEC => {
                self.fault = Some(Fault::NoZoneKey.or_graver(self.fault));
            }
            _ => self.fault = Some(Fault::KeyRevoked.or_graver(self.fault)),
        }
    }
}
