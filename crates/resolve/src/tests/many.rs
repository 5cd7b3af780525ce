//! Many at once: equal questions, lines for busy servers, no room, who pays.

use super::example::{EXAMPLE, ROOT, TEST, WWW, scene};
use super::scripted::{Scene, lines};
use crate::limits::{TOLD_A_TURN, WAITERS_MAX, WINDOW_MAX};
use crate::outcome::From;
use wire::iana::{rcode, rtype};

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
    assert!(scene.resolver.counters().tasks_dropped > 100);
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
