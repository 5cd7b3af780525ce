//! Laws that workloads are drawn from, from the pseudo-random numbers of a seed.

pub use sync::Random;

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
}
