//! Tasks that nobody waits for any more: their clients were told that it takes too long, or had to make room.
//!
//! ```text
//! abandon: the last who waited is gone
//!   at rest (in line, following, waiting for addresses)     -> the end, at once
//!   asking, proving                                         -> what is under way is awaited and kept, also a late answer for a while; no question follows
//! wanted all the same: who serves others (prefetch, what was given stale, priming, keys ahead), and all that such a task waits for
//! ```
//!
//! Else a flood of random names goes on asking its victim for those whose clients have gone: half of all that it is asked. What was learned on the way, cuts and
//! keys, is in the cache, so whoever asks again begins further down.

use std::net::SocketAddr;

use wire::iana::ede;

use crate::limits::{DESERTED_QUESTIONS_MIN, LINGER_MS, WALK_MAX};
use crate::outcome::{Outcome, Waiter};
use crate::resolver::{Flow, Resolver};
use crate::task::mesh::{Mesh, TaskId};
use crate::task::state::State;
use crate::task::{Purpose, Task};

impl Task {
    /// Whether it is wanted for itself, whoever may wait for it over other tasks.
    fn is_wanted_itself(&self) -> bool {
        let serves_others = match self.purpose {
            Purpose::Prefetch | Purpose::Priming => true,
            Purpose::Ahead => self.parents.is_empty(),
            Purpose::Question | Purpose::Address | Purpose::Trust => self.is_for_cache,
        };
        !self.waiters.is_empty() || serves_others || self.story.is_some()
    }
}

impl Mesh {
    /// Whether somebody waits for a task, over any number of tasks, or it serves others; or so many would have to be looked at that it is taken for granted.
    pub(crate) fn is_wanted(&self, task: &Task) -> bool {
        // One that takes a step just now is there as well; whoever is over is nobody's parent.
        let is_wanted = |parent: &TaskId| self.get(*parent).is_none_or(Task::is_wanted_itself);
        task.is_wanted_itself() || task.parents.iter().any(is_wanted) || self.has_wanted_ancestor(task)
    }

    fn has_wanted_ancestor(&self, task: &Task) -> bool {
        let Some(first) = task.parents.first() else { return false };
        let mut open = [*first; WALK_MAX];
        let (mut at, mut count) = (0, 0);
        let mut parents = &task.parents[..];
        loop {
            for parent in parents {
                if open[..count].contains(parent) {
                    continue;
                }
                if count == WALK_MAX {
                    return true;
                }
                open[count] = *parent;
                count += 1;
            }
            if at == count {
                return false;
            }
            parents = match self.get(open[at]) {
                Some(parent) if parent.is_wanted_itself() => return true,
                Some(parent) => &parent.parents,
                None => return true,
            };
            at += 1;
        }
    }
}

impl Resolver {
    /// Nobody waits there any more.
    pub fn abandon(&mut self, waiter: Waiter) {
        let Some(id) = self.waiting.remove(&waiter) else { return };
        let Some(task) = self.mesh.get_mut(id) else { return };
        let Some(at) = task.waiters.iter().position(|waiting| waiting.waiter == waiter) else { return };
        let gone = task.waiters.swap_remove(at);
        self.budgets.end(gone.budget);
        if task.waiters.is_empty() {
            // It is looked at in the next tick.
            self.mesh.set_due(id, Some(self.time.now));
        }
    }

    /// What becomes of a task whose next step would be a question, and that nobody wants. `None`: it goes on.
    pub(crate) fn desertion(&mut self, task: &mut Task) -> Option<Flow> {
        let is_at_rest = match task.state {
            State::Start | State::Priming | State::Choosing | State::Addresses | State::Following(_) => true,
            State::Proving => task.is_cut_short,
            State::Asking { .. } | State::Streaming { .. } | State::Done => false,
        };
        if !is_at_rest || self.mesh.is_wanted(task) {
            return None;
        }
        // A late answer tells how slow the server is, and is there for who asks next.
        if task.open.iter().flatten().any(|open| self.exchanges.get(*open).is_some()) {
            if !task.is_lingering {
                (task.is_lingering, task.queued_at) = (true, None);
                task.again_at = Some(self.time.now.plus_ms(LINGER_MS));
            }
            if task.again_at.is_some() {
                return Some(Flow::Wait);
            }
        }
        self.counters.deserted.add(1);
        // Nobody of the zone answered: that is for who asks next (RFC 9520 3.2).
        let is_silence = task.state == State::Choosing
            && task.questions >= DESERTED_QUESTIONS_MIN
            && task.candidates.are_all_tried();
        Some(Flow::End(Box::new(if is_silence { self.no_answer(task) } else { Outcome::unfinished() })))
    }

    /// None of the servers of a zone gave an answer. When nobody at all was heard since the begin it is the network, and says nothing about the name, unless all speaks
    /// for it, or there was nobody to be heard.
    pub(crate) fn no_answer(&self, task: &Task) -> Outcome {
        let is_fact = self.is_for_sure(task) || self.is_theirs_alone(task) || self.is_without_address(task);
        let why = if is_fact { ede::NO_REACHABLE_AUTHORITY } else { ede::NETWORK_ERROR };
        let edes = match task.ede {
            Some(ede) if ede != why => [Some(ede), Some(why)],
            _ => [Some(why), None],
        };
        let reason = Some("none of the zone's servers gave an answer");
        Outcome { is_fact, edes, reason, ..Outcome::failed() }
    }

    /// Whether somebody was heard since a task began: there is a network.
    pub(crate) fn is_for_sure(&self, task: &Task) -> bool {
        self.network.heard_count() > task.heard_before
    }

    /// Whether no address is known of any of a task's servers, and that is nobody's silence: they are in each other's zones.
    fn is_without_address(&self, task: &Task) -> bool {
        task.candidates.address(0).is_none()
            && self.network.silent_count() == task.silent_before
            && self.network.out_since().is_none()
    }

    /// Whether nobody but a task's servers is silent, where nobody was heard meanwhile.
    pub(crate) fn is_theirs_alone(&self, task: &Task) -> bool {
        let candidates = &task.candidates;
        let is_one = |server: &SocketAddr| candidates.has(server);
        candidates.address(0).is_some_and(|one| self.network.are_alone(&one, is_one, task.begun))
    }
}
