//! Responses that wait to be validated: what they hold is counted, and bounded.

use super::scripted::Scene;
use crate::limits::PROVING_OCTETS_MAX;
use crate::proving::facts::{Answered, Fact};
use wire::iana::{rcode, rtype};
use wire::rrset::{RdataListBuf, RrsetListBuf};
use wire::{Name, NameBuf, RdataList, Rrset};

/// A root that is not signed, though an anchor says that it is: what breaks the chain is fetched anew, while the response waits.
fn scene() -> Scene {
    Scene::with("www. 60 A 203.0.113.1", |settings| settings.is_validating = true)
}

#[test]
fn counted_while_they_wait() {
    let mut scene = scene();
    let waiter = scene.ask("www.", rtype::A).unwrap();
    let until = scene.net.now + 10_000;
    let (mut most, mut proofs) = (0, 0);
    while scene.step(until) {
        most = scene.resolver.proving_octets.max(most);
        // Of the one whose chain is fetched anew, too.
        let waits = scene.resolver.mesh.iter().filter(|(_, task)| task.proof.is_some()).count();
        assert_eq!(scene.resolver.proving_octets > 0, waits > 0);
        proofs = waits.max(proofs);
    }
    assert!(most >= 60 && proofs > 0, "{most} octets, {proofs} proofs");
    assert_eq!(scene.outcome(waiter).rcode, rcode::SERVFAIL);
    assert_eq!(scene.resolver.proving_octets, 0);
    scene.check_nothing_held();
}

/// What was fetched for a proof counts with it, whatever it is.
#[test]
fn with_what_was_fetched() {
    let mut scene = scene();
    let waiter = scene.ask("www.", rtype::A).unwrap();
    let until = scene.net.now + 10_000;
    let (mut most, mut fetched) = (0, 0);
    while scene.step(until) {
        let proofs = |task: &crate::task::Task| task.proof.as_ref().map_or(0, |proof| proof.octets);
        let counted: usize = scene.resolver.mesh.iter().map(|(_, task)| proofs(task)).sum();
        assert_eq!(scene.resolver.proving_octets, counted);
        most = counted.max(most);
        let waits = scene.resolver.mesh.iter().find(|(_, task)| task.proof.is_some()).map(|(id, _)| id);
        if let Some(proof) = waits.and_then(|id| scene.resolver.mesh.get_mut(id)?.proof.as_mut())
            && fetched == 0
        {
            fetched = 5_000;
            proof.facts.push(long_fact(fetched));
        }
    }
    assert!(fetched == 5_000 && most > 5_000, "{most}");
    assert_eq!(scene.outcome(waiter).rcode, rcode::SERVFAIL);
    assert_eq!(scene.resolver.proving_octets, 0);
    scene.check_nothing_held();
}

/// One that has nothing to do with the proof.
fn long_fact(octets: usize) -> Fact {
    let rdatas: RdataListBuf = [&vec![0; octets][..]].into_iter().collect();
    let set = Rrset {
        owner: Name::root(),
        rtype: rtype::NULL,
        ttl: 0,
        rdatas: rdatas.list(),
        signatures: RdataList::EMPTY,
    };
    let found = Answered { rcode: 0, answer: [set].into_iter().collect(), authority: RrsetListBuf::new() };
    Fact { name: NameBuf::root(), rtype: rtype::NULL, found: Some(found), from: None }
}

#[test]
fn too_many_are_no_fact() {
    let mut scene = scene();
    scene.resolver.proving_octets = PROVING_OCTETS_MAX;
    let outcome = scene.resolve("www.", rtype::A);
    assert_eq!((outcome.rcode, outcome.is_fact), (rcode::SERVFAIL, false));
    assert_eq!(scene.resolver.proving_octets, PROVING_OCTETS_MAX);
    scene.check_nothing_held();
}
