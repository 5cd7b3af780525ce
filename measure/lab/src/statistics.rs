//! Medians and their intervals: what several values of one figure say together.
//!
//! Values are of a distribution that nobody knows, and there are few. An interval is therefore between two of the values:
//! of `n` in order the `k`-th from below and the `k`-th from above. The median of what they are drawn from is outside if
//! fewer than `k` values are below it, or fewer than `k` above it, and each value is on either side with a probability of
//! one half whatever the distribution: the interval holds it with `1 - 2 P(Bin(n, 1/2) < k)`, its *coverage*.
//! (H. A. David, H. N. Nagaraja, Order Statistics, 3rd edition, 7.1.)

/// What an interval shall cover.
pub const COVERAGE: f64 = 0.95;
/// What each of two intervals shall cover that make one of their ratio at [`COVERAGE`]: each may fail in half of the cases.
pub const COVERAGE_OF_TWO: f64 = 0.975;
/// Fewer values have no interval: from the least to the greatest of five is 93.8 %.
pub const VALUES_MIN: usize = 6;

/// The middle value. Of an even number it lies between the two in the middle: it is their geometric mean where all values are above 0, as
/// those multiply (rates, times, ratios), and halfway elsewhere. 0 of nothing.
pub fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[middle],
        _ if sorted[0] > 0.0 => (sorted[middle - 1] * sorted[middle]).sqrt(),
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
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

/// The interval of the median with a coverage of 95 % or more, of values of any kind; `None` of fewer than [`VALUES_MIN`].
pub fn interval(values: &[f64]) -> Option<(f64, f64)> {
    interval_that_covers(values, COVERAGE)
}

/// The interval of the median with a coverage of `share` or more, `0.0..1.0`; `None` of values too few for it.
pub fn interval_that_covers(values: &[f64], share: f64) -> Option<(f64, f64)> {
    let (rank, _) = rank(values.len(), share)?;
    let sorted = sorted(values);
    Some((sorted[rank - 1], sorted[sorted.len() - rank]))
}

/// What the [`interval`] of so many values covers, `0.0..1.0`; `None` of fewer than [`VALUES_MIN`].
pub fn coverage(count: usize) -> Option<f64> {
    rank(count, COVERAGE).map(|(_, coverage)| coverage)
}

/// The greatest `k`, from 1, whose interval covers `share` or more, and what it covers. Linear in `count`.
fn rank(count: usize, share: f64) -> Option<(usize, f64)> {
    // Logarithm of the probability that exactly `below` of the values are below the median: 2^-count would be 0 for many.
    let mut logarithm = -(count as f64) * std::f64::consts::LN_2;
    let (mut found, mut outside) = (None, 0.0);
    for below in 0..count / 2 {
        outside += 2.0 * logarithm.exp();
        if 1.0 - outside < share {
            break;
        }
        found = Some((below + 1, 1.0 - outside));
        logarithm += ((count - below) as f64 / (below + 1) as f64).ln();
    }
    found
}

/// What the means of samples are within by so many of their standard errors, either way, in 95 of 100 cases: the 97.5 % quantile of
/// Student's distribution. `degrees`: from 1; as with 1 below.
pub fn student(degrees: usize) -> f64 {
    /// Of 1 to 10 degrees of freedom.
    const TABLE: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    /// That of the normal distribution.
    const NORMAL: f64 = 1.959_964;
    let degrees = degrees.max(1);
    TABLE.get(degrees - 1).copied().unwrap_or_else(|| {
        // The first terms in 1 / degrees (M. Abramowitz, I. Stegun, Handbook of Mathematical Functions, 26.7.5).
        let (z, share) = (NORMAL, 1.0 / degrees as f64);
        let first = (z.powi(3) + z) / 4.0;
        let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
        let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
        z + share * (first + share * (second + share * third))
    })
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use bench::random::Random;

    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        // Twice and half are as far from 1; where something is 0, or less, nothing multiplies.
        assert_eq!(median(&[4.0, 0.5, 2.0, 0.25]), 1.0);
        assert_eq!(median(&[1e-3, 1e-3]), 1e-3);
        assert_eq!((median(&[0.0, 2.0]), median(&[-1.0, 4.0])), (1.0, 1.5));
        assert_eq!(ends(&[2.0, 1.0, 5.0]), (1.0, 5.0));
        assert_eq!(mean(&[1.0, 2.0]), 1.5);
    }

    /// Ranks and coverages as tables of order statistics have them.
    #[test]
    fn ranks() {
        let found = |count| rank(count, COVERAGE).map(|(rank, coverage)| (rank, (coverage * 1000.0).round()));
        for (count, expected) in [
            (0, None),
            (1, None),
            (5, None),
            (6, Some((1, 969.0))),
            (7, Some((1, 984.0))),
            (8, Some((1, 992.0))),
            (9, Some((2, 961.0))),
            (10, Some((2, 979.0))),
            (11, Some((2, 988.0))),
            (20, Some((6, 959.0))),
        ] {
            assert_eq!(found(count), expected, "{count} values");
        }
        assert_eq!(rank(6, COVERAGE_OF_TWO), None);
        assert_eq!(rank(7, COVERAGE_OF_TWO).unwrap().0, 1);
        // Far beyond where 2^-count is a number.
        let (rank, coverage) = rank(10_000, COVERAGE).unwrap();
        assert!((4898..=4905).contains(&rank) && (0.95..0.96).contains(&coverage), "{rank} {coverage}");
    }

    #[test]
    fn quantiles_as_tables_have_them() {
        let known =
            [(0, 12.706), (1, 12.706), (2, 4.303), (10, 2.228), (11, 2.201), (20, 2.086), (60, 2.000)];
        for (degrees, expected) in known {
            assert!((student(degrees) - expected).abs() < 0.001, "{degrees}: {}", student(degrees));
        }
    }

    #[test]
    fn intervals_are_between_values() {
        let values = [7.0, 1.0, 3.0, 2.0, 9.0, 4.0];
        assert_eq!(interval(&values[..5]), None);
        assert_eq!(interval(&values), Some((1.0, 9.0)));
        assert_eq!(interval(&[5.0, 3.0, 4.0, 1.0, 2.0, 9.0, 7.0, 8.0, 6.0]), Some((2.0, 8.0)));
        assert_eq!(coverage(5), None);
        assert!((coverage(6).unwrap() - 0.968_75).abs() < 1e-9);
    }

    /// Of many draws from a skewed distribution, the share whose interval holds its median.
    fn held(count: usize, draw: impl Fn(f64) -> f64, true_median: f64) -> f64 {
        const DRAWS: usize = 20_000;
        let mut random = Random::new(count as u64);
        let mut is_held = || {
            let values: Vec<f64> =
                (0..count).map(|_| draw((random.index(1 << 30) as f64 + 0.5) / f64::from(1 << 30))).collect();
            let (low, high) = interval(&values).unwrap();
            low <= true_median && true_median <= high
        };
        (0..DRAWS).filter(|_| is_held()).count() as f64 / DRAWS as f64
    }

    /// Intervals hold what they claim, whatever values are drawn from: exponential, Pareto without a mean, and a mixture
    /// of a quiet machine and one that is disturbed in a third of the runs.
    #[test]
    fn intervals_cover_what_they_claim() {
        let exponential = |uniform: f64| -uniform.ln();
        let pareto = |uniform: f64| uniform.powf(-1.25);
        let disturbed = |uniform: f64| if uniform < 2.0 / 3.0 { uniform } else { 10.0 * uniform };
        for count in [6, 7, 9, 10, 20] {
            let claimed = coverage(count).unwrap();
            for (name, share) in [
                ("exponential", held(count, exponential, 2f64.ln())),
                ("Pareto", held(count, pareto, 2f64.powf(1.25))),
                ("disturbed", held(count, disturbed, 0.5)),
            ] {
                // Three and a half standard errors of 20,000 draws.
                assert!((share - claimed).abs() < 0.0055, "{name}, {count}: {share} of {claimed}");
            }
        }
    }
}
