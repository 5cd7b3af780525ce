//! The recursive server: where clients, cache, resolver and the worker's sockets meet.
//!
//! ```text
//! Recursion, one: terms (settings as one value, and where the cache lies, published with a number) | what workers show
//! Recursor, one a worker: answers (cache to octets) | resolver | who waits | zones of this process
//! ```
//!
//! All that is decided is decided in `recursive` and `resolve`; here are their world and their settings. Design: `docs/design/recursion.md`.

mod anchors;
mod clock;
mod counts;
mod desk;
mod ebb;
mod explained;
mod kept;
mod negative;
mod outage;
mod own;
mod owner;
mod premises;
mod recursor;
mod replies;
mod said;
mod secured;
mod sized;
mod terms;
mod world;

use std::fs::File;
use std::hash::RandomState;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cache::{Cache, Moment};
use sync::{Areas, Mutex};

use crate::command::ResolverStatus;
use crate::settings::Settings;
use anchors::Keeper;
use clock::Clock;
use counts::Words;
use desk::Desk;
use ebb::Ebb;
use negative::Negatives;
use outage::Outage;
pub use recursor::Message;
pub(crate) use recursor::{Recursor, StreamHappened};
pub(crate) use secured::trusted_text;
pub(crate) use terms::Terms;

/// What of the files that a resolver needs by these settings cannot be read, as lines.
pub(crate) fn unreadable(settings: &Settings) -> Vec<String> {
    if settings.resolver.enabled { Terms::unreadable(settings) } else { Vec::new() }
}

/// What all workers share.
pub(crate) struct Recursion {
    /// Where workers have memory from while they process a query or an answer.
    areas: Arc<Areas>,
    /// The moment `first` of what is kept.
    began: Instant,
    first: Moment,
    terms: Mutex<Arc<Terms>>,
    /// The number of the terms: workers take them when it changes, and look at nothing but this.
    version: AtomicU64,
    /// Clients that may wait at each worker.
    places: usize,
    /// Of the hash that names have workers by, which nobody else can compute.
    key: RandomState,
    /// Where operators leave errands for each worker.
    desks: Mutex<Vec<Arc<Desk>>>,
    /// What each worker counts.
    words: Mutex<Vec<Words>>,
    /// Names that are not validated for a while.
    negatives: Negatives,
    /// What the time is.
    clock: Clock,
    /// What is said of the network.
    outage: Outage,
    /// What is given back after floods.
    ebb: Ebb,
    /// Trust anchors that are renewed.
    anchors: Keeper,
    /// Where what was learned is kept over a restart.
    folder: Option<PathBuf>,
    /// Keeps others from that folder as long as it is open.
    lock: Option<File>,
    /// Held by who writes there.
    writing: Mutex<()>,
}

/// Numbers of the cache, and of the network behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheNumbers {
    pub(crate) counts: cache::Counts,
    /// Most octets of entries.
    pub(crate) octets_max: u64,
    /// Whether nobody answers.
    pub(crate) is_network_out: bool,
}

/// What moments count from in a cache that begins empty. Not zero, so that what is before can be said.
const FIRST: Moment = Moment(1_000_000);

impl Recursion {
    /// A resolver as settings want it, if they do. `server`: what they say to answers from zones; `handed`: the lock of its folder, from the server before. Errors are
    /// lines for the operator.
    pub(crate) fn new(
        settings: &Settings,
        server: &auth::Server,
        handed: Option<File>,
    ) -> Result<Option<Arc<Recursion>>, Vec<String>> {
        if !settings.resolver.enabled {
            if settings.own_lists().any(|own| own.is_mirror()) {
                tracing::warn!(
                    "mirror: nobody is answered from zones that are for the resolver alone, and there is none (`enabled` in [resolver])"
                );
            }
            return Ok(None);
        }
        let mut octets = [0; 24];
        sync::random::fill_from_system(&mut octets)
            .map_err(|error| vec![format!("no random numbers: {error}")])?;
        let (words, _) = octets.as_chunks::<8>();
        let random = std::array::from_fn(|number| u64::from_ne_bytes(words[number]));
        let cache = Arc::new(Cache::with(&cache_settings(settings), random));
        let folder = kept::folder(settings);
        // First, as what comes next reads there, and sets aside what it cannot read.
        let lock = folder.as_deref().map_or(Ok(None), |folder| kept::lock(folder, handed));
        let lock = lock.map_err(|line| vec![line])?;
        let anchors = Keeper::new(folder.as_deref());
        let mut terms = Terms::new(settings, server, (1, cache))?;
        anchors.apply(&mut terms);
        let negatives = Negatives::new(folder.as_deref());
        negatives.apply(&mut terms);
        terms.warn_if_open();
        let terms = Arc::new(terms);
        let clock = Clock::new(folder.as_deref(), (negative::wall(), 0));
        let (began, version) = (Instant::now(), AtomicU64::new(terms.version));
        let terms = Mutex::named("terms of the resolver", terms);
        let (places, key) = (settings.resolver.waiting as usize, RandomState::new());
        Ok(Some(Arc::new(Recursion {
            areas: Arc::new(Areas::new()),
            began,
            first: FIRST,
            terms,
            version,
            places,
            key,
            desks: Mutex::named("desks of the resolver", Vec::new()),
            words: Mutex::named("counts of the resolver", Vec::new()),
            negatives,
            clock,
            outage: Outage::default(),
            ebb: Ebb::default(),
            anchors,
            folder,
            lock,
            writing: Mutex::named("file of the cache", ()),
        })))
    }

    /// Terms by other settings, to be published. Errors are lines for the operator.
    pub(crate) fn terms(&self, settings: &Settings, server: &auth::Server) -> Result<Terms, Vec<String>> {
        Terms::new(settings, server, (self.version.load(Ordering::Acquire) + 1, self.cache()))
    }

    /// Has workers go by the terms of other settings from now on.
    pub(crate) fn publish(&self, terms: Terms) {
        terms.warn_if_open();
        self.replace(|_| terms);
    }

    /// Has workers go by terms that differ in something that is known now.
    fn change(&self, change: impl FnOnce(&mut Terms)) {
        self.replace(|terms| {
            let mut terms = terms.clone();
            change(&mut terms);
            terms
        });
    }

    /// Replaces the terms. Under their lock, so that of two changes at once none is lost, and none has the number of the other, which workers would not see.
    fn replace(&self, make: impl FnOnce(&Terms) -> Terms) {
        let mut current = self.terms.lock();
        let mut terms = make(&current);
        self.negatives.apply(&mut terms);
        self.anchors.apply(&mut terms);
        let premises = terms.premises.clone();
        let limits = terms.limits;
        let version = current.version + 1;
        terms.version = version;
        if terms.cache_octets != current.cache_octets {
            self.resize(&current, &terms);
        }
        // As it lies now: what has moved is not looked for where it was.
        let cache = Arc::new(current.cache.current());
        terms.cache = Arc::clone(&cache);
        let old = std::mem::replace(&mut *current, Arc::new(terms));
        self.version.store(version, Ordering::Release);
        drop(current);
        cache.set_limits(&limits);
        let changed = premises.words_since(&old.premises);
        for flush in premises.flushes_since(&old.premises) {
            // Other anchors are trusted there, or others asked.
            let entries = cache.flush(&flush, self.now());
            let what = kept::below(&flush);
            tracing::info!(entries, "the cache forgets {what}, as these have changed: {changed}");
        }
    }

    /// Forgets what was learned where the clock was set by far: what failed by it, and what was proved.
    pub(crate) fn watch_clock(&self) {
        let steady = self.began.elapsed().as_secs();
        let Some(jump) = self.clock.jump((negative::wall(), steady)) else { return };
        let entries = self.cache().flush(&cache::Flush::All, self.now());
        self.forget_zones();
        tracing::warn!(
            jump,
            entries,
            "the clock was set by {jump} s: the cache forgets everything, as signatures were looked at by another time"
        );
    }

    /// Has workers forget answers that they keep as octets: an alias may lead to a zone that was none of ours. What lies in the cache is passed over where a zone is.
    pub(crate) fn zones_changed(&self) {
        self.change(|_| {});
    }

    /// The present, as what is kept counts it.
    pub(crate) fn now(&self) -> Moment {
        self.first.plus_ms(self.began.elapsed().as_millis() as u64)
    }

    /// Where trust begins by now; nowhere if nothing is validated.
    pub(crate) fn anchors(&self) -> validate::Anchors {
        let terms = self.current_terms();
        if terms.resolve.is_validating { terms.resolve.anchors.clone() } else { validate::Anchors::new() }
    }

    /// What has been learned. Not to be held for long: it is where things lie now.
    pub(crate) fn cache(&self) -> Arc<Cache> {
        Arc::clone(&self.terms.lock().cache)
    }

    /// How things are found out now.
    pub(crate) fn settings(&self) -> resolve::Settings {
        self.terms.lock().resolve.clone()
    }

    /// How it is, for operators. Asks no worker.
    pub(crate) fn status(&self) -> ResolverStatus {
        let terms = self.current_terms();
        let counts = terms.cache.counts();
        ResolverStatus {
            clients: terms.clients.to_vec(),
            validates: terms.resolve.is_validating,
            asks_elsewhere: terms.resolve.zones.iter().map(|zone| zone.name.to_string()).collect(),
            cache_entries: counts.entries,
            cache_entry_octets: counts.octets,
            cache_octets: terms.cache_octets as u64,
            is_network_out: self.outage.is_told(),
        }
    }

    /// The numbers of what was learned. Asks no worker, and looks at no entry.
    pub(crate) fn cache_numbers(&self) -> CacheNumbers {
        let terms = self.current_terms();
        CacheNumbers {
            counts: terms.cache.counts(),
            octets_max: terms.cache_octets as u64,
            is_network_out: self.outage.is_told(),
        }
    }

    fn current_terms(&self) -> Arc<Terms> {
        Arc::clone(&self.terms.lock())
    }

    /// The terms, if they are others than those of this number.
    fn terms_after(&self, version: u64) -> Option<Arc<Terms>> {
        (self.version.load(Ordering::Acquire) != version).then(|| Arc::clone(&self.terms.lock()))
    }
}

fn cache_settings(settings: &Settings) -> cache::Settings {
    cache::Settings { octets: terms::cache_octets(settings), limits: terms::limits(settings) }
}
