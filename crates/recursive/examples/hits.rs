//! Answers the same few questions from a warm cache again and again, for counting instructions:
//! `valgrind --tool=callgrind target/release/examples/hits given 200000`, once with twice the number: the difference is what that many hits take.
//!
//! `given`: as octets of before; `found`: from the cache each time. Then how many. With `edns`: with OPT and DO. With `many`: 300,000 names in no order, so that most of
//! the memory is in none of the processor's caches; with `alone`: without reading ahead.

mod warm;

use recursive::{Client, Responder, Served};
use resolve::Time;
use warm::{NAMES, NOW, Warm};

/// Names of which few are in the processor's caches.
const MANY: usize = 300_000;
/// Queries of a batch.
const BATCH: usize = 32;
/// From one name to the next: a number that has no factor in common with that of the names.
const STRIDE: usize = 7_919;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| words.iter().any(|said| said == word);
    let (is_given, has_ahead) = (has("given"), !has("alone"));
    let count: usize = words.get(1).and_then(|word| word.parse().ok()).unwrap_or(1_000_000);
    let names = if has("many") { MANY } else { NAMES };
    let warm = Warm::new(names, has("edns"));
    let (client, known) = (warm.client(), (&warm.policy, &warm.cache));
    let mut responder = Responder::new(1);
    let mut room = vec![0; 1232];
    let query = |at: usize| &warm.queries[at * STRIDE % names][..];
    let start = std::time::Instant::now();
    let mut octets = 0;
    for at in 0..count {
        let time = Time { now: NOW.plus_ms(at as u64 / 1000), wall: 0 };
        if has_ahead && at.is_multiple_of(BATCH) {
            responder.read_ahead((at..at + BATCH).map(query), &warm.cache);
        }
        let client = Client { ahead: has_ahead.then_some(at % BATCH), ..client };
        match responder.serve(query(at), &client, known, time, &mut room) {
            Served::Octets(written) => octets += written,
            served => panic!("{served:?}"),
        }
        if !is_given && at % names == NAMES - 1 {
            responder.forget();
        }
    }
    let each = start.elapsed().as_nanos() / count.max(1) as u128;
    println!("{count} hits, {octets} octets, {} given again, {each} ns each", responder.counters().rendered);
}
