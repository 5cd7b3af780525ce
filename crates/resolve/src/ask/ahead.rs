//! The keys of a zone, asked for beside the first question to its servers: what they answer is proved by them, or by those of a zone below.
//!
//! ```text
//! a question goes to servers of a zone -> from there up to an anchor, or to a zone whose keys are known: each has DS, none is known to be insecure
//!   -> a task for (zone, DNSKEY) of each, that nobody waits for yet
//! the proof needs the keys: it joins that task, or finds them in the cache       silence, failure: it ends, and has cost one question
//!                           those with TTL 0, which no cache has: in `Passing`
//! ```
//!
//! Else each zone on the way cost a validated answer one round trip more, one after the other.

use std::collections::VecDeque;

use cache::{Key, Kind, Subject};
use validate::Facts;
use validate::anchors::Start;
use wire::iana::{rcode, rtype};
use wire::{Name, NameBuf};

use crate::known::start::above;
use crate::limits::{AHEAD_MAX, PASSING_MAX};
use crate::outcome::Outcome;
use crate::proving::facts::{CacheFacts, Fact};
use crate::resolver::Resolver;
use crate::task::mesh::TaskId;
use crate::task::{Purpose, Source, Task};
use crate::world::World;

/// Keys with TTL 0 that came before the proof that they were asked for: they are for that alone (RFC 1035 3.2.1).
#[derive(Default)]
pub(crate) struct Passing {
    /// For which task; the oldest first.
    facts: VecDeque<(TaskId, Fact)>,
}

impl Passing {
    fn keep(&mut self, task: TaskId, fact: Fact) {
        if self.facts.len() >= PASSING_MAX {
            self.facts.pop_front();
        }
        self.facts.push_back((task, fact));
    }

    /// What came for a task, if it did.
    pub(crate) fn take(&mut self, task: TaskId, name: &Name, rtype: u16) -> Option<Fact> {
        let is_it = |(of, fact): &(TaskId, Fact)| *of == task && fact.rtype == rtype && *fact.name == *name;
        let at = self.facts.iter().position(is_it)?;
        self.facts.remove(at).map(|(_, fact)| fact)
    }

    /// A task is over.
    fn forget(&mut self, task: TaskId) {
        self.facts.retain(|(of, _)| *of != task);
    }
}

/// What is known of the keys of a zone.
enum Keys {
    /// They are there, proved or not, or on their way.
    Known,
    /// They are not needed: nothing is validated there, or it is known without them how far.
    Unneeded,
    /// They have to be asked for.
    Wanted,
}

impl Resolver {
    /// A question went to servers of the zone of now, the first one: asks for the keys that its answer will be proved by, where they are not known.
    pub(crate) fn ask_keys_ahead(&mut self, id: TaskId, task: &mut Task, world: &mut dyn World) {
        let is_asked = std::mem::replace(&mut task.has_asked_keys, true);
        let is_proof_wanted = self.settings.is_validating && !task.is_unchecked && task.story.is_none();
        if is_asked || !is_proof_wanted || task.place.source != Source::Cut {
            return;
        }
        // Mostly they are there.
        if self.standings.has(&task.place.zone, self.time.wall) {
            return;
        }
        for zone in self.zones_without_keys((id, task), world) {
            if self.mesh.count() >= self.settings.tasks_max || !self.budgets.take_child(task.budget) {
                return;
            }
            self.budgets.share(task.budget);
            let mut ahead = self.new_task(&zone, rtype::DNSKEY, Purpose::Ahead, task.budget);
            ahead.is_unchecked = true;
            ahead.ahead_of = Some(id);
            ahead.depth = task.depth + 1;
            self.insert(ahead);
        }
    }

    /// A task has ended: if it was for keys that somebody needs soon, and no cache keeps them, they are put by for that one.
    pub(crate) fn pass_keys(&mut self, id: TaskId, task: &Task, outcome: &Outcome) {
        self.passing.forget(id);
        let Some(asker) = task.ahead_of.filter(|asker| self.mesh.has(*asker)) else { return };
        let is_kept = outcome.answer.list().iter().all(|set| set.ttl > 0);
        if outcome.rcode == rcode::NOERROR && !is_kept {
            self.passing.keep(asker, Fact::of(task, outcome));
        }
    }

    /// The zones from that of now upwards whose keys a proof will need that are not known.
    fn zones_without_keys(&mut self, (id, task): (TaskId, &Task), world: &mut dyn World) -> Vec<NameBuf> {
        let subject = above(task);
        let Start::Anchor { labels: anchor, .. } = self.settings.anchors.start(subject, self.time.wall)
        else {
            return Vec::new();
        };
        let mut zone: &Name = &task.place.zone;
        // Where it stands is known further down: the proof begins there. An answer that is the keys has them.
        let is_answer = task.rtype == rtype::DNSKEY && subject.eq_ignore_case(zone);
        if is_answer || self.stands_below(id, (zone, subject), world) {
            return Vec::new();
        }
        let mut wanted: Vec<NameBuf> = Vec::new();
        while wanted.len() < AHEAD_MAX && zone.label_count() >= anchor {
            match self.keys_of(id, zone, world) {
                Keys::Known => return wanted,
                Keys::Unneeded => return Vec::new(),
                Keys::Wanted => wanted.push(zone.to_owned()),
            }
            if zone.label_count() == anchor {
                return wanted;
            }
            let Some(parent) = self.signed_parent(zone, world) else { return Vec::new() };
            zone = parent;
        }
        Vec::new()
    }

    /// Whether it is known how a name below `zone` stands, at or above `subject`.
    fn stands_below(&mut self, id: TaskId, (zone, subject): (&Name, &Name), world: &mut dyn World) -> bool {
        let mut at = subject;
        for _ in zone.label_count()..subject.label_count() {
            if self.facts(id, world).standing(at).is_some() {
                return true;
            }
            let Some(parent) = at.parent() else { break };
            at = parent;
        }
        false
    }

    fn keys_of(&mut self, id: TaskId, zone: &Name, world: &mut dyn World) -> Keys {
        match self.facts(id, world).standing(zone) {
            Some(validate::Standing::Secure { .. }) => return Keys::Known,
            Some(_) => return Keys::Unneeded,
            None => {}
        }
        let now = self.time.now;
        let subjects = [Subject::Unchecked(rtype::DNSKEY), Subject::Rrset(rtype::DNSKEY)];
        let is_kept = subjects.into_iter().any(|subject| {
            let entry = world.cache().get(&Key { name: zone, subject }, &mut self.scratch.copied);
            entry.is_some_and(|entry| entry.ttl_left(now).is_some())
        });
        match is_kept || self.mesh.find(zone, rtype::DNSKEY, true).is_some() {
            true => Keys::Known,
            false => Keys::Wanted,
        }
    }

    /// The zone that delegates `zone`, where it has DS for it that can be used, verified or not.
    fn signed_parent<'n>(&mut self, zone: &'n Name, world: &mut dyn World) -> Option<&'n Name> {
        let now = self.time.now;
        let copied = &mut self.scratch.copied;
        let subjects = [Subject::Unchecked(rtype::DS), Subject::Rrset(rtype::DS)];
        let is_signed = subjects.into_iter().any(|subject| {
            let entry = world.cache().get(&Key { name: zone, subject }, copied);
            entry.is_some_and(|entry| {
                entry.kind == Kind::Data
                    && entry.ttl_left(now).is_some()
                    && self.settings.policy.has_usable_ds(entry.rdatas)
            })
        });
        if !is_signed {
            return None;
        }
        let cut = world.cache().get(&Key::cut(zone), copied).filter(|entry| entry.ttl_left(now).is_some())?;
        let labels = usize::from(cut.zone_labels);
        let mut parent = zone.parent()?;
        while parent.label_count() > labels {
            parent = parent.parent()?;
        }
        Some(parent)
    }

    /// What the caches say to a task, with nothing fetched.
    fn facts<'a>(&'a mut self, id: TaskId, world: &'a dyn World) -> CacheFacts<'a> {
        CacheFacts {
            cache: world.cache(),
            time: self.time,
            standings: &mut self.standings,
            facts: &[],
            copied: &mut self.scratch.copied,
            kept: &mut self.scratch.kept,
            work: &self.scratch.work,
            asked: self.time.now,
            task: Some(id),
            is_explained: false,
        }
    }
}

impl Task {
    /// Whether nobody waits yet for keys that were asked for beside a question: one question is all they may cost.
    pub(crate) fn is_ahead(&self) -> bool {
        self.purpose == Purpose::Ahead && self.parents.is_empty() && self.waiters.is_empty()
    }
}
