//! The measurements.
//!
//! * [`rates`]: staircases in blocks, processor time and memory, then [`latency`] at equal loads.
//! * [`echo`]: echo servers of many models, processes and cores; [`limit`]: settings of the generator, and other generators.
//! * `foreign`: generators of others, which check ours.
//! * [`validity`]: which runs count.
//! * [`engine`]: the locks of the paper and others, in process.
//! * [`scaling`]: the engine with more and more threads, and computed for more cores than there are.
//! * [`updates`]: how fast they are taken, whether they are kept, and what queries suffer from them.
//! * [`transfers`]: zones out and in, and changes of them.
//! * [`caching`]: resolvers, by the share of queries that their caches answer; [`resolvers`]: in trouble.
//! * [`caching`]: resolvers, by the share of queries that their caches answer.
//! * [`cold`]: resolvers that know nothing yet.
//! * [`internet`]: a model Internet behind round trips, which resolvers begin with nothing.
//! * [`instructions`] an answer takes, and [`allocations`], locks and atomic instructions, counted under [`callgrind`].
//! * [`rate_limit`]: floods of queries with made-up sources, and a client with a cookie beside them.
//! * [`memory`] after the load of zones; [`start`] from exec to the first answer; [`reload`] of zones beside queries.
//!
//! [`Lab`] is what they share: where servers run, how long everything takes, and the record they fill.

pub mod allocations;
pub mod caching;
mod callgrind;
pub mod cold;
pub mod echo;
pub mod engine;
mod foreign;
mod generator;
pub mod instructions;
pub mod internet;
pub mod latency;
pub mod limit;
pub mod memory;
pub mod rate_limit;
mod rated;
pub mod rates;
pub mod reload;
pub mod resolvers;
mod rounds;
mod runs;
pub mod scaling;
mod servers;
pub mod start;
pub mod transfers;
pub mod updates;
mod usage;
pub mod validity;
mod values;

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

pub use generator::{Load, Outset};
pub use rounds::Rounds;
pub use servers::{Prepared, Running, Subject};
pub use validity::Ledger;
pub use values::{Mark, Marked, Values, duration, interval_text, point, table};

use crate::{
    Error,
    bed::Bed,
    contender::{Programs, Role},
    data::{Set, Store, Zones},
    error,
    place::Place,
    recipe::{Case, Effort, Name, Recipe},
    record::Record,
};

/// What all measurements share.
pub struct Lab {
    /// What is done.
    pub recipe: Recipe,
    /// For how long.
    pub effort: Effort,
    /// The programs of this project.
    pub programs: Programs,
    /// Where servers and generator run.
    pub bed: Bed,
    /// The servers' cores.
    pub server_cores: Vec<usize>,
    /// The generator's.
    pub load_cores: Vec<usize>,
    /// Generated zones.
    pub data: PathBuf,
    /// Settings and output of the servers.
    pub work: PathBuf,
    /// The user wants an end.
    pub stop: Arc<AtomicBool>,
    /// Who takes part and is alive.
    pub names: Vec<Name>,
    /// What came of it so far.
    pub record: Record,
    /// What became of all runs.
    pub validity: Ledger,
    /// When it began.
    pub began: Instant,
}

impl Lab {
    /// Runs what the recipe measures.
    pub fn measure(&mut self) -> Result<(), Error> {
        // Those with databases are for changes alone.
        if !self.recipe.measure.is_of_resolvers() && self.recipe.measure != crate::recipe::Measure::Commits {
            self.names = self.able(Role::Static, "");
        }
        let measured = validity::watched_as_one(self, Lab::measure_all);
        validity::finish(self);
        measured
    }

    fn measure_all(&mut self) -> Result<(), Error> {
        match self.recipe.measure {
            crate::recipe::Measure::Rates => rates::run(self),
            crate::recipe::Measure::Memory => memory::run(self),
            crate::recipe::Measure::Start => start::run(self),
            crate::recipe::Measure::Reload => reload::run(self),
            crate::recipe::Measure::RateLimit => rate_limit::run(self),
            crate::recipe::Measure::Allocations => allocations::run(self),
            crate::recipe::Measure::Instructions => instructions::run(self),
            crate::recipe::Measure::Echo => echo::run(self),
            crate::recipe::Measure::Generator => limit::run(self),
            crate::recipe::Measure::Engine => engine::run(self),
            crate::recipe::Measure::Scaling => scaling::run(self),
            crate::recipe::Measure::UpdateRate => updates::rate::run(self),
            crate::recipe::Measure::Commits => updates::commits::run(self),
            crate::recipe::Measure::Dynamic => updates::beside::run(self),
            crate::recipe::Measure::Transfer => transfers::speed::run(self),
            crate::recipe::Measure::History => transfers::replay::run(self),
            crate::recipe::Measure::Secondary => transfers::beside::run(self),
            crate::recipe::Measure::Endless => updates::endless::run(self),
            crate::recipe::Measure::Delta => updates::delta::run(self),
            crate::recipe::Measure::Caching => caching::run(self),
            crate::recipe::Measure::Restart => resolvers::restart::run(self),
            crate::recipe::Measure::Flood => resolvers::flood::run(self),
            crate::recipe::Measure::Stale => resolvers::stale::run(self),
            crate::recipe::Measure::ColdCache => cold::run(self),
        }
    }

    /// Cores of servers and generator, each once.
    pub fn used_cores(&self) -> Vec<usize> {
        let mut cores = [&self.server_cores[..], &self.load_cores].concat();
        cores.sort_unstable();
        cores.dedup();
        cores
    }

    /// Says what is going on.
    pub fn say(&self, text: &str) {
        let seconds = self.began.elapsed().as_secs();
        eprintln!("lab: {:02}:{:02} {text}", seconds / 60, seconds % 60);
    }

    /// Says what is going on, and how long `left` more of the same will take, judged by `done` since `began`.
    pub fn say_left(&self, text: &str, began: Instant, done: usize, left: usize) {
        if done == 0 {
            return self.say(text);
        }
        let seconds = began.elapsed().as_secs_f64() / done as f64 * left as f64;
        self.say(&format!("{text}; about {} left", duration(seconds)));
    }

    /// Something for the user to know, on the way and in the record.
    pub fn note(&mut self, text: String) {
        eprintln!("lab: note: {text}");
        if !self.record.notes.contains(&text) {
            self.record.notes.push(text);
        }
    }

    /// An end with an error where the user asked for one.
    pub fn go_on(&self) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Whether a contender has a run in a round, counted from 1: in later ones only builds of ours and those that targets are about.
    pub fn takes_part(&self, name: Name, round: usize) -> bool {
        let is_ours = name.of_zonda(&self.programs).is_some();
        round <= self.effort.peer_runs || is_ours || self.recipe.is_in_targets(name)
    }

    /// Zones and queries of a case; the record says how many they are and where they are from.
    pub fn set(&mut self, case: &Case) -> Result<Set, Error> {
        let work = self.folder("generator")?;
        let store = Store { folder: &self.data, work: &work, bench: &self.programs.bench, stop: &self.stop };
        let set = store.set(case, &self.effort)?;
        let zones = match set.zones.list.len() {
            1 => String::new(),
            count => format!("{count} zones, "),
        };
        self.record
            .notes
            .push(format!("{}: {zones}{} records, {}", case.name, set.zones.records, set.source));
        Ok(set)
    }

    /// The same, nothing where a program is missing that they are made with: the case is left out, and a note says so.
    pub fn set_if_able(&mut self, case: &Case) -> Result<Option<Set>, Error> {
        match self.set(case) {
            Err(error @ Error::Missing { .. }) => {
                self.note(format!("{} is left out: {error}", case.name));
                Ok(None)
            }
            set => set.map(Some),
        }
    }

    /// A file of so many queries: laps of a recording, whose rare names differ from lap to lap.
    pub fn laps(&self, set: &Set, count: usize) -> Result<PathBuf, Error> {
        let (_, zone) = set.zones.list.first().ok_or(Error::Nobody)?;
        let work = self.folder("generator")?;
        let store = Store { folder: &self.data, work: &work, bench: &self.programs.bench, stop: &self.stop };
        store.laps(zone, &set.queries, count)
    }

    /// Updates for zones.
    pub fn updates(&self, zones: &Zones, count: usize) -> Result<PathBuf, Error> {
        let work = self.folder("generator")?;
        let store = Store { folder: &self.data, work: &work, bench: &self.programs.bench, stop: &self.stop };
        store.updates(zones, count)
    }

    /// A folder below the work folder, made.
    pub fn folder(&self, name: &str) -> Result<PathBuf, Error> {
        let name: String =
            name.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '-' }).collect();
        let path = self.work.join(name);
        fs::create_dir_all(&path).map_err(error::file(&path, "create"))?;
        Ok(path)
    }

    /// The place of the generator.
    pub fn load_place(&self) -> Place {
        self.bed.load()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
