//! Responses that wait to be validated: what they hold is counted, and bounded.

use super::scripted::Scene;
use crate::limits::PROVING_OCTETS_MAX;
use wire::iana::{rcode, rtype};

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

#[test]
fn too_many_are_no_fact() {
    let mut scene = scene();
    scene.resolver.proving_octets = PROVING_OCTETS_MAX;
    let outcome = scene.resolve("www.", rtype::A);
    assert_eq!((outcome.rcode, outcome.is_fact), (rcode::SERVFAIL, false));
    assert_eq!(scene.resolver.proving_octets, PROVING_OCTETS_MAX);
    scene.check_nothing_held();
}
