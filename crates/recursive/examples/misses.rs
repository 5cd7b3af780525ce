//! Has the same few thousand names found out again and again, for counting instructions:
//! `valgrind --tool=callgrind target/release/examples/misses 20000`, once with twice the number: the difference is what that many misses take, sockets apart.

mod common;

fn main() {
    let count = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(1_000_000);
    let mut misses = common::Misses::new();
    let start = std::time::Instant::now();
    let octets = misses.run(count);
    let each = start.elapsed().as_nanos() / count.max(1) as u128;
    println!("{count} misses, {octets} octets, {each} ns each");
}
