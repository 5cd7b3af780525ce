//! No network, at the begin or later, or one family of addresses without a way.

use super::example::{ROOT, WWW, check_www, scene};
use super::scripted::{Scene, address, lines, name};
use crate::limits::HEARD_LATELY_MS;
use crate::outcome::Waiter;
use wire::iana::{rcode, rtype};

/// No network at the begin: nothing is held against anybody, and it goes on within 2 s of its return; whether that is told at once, or after
/// the event in which something was asked.
#[test]
fn no_route_at_first() {
    for tells_late in [false, true] {
        let mut scene = scene(|_, response| Some(response));
        (scene.net.is_unreachable, scene.net.tells_late) = (true, tells_late);
        let waiter = scene.ask("www.example.test.", rtype::A).unwrap();
        let mut before = 0;
        for _ in 0..30 {
            scene.pass(100);
            let datagrams = scene.resolver.counters().datagrams;
            assert!(datagrams >= before, "{datagrams} after {before}");
            before = datagrams;
        }
        let counters = scene.resolver.counters();
        assert_eq!((scene.net.sent, counters.datagrams), (0, counters.datagrams_unsent));
        assert_eq!(counters.datagrams > 0, tells_late, "those that are told at once were never taken");
        // Twice in a second of each family, not as often as anybody could ask.
        assert!((10..=16).contains(&counters.unreachable), "{}", counters.unreachable);
        scene.net.is_unreachable = false;
        let back = scene.net.now;
        assert_eq!(lines(&scene.outcome(waiter)), [WWW]);
        assert!(scene.net.now - back < 500, "{}", scene.net.now - back);
        let root = scene.net.qualities.zone(&name("."));
        let of_server = scene.net.qualities.read(&address(1));
        assert!(!of_server.is_backed_off(root, cache::Moment(scene.net.now)));
        scene.check_nothing_held();
    }
}

/// Everything times out for a minute while clients ask; a question asked after that is answered as if nothing had been.
#[test]
fn silence_of_all_is_no_servers_failure() {
    let mut scene = scene(|_, response| Some(response));
    check_www(&mut scene);
    scene.net.is_silent = true;
    for number in 0..60 {
        scene.ask(&format!("n{number}.example.test."), rtype::A).unwrap();
        scene.pass(1_000);
    }
    assert!(scene.net.done.iter().all(|(_, outcome)| outcome.rcode == rcode::SERVFAIL));
    // In the first seconds it looks as if that one server had stopped.
    let asked_late = |waiter: &Waiter| waiter.0 > 2 + HEARD_LATELY_MS / 1_000;
    assert!(scene.net.done.iter().all(|(waiter, outcome)| !(outcome.is_fact && asked_late(waiter))));
    scene.net.is_silent = false;
    let back = scene.net.now;
    scene.pass(1);
    assert_eq!(scene.resolve("txt.example.test.", rtype::TXT).rcode, 0);
    assert!(scene.net.now - back < 100, "{}", scene.net.now - back);
    // What waited all the while is answered within 2 s.
    scene.pass(2_000);
    assert_eq!(scene.resolver.held()[0], 0, "{:?}", scene.resolver.requests().collect::<Vec<_>>());
    assert_eq!(scene.resolve("n0.example.test.", rtype::A).rcode, rcode::NXDOMAIN, "no failure was kept");
}

/// IPv6 addresses that nothing comes back from cost a few time-outs in all.
#[test]
fn a_family_without_a_way() {
    let mut scene = Scene::new(ROOT);
    let zones: String = (0..50)
        .map(|n| format!("z{n}.test. 3600 NS a.z{n}.test.\na.z{n}.test. 3600 AAAA 2001:1db8::{:x}\na.z{n}.test. 3600 A 192.0.9.3\n", 256 + n))
        .collect();
    scene.serve(2, &[("test.", &zones)]);
    let zones: Vec<_> =
        (0..50).map(|n| (format!("z{n}.test."), format!("www.z{n}.test. 60 A 203.0.113.1"))).collect();
    let zones: Vec<_> = zones.iter().map(|(apex, text)| (apex.as_str(), text.as_str())).collect();
    scene.serve(3, &zones);
    let begun = scene.net.now;
    for number in 0..50 {
        assert_eq!(scene.resolve(&format!("www.z{number}.test."), rtype::A).rcode, 0);
    }
    assert!(scene.net.now - begun < 6_000, "{}", scene.net.now - begun);
}
