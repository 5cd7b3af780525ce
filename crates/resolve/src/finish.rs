//! The end of a task: what failed is remembered, what is stale takes its place, who waits is told.

use cache::{Entry, Key, Kind, Rank, Security, Subject};
use wire::Name;
use wire::iana::{ede, rcode};
use wire::rrset::{RdataList, RrsetList};

use crate::limits::{
    ALIASES_MAX, FAILURE_SECONDS_MAX, FAILURE_SECONDS_MIN, RECHECKS_MAX, STALE_RECHECK_MS, TOLD_A_TURN,
};
use crate::lookup::{Found, Kept, Lookup};
use crate::mesh::TaskId;
use crate::outcome::{EDES_MAX, Outcome};
use crate::resolver::Resolver;
use crate::state::State;
use crate::target::address_of;
use crate::task::{Purpose, Task, Waiting};
use crate::world::World;

impl Resolver {
    /// See the module. `task` is taken out.
    pub(crate) fn finish(
        &mut self,
        id: TaskId,
        mut task: Box<Task>,
        mut outcome: Box<Outcome>,
        world: &mut dyn World,
    ) {
        let is_wanted = outcome.is_fact && self.mesh.is_wanted(&task);
        task.state = State::Done;
        self.proving_octets -= task.proof.as_ref().map_or(0, |proof| proof.octets);
        self.close_exchanges(&mut task, world);
        self.end_inquiry(id, &mut task);
        self.end_story(&mut task, &outcome);
        if outcome.rcode == rcode::SERVFAIL {
            self.counters.failures += 1;
            self.remember_failure(&task, &outcome, world);
            let is_bogus = outcome.security == Some(Security::Bogus);
            if self.settings.stale_after_ms.is_some()
                && !task.waiters.is_empty()
                && !is_bogus
                && let Some(stale) = self.stale(&task, world)
            {
                self.counters.stale += 1;
                self.remember_recheck(&task);
                *outcome = stale;
            }
        }
        let waiters = std::mem::take(&mut task.waiters);
        for parent in std::mem::take(&mut task.parents) {
            self.child_done(parent, id, &task, &outcome);
        }
        for child in std::mem::take(&mut task.children) {
            self.leave_child(child, id, is_wanted);
        }
        if task.purpose == Purpose::Prefetch {
            self.prefetches = self.prefetches.saturating_sub(1);
        }
        self.budgets.end(task.budget);
        self.mesh.remove(id);
        if let Some(left) = self.tell_all(waiters, outcome, world) {
            self.spares.put(task, left);
        }
    }

    /// Tells many what it came to: those that are too many for this turn in the next ones. What is left where all were told.
    fn tell_all(
        &mut self,
        mut waiters: Vec<Waiting>,
        outcome: Box<Outcome>,
        world: &mut dyn World,
    ) -> Option<(Vec<Waiting>, Box<Outcome>)> {
        while self.told_now < TOLD_A_TURN {
            let Some(waiting) = waiters.pop() else { return Some((waiters, outcome)) };
            self.told_now += 1;
            self.tell(waiting, &outcome, world);
        }
        if waiters.is_empty() {
            return Some((waiters, outcome));
        }
        self.telling.push_back((waiters, outcome));
        None
    }

    /// Some of those that were left are told.
    pub(crate) fn tell_left(&mut self, world: &mut dyn World) {
        while self.told_now < TOLD_A_TURN
            && let Some((waiters, outcome)) = self.telling.pop_front()
        {
            self.tell_all(waiters, outcome, world);
        }
    }

    /// A task that another waited for has come to something.
    fn child_done(&mut self, parent_id: TaskId, child_id: TaskId, child: &Task, outcome: &Outcome) {
        let is_left =
            !outcome.is_fact && self.mesh.get(parent_id).is_some_and(|one| !self.mesh.is_wanted(one));
        let settings = &self.settings;
        let Some(parent) = self.mesh.get_mut(parent_id) else { return };
        parent.is_cut_short |= is_left;
        parent.children.retain(|id| *id != child_id);
        if parent.candidates.has_name(&child.name) {
            let sets = outcome.answer.list().iter().filter(|set| set.rtype == child.rtype);
            let rdatas = sets.flat_map(|set| set.rdatas.iter());
            let usable = rdatas.filter(|rdata| crate::response::is_server(rdata, &settings.not_servers));
            let mut addresses = [0; 2];
            for address in usable.filter_map(|rdata| address_of(child.rtype, rdata)) {
                let is_new = parent.candidates.add(std::net::SocketAddr::new(address, settings.port), None);
                addresses = [addresses[0] + 1, addresses[1] + usize::from(is_new)];
            }
            parent.candidates.came_to(&child.name, outcome.rcode == rcode::NOERROR, addresses);
        }
        match parent.state {
            State::Addresses => (parent.state, parent.again_at) = (State::Choosing, None),
            State::Priming => parent.state = State::Start,
            _ => {}
        }
        parent.note_child(child, outcome);
        crate::proving::provided(parent, child, outcome);
        self.mesh.make_ready(parent_id);
    }

    /// A task needs another no more. Should nobody else wait for that, it goes on for the cache where the task was wanted and came to something, and may be given up when there
    /// is no room.
    fn leave_child(&mut self, child: TaskId, parent: TaskId, is_wanted: bool) {
        let Some(task) = self.mesh.get_mut(child) else { return };
        task.parents.retain(|id| *id != parent);
        task.is_for_cache |= is_wanted;
        if task.parents.is_empty() {
            let client = task.waiters.first().map_or(0, |waiting| waiting.client);
            let zone = task.place.zone.clone();
            self.mesh.count_under(child, &zone, client);
        }
    }

    /// Keeps that it could not be found out (RFC 9520), for longer each time. What says nothing about the question is not kept.
    fn remember_failure(&mut self, task: &Task, outcome: &Outcome, world: &mut dyn World) {
        if !outcome.is_fact || outcome.edes.contains(&Some(ede::CACHED_ERROR)) {
            return;
        }
        let now = self.time.now;
        let key = Key { name: &task.qname, subject: Subject::Failure(task.rtype) };
        let last = world.cache().get(&key, &mut self.scratch.copied);
        let is_again = |entry: &Entry<'_>| {
            entry.expired_for(now) <= u64::from(entry.ttl).max(u64::from(FAILURE_SECONDS_MIN))
        };
        let ttl = match last.filter(is_again) {
            Some(entry) => entry.ttl.saturating_mul(2).clamp(FAILURE_SECONDS_MIN, FAILURE_SECONDS_MAX),
            None => FAILURE_SECONDS_MIN,
        };
        let entry = Entry {
            kind: Kind::Failure,
            rank: Rank::Additional,
            security: Security::Insecure,
            ede: outcome.edes[0],
            stored: now,
            ttl,
            zone_labels: task.place.zone.label_count() as u8,
            rdatas: RdataList::EMPTY,
            signatures: RdataList::EMPTY,
            beside: RrsetList::EMPTY,
        };
        world.cache().put(&key, &entry, task.begun, now);
    }

    /// Only stale data could be given: for a while they are, without another try (RFC 8767 5).
    fn remember_recheck(&mut self, task: &Task) {
        let now = self.time.now;
        if self.rechecks.len() >= RECHECKS_MAX {
            self.rechecks.retain(|_, until| *until > now);
        }
        if self.rechecks.len() < RECHECKS_MAX {
            self.rechecks.insert((Name::to_owned(&task.name), task.rtype), now.plus_ms(STALE_RECHECK_MS));
        }
    }

    /// What is stale, if that was all there was a short while ago.
    pub(crate) fn stale_at_once(&mut self, task: &Task, world: &mut dyn World) -> Option<Outcome> {
        if self.settings.stale_after_ms.is_none() || task.aliases > 0 || self.rechecks.is_empty() {
            return None;
        }
        // Looked up by a key that is owned: seldom, as there are none while servers answer.
        let until = self.rechecks.get(&(Name::to_owned(&task.name), task.rtype))?;
        if *until <= self.time.now {
            return None;
        }
        let outcome = self.stale(task, world)?;
        self.counters.stale += 1;
        Some(outcome)
    }

    /// Gives those who wait what has expired, if there is something; the task goes on without them (RFC 8767 5).
    pub(crate) fn give_stale(&mut self, task: &mut Task, world: &mut dyn World) {
        if task.waiters.is_empty() || task.is_unchecked {
            return;
        }
        let Some(outcome) = self.stale(task, world) else { return };
        task.is_for_cache = true;
        for waiting in std::mem::take(&mut task.waiters) {
            self.counters.stale += 1;
            self.tell(waiting, &outcome, world);
        }
    }

    /// The answer as it was before it expired; `None` where a part of it is not there any more, or is fresh in a way that ends in nothing.
    fn stale(&mut self, task: &Task, world: &mut dyn World) -> Option<Outcome> {
        let lookup = Lookup {
            cache: world.cache(),
            now: self.time.now,
            is_unchecked: task.is_unchecked,
            is_stale: true,
            is_for_proof: false,
            floor: 0,
        };
        let mut kept = Kept::default();
        let mut outcome = Outcome { is_fact: true, ..Outcome::default() };
        let mut name = Name::to_owned(&task.name);
        for _ in 0..=ALIASES_MAX {
            let found = lookup.find(&name, task.rtype, &mut self.scratch.copied, &mut kept);
            let (security, rcode) = match found {
                Found::Alias(security) => (security, None),
                Found::Data(security) | Found::NoData(security) => (security, Some(rcode::NOERROR)),
                Found::NameError(security) => (security, Some(rcode::NXDOMAIN)),
                Found::TooLong(_) | Found::Nothing => return None,
            };
            outcome.security = Some(outcome.security.map_or(security, |known| known.worst(security)));
            if let Some(rcode) = rcode {
                let why =
                    if rcode == rcode::NXDOMAIN { ede::STALE_NXDOMAIN_ANSWER } else { ede::STALE_ANSWER };
                let mut edes = [None; EDES_MAX];
                edes[0] = Some(why);
                edes[1] = task.ede;
                return kept.is_stale.then_some(Outcome {
                    rcode,
                    edes,
                    answer: kept.answer,
                    authority: kept.authority,
                    is_stale: true,
                    ..outcome
                });
            }
            name = kept.target.take()?;
        }
        None
    }
}
