//! Latency of memory by the size of what is worked on: a walk in which each load says where the next one goes.
//!
//! The places are one cache line apart and follow each other in one cycle by chance, so that neither the prefetchers
//! nor the order of execution can hide anything. The figure includes what the translation of addresses costs.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use crate::random::Random;

/// Octets between two places: a line of nearly every cache.
const LINE_OCTETS: usize = 64;
/// Places of 8 octets in a line.
const WORDS: usize = LINE_OCTETS / 8;
/// Loads between two looks at the clock.
const LOADS: usize = 1 << 14;

/// Nanoseconds of one load in a working set of so many octets: the best of all runs within about `time`, and of
/// two at least.
pub fn measure(octets: usize, time: Duration, seed: u64) -> f64 {
    let places = cycle((octets / LINE_OCTETS).max(2), seed);
    let mut at = 0;
    // Once around, so that what fits a cache is there; large sets would take too long and profit little.
    at = walk(&places, at, (places.len() / WORDS).min(1 << 20));
    let end = Instant::now() + time;
    let mut best = f64::INFINITY;
    for run in 0.. {
        let start = Instant::now();
        at = walk(&places, at, LOADS);
        best = best.min(start.elapsed().as_nanos() as f64 / LOADS as f64);
        if run > 0 && Instant::now() >= end {
            break;
        }
    }
    black_box(at);
    best
}

/// Follows so many loads from `at`; returns where they end.
fn walk(places: &[u64], mut at: usize, loads: usize) -> usize {
    for _ in 0..loads {
        at = places[at] as usize;
    }
    at
}

/// Words of which the first of each line holds the place of another line's first: one cycle through all lines.
fn cycle(lines: usize, seed: u64) -> Vec<u64> {
    let mut order: Vec<u32> = (0..lines as u32).collect();
    Random::part(seed, 13).shuffle(&mut order);
    let mut places = vec![0u64; lines * WORDS];
    let next = order[1..].iter().chain(&order[..1]);
    for (&from, &to) in order.iter().zip(next) {
        places[from as usize * WORDS] = u64::from(to) * WORDS as u64;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cycle_through_all_lines() {
        for lines in [2, 3, 100, 1000] {
            let places = cycle(lines, 1);
            let (mut at, mut seen) = (0, 0);
            loop {
                at = places[at] as usize;
                seen += 1;
                if at == 0 {
                    break;
                }
            }
            assert_eq!(seen, lines);
        }
    }

    #[test]
    fn large_sets_are_slower() {
        let time = Duration::from_millis(5);
        let (small, large) = (measure(4 << 10, time, 1), measure(64 << 20, time, 1));
        assert!(small > 0.0 && large > small, "{small} {large}");
    }
}
