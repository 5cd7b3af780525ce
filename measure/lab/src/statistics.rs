//! Medians and their intervals: what several values of one figure say together.

use bench::random::Random;

/// Draws of the bootstrap: enough for the second digit of an interval.
const DRAWS: usize = 2000;
/// Always the same draws, so that the same record gives the same interval.
const SEED: u64 = 1;
/// Fewer values than this have no interval.
const VALUES_MIN: usize = 3;
/// Ends of the interval.
const ENDS: (f64, f64) = (0.025, 0.975);

/// The middle value, or the mean of the two in the middle; 0 of nothing.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.len(), sorted.len() / 2) {
        (0, _) => 0.0,
        (count, middle) if count % 2 == 0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
        (_, middle) => sorted[middle],
    }
}

/// Mean; 0 of nothing.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Least and greatest value; zeros of nothing.
pub fn ends(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().min_by(f64::total_cmp).unwrap_or_default();
    (least, values.iter().copied().max_by(f64::total_cmp).unwrap_or_default())
}

/// Median of values that multiply, such as rates and ratios: of their logarithms. 0 where one of them is not above 0.
pub fn median_of_logarithms(values: &[f64]) -> f64 {
    logarithms(values).map_or(0.0, |logarithms| median(&logarithms).exp())
}

/// The 95 % interval of the median by bootstrap: medians of as many values drawn from these, again and again.
pub fn interval(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < VALUES_MIN {
        return None;
    }
    let mut random = Random::new(SEED);
    let mut draw = || {
        let drawn: Vec<f64> = values.iter().map(|_| values[random.index(values.len())]).collect();
        median(&drawn)
    };
    let mut medians: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
    medians.sort_by(f64::total_cmp);
    let at = |share: f64| medians[(DRAWS as f64 * share) as usize];
    Some((at(ENDS.0), at(ENDS.1)))
}

/// The same for values that multiply.
pub fn interval_of_logarithms(values: &[f64]) -> Option<(f64, f64)> {
    let (low, high) = interval(&logarithms(values)?)?;
    Some((low.exp(), high.exp()))
}

fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    let all = !values.is_empty() && values.iter().all(|&value| value > 0.0);
    all.then(|| values.iter().map(|value| value.ln()).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!((median_of_logarithms(&[0.5, 2.0]) - 1.0).abs() < 1e-12);
        assert_eq!(median_of_logarithms(&[0.0, 2.0]), 0.0);
        assert_eq!(ends(&[2.0, 1.0, 5.0]), (1.0, 5.0));
        assert_eq!(mean(&[1.0, 2.0]), 1.5);
    }

    #[test]
    fn intervals_hold_the_median_and_shrink() {
        assert_eq!(interval(&[1.0, 2.0]), None);
        let mut random = Random::new(5);
        let mut values = |count| (0..count).map(|_| 100.0 + random.index(21) as f64).collect::<Vec<_>>();
        let (few, many) = (values(5), values(200));
        let width = |values: &[f64]| {
            let (low, high) = interval(values).unwrap();
            assert!(low <= median(values) && median(values) <= high);
            high - low
        };
        assert!(width(&many) < width(&few));
        let (low, high) = interval_of_logarithms(&[0.9, 1.0, 1.1, 1.0, 1.05]).unwrap();
        assert!((0.9..=1.0).contains(&low) && (1.0..=1.1).contains(&high));
    }
}
