//! Whether a zone is the one that its publisher digested, and nobody changed it on the way (RFC 8976 4): the digest of its ZONEMD record, and who signed that.
//!
//! ```text
//! anchor of this zone -> DNSKEY RRset, signed by a key of the anchor -> SOA, signed -> ZONEMD, signed           no anchor: nothing of this
//!                                                                         `--------> NSEC or NSEC3, signed: there is no ZONEMD
//! ZONEMD records -> of the serial, scheme and algorithm known, each once -> one that is the digest of the zone is enough
//! ```
//!
//! A zone without anchor of its own is held against its digest alone, which tells damage but no forger: the chain of trust from above is not walked, as nobody is asked.

use dnssec::CanonicalSet;
use dnssec::digest::{ZoneDigest, Zonemd, is_ds_digest};
use dnssec::key::{Dnskey, Ds};
use dnssec::nsec::Nsec;
use dnssec::nsec3::{Nsec3, Nsec3Params, owner_label};
use dnssec::verify::{Rrsig, Source};
use wire::iana::rtype;
use wire::{Name, NameBuf, RdataList};

use super::zonemd::fill;
use super::{Check, Detail, Finding, Severity, Soa};
use crate::contents::{Contents, NodeRef, SourcePosition};

/// Most signatures of one RRset that are tried: zones have one for each key that signs, two or three while keys change.
const SIGNATURES_MAX: usize = 16;
/// Most keys of one tag and algorithm that are tried for a signature: tags collide by accident once in thousands of keys.
const KEYS_OF_TAG_MAX: usize = 4;
/// Most digests that are computed: one for each algorithm there is.
const DIGESTS_MAX: usize = 2;
/// The digest type SHA-1 of DS records, which proves nothing any more.
const DS_SHA1: u8 = 1;

/// A trust anchor of the zone itself.
#[derive(Clone, Copy, Debug)]
pub struct Anchor<'a> {
    /// RDATA of DS records.
    pub ds: RdataList<'a>,
    /// RDATA of DNSKEY records.
    pub keys: RdataList<'a>,
}

/// What is demanded of a zone's digest.
#[derive(Clone, Copy, Debug)]
pub struct Demand<'a> {
    /// A zone without a digest that can be verified will not do.
    pub is_required: bool,
    /// Where trust in the zone begins, if it does at its apex.
    pub anchor: Option<Anchor<'a>>,
    /// The time that signatures are held against, in seconds since 1970.
    pub now: u64,
}

/// What was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verified {
    /// The zone is what its publisher digested.
    Digest {
        /// SHA-384 is 1, SHA-512 is 2.
        algorithm: u8,
        /// The anchor leads to it.
        is_signed: bool,
    },
    /// The zone has no digest, or none that can be computed here. With an anchor that is proved.
    Nothing,
}

/// Verifies the digest of a zone. The error is what keeps it from being served, as a finding of severity `Fatal`. Cost: a pass over the zone for each
/// of its digests until one fits, and some ten signatures.
pub fn verify_digest(contents: &Contents, demand: &Demand<'_>) -> Result<Verified, Finding> {
    let apex = contents.node(0);
    let fail = |check: Check, rtype: u16, position: Option<SourcePosition>, detail: Detail| Finding {
        check,
        severity: Severity::Fatal,
        owner: apex.name(),
        rtype: Some(rtype),
        position,
        detail,
    };
    let soa = apex.rrset(rtype::SOA).and_then(Soa::of);
    let soa = soa.ok_or_else(|| fail(Check::SoaMissing, rtype::SOA, None, Detail::None))?;
    let set = apex.rrset(rtype::ZONEMD);
    if let Some(anchor) = &demand.anchor {
        let mut proof = Proof::new(contents, demand.now);
        let unproved = |rtype| fail(Check::ZonemdUnproved, rtype, None, Detail::None);
        if !proof.trust(anchor) {
            return Err(unproved(rtype::DNSKEY));
        }
        if !proof.is_signed(apex, rtype::SOA) {
            return Err(unproved(rtype::SOA));
        }
        if set.is_some() && !proof.is_signed(apex, rtype::ZONEMD) || set.is_none() && !proof.is_absent() {
            return Err(unproved(rtype::ZONEMD));
        }
    }
    let missing = || fail(Check::ZonemdMissing, rtype::ZONEMD, None, Detail::None);
    let Some(set) = set else {
        return if demand.is_required { Err(missing()) } else { Ok(Verified::Nothing) };
    };
    let records: Vec<_> =
        set.records().filter_map(|record| Some((Zonemd::parse(record.rdata)?, record.position))).collect();
    let is_once = |zonemd: &Zonemd<'_>| {
        let is_same = |(other, _): &&(Zonemd<'_>, _)| {
            (other.scheme, other.algorithm) == (zonemd.scheme, zonemd.algorithm)
        };
        records.iter().filter(is_same).count() == 1
    };
    let mut why = None;
    let mut digests = 0;
    for (zonemd, position) in &records {
        let Ok(digest) = ZoneDigest::new(zonemd.scheme, zonemd.algorithm) else { continue };
        let (check, detail) = if !is_once(zonemd) {
            (Check::ZonemdDuplicate, Detail::None)
        } else if zonemd.serial != soa.serial {
            (Check::ZonemdSerial, Detail::Numbers { found: zonemd.serial, expected: soa.serial })
        } else if digests == DIGESTS_MAX {
            break;
        } else {
            digests += 1;
            if fill(digest, contents).is(zonemd.digest) {
                let algorithm = zonemd.algorithm;
                return Ok(Verified::Digest { algorithm, is_signed: demand.anchor.is_some() });
            }
            (Check::ZonemdMismatch, Detail::None)
        };
        why = Some(fail(check, rtype::ZONEMD, Some(*position), detail));
    }
    match why {
        Some(why) => Err(why),
        None if records.is_empty() || demand.is_required => Err(missing()),
        // Of schemes or algorithms that are to come.
        None => Ok(Verified::Nothing),
    }
}

/// What the anchor of a zone leads to.
struct Proof<'c> {
    contents: &'c Contents,
    apex: NameBuf,
    now: u32,
    /// Those that may sign.
    keys: Vec<Dnskey<'c>>,
    canonical: CanonicalSet,
    buffer: Vec<u8>,
}

impl<'c> Proof<'c> {
    fn new(contents: &'c Contents, now: u64) -> Proof<'c> {
        Proof {
            contents,
            apex: contents.apex().to_lowercase(),
            // Serial number arithmetic wants the time modulo 2^32 (RFC 4034 3.1.5).
            now: now as u32,
            keys: Vec::new(),
            canonical: CanonicalSet::new(),
            buffer: Vec::new(),
        }
    }

    /// Whether a key of the anchor has signed the DNSKEY RRset; all of its zone keys may sign then (RFC 4035 5.2).
    fn trust(&mut self, anchor: &Anchor<'_>) -> bool {
        let apex = self.contents.node(0);
        let Some(set) = apex.rrset(rtype::DNSKEY) else { return false };
        let keys = || set.records().filter_map(|record| Some((record.rdata, Dnskey::parse(record.rdata)?)));
        let is_of_anchor = |rdata: &[u8], key: &Dnskey<'_>| {
            let is_digested = |ds: &[u8]| {
                Ds::parse(ds).is_some_and(|ds| {
                    (ds.key_tag, ds.algorithm) == (key.tag, key.algorithm)
                        && ds.digest_type != DS_SHA1
                        && is_ds_digest(ds.digest_type, ds.digest, &self.apex, rdata) == Ok(true)
                })
            };
            anchor.keys.iter().any(|own| own == rdata) || anchor.ds.iter().any(is_digested)
        };
        self.keys = keys()
            .filter(|(rdata, key)| key.is_zone_key() && !key.is_revoked() && is_of_anchor(rdata, key))
            .map(|(_, key)| key)
            .collect();
        let is_signed = self.is_signed(apex, rtype::DNSKEY);
        self.keys = keys().map(|(_, key)| key).filter(|key| key.is_zone_key() && !key.is_revoked()).collect();
        is_signed
    }

    /// Whether a key that may sign has signed an RRset of the zone.
    fn is_signed(&mut self, node: NodeRef<'c>, rtype: u16) -> bool {
        let (Some(set), Some(signatures)) = (node.rrset(rtype), node.signatures(rtype)) else { return false };
        let owner = node.name();
        let (now, keys, apex) = (self.now, &self.keys, &self.apex);
        self.canonical.fill(rtype, set.records().map(|record| record.rdata));
        let (canonical, buffer) = (&self.canonical, &mut self.buffer);
        signatures.records().take(SIGNATURES_MAX).any(|record| {
            let Some(rrsig) = Rrsig::parse(record.rdata) else { return false };
            let is_of_set = rrsig.check(&owner, rtype, now) == Ok(Source::Owner);
            let fits = |key: &&Dnskey<'_>| (key.tag, key.algorithm) == (rrsig.key_tag, rrsig.algorithm);
            is_of_set
                && rrsig.signer.eq_ignore_case(apex)
                && keys
                    .iter()
                    .filter(fits)
                    .take(KEYS_OF_TAG_MAX)
                    .any(|key| rrsig.verify(&owner, canonical, key, buffer).is_ok())
        })
    }

    /// Whether it is proved that the apex has no ZONEMD record.
    fn is_absent(&mut self) -> bool {
        let apex = self.contents.node(0);
        if let Some(nsec) = apex.rrset(rtype::NSEC) {
            let is_said =
                |rdata: &[u8]| Nsec::parse(rdata).is_some_and(|nsec| !nsec.types.contains(rtype::ZONEMD));
            return nsec.records().all(|record| is_said(record.rdata)) && self.is_signed(apex, rtype::NSEC);
        }
        let param = apex.rrset(rtype::NSEC3PARAM).and_then(|set| set.records().next());
        let Some((params, _)) = param.and_then(|param| Nsec3Params::parse(param.rdata).ok()) else {
            return false;
        };
        let Some(owner) = hashed(&params, &self.apex) else { return false };
        let Some(node) = self.contents.find_name(&owner) else { return false };
        let Some(nsec3) = node.rrset(rtype::NSEC3) else { return false };
        let is_said =
            |rdata: &[u8]| Nsec3::parse(rdata).is_ok_and(|nsec3| !nsec3.types.contains(rtype::ZONEMD));
        nsec3.records().all(|record| is_said(record.rdata)) && self.is_signed(node, rtype::NSEC3)
    }
}

/// The owner of the NSEC3 record of the apex. `None`: it would be too long.
fn hashed(params: &Nsec3Params<'_>, apex: &Name) -> Option<NameBuf> {
    let label = owner_label(&params.hash(apex));
    let octets = [&[label.len() as u8], &label[..], apex.octets()].concat();
    Name::from_wire(&octets).ok().map(Name::to_owned)
}
