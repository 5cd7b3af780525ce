//! Waiting for what takes a while: as long as any machine takes that does much else, so that a wait in vain means that something is broken.

use std::time::{Duration, Instant};

/// Longest wait. What is waited for takes some seconds at most, on a machine that compiles beside it some tens.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// From look to look: some looks start a program.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until something is so. Panics with `what` where it does not come.
#[track_caller]
pub fn await_that(what: &str, is_so: impl FnMut() -> bool) {
    await_or(|| format!("waited for {what}"), is_so);
}

/// As [`await_that`], with words that are made where it does not come.
#[track_caller]
pub fn await_or(words: impl FnOnce() -> String, mut is_so: impl FnMut() -> bool) {
    await_some(words, || is_so().then_some(()));
}

/// Waits until something is found, and returns it. Panics with `words` where it is not.
#[track_caller]
pub fn await_some<T>(words: impl FnOnce() -> String, mut find: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(Instant::now() < until, "{}", words());
        std::thread::sleep(PAUSE);
    }
}
