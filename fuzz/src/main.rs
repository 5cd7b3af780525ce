//! All fuzz targets in one program, so that each crate is compiled and linked once: `fuzz/run TARGET [SECONDS]`.
//!
//! Which of them is run is said by an environment variable, as the arguments are libFuzzer's.

#![no_main]

mod image;
mod message;
mod message_layer;
mod pack;
mod tsig;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

/// Name of the variable that chooses the target.
const VARIABLE: &str = "ZONDA_FUZZ_TARGET";

/// A target takes any octets, and panics where something does not hold that must.
type Target = fn(&[u8]);

/// Names as in `fuzz/run` and `fuzz/seeds`.
const TARGETS: [(&str, Target); 13] = [
    ("message", message::run),
    ("message-layer", message_layer::run),
    // What must hold is said in `zonefile::fuzz`.
    ("zonefile", zonefile::fuzz::fuzz_zonefile),
    ("pack", pack::run),
    ("tsig", tsig::run),
    // Any octets as an update; what must hold is said in `change::fuzz`.
    ("update", change::fuzz::fuzz_update),
    // Any octets as frames of the API, as bodies and as paths; what must hold is said in `api::fuzz`.
    ("api", api::fuzz::fuzz_api),
    // Any octets as the response to a question of a secondary; what must hold is said in `transfer::incoming::fuzz`.
    ("transfer", transfer::incoming::fuzz::check_stream),
    // Any octets as the response of a server to a question that they choose; what must hold is said in `resolve::response::fuzz`.
    ("resolve-response", resolve::response::fuzz::check_response),
    // Responses put together from signed zones, with octets changed; what must hold is said in `validate::fuzz`.
    ("validate", validate::fuzz::check),
    ("journal", image::run),
    // Any octets as what a feeder and the server say to each other; what must hold is said in `feed::frame::fuzz`.
    ("feed-frame", feed::frame::fuzz::check_frames),
    // Any octets as a capture; what must hold is said in `bench::trace::fuzz`.
    ("trace", bench::trace::fuzz::fuzz_capture),
];

static CHOSEN: OnceLock<Target> = OnceLock::new();

/// Finds the target. Panics where the variable names none, which ends the program before anything is run.
fn choose() {
    let name = std::env::var(VARIABLE).unwrap_or_default();
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    let (_, target) = found.unwrap_or_else(|| panic!("{VARIABLE}={name}: not one of {:?}", TARGETS.map(|known| known.0)));
    CHOSEN.get_or_init(|| *target);
}

fuzz_target!(init: choose(), |data: &[u8]| (CHOSEN.get().expect("chosen first"))(data));
