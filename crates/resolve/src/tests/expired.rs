//! What has expired: given stale, or fetched before.

use std::cell::Cell;
use std::rc::Rc;

use super::example::{EXAMPLE, ROOT, TEST, WWW, check_www, scene};
use super::scripted::{Scene, lines, name};
use crate::limits::{PREFETCH_ONE_IN, STALE_AFTER_MS};
use crate::outcome::From;
use wire::iana::{ede, rcode, rtype};

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
    scene.pass(10_000);
    // It failed less than half a minute ago.
    let begun = scene.net.now;
    assert!(scene.resolve("www.example.test.", rtype::A).is_stale, "what is fresh is fetched behind it");
    assert_eq!(scene.net.now, begun);
    scene.pass(1_000);
    let outcome = scene.resolve("www.example.test.", rtype::A);
    assert_eq!((outcome.rcode, outcome.is_stale), (0, false));
    scene.check_nothing_held();
}

/// A name that is asked for each second while its servers are gone is tried every five seconds, and never waited for again; who joins a try is not, either.
#[test]
fn tried_again_behind_what_is_stale() {
    let dead = Rc::new(Cell::new(false));
    let is_dead = dead.clone();
    let mut scene = Scene::with(ROOT, |settings| settings.stale_after_ms = Some(STALE_AFTER_MS));
    scene.serve(2, &[("test.", TEST)]);
    scene.serve_so(3, &[("example.test.", EXAMPLE)], move |_, response| (!is_dead.get()).then_some(response));
    check_www(&mut scene);
    scene.pass(61_000);
    dead.set(true);
    assert!(scene.resolve("www.example.test.", rtype::A).is_stale);
    let (prefetches, begun) = (scene.resolver.counters().prefetches, scene.net.now);
    for second in 1..=40 {
        scene.pass(begun + second * 1_000 - scene.net.now);
        assert!(scene.resolve("www.example.test.", rtype::A).is_stale);
        assert!(scene.net.now <= begun + second * 1_000 + 1, "{second}");
    }
    let tries = scene.resolver.counters().prefetches - prefetches;
    assert!((6..=8).contains(&tries), "{tries}");
    // Nobody else was heard, and nobody is told so for a name of which nothing is kept.
    assert!(!scene.resolve("txt.example.test.", rtype::TXT).is_stale);
    dead.set(false);
    scene.pass(6_000);
    assert!(scene.resolve("www.example.test.", rtype::A).is_stale);
    scene.pass(100);
    assert!(!scene.resolve("www.example.test.", rtype::A).is_stale);
    scene.check_nothing_held();
}

/// As many are tried behind what is stale as may be fetched ahead; the others are given what is stale all the same.
#[test]
fn tries_behind_what_is_stale_are_few() {
    let dead = Rc::new(Cell::new(false));
    let is_dead = dead.clone();
    let mut scene = Scene::with(ROOT, |settings| {
        (settings.stale_after_ms, settings.tasks_max) = (Some(STALE_AFTER_MS), 2 * PREFETCH_ONE_IN);
    });
    scene.serve(2, &[("test.", TEST)]);
    scene.serve_so(3, &[("example.test.", EXAMPLE)], move |_, response| (!is_dead.get()).then_some(response));
    let names: Vec<String> = (0..6).map(|number| format!("n{number}.example.test.")).collect();
    names.iter().for_each(|name| assert_eq!(scene.resolve(name, rtype::A).rcode, rcode::NXDOMAIN));
    scene.pass(3_700_000);
    dead.set(true);
    names.iter().for_each(|name| assert!(scene.resolve(name, rtype::A).is_stale));
    scene.pass(5_000);
    let prefetches = scene.resolver.counters().prefetches;
    names.iter().for_each(|name| assert!(scene.resolve(name, rtype::A).is_stale));
    assert_eq!(scene.resolver.counters().prefetches - prefetches, 2);
    scene.check_nothing_held();
    assert_eq!(scene.resolver.prefetches, 0);
}

/// What is fresh and not kept, as it has TTL 0, ends it as well.
#[test]
fn fresh_with_ttl_zero() {
    let state = Rc::new(Cell::new(0));
    let of_server = state.clone();
    let mut scene = Scene::with(ROOT, |settings| settings.stale_after_ms = Some(STALE_AFTER_MS));
    scene.serve(2, &[("test.", TEST)]);
    scene.serve_so(3, &[("example.test.", EXAMPLE)], move |_, mut response| match of_server.get() {
        0 => Some(response),
        1 => None,
        _ => {
            response.sections[0].iter_mut().for_each(|record| record.2 = 0);
            Some(response)
        }
    });
    check_www(&mut scene);
    scene.pass(61_000);
    state.set(1);
    assert!(scene.resolve("www.example.test.", rtype::A).is_stale);
    state.set(2);
    scene.pass(6_000);
    assert!(scene.resolve("www.example.test.", rtype::A).is_stale);
    scene.pass(100);
    assert!(!scene.resolve("www.example.test.", rtype::A).is_stale);
    assert!(!scene.resolve("www.example.test.", rtype::A).is_stale);
}

/// What has expired longer ago than that is not given, though it may lie there still.
#[test]
fn stale_no_longer_than_it_may() {
    let dead = Rc::new(Cell::new(false));
    let is_dead = dead.clone();
    let mut scene = Scene::with(ROOT, |settings| settings.stale_after_ms = Some(300));
    scene.serve(2, &[("test.", TEST)]);
    scene.serve_so(3, &[("example.test.", EXAMPLE)], move |_, response| (!is_dead.get()).then_some(response));
    scene.net.cache.set_limits(&cache::Limits { stale_seconds: 8, ..scene.net.cache.limits() });
    check_www(&mut scene);
    dead.set(true);
    scene.pass(66_000);
    assert!(scene.resolve("www.example.test.", rtype::A).is_stale, "6 s after its end");
    scene.pass(30_000);
    let outcome = scene.resolve("www.example.test.", rtype::A);
    assert_eq!((outcome.rcode, outcome.is_stale), (2, false), "half a minute after");
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
