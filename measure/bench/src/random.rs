//! Seeded pseudo-random numbers: the same seed gives the same octets on every machine and release.
//!
//! xoshiro256++ (Blackman and Vigna) started from splitmix64. Only integer arithmetic and IEEE division
//! are used, so that nothing depends on a mathematical library. Not for anything secret.

/// A stream of pseudo-random numbers.
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

/// Draws ranks `0..count` with weights 1, 1/2, 1/3, … (Zipf's law with exponent 1, as name server and
/// name popularity roughly have it), or with those weights to a power.
#[derive(Clone, Debug)]
pub struct Zipf {
    cumulative: Vec<f64>,
}

impl Zipf {
    /// A law over `count` ranks, at least one, with exponent 1.
    pub fn new(count: usize) -> Zipf {
        Zipf::with_exponent(count, 10)
    }

    /// A law over `count` ranks, at least one, with an exponent of so many tenths.
    pub fn with_exponent(count: usize, tenths: u32) -> Zipf {
        let mut sum = 0.0;
        let cumulative = (1..=count.max(1)).map(|rank| {
            let rank = rank as f64;
            let fraction = if tenths.is_multiple_of(10) { 1.0 } else { power(tenth_root(rank), tenths % 10) };
            sum += 1.0 / (power(rank, tenths / 10) * fraction);
            sum
        });
        Zipf { cumulative: cumulative.collect() }
    }

    /// One rank; 0 is the most frequent.
    pub fn draw(&self, random: &mut Random) -> usize {
        let last = self.cumulative.len() - 1;
        let target = random.unit() * self.cumulative[last];
        self.cumulative.partition_point(|&sum| sum <= target).min(last)
    }
}

/// `value` multiplied by itself: the same octets everywhere, which `powf` does not promise.
fn power(value: f64, times: u32) -> f64 {
    (0..times).fold(1.0, |product, _| product * value)
}

/// The tenth root of a number from 1 on by Newton's method; 60 steps are enough for 64-bit numbers.
fn tenth_root(value: f64) -> f64 {
    // Any start above the root comes down to it; the eighth root is near, and IEEE 754 defines square roots exactly.
    let mut root = value.sqrt().sqrt().sqrt();
    for _ in 0..60 {
        root = (9.0 * root + value / power(root, 9)) / 10.0;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_same_stream() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            [random.next_u64(), random.next_u64(), random.below(1000)]
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert_ne!(Random::part(7, 1).next_u64(), Random::part(7, 2).next_u64());
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
    fn zipf_halves() {
        let law = Zipf::new(1000);
        let mut random = Random::new(2);
        let mut counts = vec![0u32; 1000];
        for _ in 0..200_000 {
            counts[law.draw(&mut random)] += 1;
        }
        let ratio = f64::from(counts[0]) / f64::from(counts[1]);
        assert!((1.9..2.1).contains(&ratio), "{ratio}");
        assert!(counts[999] < counts[9]);
    }

    #[test]
    fn other_exponents() {
        for rank in [1.0, 2.0, 1000.0, 1e8] {
            assert!((power(tenth_root(rank), 10) / rank - 1.0).abs() < 1e-12, "{rank}");
        }
        let share_of_first = |tenths| {
            let law = Zipf::with_exponent(1000, tenths);
            law.cumulative[0] / law.cumulative[999]
        };
        assert!(share_of_first(11) > share_of_first(10) && share_of_first(10) > share_of_first(9));
        assert!((share_of_first(0) - 0.001).abs() < 1e-12);
    }

    #[test]
    fn shuffle_keeps_items() {
        let mut items: Vec<u32> = (0..100).collect();
        Random::new(3).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
