//! What has expired is given where nothing fresh comes (RFC 8767), and who asks next has something better.
//!
//! ```text
//! begin  failed within 30 s -> at once; 5 s after the last try began the task goes on alone, as a prefetch does, for who asks next
//!        `stale_after_ms`   -> to who waits; the task goes on alone, and who joins it gets the same
//! end    failed             -> to who waits
//! kept   a failure until the next try is due: the responder gives what is stale by it, with no task at all
//! ```
//!
//! What is known to be bogus is never replaced so, nor anything that was found out.

use cache::{Entry, Moment, Security};
use wire::Name;
use wire::iana::{ede, rcode};

use crate::known::lookup::{Found, Kept, Lookup};
use crate::limits::{ALIASES_MAX, PREFETCH_ONE_IN, STALE_AGAIN_MS, STALE_RECHECK_MS};
use crate::outcome::{EDES_MAX, Outcome};
use crate::resolver::Resolver;
use crate::task::{Purpose, Task};
use crate::world::World;

/// A failure that is kept of a name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    stored: Moment,
    /// Its time is over: it is worth another try.
    pub is_over: bool,
    /// It says something about the question; else it is a reason to give what is stale, and no more.
    pub is_fact: bool,
    pub ede: Option<u16>,
}

impl Before {
    pub(crate) fn of(failure: &Entry<'_>, now: Moment) -> Before {
        Before {
            stored: failure.stored,
            is_over: failure.ttl_left(now).is_none(),
            is_fact: failure.security != Security::Unchecked,
            ede: failure.ede,
        }
    }
}

impl Resolver {
    /// What is stale, for a task that begins shortly after another one failed. `None`: the task goes on, alone where somebody was given what is stale.
    pub(crate) fn stale_at_once(
        &mut self,
        task: &mut Task,
        before: &Before,
        world: &mut dyn World,
    ) -> Option<Outcome> {
        let is_recent = self.time.now.ms_since(before.stored) < STALE_RECHECK_MS;
        if self.settings.stale_after_ms.is_none() || task.waiters.is_empty() || !is_recent {
            return None;
        }
        let why = std::mem::replace(&mut task.ede, before.ede);
        let stale = self.stale(task, world);
        task.ede = why;
        let stale = stale?;
        if !before.is_over || !self.becomes_prefetch(task) {
            self.counters.tasks_stale.add(1);
            return Some(stale);
        }
        // Others need not come here while it is tried.
        let seconds = (STALE_AGAIN_MS / 1000) as u32;
        self.keep_failure(task, before.ede, (before.is_fact, seconds), world);
        self.give(task, &stale, world);
        None
    }

    /// Has a task go on for the cache alone, if there is room for one more of that kind.
    fn becomes_prefetch(&mut self, task: &mut Task) -> bool {
        if task.purpose != Purpose::Question {
            // Others need it anyway.
            return true;
        }
        if self.prefetches >= self.settings.tasks_max / PREFETCH_ONE_IN {
            return false;
        }
        task.purpose = Purpose::Prefetch;
        self.prefetches += 1;
        self.counters.prefetches.add(1);
        true
    }

    /// Gives those who wait what has expired, if there is something; the task goes on without them (RFC 8767 5).
    pub(crate) fn give_stale(&mut self, task: &mut Task, world: &mut dyn World) {
        if task.waiters.is_empty() || task.is_unchecked {
            return;
        }
        let Some(outcome) = self.stale(task, world) else { return };
        self.give(task, &outcome, world);
    }

    fn give(&mut self, task: &mut Task, outcome: &Outcome, world: &mut dyn World) {
        (task.is_for_cache, task.has_given_stale, task.stale_at) = (true, true, None);
        for waiting in std::mem::take(&mut task.waiters) {
            self.counters.tasks_stale.add(1);
            self.tell(waiting, outcome, world);
        }
    }

    /// What is stale, in the place of a failure, for who waits or who asks next.
    pub(crate) fn stale_instead(
        &mut self,
        task: &Task,
        outcome: &Outcome,
        world: &mut dyn World,
    ) -> Option<Outcome> {
        let is_bogus = outcome.security == Some(Security::Bogus);
        let is_wanted = !task.waiters.is_empty() || task.has_given_stale;
        if self.settings.stale_after_ms.is_none() || !is_wanted || is_bogus {
            return None;
        }
        self.stale(task, world)
    }

    /// The answer as it was before it expired; `None` where a part of it is not there any more, or is fresh in a way that ends in nothing.
    fn stale(&mut self, task: &Task, world: &mut dyn World) -> Option<Outcome> {
        let lookup = Lookup {
            is_unchecked: task.is_unchecked,
            is_stale: true,
            ..Lookup::new(world.cache(), self.time.now)
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
