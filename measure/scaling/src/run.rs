//! The simulation: so many cores, each with one query after the other.
//!
//! Events are the moments at which a core touches something shared, in the order of their time; what lies between them is
//! added up. Equal times go in the order in which they were made, so that nothing depends on the machine that computes.

use std::{cmp::Reverse, collections::BinaryHeap};

use sync::Random;

use crate::{
    line::{Costs, Time, picoseconds},
    lock::{Lock, Woken},
    model::{Fault, Model, Step},
    names,
};

/// Cores: four times what the charts show.
pub const CORES_MAX: usize = 256;
/// Queries of a run: some minutes on a slow machine.
pub const QUERIES_MAX: usize = 10_000_000;
/// Blocks of a run, of equal numbers of queries: enough for an interval.
const BLOCKS: usize = 12;
/// Share of the queries, from the beginning, that do not count: until queues are as long as they get.
const WARM_SHARE: f64 = 0.1;

/// How much is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Queries that count, in all.
    pub queries: usize,
    /// The same seed gives the same figures.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Cores.
    pub cores: usize,
    /// Queries a second.
    pub rate: f64,
    /// The same of each block of the run.
    pub blocks: Vec<f64>,
    /// Share of the time of all cores that was spent waiting, for each shared thing.
    pub waited: Vec<f64>,
    /// Mean wait of one acquisition or change in nanoseconds, for each shared thing.
    pub wait_ns: Vec<f64>,
}

impl Outcome {
    /// Share of the time of all cores that was spent waiting.
    pub fn share_waited(&self) -> f64 {
        self.waited.iter().sum()
    }
}

/// Simulates so many cores.
pub fn run(model: &Model, cores: usize, effort: Effort) -> Result<Outcome, Fault> {
    model.check()?;
    if !(1..=CORES_MAX).contains(&cores) {
        return Err(Fault::Number("number of cores"));
    }
    if !(BLOCKS..=QUERIES_MAX).contains(&effort.queries) {
        return Err(Fault::Number("number of queries"));
    }
    Simulation::new(model, cores, effort).run()
}

/// What a core is doing.
struct Core {
    /// Kind of query or, behind those, of writer.
    job: usize,
    /// Step.
    at: usize,
    /// What the query asks for.
    name: u64,
    /// It was woken to try again for the lock of this step.
    is_again: bool,
    /// Since when it wants what this step takes.
    since: Time,
    random: Random,
}

struct Simulation<'a> {
    model: &'a Model,
    costs: Costs,
    effort: Effort,
    cores: Vec<Core>,
    /// How many of them answer queries; the others write.
    answering: usize,
    /// All buckets of all shared things, and where each thing's begin.
    locks: Vec<Lock>,
    firsts: Vec<usize>,
    /// Cumulated weights of the kinds of queries.
    weights: Vec<f64>,
    events: BinaryHeap<Reverse<(Time, u64, usize)>>,
    made: u64,
    answered: usize,
    /// When each block ended, the warm-up's first.
    ends: Vec<Time>,
    waited: Vec<Time>,
    uses: Vec<u64>,
    woken: Vec<Woken>,
}

impl<'a> Simulation<'a> {
    fn new(model: &'a Model, answering: usize, effort: Effort) -> Simulation<'a> {
        let (mut locks, mut firsts) = (Vec::new(), Vec::new());
        for shared in &model.shared {
            firsts.push(locks.len());
            locks.extend((0..shared.count).map(|_| Lock::new(shared.kind)));
        }
        let cumulated = |sum: &mut f64, weight: f64| {
            *sum += weight;
            Some(*sum)
        };
        let weights = model.queries.iter().map(|query| query.weight).scan(0.0, cumulated).collect();
        let core = |number: usize| Core {
            job: number.checked_sub(answering).map_or(0, |writer| model.queries.len() + writer),
            at: 0,
            name: 0,
            is_again: false,
            since: 0,
            random: Random::part(effort.seed, number as u64),
        };
        Simulation {
            model,
            costs: Costs::of(&model.machine),
            effort,
            cores: (0..answering + model.background.len()).map(core).collect(),
            answering,
            locks,
            firsts,
            weights,
            events: BinaryHeap::new(),
            made: 0,
            answered: 0,
            ends: Vec::new(),
            waited: vec![0; model.shared.len()],
            uses: vec![0; model.shared.len()],
            woken: Vec::new(),
        }
    }

    fn run(mut self) -> Result<Outcome, Fault> {
        for core in 0..self.cores.len() {
            self.begin(core, 0);
        }
        let warm = (self.effort.queries as f64 * WARM_SHARE) as usize;
        let block = self.effort.queries / BLOCKS;
        while self.ends.len() <= BLOCKS {
            let Reverse((now, _, core)) = self.events.pop().ok_or(Fault::Stuck)?;
            if self.is_at_end(core) {
                if core < self.answering {
                    self.answered += 1;
                    if self.answered == warm + self.ends.len() * block {
                        self.end_block(now);
                    }
                }
                self.begin(core, now);
            } else {
                self.touch(core, now);
            }
            // Writers alone go round for ever while all that answer wait for a lock that nobody gives back.
            if self.is_beyond(now) {
                return Err(Fault::Stuck);
            }
        }
        Ok(self.outcome(block))
    }

    /// Far more time than the queries of this run can need.
    fn is_beyond(&self, now: Time) -> bool {
        const FACTOR: f64 = 1e4;
        let machine = &self.model.machine;
        let costs = machine.transfer_ns + machine.sleep_ns + machine.wake_ns + machine.resume_ns;
        let most = self.model.alone_ns()
            + costs * self.model.queries.iter().map(|q| q.steps.len()).sum::<usize>() as f64;
        now as f64 > most * 1000.0 * FACTOR * self.effort.queries as f64
    }

    fn end_block(&mut self, now: Time) {
        if self.ends.is_empty() {
            self.waited.fill(0);
            self.uses.fill(0);
        }
        self.ends.push(now);
    }

    fn steps(&self, core: usize) -> &'a [Step] {
        let (model, job) = (self.model, self.cores[core].job);
        match job.checked_sub(model.queries.len()) {
            Some(writer) => &model.background[writer].steps,
            None => &model.queries[job].steps,
        }
    }

    fn is_at_end(&self, core: usize) -> bool {
        self.cores[core].at >= self.steps(core).len()
    }

    /// The next query of a core, or the next change of a writer.
    fn begin(&mut self, core: usize, now: Time) {
        let queries = self.model.queries.len();
        let one = &mut self.cores[core];
        one.at = 0;
        one.name = self.model.names.draw(&mut one.random);
        let mut start = now;
        if let Some(writer) = one.job.checked_sub(queries) {
            // Intervals of a Poisson stream, bounded.
            let mean_ns = 1e9 / self.model.background[writer].rate;
            start += picoseconds((-(1.0 - one.random.unit()).ln() * mean_ns).min(1e12));
        } else if queries > 1 {
            let at = one.random.unit() * self.weights[queries - 1];
            one.job = self.weights.partition_point(|&weight| weight <= at).min(queries - 1);
        }
        self.go_on(core, start);
    }

    /// Adds up work until the next step that concerns others, or the end.
    fn go_on(&mut self, core: usize, from: Time) {
        let (steps, spread) = (self.steps(core), self.model.spread);
        let one = &mut self.cores[core];
        let mut time = from;
        loop {
            match steps.get(one.at) {
                Some(Step::Work(ns)) => {
                    let factor = 1.0 + spread * (2.0 * one.random.unit() - 1.0);
                    time += picoseconds(ns * factor);
                }
                Some(Step::Next) => one.name = names::next(one.name),
                _ => break,
            }
            one.at += 1;
        }
        one.since = time;
        self.plan(core, time);
    }

    fn plan(&mut self, core: usize, at: Time) {
        self.events.push(Reverse((at, self.made, core)));
        self.made += 1;
    }

    /// A step that concerns others.
    fn touch(&mut self, core: usize, now: Time) {
        let step = self.steps(core)[self.cores[core].at];
        let (Step::Change(thing) | Step::Lock(thing) | Step::Read(thing) | Step::Unlock(thing)) = step else {
            unreachable!("work is added up before an event is made");
        };
        let bucket = names::bucket(self.cores[core].name, thing, self.model.shared[thing].count);
        let lock = &mut self.locks[self.firsts[thing] + bucket];
        let is_again = std::mem::take(&mut self.cores[core].is_again);
        let done = match step {
            Step::Change(_) => Some(lock.change(core, now, &self.costs)),
            Step::Unlock(_) => {
                let done = lock.release(core, now, &self.costs, &mut self.woken);
                self.wake(thing);
                Some(done)
            }
            _ => lock.acquire(core, now, matches!(step, Step::Read(_)), is_again, &self.costs),
        };
        if let Some(done) = done {
            if !matches!(step, Step::Unlock(_)) {
                self.count(thing, core, done);
            }
            self.cores[core].at += 1;
            self.go_on(core, done);
        }
    }

    /// All that go on because of a release; `thing`: of what.
    fn wake(&mut self, thing: usize) {
        let mut woken = std::mem::take(&mut self.woken);
        for Woken { core, at, has_lock } in woken.drain(..) {
            if has_lock {
                self.count(thing, core, at);
                self.cores[core].at += 1;
                self.go_on(core, at);
            } else {
                self.cores[core].is_again = true;
                self.plan(core, at);
            }
        }
        self.woken = woken;
    }

    /// What a core waited beyond what the same costs alone.
    fn count(&mut self, thing: usize, core: usize, done: Time) {
        if core < self.answering {
            self.waited[thing] += (done - self.cores[core].since).saturating_sub(self.costs.atomic);
            self.uses[thing] += 1;
        }
    }

    fn outcome(self, block: usize) -> Outcome {
        let rate = |from: Time, to: Time, queries: usize| queries as f64 * 1e12 / (to - from).max(1) as f64;
        let (first, last) = (self.ends[0], self.ends[BLOCKS]);
        let all = (last - first).max(1) as f64 * self.answering as f64;
        let wait_ns = |(&waited, &uses): (&Time, &u64)| waited as f64 / 1000.0 / uses.max(1) as f64;
        Outcome {
            cores: self.answering,
            rate: rate(first, last, block * BLOCKS),
            blocks: self.ends.windows(2).map(|ends| rate(ends[0], ends[1], block)).collect(),
            waited: self.waited.iter().map(|&waited| waited as f64 / all).collect(),
            wait_ns: self.waited.iter().zip(&self.uses).map(wait_ns).collect(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests;
