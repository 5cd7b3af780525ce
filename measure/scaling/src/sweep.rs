//! One number of cores after the other, and how a kernel spreads queries over them.

use sync::Random;

use crate::{
    model::{Fault, Model},
    run::{CORES_MAX, Effort, Outcome, run},
    usl::{self, Fit, Rates},
};

/// What charts show.
pub const CORES: [usize; 13] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40, 48, 64];
/// Source addresses and ports of a spread: far more than any load here has.
const FLOWS_MAX: usize = 1 << 20;
/// Times that flows are spread anew.
const DRAWS: usize = 200;

/// Simulates each of these numbers of cores.
pub fn sweep(model: &Model, cores: &[usize], effort: Effort) -> Result<Vec<Outcome>, Fault> {
    cores.iter().map(|&cores| run(model, cores, effort)).collect()
}

/// The law of what was simulated.
pub fn fit(outcomes: &[Outcome]) -> Option<Fit> {
    let rates = |outcome: &Outcome| Rates { cores: outcome.cores, blocks: outcome.blocks.clone() };
    usl::fit_blocks(&outcomes.iter().map(rates).collect::<Vec<_>>())
}

/// What is left of the rate of cores that have a socket each where the kernel chooses the socket of a flow by a hash: the
/// fullest loses queries when the others still have time. The mean of many spreads; 1 is all. `None` without flows or cores.
pub fn reuseport(cores: usize, flows: usize, seed: u64) -> Option<f64> {
    if !(1..=CORES_MAX).contains(&cores) || !(1..=FLOWS_MAX).contains(&flows) {
        return None;
    }
    let mut random = Random::part(seed, cores as u64);
    let mut sum = 0.0;
    for _ in 0..DRAWS {
        let mut counts = vec![0u32; cores];
        (0..flows).for_each(|_| counts[random.index(cores)] += 1);
        let most = counts.into_iter().max().unwrap_or(1);
        sum += flows as f64 / cores as f64 / f64::from(most.max(1));
    }
    Some(sum / DRAWS as f64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::run::tests::{mutex, plain};

    const EFFORT: Effort = Effort { queries: 6000, seed: 1 };

    #[test]
    fn laws_of_simulations() {
        let linear = fit(&sweep(&plain(500.0), &CORES, EFFORT).unwrap()).unwrap();
        assert!(linear.law.alpha < 1e-3 && linear.law.beta < 1e-4, "{linear:?}");
        let locked = fit(&sweep(&mutex(900.0, 100.0), &CORES, EFFORT).unwrap()).unwrap();
        assert!(locked.law.alpha + locked.law.beta > 0.1 && locked.alpha.is_some());
    }

    #[test]
    fn few_flows_are_spread_badly() {
        let share = |cores, flows| reuseport(cores, flows, 1).unwrap();
        assert_eq!(share(1, 10), 1.0);
        assert!(share(32, 20) < 0.4 && share(32, 128) < share(32, 1024));
        assert!(share(2, 100_000) > 0.99);
        assert_eq!(reuseport(0, 1, 1), None);
        assert_eq!(reuseport(1, 0, 1), None);
    }
}
