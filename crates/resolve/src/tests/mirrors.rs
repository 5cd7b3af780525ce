//! Mirrors: copies of zones of others in this process, whose word is worth as much as that of the zones' servers (RFC 8806).

use cache::Security;
use wire::iana::{rcode, rtype};

use super::example::{ROOT, check_www, scene};
use super::explain::{AS_IT_IS, root, world};
use super::scripted::{Scene, Zone, lines};

#[test]
fn a_local_root() {
    let mut scene = scene(AS_IT_IS);
    scene.net.mirror = Some(Zone::from_text(".", ROOT));
    check_www(&mut scene);
    assert_eq!(scene.seen(1), 0);
    // What it refers to is a cut as others are, with those below it.
    let asked = scene.seen(2);
    assert_eq!(lines(&scene.resolve("txt.example.test.", rtype::TXT)), ["txt.example.test. TXT "]);
    assert_eq!((scene.seen(1), scene.seen(2)), (0, asked));
    // What it denies is kept, with or without it.
    assert_eq!(scene.resolve("none.", rtype::A).rcode, rcode::NXDOMAIN);
    scene.net.mirror = None;
    assert_eq!(scene.resolve("none.", rtype::A).rcode, rcode::NXDOMAIN);
    assert_eq!(scene.seen(1), 0);
    // Nothing else goes on without it, but by the servers.
    assert_eq!(scene.resolve("other.", rtype::A).rcode, rcode::NXDOMAIN);
    assert!(scene.seen(1) > 0);
}

/// Asks for an address below a signed root; whether servers of the root were asked, beside for where they are.
#[track_caller]
fn check(scene: &mut Scene, text: &str, kind: u16, asks_servers: bool) {
    let outcome = scene.resolve(text, kind);
    assert_eq!((outcome.rcode, outcome.security), (0, Some(Security::Secure)), "{outcome:?}");
    let seen = scene
        .server(1)
        .seen
        .iter()
        .filter(|question| question.rtype != rtype::NS || !question.name.is_root());
    assert_eq!(seen.count() > 0, asks_servers, "{:?}", scene.server(1).seen);
}

#[test]
fn what_they_say_is_validated() {
    let mut scene = world(AS_IT_IS, AS_IT_IS);
    scene.net.mirror = Some(root());
    check(&mut scene, "www.good.test.", rtype::A, false);
    check(&mut scene, "test.", rtype::DS, false);
    check(&mut scene, ".", rtype::DNSKEY, false);
    assert_eq!(scene.resolve("www.plain.test.", rtype::A).security, Some(Security::Insecure));
}

/// What somebody has changed in a mirror is asked of servers.
#[test]
fn forged_mirrors_are_passed_by() {
    let mirrored = |owner: &str, kind: u16| {
        let mut scene = world(AS_IT_IS, AS_IT_IS);
        scene.net.mirror = Some(root().forged(owner, kind));
        scene
    };
    check(&mut mirrored("test.", rtype::DS), "test.", rtype::DS, true);
    check(&mut mirrored("test.", rtype::DS), "www.good.test.", rtype::A, true);
    check(&mut mirrored(".", rtype::DNSKEY), "www.good.test.", rtype::A, true);
    check(&mut mirrored(".", rtype::SOA), ".", rtype::SOA, true);
}

/// What it does not have is denied, as by one of its zone's servers.
#[test]
fn a_mirror_below() {
    let mut scene = scene(AS_IT_IS);
    scene.net.mirror = Some(Zone::from_text("example.test.", "example.test. 60 A 203.0.113.9"));
    assert_eq!(scene.resolve("www.example.test.", rtype::A).rcode, rcode::NXDOMAIN);
    assert_eq!((scene.seen(1), scene.seen(2), scene.seen(3)), (0, 0, 0));
}
