//! How tasks begin: for a client, for nobody, for another task; how clients join one that is there, and what is given up when there is no room.

use wire::Name;

use crate::limits::{DEPTH_MAX, PARENTS_MAX, PREFETCH_ONE_IN, WAITERS_MAX};
use crate::outcome::{Ask, From, Outcome, Waiter};
use crate::resolver::{Refused, Resolver};
use crate::task::budget::BudgetId;
use crate::task::mesh::TaskId;
use crate::task::{Purpose, Task, Waiting};
use crate::world::World;

impl Resolver {
    /// Takes one more who waits for a task.
    pub(crate) fn join(&mut self, id: TaskId, ask: &Ask<'_>, waiter: Waiter) -> Result<(), Refused> {
        let now = self.time.now;
        let stale_after_ms = self.settings.stale_after_ms;
        let Some(task) = self.mesh.get_mut(id) else { return Err(Refused::Full) };
        let client = ask.client.unwrap_or(0);
        if task.waiters.len() >= WAITERS_MAX {
            return Err(Refused::Crowded);
        }
        let budget = self.budgets.begin(now);
        let mut is_news = self.budgets.is_spent(task.budget, now);
        if std::mem::take(&mut task.is_lingering) {
            (is_news, task.again_at) = (true, None);
        }
        task.waiters.push(Waiting { waiter, client, budget });
        if let Some(after_ms) = stale_after_ms
            && task.stale_at.is_none()
        {
            is_news = true;
            task.stale_at = Some(if task.has_given_stale { now } else { now.plus_ms(after_ms) });
        }
        self.waiting.insert(waiter, id);
        self.counters.joined.add(1);
        // Whoever paid before may have nothing left; and stale data may be due sooner than anything.
        if is_news {
            self.mesh.make_ready(id);
        }
        Ok(())
    }

    /// Begins a task for a client, or for nobody.
    pub(crate) fn begin(
        &mut self,
        ask: &Ask<'_>,
        is_unchecked: bool,
        waiter: Option<Waiter>,
        world: &mut dyn World,
    ) -> Result<(), Refused> {
        let now = self.time.now;
        let purpose = if waiter.is_some() { Purpose::Question } else { Purpose::Prefetch };
        if waiter.is_none() && self.prefetches >= self.settings.tasks_max / PREFETCH_ONE_IN {
            return Err(Refused::Full);
        }
        self.make_room(world)?;
        let budget = self.budgets.begin(now);
        let mut task = self.new_task(ask.name, ask.rtype, purpose, budget);
        task.is_unchecked = is_unchecked;
        task.is_refresh = ask.from == From::Servers;
        task.is_missed = ask.from == From::Missed;
        let client = ask.client.unwrap_or(0);
        if let Some(waiter) = waiter {
            self.budgets.share(budget);
            task.waiters.push(Waiting { waiter, client, budget });
            task.stale_at = self.settings.stale_after_ms.map(|after_ms| now.plus_ms(after_ms));
        } else {
            self.prefetches += 1;
            self.counters.prefetches.add(1);
        }
        let id = self.insert(task);
        if let Some(waiter) = waiter {
            self.waiting.insert(waiter, id);
        }
        Ok(())
    }

    /// A task at its begin.
    pub(crate) fn new_task(
        &mut self,
        name: &Name,
        rtype: u16,
        purpose: Purpose,
        budget: BudgetId,
    ) -> Box<Task> {
        match self.spares.take() {
            Some(mut task) => {
                task.renew(name, rtype, purpose, budget, self.time.now);
                task
            }
            None => Box::new(Task::new(name, rtype, purpose, budget, self.time.now)),
        }
    }

    pub(crate) fn insert(&mut self, mut task: Box<Task>) -> TaskId {
        task.heard_before = self.network.heard_count();
        task.silent_before = self.network.silent_count();
        self.counters.tasks.add(1);
        let is_needed = !task.parents.is_empty();
        let client = task.waiters.first().map_or(0, |waiting| waiting.client);
        let id = self.mesh.insert(task);
        if !is_needed {
            self.mesh.count_under(id, Name::root(), client);
        }
        id
    }

    /// Gives up a task if there are too many.
    pub(crate) fn make_room(&mut self, world: &mut dyn World) -> Result<(), Refused> {
        if self.mesh.count() < self.settings.tasks_max {
            return Ok(());
        }
        let victim = self.mesh.oldest_of_fullest().ok_or(Refused::Full)?;
        let task = self.mesh.take(victim).ok_or(Refused::Full)?;
        self.counters.tasks_dropped.add(1);
        self.finish(victim, task, Box::new(Outcome::unfinished()), world);
        Ok(())
    }

    /// Begins a sub-task, or joins the one that is there. `None`: it would wait for itself, be too deep, or cost too much.
    pub(crate) fn child(
        &mut self,
        (parent_id, parent): (TaskId, &mut Task),
        (name, rtype): (&Name, u16),
        purpose: Purpose,
        world: &mut dyn World,
    ) -> Option<TaskId> {
        let is_unchecked = self.settings.is_validating;
        if let Some(id) = self.mesh.find(name, rtype, is_unchecked) {
            if id == parent_id || self.mesh.waits_for(id, parent_id) {
                return None;
            }
            let child = self.mesh.get_mut(id)?;
            if child.parents.len() >= PARENTS_MAX {
                return None;
            }
            child.parents.push(parent_id);
            parent.children.push(id);
            if std::mem::take(&mut child.is_lingering) {
                child.again_at = None;
                self.mesh.make_ready(id);
            }
            self.mesh.protect(id);
            return Some(id);
        }
        if !self.mesh.is_wanted(parent) {
            parent.is_cut_short = true;
            return None;
        }
        let is_itself = parent.rtype == rtype && parent.is_unchecked == is_unchecked && *parent.name == *name;
        if is_itself || parent.depth >= DEPTH_MAX || !self.budgets.take_child(parent.budget) {
            return None;
        }
        self.make_room(world).ok()?;
        self.budgets.share(parent.budget);
        let mut task = self.new_task(name, rtype, purpose, parent.budget);
        task.is_unchecked = is_unchecked;
        task.depth = parent.depth + 1;
        task.story = parent.story.is_some().then(Box::default);
        task.parents.push(parent_id);
        let id = self.insert(task);
        parent.children.push(id);
        Some(id)
    }
}
