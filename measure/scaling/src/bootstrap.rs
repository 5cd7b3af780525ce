//! The bootstrap: how far off a number may be that was worked out from few values, by what it is for as many drawn from them, again and again.

use sync::Random;

/// Of so many draws one is left out at either end of an interval, which leaves 95 %; of fewer none is.
pub const ONE_OF: usize = 40;

/// Places of as many values as there are, each drawn from all. `count`: 1 at least.
pub fn drawn(count: usize, random: &mut Random) -> Vec<usize> {
    (0..count).map(|_| random.index(count)).collect()
}

/// Ends of the interval that the numbers of all draws give; they are sorted. `None` without a number.
pub fn interval(numbers: &mut [f64]) -> Option<(f64, f64)> {
    numbers.sort_by(f64::total_cmp);
    let left_out = numbers.len() / ONE_OF;
    let inner = &numbers[left_out..numbers.len() - left_out];
    inner.first().copied().zip(inner.last().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_draws() {
        let mut many: Vec<f64> = (0..ONE_OF).rev().map(|number| number as f64).collect();
        assert_eq!(interval(&mut many), Some((1.0, 38.0)));
        assert_eq!((interval(&mut [3.0, 1.0, 2.0]), interval(&mut [])), (Some((1.0, 3.0)), None));
    }

    #[test]
    fn values_are_drawn_from_all() {
        let mut random = Random::new(1);
        let mut counts = [0; 5];
        for _ in 0..1000 {
            let places = drawn(5, &mut random);
            assert_eq!(places.len(), 5);
            places.into_iter().for_each(|place| counts[place] += 1);
        }
        assert!(counts.iter().all(|count| (900..1100).contains(count)), "{counts:?}");
    }
}
