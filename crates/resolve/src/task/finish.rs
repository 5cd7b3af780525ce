//! The end of a task: what failed is remembered, what is stale takes its place, who waits is told.

use cache::{Entry, Key, Kind, Rank, Security, Subject};
use wire::iana::{ede, rcode};
use wire::rrset::{RdataList, RrsetList};

use crate::ask::target::address_of;
use crate::limits::{
    FAILURE_SECONDS_MAX, FAILURE_SECONDS_MIN, FAILURE_SECONDS_UNSURE, STALE_AGAIN_MS, TOLD_A_TURN,
};
use crate::outcome::Outcome;
use crate::resolver::Resolver;
use crate::task::mesh::TaskId;
use crate::task::state::State;
use crate::task::{Purpose, Task, Waiting};
use crate::world::World;

impl Resolver {
    /// Ends a task: keeps what failed, tells who waits, and wakes the tasks that waited. `task` is taken out.
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
            self.counters.tasks_failed.add(1);
            let stale = self.stale_instead(&task, &outcome, world);
            self.remember_failure(&task, &outcome, stale.is_some(), world);
            if let Some(stale) = stale.filter(|_| !task.waiters.is_empty()) {
                self.counters.tasks_stale.add(1);
                *outcome = stale;
            }
        } else if task.has_given_stale {
            // What is not kept, as of TTL 0, does not take its place.
            world.cache().remove(&Key { name: &task.qname, subject: Subject::Failure(task.rtype) });
        }
        self.pass_keys(id, &task, &outcome);
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

    /// Keeps that it could not be found out (RFC 9520), for longer each time; where there is something stale to give, until the next try is due. What says nothing
    /// about the question is kept for that alone.
    fn remember_failure(&mut self, task: &Task, outcome: &Outcome, is_stale: bool, world: &mut dyn World) {
        if !(outcome.is_fact || is_stale) || outcome.edes.contains(&Some(ede::CACHED_ERROR)) {
            return;
        }
        let now = self.time.now;
        if is_stale {
            let left_ms = STALE_AGAIN_MS.saturating_sub(now.ms_since(task.begun));
            let seconds = left_ms.div_ceil(1000).max(1) as u32;
            return self.keep_failure(task, outcome.edes[0], (outcome.is_fact, seconds), world);
        }
        if !self.is_for_sure(task) && outcome.edes.contains(&Some(ede::NO_REACHABLE_AUTHORITY)) {
            return self.keep_failure(task, outcome.edes[0], (true, FAILURE_SECONDS_UNSURE), world);
        }
        let key = Key { name: &task.qname, subject: Subject::Failure(task.rtype) };
        let last = world.cache().get(&key, &mut self.scratch.copied);
        let is_again = |entry: &Entry<'_>| {
            entry.expired_for(now) <= u64::from(entry.ttl).max(u64::from(FAILURE_SECONDS_MIN))
        };
        let seconds = match last.filter(is_again) {
            // Fetched before it expires: what is there is given meanwhile.
            _ if task.purpose == Purpose::Prefetch => FAILURE_SECONDS_MIN,
            Some(entry) => entry.ttl.saturating_mul(2).clamp(FAILURE_SECONDS_MIN, FAILURE_SECONDS_MAX),
            None => FAILURE_SECONDS_MIN,
        };
        self.keep_failure(task, outcome.edes[0], (true, seconds), world);
    }

    /// Keeps a failure for exactly so long. One that is no fact is [`Security::Unchecked`]: it is a reason to give what is stale, and none to fail.
    pub(crate) fn keep_failure(
        &self,
        task: &Task,
        ede: Option<u16>,
        (is_fact, seconds): (bool, u32),
        world: &mut dyn World,
    ) {
        let key = Key { name: &task.qname, subject: Subject::Failure(task.rtype) };
        let now = self.time.now;
        let entry = Entry {
            kind: Kind::Failure,
            rank: Rank::Additional,
            security: if is_fact { Security::Insecure } else { Security::Unchecked },
            ede,
            stored: now,
            ttl: seconds,
            zone_labels: task.place.zone.label_count() as u8,
            rdatas: RdataList::EMPTY,
            signatures: RdataList::EMPTY,
            beside: RrsetList::EMPTY,
        };
        // One that is there would make it longer.
        world.cache().remove(&key);
        world.cache().put(&key, &entry, task.begun, now);
    }
}
