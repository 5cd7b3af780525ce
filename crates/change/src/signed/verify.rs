//! Signatures over RRsets that an update changed (RFC 4035 2.2, 5.3).

use super::{Affected, Standing};
use crate::draft::Draft;
use crate::failure::Unsigned;
use crate::set::{Rdata, Set, SetId};
use crate::update::Stop;
use dnssec::CanonicalSet;
use dnssec::key::Dnskey;
use dnssec::verify::{Rrsig, Source};
use std::collections::BTreeSet;
use wire::iana::rtype;
use wire::{Name, NameBuf};

/// Most signatures that are verified for one update, with each key that is tried: what a message of 64 KiB can bring of the shortest, and a tenth of a second (a third with P-384).
const SIGNATURES_MAX: usize = 1_024;
/// Most keys of one tag and algorithm that are tried for a signature: tags collide by accident once in thousands of keys, and by intent to cost time.
const KEYS_OF_TAG_MAX: usize = 4;

/// What signatures are verified with.
struct Verifier {
    apex: NameBuf,
    /// RDATA of the DNSKEY records, as they are after the update.
    keys: Vec<Rdata>,
    now: u32,
    /// Verifications that may be done yet.
    left: usize,
    canonical: CanonicalSet,
    buffer: Vec<u8>,
}

impl Draft<'_> {
    /// Checks that each RRset has signatures just where it must, and that all of them verify.
    pub(super) fn verify(&mut self, affected: &Affected, now: u32) -> Result<(), Stop> {
        let apex = self.place(&[])?;
        let mut verifier = Verifier {
            apex: self.view().apex().to_owned(),
            keys: self.set(apex, SetId::of(rtype::DNSKEY))?.records.clone(),
            now,
            left: SIGNATURES_MAX,
            canonical: CanonicalSet::new(),
            buffer: Vec::new(),
        };
        for &(place, rtype) in &affected.verified {
            if self.set(place, SetId::of(rtype))?.records.is_empty() {
                continue;
            }
            let key = self.key(place).to_vec();
            let is_signed = rtype == rtype::NSEC3
                || match self.standing(&key)? {
                    Standing::Authoritative => true,
                    Standing::Cut => matches!(rtype, rtype::DS | rtype::NSEC),
                    Standing::Occluded => false,
                };
            let signatures = self.set(place, SetId::signatures(rtype))?.records.clone();
            match (is_signed, signatures.is_empty()) {
                (true, true) => return Err(Unsigned::Missing(rtype).into()),
                (false, false) => return Err(Unsigned::Stray(rtype).into()),
                (false, true) => continue,
                (true, false) => {}
            }
            let owner = self.name_of(&key)?;
            let set = self.set(place, SetId::of(rtype))?;
            let ttl = set.ttl;
            verifier.canonical.fill(rtype, set.records.iter().map(Rdata::folded));
            for signature in &signatures {
                verifier.check(&owner, (rtype, ttl), signature.written())?;
            }
        }
        Ok(())
    }
}

/// Zone keys by RDATA.
type Keys = BTreeSet<Box<[u8]>>;

impl Draft<'_> {
    /// Checks that each key that signed the zone's keys before an update signs them after it. By which of them others begin to trust the zone (a DS record of the
    /// parent, or settings of theirs) is not known here, and no key goes by update either.
    pub(super) fn check_key_signers(&mut self, affected: &Affected) -> Result<(), Stop> {
        let apex = self.place(&[])?;
        if !affected.verified.contains(&(apex, rtype::DNSKEY)) {
            return Ok(());
        }
        let (keys, signatures) = (SetId::of(rtype::DNSKEY), SetId::signatures(rtype::DNSKEY));
        let (keys_before, before) = (self.stored(apex, keys)?, self.stored(apex, signatures)?);
        let now = self.set(apex, signatures)?.records.clone();
        let zone = self.view().apex().to_owned();
        let before = signers(&zone, &keys_before, &before.records)?;
        let now = signers(&zone, self.set(apex, keys)?, &now)?;
        match before.is_subset(&now) {
            true => Ok(()),
            false => Err(Unsigned::SignerGone.into()),
        }
    }
}

/// The keys of a zone that sign these keys, at whatever time. Of two with one tag it is known which.
fn signers(apex: &Name, keys: &Set, signatures: &[Rdata]) -> Result<Keys, Stop> {
    if signatures.len() > SIGNATURES_MAX {
        return Err(Unsigned::TooMuch.into());
    }
    let (mut canonical, mut buffer, mut signers) = (CanonicalSet::new(), Vec::new(), Keys::new());
    canonical.fill(rtype::DNSKEY, keys.records.iter().map(Rdata::folded));
    for signature in signatures.iter().filter_map(|rdata| Rrsig::parse(rdata.written())) {
        if signature.check_fields(apex, rtype::DNSKEY) != Ok(Source::Owner) {
            continue;
        }
        let parsed = keys.records.iter().filter_map(|rdata| Some((rdata, Dnskey::parse(rdata.written())?)));
        let fitting = parsed.filter(|(_, key)| fits(key, &signature)).take(KEYS_OF_TAG_MAX);
        for (rdata, key) in fitting {
            if signature.verify(apex, &canonical, &key, &mut buffer).is_ok() {
                signers.insert(rdata.folded().into());
                break;
            }
        }
    }
    Ok(signers)
}

/// Whether a key may have made a signature, as far as can be seen without trying.
fn fits(key: &Dnskey<'_>, signature: &Rrsig<'_>) -> bool {
    key.is_zone_key() && key.tag == signature.key_tag && key.algorithm == signature.algorithm
}

impl Verifier {
    /// Checks one signature over the canonical set.
    fn check(&mut self, owner: &Name, (rtype, ttl): (u16, u32), rdata: &[u8]) -> Result<(), Unsigned> {
        let signature = Rrsig::parse(rdata).ok_or(Unsigned::Invalid(rtype))?;
        let is_right =
            signature.check(owner, rtype, self.now) == Ok(Source::Owner) && signature.original_ttl == ttl;
        if !is_right || !signature.signer.eq_ignore_case(&self.apex) {
            return Err(Unsigned::Invalid(rtype));
        }
        let keys = self.keys.iter().filter_map(|rdata| Dnskey::parse(rdata.written()));
        for key in keys.filter(|key| fits(key, &signature)).take(KEYS_OF_TAG_MAX) {
            self.left = self.left.checked_sub(1).ok_or(Unsigned::TooMuch)?;
            if signature.verify(owner, &self.canonical, &key, &mut self.buffer).is_ok() {
                return Ok(());
            }
        }
        Err(Unsigned::Invalid(rtype))
    }
}
