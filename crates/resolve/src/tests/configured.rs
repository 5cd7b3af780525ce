//! Forwarders, stubs, and zones of this process.

use super::example::{EXAMPLE, ROOT, TEST, WWW, check_www, scene};
use super::scripted::{Record, Response, Scene, Zone, address, lines, name};
use crate::settings::{Configured, ConfiguredKind, Endpoint, Protection};
use wire::iana::{rcode, rtype};

fn forward(name_of: &str, kind: ConfiguredKind, servers: &[u16]) -> Configured {
    let security = Protection::Plain;
    let servers = servers.iter().map(|n| Endpoint { address: address(*n), security: security.clone() });
    Configured { name: name(name_of), kind, servers: servers.collect() }
}

#[test]
fn forwarders_with_failover() {
    let only = ConfiguredKind::Forward { is_first: false };
    let mut scene =
        Scene::with(ROOT, |settings| settings.zones.push(forward("example.test.", only, &[5, 6])));
    scene.serve_so(5, &[("example.test.", EXAMPLE)], |_, _| None);
    scene.serve(6, &[("example.test.", EXAMPLE)]);
    check_www(&mut scene);
    assert_eq!(scene.seen(1), 0, "nobody else is asked");
    let question = scene.server(6).seen[0].clone();
    assert_eq!((question.flags & 0x0100, question.name.to_lowercase()), (0x0100, name("www.example.test.")));
    scene.check_nothing_held();
}

/// Of two forwarders one is silent: that costs a few questions 0.6 s, and is known then.
#[test]
fn a_silent_forwarder_is_known() {
    let only = ConfiguredKind::Forward { is_first: false };
    let mut scene = Scene::with(ROOT, |settings| settings.zones.push(forward(".", only, &[5, 6])));
    scene.serve_so(5, &[], |_, _| None);
    scene.serve(6, &[("example.test.", EXAMPLE)]);
    let mut took = Vec::new();
    for number in 0..40 {
        let began = scene.net.now;
        let outcome = scene.resolve(&format!("n{number}.example.test."), rtype::A);
        assert_eq!(outcome.rcode, rcode::NXDOMAIN);
        took.push(scene.net.now - began);
    }
    assert!(took.iter().all(|took| *took < 800), "{took:?}");
    // Besides it is tried by chance, seldom.
    assert!(took.iter().filter(|took| **took > 500).count() <= 4, "{took:?}");
    scene.check_nothing_held();
}

#[test]
fn forward_first() {
    let first = ConfiguredKind::Forward { is_first: true };
    let mut scene = Scene::with(ROOT, |settings| settings.zones.push(forward("example.test.", first, &[5])));
    scene.serve_so(5, &[], |_, _| Some(Response::rcode(rcode::SERVFAIL)));
    scene.serve(2, &[("test.", TEST)]);
    scene.serve(3, &[("example.test.", EXAMPLE)]);
    check_www(&mut scene);
    assert_eq!((scene.seen(5), scene.seen(3)), (1, 1));
}

/// Forwarders that are silent are waited for less than clients wait, then the servers are asked; and they are passed over for a while.
#[test]
fn forward_first_and_silence() {
    for forwarders in [&[5][..], &[5, 6]] {
        let first = ConfiguredKind::Forward { is_first: true };
        let mut scene = Scene::with(ROOT, |settings| settings.zones.push(forward(".", first, forwarders)));
        forwarders.iter().for_each(|&number| scene.serve_so(number, &[], |_, _| None));
        scene.serve(2, &[("test.", TEST)]);
        scene.serve(3, &[("example.test.", EXAMPLE)]);
        let began = scene.net.now;
        check_www(&mut scene);
        let took = scene.net.now - began;
        assert!((900..1_500).contains(&took), "{took} ms");
        let seen = |scene: &Scene| forwarders.iter().map(|&number| scene.seen(number)).sum::<usize>();
        assert_eq!(seen(&scene), 2);
        let began = scene.net.now;
        scene.resolve("txt.example.test.", rtype::TXT);
        assert!(scene.net.now - began < 500);
        assert_eq!(seen(&scene), 2, "not asked again so soon");
        scene.pass(5_000);
        scene.resolve("other.example.test.", rtype::A);
        assert_eq!(seen(&scene), 4);
        scene.check_nothing_held();
    }
}

/// An alias out of a forwarded name is asked elsewhere, whatever the forwarder says of its target.
#[test]
fn forwarders_count_below_their_name_only() {
    let only = ConfiguredKind::Forward { is_first: false };
    let mut scene = Scene::with(ROOT, |settings| settings.zones.push(forward("inside.", only, &[5])));
    scene.serve_so(5, &[("inside.", "a.inside. 60 CNAME www.example.test.")], |_, mut response| {
        response.sections[0].push(Record::from_text("www.example.test. 60 A 6.6.6.6"));
        Some(response)
    });
    scene.serve(2, &[("test.", TEST)]);
    scene.serve(3, &[("example.test.", EXAMPLE)]);
    assert_eq!(lines(&scene.resolve("a.inside.", rtype::A)), ["a.inside. CNAME www.example.test.", WWW]);
}

/// A denial of a name above a forwarded one says nothing about it.
#[test]
fn denied_above_and_forwarded_below() {
    let only = ConfiguredKind::Forward { is_first: false };
    let mut scene = Scene::with(ROOT, |settings| settings.zones.push(forward("corp.internal.", only, &[5])));
    scene.serve(5, &[("corp.internal.", "www.corp.internal. 60 A 10.0.0.1")]);
    assert_eq!(scene.resolve("foo.internal.", rtype::A).rcode, rcode::NXDOMAIN);
    assert_eq!(lines(&scene.resolve("www.corp.internal.", rtype::A)), ["www.corp.internal. A 10.0.0.1"]);
}

#[test]
fn over_tls() {
    let only = ConfiguredKind::Forward { is_first: false };
    let mut scene = Scene::with(ROOT, |settings| {
        let mut zone = forward(".", only, &[5]);
        zone.servers[0].security = Protection::Named("dns.example.".to_owned());
        settings.zones.push(zone);
    });
    scene.serve(5, &[("example.test.", EXAMPLE)]);
    check_www(&mut scene);
    scene.resolve("txt.example.test.", rtype::TXT);
    assert_eq!((scene.net.sent, scene.net.connected, scene.net.tls.len()), (0, 1, 1));
    assert!(scene.net.tls[0].contains("dns.example."));
    scene.check_nothing_held();
}

#[test]
fn stubs() {
    let mut scene = Scene::with(ROOT, |settings| {
        settings.zones.push(forward("example.test.", ConfiguredKind::Stub, &[5]));
    });
    scene.serve(
        5,
        &[(
            "example.test.",
            "sub.example.test. 60 NS ns.sub.example.test.
                                         ns.sub.example.test. 60 A 192.0.9.6
                                         www.example.test. 60 A 203.0.113.1",
        )],
    );
    scene.serve(6, &[("sub.example.test.", "a.sub.example.test. 60 A 203.0.113.8")]);
    check_www(&mut scene);
    assert_eq!(lines(&scene.resolve("a.sub.example.test.", rtype::A)), ["a.sub.example.test. A 203.0.113.8"]);
    let question = scene.server(5).seen[0].clone();
    assert_eq!((question.flags & 0x0100, scene.seen(1)), (0, 0));
}

#[test]
fn zones_of_this_process() {
    let mut scene = scene(|_, response| Some(response));
    scene.net.own =
        Some(Zone::from_text("home.", "a.home. 60 A 10.0.0.1\nb.home. 60 CNAME www.example.test."));
    assert_eq!(lines(&scene.resolve("a.home.", rtype::A)), ["a.home. A 10.0.0.1"]);
    assert_eq!(scene.resolve("c.home.", rtype::A).rcode, rcode::NXDOMAIN);
    assert_eq!(scene.net.sent, 0);
    assert_eq!(lines(&scene.resolve("b.home.", rtype::A)), ["b.home. CNAME www.example.test.", WWW]);
}

/// A root of our own (RFC 8806) refers, and nobody asks the real ones.
#[test]
fn a_root_of_our_own() {
    let mut scene = scene(|_, response| Some(response));
    scene.net.own = Some(Zone::from_text(".", ROOT));
    check_www(&mut scene);
    assert_eq!(scene.seen(1), 0);
}

/// A zone of ours that came when its names were known already goes before what is known, at the end of an alias of others too.
#[test]
fn a_zone_of_our_own_goes_before_the_cache() {
    let mut scene = Scene::new(ROOT);
    scene.serve(
        2,
        &[("test.", &format!("{TEST}\nto.test. 600 CNAME www.own.test.\nwww.own.test. 600 A 203.0.113.5"))],
    );
    let theirs = ["to.test. CNAME www.own.test.", "www.own.test. A 203.0.113.5"];
    assert_eq!(lines(&scene.resolve("to.test.", rtype::A)), theirs);
    assert_eq!(scene.resolve("gone.own.test.", rtype::A).rcode, 3);
    let text = "own.test. 60 NS ns.own.test.\nwww.own.test. 60 A 10.0.0.8\nin.own.test. 60 CNAME gone.own.test.\ngone.own.test. 60 A 10.0.0.9";
    scene.net.own = Some(Zone::from_text("own.test.", text));
    let sent = scene.net.sent;
    let ours = ["to.test. CNAME www.own.test.", "www.own.test. A 10.0.0.8"];
    assert_eq!(lines(&scene.resolve("to.test.", rtype::A)), ours);
    let ours = ["in.own.test. CNAME gone.own.test.", "gone.own.test. A 10.0.0.9"];
    assert_eq!(lines(&scene.resolve("in.own.test.", rtype::A)), ours);
    assert_eq!(scene.net.sent, sent);
    scene.check_nothing_held();
}
