//! What is simulated: a machine, what its cores share, and queries as lists of steps.

use std::fmt;

use crate::names::Names;

/// Costs of a machine, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// An atomic read-modify-write on a line that this core changed last.
    pub atomic_ns: f64,
    /// What it costs more where another core changed the line last.
    pub transfer_ns: f64,
    /// How long a core waits for a lock before it sleeps.
    pub spin_ns: f64,
    /// What going to sleep costs.
    pub sleep_ns: f64,
    /// What waking another costs the one that wakes.
    pub wake_ns: f64,
    /// From being woken to running on.
    pub resume_ns: f64,
    /// What each further core that sleeps for the same lock adds to waking one and to its way back, as a share of both: 0 for
    /// kernels of today, more where a scheduler in the process is itself a lock.
    pub crowd: f64,
}

/// Who gets a mutex that others wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// The one that waits longest; it is held for it while that one wakes up.
    Direct,
    /// Whoever comes first: one that sleeps is woken, but others may be faster.
    Barging,
}

/// Kinds of shared things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A counter: a line and nothing else.
    Counter,
    /// A lock of one.
    Mutex(Handover),
    /// A lock of many readers or one writer, whose readers change its line twice. Writers come first; after so many in a
    /// row all readers that wait are let in.
    ReaderWriter {
        /// Writers in a row.
        quota: u32,
    },
}

/// Something that cores share: one of it, or buckets of which the name of a query chooses one.
#[derive(Clone, Debug)]
pub struct Shared {
    /// What it is.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// How many buckets; 1 for a single thing.
    pub count: usize,
}

/// A step of a query. Numbers are places in [`Model::shared`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Work that concerns nobody else, in nanoseconds.
    Work(f64),
    /// An atomic change of a counter.
    Change(usize),
    /// Takes a lock: a mutex, or a reader-writer lock as a writer.
    Lock(usize),
    /// Takes a reader-writer lock as a reader.
    Read(usize),
    /// Gives it back.
    Unlock(usize),
    /// From here on buckets are those of another name, to which the name that was asked for leads: an address of a server.
    Next,
}

/// A kind of query.
#[derive(Clone, Debug)]
pub struct Query {
    /// How often it comes, beside the others.
    pub weight: f64,
    /// What is done for it.
    pub steps: Vec<Step>,
}

/// Work that comes at a rate, on a core of its own.
#[derive(Clone, Debug)]
pub struct Background {
    /// So many a second.
    pub rate: f64,
    /// What is done each time.
    pub steps: Vec<Step>,
}

/// All that is simulated.
#[derive(Clone, Debug)]
pub struct Model {
    /// What things cost.
    pub machine: Machine,
    /// What cores share.
    pub shared: Vec<Shared>,
    /// Kinds of queries.
    pub queries: Vec<Query>,
    /// Writers.
    pub background: Vec<Background>,
    /// Which names are asked for.
    pub names: Names,
    /// How much pieces of work differ: each lasts from `1 - spread` to `1 + spread` times its length.
    pub spread: f64,
}

/// Steps of a query: a hundred times what any server here has.
pub const STEPS_MAX: usize = 4096;
/// Buckets of a thing: more would be more memory than a simulation is worth.
pub const BUCKETS_MAX: usize = 1 << 16;
/// Things, kinds of queries and kinds of writers.
pub const KINDS_MAX: usize = 256;
/// Longest single piece of anything: a second. Longer ones would let the clock run out of its numbers.
pub const PIECE_NS_MAX: f64 = 1e9;

/// Why a model cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A number that is not one, below 0 or too large; which.
    Number(&'static str),
    /// A step whose shared thing is not there or of another kind; which step of which query.
    Step {
        /// Kind of query, counted from 0; writers come after them.
        query: usize,
        /// Step, counted from 0.
        step: usize,
    },
    /// A query that keeps a lock.
    Kept {
        /// Kind of query.
        query: usize,
    },
    /// Nothing to do.
    Empty,
    /// Cores that wait for each other for ever.
    Stuck,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Number(which) => write!(f, "{which} is out of range"),
            Fault::Step { query, step } => {
                write!(
                    f,
                    "step {step} of query {query} concerns something that is not there or not such a thing"
                )
            }
            Fault::Kept { query } => write!(f, "query {query} ends with a lock"),
            Fault::Empty => f.write_str("there are no cores, no queries or no work in them"),
            Fault::Stuck => f.write_str("all cores wait for each other"),
        }
    }
}

impl std::error::Error for Fault {}

impl Model {
    /// Whether it can be simulated.
    pub fn check(&self) -> Result<(), Fault> {
        let Machine { atomic_ns, transfer_ns, spin_ns, sleep_ns, wake_ns, resume_ns, crowd } = self.machine;
        let is_piece = |ns: f64| (0.0..=PIECE_NS_MAX).contains(&ns);
        let costs = [
            ("atomic_ns", atomic_ns),
            ("transfer_ns", transfer_ns),
            ("spin_ns", spin_ns),
            ("sleep_ns", sleep_ns),
            ("wake_ns", wake_ns),
            ("resume_ns", resume_ns),
        ];
        if let Some((name, _)) = costs.into_iter().find(|&(_, ns)| !is_piece(ns)) {
            return Err(Fault::Number(name));
        }
        let kinds = [self.shared.len(), self.queries.len(), self.background.len()];
        let checks = [
            ("number of kinds", kinds.iter().all(|&count| count <= KINDS_MAX)),
            ("crowd", (0.0..=1000.0).contains(&crowd)),
            ("spread", (0.0..=1.0).contains(&self.spread)),
            ("buckets", self.shared.iter().all(|shared| (1..=BUCKETS_MAX).contains(&shared.count))),
            ("weight", self.queries.iter().all(|query| (0.0..=1e9).contains(&query.weight))),
            ("rate", self.background.iter().all(|one| (1e-3..=1e9).contains(&one.rate))),
        ];
        if let Some((name, _)) = checks.into_iter().find(|&(_, holds)| !holds) {
            return Err(Fault::Number(name));
        }
        let works = |query: &Query| {
            query.weight > 0.0 && query.steps.iter().any(|step| matches!(step, Step::Work(ns) if *ns > 0.0))
        };
        // A kind without work would let the clock stand still.
        if self.queries.is_empty() || !self.queries.iter().all(works) {
            return Err(Fault::Empty);
        }
        let queries = self.queries.iter().map(|query| &query.steps);
        let all = queries.chain(self.background.iter().map(|background| &background.steps));
        all.enumerate().try_for_each(|(query, steps)| self.check_steps(query, steps))
    }

    fn check_steps(&self, query: usize, steps: &[Step]) -> Result<(), Fault> {
        if steps.len() > STEPS_MAX {
            return Err(Fault::Number("number of steps"));
        }
        let mut held: Vec<usize> = Vec::new();
        for (step, what) in steps.iter().enumerate() {
            let fault = Fault::Step { query, step };
            let kind = |at: usize| self.shared.get(at).map(|shared| shared.kind);
            match *what {
                Step::Work(ns) if (0.0..=PIECE_NS_MAX).contains(&ns) => {}
                Step::Work(_) => return Err(Fault::Number("work")),
                // In between, it would be another lock that is given back.
                Step::Next if held.is_empty() => {}
                Step::Change(at) if kind(at) == Some(Kind::Counter) => {}
                Step::Lock(at) if kind(at).is_some_and(|kind| kind != Kind::Counter) => held.push(at),
                Step::Read(at) if matches!(kind(at), Some(Kind::ReaderWriter { .. })) => held.push(at),
                Step::Unlock(at) => match held.iter().position(|&one| one == at) {
                    Some(place) => drop(held.remove(place)),
                    None => return Err(fault),
                },
                _ => return Err(fault),
            }
            // A lock within itself would wait for itself.
            held.sort_unstable();
            if held.windows(2).any(|two| two[0] == two[1]) {
                return Err(fault);
            }
        }
        if held.is_empty() { Ok(()) } else { Err(Fault::Kept { query }) }
    }

    /// Nanoseconds of a query on one core alone, the mean of all kinds.
    pub fn alone_ns(&self) -> f64 {
        let weight: f64 = self.queries.iter().map(|query| query.weight).sum();
        let of = |step: &Step| match *step {
            Step::Work(ns) => ns,
            Step::Next => 0.0,
            _ => self.machine.atomic_ns,
        };
        let all = self.queries.iter().map(|query| query.weight * query.steps.iter().map(of).sum::<f64>());
        all.sum::<f64>() / weight
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::run::tests::{mutex, plain};

    #[test]
    fn faults_are_found() {
        assert_eq!(plain(100.0).check(), Ok(()));
        let changed = |change: &dyn Fn(&mut Model)| {
            let mut model = mutex(100.0, 10.0);
            change(&mut model);
            model.check().unwrap_err()
        };
        assert_eq!(changed(&|model| model.machine.wake_ns = f64::NAN), Fault::Number("wake_ns"));
        assert_eq!(changed(&|model| model.shared[0].count = 0), Fault::Number("buckets"));
        assert_eq!(changed(&|model| model.queries.clear()), Fault::Empty);
        assert_eq!(changed(&|model| model.queries[0].steps = vec![Step::Change(0)]), Fault::Empty);
        assert_eq!(changed(&|model| model.shared.clear()), Fault::Step { query: 0, step: 1 });
        assert_eq!(changed(&|model| model.queries[0].steps.truncate(3)), Fault::Kept { query: 0 });
        let within = |model: &mut Model| model.queries[0].steps.insert(1, Step::Lock(0));
        assert_eq!(changed(&within), Fault::Step { query: 0, step: 2 });
    }

    #[test]
    fn time_alone() {
        let model = mutex(100.0, 10.0);
        assert_eq!(model.alone_ns(), 110.0 + 2.0 * model.machine.atomic_ns);
    }
}
