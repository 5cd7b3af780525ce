//! The cache with more memory and with less, while it is asked.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use zonda_tests::exchange::udp;
use zonda_tests::message::Query;
use zonda_tests::patience::{await_or, await_that};
use zonda_tests::response::Response;
use zonda_tests::rtype;

use super::internet::{Resolver, in_internet};
use super::kept::fill;

/// RD (RFC 1035 4.1.1).
const RECURSION_DESIRED: u16 = 0x0100;
/// RFC 1035 4.1.1.
const NXDOMAIN: u16 = 3;
/// Names that are learned: half of what the smallest of the caches has room for.
const NAMES: usize = 4_000;
/// Clients seldom wait longer for what is kept. A scheduler's slice, as builds for tests clear memory by themselves and cores are shared.
const LATE: Duration = Duration::from_millis(200);
/// From size to size.
const SIZES: [u64; 4] = [67_108_864, 16_777_216, 8_388_608, 33_554_432];
/// Responses of each kind under each size, at least.
const AGAIN: usize = 8;

/// Tells the clients to end.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn stats(resolver: &Resolver) -> serde_json::Value {
    serde_json::from_str(&resolver.ctl(&["--json", "cache", "stats"])).expect("one reply")
}

fn resize(resolver: &Resolver, octets: usize) {
    let settings = fs::read_to_string(resolver.config()).expect("settings");
    let lines = settings.lines().map(|line| match line.starts_with("cache-octets") {
        true => format!("cache-octets = {octets}\n"),
        false => format!("{line}\n"),
    });
    fs::write(resolver.config(), lines.collect::<String>()).expect("settings");
    let said = resolver.ctl(&["reload"]);
    assert!(!said.contains("cache-octets"), "{said}");
}

/// Larger, smaller, and larger again: each name that was learned is answered from the cache all the time, and at the end nothing was asked of anybody again.
#[test]
fn a_reload_makes_the_cache_larger_and_smaller() {
    in_internet(|internet| {
        let resolver = internet.resolver("cache-octets = 8388608\n");
        fill(&resolver, NAMES);
        let before = stats(&resolver);
        // From here on the zone has nobody who could answer.
        internet.end("plain.org.");
        let (is_over, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
        let (new, late) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
        std::thread::scope(|scope| {
            let (resolver, is_over, answered) = (&resolver, &is_over, &answered);
            scope.spawn(move || {
                let mut number = 0;
                while !is_over.load(Ordering::Relaxed) {
                    number = (number + 7) % NAMES;
                    let query =
                        Query::new(&format!("n{number}.plain.org"), rtype::A).flags(RECURSION_DESIRED);
                    let begun = Instant::now();
                    let response = Response::parse(&udp(resolver.at(), &query.octets())).expect("a response");
                    assert_eq!(response.rcode(), NXDOMAIN, "n{number}: {}", resolver.log());
                    late.fetch_add(usize::from(begun.elapsed() > LATE), Ordering::Relaxed);
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
            // What nobody has asked for yet is found out meanwhile, and no client goes without an answer.
            scope.spawn(move || {
                for number in 0_u32.. {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    let name = format!("x{number}.wild.signed.org");
                    let query = Query::new(&name, rtype::A).flags(RECURSION_DESIRED);
                    let response = Response::parse(&udp(resolver.at(), &query.octets())).expect("a response");
                    assert_eq!(
                        (response.rcode(), response.answer.len()),
                        (0, 1),
                        "{name}: {}",
                        resolver.log()
                    );
                    new.fetch_add(1, Ordering::Relaxed);
                }
            });
            // However it ends.
            let _end = End(is_over);
            for octets in SIZES {
                resize(resolver, octets as usize);
                let is_done = || {
                    let said = stats(resolver);
                    let [all, resident] = [&said["octets"], &said["resident_octets"]].map(|one| one.as_u64());
                    all.is_some_and(|all| all <= octets && all > octets / 100 * 98)
                        && resident <= Some(octets)
                };
                await_or(|| format!("{} {}", stats(resolver), resolver.log()), is_done);
                // Clients of both kinds go on under the new size.
                let [old, unknown] = [answered, new].map(|one| one.load(Ordering::Relaxed) + AGAIN);
                await_that("clients that go on", || {
                    answered.load(Ordering::Relaxed) > old && new.load(Ordering::Relaxed) > unknown
                });
            }
        });
        let after = stats(&resolver);
        let [more, misses] = [&after, &before].map(|said| said["misses"].as_u64().unwrap_or(0));
        let new = new.load(Ordering::Relaxed) as u64;
        assert!(more - misses <= new, "{new} new names: {after}");
        assert!(after["entries"].as_u64() >= Some(NAMES as u64), "{after}");
        // Whoever shares the machine holds a client up now and then; a change of the size that did would each time.
        assert!(late.load(Ordering::Relaxed) < SIZES.len(), "{late:?} of {answered:?} waited over {LATE:?}");
        assert_eq!(resolver.log().matches(" octets, ").count(), SIZES.len(), "{}", resolver.log());
    });
}
