//! Random numbers of three kinds, the only ones of this project that are not a test's own.
//!
//! | | for | comes from |
//! |---|---|---|
//! | [`fill_from_system`] | seeds, secrets | the system |
//! | [`Unguessable`] | what others see and must not foretell: IDs, ports, cookies of clients | ChaCha20, keyed by the system |
//! | [`Random`] | all else: sampling, jitter, workloads that a seed repeats | xoshiro256++ |
//!
//! A value belongs to one thread; nothing is shared, and only a start and a new key ask the system.

use rustix::rand::{GetRandomFlags, getrandom};
use std::io;

mod chacha;

pub use chacha::Unguessable;

/// Fills `octets` with the system's random numbers; waits only while the machine has just started and has none yet.
pub fn fill_from_system(octets: &mut [u8]) -> io::Result<()> {
    let mut rest = octets;
    while !rest.is_empty() {
        match getrandom(&mut *rest, GetRandomFlags::empty()) {
            Ok(filled) => rest = &mut rest[filled..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Seeded pseudo-random numbers: the same seed gives the same octets on every machine and release.
///
/// xoshiro256++ (Blackman and Vigna) started from splitmix64. Only integer arithmetic and IEEE division are used, so that nothing
/// depends on a mathematical library. Who sees some of them can compute the others: not for anything secret.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Random {
        let mut mix = seed;
        Random { state: std::array::from_fn(|_| split_mix(&mut mix)) }
    }

    /// An independent stream for a part of the work, so that a change in one part leaves the others alone.
    pub fn part(seed: u64, part: u64) -> Random {
        Random::new(seed ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// A stream that is another each time.
    pub fn from_system() -> io::Result<Random> {
        let mut seed = [0; 8];
        fill_from_system(&mut seed)?;
        Ok(Random::new(u64::from_ne_bytes(seed)))
    }

    /// Any 64-bit number.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number in `0..bound`; 0 where `bound` is 0. The bias of at most `bound / 2^64` is of no account here.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// An index into something of `length` items.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// True in `share` of all calls; `share` from 0 to 1.
    pub fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    /// A number in `0.0..1.0` with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Puts `items` in random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.index(last + 1);
            items.swap(last, other);
        }
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Recorded workloads are made of these.
    #[test]
    fn same_seed_same_stream() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            [random.next_u64(), random.next_u64(), random.below(1000)]
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert_ne!(Random::part(7, 1).next_u64(), Random::part(7, 2).next_u64());
        assert_eq!(
            split_mix(&mut 1_234_567),
            6_457_827_717_110_365_317,
            "the reference's first for this seed"
        );
    }

    #[test]
    fn bounds_and_shares() {
        let mut random = Random::new(1);
        assert!((0..10_000).all(|_| random.below(3) < 3));
        assert_eq!(random.below(0), 0);
        let hits = (0..100_000).filter(|_| random.chance(0.3)).count();
        assert!((29_000..31_000).contains(&hits), "{hits}");
    }

    #[test]
    fn shuffle_keeps_items() {
        let mut items: Vec<u32> = (0..100).collect();
        Random::new(3).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn the_system_fills_all() {
        let mut octets = [0; 1000];
        fill_from_system(&mut octets).unwrap();
        assert!(octets.chunks(20).all(|part| part.iter().any(|octet| *octet != 0)));
        assert_ne!(Random::from_system().unwrap().next_u64(), Random::from_system().unwrap().next_u64());
    }
}
