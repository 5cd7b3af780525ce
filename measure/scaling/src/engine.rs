//! The engine of the experiments with more cores than there are: from what one thread of it was measured to do.
//!
//! Measured: time of a query with one thread, how often a query takes each lock and counter and how long it keeps it (the
//! lock profile), and what the machine takes for an atomic change, for a line from another core and for waking. Known of the
//! engine: what a lock and a counter are made of with each protection. Nothing is fitted.
//!
//! A query takes the zone table, holds the zone, and comes by several names; with each it takes the data of the zone (once
//! or more), then the bucket of the name, and holds the sets it finds there.

use crate::{
    model::{Handover, Kind, Machine, Model, Query, Shared, Step},
    names::Names,
};

/// What protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// A reader-writer lock made of a mutex and conditions, counters under mutexes, memory under one mutex.
    Bind9,
    /// A mutex each, counters under mutexes.
    Mutex,
    /// A reader-writer lock whose readers change its line twice, atomic counters: the system's and the paper's alike, which
    /// differ in what one thread pays.
    ReaderWriter,
    /// Nothing is changed by those who read.
    Snapshot,
}

/// Things that a query takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thing {
    /// Table of zones.
    Table,
    /// Data of a zone: the tree of its names.
    Data,
    /// Bucket of a name.
    Bucket,
    /// Holders of zones and sets.
    Counter,
    /// Memory for the answer, where all share it.
    Memory,
    /// The mutex inside BIND 9's lock.
    Inside,
}

impl Thing {
    /// All, in the order of [`Visits`].
    pub const ALL: [Thing; 6] =
        [Thing::Table, Thing::Data, Thing::Bucket, Thing::Counter, Thing::Memory, Thing::Inside];

    /// As the lock profile names it.
    pub const fn name(self) -> &'static str {
        match self {
            Thing::Table => "zone table",
            Thing::Data => "zone data",
            Thing::Bucket => "bucket",
            Thing::Counter => "counter",
            Thing::Memory => "memory",
            Thing::Inside => "rwlock internals",
        }
    }
}

/// How often a query takes a thing, and how long it keeps it each time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Visits {
    /// Times a query.
    pub per_query: f64,
    /// Nanoseconds.
    pub held_ns: f64,
}

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// The machine.
    pub machine: Machine,
    /// Nanoseconds of a query with one thread.
    pub alone_ns: f64,
    /// By [`Thing::ALL`].
    pub visits: [Visits; 6],
    /// Buckets of a zone.
    pub buckets: usize,
    /// Sets that have counters.
    pub sets: usize,
    /// Which names are asked for.
    pub names: Names,
}

/// Most visits of one kind: twice the sets that an answer of the engine can have.
const VISITS_MAX: f64 = 64.0;
/// Least of a query's time that is work outside of locks, as a share: where the profiler made sections longer than they are,
/// they are shortened to what is left.
const WORK_SHARE_MIN: f64 = 0.1;
/// How much pieces of work differ: names are of all lengths, and referrals of all sizes.
const SPREAD: f64 = 0.5;

/// The model of a protection.
pub fn model(protection: Protection, measured: &Measured) -> Model {
    let builder = Builder::new(protection, measured);
    let steps = match protection {
        Protection::Snapshot => vec![Step::Work(measured.alone_ns)],
        _ => builder.steps(),
    };
    Model {
        machine: measured.machine,
        shared: builder.shared,
        queries: vec![Query { weight: 1.0, steps }],
        background: Vec::new(),
        names: measured.names,
        spread: SPREAD,
    }
}

/// Places of things in the model: two for each, the second that of the mutex inside the first.
struct Builder<'m> {
    protection: Protection,
    measured: &'m Measured,
    shared: Vec<Shared>,
    /// What sections are shortened by.
    factor: f64,
    /// Work between two steps.
    piece_ns: f64,
}

/// The zone's own counter, apart from those of sets.
const ZONE_COUNTER: usize = 5;
/// Where the mutexes inside begin.
const INSIDE: usize = 6;

impl<'m> Builder<'m> {
    fn new(protection: Protection, measured: &'m Measured) -> Builder<'m> {
        let (lock, counter) = match protection {
            Protection::Bind9 | Protection::Mutex => (MUTEX, MUTEX),
            _ => (Kind::ReaderWriter { quota: 4 }, Kind::Counter),
        };
        let lock = if protection == Protection::Bind9 { READERS } else { lock };
        let things = [
            ("zone table", lock, 1),
            ("zone data", lock, 1),
            ("bucket", lock, measured.buckets.max(1)),
            ("counters of sets", counter, measured.sets.max(1)),
            ("memory", MUTEX, 1),
            ("counter of the zone", counter, 1),
            ("inside the lock of the table", MUTEX, 1),
            ("inside the lock of the data", MUTEX, 1),
            ("inside the locks of buckets", MUTEX, measured.buckets.max(1)),
        ];
        let shared = things.map(|(name, kind, count)| Shared { name: name.to_owned(), kind, count }).to_vec();
        let mut builder = Builder { protection, measured, shared, factor: 1.0, piece_ns: 0.0 };
        builder.share_time();
        builder
    }

    /// Divides the time of a query among sections, atomic changes and what lies between.
    fn share_time(&mut self) {
        let steps = self.steps();
        let of = |step: &Step| match *step {
            Step::Work(ns) => ns,
            Step::Next => 0.0,
            _ => self.measured.machine.atomic_ns,
        };
        let used: f64 = steps.iter().map(of).sum();
        let pieces = self.visits(Thing::Data).max(self.visits(Thing::Bucket)) + 1;
        let most = self.measured.alone_ns * (1.0 - WORK_SHARE_MIN);
        if used > most {
            // Atomic changes are part of what was measured too, but are what they are.
            let held: f64 = steps.iter().map(|step| if let Step::Work(ns) = *step { ns } else { 0.0 }).sum();
            self.factor = ((most - (used - held)) / held.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        }
        let left = (self.measured.alone_ns - used).max(self.measured.alone_ns * WORK_SHARE_MIN);
        self.piece_ns = left / pieces as f64;
    }

    fn of(&self, thing: Thing) -> Visits {
        let place = Thing::ALL.iter().position(|&one| one == thing).unwrap_or_default();
        self.measured.visits[place]
    }

    fn visits(&self, thing: Thing) -> usize {
        // What is not a number counts as none.
        self.of(thing).per_query.clamp(0.0, VISITS_MAX).round() as usize
    }

    fn held_ns(&self, thing: Thing) -> f64 {
        // What is not a number is 0.
        self.of(thing).held_ns.max(0.0).min(self.measured.alone_ns) * self.factor
    }

    /// A query, from the table to its end.
    fn steps(&self) -> Vec<Step> {
        let mut steps = vec![Step::Work(self.piece_ns)];
        (0..self.visits(Thing::Table)).for_each(|_| self.lock(&mut steps, Thing::Table));
        self.count(&mut steps, ZONE_COUNTER);
        let memory = if self.protection == Protection::Bind9 { self.visits(Thing::Memory) } else { 0 };
        let names = self.visits(Thing::Data).max(self.visits(Thing::Bucket));
        // Two changes of the zone's counter, and two of each set's.
        let holds = self.visits(Thing::Counter).saturating_sub(2) / 2;
        let (mut held, mut taken) = (0, 0);
        for name in 0..names {
            if name > 0 {
                steps.push(Step::Next);
            }
            let due = |all: usize| all * (name + 1) / names;
            (taken..due(memory)).for_each(|_| self.section(&mut steps, 4, Thing::Memory));
            taken = due(memory);
            if name < self.visits(Thing::Data) {
                self.lock(&mut steps, Thing::Data);
            }
            if name < self.visits(Thing::Bucket) {
                self.lock(&mut steps, Thing::Bucket);
            }
            let sets = due(holds) - held;
            held = due(holds);
            (0..sets).for_each(|_| self.count(&mut steps, 3));
            steps.push(Step::Work(self.piece_ns));
            (0..sets).for_each(|_| self.count(&mut steps, 3));
        }
        self.count(&mut steps, ZONE_COUNTER);
        steps
    }

    /// Takes a lock to read, and gives it back.
    fn lock(&self, steps: &mut Vec<Step>, thing: Thing) {
        let place = thing as usize;
        let held = Step::Work(self.held_ns(thing));
        match self.protection {
            Protection::Bind9 => {
                self.section(steps, INSIDE + place, Thing::Inside);
                steps.push(held);
                self.section(steps, INSIDE + place, Thing::Inside);
            }
            Protection::Mutex => steps.extend([Step::Lock(place), held, Step::Unlock(place)]),
            _ => steps.extend([Step::Read(place), held, Step::Unlock(place)]),
        }
    }

    /// Something under a mutex.
    fn section(&self, steps: &mut Vec<Step>, place: usize, thing: Thing) {
        steps.extend([Step::Lock(place), Step::Work(self.held_ns(thing)), Step::Unlock(place)]);
    }

    /// One more or one less that holds something.
    fn count(&self, steps: &mut Vec<Step>, place: usize) {
        match self.protection {
            Protection::Bind9 | Protection::Mutex => self.section(steps, place, Thing::Counter),
            _ => steps.push(Step::Change(place)),
        }
    }
}

/// What the system's mutex does.
const MUTEX: Kind = Kind::Mutex(Handover::Barging);
/// Never taken itself: readers of BIND 9's lock only pass through the mutex inside.
const READERS: Kind = Kind::ReaderWriter { quota: 4 };

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::run::{Effort, run};

    fn measured() -> Measured {
        let visit = |per_query, held_ns| Visits { per_query, held_ns };
        Measured {
            machine: Machine {
                atomic_ns: 6.0,
                transfer_ns: 45.0,
                spin_ns: 2000.0,
                sleep_ns: 2700.0,
                wake_ns: 2700.0,
                resume_ns: 3000.0,
                crowd: 0.0,
            },
            alone_ns: 2000.0,
            visits: [
                visit(1.0, 30.0),
                visit(4.9, 60.0),
                visit(4.9, 40.0),
                visit(14.1, 10.0),
                visit(8.0, 20.0),
                visit(22.0, 8.0),
            ],
            buckets: 7,
            sets: 4000,
            names: Names::Uniform,
        }
    }

    const ALL: [Protection; 4] =
        [Protection::Bind9, Protection::Mutex, Protection::ReaderWriter, Protection::Snapshot];

    #[test]
    fn one_core_is_what_was_measured() {
        for protection in ALL {
            let alone = model(protection, &measured()).alone_ns();
            assert!((alone / 2000.0 - 1.0).abs() < 0.01, "{protection:?}: {alone}");
        }
    }

    #[test]
    fn sections_that_are_too_long_are_shortened() {
        let mut measured = measured();
        measured.visits[1].held_ns = 1500.0;
        for protection in ALL {
            let model = model(protection, &measured);
            assert_eq!(model.check(), Ok(()), "{protection:?}");
            assert!((model.alone_ns() / 2000.0 - 1.0).abs() < 0.01, "{protection:?}: {}", model.alone_ns());
        }
    }

    #[test]
    fn less_shared_grows_further() {
        let rates = ALL.map(|protection| {
            run(&model(protection, &measured()), 16, Effort { queries: 6000, seed: 1 }).unwrap().rate
        });
        assert!(rates.is_sorted(), "{rates:?}");
        assert!(rates[3] > 15.0 * 1e9 / 2000.0 && rates[2] < 0.8 * rates[3], "{rates:?}");
    }

    #[test]
    fn nothing_measured_is_work_alone() {
        let nothing =
            Measured { visits: [Visits { per_query: f64::NAN, held_ns: f64::NAN }; 6], ..measured() };
        for protection in ALL {
            assert_eq!(model(protection, &nothing).check(), Ok(()), "{protection:?}");
        }
    }
}
