//! Zones as ordered maps, for tests of what is computed over them.

use std::collections::BTreeMap;

use dnssec::CanonicalSet;
use dnssec::digest::{ZoneDigest, Zonemd};
use dnssec::key::Dnskey;
use dnssec::verify::{Fault, Rrsig, Source};
use wire::iana::rtype;
use wire::{Name, NameBuf, SortKey};

/// One record: TTL and RDATA.
pub type Entry = (u32, Vec<u8>);

/// RRsets by key of the owner and type: canonical order.
pub struct Zone {
    pub apex: NameBuf,
    pub sets: BTreeMap<(Vec<u8>, u16), (NameBuf, Vec<Entry>)>,
}

impl Zone {
    /// Reads master file text; records of other zones are left out.
    pub fn read(apex: &str, text: &str) -> Zone {
        let apex = NameBuf::from_text(apex).unwrap();
        let mut zone = Zone { apex: apex.clone(), sets: BTreeMap::new() };
        for record in zonefile::records(text, &apex).unwrap() {
            if record.owner.is_at_or_below(&apex) {
                let key = SortKey::of(&record.owner).octets().to_vec();
                let set =
                    zone.sets.entry((key, record.rtype)).or_insert_with(|| (record.owner.clone(), vec![]));
                set.1.push((record.ttl, record.rdata));
            }
        }
        zone
    }

    pub fn rdatas(&self, owner: &Name, rtype: u16) -> Vec<&[u8]> {
        let set = self.sets.get(&(SortKey::of(owner).octets().to_vec(), rtype));
        set.into_iter().flat_map(|(_, records)| records).map(|record| &record.1[..]).collect()
    }

    /// Verifies every signature at `now` with the keys of the apex; returns what became of each.
    pub fn verify(&self, now: u32) -> Vec<Result<Source, Fault>> {
        let keys: Vec<_> =
            self.rdatas(&self.apex, rtype::DNSKEY).into_iter().filter_map(Dnskey::parse).collect();
        let mut verdicts = Vec::new();
        let mut set = CanonicalSet::new();
        let mut buffer = Vec::new();
        for ((_, rtype), (owner, records)) in &self.sets {
            if *rtype != rtype::RRSIG {
                continue;
            }
            for (_, rdata) in records {
                let rrsig = Rrsig::parse(rdata).unwrap();
                set.fill(rrsig.covered, self.rdatas(owner, rrsig.covered));
                verdicts.push(rrsig.check(owner, rrsig.covered, now).and_then(|source| {
                    let key = keys.iter().find(|key| key.tag == rrsig.key_tag).ok_or(Fault::WrongKey)?;
                    rrsig.verify(owner, &set, key, &mut buffer).map(|()| source)
                }));
            }
        }
        verdicts
    }

    /// Compares each ZONEMD record of the apex with the zone; `None` for schemes and algorithms that are not
    /// known.
    pub fn digests(&self) -> Vec<Option<bool>> {
        let check = |rdata: &[u8]| {
            let zonemd = Zonemd::parse(rdata)?;
            let digest = ZoneDigest::new(zonemd.scheme, zonemd.algorithm).ok()?;
            Some(self.fill(digest).is(zonemd.digest))
        };
        self.rdatas(&self.apex, rtype::ZONEMD).into_iter().map(check).collect()
    }

    fn fill(&self, mut digest: ZoneDigest) -> ZoneDigest {
        let mut set = CanonicalSet::new();
        for ((_, rtype), (owner, records)) in &self.sets {
            let is_apex = owner.eq_ignore_case(&self.apex);
            if is_apex && *rtype == rtype::ZONEMD {
                continue;
            }
            let covers_zonemd =
                |rdata: &[u8]| *rtype == rtype::RRSIG && rdata.starts_with(&rtype::ZONEMD.to_be_bytes());
            let records: Vec<_> =
                records.iter().filter(|record| !(is_apex && covers_zonemd(&record.1))).collect();
            set.fill(*rtype, records.iter().map(|record| &record.1[..]));
            digest.add(owner, *rtype, |source| records[source].0, &set);
        }
        digest
    }
}
