//! Trust anchors that follow their zones from key to key (RFC 5011), over restarts: when to look, what becomes of it, and the file of it.
//!
//! ```text
//! settings: seeds --.                                  .--> terms of workers (anchors, published)
//!                    >-- states, one a zone -- changes --> the log
//! file, at a start --'      ^        `---------------------> file: title | what it began with | states
//!                           |  each second: whose time has come?
//!        DNSKEY RRset <-- a worker's resolver, from servers, not validated: `validate::rfc5011` does that itself, as who revokes a key signs with it alone
//! ```
//!
//! A state holds as long as the settings say what it began with; with another seed a zone begins anew. What is in memory goes before the file, which may be
//! older where it could not be written. While the clock says less than is known, nothing is looked at: a wait could end, or begin anew, by a wrong time.

mod file;
mod tend;

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use sync::Mutex;
use validate::rfc5011::{CLOCK_STEP_SECONDS_MAX, Change, KeyState, Managed, ManagedKey};
use validate::{Anchors, Fault, Policy, Verifier};
use wire::iana::rtype;
use wire::rrset::RrsetListBuf;
use wire::{Name, NameBuf};

use self::file::StateFile;
pub(super) use self::file::replace;
use super::Terms;
use super::clock::EARLIEST;
use crate::text::Seconds;

/// How long a worker may look: longer than its resolver tries.
const LOOK: Duration = Duration::from_secs(60);
/// When it is looked again where it never went well.
const FIRST_RETRY_SECONDS: u64 = 3600;
/// A look is never put off for longer (RFC 5011 2.3 has 15 days): a state that says more was kept by a wrong clock.
const PUT_OFF_SECONDS_MAX: u64 = 16 * 86_400;

/// What a look has found: the RRsets of an answer, if there was one.
pub(super) type Found = Option<RrsetListBuf>;

/// Trust anchors that follow their zones: states, their file, and the look that is under way.
pub(super) struct Keeper {
    /// None: nothing would outlive the process, so that waits would begin with each start, and nothing is renewed.
    file: Option<StateFile>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What settings begin with. Empty: nothing is renewed.
    seeds: Vec<Managed>,
    /// Where it stands now, in the same order.
    zones: Vec<Managed>,
    looking: Option<Looking>,
    /// Looks so far.
    looks: u64,
    is_clock_wrong: bool,
}

/// The look that is taken, one at a time.
struct Looking {
    zone: NameBuf,
    until: Instant,
    found: Receiver<Found>,
}

/// What the anchors of settings begin with, by name.
pub(super) fn seeds(anchors: &Anchors) -> Arc<[Managed]> {
    let mut seeds: Vec<Managed> = anchors
        .zones()
        .map(|(zone, ds, keys)| {
            let mut seed = Managed::new(&zone, ds.iter());
            let valid = |rdata: &[u8]| ManagedKey { rdata: rdata.to_vec(), state: KeyState::Valid };
            seed.keys.extend(keys.iter().map(valid));
            // However a file has them: with their records in another order it is the same seed.
            seed.ds.sort();
            seed.ds.dedup();
            seed.keys.sort_by(|a, b| a.rdata.cmp(&b.rdata));
            seed.keys.dedup();
            seed
        })
        .collect();
    seeds.sort_by_cached_key(|seed| seed.zone.to_string());
    seeds.into()
}

impl Keeper {
    /// `folder`: of what outlives the process.
    pub(super) fn new(folder: Option<&Path>) -> Keeper {
        let file = folder.map(StateFile::in_folder);
        Keeper { file, state: Mutex::named("states of trust anchors", State::default()) }
    }

    /// Puts what is trusted by now into terms, in place of what the settings begin with.
    pub(super) fn apply(&self, terms: &mut Terms) {
        let Some(file) = &self.file else { return };
        let seeds = terms.seeds.as_deref().unwrap_or_default();
        let mut state = self.state.lock();
        if state.seeds != seeds {
            state.begin(file, seeds);
        }
        state.zones.iter().for_each(|zone| zone.apply(&mut terms.resolve.anchors));
    }

    /// The zone whose keys are to be looked at now, if any are.
    fn due(&self, now: u64) -> Option<NameBuf> {
        let state = &mut *self.state.lock();
        if state.looking.is_some() || state.zones.is_empty() || !state.can_tell(now) {
            return None;
        }
        let is_due = |zone: &&Managed| zone.next <= now || zone.next > now + PUT_OFF_SECONDS_MAX;
        state.zones.iter().find(is_due).map(|zone| zone.zone.clone())
    }

    /// Notes a look; its number.
    fn begin_look(&self, zone: NameBuf, found: Receiver<Found>) {
        let until = Instant::now() + LOOK;
        self.state.lock().looking = Some(Looking { zone, until, found });
    }

    fn number(&self) -> u64 {
        let mut state = self.state.lock();
        state.looks += 1;
        state.looks
    }

    /// What came of the look, when it is over.
    fn looked(&self) -> Option<(NameBuf, Found)> {
        let mut state = self.state.lock();
        let looking = state.looking.as_ref()?;
        let found = match looking.found.try_recv() {
            Ok(found) => found,
            Err(TryRecvError::Empty) if Instant::now() < looking.until => return None,
            Err(_) => None,
        };
        state.looking.take().map(|looking| (looking.zone, found))
    }

    /// Takes what a look has found. What has changed.
    fn take(&self, zone: &Name, found: &Found, now: u64) -> Vec<Change> {
        let Some(file) = &self.file else { return Vec::new() };
        let state = &mut *self.state.lock();
        let State { seeds, zones, .. } = state;
        // The settings may be others by now.
        let Some(managed) = zones.iter_mut().find(|managed| &*managed.zone == zone) else {
            return Vec::new();
        };
        match observe(managed, found, now) {
            Ok(changes) => {
                file.write(seeds, zones);
                changes
            }
            Err(fault) => {
                managed.failed(now);
                if managed.checked == 0 {
                    managed.next = now + FIRST_RETRY_SECONDS;
                }
                let after = Seconds(managed.next - now);
                tracing::warn!(
                    zone = zone.to_string(),
                    error = fault,
                    "trust anchors of {zone}: {fault}; they stay as they are, the next look is in {after}"
                );
                Vec::new()
            }
        }
    }

    /// The zones that are followed.
    fn zones(&self) -> Vec<Managed> {
        self.state.lock().zones.clone()
    }
}

impl State {
    /// Begins with other seeds: goes on where these began before.
    fn begin(&mut self, file: &StateFile, seeds: &[Managed]) {
        let (begun, known) = match self.seeds.is_empty() {
            false => (std::mem::take(&mut self.seeds), std::mem::take(&mut self.zones)),
            true if seeds.is_empty() => Default::default(),
            true => file.read(),
        };
        self.zones = seeds
            .iter()
            .map(|seed| {
                let known = known.iter().find(|known| known.zone == seed.zone);
                known.filter(|_| begun.contains(seed)).unwrap_or(seed).clone()
            })
            .collect();
        self.seeds = seeds.to_vec();
        self.looking = None;
    }

    /// Whether the clock says no less than is known. Says it in the log where that changes.
    fn can_tell(&mut self, now: u64) -> bool {
        let checked = self.zones.iter().map(|zone| zone.checked).max().unwrap_or(0);
        let least = checked.saturating_sub(CLOCK_STEP_SECONDS_MAX).max(EARLIEST);
        let is_wrong = now < least;
        match (is_wrong, self.is_clock_wrong) {
            (true, false) => tracing::warn!(
                now,
                least,
                "the clock is behind what is known of trust anchors ({now}, {least} seconds since 1970): they stay as they are until it is right"
            ),
            (false, true) => tracing::info!("the clock is right again: trust anchors are renewed"),
            _ => {}
        }
        self.is_clock_wrong = is_wrong;
        !is_wrong
    }
}

fn observe(managed: &mut Managed, found: &Found, now: u64) -> Result<Vec<Change>, String> {
    let sets = found.as_ref().ok_or("the zone's keys could not be fetched")?;
    let keys = sets.list().iter().find(|set| set.rtype == rtype::DNSKEY);
    let keys = keys.ok_or("the zone's servers have no keys of it")?;
    let mut verifier = Verifier::default();
    let observed = managed.observe(&keys, now, &Policy::default(), &mut verifier);
    observed.map_err(|fault| match fault {
        Fault::NoMatchingKey => "none of the zone's keys is one that is trusted: where that lasts these anchors are out of date, and newer ones come with a newer \
             version of this program or with `trust-anchor-file`"
            .into(),
        Fault::Expired | Fault::NotYetValid => {
            format!("signatures of the zone's keys are of another time ({fault:?}): the clock of this machine, {now} seconds since 1970, may be wrong")
        }
        _ => format!("the zone's keys are not signed by one that is trusted ({fault:?})"),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
