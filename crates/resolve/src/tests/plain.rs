//! What servers that do as they should lead to.

use super::scripted::{Scene, lines};
use wire::iana::rtype;

/// root (1) -> test. (2) -> example.test. (3)
fn scene() -> Scene {
    let mut scene = Scene::new(
        "test. 86400 NS ns.test.
         ns.test. 86400 A 192.0.9.2",
    );
    scene.serve(
        2,
        &[(
            "test.",
            "example.test. 3600 NS ns.example.test.
                     ns.example.test. 3600 A 192.0.9.3
                     other.test. 3600 NS ns.example.test.
                     out.test. 3600 NS a.far.test.
                     far.test. 3600 NS ns.test.",
        )],
    );
    scene.serve(
        3,
        &[
            (
                "example.test.",
                "www.example.test. 60 A 203.0.113.1
                               www.example.test. 60 A 203.0.113.2
                               alias.example.test. 60 CNAME www.example.test.
                               leads.example.test. 60 CNAME www.other.test.
                               d.example.test. 60 DNAME other.test.
                               a.b.c.example.test. 60 A 203.0.113.9",
            ),
            (
                "other.test.",
                "www.other.test. 60 A 203.0.113.3
                             back.other.test. 60 CNAME leads.example.test.",
            ),
        ],
    );
    scene
}

#[track_caller]
fn check(name: &str, kind: u16, rcode: u16, expected: &[&str]) -> Scene {
    let mut scene = scene();
    let outcome = scene.resolve(name, kind);
    assert_eq!((outcome.rcode, lines(&outcome)), (rcode, expected.iter().map(|s| s.to_string()).collect()));
    assert!(outcome.is_fact);
    scene.check_nothing_held();
    scene
}

#[test]
fn from_the_root_down() {
    let scene = check(
        "www.example.test.",
        rtype::A,
        0,
        &["www.example.test. A 203.0.113.1", "www.example.test. A 203.0.113.2"],
    );
    // Priming, then one question a zone.
    assert_eq!([scene.seen(1), scene.seen(2), scene.seen(3)], [2, 1, 1]);
}

#[test]
fn what_is_known_is_not_asked_again() {
    let mut scene = scene();
    scene.resolve("www.example.test.", rtype::A);
    let before = [scene.seen(1), scene.seen(2), scene.seen(3)];
    scene.resolve("www.example.test.", rtype::A);
    assert_eq!([scene.seen(1), scene.seen(2), scene.seen(3)], before);
    scene.resolve("alias.example.test.", rtype::A);
    assert_eq!([scene.seen(1), scene.seen(2), scene.seen(3)], [before[0], before[1], before[2] + 1]);
}

#[test]
fn denials() {
    check("www.example.test.", rtype::TXT, 0, &[]);
    check("no.example.test.", rtype::A, 3, &[]);
    check("b.c.example.test.", rtype::A, 0, &[]);
    let scene = check("no.such.", rtype::A, 3, &[]);
    assert_eq!(scene.seen(2), 0);
}

#[test]
fn aliases() {
    let www = ["www.example.test. A 203.0.113.1", "www.example.test. A 203.0.113.2"];
    let alias = "alias.example.test. CNAME www.example.test.";
    check("alias.example.test.", rtype::A, 0, &[alias, www[0], www[1]]);
    check("alias.example.test.", rtype::CNAME, 0, &[alias]);
    let leads = "leads.example.test. CNAME www.other.test.";
    check("leads.example.test.", rtype::A, 0, &[leads, "www.other.test. A 203.0.113.3"]);
    check(
        "back.other.test.",
        rtype::A,
        0,
        &["back.other.test. CNAME leads.example.test.", leads, "www.other.test. A 203.0.113.3"],
    );
    check(
        "www.d.example.test.",
        rtype::A,
        0,
        &[
            "d.example.test. DNAME other.test.",
            "www.d.example.test. CNAME www.other.test.",
            "www.other.test. A 203.0.113.3",
        ],
    );
}

#[test]
fn letters_are_asked_in_random_case_and_names_minimised() {
    let mut scene = scene();
    scene.resolve("www.example.test.", rtype::A);
    let seen = &scene.server(1).seen;
    assert_eq!(seen[1].name.to_lowercase().to_string(), "test.");
    let all = [1, 2, 3].map(|number| scene.server(number).seen.last().unwrap().name.to_string()).concat();
    assert!(all.contains(|c: char| c.is_ascii_uppercase()) && all.contains(|c: char| c.is_ascii_lowercase()));
}

#[test]
fn equal_questions_are_one() {
    let mut scene = scene();
    let waiters: Vec<_> = (0..5).map(|_| scene.ask("www.example.test.", rtype::A).unwrap()).collect();
    for waiter in waiters {
        assert_eq!(scene.outcome(waiter).rcode, 0);
    }
    assert_eq!([scene.seen(1), scene.seen(2), scene.seen(3)], [2, 1, 1]);
    assert_eq!(scene.resolver.counters().joined, 4);
}
