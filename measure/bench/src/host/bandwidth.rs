//! Bandwidth of memory by the size of what is worked on, with the four loops of the STREAM benchmark, on one core:
//!
//! | loop | does | counts for an element |
//! |---|---|---|
//! | copy | `c = a` | 16 octets |
//! | scale | `b = s * c` | 16 |
//! | add | `c = a + b` | 24 |
//! | triad | `a = b + s * c` | 24 |

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// Megabytes (10^6 octets) a second of each loop.
#[derive(Clone, Copy, Debug)]
pub struct Bandwidth {
    /// Octets of all three arrays together.
    pub octets: usize,
    /// The loops in the order of the table.
    pub copy: f64,
    /// `b = s * c`.
    pub scale: f64,
    /// `c = a + b`.
    pub add: f64,
    /// `a = b + s * c`.
    pub triad: f64,
}

/// Octets that a run works on at least before the clock is looked at.
const RUN_OCTETS: usize = 1 << 20;
const FACTOR: f64 = 3.0;

/// Runs each loop for about a quarter of `time`, twice at least; the best run of each counts.
pub fn measure(octets: usize, time: Duration) -> Bandwidth {
    let count = (octets / 24).max(16);
    let (mut a, mut b, mut c) = (vec![1.0f64; count], vec![2.0f64; count], vec![0.0f64; count]);
    let each = time / 4;
    // Copies go by hand, as the other loops: the library's would use instructions that pass by the caches.
    let copy = best(each, 16 * count, || {
        for (c, a) in c.iter_mut().zip(&a) {
            *c = *a;
        }
        black_box(&mut c);
    });
    let scale = best(each, 16 * count, || {
        for (b, c) in b.iter_mut().zip(&c) {
            *b = FACTOR * *c;
        }
        black_box(&mut b);
    });
    let add = best(each, 24 * count, || {
        for (c, (a, b)) in c.iter_mut().zip(a.iter().zip(&b)) {
            *c = *a + *b;
        }
        black_box(&mut c);
    });
    let triad = best(each, 24 * count, || {
        for (a, (b, c)) in a.iter_mut().zip(b.iter().zip(&c)) {
            *a = *b + FACTOR * *c;
        }
        black_box(&mut a);
    });
    Bandwidth { octets: count * 24, copy, scale, add, triad }
}

fn best(time: Duration, octets: usize, mut work: impl FnMut()) -> f64 {
    let rounds = (RUN_OCTETS / octets).max(1);
    let end = Instant::now() + time;
    let mut best = 0.0f64;
    for run in 0.. {
        let start = Instant::now();
        for _ in 0..rounds {
            work();
        }
        let seconds = start.elapsed().as_secs_f64().max(1e-9);
        best = best.max((octets * rounds) as f64 / seconds / 1e6);
        if run > 0 && Instant::now() >= end {
            break;
        }
    }
    best
}

impl Bandwidth {
    /// As a JSON object, rates in MB/s.
    pub fn json(&self) -> Value {
        json!({
            "octets": self.octets,
            "copy": self.copy,
            "scale": self.scale,
            "add": self.add,
            "triad": self.triad,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_loops_move_something() {
        let rates = measure(12 << 10, Duration::from_millis(4));
        assert_eq!(rates.octets, 12 << 10);
        for rate in [rates.copy, rates.scale, rates.add, rates.triad] {
            assert!(rate.is_finite() && rate > 1.0, "{rates:?}");
        }
    }
}
