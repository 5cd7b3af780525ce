//! Tasks that nobody waits for any more: what is under way is awaited and kept, nothing else is asked.

use super::example::{check_www, scene};
use super::scripted::Scene;
use crate::limits::WINDOW_MAX;
use crate::outcome::From;
use wire::iana::{rcode, rtype};

/// Questions that the root, `test.` and `example.test.` got.
fn seen(scene: &Scene) -> [usize; 3] {
    [1, 2, 3].map(|number| scene.seen(number))
}

/// Asked by one who leaves after so many milliseconds: the questions until all is over. Each takes ten, that for the root's servers is the first.
#[track_caller]
fn check(leaves_after_ms: u64, expected: [usize; 3]) {
    let mut scene = scene(|_, response| Some(response));
    let waiter = scene.ask("www.example.test.", rtype::A).unwrap();
    scene.pass(leaves_after_ms);
    scene.resolver.abandon(waiter);
    scene.check_nothing_held();
    assert!(scene.net.done.is_empty());
    assert_eq!(seen(&scene), expected);
    assert_eq!(scene.resolver.counters().deserted, u64::from(expected[2] == 0));
    // Whoever asks again begins where that ended.
    check_www(&mut scene);
    assert_eq!(seen(&scene), [2, 1, 1]);
}

#[test]
fn what_is_under_way_is_the_last() {
    for (leaves_after_ms, expected) in [(5, [1, 0, 0]), (15, [2, 0, 0]), (25, [2, 1, 0]), (35, [2, 1, 1])] {
        check(leaves_after_ms, expected);
    }
}

/// Those in line for a busy server leave it at once.
#[test]
fn out_of_line() {
    let mut scene = scene(|_, response| Some(response));
    scene.resolve("www.example.test.", rtype::A);
    let before = scene.seen(3);
    let waiters: Vec<_> = (0..u64::from(WINDOW_MAX) + 64)
        .map(|n| scene.ask(&format!("n{n}.example.test."), rtype::A).unwrap())
        .collect();
    waiters.into_iter().for_each(|waiter| scene.resolver.abandon(waiter));
    scene.pass(5);
    assert_eq!(scene.resolver.held()[0], usize::from(WINDOW_MAX), "those that asked are awaited");
    scene.check_nothing_held();
    assert_eq!(scene.seen(3) - before, usize::from(WINDOW_MAX));
}

/// One of two leaves: nothing changes for the other.
#[test]
fn others_wait() {
    let mut scene = scene(|_, response| Some(response));
    let first = scene.ask_as("www.example.test.", rtype::A, From::Cache, 1).unwrap();
    let second = scene.ask_as("www.example.test.", rtype::A, From::Cache, 2).unwrap();
    scene.resolver.abandon(first);
    assert_eq!(scene.outcome(second).rcode, rcode::NOERROR);
    assert_eq!(scene.resolver.counters().deserted, 0);
    scene.check_nothing_held();
}

/// A name server's address, sought for one who leaves: it is not asked for any more, unless somebody else needs it.
#[test]
fn what_is_sought_for_it() {
    for needs in [false, true] {
        let mut scene = Scene::new("test. 86400 NS ns.test.\nns.test. 86400 A 192.0.9.2");
        scene.serve(
            2,
            &[(
                "test.",
                "far.test. 3600 NS ns.host.test.\nnear.test. 3600 NS ns.host.test.\nhost.test. 3600 NS a.host.test.\na.host.test. 3600 A 192.0.9.3",
            )],
        );
        scene.serve(3, &[("host.test.", "ns.host.test. 300 A 192.0.9.4\na.host.test. 300 A 192.0.9.3")]);
        scene.serve(
            4,
            &[
                ("far.test.", "www.far.test. 60 A 203.0.113.1"),
                ("near.test.", "www.near.test. 60 A 203.0.113.2"),
            ],
        );
        let waiter = scene.ask_as("www.far.test.", rtype::A, From::Cache, 1).unwrap();
        let other = needs.then(|| scene.ask_as("www.near.test.", rtype::A, From::Cache, 2).unwrap());
        // The root and `test.` have answered; the address is being sought.
        scene.pass(35);
        scene.resolver.abandon(waiter);
        if let Some(other) = other {
            assert_eq!(scene.outcome(other).rcode, rcode::NOERROR);
        }
        scene.check_nothing_held();
        assert_eq!((scene.seen(3) > 0, scene.seen(4) > 0), (needs, needs));
    }
}

/// A task that waits for late answers alone goes on at once for who asks the same.
#[test]
fn joined_while_it_lingers() {
    let mut scene = scene(|question, response| (question.at > 1_004_000).then_some(response));
    let waiter = scene.ask("www.example.test.", rtype::A).unwrap();
    scene.pass(1_900);
    scene.resolver.abandon(waiter);
    scene.pass(1_100);
    let (tasks, seen) = (scene.resolver.held()[0], scene.seen(3));
    scene.pass(100);
    assert_eq!((tasks, scene.resolver.held()[0], scene.seen(3)), (1, 1, seen), "it waits, and asks nothing");
    let waiter = scene.ask("www.example.test.", rtype::A).unwrap();
    assert_eq!(scene.seen(3), seen + 1);
    assert_eq!(scene.outcome(waiter).rcode, rcode::NOERROR);
    scene.check_nothing_held();
}

/// A flood is over once, and what it took is small again; few tasks are none.
#[test]
fn ebb() {
    for (count, is_flood) in [(100, false), (4_000, true)] {
        let mut scene = scene(|_, response| Some(response));
        let ask = |n| scene.ask(&format!("n{n}.example.test."), rtype::A).unwrap();
        let waiters: Vec<_> = (0..count).map(ask).collect();
        assert!(!scene.resolver.has_ebbed());
        let before = scene.resolver.mesh.index.capacity();
        waiters.into_iter().for_each(|waiter| scene.resolver.abandon(waiter));
        scene.check_nothing_held();
        assert_eq!(scene.resolver.has_ebbed(), is_flood);
        assert!(!scene.resolver.has_ebbed(), "said once");
        assert!(!is_flood || scene.resolver.mesh.index.capacity() < before / 8);
    }
}
