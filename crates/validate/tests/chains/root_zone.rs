//! The signed root zone that ships with the project, from the anchors that are built in, at a time when it was current.
use crate::kit;
use std::collections::BTreeSet;

use crate::kit::{Cache, World};
use validate::{Ending, Fault, Insecurity, Verifier};
use wire::Name;
use wire::iana::rtype;

/// 2026-08-02 00:00 UTC: signatures of this zone run from 2026-07-31 to 2026-08-13.
const NOW: u64 = 1_785_628_800;

fn text() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/root.zone")).unwrap()
}

/// Every tenth signed RRset, and denials around it: the type that is not there, names beside and below it.
#[test]
fn answers_and_denials() {
    let text = text();
    let mut world = World::of_text(".", &text, NOW);
    world.verifier = Verifier::default().into();
    let mut cache = Cache::default();
    let records = zonefile::records(&text, Name::root()).unwrap();
    let signed: BTreeSet<(String, u16)> = records
        .iter()
        .filter(|record| record.rtype == rtype::RRSIG)
        .map(|record| (record.owner.to_string(), u16::from_be_bytes([record.rdata[0], record.rdata[1]])))
        .collect();
    assert_eq!(signed.len(), 2_792);
    let delegated: BTreeSet<&str> =
        signed.iter().filter(|(owner, _)| owner != ".").map(|(owner, _)| owner.as_str()).collect();
    // The root's NSEC records at its delegations are in referrals and denials only.
    for (owner, qtype) in
        signed.iter().filter(|(owner, qtype)| owner == "." || *qtype == rtype::DS).step_by(5)
    {
        let outcome = world.validate_with(&world.ask(owner, *qtype), &mut cache);
        assert_eq!(outcome.secure().verdict.ending, Ending::Answer, "{owner} {qtype}");
    }
    for (at, owner) in delegated.iter().enumerate().step_by(10) {
        let beside = format!("{}-{at}.", owner.trim_end_matches('.'));
        for qname in [beside.clone(), format!("www.{beside}"), format!("{at}.{at}.{at}-none.")] {
            let outcome = world.validate_with(&world.ask(&qname, rtype::A), &mut cache);
            assert_eq!(outcome.secure().verdict.ending, Ending::NameError, "{qname}");
        }
        if !signed.contains(&((*owner).to_owned(), rtype::DS)) {
            let outcome = world.validate_with(&world.ask(owner, rtype::DS), &mut cache);
            assert_eq!(outcome.secure().verdict.ending, Ending::NoData, "{owner}");
        }
    }
    for qtype in [rtype::A, rtype::MX, rtype::TXT] {
        let outcome = world.validate_with(&world.ask(".", qtype), &mut cache);
        assert_eq!(outcome.secure().verdict.ending, Ending::NoData);
    }
}

/// Delegations as their referrals show them: with DS the child's keys are needed, without it is insecure.
#[test]
fn delegations() {
    let world = World::of_text(".", &text(), NOW);
    let mut cache = Cache::default();
    let mut answer = world.ask(".", rtype::NS);
    let unsigned = &mut answer.answer[0];
    unsigned.signatures.clear();
    for (owner, is_signed) in [("www.com.", true), ("www.org.", true), ("www.ae.", false)] {
        let mut reply = answer.clone();
        reply.qname = kit::name(owner);
        reply.qtype = rtype::NS;
        reply.answer[0].owner = kit::name(owner);
        let outcome = world.validate_with(&reply, &mut cache);
        let tld = owner.strip_prefix("www.").unwrap();
        match is_signed {
            // The child is not in this world: its keys are what is missing.
            true => outcome.bogus(Fault::NoMatchingKey, &format!("{tld} DNSKEY")),
            false => outcome.insecure(Insecurity::NoDs),
        };
    }
}

#[test]
fn other_times() {
    let text = text();
    for (now, fault) in [(NOW - 30 * 86_400, Fault::NotYetValid), (NOW + 30 * 86_400, Fault::Expired)] {
        let world = World::of_text(".", &text, now);
        world.resolve("com.", rtype::DS).bogus(fault, ". DNSKEY");
    }
}
