#![allow(clippy::unwrap_used)]
//! Signatures made here with a fresh key; those of RFCs and of the root zone are in `tests/`.
use super::*;
use crate::key::Dnskey;
use ring::signature::{Ed25519KeyPair, KeyPair};
use wire::NameBuf;
use wire::iana::{algorithm, rtype};

struct Signer {
    pair: Ed25519KeyPair,
    dnskey: Vec<u8>,
}

impl Signer {
    fn new(seed: u8) -> Signer {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
        let mut dnskey = vec![1, 0, 3, algorithm::ED25519];
        dnskey.extend_from_slice(pair.public_key().as_ref());
        Signer { pair, dnskey }
    }

    fn key(&self) -> Dnskey<'_> {
        Dnskey::parse(&self.dnskey).unwrap()
    }

    /// RDATA of a signature by example. over A records of `owner`, put together by hand.
    fn sign(&self, owner: &str, labels: u8, signer: &str, addresses: &[[u8; 4]]) -> Vec<u8> {
        let mut rdata = vec![0, rtype::A as u8, algorithm::ED25519, labels, 0, 0, 0, 60];
        rdata.extend([0, 0, 0, 20, 0, 0, 0, 10]); // valid from 10 to 20
        rdata.extend(self.key().tag.to_be_bytes());
        let mut data = rdata.clone();
        data.extend(NameBuf::from_text(signer).unwrap().to_lowercase().octets());
        rdata.extend(NameBuf::from_text(signer).unwrap().octets());
        for address in addresses {
            data.extend(NameBuf::from_text(owner).unwrap().octets());
            data.extend([0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
            data.extend(address);
        }
        rdata.extend(self.pair.sign(&data).as_ref());
        rdata
    }
}

fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

/// Verifies `rdata` over A records of `owner` given in any order.
fn verify(rdata: &[u8], owner: &str, addresses: &[[u8; 4]], key: &Dnskey<'_>) -> Result<Source, Fault> {
    let rrsig = Rrsig::parse(rdata).unwrap();
    let source = rrsig.check(&name(owner), rtype::A, 15)?;
    let mut set = CanonicalSet::new();
    set.fill(rtype::A, addresses.iter().map(|address| &address[..]));
    rrsig.verify(&name(owner), &set, key, &mut Vec::new())?;
    Ok(source)
}

const ADDRESSES: [[u8; 4]; 2] = [[1, 2, 3, 4], [1, 2, 3, 5]];

#[test]
fn plain_set() {
    let signer = Signer::new(1);
    let rdata = signer.sign("www.example.", 2, "Example.", &ADDRESSES);
    let [a, b] = ADDRESSES;
    assert_eq!(verify(&rdata, "WWW.example.", &[b, a, b], &signer.key()), Ok(Source::Owner));
    assert_eq!(verify(&rdata, "www.example.", &[a], &signer.key()), Err(Fault::BadSignature));
    assert_eq!(verify(&rdata, "xxx.example.", &[a, b], &signer.key()), Err(Fault::BadSignature));
    assert_eq!(verify(&rdata, "www.example.", &[a, b], &Signer::new(2).key()), Err(Fault::WrongKey));
    assert_eq!(verify(&rdata, "example.", &[a, b], &signer.key()), Err(Fault::TooManyLabels));
    assert_eq!(verify(&rdata, "www.example2.", &[a, b], &signer.key()), Err(Fault::WrongSigner));
    for at in 0..rdata.len() {
        let mut damaged = rdata.clone();
        damaged[at] ^= 1;
        // The case of the signer's letters is not part of what is signed, and a flipped letter is another
        // name.
        if let Some(rrsig) = Rrsig::parse(&damaged) {
            let mut set = CanonicalSet::new();
            set.fill(rtype::A, ADDRESSES.iter().map(|address| &address[..]));
            let verdict = rrsig.verify(&name("www.example."), &set, &signer.key(), &mut Vec::new());
            assert!(verdict.is_err(), "octet {at}");
        }
    }
}

#[test]
fn wildcards() {
    let signer = Signer::new(1);
    let rdata = signer.sign("*.example.", 1, "example.", &ADDRESSES);
    let expanded = Ok(Source::Wildcard { encloser_labels: 1 });
    assert_eq!(verify(&rdata, "a.b.example.", &ADDRESSES, &signer.key()), expanded);
    assert_eq!(verify(&rdata, "*.example.", &ADDRESSES, &signer.key()), Ok(Source::Owner));
    assert_eq!(verify(&rdata, "example.", &ADDRESSES, &signer.key()), Err(Fault::BadSignature));
    let root = signer.sign("*.", 0, ".", &ADDRESSES);
    let expanded = Ok(Source::Wildcard { encloser_labels: 0 });
    assert_eq!(verify(&root, "a.b.", &ADDRESSES, &signer.key()), expanded);
    let long = name(&"a.".repeat(127)); // a wildcard above the longest name is a short name
    let mut set = CanonicalSet::new();
    set.fill(rtype::A, ADDRESSES.iter().map(|address| &address[..]));
    let rrsig = Rrsig::parse(&root).unwrap();
    assert_eq!(rrsig.verify(&long, &set, &signer.key(), &mut Vec::new()), Ok(()));
}

#[test]
fn period() {
    let signer = Signer::new(1);
    let rdata = signer.sign("a.", 1, ".", &ADDRESSES);
    let check = |now| Rrsig::parse(&rdata).unwrap().check(&name("a."), rtype::A, now);
    assert_eq!(
        [9, 10, 20, 21].map(|now| check(now).err()),
        [Some(Fault::NotYetValid), None, None, Some(Fault::Expired)]
    );
    let mut rrsig = Rrsig::parse(&rdata).unwrap();
    (rrsig.inception, rrsig.expiration) = (u32::MAX - 5, 5);
    assert_eq!(
        [u32::MAX - 6, u32::MAX, 0, 6].map(|now| rrsig.check_period(now).err()),
        [Some(Fault::NotYetValid), None, None, Some(Fault::Expired)]
    );
    (rrsig.inception, rrsig.expiration) = (20, 10);
    assert_eq!(rrsig.check_period(15), Err(Fault::EmptyPeriod));
    assert_eq!(rrsig.check_fields(&name("a."), rtype::NS), Err(Fault::WrongType));
}

#[test]
fn shapes() {
    let rdata = Signer::new(1).sign("a.", 1, "b.", &ADDRESSES);
    for length in 0..=21 {
        assert!(Rrsig::parse(&rdata[..length]).is_none(), "{length}");
    }
    assert!(Rrsig::parse(&rdata[..22]).is_some());
}

/// The two halves are the whole, and one bit of key, signature or set makes another statement.
#[test]
fn statements() {
    let signer = Signer::new(1);
    let rdata = signer.sign("a.", 1, ".", &ADDRESSES);
    let state = |rdata: &[u8], addresses: &[[u8; 4]], key: &Dnskey<'_>| {
        let mut set = CanonicalSet::new();
        set.fill(rtype::A, addresses.iter().map(|address| &address[..]));
        let mut buffer = Vec::new();
        let rrsig = Rrsig::parse(rdata).unwrap();
        let statement = rrsig.state(&name("a."), &set, key, &mut buffer)?;
        Ok((statement, rrsig.verify_stated(key, &buffer)))
    };
    let (genuine, verdict) = state(&rdata, &ADDRESSES, &signer.key()).unwrap();
    assert_eq!(verdict, Ok(()));
    let (other, verdict) = state(&rdata, &ADDRESSES[..1], &signer.key()).unwrap();
    assert!(other != genuine && verdict == Err(Fault::BadSignature));
    let mut damaged = rdata.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let (other, verdict) = state(&damaged, &ADDRESSES, &signer.key()).unwrap();
    assert!(other != genuine && verdict == Err(Fault::BadSignature));
    assert_eq!(state(&rdata, &ADDRESSES, &Signer::new(2).key()), Err(Fault::WrongKey));
}
