//! All numbers of a moment, read once for all that is told of them.

use auth::rate::Limited;
use net::{Running, WorkerCounters};
use zone::catalog::PinCounts;

use crate::answer::{Recursed, of_threads, types};
use crate::api::Counted;
use crate::command::Count;
use crate::controller::{Controller, ZoneNumbers};
use crate::expiry::Looked;
use crate::log::lately;
use crate::observing::Observed;
use crate::recursion::CacheNumbers;
use crate::stores::StoreNumbers;
use crate::system::{Process, process};

/// What was read. Nothing of it is by zone.
#[derive(Default)]
pub(crate) struct Readings {
    /// Of each worker.
    pub(crate) workers: Vec<WorkerCounters>,
    /// Of all of them.
    pub(crate) transport: WorkerCounters,
    /// Answers from zones.
    pub(crate) answers: auth::Counters,
    pub(crate) limited: Limited,
    /// How often each type was asked for.
    pub(crate) types: Vec<(String, u64)>,
    /// Of the resolver, if there is one.
    pub(crate) recursed: Option<Recursed>,
    pub(crate) cache: Option<CacheNumbers>,
    pub(crate) zones: ZoneNumbers,
    /// Zones that were made over the API.
    pub(crate) made: u64,
    /// What came of what was asked over the API.
    pub(crate) api: Counted,
    /// Of each store.
    pub(crate) stores: Vec<StoreNumbers>,
    /// What the last look at all zones has found; none before the first.
    pub(crate) looked: Option<Looked>,
    pub(crate) pins: PinCounts,
    /// Counts of threads, as `ctl stats` names them.
    pub(crate) counts: Vec<Count>,
    /// Of what others are told of queries.
    pub(crate) observed: Observed,
    /// Octets of memory that the program knows the use of.
    pub(crate) memory: Vec<(&'static str, u64)>,
    pub(crate) process: Process,
    /// When the server started, in seconds since 1970.
    pub(crate) started: f64,
    /// Whether other settings are in force than the file has, as those were refused.
    pub(crate) are_settings_refused: bool,
    /// Errors and warnings of the log.
    pub(crate) logged: [u64; 2],
}

impl Readings {
    /// Reads all. Takes locks for moments only, none that is held for the whole of a change, nor that of the list of zones.
    pub(crate) fn of(controller: &Controller) -> Readings {
        let (answers, limited, types, kept) = {
            let shown = controller.shown.read();
            let answers = shown.iter().map(|shown| shown.counts.read()).reduce(|a, b| a.sum(b));
            let limited = shown.iter().map(|shown| shown.told.counts.read()).reduce(|a, b| a.sum(b));
            let kept = shown.iter().map(|shown| shown.tally.kept_octets()).sum();
            (answers.unwrap_or_default(), limited.unwrap_or_default(), types(&shown), kept)
        };
        let (workers, buffers) = {
            let running = controller.running.lock();
            let buffers = running.as_ref().map_or(0, |running| running.buffer_octets() as u64);
            (running.as_ref().map(Running::counters).unwrap_or_default(), buffers)
        };
        let zones = controller.zones.numbers();
        let recursion = controller.recursion.as_deref();
        let catalog = controller.catalog.octets() as u64 + zones.kept_octets;
        let started = controller.started.duration_since(std::time::UNIX_EPOCH);
        Readings {
            transport: workers.iter().copied().reduce(|a, b| a.sum(b)).unwrap_or_default(),
            workers,
            answers,
            limited,
            types,
            recursed: recursion.map(Recursed::of),
            cache: recursion.map(|recursion| recursion.cache_numbers()),
            zones,
            made: controller.made.count() as u64,
            api: controller.api.counted(),
            stores: controller.store_numbers(),
            looked: controller.looks.last(),
            pins: controller.catalog.pins(),
            counts: of_threads(controller).collect(),
            observed: controller.observing.observed(),
            memory: vec![("catalog", catalog), ("kept-answers", kept), ("buffers", buffers)],
            process: process(),
            started: started.map_or(0.0, |since| since.as_secs_f64()),
            are_settings_refused: controller.reloaded.lock().as_ref().is_some_and(|reload| reload.refused),
            logged: lately::counts().0,
        }
    }

    /// A count of a thread by its name.
    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        self.counts.iter().find(|count| count.name == name).map(|count| count.count)
    }

    /// Responses by code, from zones and by the resolver.
    pub(crate) fn rcodes(&self) -> [u64; auth::Counters::RCODES] {
        let others = self.recursed.as_ref().map_or([0; _], |recursed| recursed.answers.rcodes);
        std::array::from_fn(|code| self.answers.rcodes[code] + others[code])
    }
}
