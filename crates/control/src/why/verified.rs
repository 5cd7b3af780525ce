//! Whether signatures of a response are of the keys that the zone of their signer has here, over the records beside them, as validators see both (RFC 4035 5.3).

use dnssec::CanonicalSet;
use dnssec::key::{Dnskey, is_supported};
use dnssec::verify::{Fault, Rrsig};
use wire::iana::rtype;
use wire::{Name, SortKey};
use zone::CatalogView;

/// Signatures of a response that are verified: a denial has five at the most, and P-384 takes 0.3 ms each, while the reader holds what is replaced meanwhile.
const VERIFIED_MAX: usize = 8;
/// Keys of one tag and algorithm that are tried, as validators do (CVE-2023-50387).
const KEYS_OF_TAG_MAX: usize = 4;

/// Verifies some signatures; see the module.
pub(super) struct Verifier<'v, 'c> {
    view: &'v CatalogView<'c>,
    left: usize,
}

impl<'v, 'c> Verifier<'v, 'c> {
    pub(super) fn new(view: &'v CatalogView<'c>) -> Verifier<'v, 'c> {
        Verifier { view, left: VERIFIED_MAX }
    }

    /// What is to be said of the octets of a signature, over an RRset of which these are all records.
    pub(super) fn words(&mut self, signature: &[u8], owner: &Name, records: &[&[u8]]) -> &'static str {
        let Some(rrsig) = Rrsig::parse(signature) else { return "not to be read: validators say bogus" };
        if !is_supported(rrsig.algorithm) {
            return "not verified, as the algorithm is not known here";
        }
        if records.is_empty() {
            return "over records that are not there";
        }
        let Some(left) = self.left.checked_sub(1) else { return "not verified, as there are many" };
        self.left = left;
        match self.verify(&rrsig, owner, records) {
            Ok(()) => "verified",
            Err(Fault::WrongKey) => "of a key that the zone has not: validators say bogus",
            Err(Fault::Unsupported) => "not verified, as the size of the key is not known here",
            Err(_) => "wrong: validators say bogus",
        }
    }

    fn verify(&self, rrsig: &Rrsig<'_>, owner: &Name, records: &[&[u8]]) -> Result<(), Fault> {
        rrsig.check_fields(owner, rrsig.covered)?;
        let (mut set, mut buffer) = (CanonicalSet::new(), Vec::new());
        set.fill(rrsig.covered, records.iter().copied());
        let mut result = Err(Fault::WrongKey);
        let keys = self.keys(rrsig.signer);
        let keys = keys.iter().filter_map(|rdata| Dnskey::parse(rdata)).filter(Dnskey::is_zone_key);
        let fits = |key: &Dnskey<'_>| (key.algorithm, key.tag) == (rrsig.algorithm, rrsig.key_tag);
        for key in keys.filter(fits).take(KEYS_OF_TAG_MAX) {
            result = rrsig.verify(owner, &set, &key, &mut buffer);
            if result.is_ok() {
                break;
            }
        }
        result
    }

    /// RDATA of the keys of a zone; none where it is not here.
    fn keys(&self, apex: &Name) -> Vec<Vec<u8>> {
        let (key, labels) = (SortKey::of(apex), apex.label_count());
        let hit = self.view.find(&key, labels);
        let zone = hit.zone().filter(|_| usize::from(hit.found.labels) == labels);
        let node = zone.as_ref().and_then(|zone| zone.walk(&key)).map(|found| found.node);
        let set = node.as_ref().and_then(|node| node.rrset(rtype::DNSKEY));
        set.and_then(|set| set.rdata(apex, apex)).unwrap_or_default()
    }
}
