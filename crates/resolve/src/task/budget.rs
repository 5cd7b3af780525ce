//! What a question of a client may cost, all tasks together that work for it.
//!
//! ```text
//! Budgets: [ Budget: users | questions left | tasks left | deadline ]
//! waiter -> number of his budget; task -> number of the one that pays now; a sub-task gets its parent's
//! ```
//!
//! Nothing sets a budget back: not aliases, not restarts, not validation that begins anew.

use cache::Moment;
use validate::Work;

use crate::limits::{CHILDREN_MAX, QUESTIONS_MAX, TASK_MS_MAX};
use crate::slab::{Key, Slab};

/// The number of a budget. Valid as long as the one who has it is one of its users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BudgetId(Key);

#[derive(Debug)]
struct Budget {
    /// Waiters and tasks that have it.
    users: u32,
    questions_left: u16,
    children_left: u16,
    deadline: Moment,
    /// What validation has cost.
    work: Work,
}

/// What clients' questions may still cost.
#[derive(Default)]
pub(crate) struct Budgets {
    slots: Slab<Budget>,
}

impl Budgets {
    /// A whole budget, with one user.
    pub(crate) fn begin(&mut self, now: Moment) -> BudgetId {
        let deadline = now.plus_ms(TASK_MS_MAX);
        let whole = Budget {
            users: 1,
            questions_left: QUESTIONS_MAX,
            children_left: CHILDREN_MAX,
            deadline,
            work: Work::default(),
        };
        BudgetId(self.slots.insert(whole))
    }

    fn of(&self, id: BudgetId) -> &Budget {
        self.slots.get(id.0).expect("whoever has a budget is one of its users")
    }

    fn of_mut(&mut self, id: BudgetId) -> &mut Budget {
        self.slots.get_mut(id.0).expect("whoever has a budget is one of its users")
    }

    /// One user more.
    pub(crate) fn share(&mut self, id: BudgetId) {
        self.of_mut(id).users += 1;
    }

    /// Takes a sub-task. `false`: no more of them.
    pub(crate) fn take_child(&mut self, id: BudgetId) -> bool {
        let left = &mut self.of_mut(id).children_left;
        *left = match left.checked_sub(1) {
            Some(less) => less,
            None => return false,
        };
        true
    }

    /// One user less.
    pub(crate) fn end(&mut self, id: BudgetId) {
        let budget = self.of_mut(id);
        budget.users -= 1;
        if budget.users == 0 {
            self.slots.remove(id.0);
        }
    }

    /// Takes a question. `false`: there are none left.
    pub(crate) fn take_question(&mut self, id: BudgetId) -> bool {
        let left = &mut self.of_mut(id).questions_left;
        *left = match left.checked_sub(1) {
            Some(less) => less,
            None => return false,
        };
        true
    }

    /// What validation has cost so far.
    pub(crate) fn work(&self, id: BudgetId) -> Work {
        self.of(id).work
    }

    /// Validation went on: what it has cost in all.
    pub(crate) fn set_work(&mut self, id: BudgetId, work: Work) {
        self.of_mut(id).work = work;
    }

    /// Whether it is used up: its questions or its time.
    pub(crate) fn is_spent(&self, id: BudgetId, now: Moment) -> bool {
        let budget = self.of(id);
        budget.questions_left == 0 || budget.deadline <= now
    }

    /// When the work ends in any case.
    pub(crate) fn deadline(&self, id: BudgetId) -> Moment {
        self.of(id).deadline
    }

    /// Budgets in use.
    pub(crate) fn count(&self) -> usize {
        self.slots.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_and_freed() {
        let mut budgets = Budgets::default();
        let (one, two) = (budgets.begin(Moment(0)), budgets.begin(Moment(5)));
        budgets.share(one);
        (0..QUESTIONS_MAX).for_each(|_| assert!(budgets.take_question(one)));
        assert!(
            !budgets.take_question(one)
                && budgets.is_spent(one, Moment(9))
                && !budgets.is_spent(two, Moment(9))
        );
        budgets.end(one);
        assert_eq!(budgets.count(), 2, "one has a user yet");
        budgets.end(one);
        assert_eq!(budgets.count(), 1);
        let again = budgets.begin(Moment(9));
        assert!(again != one && !budgets.is_spent(again, Moment(10)));
        assert_eq!(budgets.deadline(again), Moment(9 + TASK_MS_MAX));
        assert!(budgets.is_spent(again, Moment(9 + TASK_MS_MAX)));
        assert!((1..=CHILDREN_MAX).all(|_| budgets.take_child(again)) && !budgets.take_child(again));
    }
}
