//! What `explain` writes down: who was asked, what each said, which link of the chain of trust holds, and where it breaks.

use cache::Security;
use sim::Records;
use sim::signer::{Signing, sign};
use validate::Anchors;
use wire::Name;
use wire::iana::{rcode, rtype};

use super::scripted::{Question, Record, Response, Scene, WALL, Zone, name};
use crate::explain::Told;
use crate::outcome::{Ask, From};

fn signing(seed: u64) -> Signing {
    let (inception, expiration) = (WALL as u32 - 86_400, WALL as u32 + 86_400);
    Signing { inception, expiration, ..Signing::new(seed) }
}

/// A zone of text, signed.
fn signed(apex: &str, text: &str) -> Zone {
    let records = Records::from_text(apex, text).unwrap();
    let signed = sign(&records, &signing(1)).unwrap();
    let records = signed.list.into_iter().map(|one| Record(one.owner, one.rtype, one.ttl, one.rdata));
    Zone::new(&name(apex), records.collect())
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

pub type Change = fn(&Question, Response) -> Option<Response>;

/// The DS record of a zone that is signed.
fn ds(apex: &str) -> String {
    let rdata = signing(1).ds(&name(apex)).remove(0);
    let (tag, rest) = (u16::from_be_bytes([rdata[0], rdata[1]]), hex(&rdata[4..]));
    format!("{apex} 3600 DS {tag} {} {} {rest}\n", rdata[2], rdata[3])
}

/// The root of that.
pub fn root() -> Zone {
    let text = format!(
        ". 3600 SOA a.root. x. 1 2 3 4 60\n. 3600 NS a.root.\na.root. 3600 A 192.0.9.1\ntest. 3600 NS ns.test.\nns.test. 3600 A 192.0.9.2\n{}",
        ds("test.")
    );
    signed(".", &text)
}

/// A root, `test.` that is signed, with `good.test.` that is too, and `plain.test.` that is not. What the servers of root (1) and TLD (2), and of
/// zones (3), say is changed.
pub fn world(above: Change, below: Change) -> Scene {
    let test = format!(
        "test. 3600 SOA ns x. 1 2 3 4 60\ntest. 3600 NS ns.test.\nns.test. 3600 A 192.0.9.2\n\
         good.test. 3600 NS ns.good.test.\nns.good.test. 3600 A 192.0.9.3\n{}\
         plain.test. 3600 NS ns.plain.test.\nns.plain.test. 3600 A 192.0.9.3\n",
        ds("good.test.")
    );
    let good = "@ 3600 SOA ns x. 1 2 3 4 60\n@ 3600 NS ns\nns 3600 A 192.0.9.3\nwww 60 A 203.0.113.1\n";
    let mut scene = Scene::with("", |settings| {
        settings.is_validating = true;
        settings.anchors = Anchors::new();
        let anchor = signing(1).ds(Name::root()).remove(0);
        settings.anchors.add_ds(Name::root(), &anchor);
    });
    scene.serve_zones(1, vec![root()], above);
    scene.serve_zones(2, vec![signed("test.", &test)], above);
    let plain = Zone::from_text("plain.test.", "www.plain.test. 60 A 203.0.113.2");
    scene.serve_zones(3, vec![signed("good.test.", good), plain], below);
    scene
}

pub const AS_IT_IS: Change = |_, response| Some(response);

fn explain(scene: &mut Scene, text: &str) -> Told {
    let name = name(text);
    let ask = Ask { name: &name, rtype: rtype::A, checking_disabled: false, from: From::Cache, client: None };
    scene.resolver.explain(&ask, 7, &mut scene.net).unwrap();
    for _ in 0..100_000 {
        if let Some(told) = scene.resolver.told() {
            assert_eq!(told.number, 7);
            return told;
        }
        let until = scene.net.now + 40_000;
        assert!(scene.step(until), "no end");
    }
    panic!("it goes round in circles");
}

/// That lines with these words come in this order, and what it came to.
#[track_caller]
fn check(told: &Told, (rcode, security): (u16, Option<Security>), expected: &[&str]) {
    let mut lines = told.lines.iter();
    for words in expected {
        assert!(lines.any(|line| line.contains(words)), "{words}\n{}", told.lines.join("\n"));
    }
    assert_eq!((told.outcome.rcode, told.outcome.security), (rcode, security), "{}", told.lines.join("\n"));
}

#[test]
fn secure() {
    let mut scene = world(AS_IT_IS, AS_IT_IS);
    scene.resolve("www.good.test.", rtype::A);
    // Whatever the cache has it is walked anew.
    for _ in 0..2 {
        let told = explain(&mut scene, "www.good.test.");
        let walk = [
            "the root has the servers of the hints",
            "192.0.9.1:53 says about test. A: zone test. is delegated (10 ms)",
            "zone test. has the servers ns.test.",
            "zone good.test. is delegated",
            "192.0.9.3:53 says about www.good.test. A: data",
            "validation of www.good.test. A: secure",
            "  . DNSKEY: signed by . with key",
            "  test. DS: signed by .",
            "  test. DNSKEY: signed by test.",
            "  good.test. DS: signed by test.",
            "  good.test. DNSKEY: signed by good.test.",
            "  www.good.test. A: signed by good.test.",
        ];
        check(&told, (rcode::NOERROR, Some(Security::Secure)), &walk);
    }
    scene.check_nothing_held();
}

#[test]
fn insecure() {
    let told = explain(&mut world(AS_IT_IS, AS_IT_IS), "www.plain.test.");
    let walk = [
        "validation of www.plain.test. A: insecure: the parent proves that the zone is not signed",
        "  plain.test. DS: insecure",
        "    proved by plain.test. NSEC, signed by test.",
    ];
    check(&told, (rcode::NOERROR, Some(Security::Insecure)), &walk);
}

/// A DS record of the parent that was changed on its way.
#[test]
fn bogus_at_ds() {
    let above: Change = |_, mut response| {
        let is_it = |record: &&mut Record| record.1 == rtype::DS && record.0 == name("good.test.");
        let of_section = |section: &mut Vec<Record>| {
            section.iter_mut().filter(is_it).for_each(|record| *record.3.last_mut().unwrap() ^= 1);
        };
        response.sections.iter_mut().for_each(of_section);
        Some(response)
    };
    let told = explain(&mut world(above, AS_IT_IS), "www.good.test.");
    let walk = [
        "validation of www.good.test. A: bogus",
        "  test. DNSKEY: signed by test.",
        "  good.test. DS: bogus: the signature is not one of this key over these records",
        "what breaks the chain is fetched anew",
        "for that, good.test. DS",
        "  good.test. DS: bogus",
    ];
    check(&told, (rcode::SERVFAIL, Some(Security::Bogus)), &walk);
}

#[test]
fn bogus_at_dnskey() {
    let below: Change = |question, mut response| {
        if question.rtype == rtype::DNSKEY {
            response.sections[0].retain(|record| record.1 != rtype::RRSIG);
        }
        Some(response)
    };
    let mut scene = world(AS_IT_IS, below);
    let told = explain(&mut scene, "www.good.test.");
    let walk = [
        "for that, good.test. DNSKEY: NOERROR",
        "  192.0.9.3:53 says about good.test. DNSKEY: data",
        "  good.test. DS: signed by test.",
        "  good.test. DNSKEY: bogus: ",
        "what breaks the chain is fetched anew",
    ];
    check(&told, (rcode::SERVFAIL, Some(Security::Bogus)), &walk);
    assert_eq!(told.outcome.reason, Some("a DNSKEY RRset breaks the chain of trust"));
    scene.check_nothing_held();
}

#[test]
fn bogus_at_data() {
    let below: Change = |_, mut response| {
        let addresses = response.sections[0].iter_mut().filter(|record| record.1 == rtype::A);
        addresses.for_each(|record| record.3[0] ^= 1);
        Some(response)
    };
    let told = explain(&mut world(AS_IT_IS, below), "www.good.test.");
    let walk = [
        "validation of www.good.test. A: bogus: ",
        "  good.test. DNSKEY: signed by good.test.",
        "  www.good.test. A: bogus: the signature is not one of this key over these records",
    ];
    check(&told, (rcode::SERVFAIL, Some(Security::Bogus)), &walk);
}

#[test]
fn lame() {
    let told = explain(&mut world(AS_IT_IS, |_, _| Some(Response::rcode(rcode::REFUSED))), "www.good.test.");
    check(&told, (rcode::SERVFAIL, None), &["192.0.9.3:53 says about www.good.test. A: REFUSED"]);
    let told = explain(&mut world(AS_IT_IS, |_, _| None), "www.good.test.");
    check(
        &told,
        (rcode::SERVFAIL, None),
        &["192.0.9.3:53 does not answer about www.good.test. A in time"; 3],
    );
}

#[test]
fn without_a_network() {
    let mut scene = world(AS_IT_IS, AS_IT_IS);
    scene.net.is_unreachable = true;
    let told = explain(&mut scene, "www.good.test.");
    check(&told, (rcode::SERVFAIL, None), &["the root has the servers of the hints"]);
    assert!(!told.outcome.is_fact, "it says nothing about the name");
    scene.check_nothing_held();
}
