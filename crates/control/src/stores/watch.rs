//! The threads that have feeders run, one after the other, as long as the settings have the store.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::session::{Ended, Session};
use super::{Stands, StoreName, Stores, opening};
use crate::child::Child;
use crate::controller::Controller;
use crate::settings::{StorePlace, StoreTerms};
use crate::text::Span;

/// Before a feeder that has died is started again: twice as long each time.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// One that has run for so long dies of something else than those before.
const IS_WELL_AFTER: Duration = Duration::from_secs(60);
/// Where SQLite has what it needs for a moment, as for a version of many records: the feeder has no other folder.
const TEMPORARY: &str = "SQLITE_TMPDIR";
/// How long a feeder may take to end once it has closed its end of the pair.
const LAST_WAIT: Duration = Duration::from_millis(200);

impl Stores {
    /// Starts a thread for each store that has none. Those of stores that the settings have no more end by themselves.
    pub(super) fn start_threads(&self) {
        let is_due = self.is_loaded.load(Ordering::SeqCst);
        let owner = self.owner.get().filter(|_| is_due);
        let Some(controller) = owner.and_then(Weak::upgrade) else { return };
        // What a start struck out, and the log has ended since.
        let place = controller.place_of_stores();
        self.keep_owned(place.as_ref());
        let names: Vec<StoreName> = self.state.read().stores.iter().map(|store| store.terms.name).collect();
        let mut threads = self.threads.lock();
        threads.retain(|(_, thread)| !thread.is_finished());
        for name in names {
            if self.is_ending.load(Ordering::SeqCst) || threads.iter().any(|(known, _)| *known == name) {
                continue;
            }
            let owner = Arc::downgrade(&controller);
            let builder = thread::Builder::new().name(format!("store-{name}"));
            match builder.spawn(move || run(&owner, name)) {
                Ok(thread) => threads.push((name, thread)),
                Err(error) => {
                    tracing::error!(%error, "store {name}: a thread cannot be started: {error}; it is not followed until the next reload");
                }
            }
        }
    }

    /// The terms of a store, if these are they still.
    pub(super) fn terms(&self, key: (StoreName, u64)) -> Option<StoreTerms> {
        self.with(key, |store, _, _| store.terms.clone())
    }

    /// The generation of a store; `None`: there is none of that name, or the server ends.
    pub(super) fn generation(&self, name: StoreName) -> Option<u64> {
        let state = self.state.read();
        let store = state.stores.iter().find(|store| store.terms.name == name)?;
        (!self.is_ending.load(Ordering::SeqCst)).then_some(store.generation)
    }
}

/// What a feeder has of an environment: the folder of its file, whatever links lead there.
fn environment(place: &StorePlace) -> Vec<(&'static str, PathBuf)> {
    match place {
        StorePlace::File(path) => {
            let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
            vec![(TEMPORARY, real.parent().map(Path::to_owned).unwrap_or_default())]
        }
        StorePlace::Postgres(_) => Vec::new(),
    }
}

/// Has one feeder after the other run.
fn run(owner: &Weak<Controller>, name: StoreName) {
    let mut pause = PAUSES.0;
    loop {
        let began = Instant::now();
        let Some(controller) = owner.upgrade() else { return };
        let Some(generation) = controller.stores.generation(name) else { return };
        let stores = Arc::clone(&controller.stores);
        let Some(terms) = stores.terms((name, generation)) else { continue };
        let started = opening::frames(&terms).and_then(|opening| {
            let started = Child::start("feed", &environment(&terms.place));
            started.map(|(child, pair)| (child, pair, opening)).map_err(|error| error.to_string())
        });
        let why = match started {
            Ok((mut child, pair, opening)) => {
                let pair = (pair, &opening[..]);
                let session = Session::begin(controller, (name, generation), child.id(), pair);
                match session.map_or_else(Ended::Fault, Session::run) {
                    Ended::NotWanted => {
                        stores.with((name, generation), |store, _, _| {
                            (store.about.pid, store.about.tell) = (None, None);
                        });
                        continue;
                    }
                    Ended::HandedOver => return,
                    // No sooner than it is looked up again.
                    Ended::Readdressed => {
                        stores.with((name, generation), |store, _, _| {
                            (store.about.pid, store.about.tell) = (None, None);
                        });
                        tracing::info!(
                            "store {name}: its database has another address by now, or another password: its feeder is told so"
                        );
                        continue;
                    }
                    Ended::Fault(error) => child.how_it_ended(&error, LAST_WAIT),
                }
            }
            Err(error) => format!("cannot be started: {error}"),
        };
        pause = if began.elapsed() > IS_WELL_AFTER { PAUSES.0 } else { pause };
        let away = Stands::Away(format!("its feeder {why}"), crate::expiry::now());
        stores.with((name, generation), |store, _, _| {
            (store.about.stands, store.about.pid, store.about.tell) = (away, None, None);
            store.about.begin_anew();
        });
        drop(stores);
        tracing::error!(
            "store {name}: its feeder {why}; started again in {}, and zones are served as they are",
            Span(pause)
        );
        thread::park_timeout(pause);
        pause = (2 * pause).min(PAUSES.1);
    }
}
