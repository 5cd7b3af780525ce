//! A small signer, so that tests can break a zone before and after it is signed.
use super::*;
use crate::contents::Flags;
use dnssec::CanonicalSet;
use dnssec::bitmap::write_types;
use dnssec::key::key_tag;
use dnssec::nsec3::{Nsec3Params, owner_label};
use ring::signature::{Ed25519KeyPair, KeyPair};
use wire::NameBuf;
use wire::iana::{algorithm, class};
use zonefile::RecordBuf;

/// Signatures begin and end here; checks happen in between, unless a test says otherwise.
pub const INCEPTION: u32 = 1_000_000;
pub const EXPIRATION: u32 = 2_000_000;
pub const NOW: u64 = 1_500_000;
/// TTL and minimum of all SOA records in these tests.
const DENIAL_TTL: u32 = 300;
/// Where the next hash stands in an NSEC3 record without salt.
const NSEC3_NEXT: std::ops::Range<usize> = 6..26;

pub struct TestZone {
    pub apex: NameBuf,
    pub records: Vec<RecordBuf>,
    pair: Ed25519KeyPair,
    pub tag: u16,
}

impl TestZone {
    /// Reads the zone `example.` and adds a key.
    pub fn new(text: &str) -> TestZone {
        let apex = NameBuf::from_text("example.").unwrap();
        let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let mut dnskey = vec![1, 1, 3, algorithm::ED25519];
        dnskey.extend_from_slice(pair.public_key().as_ref());
        let mut records = zonefile::records(text, &apex).unwrap();
        let tag = key_tag(&dnskey);
        records.push(RecordBuf { owner: apex.clone(), rtype: rtype::DNSKEY, ttl: 3600, rdata: dnskey });
        TestZone { apex, records, pair, tag }
    }

    pub fn contents(&self) -> Contents {
        let mut builder = ContentsBuilder::new(&self.apex);
        for (record, line) in self.records.iter().zip(1..) {
            let position = SourcePosition { file: 0, line };
            builder.push(&record.owner, false, record.rtype, record.ttl, &record.rdata, position).unwrap();
        }
        builder.finish()
    }

    /// What is found, without positions: lines mean nothing here.
    pub fn found(&self, options: &Options) -> Vec<String> {
        let strip = |line: String| {
            let mut kept = String::new();
            for word in line.split(' ') {
                match place_end(word) {
                    Some(end) => kept += end,
                    None if kept.is_empty() => kept += word,
                    None => kept += &format!(" {word}"),
                }
            }
            kept
        };
        findings(&self.contents(), options).into_iter().map(strip).collect()
    }

    #[track_caller]
    pub fn check(&self, expected: &[&str]) {
        self.check_at(NOW, expected);
    }

    #[track_caller]
    pub fn check_at(&self, now: u64, expected: &[&str]) {
        assert_found(self.found(&Options { now: Some(now), ..Options::default() }), expected);
    }

    pub fn add(&mut self, owner: &str, rtype: u16, ttl: u32, rdata: &[u8]) {
        let owner = NameBuf::from_text_at(owner.as_bytes(), Some(&self.apex)).unwrap();
        self.records.push(RecordBuf { owner, rtype, ttl, rdata: rdata.to_vec() });
    }

    /// Removes records; there is at least one.
    pub fn remove(&mut self, owner: &str, is_it: impl Fn(u16, &[u8]) -> bool) {
        let owner = NameBuf::from_text_at(owner.as_bytes(), Some(&self.apex)).unwrap();
        let before = self.records.len();
        self.records
            .retain(|record| !(record.owner.eq_ignore_case(&owner) && is_it(record.rtype, &record.rdata)));
        assert!(self.records.len() < before);
    }

    /// Changes the records of one name and type; there is at least one.
    pub fn edit(&mut self, owner: &str, rtype: u16, change: impl Fn(&mut RecordBuf)) {
        let owner = NameBuf::from_text_at(owner.as_bytes(), Some(&self.apex)).unwrap();
        let is_it = |record: &&mut RecordBuf| record.owner.eq_ignore_case(&owner) && record.rtype == rtype;
        assert!(self.records.iter_mut().filter(is_it).map(change).count() > 0);
    }

    /// Adds the NSEC chain.
    pub fn nsec(mut self) -> TestZone {
        let contents = self.contents();
        let nodes: Vec<_> = contents
            .nodes()
            .filter(|node| !node.flags().has_any(Flags(Flags::OCCLUDED.0 | Flags::EMPTY.0)))
            .collect();
        for (at, node) in nodes.iter().enumerate() {
            let mut types = parent_side_types(*node);
            types.extend([rtype::RRSIG, rtype::NSEC]);
            types.sort_unstable();
            let mut rdata = nodes[(at + 1) % nodes.len()].name().octets().to_vec();
            write_types(types, &mut rdata);
            self.records.push(RecordBuf { owner: node.name(), rtype: rtype::NSEC, ttl: DENIAL_TTL, rdata });
        }
        self
    }

    /// Adds a chain of NSEC3 records and its NSEC3PARAM.
    pub fn nsec3(mut self, iterations: u16, salt: &[u8], opt_out: bool) -> TestZone {
        let mut param = vec![1, 0];
        param.extend(iterations.to_be_bytes());
        param.push(salt.len() as u8);
        param.extend(salt);
        self.add("@", rtype::NSEC3PARAM, 0, &param);
        param[1] = opt_out as u8;
        let params = Nsec3Params::new(iterations, salt).unwrap();
        let contents = self.contents();
        let is_insecure = |node: NodeRef<'_>| node.flags().has(Flags::CUT) && node.rrset(rtype::DS).is_none();
        let mut hashes: Vec<_> = contents
            .nodes()
            .filter(|node| !node.flags().has_any(Flags(Flags::OCCLUDED.0 | Flags::NSEC3.0)))
            .filter(|node| !opt_out || !is_insecure(*node))
            .map(|node| (params.hash(&node.name()), node))
            .collect();
        hashes.sort_by_key(|(hash, _)| *hash);
        for (at, (hash, node)) in hashes.iter().enumerate() {
            let mut rdata = param.clone();
            rdata.push(20);
            rdata.extend(hashes[(at + 1) % hashes.len()].0);
            let mut types = parent_side_types(*node);
            if !types.is_empty() && types != [rtype::NS] {
                types.push(rtype::RRSIG);
            }
            types.sort_unstable();
            write_types(types, &mut rdata);
            let label = String::from_utf8(owner_label(hash).to_vec()).unwrap();
            let owner = NameBuf::from_text_at(label.as_bytes(), Some(&self.apex)).unwrap();
            self.records.push(RecordBuf { owner, rtype: rtype::NSEC3, ttl: DENIAL_TTL, rdata });
        }
        self
    }

    /// The owner of the NSEC3 record of `name`, relative to the apex.
    pub fn nsec3_owner(&self, name: &str, iterations: u16, salt: &[u8]) -> String {
        let name = NameBuf::from_text_at(name.as_bytes(), Some(&self.apex)).unwrap();
        let hash = Nsec3Params::new(iterations, salt).unwrap().hash(&name);
        String::from_utf8(owner_label(&hash).to_vec()).unwrap()
    }

    /// RDATA of the NSEC3 record at `owner`.
    pub fn nsec3_rdata(&self, owner: &str) -> Vec<u8> {
        let owner = NameBuf::from_text_at(owner.as_bytes(), Some(&self.apex)).unwrap();
        let mut records = self.records.iter();
        let is_it = |record: &&RecordBuf| record.rtype == rtype::NSEC3 && record.owner == owner;
        records.find(is_it).unwrap().rdata.clone()
    }

    /// Takes an NSEC3 record without salt out of its chain: the one before points at the one after.
    pub fn unlink_nsec3(&mut self, owner: &str) {
        let next = self.nsec3_rdata(owner)[NSEC3_NEXT].to_vec();
        self.remove(owner, |rtype, _| rtype == rtype::NSEC3);
        let hash = dnssec::nsec3::hash_of_label(owner.as_bytes()).unwrap();
        let is_before =
            |record: &&mut RecordBuf| record.rtype == rtype::NSEC3 && record.rdata[NSEC3_NEXT] == hash;
        let before = self.records.iter_mut().find(is_before).unwrap();
        before.rdata[NSEC3_NEXT].copy_from_slice(&next);
    }

    /// Signs everything that is authoritative.
    pub fn sign(mut self) -> TestZone {
        let contents = self.contents();
        let mut signatures = Vec::new();
        for node in contents.nodes() {
            for set in node.rrsets() {
                let is_cut = node.flags().has(Flags::CUT);
                let is_parent_side = !is_cut || matches!(set.rtype(), rtype::DS | rtype::NSEC);
                if is_parent_side && !node.flags().has(Flags::OCCLUDED) {
                    let rdata = self.signature(&node.name(), set, |_| ());
                    let owner = node.name();
                    signatures.push(RecordBuf { owner, rtype: rtype::RRSIG, ttl: set.ttl(), rdata });
                }
            }
        }
        self.records.extend(signatures);
        self
    }

    /// RDATA of a signature over `set`; `change` may alter the fields before they are signed.
    pub fn signature(&self, owner: &NameBuf, set: RRsetRef<'_>, change: impl Fn(&mut [u8])) -> Vec<u8> {
        let mut rdata = set.rtype().to_be_bytes().to_vec();
        rdata.push(algorithm::ED25519);
        rdata.push((owner.label_count() - owner.is_wildcard() as usize) as u8);
        for number in [set.ttl(), EXPIRATION, INCEPTION] {
            rdata.extend(number.to_be_bytes());
        }
        rdata.extend(self.tag.to_be_bytes());
        rdata.extend(self.apex.octets());
        change(&mut rdata);
        let mut data = rdata.clone();
        let mut canonical = CanonicalSet::new();
        canonical.fill(set.rtype(), set.records().map(|record| record.rdata));
        for (_, record) in canonical.records() {
            data.extend(owner.octets());
            data.extend(set.rtype().to_be_bytes());
            data.extend(class::IN.to_be_bytes());
            data.extend(&rdata[4..8]);
            data.extend((record.len() as u16).to_be_bytes());
            data.extend(record);
        }
        rdata.extend(self.pair.sign(&data).as_ref());
        rdata
    }
}

/// Types a denial record lists before NSEC and RRSIG are added.
fn parent_side_types(node: NodeRef<'_>) -> Vec<u16> {
    let types = node.rrsets().map(|set| set.rtype());
    let is_cut = node.flags().has(Flags::CUT);
    types.filter(|rtype| !is_cut || matches!(*rtype, rtype::NS | rtype::DS)).collect()
}

/// What follows the position in a word of a finding; `None` where the word is none.
fn place_end(word: &str) -> Option<&str> {
    let digits = word.strip_prefix(':')?;
    let end = digits.trim_start_matches(|digit: char| digit.is_ascii_digit());
    (end.len() < digits.len() && end.len() < 2).then_some(end)
}
