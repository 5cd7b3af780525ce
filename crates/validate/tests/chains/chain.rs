//! The walk from the anchor to a zone: delegations of every kind, keys and DS records of every kind.
use crate::kit;
use crate::kit::{Cache, NOW, World, name};
use sim::signer::{Denial, Signing};
use sim::{FaultKind, Records};
use validate::{Fault, Insecurity, Policy, Security, Verifier};
use wire::iana::{algorithm, rtype};

const WWW: &str = "www 300 A 192.0.2.7\n";

fn signed() -> Option<Signing> {
    Some(Signing::new(7))
}

fn with(change: impl FnOnce(&mut Signing)) -> Option<Signing> {
    let mut signing = Signing::new(7);
    change(&mut signing);
    Some(signing)
}

fn with_fault(fault: sim::Fault) -> Option<Signing> {
    Some(Signing::new(7).with(fault))
}

fn nsec3(opt_out: bool) -> Option<Signing> {
    with(|signing| signing.denial = Denial::Nsec3 { iterations: 0, salt: vec![], opt_out })
}

/// The root, signed, and `example.` with `www` as `signing` says.
fn example(signing: Option<Signing>) -> World {
    World::new(&[(".", "", signed()), ("example.", WWW, signing)])
}

#[test]
fn insecure_delegations() {
    for root in [signed(), nsec3(false)] {
        let world = World::new(&[(".", "", root), ("example.", WWW, None)]);
        let mut cache = Cache::default();
        cache.cuts = [name("example.")].into();
        let reply = world.ask("www.example.", rtype::A);
        world
            .validate_with(&reply, &mut cache)
            .insecure(Insecurity::NoDs)
            .fetches(&[". DNSKEY", "example. DS"]);
        let below = world.ask("no.such.name.example.", rtype::A);
        world.validate_with(&below, &mut cache).insecure(Insecurity::NoDs).fetches(&[]);
        // The DS of the delegation itself is denied by the parent, which is signed.
        world.resolve("example.", rtype::DS).secure();
    }
    let world = World::new(&[(".", "", nsec3(true)), ("example.", WWW, None)]);
    world.resolve("www.example.", rtype::A).insecure(Insecurity::OptOut);
    world.resolve("example.", rtype::DS).insecure(Insecurity::OptOut);
}

/// Signed zones below one that is not: nothing leads there.
#[test]
fn islands_are_insecure() {
    let zones = [(".", "", signed()), ("example.", "", None), ("island.example.", WWW, signed())];
    let world = World::new(&zones);
    world.resolve("www.island.example.", rtype::A).insecure(Insecurity::NoDs);
    let mut anchored = World::new(&zones);
    for ds in Signing::new(7).ds(&name("island.example.")) {
        anchored.anchors.add_ds(&name("island.example."), &ds);
    }
    anchored.resolve("www.island.example.", rtype::A).secure().fetches(&["island.example. DNSKEY"]);
    anchored.resolve("www.example.", rtype::A).insecure(Insecurity::NoDs);
}

/// Parent and child on one server: nobody has seen a delegation to the zone between.
#[test]
fn invisible_cuts() {
    for denial in [signed(), nsec3(false)] {
        let world = World::new(&[
            (".", "", signed()),
            ("uk.", "", denial.clone()),
            ("co.uk.", "", denial.clone()),
            ("example.co.uk.", WWW, signed()),
            ("plain.co.uk.", WWW, None),
        ]);
        for is_seen in [false, true] {
            let mut cache = Cache::default();
            if is_seen {
                cache.cuts = [name("uk."), name("example.co.uk."), name("plain.co.uk.")].into();
            }
            world.validate_with(&world.ask("www.example.co.uk.", rtype::A), &mut cache).secure();
            let plain = world.validate_with(&world.ask("www.plain.co.uk.", rtype::A), &mut cache);
            plain.insecure(Insecurity::NoDs);
        }
        let plain = world.resolve("www.plain.co.uk.", rtype::A);
        plain.insecure(Insecurity::NoDs);
    }
}

/// Labels between the cuts that are no zone: empty non-terminals, hosts, aliases.
#[test]
fn ds_at_names_that_are_no_cut() {
    let parent = "host.b 300 A 192.0.2.1\nalias.b 300 CNAME www\n";
    for parent_signing in [signed(), nsec3(false)] {
        let world = World::new(&[
            (".", "", signed()),
            ("example.", parent, parent_signing.clone()),
            ("signed.a.b.example.", WWW, signed()),
            ("plain.a.b.example.", WWW, None),
        ]);
        world.resolve("www.signed.a.b.example.", rtype::A).secure();
        world.resolve("www.plain.a.b.example.", rtype::A).insecure(Insecurity::NoDs);
        for owner in ["host.b.example.", "alias.b.example."] {
            let mut reply = world.ask(owner, rtype::ANY);
            reply.answer.retain(|set| matches!(set.rtype, rtype::A | rtype::CNAME));
            reply.answer[0].signatures.clear();
            let qtype = reply.answer[0].rtype;
            let place = format!("{owner} {}", rtype::Text(qtype));
            world.validate(&reply).bogus(Fault::SignatureMissing, &place);
        }
        let mut reply = world.ask("host.b.example.", rtype::A);
        reply.answer[0].owner = name("no.such.host.b.example.");
        reply.qname = name("no.such.host.b.example.");
        reply.answer[0].signatures.clear();
        world.validate(&reply).bogus(Fault::SignatureMissing, "no.such.host.b.example. A");
    }
}

/// RFC 4035 5.2, RFC 6840 5.2 and 5.11: any DS that can be used suffices, none that can is insecure.
#[test]
fn several_ds() {
    use sim::FaultKind::StrangeDs;
    let strange = |tag, algorithm| with_fault(StrangeDs(tag, algorithm).everywhere());
    example(strange(1, algorithm::ED25519)).resolve("www.example.", rtype::A).secure();
    example(strange(1, algorithm::ED448)).resolve("www.example.", rtype::A).secure();
    example(strange(1, 200)).resolve("www.example.", rtype::A).secure();
    let digests = |ds_digests: &[u8]| with(|signing| signing.ds_digests = ds_digests.to_vec());
    example(digests(&[9])).resolve("www.example.", rtype::A).insecure(Insecurity::UnsupportedDigest);
    example(digests(&[9, 4])).resolve("www.example.", rtype::A).secure();
    let wrong = with_fault(FaultKind::WrongDigest.everywhere());
    example(wrong).resolve("www.example.", rtype::A).bogus(Fault::NoMatchingKey, "example. DNSKEY");
    example(with(|signing| signing.has_standby = true)).resolve("www.example.", rtype::A).secure();
    example(with(|signing| signing.has_single_key = true)).resolve("www.example.", rtype::A).secure();
    let two = [algorithm::RSASHA256, algorithm::ECDSAP256SHA256];
    example(with(|signing| signing.algorithms = two.to_vec())).resolve("www.example.", rtype::A).secure();
}

/// RFC 4509 3: a DS with SHA-1 is not used beside one with SHA-256, even where that one is wrong.
#[test]
fn sha1_digests_are_left_out_beside_stronger_ones() {
    let mut world = example(with(|signing| signing.ds_digests = vec![1, 2]));
    let mut reply = world.ask("example.", rtype::DS);
    let set = reply.answer(rtype::DS);
    assert_eq!(set.rdatas.list().count(), 2);
    let mut wrong: Vec<Vec<u8>> = set.rdatas.list().iter().map(<[u8]>::to_vec).collect();
    wrong.iter_mut().filter(|ds| ds[3] == 2).for_each(|ds| ds[10] ^= 1);
    set.rdatas = wrong.iter().map(Vec::as_slice).collect();
    let rdatas: Vec<&[u8]> = wrong.iter().map(Vec::as_slice).collect();
    let root = name(".");
    let signatures =
        sim::signer::sign_set(&root, &Signing::new(7), &name("example."), rtype::DS, 300, &rdatas);
    set.signatures = signatures.iter().map(Vec::as_slice).collect();
    world.instead.insert((name("example."), rtype::DS), Some(reply));
    world.resolve("www.example.", rtype::A).bogus(Fault::NoMatchingKey, "example. DNSKEY");
}

/// RFC 9905 2: off by default, and then zones with nothing else are insecure.
#[test]
fn rsa_with_sha1() {
    let mut world = example(signed());
    let ds = |algorithm| [&[1, 2, algorithm, 2][..], &[7; 32]].concat();
    let list = |all: &[Vec<u8>]| all.iter().map(Vec::as_slice).collect::<wire::rrset::RdataListBuf>();
    for algorithms in [&[algorithm::RSASHA1][..], &[algorithm::RSASHA1NSEC3SHA1, algorithm::ED448]] {
        let all: Vec<_> = algorithms.iter().map(|&number| ds(number)).collect();
        let mut reply = world.ask("example.", rtype::DS);
        let rdatas: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
        let signing = Signing::new(7);
        let signatures =
            sim::signer::sign_set(&name("."), &signing, &name("example."), rtype::DS, 300, &rdatas);
        reply.answer(rtype::DS).rdatas = list(&all);
        reply.answer(rtype::DS).signatures = list(&signatures);
        world.instead.insert((name("example."), rtype::DS), Some(reply));
        world.policy = Policy::default();
        let outcome = world.resolve("www.example.", rtype::A);
        outcome.insecure(Insecurity::UnsupportedAlgorithm).fetches(&[". DNSKEY", "example. DS"]);
        world.policy.sha1_signatures = true;
        world.resolve("www.example.", rtype::A).bogus(Fault::NoMatchingKey, "example. DNSKEY");
    }
}

/// RFC 5011 2.1: a revoked key neither is pointed at nor signs.
#[test]
fn revoked_keys() {
    example(with(|signing| signing.has_revoked = true)).resolve("www.example.", rtype::A).secure();
    let by_revoked = with(|signing| {
        signing.has_revoked = true;
        signing.faults.push(FaultKind::ByRevoked.at(&name("www.example."), rtype::A));
    });
    example(by_revoked).resolve("www.example.", rtype::A).bogus(Fault::KeyMissing, "www.example. A");
    let keys_by_revoked = with(|signing| {
        signing.has_revoked = true;
        signing.faults.push(FaultKind::ByRevoked.at_type(rtype::DNSKEY));
    });
    let outcome = example(keys_by_revoked).resolve("www.example.", rtype::A);
    assert_eq!(outcome.verdict.security, Security::Bogus);
    // DS that point at it.
    let signing = Signing { has_revoked: true, ..Signing::new(7) };
    let revoked =
        signing.keys(&name("example.")).into_iter().find(|key| key.role == sim::signer::Role::Revoked);
    let ds = sim::signer::ds_of(&name("example."), &revoked.unwrap().dnskey, 2);
    let mut world = World::new(&[("example.", WWW, Some(signing))]);
    world.anchors = validate::Anchors::new();
    world.anchors.add_ds(&name("example."), &ds);
    world.resolve("www.example.", rtype::A).bogus(Fault::KeyRevoked, "example. DNSKEY");
}

#[test]
fn anchors_of_keys_and_of_ds() {
    let mut world = World::new(&[(".", "www 300 A 192.0.2.1\n", signed())]);
    let keys = Signing::new(7).keys(&name("."));
    let ksk = keys.iter().find(|key| key.role == sim::signer::Role::Ksk).unwrap();
    world.anchors.set(&name("."), [], [&ksk.dnskey[..]]);
    world.resolve("www.", rtype::A).secure();
    let other = Signing::new(8).keys(&name("."));
    world.anchors.set(&name("."), [], [&other[0].dnskey[..]]);
    world.resolve("www.", rtype::A).bogus(Fault::NoMatchingKey, ". DNSKEY");
    world.anchors.set(&name("."), [], [&other[0].dnskey[..], &ksk.dnskey]);
    world.resolve("www.", rtype::A).secure();
    // An anchor that cannot be used does not make up for one that can, and matches nothing.
    world.anchors.set(&name("."), [&[1, 2, 200, 2, 3][..]], [&other[0].dnskey[..]]);
    world.resolve("www.", rtype::A).bogus(Fault::NoMatchingKey, ". DNSKEY");
    world.anchors = validate::Anchors::new();
    let outcome = world.resolve("www.", rtype::A);
    assert_eq!(outcome.verdict.security, Security::Indeterminate);
    assert_eq!(outcome.verdict.reason, Some(validate::Reason::NoAnchor));
    world.anchors.add_ds(&name("."), &[1, 2, 200, 2, 3]);
    world.resolve("www.", rtype::A).insecure(Insecurity::UnsupportedAlgorithm);
}

#[test]
fn negative_anchors_and_insecure_points() {
    let mut world = example(with_fault(FaultKind::Expired.everywhere()));
    world.resolve("www.example.", rtype::A).bogus(Fault::Expired, "example. DNSKEY");
    world.anchors.set_negative(&name("example."), Some(NOW + 1));
    world.resolve("www.example.", rtype::A).insecure(Insecurity::NegativeAnchor).fetches(&[]);
    world.resolve("nothing.example.", rtype::A).insecure(Insecurity::NegativeAnchor).fetches(&[]);
    world.resolve("example.", rtype::DS).secure();
    world.now += 1;
    world.resolve("www.example.", rtype::A).bogus(Fault::Expired, "example. DNSKEY");
    world.anchors.add_insecure(&name("example."));
    world.resolve("www.example.", rtype::A).insecure(Insecurity::InsecurePoint).fetches(&[]);
}

/// A zone whose DS or keys cannot be had is bogus, and who fetches remembers that.
#[test]
fn what_cannot_be_fetched() {
    for rtype in [rtype::DS, rtype::DNSKEY] {
        let mut world = example(signed());
        world.instead.insert((name("example."), rtype), None);
        let mut cache = Cache::default();
        let reply = world.ask("www.example.", wire::iana::rtype::A);
        let outcome = world.validate_with(&reply, &mut cache);
        outcome.bogus(Fault::Unreachable, &format!("example. {}", wire::iana::rtype::Text(rtype)));
        assert!(cache.kept("example.").is_none());
    }
}

/// That a zone is bogus is for the caller to keep, who knows whether a server is left.
#[test]
fn bogus_zones() {
    let world = example(with_fault(FaultKind::WrongDigest.everywhere()));
    let mut cache = Cache::default();
    let reply = world.ask("www.example.", rtype::A);
    world.validate_with(&reply, &mut cache).bogus(Fault::NoMatchingKey, "example. DNSKEY");
    assert!(cache.kept("example.").is_none());
    cache.give_up("example.", rtype::DNSKEY, Fault::NoMatchingKey, NOW + 60);
    cache.forget_fetched();
    let outcome = world.validate_with(&reply, &mut cache);
    outcome.bogus(Fault::NoMatchingKey, "example. DNSKEY").fetches(&[]);
    assert_eq!(outcome.work().signatures, 0);
}

/// The parent's side of a cut answers for DS alone.
#[test]
fn ds_is_signed_by_the_parent() {
    let world = example(signed());
    // The child denies its own DS, with SOA.
    let denial = world.ask_at("example.", "example.", rtype::DS);
    assert_eq!(world.validate(&denial).verdict.security, Security::Bogus);
    let mut world = example(signed());
    world.instead.insert((name("example."), rtype::DS), Some(denial));
    let outcome = world.resolve("www.example.", rtype::A);
    outcome.bogus(Fault::DenialMissing, "example. DS");
    // A DS RRset signed by the child itself.
    let mut world = example(signed());
    let mut reply = world.ask("example.", rtype::DS);
    let rdatas: Vec<Vec<u8>> = reply.answer(rtype::DS).rdatas.list().iter().map(<[u8]>::to_vec).collect();
    let rdatas: Vec<&[u8]> = rdatas.iter().map(Vec::as_slice).collect();
    let child = name("example.");
    let signatures = sim::signer::sign_set(&child, &Signing::new(7), &child, rtype::DS, 300, &rdatas);
    reply.answer(rtype::DS).signatures = signatures.iter().map(Vec::as_slice).collect();
    assert_eq!(world.validate(&reply).verdict.security, Security::Bogus);
    world.instead.insert((name("example."), rtype::DS), Some(reply));
    world.resolve("www.example.", rtype::A).bogus(Fault::SignatureMissing, "example. DS");
}

/// A whole zone that is not delegated, on servers that answer for it.
#[test]
fn zones_that_nobody_delegates() {
    let mut world = example(signed());
    let records = Records::from_text("sub.example.", &format!("{}{WWW}", kit::HEAD)).unwrap();
    world.add(&sim::signer::sign(&records, &Signing::new(7)).unwrap());
    let outcome = world.resolve("www.sub.example.", rtype::A);
    outcome.bogus(Fault::WrongSigner, "www.sub.example. A");
    let mut world = example(signed());
    world.add(&records);
    world.resolve("www.sub.example.", rtype::A).bogus(Fault::SignatureMissing, "www.sub.example. A");
}

/// DS records that point at a key whose size is not verified: insecure. A key that no DS points at proves nothing, whatever its size: else one such
/// key in a forged answer would switch validation off.
#[test]
fn short_keys() {
    let short = [&[1, 1, 3, algorithm::RSASHA256][..], &[1, 3], &[0xc1; 64]].concat();
    let child = name("example.");
    let mut world = example(signed());
    let mut forged = world.ask("example.", rtype::DNSKEY);
    forged.answer(rtype::DNSKEY).rdatas = [&short[..]].into_iter().collect();
    world.instead.insert((child.clone(), rtype::DNSKEY), Some(forged.clone()));
    world.resolve("www.example.", rtype::A).bogus(Fault::NoMatchingKey, "example. DNSKEY");
    // Now the parent points at it.
    let ds = sim::signer::ds_of(&child, &short, 2);
    let root = name(".");
    let sign =
        |rdatas: &[&[u8]]| sim::signer::sign_set(&root, &Signing::new(7), &child, rtype::DS, 300, rdatas);
    let mut reply = world.ask("example.", rtype::DS);
    let genuine: Vec<u8> = reply.answer(rtype::DS).rdatas.list().iter().next().unwrap().to_vec();
    let mut point = |rdatas: &[&[u8]]| {
        reply.answer(rtype::DS).rdatas = rdatas.iter().copied().collect();
        reply.answer(rtype::DS).signatures = sign(rdatas).iter().map(Vec::as_slice).collect();
        Some(reply.clone())
    };
    world.instead.insert((child.clone(), rtype::DS), point(&[&ds]));
    world.resolve("www.example.", rtype::A).insecure(Insecurity::UnsupportedKeySize);
    world.instead.insert((child.clone(), rtype::DS), point(&[&ds, &genuine]));
    let mut both = world.ask("example.", rtype::DNSKEY);
    both.answer(rtype::DNSKEY).rdatas.push(&short);
    world.instead.insert((child.clone(), rtype::DNSKEY), Some(both));
    world.resolve("www.example.", rtype::A).bogus(Fault::BadSignature, "example. DNSKEY");
}

/// What was signed is remembered, so that it is verified once; what was not is not.
#[test]
fn signatures_are_verified_once() {
    let mut world = example(signed());
    world.verifier = Verifier::new(64).into();
    let first = world.resolve("nothing.example.", rtype::A);
    assert_eq!((first.secure().work().signatures, first.work().known), (5, 0), "one NSEC denies both");
    let second = world.resolve("nowhere.example.", rtype::A);
    assert_eq!((second.secure().work().signatures, second.work().known), (0, 5));
    let mut forged = world.ask("www.example.", rtype::A);
    world.validate(&forged).secure();
    forged.answer(rtype::A).rdatas = [&[192, 0, 2, 99][..]].into_iter().collect();
    for _ in 0..2 {
        let outcome = world.validate(&forged);
        outcome.bogus(Fault::BadSignature, "www.example. A");
        assert_eq!((outcome.work().signatures, outcome.work().failures), (1, 1));
    }
    world.now = u64::from(Signing::new(0).expiration) + 1;
    world.resolve("www.example.", rtype::A).bogus(Fault::Expired, ". DNSKEY");
}

/// RFC 4035 5.3.1: the zone that contains the RRset signs it. A signature of the parent, from before the zone was delegated, is replayed.
#[test]
fn parents_signatures_over_what_they_have_delegated() {
    let before = Records::from_text("example.", &format!("{}www.sub 300 A 192.0.2.66\n", kit::HEAD)).unwrap();
    let before = sim::signer::sign(&before, &Signing::new(7)).unwrap();
    let zones = [(".", "", signed()), ("example.", "", signed()), ("sub.example.", WWW, signed())];
    let now = World::new(&zones);
    let mut then = World::new(&[(".", "", signed())]);
    then.add(&before);
    let replayed = then.ask("www.sub.example.", rtype::A);
    let refused = |outcome: kit::Outcome| {
        outcome.bogus(Fault::WrongSigner, "www.sub.example. A");
    };
    // The cut was heard of.
    let mut cache = Cache::default();
    cache.cuts = [name("example."), name("sub.example.")].into();
    refused(now.validate_with(&replayed, &mut cache));
    // The zone is known.
    let mut cache = Cache::default();
    now.validate_with(&now.ask("www.sub.example.", rtype::A), &mut cache).secure();
    refused(now.validate_with(&replayed, &mut cache));
    // It was delegated without DS.
    let plain = World::new(&[zones[0].clone(), zones[1].clone(), ("sub.example.", WWW, None)]);
    let mut cache = Cache::default();
    cache.cuts = [name("sub.example.")].into();
    plain.validate_with(&replayed, &mut cache).insecure(Insecurity::NoDs);
}

#[test]
fn sentences() {
    let world = World::new(&[(".", "", signed()), ("example.", WWW, signed()), ("plain.", WWW, None)]);
    let outcome = world.resolve("www.example.", rtype::A);
    let [root, ds, keys, www] = &outcome.trail[..] else { panic!("{:#?}", outcome.trail) };
    assert!(root.starts_with(". DNSKEY: signed by . with key ") && root.ends_with(" (ED25519)"));
    assert!(ds.starts_with("example. DS: signed by . with key "));
    assert!(keys.starts_with("example. DNSKEY: signed by example. with key "));
    assert!(www.starts_with("www.example. A: signed by example. with key "));
    let outcome = world.resolve("www.plain.", rtype::A);
    assert_eq!(outcome.trail[1], "plain. DS: insecure: the parent proves that the zone is not signed");
    let outcome = world.resolve("nothing.example.", rtype::A);
    assert_eq!(outcome.trail.last().unwrap(), "nothing.example. A: proved not to exist");
}
