#![allow(clippy::unwrap_used)]
use super::*;
use dnssec::key::FLAG_REVOKE;
use sim::signer::{Signing, ds_of, sign_set};
use wire::iana::rtype;
use wire::rrset::RrsetBuf;

const DAY: u64 = 86_400;
const NOW: u64 = sim::BEGIN_UNIX_SECONDS as u64;

fn root() -> NameBuf {
    NameBuf::root()
}

/// A key signing key by number.
fn key(seed: u64) -> Vec<u8> {
    let keys = signing(seed, NOW).keys(&root());
    keys.into_iter().next().unwrap().dnskey
}

fn tag(seed: u64) -> u16 {
    dnssec::key::key_tag(&key(seed))
}

fn signing(seed: u64, now: u64) -> Signing {
    let (inception, expiration) = ((now - DAY) as u32, (now + 14 * DAY) as u32);
    Signing { has_single_key: true, inception, expiration, ..Signing::new(seed) }
}

fn revoked(seed: u64) -> Vec<u8> {
    let mut key = key(seed);
    key[1] |= FLAG_REVOKE as u8;
    key
}

/// The set of keys at a time, signed by some of them.
fn set(keys: &[Vec<u8>], signers: &[u64], now: u64) -> RrsetBuf {
    let rdatas: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let mut signatures = RdataListBuf::new();
    for &seed in signers {
        sign_set(&root(), &signing(seed, now), &root(), rtype::DNSKEY, 172_800, &rdatas)
            .iter()
            .for_each(|rdata| signatures.push(rdata));
    }
    RrsetBuf {
        owner: root(),
        rtype: rtype::DNSKEY,
        ttl: 172_800,
        rdatas: rdatas.into_iter().collect(),
        signatures,
    }
}

/// The set signed by a revoked key of this number, which says so, and by others.
fn set_revoking(keys: &[Vec<u8>], revoking: u64, signers: &[u64], now: u64) -> RrsetBuf {
    let mut set = set(keys, signers, now);
    let genuine = signing(revoking, now);
    // The signer writes the tag of the plain key; the one of the revoked key is another, and part of what is signed.
    let key = sim::signer::Key::new(revoking, &root(), sim::signer::Role::Ksk, 15);
    let plain = set.clone();
    let rdatas: Vec<&[u8]> = plain.rdatas.list().iter().collect();
    let signature = sign_set(&root(), &genuine, &root(), rtype::DNSKEY, 172_800, &rdatas).remove(0);
    let tag = dnssec::key::key_tag(&revoked(revoking));
    let mut fields = signature[..19].to_vec();
    fields[16..18].copy_from_slice(&tag.to_be_bytes());
    let mut canonical = dnssec::CanonicalSet::new();
    canonical.fill(rtype::DNSKEY, rdatas.iter().copied());
    let mut data = fields.clone();
    for (_, rdata) in canonical.records() {
        data.extend([0, 0, rtype::DNSKEY as u8, 0, 1]);
        data.extend(172_800u32.to_be_bytes());
        data.extend((rdata.len() as u16).to_be_bytes());
        data.extend(rdata);
    }
    fields.extend(key.sign(&data));
    set.signatures.push(&fields);
    set
}

fn observe(managed: &mut Managed, set: &RrsetBuf, now: u64) -> Result<Vec<Change>, Fault> {
    let outcome = managed.observe(&set.rrset(), now, &Policy::default(), &mut Verifier::new(0));
    // Whatever happens, the state can be written and read.
    assert_eq!(read(&write([&*managed])), Ok(vec![managed.clone()]));
    outcome
}

/// A state with the keys of these numbers valid.
fn valid(seeds: &[u64]) -> Managed {
    let keys: Vec<Vec<u8>> = seeds.iter().map(|&seed| key(seed)).collect();
    let ds: Vec<Vec<u8>> = keys.iter().map(|key| ds_of(&root(), key, 2)).collect();
    let mut managed = Managed::new(&root(), ds.iter().map(Vec::as_slice));
    let changes = observe(&mut managed, &set(&keys, seeds, NOW), NOW).unwrap();
    assert_eq!(changes, seeds.iter().map(|&seed| Change::Trusted(tag(seed))).collect::<Vec<_>>());
    managed
}

#[test]
fn a_new_key_is_trusted_after_thirty_days() {
    let mut managed = valid(&[1]);
    let both = [key(1), key(2)];
    let until = NOW + DAY + 30 * DAY;
    let at = NOW + DAY;
    assert_eq!(
        observe(&mut managed, &set(&both, &[1], at), at),
        Ok(vec![Change::Seen { tag: tag(2), until }])
    );
    let at = until - 1;
    assert_eq!(observe(&mut managed, &set(&both, &[1], at), at), Ok(vec![]));
    assert_eq!(observe(&mut managed, &set(&[key(2)], &[2], at), at), Err(Fault::NoMatchingKey));
    let at = until;
    assert_eq!(observe(&mut managed, &set(&both, &[1], at), at), Ok(vec![Change::Trusted(tag(2))]));
    let at = until + DAY;
    let only_new = set(&[key(2)], &[2], at);
    assert_eq!(observe(&mut managed, &only_new, at), Ok(vec![Change::Missing(tag(1))]));
    let at = at + DAY;
    assert_eq!(observe(&mut managed, &set(&both, &[1], at), at), Ok(vec![Change::Back(tag(1))]));
}

#[test]
fn a_key_that_goes_before_it_is_trusted_begins_anew() {
    let mut managed = valid(&[1]);
    let both = [key(1), key(2)];
    observe(&mut managed, &set(&both, &[1], NOW), NOW).unwrap();
    let at = NOW + 29 * DAY;
    assert_eq!(observe(&mut managed, &set(&[key(1)], &[1], at), at), Ok(vec![Change::Dropped(tag(2))]));
    let at = NOW + 31 * DAY;
    let until = at + 30 * DAY;
    assert_eq!(
        observe(&mut managed, &set(&both, &[1], at), at),
        Ok(vec![Change::Seen { tag: tag(2), until }])
    );
}

#[test]
fn revocation() {
    let mut managed = valid(&[1, 2]);
    // By another key's signature alone: anybody with one of the keys could do that to the other.
    let keys = [revoked(1), key(2)];
    let at = NOW + DAY;
    let by_other = observe(&mut managed, &set(&keys, &[2], at), at).unwrap();
    assert_eq!(by_other, [Change::Missing(tag(1))], "not revoked");
    let at = at + DAY;
    let changes = observe(&mut managed, &set_revoking(&keys, 1, &[2], at), at).unwrap();
    assert_eq!(changes, [Change::Revoked(dnssec::key::key_tag(&revoked(1)))]);
    // It signs no more, nor comes back without the bit.
    assert_eq!(observe(&mut managed, &set(&[key(1), key(3)], &[1], at), at), Err(Fault::NoMatchingKey));
    assert_eq!(observe(&mut managed, &set(&[key(1), key(2)], &[2], at), at), Ok(vec![]));
    let at = at + 30 * DAY;
    let changes = observe(&mut managed, &set(&[key(2)], &[2], at), at).unwrap();
    assert_eq!(changes, [Change::Forgotten(tag(1))]);
}

/// RFC 5011 2.1: the last key revokes itself, with no other signature.
#[test]
fn the_last_key_revokes_itself() {
    for begin in [valid(&[1]), {
        let ds = ds_of(&root(), &key(1), 2);
        Managed::new(&root(), [&ds[..]])
    }] {
        let mut managed = begin;
        let changes = observe(&mut managed, &set_revoking(&[revoked(1)], 1, &[], NOW), NOW).unwrap();
        assert_eq!(changes, [Change::Revoked(dnssec::key::key_tag(&revoked(1))), Change::NoneLeft]);
        let mut anchors = Anchors::built_in();
        managed.apply(&mut anchors);
        assert_eq!(anchors.start(&root(), NOW), crate::anchors::Start::Nowhere);
    }
}

#[test]
fn sets_that_nobody_trusted_signed_change_nothing() {
    let managed = valid(&[1]);
    let at = NOW + DAY;
    let mut unsigned = set(&[key(1), key(2)], &[1], at);
    unsigned.signatures.clear();
    for (set, fault) in [
        (set(&[key(2)], &[2], at), Fault::NoMatchingKey),
        (set(&[key(1), key(2)], &[2], at), Fault::KeyMissing),
        (set(&[key(1), key(2)], &[1], at - 60 * DAY), Fault::Expired),
        (set(&[key(1), key(2)], &[1], at + 60 * DAY), Fault::NotYetValid),
        (unsigned, Fault::SignatureMissing),
    ] {
        let mut after = managed.clone();
        assert_eq!(observe(&mut after, &set, at), Err(fault));
        assert_eq!(after, managed);
    }
}

/// A clock that was set back: a little costs nothing, much makes a key wait anew.
#[test]
fn clocks() {
    let both = [key(1), key(2)];
    let mut managed = valid(&[1]);
    observe(&mut managed, &set(&both, &[1], NOW), NOW).unwrap();
    let at = NOW - 3000;
    assert_eq!(observe(&mut managed, &set(&both, &[1], at), at), Ok(vec![]));
    let at = NOW - 100 * DAY;
    assert_eq!(observe(&mut managed, &set(&both, &[1], at), at), Ok(vec![Change::Restarted(tag(2))]));
    let at = at + 30 * DAY;
    assert_eq!(observe(&mut managed, &set(&both, &[1], at), at), Ok(vec![Change::Trusted(tag(2))]));
}

/// Whoever holds a key can publish others without end.
#[test]
fn pending_keys_are_bounded() {
    let mut managed = valid(&[1]);
    let many: Vec<Vec<u8>> = (1..60).map(key).collect();
    let changes = observe(&mut managed, &set(&many, &[1], NOW), NOW).unwrap();
    assert_eq!((changes.len(), managed.keys.len()), (PENDING_MAX, 1 + PENDING_MAX));
}

/// RFC 5011 2.3: half the TTL, half the life of the signatures, 15 days; not below an hour.
#[test]
fn when_to_look_again() {
    let mut managed = valid(&[1]);
    assert_eq!(managed.next, NOW + DAY, "half of two days");
    managed.failed(NOW + DAY);
    assert_eq!(managed.next, NOW + DAY + DAY / 5, "a tenth of two days");
    let mut late = set(&[key(1)], &[1], NOW);
    observe(&mut managed, &late, NOW + 14 * DAY - 60).unwrap();
    assert_eq!(managed.next, NOW + 14 * DAY - 60 + 3600);
    late.owner = NameBuf::from_text("example.").unwrap();
    assert_eq!(observe(&mut managed, &late, NOW), Err(Fault::WrongSigner));
}

#[test]
fn texts() {
    let managed = valid(&[1, 2]);
    let text = write([&managed]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..4],
        ["zonda-managed-keys 1", "zone .", &format!("checked {NOW}"), &*format!("next {}", NOW + DAY)]
    );
    assert!(lines[4].starts_with("key valid 257 3 15 "));
    #[track_caller]
    fn check(text: &str, line: usize, fault: TextFault) {
        assert_eq!(read(text), Err(TextError { line, fault }));
    }
    check("", 1, TextFault::Title);
    check("zonda-managed-keys 2\n", 1, TextFault::Title);
    let with = |line: &str| format!("zonda-managed-keys 1\n\n# words\nzone .\n{line}\n");
    check(&with("keys valid 257 3 15 AAAA"), 5, TextFault::Word);
    check("zonda-managed-keys 1\nkey valid 257 3 15 AAAA\n", 2, TextFault::NoZone);
    check(&with("zone ."), 5, TextFault::Zone);
    check(&with("zone a..b"), 5, TextFault::Zone);
    check(&with("checked soon"), 5, TextFault::Time);
    check(&with("next 99999999999999999"), 5, TextFault::Time);
    check(&with("key trusted 257 3 15 AAAA"), 5, TextFault::State);
    check(&with("key missing 257 3 15 AAAA"), 5, TextFault::Record);
    check(&with("key valid 257 3 15 ????"), 5, TextFault::Record);
    check(&with("key valid 257 3 15 (AAAA"), 5, TextFault::Record);
    check(&with("ds 1 2"), 5, TextFault::Record);
    check(&format!("zonda-managed-keys 1\n{}", "\n".repeat(5000)), 4097, TextFault::TooLong);
    assert_eq!(
        read(&with("what")).unwrap_err().to_string(),
        "line 5: expected `zone`, `checked`, `next`, `ds` or `key`"
    );
    for end in 0..text.len() - 1 {
        let cut = &text[..end];
        if let Ok(read) = read(cut) {
            assert!(read.iter().all(|managed| managed.keys.len() <= 2), "{cut}");
        }
    }
}
