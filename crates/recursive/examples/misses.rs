//! Has the same few thousand names found out again and again, for counting instructions:
//! `valgrind --tool=callgrind target/release/examples/misses 20000`, once with twice the number: the difference is what that many misses take, sockets apart.
//!
//! `misses COUNT [plain|unanchored|signed|absent|denied] [areas|system] [WORKERS]`: whether answers are validated, and where memory comes from that lives for one event: from work areas
//! that all workers share, or from the system's allocator, piece by piece. For signed answers, give both counts above 2,000: until then every signature is verified once.

mod common;

use common::{Answers, Misses};
use std::sync::Arc;
use std::time::Instant;
use sync::Areas;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |at: usize| words.get(at).map(String::as_str);
    let count: usize = word(0).and_then(|word| word.parse().ok()).unwrap_or(1_000_000);
    let named = |name: &str| Answers::ALL.into_iter().find(|(known, _)| *known == name);
    let (kind, answers) = word(1).and_then(named).unwrap_or(Answers::ALL[0]);
    let areas = Arc::new(Areas::new());
    let has_areas = word(2) != Some("system");
    let workers = word(3).and_then(|word| word.parse().ok()).unwrap_or(1);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let areas = &areas;
            scope.spawn(move || {
                let mut misses = Misses::new(answers);
                if has_areas {
                    misses.work_in(Arc::clone(areas));
                }
                let start = Instant::now();
                let octets = misses.run(count);
                let each = start.elapsed().as_nanos() / count.max(1) as u128;
                let pieces = misses.system_pieces();
                println!(
                    "{count} misses, {kind}, {octets} octets, {pieces} pieces of the system's, {each} ns each"
                );
            });
        }
    });
    println!("{} areas", areas.made());
}
