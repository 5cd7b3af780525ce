//! Models of the engine from what was measured, and their curves up to 64 cores.

use bench::{host::sharing::Sharing, random::Random};
use scaling::{
    Effort, Machine, Names, Outcome, bootstrap,
    engine::{Measured, Thing, Visits, model},
    sweep::{CORES, fit, reuseport, sweep},
    usl::{Fit, Rates, fit_blocks},
};
use serde_json::{Value, json};

use super::{Found, Output, SUBJECTS, Subject, at};
use crate::{Error, experiment::Lab, recipe, statistics};

/// A line's way where there is one core only and nothing to measure: between cores of one processor of today.
const TRANSFER_NS: f64 = 100.0;
/// The system's mutex looks a hundred times before it sleeps; a look takes some 20 ns.
const SPIN_NS: f64 = 2000.0;
/// Waking where it could not be measured: a system call, and a microsecond or two until the scheduler has a core.
const WAKE_NS: (f64, f64) = (2000.0, 5000.0);
/// RRsets of the root zone that have counters, about: a delegation and its addresses for each of some 1,450 domains.
const SETS: usize = 8000;
/// Queries of a simulation for each hundred of a run that draws them: the recipe has one number for how much is computed.
const QUERIES_SHARE: usize = 100;
/// More than this only takes longer.
const QUERIES_MOST: usize = 10_000;
/// Fewer have no blocks.
const QUERIES_LEAST: usize = 120;
/// The same figures from the same inputs.
const SEED: u64 = 1;
/// Draws of inputs that an interval is of. In short forms there are fewer, and none is left out.
const DRAWS: usize = bootstrap::ONE_OF;
const DRAWS_QUICK: usize = 5;
/// Queries of a draw, of those of a curve: its own error is then still small beside that of the inputs.
const DRAW_SHARE: usize = 5;

/// What the models know.
#[derive(Clone)]
pub struct Inputs {
    machine: Machine,
    visits: [Visits; 6],
    buckets: usize,
}

impl Inputs {
    /// From what cores pay, and from the profiles of three kinds of locks. Counters are locks, and so counted, with `mutex`;
    /// how long other locks are held is read where counters within them are not timed too, with `paper`.
    pub fn of(sharing: &Sharing, mutex: &Output, paper: &Output, bind9: &Output) -> Inputs {
        let (call_ns, awake_ns) = sharing.wake.map_or(WAKE_NS, |wake| (wake.call_ns, wake.awake_ns));
        // A section is at least the clock that is read at both ends of it.
        let overhead_ns = shortest(mutex);
        let visits = Thing::ALL.map(|thing| match thing {
            Thing::Inside => bind9.visits(thing.name(), overhead_ns),
            Thing::Table | Thing::Data | Thing::Bucket => paper.visits(thing.name(), overhead_ns),
            _ => mutex.visits(thing.name(), overhead_ns),
        });
        Inputs {
            machine: Machine {
                atomic_ns: sharing.atomic_ns,
                transfer_ns: sharing.transfer_ns().unwrap_or(TRANSFER_NS),
                spin_ns: SPIN_NS,
                sleep_ns: call_ns,
                wake_ns: call_ns,
                resume_ns: (awake_ns - call_ns).max(0.0),
                crowd: 0.0,
            },
            visits,
            buckets: mutex.buckets,
        }
    }

    /// Costs of the machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// How often and how long, by [`Thing::ALL`].
    pub fn visits(&self) -> impl Iterator<Item = (Thing, Visits)> + '_ {
        Thing::ALL.into_iter().zip(self.visits)
    }

    /// For the record.
    pub fn json(&self) -> Value {
        let visit = |(thing, visits): (Thing, Visits)| json!({ "lock": thing.name(), "per_query": visits.per_query, "held_ns": visits.held_ns });
        self.visits().map(visit).collect()
    }

    fn measured(&self, rate: f64, names: Names) -> Measured {
        Measured {
            machine: self.machine,
            alone_ns: 1e9 / rate,
            visits: self.visits,
            buckets: self.buckets,
            sets: SETS,
            names,
        }
    }
}

/// The inputs, measured several times.
pub struct Repeated(pub Vec<Inputs>);

impl Repeated {
    /// The median of each number.
    pub fn middle(&self) -> Inputs {
        middle(&self.0.iter().collect::<Vec<_>>())
    }

    /// The same of as many drawn from them.
    fn drawn(&self, random: &mut Random) -> Inputs {
        let drawn = bootstrap::drawn(self.0.len(), random);
        middle(&drawn.into_iter().map(|place| &self.0[place]).collect::<Vec<_>>())
    }

    /// For the record.
    pub fn json(&self) -> Value {
        self.0.iter().map(Inputs::json).collect()
    }
}

/// The median of each number; `all` are at least one.
fn middle(all: &[&Inputs]) -> Inputs {
    let of = |number: &dyn Fn(&Inputs) -> f64| {
        statistics::median(&all.iter().map(|inputs| number(inputs)).collect::<Vec<_>>())
    };
    let machine = |number: fn(&Machine) -> f64| of(&|inputs| number(&inputs.machine));
    Inputs {
        machine: Machine {
            atomic_ns: machine(|machine| machine.atomic_ns),
            transfer_ns: machine(|machine| machine.transfer_ns),
            sleep_ns: machine(|machine| machine.sleep_ns),
            wake_ns: machine(|machine| machine.wake_ns),
            resume_ns: machine(|machine| machine.resume_ns),
            ..all[0].machine
        },
        visits: std::array::from_fn(|thing| Visits {
            per_query: of(&|inputs| inputs.visits[thing].per_query),
            held_ns: of(&|inputs| inputs.visits[thing].held_ns),
        }),
        buckets: all[0].buckets,
    }
}

/// The shortest mean section: that of a counter, which is one addition, and so all clock.
fn shortest(output: &Output) -> f64 {
    let held = Thing::ALL.map(|thing| output.visits(thing.name(), 0.0)).into_iter();
    held.filter(|visits| visits.per_query > 0.0)
        .map(|visits| visits.held_ns)
        .fold(f64::INFINITY, f64::min)
        .min(1e6)
}

/// A protection with all numbers of cores.
pub struct Curve {
    /// Which.
    pub name: &'static str,
    /// Names all alike; the first is one core.
    pub outcomes: Vec<Outcome>,
    /// Ends of the interval of each of their rates, by the error of the inputs.
    pub intervals: Vec<(f64, f64)>,
    /// Names as a root server is asked for them.
    pub skewed: Vec<Outcome>,
    /// The law of what was measured with a core for each thread.
    pub measured: Option<Fit>,
    /// The law of what was simulated.
    pub simulated: Option<Fit>,
}

/// How much is simulated.
pub fn effort(effort: &recipe::Effort) -> Effort {
    let queries = (effort.queries / QUERIES_SHARE).clamp(QUERIES_LEAST, QUERIES_MOST);
    Effort { queries, seed: SEED }
}

/// All curves; a protection that could not be measured has none.
pub fn curves(
    repeated: &Repeated,
    found: &Found,
    effort: Effort,
    lab: &mut Lab,
) -> Result<Vec<Curve>, Error> {
    let inputs = repeated.middle();
    let mut curves = Vec::new();
    for subject in &SUBJECTS {
        lab.go_on()?;
        let one = statistics::median(found.rates.of(subject.name(), &at(1)));
        if one <= 0.0 {
            continue;
        }
        let of = |names| sweep(&model(subject.model, &inputs.measured(one, names)), &cores(found), effort);
        match (of(Names::Uniform), of(Names::Skewed)) {
            (Ok(outcomes), Ok(skewed)) => curves.push(Curve {
                name: subject.name(),
                simulated: fit(&outcomes),
                measured: measured(found, subject.name()),
                intervals: intervals((subject, repeated), found, effort, lab)?
                    .into_iter()
                    .zip(&outcomes)
                    // Few draws of few queries may all miss what many queries of the middle give.
                    .map(|((low, high), outcome)| (low.min(outcome.rate), high.max(outcome.rate)))
                    .collect(),
                outcomes,
                skewed,
            }),
            (Err(fault), _) | (_, Err(fault)) => {
                lab.note(format!("{} is not simulated: {fault}", subject.name()))
            }
        }
    }
    Ok(curves)
}

/// Where the rates of a protection are for other inputs that might have been measured: drawn from those that were, and the rate with one
/// thread from those of all rounds.
fn intervals(
    (subject, repeated): (&Subject, &Repeated),
    found: &Found,
    effort: Effort,
    lab: &Lab,
) -> Result<Vec<(f64, f64)>, Error> {
    let ones = found.rates.of(subject.name(), &at(1));
    let draws = if lab.record.quick { DRAWS_QUICK } else { DRAWS };
    let cores = cores(found);
    let mut rates = vec![Vec::with_capacity(draws); cores.len()];
    for draw in 0..draws {
        lab.go_on()?;
        let mut random = Random::part(SEED, draw as u64);
        let inputs = repeated.drawn(&mut random);
        let one = bootstrap::drawn(ones.len(), &mut random).into_iter().map(|place| ones[place]);
        let queries = (effort.queries / DRAW_SHARE).max(QUERIES_LEAST);
        let effort = Effort { queries, seed: SEED + 1 + draw as u64 };
        let measured = inputs.measured(statistics::median(&one.collect::<Vec<_>>()), Names::Uniform);
        // What the middle could be simulated of, its draws can.
        for (rates, outcome) in rates
            .iter_mut()
            .zip(sweep(&model(subject.model, &measured), &cores, effort).into_iter().flatten())
        {
            rates.push(outcome.rate);
        }
    }
    Ok(rates.iter_mut().map(|rates| bootstrap::interval(rates).unwrap_or_default()).collect())
}

/// Those of the charts, and those that were measured.
fn cores(found: &Found) -> Vec<usize> {
    let most = scaling::run::CORES_MAX;
    let measured = found.threads.iter().copied().filter(|&count| count <= found.cores.min(most));
    let mut cores: Vec<usize> = CORES.into_iter().chain(measured).collect();
    cores.sort_unstable();
    cores.dedup();
    cores
}

fn measured(found: &Found, name: &str) -> Option<Fit> {
    let rates =
        |&threads: &usize| Rates { cores: threads, blocks: found.rates.of(name, &at(threads)).to_vec() };
    let with_core = found.threads.iter().filter(|&&threads| threads <= found.cores);
    let rates: Vec<Rates> = with_core.map(rates).filter(|rates| !rates.blocks.is_empty()).collect();
    fit_blocks(&rates)
}

/// What the kernel's spread of flows over sockets leaves of a rate.
pub fn spread(cores: usize, flows: usize) -> f64 {
    reuseport(cores, flows, SEED).unwrap_or(1.0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::experiment::scaling::output::tests::SAMPLE;
    use bench::host::sharing::{Pair, Wake};

    #[test]
    fn inputs_of_a_recorded_run() {
        let sharing = Sharing {
            atomic_ns: 6.0,
            pairs: vec![Pair { cores: (0, 1), transfer_ns: 42.0 }],
            wake: Some(Wake { call_ns: 2700.0, awake_ns: 5600.0 }),
        };
        let output = Output::parse(SAMPLE).unwrap();
        let inputs = Inputs::of(&sharing, &output, &output, &output);
        assert_eq!((inputs.machine.transfer_ns, inputs.machine.resume_ns), (42.0, 2900.0));
        let effort = Effort { queries: 600, seed: 1 };
        let rate = |subject: &super::super::Subject, cores| {
            let model = model(subject.model, &inputs.measured(500_000.0, Names::Uniform));
            scaling::run(&model, cores, effort).unwrap().rate
        };
        for subject in &SUBJECTS {
            assert!((rate(subject, 1) / 500_000.0 - 1.0).abs() < 0.1, "{}", subject.name());
        }
        assert!(rate(&SUBJECTS[4], 16) > 2.0 * rate(&SUBJECTS[3], 16));
        let alone = Inputs::of(&Sharing::default(), &output, &output, &output);
        assert_eq!(alone.machine.transfer_ns, TRANSFER_NS);
        let repeated = Repeated(vec![alone, inputs.clone(), inputs]);
        assert_eq!(repeated.middle().machine.transfer_ns, 42.0);
        let mut random = Random::new(1);
        let drawn: Vec<f64> = (0..40).map(|_| repeated.drawn(&mut random).machine.transfer_ns).collect();
        assert!(drawn.contains(&42.0) && drawn.contains(&TRANSFER_NS), "{drawn:?}");
    }

    #[test]
    fn how_much_is_simulated() {
        let recipe = recipe::find("scaling").unwrap();
        let queries = |form| effort(&recipe.effort(form)).queries;
        use recipe::Form::{Check, Full, Quick};
        assert_eq!([Full, Quick, Check].map(queries), [10_000, 3000, QUERIES_LEAST]);
    }
}
