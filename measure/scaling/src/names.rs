//! Which names are asked for, and in which of several buckets a name is.

use sync::Random;

/// Popularity of names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Names {
    /// All alike, and so many of them that no two queries meet but in a bucket.
    Uniform,
    /// As a root server was asked (USENIX 2006, 6.1.3): the first name 22.9 %, the first six more than a half.
    Skewed,
}

/// Share of the first name: `.BR`.
const FIRST_SHARE: f64 = 0.229;
/// Share of the first six; the paper says *more than a half*.
const SIX_SHARE: f64 = 0.51;

impl Names {
    /// The name of a query.
    pub(crate) fn draw(self, random: &mut Random) -> u64 {
        if self == Names::Uniform {
            return random.next_u64();
        }
        let at = random.unit();
        if at < FIRST_SHARE {
            0
        } else if at < SIX_SHARE {
            1 + ((at - FIRST_SHARE) / (SIX_SHARE - FIRST_SHARE) * 5.0) as u64
        } else {
            random.next_u64()
        }
    }
}

/// The name that a name leads to.
pub(crate) fn next(name: u64) -> u64 {
    Random::new(name).next_u64()
}

/// The bucket of a name among `count`, which is not 0; `of` tells sets of buckets apart.
pub(crate) fn bucket(name: u64, of: usize, count: usize) -> usize {
    Random::part(name, of as u64 + 1).index(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_six_have_half() {
        let mut random = Random::part(1, 1);
        let names: Vec<u64> = (0..20_000).map(|_| Names::Skewed.draw(&mut random)).collect();
        let share =
            |most: u64| names.iter().filter(|&&name| name <= most).count() as f64 / names.len() as f64;
        assert!((share(0) - FIRST_SHARE).abs() < 0.01 && (share(5) - SIX_SHARE).abs() < 0.01);
    }

    #[test]
    fn buckets_are_filled_alike() {
        let mut random = Random::part(2, 1);
        let mut counts = [0usize; 7];
        for _ in 0..70_000 {
            counts[bucket(Names::Uniform.draw(&mut random), 3, 7)] += 1;
        }
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
    }
}
