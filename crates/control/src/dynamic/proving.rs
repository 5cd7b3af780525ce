//! Updates of signed zones on their way to the thread that looks at their signatures, and back: what else comes for such a zone waits, in its order; other zones go on.
//!
//! ```text
//! make_version: right but for signatures --> place? --no--> SERVFAIL
//!                                              | all that waits for the zone with it
//!       no state of the zone waits for the disk --> thread, over the newest state --> back: the same state still? done or refused
//!                                                                                          `- another: once more, ATTEMPTS_MAX times
//! ```

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use wire::{Name, NameBuf};
use zone::delta::Changed;

use super::changer::Changer;
use super::prover::{Prover, Task, Verdict};
use super::update::{Said, Update};
use super::versions::Waiting;

/// Updates that wait here, of all zones: with the largest messages 16 MiB. Who is the last of so many of the dearest waits longer than clients do.
const PLACES_MAX: usize = 256;
/// Of these, for clients that have not shown that they receive at their addresses.
const PLACES_UNPROVED_MAX: usize = PLACES_MAX / 2;
/// Of one client network: a signer that sends some updates without waiting for replies.
const PLACES_PER_NETWORK_MAX: usize = 64;
/// How often an update is looked at, as the zone is another one whenever that is done: by edits of its text, or packs moved.
const ATTEMPTS_MAX: u32 = 4;
/// Between two lines that say that there is no place.
const SAY_PAUSE: Duration = Duration::from_secs(60);

const NO_PLACE: Said = Said::not_now()
    .because("as many updates of signed zones wait for their signatures to be verified as may");
const CHANGES_MEANWHILE: Said =
    Said::not_now().because("the zone becomes another one whenever signatures have been verified");

/// What waits for signatures.
#[derive(Default)]
pub(super) struct Proving {
    zones: HashMap<NameBuf, Held>,
    places: Places,
    prover: Option<Prover>,
    said: Option<Instant>,
}

/// What waits for one zone.
#[derive(Default)]
struct Held {
    /// In order; the first is the one that is looked at next, unless that is with the thread.
    waiting: Waiting,
    is_with_prover: bool,
}

/// Who has places.
#[derive(Default)]
struct Places {
    all: usize,
    unproved: usize,
    /// Only those that have one.
    networks: HashMap<IpAddr, usize>,
}

impl Places {
    /// Takes a place, if there is one.
    fn take(&mut self, network: IpAddr, is_proved: bool) -> bool {
        let own = self.networks.get(&network).copied().unwrap_or(0);
        let is_there = self.all < PLACES_MAX
            && own < PLACES_PER_NETWORK_MAX
            && (is_proved || self.unproved < PLACES_UNPROVED_MAX);
        if is_there {
            self.all += 1;
            self.unproved += usize::from(!is_proved);
            self.networks.insert(network, own + 1);
        }
        is_there
    }

    fn give_back(&mut self, network: IpAddr, is_proved: bool) {
        self.all -= 1;
        self.unproved -= usize::from(!is_proved);
        if let Some(own) = self.networks.get_mut(&network) {
            *own -= 1;
            if *own == 0 {
                self.networks.remove(&network);
            }
        }
    }
}

impl Proving {
    /// Has these wait behind what waits for the zone; those that have no place come back.
    fn hold(&mut self, zone: NameBuf, updates: Waiting) -> Vec<Update> {
        let held = self.zones.entry(zone).or_default();
        let mut refused = Vec::new();
        for update in updates {
            match self.places.take(update.network, update.is_proved) {
                true => held.waiting.push_back(update),
                false => refused.push(update),
            }
        }
        refused
    }

    /// Whether updates of a zone wait here.
    pub(super) fn has(&self, zone: &Name) -> bool {
        self.zones.contains_key(zone)
    }

    /// What the thread is done with, with all that waited for these zones.
    fn take(&mut self) -> Vec<(NameBuf, Waiting)> {
        let done: Vec<_> = self.prover.iter().flat_map(Prover::take).collect();
        let whole = |(zone, update): (NameBuf, Box<Update>)| {
            self.places.give_back(update.network, update.is_proved);
            let mut updates = VecDeque::from([*update]);
            updates.extend(self.release(&zone));
            (zone, updates)
        };
        done.into_iter().map(whole).collect()
    }

    /// What waits for a zone, which is none of those any more whose updates wait.
    fn release(&mut self, zone: &Name) -> Waiting {
        let waiting = self.zones.remove(zone).map_or_else(Waiting::new, |held| held.waiting);
        for update in &waiting {
            self.places.give_back(update.network, update.is_proved);
        }
        waiting
    }

    /// All that waits, and what the thread has: it ends.
    fn end(&mut self) -> Vec<Update> {
        let taken = self.prover.take().map_or_else(Vec::new, Prover::end);
        let waiting = self.zones.drain().flat_map(|(_, held)| held.waiting);
        let all = taken.into_iter().chain(waiting).collect();
        self.places = Places::default();
        all
    }
}

/// What is to be done about signatures of an update whose turn it is.
pub(super) enum Known {
    /// See [`change::Proof`].
    Proof(change::Proof),
    /// This was found over this state.
    Said(Verdict),
}

/// What is known of the signatures of an update; `over`: the state that it is put on, where nothing else was yet.
pub(super) fn known(update: &Update, over: Option<&Changed>) -> Known {
    match update.proof.as_ref().filter(|proof| over.is_some_and(|state| proof.is_of(state))) {
        None => Known::Proof(change::Proof::Elsewhere),
        Some(proof) if proof.verdict == Verdict::Right => Known::Proof(change::Proof::Given),
        Some(proof) => Known::Said(proof.verdict),
    }
}

impl Changer {
    /// Has all that waits for a zone wait for the signatures of the first.
    pub(super) fn hold_for_proof(&mut self, zone: &Name, updates: &mut Waiting) {
        let has_been = |update: &Update| update.proof.as_ref().map_or(0, |proof| proof.attempts);
        if let Some(first) = updates.pop_front_if(|first| has_been(first) >= ATTEMPTS_MAX) {
            return self.reply(first, CHANGES_MEANWHILE);
        }
        let refused = self.proving.hold(zone.to_owned(), std::mem::take(updates));
        self.refuse_places(refused);
        // None of them may have had a place.
        if self.proving.zones.get(zone).is_some_and(|held| held.waiting.is_empty() && !held.is_with_prover) {
            self.proving.zones.remove(zone);
        }
    }

    fn refuse_places(&mut self, refused: Vec<Update>) {
        let Some(first) = refused.first() else { return };
        let now = Instant::now();
        if self.proving.said.is_none_or(|said| now - said >= SAY_PAUSE) {
            self.proving.said = Some(now);
            let (zone, client) = (first.zone(), first.client);
            tracing::warn!(%zone, address = %client, "zone {zone}: update of {client} refused: as many updates of signed zones wait for their signatures to be verified as may");
        }
        self.reply_all(refused, NO_PLACE);
    }

    /// Adds to what is to be worked out what the thread is done with, before what came later, and takes out of it what is to wait.
    pub(super) fn take_proved(&mut self, waiting: &mut HashMap<NameBuf, Waiting>, order: &mut Vec<NameBuf>) {
        for (zone, mut updates) in self.proving.take() {
            if !order.contains(&zone) {
                order.push(zone.clone());
            }
            updates.extend(waiting.remove(&zone).unwrap_or_default());
            waiting.insert(zone, updates);
        }
        for zone in &*order {
            if self.proving.zones.contains_key(zone)
                && let Some(updates) = waiting.remove(zone)
            {
                let refused = self.proving.hold(zone.clone(), updates);
                self.refuse_places(refused);
            }
        }
    }

    /// Gives the thread the first update of each zone of which no state waits for the disk: one that does may be taken back.
    pub(super) fn prove(&mut self) {
        let due: Vec<NameBuf> = self
            .proving
            .zones
            .iter()
            .filter(|(name, held)| {
                !held.is_with_prover && !self.zones.get(*name).is_some_and(|zone| zone.is_waiting())
            })
            .map(|(name, _)| name.clone())
            .collect();
        for name in due {
            if !self.give_to_prover(&name) {
                let waiting = self.proving.release(&name);
                self.reply_all(waiting, Said::not_now());
            }
        }
    }

    /// False: the zone is gone, or there is no thread.
    fn give_to_prover(&mut self, name: &NameBuf) -> bool {
        let Some(zone) = self.zones.get(name) else { return false };
        let state = zone.newest_box().clone();
        let terms = match zone.slot() {
            Some(slot) => self.controller.update_terms_at(slot),
            None => self.controller.update_terms(name),
        };
        if self.proving.prover.is_none() {
            let dynamic = std::sync::Arc::clone(&self.controller.dynamic);
            match Prover::start(move || dynamic.queue.wake()) {
                Ok(prover) => self.proving.prover = Some(prover),
                Err(error) => {
                    tracing::error!(%error, "a thread for signatures of updates cannot be started: {error}");
                    return false;
                }
            }
        }
        let Proving { zones, prover, .. } = &mut self.proving;
        let (Some(held), Some(prover)) = (zones.get_mut(name), prover) else { return false };
        let Some(update) = held.waiting.pop_front() else { return false };
        let task = Task { zone: name.clone(), update: Box::new(update), state, terms };
        match prover.push(task) {
            Ok(()) => held.is_with_prover = true,
            Err(update) => {
                held.waiting.push_front(*update);
                return false;
            }
        }
        true
    }

    /// What is left at the end is refused.
    pub(super) fn end_proving(&mut self) {
        let left = self.proving.end();
        self.reply_all(left, Said::not_now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded() {
        let network = |number: u32| IpAddr::from(std::net::Ipv4Addr::from(number));
        let mut places = Places::default();
        let mut take = |number, is_proved| places.take(network(number), is_proved);
        let of_one = (0..PLACES_MAX).filter(|_| take(1, true)).count();
        assert_eq!(of_one, PLACES_PER_NETWORK_MAX);
        let unproved = (0..PLACES_MAX as u32).filter(|number| take(2 + number, false)).count();
        assert_eq!(unproved, PLACES_UNPROVED_MAX);
        let proved = (0..PLACES_MAX as u32).filter(|number| take(1000 + number, true)).count();
        assert_eq!(proved, PLACES_MAX - of_one - unproved);
        places.give_back(network(1), true);
        assert!(places.take(network(1), true) && !places.take(network(1), true));
        for _ in 0..of_one {
            places.give_back(network(1), true);
        }
        assert!(!places.networks.contains_key(&network(1)));
    }
}
