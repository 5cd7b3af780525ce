//! Requests signed with keys of the zone.
use crate::kit::sign::{EXPIRATION, INCEPTION, Signer};
use crate::kit::*;
use change::Request;
use change::sig0::{Fault, Signature};
use wire::iana::{algorithm, class, rtype};

/// Adds a SIG(0) record; `change` may alter the RDATA before it is signed.
fn sign(signer: &Signer, message: Message, name_of_key: &str, change: impl Fn(&mut Vec<u8>)) -> Message {
    let mut rdata = vec![0, 0, algorithm::ED25519, 0, 0, 0, 0, 0];
    rdata.extend(EXPIRATION.to_be_bytes());
    rdata.extend(INCEPTION.to_be_bytes());
    rdata.extend(signer.tag().to_be_bytes());
    rdata.extend(name(name_of_key).octets());
    change(&mut rdata);
    let signature = signer.sign_octets(&[&rdata, message.octets()].concat());
    rdata.extend(signature);
    let mut signed = message;
    signed.push(3, &name("."), (rtype::SIG, class::ANY, 0), &rdata);
    signed
}

#[test]
fn keys_of_the_zone_sign() {
    let (signer, other) = (Signer::new(7, 0x0200), Signer::new(8, 0x0200));
    let (not_for_this, zone_key) = (Signer::new(9, 0x8200), Signer::new(10, 0x0200));
    let mut zone = records("@ 60 SOA ns hostmaster 7 3600 600 86400 60\n@ 60 NS ns\nsub 60 NS ns");
    for (owner, key) in [
        ("host", signer.key()),
        ("host", not_for_this.key()),
        ("k.sub", signer.key()),
        ("third", zone_key.key()),
    ] {
        zone.push((name(owner), rtype::KEY, 60, key.to_vec()));
    }
    let mut other_protocol = other.key().to_vec();
    other_protocol[2] = 1;
    zone.push((name("host"), rtype::KEY, 60, other_protocol));
    let pack = pack(&zone);
    let verify_at = |message: &Message, now| {
        Request::read(message.octets()).unwrap();
        let found = Signature::find(message.octets())?;
        let (verified, checked) = (found.verify(&view(&pack), now), found.check(&view(&pack), now));
        // What costs little tells all but whether it is right.
        assert_eq!(
            checked.err(),
            verified.as_ref().err().copied().filter(|fault| *fault != Fault::Signature)
        );
        verified
    };
    let verify = |message: &Message| verify_at(message, NOW);
    let update = || message("yx www\nadd new 60 A 192.0.2.1");
    let good = sign(&signer, update(), "HOST", |_| ());
    assert_eq!(verify(&good), Ok(name("host")));
    assert_eq!(Signature::find(good.octets()).unwrap().signer(), &*name("HOST"));
    for (message, expected) in [
        (update(), Fault::Unsigned),
        (sign(&other, update(), "host", |_| ()), Fault::Key),
        (sign(&not_for_this, update(), "host", |_| ()), Fault::Key),
        (sign(&signer, update(), "third", |_| ()), Fault::Key),
        (sign(&signer, update(), "nobody", |_| ()), Fault::Key),
        (sign(&signer, update(), "host.other.", |_| ()), Fault::Key),
        // What stands below a cut is not the zone's to say.
        (sign(&signer, update(), "k.sub", |_| ()), Fault::Key),
        (
            sign(&other, update(), "host", |rdata| {
                rdata[16..18].copy_from_slice(&signer.tag().to_be_bytes())
            }),
            Fault::Signature,
        ),
        (sign(&signer, update(), "host", |rdata| rdata[1] = 1), Fault::Unsigned),
    ] {
        assert_eq!(verify(&message), Err(expected));
    }
    assert_eq!(verify_at(&good, u64::from(EXPIRATION) + 1), Err(Fault::Late));
    assert_eq!(verify_at(&good, u64::from(INCEPTION) - 1), Err(Fault::Early));
    // Each octet before the record counts, and its own too.
    for at in 0..good.octets().len() {
        let mut octets = good.octets().to_vec();
        octets[at] ^= 1;
        let verified = Signature::find(&octets).and_then(|signature| signature.verify(&view(&pack), NOW));
        assert!(verified.is_err(), "octet {at}");
        let cut = Signature::find(&octets[..at]).err();
        assert!(cut.is_some(), "cut at {at}");
    }
    // It is the last record.
    let mut more = sign(&signer, update(), "host", |_| ());
    more.push(3, &name("."), (rtype::OPT, 1232, 0), &[]);
    assert_eq!(verify(&more), Err(Fault::Malformed));
}
