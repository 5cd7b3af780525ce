//! Secondary zones and primaries of every kind: those that are away, refuse, lie, are behind or send too much; and what operators are told of it.

mod ages;
mod exchanged;
mod fake;
mod persist;
mod primaries;

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use zonda_tests::patience::{await_some, await_that};
use zonda_tests::server::{Server, ctl};

use crate::secondary::{ORIGIN, kill, of_secondary, rcode, records, serial, start, update, words};

/// Settings of a secondary of the zone that signs nothing. `more`: further lines of `[secondary]`.
fn unsigned(folder: &Path, primary: SocketAddr, more: &str) -> String {
    of_secondary(folder, primary, more).replace("key = \"k.\"\n", "")
}

/// Has a server use other settings.
#[track_caller]
fn reconfigure(server: &Server, folder: &Path, change: impl FnOnce(String) -> String) {
    let path = folder.join("zonda.toml");
    let text = std::fs::read_to_string(&path).expect("settings");
    std::fs::write(&path, change(text)).expect("settings");
    let output = ctl(server, &["reconfigure"]);
    assert!(output.status.success(), "{output:?}");
}

/// Has a primary be asked whether the zone is current, which it is.
#[track_caller]
fn check(server: &Server, primary: &fake::Fake) {
    let before = primary.asked().0;
    assert!(ctl(server, &["refresh", ORIGIN]).status.success());
    await_that("a question", || primary.asked().0 > before);
    // The answer is on its way.
    std::thread::sleep(Duration::from_millis(50));
}

/// Waits until the words of the zone have all of these; returns them.
#[track_caller]
fn await_words(server: &Server, parts: &[&str]) -> String {
    await_some(
        || format!("expected {parts:?} in\n{}", words(server)),
        || Some(words(server)).filter(|words| parts.iter().all(|part| words.contains(part))),
    )
}
