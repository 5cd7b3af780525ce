//! Who pays for a task: one of those who wait, and the next of them when that one has nothing left.

use crate::outcome::Outcome;
use crate::resolver::Resolver;
use crate::task::{Task, Waiting};
use crate::world::World;

impl Resolver {
    /// Whoever paid for a task has nothing left: he is told, and another who waits goes on paying. `false`: there is none.
    pub(crate) fn next_payer(&mut self, task: &mut Task, world: &mut dyn World) -> bool {
        let now = self.time.now;
        if task.begun.plus_ms(crate::limits::TASK_MS_MAX_OF_ALL) <= now {
            return false;
        }
        let mut at = 0;
        while let Some(waiting) = task.waiters.get(at).copied() {
            if self.budgets.is_spent(waiting.budget, now) {
                task.waiters.swap_remove(at);
                self.counters.spent.add(1);
                self.tell(waiting, &Outcome::unfinished(), world);
            } else {
                at += 1;
            }
        }
        let of_waiters = task.waiters.first().map(|waiting| waiting.budget);
        let payer = of_waiters.or_else(|| {
            let budgets = task.parents.iter().filter_map(|id| self.mesh.get(*id)).map(|parent| parent.budget);
            budgets.into_iter().find(|budget| !self.budgets.is_spent(*budget, now))
        });
        let Some(payer) = payer else { return false };
        self.budgets.share(payer);
        let old = std::mem::replace(&mut task.budget, payer);
        self.budgets.end(old);
        true
    }

    /// Takes a question from whoever pays. `false`: nobody does any more.
    pub(crate) fn pay(&mut self, task: &mut Task, world: &mut dyn World) -> bool {
        loop {
            if !self.budgets.is_spent(task.budget, self.time.now) {
                return self.budgets.take_question(task.budget);
            }
            if !self.next_payer(task, world) {
                return false;
            }
        }
    }

    /// Tells one who waited what it came to.
    pub(crate) fn tell(&mut self, waiting: Waiting, outcome: &Outcome, world: &mut dyn World) {
        self.waiting.remove(&waiting.waiter);
        self.budgets.end(waiting.budget);
        world.done(waiting.waiter, outcome);
    }
}
