//! What has expired: given stale, or fetched before.

use std::cell::Cell;
use std::rc::Rc;

use super::example::{EXAMPLE, ROOT, TEST, WWW, check_www, scene};
use super::scripted::{Scene, lines, name};
use crate::limits::STALE_AFTER_MS;
use crate::outcome::From;
use wire::iana::{ede, rtype};

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
