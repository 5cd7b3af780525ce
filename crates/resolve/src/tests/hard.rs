//! What servers that do not do as they should lead to.

use std::cell::Cell;
use std::rc::Rc;

use super::scripted::{Record, Response, Scene, Zone, address, lines, name};
use crate::limits::*;
use crate::outcome::From;
use crate::settings::{Configured, ConfiguredKind, Endpoint, Minimisation, Protection};
use wire::iana::{ede, rcode, rtype};

const ROOT: &str = "test. 86400 NS ns.test.
                    ns.test. 86400 A 192.0.9.2";
const TEST: &str = "example.test. 3600 NS ns.example.test.
                    ns.example.test. 3600 A 192.0.9.3";
const EXAMPLE: &str = "www.example.test. 60 A 203.0.113.1
                       txt.example.test. 60 TXT words
                       alias.example.test. 60 CNAME www.example.test.";
const WWW: &str = "www.example.test. A 203.0.113.1";

/// root (1) -> test. (2) -> example.test. (3), whose server does what `behaviour` makes of it.
fn scene(behaviour: impl FnMut(&super::scripted::Question, Response) -> Option<Response> + 'static) -> Scene {
    let mut scene = Scene::new(ROOT);
    scene.serve(2, &[("test.", TEST)]);
    scene.serve_so(3, &[("example.test.", EXAMPLE)], behaviour);
    scene
}

#[track_caller]
fn check_www(scene: &mut Scene) {
    let outcome = scene.resolve("www.example.test.", rtype::A);
    assert_eq!((outcome.rcode, lines(&outcome)), (0, vec![WWW.to_owned()]), "{outcome:?}");
}

#[track_caller]
fn check_fails(scene: &mut Scene, text: &str, why: u16) {
    let outcome = scene.resolve(text, rtype::A);
    assert_eq!((outcome.rcode, outcome.edes[0]), (rcode::SERVFAIL, Some(why)), "{outcome:?}");
}

#[test]
fn truncated_over_udp() {
    let mut scene =
        scene(|question, response| Some(Response { is_truncated: !question.is_stream, ..response }));
    check_www(&mut scene);
    assert_eq!((scene.seen(3), scene.net.connected), (2, 1));
    // The stream is used again.
    assert_eq!(scene.resolve("txt.example.test.", rtype::TXT).rcode, 0);
    assert_eq!((scene.seen(3), scene.net.connected), (4, 1));
    scene.check_nothing_held();
}

#[test]
fn truncated_and_no_tcp() {
    let mut scene = scene(|_, response| Some(Response { is_truncated: true, ..response }));
    scene.server(3).has_tcp = false;
    check_fails(&mut scene, "www.example.test.", ede::NO_REACHABLE_AUTHORITY);
    scene.check_nothing_held();
}

#[test]
fn no_edns() {
    for code in [rcode::FORMERR, rcode::NOTIMP] {
        let mut scene = scene(move |question, response| {
            let refused = Response { edns: None, ..Response::rcode(code) };
            Some(if question.has_edns { refused } else { response })
        });
        check_www(&mut scene);
        assert_eq!(scene.seen(3), 2);
        // It is remembered.
        scene.resolve("txt.example.test.", rtype::TXT);
        assert_eq!(scene.seen(3), 3);
        assert_eq!(scene.resolver.counters().timeouts, 0);
    }
}

/// Silence is no reason to leave EDNS out (DNS flag day 2019).
#[test]
fn silence_to_edns_is_silence() {
    let mut scene = scene(|question, response| (!question.has_edns).then_some(response));
    check_fails(&mut scene, "www.example.test.", ede::NO_REACHABLE_AUTHORITY);
    assert!(scene.server(3).seen.iter().all(|question| question.has_edns));
}

#[test]
fn case_is_lost() {
    let mut scene =
        scene(|question, response| Some(Response { name: Some(question.name.to_lowercase()), ..response }));
    check_www(&mut scene);
    assert_eq!((scene.seen(3), scene.net.connected), (2, 1));
    scene.resolve("txt.example.test.", rtype::TXT);
    assert_eq!((scene.seen(3), scene.net.connected), (3, 1), "asked without from then on");
}

#[test]
fn case_is_lost_and_no_tcp() {
    let mut scene =
        scene(|question, response| Some(Response { name: Some(question.name.to_lowercase()), ..response }));
    scene.server(3).has_tcp = false;
    check_www(&mut scene);
}

/// A forger who knows the path but not the ID gets three tries, not 65,536.
#[test]
fn guesses_lead_to_tcp() {
    let mut scene = scene(|question, response| Some(Response { wrong_id: !question.is_stream, ..response }));
    // Each wrong one is an answer to a datagram of its own here: the time-outs make the next.
    check_www(&mut scene);
    assert_eq!((scene.seen(3), scene.resolver.counters().guessed), (4, 1));
}

#[test]
fn three_guesses_on_one_path() {
    let count = Rc::new(Cell::new(0));
    let counted = count.clone();
    let mut scene = scene(move |question, response| {
        counted.set(counted.get() + 1);
        question.is_stream.then_some(response)
    });
    let waiter = scene.ask("www.example.test.", rtype::A).unwrap();
    while count.get() == 0 {
        assert!(scene.step(u64::MAX));
    }
    let path = scene.last_path();
    for id in 0..3 {
        scene.forge(path, address(3), super::scripted::forged(&name("www.example.test."), id));
    }
    assert_eq!(lines(&scene.outcome(waiter)), [WWW]);
    assert_eq!((scene.resolver.counters().guessed, scene.net.connected), (1, 1));
}

#[test]
fn from_elsewhere_is_nothing() {
    let mut scene = scene(|_, response| Some(response));
    let waiter = scene.ask("www.example.test.", rtype::A).unwrap();
    let path = scene.last_path();
    for id in 0..100 {
        scene.forge(path, address(9), super::scripted::forged(&name("www.example.test."), id));
    }
    assert_eq!(lines(&scene.outcome(waiter)), [WWW]);
    assert_eq!((scene.resolver.counters().strays, scene.resolver.counters().mismatches), (100, 0));
}

#[test]
fn cookies() {
    let mut scene = scene(|question, response| {
        let sent = question.cookie.clone().unwrap();
        let cookie = [&sent[..8], b"servercookie"].concat();
        let code = if sent.len() == 8 { 23 } else { response.rcode };
        Some(Response { rcode: code, cookie: Some(cookie), ..response })
    });
    check_www(&mut scene);
    assert_eq!((scene.seen(3), scene.net.connected), (2, 0));
    scene.resolve("txt.example.test.", rtype::TXT);
    assert_eq!(scene.seen(3), 3, "known from then on");
    assert_eq!(scene.net.with_cookie, 2, "those that have the server's part");
}

#[test]
fn a_cookie_that_does_not_come_back() {
    let first = Cell::new(true);
    let mut scene = scene(move |question, response| {
        let sent = question.cookie.clone().unwrap();
        let cookie = [&sent[..8], b"servercookie"].concat();
        let has_cookie = first.replace(false) || question.is_stream;
        Some(Response { cookie: has_cookie.then_some(cookie), ..response })
    });
    check_www(&mut scene);
    scene.resolve("txt.example.test.", rtype::TXT);
    assert_eq!((scene.seen(3), scene.net.connected), (3, 1));
}

#[test]
fn a_cookie_that_is_never_liked() {
    let mut scene = scene(|question, response| {
        let sent = question.cookie.clone().unwrap();
        let cookie = [&sent[..8], b"servercookie"].concat();
        let code = if question.is_stream { response.rcode } else { 23 };
        Some(Response { rcode: code, cookie: Some(cookie), ..response })
    });
    check_www(&mut scene);
    assert_eq!((scene.seen(3), scene.net.connected), (3, 1));
}

/// One of two servers fails in each way there is; the other one answers.
#[test]
fn one_of_two_servers() {
    type Fault = fn(&super::scripted::Question, Response) -> Option<Response>;
    let faults: [(&str, Fault); 6] = [
        ("silent", |_, _| None),
        ("refused", |_, _| Some(Response::rcode(rcode::REFUSED))),
        ("failed", |_, _| Some(Response::rcode(rcode::SERVFAIL))),
        ("no authority", |_, response| {
            Some(Response { is_authoritative: false, sections: Default::default(), ..response })
        }),
        ("upward", |_, response| {
            let root = Record::from_text(". 60 NS a.root.");
            Some(Response { is_authoritative: false, sections: [vec![], vec![root], vec![]], ..response })
        }),
        ("sideways", |_, response| {
            let other = Record::from_text("other. 60 NS a.root.");
            Some(Response { is_authoritative: false, sections: [vec![], vec![other], vec![]], ..response })
        }),
    ];
    for (what, fault) in faults {
        let mut scene = Scene::new(ROOT);
        scene.serve(
            2,
            &[(
                "test.",
                "example.test. 3600 NS a.example.test.
                         example.test. 3600 NS b.example.test.
                         a.example.test. 3600 A 192.0.9.3
                         b.example.test. 3600 A 192.0.9.4",
            )],
        );
        scene.serve_so(3, &[("example.test.", EXAMPLE)], fault);
        scene.serve(4, &[("example.test.", EXAMPLE)]);
        for round in 0..10 {
            scene.net.cache.remove(&cache::Key::rrset(&name("www.example.test."), rtype::A));
            let begun = scene.net.now;
            check_www(&mut scene);
            assert!(scene.net.now - begun < 1_000, "{what} {round}");
        }
        assert!(
            scene.seen(3) <= if ["failed", "no authority", "sideways"].contains(&what) { 9 } else { 5 },
            "{what}: {}",
            scene.seen(3)
        );
        scene.check_nothing_held();
    }
}

#[test]
fn a_failure_is_remembered_and_ends() {
    let mut scene = scene(|_, _| Some(Response::rcode(rcode::SERVFAIL)));
    check_fails(&mut scene, "www.example.test.", ede::NO_REACHABLE_AUTHORITY);
    let seen = scene.seen(3);
    let outcome = scene.resolve("www.example.test.", rtype::A);
    assert_eq!((outcome.rcode, scene.seen(3)), (rcode::SERVFAIL, seen));
    scene.pass(u64::from(FAILURE_SECONDS_MIN) * 1000 + 1);
    check_fails(&mut scene, "www.example.test.", ede::NO_REACHABLE_AUTHORITY);
    assert!(scene.seen(3) > seen);
    scene.check_nothing_held();
}

#[test]
fn name_servers_elsewhere() {
    let mut scene = Scene::new(ROOT);
    scene.serve(
        2,
        &[(
            "test.",
            "example.test. 3600 NS ns.far.test.
                     far.test. 3600 NS ns.far.test.
                     ns.far.test. 3600 A 192.0.9.4
                     glueless.test. 3600 NS ns.in.far.test.",
        )],
    );
    scene.serve(3, &[("example.test.", EXAMPLE), ("glueless.test.", "www.glueless.test. 60 A 203.0.113.7")]);
    scene.serve(
        4,
        &[(
            "far.test.",
            "ns.far.test. 600 A 192.0.9.4
                                     ns.in.far.test. 600 A 192.0.9.3",
        )],
    );
    assert_eq!(lines(&scene.resolve("www.glueless.test.", rtype::A)), ["www.glueless.test. A 203.0.113.7"]);
    scene.check_nothing_held();
}

/// Zones whose only servers are in each other end at once, not in time.
#[test]
fn name_servers_in_circles() {
    let mut scene = Scene::new(ROOT);
    scene.serve(
        2,
        &[(
            "test.",
            "one.test. 3600 NS ns.two.test.
                     two.test. 3600 NS ns.one.test.
                     self.test. 3600 NS ns.self.test.",
        )],
    );
    let begun = scene.net.now;
    check_fails(&mut scene, "www.one.test.", ede::NO_REACHABLE_AUTHORITY);
    check_fails(&mut scene, "www.self.test.", ede::NO_REACHABLE_AUTHORITY);
    // Two that begin at once, each needing the other.
    let (a, b) = (scene.ask("a.one.test.", rtype::A).unwrap(), scene.ask("b.two.test.", rtype::A).unwrap());
    assert_eq!([scene.outcome(a).rcode, scene.outcome(b).rcode], [rcode::SERVFAIL; 2]);
    assert!(scene.net.now - begun < 2_000, "{}", scene.net.now - begun);
    scene.check_nothing_held();
}

/// A delegation to a hundred names without addresses below a victim's zone (NXNSAttack, CVE-2020-12662).
#[test]
fn name_servers_by_the_hundred() {
    let mut scene = Scene::new(ROOT);
    let names =
        |count| (0..count).map(|n| format!("evil.test. 3600 NS n{n}.victim.test.\n")).collect::<String>();
    scene.serve(
        2,
        &[(
            "test.",
            &(names(100) + "victim.test. 3600 NS ns.victim.test.\nns.victim.test. 3600 A 192.0.9.3"),
        )],
    );
    scene.serve(3, &[("victim.test.", "")]);
    check_fails(&mut scene, "www.evil.test.", ede::NO_REACHABLE_AUTHORITY);
    assert!(scene.seen(3) <= usize::from(SOUGHT_MAX), "{}", scene.seen(3));
    scene.check_nothing_held();
}

/// Referrals to ever deeper zones.
#[test]
fn referrals_without_end() {
    let mut scene = scene(|question, _| {
        let depth = question.name.label_count();
        let below =
            Record(question.name.to_lowercase(), rtype::NS, 60, Record::from_text("a. 60 NS ns.test.").3);
        let _ = depth;
        Some(Response { sections: [vec![], vec![below], vec![]], ..Response::rcode(0) })
    });
    scene.serve_so(2, &[("test.", TEST)], |question, response| {
        if question.name.to_lowercase().to_string() == "ns.test." || question.name.label_count() < 3 {
            return Some(response);
        }
        let below =
            Record(question.name.to_lowercase(), rtype::NS, 60, Record::from_text("a. 60 NS ns.test.").3);
        Some(Response { sections: [vec![], vec![below], vec![]], ..Response::rcode(0) })
    });
    let long = "a.".repeat(100) + "test.";
    let outcome = scene.resolve(&long, rtype::A);
    assert_eq!(outcome.rcode, rcode::SERVFAIL);
    assert!(scene.net.sent <= 60, "{}", scene.net.sent);
    scene.check_nothing_held();
}

#[test]
fn aliases_without_end() {
    let mut scene = scene(|question, mut response| {
        let first = question.name.labels().next().unwrap().len() as u8;
        if question.name.label_count() == 3 {
            let target = format!("{}.example.test.", "x".repeat(usize::from(first) + 1));
            let record =
                Record(question.name.to_lowercase(), rtype::CNAME, 60, name(&target).octets().to_vec());
            response = Response {
                sections: [vec![record], vec![], vec![]],
                is_authoritative: true,
                ..Response::rcode(0)
            };
        }
        Some(response)
    });
    let outcome = scene.resolve("x.example.test.", rtype::A);
    assert_eq!(outcome.rcode, rcode::SERVFAIL);
    assert!(scene.seen(3) <= usize::from(ALIASES_MAX) + 1, "{}", scene.seen(3));
}

#[test]
fn aliases_in_a_circle() {
    let mut scene = Scene::new(ROOT);
    scene.serve(2, &[("test.", "one.test. 3600 NS ns.test.\ntwo.test. 3600 NS ns.test.")]);
    scene.serve(
        2,
        &[
            ("test.", "one.test. 3600 NS ns.test.\ntwo.test. 3600 NS ns.test.\nns.test. 3600 A 192.0.9.2"),
            ("one.test.", "a.one.test. 60 CNAME a.two.test."),
            ("two.test.", "a.two.test. 60 CNAME a.one.test."),
        ],
    );
    check_fails(&mut scene, "a.one.test.", ede::OTHER);
    assert!(scene.seen(2) < 10);
}

/// Servers that deny names that have others below them, and fail on parts of names (RFC 9156 2.3).
#[test]
fn minimised_names_that_servers_do_not_like() {
    for code in [rcode::NXDOMAIN, rcode::REFUSED, rcode::SERVFAIL] {
        let mut scene = Scene::new(ROOT);
        scene.serve(2, &[("test.", TEST)]);
        scene.serve_so(
            3,
            &[("example.test.", "a.b.c.example.test. 60 A 203.0.113.9")],
            move |question, response| {
                let is_part = question.name.label_count() < 5;
                Some(if is_part {
                    Response { is_authoritative: true, ..Response::rcode(code) }
                } else {
                    response
                })
            },
        );
        assert_eq!(
            lines(&scene.resolve("a.b.c.example.test.", rtype::A)),
            ["a.b.c.example.test. A 203.0.113.9"]
        );
        assert!(scene.seen(3) <= 4, "{}", scene.seen(3));
        scene.check_nothing_held();
    }
}

#[test]
fn without_minimisation() {
    let mut scene = Scene::with(ROOT, |settings| settings.minimisation = Minimisation::Off);
    scene.serve(2, &[("test.", TEST)]);
    scene.serve(3, &[("example.test.", EXAMPLE)]);
    check_www(&mut scene);
    assert_eq!(scene.server(1).seen[1].name.to_lowercase(), name("www.example.test."));
}

/// No network at the begin: nothing is held against anybody, and it goes on within 2 s of its return.
#[test]
fn no_route_at_first() {
    let mut scene = scene(|_, response| Some(response));
    scene.net.is_unreachable = true;
    let waiter = scene.ask("www.example.test.", rtype::A).unwrap();
    scene.pass(3_000);
    assert_eq!(scene.net.sent, 0);
    scene.net.is_unreachable = false;
    let back = scene.net.now;
    assert_eq!(lines(&scene.outcome(waiter)), [WWW]);
    assert!(scene.net.now - back < 500, "{}", scene.net.now - back);
    assert!(
        !scene
            .net
            .qualities
            .read(&address(1))
            .is_backed_off(scene.net.qualities.zone(&name(".")), cache::Moment(scene.net.now))
    );
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
    assert!(scene.net.done.iter().all(|(_, outcome)| !outcome.is_fact && outcome.rcode == rcode::SERVFAIL));
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

/// An alias to a special name ends there.
#[test]
fn aliases_to_special_names() {
    let mut scene = Scene::new(ROOT);
    scene.serve(2, &[("test.", &format!("{TEST}\nto.test. 60 CNAME x.onion.\nd.test. 60 DNAME onion."))]);
    scene.net.inside = Some(name("onion."));
    for _ in 0..2 {
        let sent = scene.net.sent;
        let outcome = scene.resolve("to.test.", rtype::A);
        assert_eq!(outcome.rcode, rcode::NXDOMAIN);
        assert_eq!(lines(&outcome), ["to.test. CNAME x.onion."]);
        assert!(outcome.is_fact && outcome.security == Some(cache::Security::Insecure));
        assert!(scene.net.sent == sent || sent == 0);
    }
    assert_eq!(scene.resolve("a.d.test.", rtype::A).rcode, rcode::NXDOMAIN);
    assert_eq!(scene.seen(1), 2, "nobody asked the root about the target");
    scene.check_nothing_held();
}

/// A root of our own (RFC 8806) refers, and nobody asks the real ones.
#[test]
fn a_root_of_our_own() {
    let mut scene = scene(|_, response| Some(response));
    scene.net.own = Some(Zone::from_text(".", ROOT));
    check_www(&mut scene);
    assert_eq!(scene.seen(1), 0);
}

/// DS is asked on the upper side of a cut, even when the lower side is known.
#[test]
fn ds_is_above() {
    let mut scene = scene(|_, response| Some(response));
    check_www(&mut scene);
    let (two, three) = (scene.seen(2), scene.seen(3));
    let outcome = scene.resolve("example.test.", rtype::DS);
    assert_eq!((outcome.rcode, scene.seen(2), scene.seen(3)), (0, two + 1, three));
}

/// A hundred names below a cold zone are one question to its parent.
#[test]
fn equal_questions_on_the_wire_are_one() {
    let mut scene = scene(|_, response| Some(response));
    let waiters: Vec<_> =
        (0..100).map(|n| scene.ask(&format!("n{n}.example.test."), rtype::A).unwrap()).collect();
    for waiter in waiters {
        assert_eq!(scene.outcome(waiter).rcode, rcode::NXDOMAIN);
    }
    assert_eq!([scene.seen(1), scene.seen(2), scene.seen(3)], [2, 1, 100]);
    scene.check_nothing_held();
}

/// More questions than one server may have in flight stand in line: each answer lets the next one go, nobody looks again by himself.
#[test]
fn a_line_for_a_busy_server() {
    let mut scene = scene(|_, response| Some(response));
    scene.resolve("www.example.test.", rtype::A);
    let begin = scene.net.now;
    let count = 4 * u64::from(WINDOW_MAX);
    let waiters: Vec<_> =
        (0..count).map(|n| scene.ask(&format!("n{n}.example.test."), rtype::A).unwrap()).collect();
    assert_eq!(scene.net.open_paths, i64::from(WINDOW_MAX));
    for waiter in waiters {
        assert_eq!(scene.outcome(waiter).rcode, rcode::NXDOMAIN);
    }
    assert_eq!(scene.net.now - begin, 4 * 10, "four windows of one round trip each");
    scene.check_nothing_held();
}

/// The line for a server that falls silent is no trap: who stands there comes to an end like others.
#[test]
fn a_line_for_a_silent_server() {
    let mut scene =
        scene(|question, response| question.name.to_string().starts_with("www").then_some(response));
    scene.resolve("www.example.test.", rtype::A);
    let waiters: Vec<_> = (0..3 * u64::from(WINDOW_MAX))
        .map(|n| scene.ask(&format!("n{n}.example.test."), rtype::A).unwrap())
        .collect();
    for waiter in waiters {
        assert_eq!(scene.outcome(waiter).rcode, rcode::SERVFAIL);
    }
    scene.check_nothing_held();
}

/// When there is no room the fullest zone gives way, and others are served.
#[test]
fn no_room() {
    let mut scene = Scene::with("test. 86400 NS ns.test.\nns.test. 86400 A 192.0.9.2", |settings| {
        settings.tasks_max = 50
    });
    scene.serve(
        2,
        &[(
            "test.",
            &format!("{TEST}\nvictim.test. 3600 NS ns.victim.test.\nns.victim.test. 3600 A 192.0.9.4"),
        )],
    );
    scene.serve(3, &[("example.test.", EXAMPLE)]);
    scene.serve_so(4, &[], |_, _| None);
    scene.resolve("txt.example.test.", rtype::TXT);
    let first = scene.ask_as("first.victim.test.", rtype::A, From::Cache, 7).unwrap();
    scene.pass(100);
    let flood: Vec<_> = (0..200)
        .map(|n| scene.ask_as(&format!("n{n}.victim.test."), rtype::A, From::Cache, n % 20).unwrap())
        .collect();
    let waiter = scene.ask_as("www.example.test.", rtype::A, From::Cache, 1_000).unwrap();
    assert_eq!(lines(&scene.outcome(waiter)), [WWW]);
    assert!(!scene.outcome(first).is_fact, "what was dropped is no fact");
    for waiter in flood {
        assert_eq!(scene.outcome(waiter).rcode, rcode::SERVFAIL);
    }
    assert!(scene.resolver.counters().dropped > 100);
    scene.check_nothing_held();
}

#[test]
fn too_many_wait_for_one() {
    let mut scene = scene(|_, _| None);
    let ask = |scene: &mut Scene, client| scene.ask_as("www.example.test.", rtype::A, From::Cache, client);
    let count = WAITERS_MAX as u64 + 10;
    let taken = (0..count).filter(|client| ask(&mut scene, *client).is_ok()).count();
    assert_eq!(taken, WAITERS_MAX);
    let mut told = 0;
    while told < taken {
        assert!(scene.step(u64::MAX));
        assert!(scene.net.done.len() - told <= TOLD_A_TURN);
        told = scene.net.done.len();
    }
    scene.check_nothing_held();
}

/// What has expired is given after so long a silence, at once after a failure; and again when it is fresh it is fresh.
#[test]
fn stale() {
    stale_after(STALE_AFTER_MS);
    stale_after(300);
    stale_after(0);
}

#[track_caller]
fn stale_after(after_ms: u64) {
    let dead = Rc::new(Cell::new(false));
    let is_dead = dead.clone();
    let mut scene = Scene::with(ROOT, |settings| settings.stale_after_ms = Some(after_ms));
    scene.serve(2, &[("test.", TEST)]);
    scene.serve_so(3, &[("example.test.", EXAMPLE)], move |_, response| (!is_dead.get()).then_some(response));
    scene.server(3).delay_ms = 150;
    check_www(&mut scene);
    scene.pass(61_000);
    dead.set(true);
    let begun = scene.net.now;
    let outcome = scene.resolve("www.example.test.", rtype::A);
    assert_eq!((lines(&outcome), outcome.is_stale), (vec![WWW.to_owned()], true));
    assert_eq!(outcome.edes[0], Some(ede::STALE_ANSWER));
    assert_eq!(scene.net.now - begun, after_ms);
    scene.pass(10_000);
    dead.set(false);
    scene.pass(20_000);
    if after_ms == 0 {
        assert!(scene.resolve("www.example.test.", rtype::A).is_stale, "what is fresh is fetched behind it");
        scene.pass(1_000);
    }
    let outcome = scene.resolve("www.example.test.", rtype::A);
    assert_eq!((outcome.rcode, outcome.is_stale), (0, false));
    scene.check_nothing_held();
}

#[test]
fn prefetch_passes_over_what_is_kept() {
    let mut scene = scene(|_, response| Some(response));
    check_www(&mut scene);
    let seen = scene.seen(3);
    let name = name("www.example.test.");
    let ask = crate::Ask {
        name: &name,
        rtype: rtype::A,
        checking_disabled: false,
        from: From::Servers,
        client: None,
    };
    scene.resolver.ask(&ask, None, &mut scene.net).unwrap();
    scene.pass(1_000);
    assert_eq!(scene.seen(3), seen + 1);
    scene.check_nothing_held();
}

/// A client whose budget is spent, or whose time is over, does not take others with him.
#[test]
fn each_pays_for_himself() {
    let mut scene = Scene::new(ROOT);
    let servers: String = (3..8)
        .map(|n| format!("example.test. 3600 NS n{n}.example.test.\nn{n}.example.test. 3600 A 192.0.9.{n}\n"))
        .collect();
    scene.serve(2, &[("test.", &servers)]);
    for number in 3..8 {
        scene.serve_so(number, &[("example.test.", EXAMPLE)], |question, response| {
            (question.at > 1_006_500).then_some(response)
        });
    }
    let first = scene.ask_as("www.example.test.", rtype::A, From::Cache, 1).unwrap();
    scene.pass(5_000);
    let second = scene.ask_as("www.example.test.", rtype::A, From::Cache, 2).unwrap();
    let outcome = scene.outcome(first);
    assert_eq!((outcome.rcode, outcome.is_fact), (rcode::SERVFAIL, false));
    assert_eq!(lines(&scene.outcome(second)), [WWW]);
    scene.check_nothing_held();
}

#[test]
fn nobody_waits_any_more() {
    let mut scene = scene(|_, response| Some(response));
    let waiter = scene.ask("www.example.test.", rtype::A).unwrap();
    scene.resolver.abandon(waiter);
    scene.check_nothing_held();
    assert!(scene.net.done.is_empty());
    let seen = scene.seen(3);
    check_www(&mut scene);
    assert_eq!((seen, scene.resolver.counters().joined), (1, 0));
}

#[test]
fn meta_types_are_not_resolved() {
    let mut scene = scene(|_, response| Some(response));
    assert_eq!(scene.ask("www.example.test.", 255), Err(crate::Refused::Meta));
}

/// A task with all that it owns is at most 4 KiB, at its widest delegation.
#[test]
fn octets_of_a_task() {
    let mut scene = Scene::new(ROOT);
    let names: String = (0..30)
        .map(|n| {
            format!(
                "wide.test. 3600 NS {}.a{n}.test.\n{}.a{n}.test. 3600 A 192.0.9.{}\n",
                "x".repeat(50),
                "x".repeat(50),
                100 + n
            )
        })
        .collect();
    scene.serve(2, &[("test.", &names)]);
    scene.ask("www.wide.test.", rtype::A).unwrap();
    scene.pass(200);
    let octets = scene.resolver.mesh.iter().map(|(_, task)| task.octets()).max().unwrap();
    assert!(octets <= 4096, "{octets}");
    let fixed = size_of::<crate::task::Task>();
    assert!(fixed <= 1024, "{fixed}");
    scene.check_nothing_held();
}

/// A resolver in the place of one of the name servers: its answers are second-hand, and taken only where nobody has better ones.
#[test]
fn second_hand() {
    for has_other in [true, false] {
        let mut scene = Scene::new(ROOT);
        let other = if has_other {
            "example.test. 3600 NS b.example.test.\nb.example.test. 3600 A 192.0.9.4\n"
        } else {
            ""
        };
        scene.serve(
            2,
            &[(
                "test.",
                &format!("{other}example.test. 3600 NS a.example.test.\na.example.test. 3600 A 192.0.9.3"),
            )],
        );
        scene.serve_so(3, &[("example.test.", EXAMPLE)], |_, response| {
            Some(Response { is_authoritative: false, has_recursion: true, ..response })
        });
        scene.serve(4, &[("example.test.", EXAMPLE)]);
        check_www(&mut scene);
        assert!(scene.seen(3) + scene.seen(4) <= 2);
        assert!(!has_other || scene.seen(4) == 1);
        scene.check_nothing_held();
    }
}
