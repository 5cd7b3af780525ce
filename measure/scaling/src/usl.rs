//! The universal scalability law (Gunther): the rate of `n` cores is that of one times
//! `C(n) = n / (1 + α (n - 1) + β n (n - 1))`; α: share that goes one at a time, β: what each pair of cores costs.
//!
//! `n / rate` is linear in `1/λ`, `α/λ` and `β/λ` with λ the rate of one: least squares of relative errors, solved as
//! three equations. A parameter below 0 means nothing here; it is set to 0 and the others fitted without it.

use sync::Random;

use crate::bootstrap;

/// What fits best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    /// Rate of one core.
    pub one: f64,
    /// α.
    pub alpha: f64,
    /// β.
    pub beta: f64,
}

/// A law, and the 95 % intervals of its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Of all rates.
    pub law: Law,
    /// Lower and upper end; absent where fewer than [`BLOCKS_MIN`] blocks are there.
    pub alpha: Option<(f64, f64)>,
    /// The same for β; also absent where β was not fitted, with fewer than three numbers of cores.
    pub beta: Option<(f64, f64)>,
}

/// Rates with so many cores, one a block of the measurement or simulation.
#[derive(Clone, Debug)]
pub struct Rates {
    /// Cores.
    pub cores: usize,
    /// Rates by block; a block has the same place with all numbers of cores.
    pub blocks: Vec<f64>,
}

/// Fewer blocks than this have no interval.
pub const BLOCKS_MIN: usize = 3;
/// Draws of the bootstrap: enough for the second digit of an interval.
const DRAWS: usize = 1000;
/// Always the same draws.
const SEED: u64 = 11;

impl Law {
    /// The rate of so many cores over that of one.
    pub fn growth(&self, cores: f64) -> f64 {
        cores / (1.0 + self.alpha * (cores - 1.0) + self.beta * cores * (cores - 1.0))
    }

    /// The rate of so many cores.
    pub fn rate(&self, cores: f64) -> f64 {
        self.one * self.growth(cores)
    }

    /// With how many cores the rate is highest; `None`: it always grows.
    pub fn peak(&self) -> Option<f64> {
        (self.beta > 0.0).then(|| ((1.0 - self.alpha).max(0.0) / self.beta).sqrt().max(1.0))
    }
}

/// The law of these rates by number of cores; `None` with fewer than two numbers of cores or a rate that is none. With two
/// numbers β is 0.
pub fn fit(points: &[(usize, f64)]) -> Option<Law> {
    let mut numbers: Vec<usize> = points.iter().map(|&(cores, _)| cores).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let is_rate = |rate: f64| rate.is_finite() && rate > 0.0;
    if numbers.len() < 2 || numbers[0] == 0 || points.iter().any(|&(_, rate)| !is_rate(rate)) {
        return None;
    }
    let wanted: &[[bool; 3]] = match numbers.len() {
        2 => &[[true, true, false], [true, false, false]],
        _ => &[[true, true, true], [true, true, false], [true, false, true], [true, false, false]],
    };
    let solved = wanted.iter().filter_map(|&is_used| solve(points, is_used));
    solved.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(law, _)| law)
}

/// Least squares with some of the three parameters, and the sum of squares; `None` where one of them comes out below 0.
fn solve(points: &[(usize, f64)], is_used: [bool; 3]) -> Option<(Law, f64)> {
    let row = |&(cores, rate): &(usize, f64)| {
        let (n, weight) = (cores as f64, rate / cores as f64);
        let columns = [1.0, n - 1.0, n * (n - 1.0)];
        [0, 1, 2].map(|at| if is_used[at] { columns[at] * weight } else { 0.0 })
    };
    let rows: Vec<[f64; 3]> = points.iter().map(row).collect();
    let mut matrix = [[0.0; 4]; 3];
    for (at, line) in matrix.iter_mut().enumerate() {
        for row in &rows {
            for (other, cell) in line.iter_mut().take(3).enumerate() {
                *cell += row[at] * row[other];
            }
            // Each relative rate shall be 1.
            line[3] += row[at];
        }
        if !is_used[at] {
            line[at] = 1.0;
        }
    }
    let [a, b, c] = eliminate(matrix)?;
    let has_all = a > 0.0 && b >= 0.0 && c >= 0.0;
    let squares = rows.iter().map(|row| (row[0] * a + row[1] * b + row[2] * c - 1.0).powi(2)).sum();
    has_all.then_some((Law { one: 1.0 / a, alpha: b / a, beta: c / a }, squares))
}

/// Gauss with the greatest element first; each line scaled, as their columns differ by powers of ten.
fn eliminate(mut matrix: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    for line in &mut matrix {
        let most = line.iter().take(3).fold(0.0f64, |most, cell| most.max(cell.abs()));
        line.iter_mut().for_each(|cell| *cell /= most);
    }
    for at in 0..3 {
        let pivot =
            (at..3).max_by(|&one, &other| matrix[one][at].abs().total_cmp(&matrix[other][at].abs()))?;
        matrix.swap(at, pivot);
        // Also where it is no number.
        if matrix[at][at].abs() <= 1e-14 || matrix[at][at].is_nan() {
            return None;
        }
        let line = matrix[at];
        for (_, other) in matrix.iter_mut().enumerate().filter(|(place, _)| *place != at) {
            let factor = other[at] / line[at];
            for (cell, of) in other.iter_mut().zip(line) {
                *cell -= factor * of;
            }
        }
    }
    Some([0, 1, 2].map(|at| matrix[at][3] / matrix[at][at]))
}

/// The law of the means of blocks, with intervals by bootstrap over blocks: as many blocks drawn from those there are,
/// the same for all numbers of cores, again and again.
pub fn fit_blocks(rates: &[Rates]) -> Option<Fit> {
    let of = |choose: &dyn Fn(&[f64]) -> f64| -> Vec<(usize, f64)> {
        rates.iter().map(|rates| (rates.cores, choose(&rates.blocks))).collect()
    };
    let law = fit(&of(&mean))?;
    let blocks = rates.iter().map(|rates| rates.blocks.len()).min().unwrap_or(0);
    if blocks < BLOCKS_MIN {
        return Some(Fit { law, alpha: None, beta: None });
    }
    let mut random = Random::part(SEED, 1);
    let mut laws = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        let drawn = bootstrap::drawn(blocks, &mut random);
        let sum = |values: &[f64]| drawn.iter().map(|&at| values[at]).sum::<f64>() / blocks as f64;
        laws.extend(fit(&of(&sum)));
    }
    let interval =
        |part: fn(&Law) -> f64| bootstrap::interval(&mut laws.iter().map(part).collect::<Vec<_>>());
    let is_beta_fitted = rates.len() > 2;
    Some(Fit {
        law,
        alpha: interval(|law| law.alpha),
        beta: interval(|law| law.beta).filter(|_| is_beta_fitted),
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const LAW: Law = Law { one: 1000.0, alpha: 0.05, beta: 0.002 };

    fn points(law: &Law, numbers: &[usize]) -> Vec<(usize, f64)> {
        numbers.iter().map(|&cores| (cores, law.rate(cores as f64))).collect()
    }

    #[track_caller]
    fn same(found: Law, expected: &Law) {
        let close = |one: f64, other: f64| (one - other).abs() < 1e-6 * (1.0 + other.abs());
        assert!(
            close(found.one, expected.one)
                && close(found.alpha, expected.alpha)
                && close(found.beta, expected.beta),
            "{found:?}"
        );
    }

    #[test]
    fn what_follows_the_law_is_found() {
        same(fit(&points(&LAW, &[1, 2, 3, 4, 8, 16, 32, 64])).unwrap(), &LAW);
        same(fit(&points(&LAW, &[1, 2, 3])).unwrap(), &LAW);
        let linear = Law { alpha: 0.0, beta: 0.0, ..LAW };
        same(fit(&points(&linear, &[1, 2, 4, 64])).unwrap(), &linear);
    }

    #[test]
    fn what_is_better_than_linear_has_no_negative_part() {
        let law = fit(&[(1, 100.0), (2, 210.0), (3, 330.0)]).unwrap();
        assert_eq!((law.alpha, law.beta), (0.0, 0.0));
    }

    #[test]
    fn two_numbers_give_one_parameter() {
        let law = fit(&[(1, 4474.0), (2, 7781.0)]).unwrap();
        assert!((law.alpha - 0.15).abs() < 0.001 && law.beta == 0.0);
        for none in [
            &[(1, 100.0)][..],
            &[],
            &[(1, 100.0), (2, 0.0)],
            &[(0, 1.0), (2, 1.0)],
            &[(1, f64::NAN), (2, 1.0)],
        ] {
            assert_eq!(fit(none), None);
        }
    }

    #[test]
    fn the_peak() {
        let peak = LAW.peak().unwrap();
        assert!(LAW.rate(peak) > LAW.rate(peak - 1.0) && LAW.rate(peak) > LAW.rate(peak + 1.0));
        assert_eq!(Law { beta: 0.0, ..LAW }.peak(), None);
    }

    #[test]
    fn intervals_hold_the_truth() {
        let mut random = Random::part(3, 3);
        let mut noisy = |cores: usize| {
            let rate = LAW.rate(cores as f64);
            Rates { cores, blocks: (0..12).map(|_| rate * (0.98 + 0.04 * random.unit())).collect() }
        };
        let rates = [1, 2, 4, 8, 16, 32, 64].map(&mut noisy);
        let fit = fit_blocks(&rates).unwrap();
        let holds = |interval: Option<(f64, f64)>, value: f64| {
            let (low, high) = interval.unwrap();
            assert!(low <= value && value <= high && high - low < 0.5 * value, "{low} {high}");
        };
        holds(fit.alpha, LAW.alpha);
        holds(fit.beta, LAW.beta);
        let few = rates.map(|rates| Rates { blocks: rates.blocks[..2].to_vec(), ..rates });
        assert_eq!(fit_blocks(&few).unwrap().alpha, None);
        assert_eq!(fit_blocks(&few[..2]).unwrap().beta, None);
    }
}
