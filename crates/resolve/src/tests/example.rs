//! The scene of most tests: a root, a zone below it, and one below that, whose server does what a test makes of it.

use super::scripted::{Response, Scene, lines};
use wire::iana::{rcode, rtype};

pub const ROOT: &str = "test. 86400 NS ns.test.
                    ns.test. 86400 A 192.0.9.2";

pub const TEST: &str = "example.test. 3600 NS ns.example.test.
                    ns.example.test. 3600 A 192.0.9.3";

pub const EXAMPLE: &str = "www.example.test. 60 A 203.0.113.1
                       txt.example.test. 60 TXT words
                       alias.example.test. 60 CNAME www.example.test.";

pub const WWW: &str = "www.example.test. A 203.0.113.1";

/// root (1) -> test. (2) -> example.test. (3), whose server does what `behaviour` makes of it.
pub fn scene(
    behaviour: impl FnMut(&super::scripted::Question, Response) -> Option<Response> + 'static,
) -> Scene {
    let mut scene = Scene::new(ROOT);
    scene.serve(2, &[("test.", TEST)]);
    scene.serve_so(3, &[("example.test.", EXAMPLE)], behaviour);
    scene
}

#[track_caller]
pub fn check_www(scene: &mut Scene) {
    let outcome = scene.resolve("www.example.test.", rtype::A);
    assert_eq!((outcome.rcode, lines(&outcome)), (0, vec![WWW.to_owned()]), "{outcome:?}");
}

#[track_caller]
pub fn check_fails(scene: &mut Scene, text: &str, why: u16) {
    let outcome = scene.resolve(text, rtype::A);
    assert_eq!((outcome.rcode, outcome.edes[0]), (rcode::SERVFAIL, Some(why)), "{outcome:?}");
}
