//! Name servers that fail, that are elsewhere, that lead in circles or to work without end.

use super::example::{EXAMPLE, ROOT, TEST, check_fails, check_www, scene};
use super::scripted::{Record, Response, Scene, lines, name};
use crate::limits::{FAILURE_SECONDS_MIN, SOUGHT_MAX};
use wire::iana::{ede, rcode, rtype};

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
    // Nobody is asked any more, and nobody is silent.
    let asked = scene.seen(1) + scene.seen(2);
    scene.net.now += 60_000;
    check_fails(&mut scene, "ftp.one.test.", ede::NO_REACHABLE_AUTHORITY);
    assert_eq!(scene.seen(1) + scene.seen(2), asked);
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

/// DS is asked on the upper side of a cut, even when the lower side is known.
#[test]
fn ds_is_above() {
    let mut scene = scene(|_, response| Some(response));
    check_www(&mut scene);
    let (two, three) = (scene.seen(2), scene.seen(3));
    let outcome = scene.resolve("example.test.", rtype::DS);
    assert_eq!((outcome.rcode, scene.seen(2), scene.seen(3)), (0, two + 1, three));
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
