//! What the resolvers of workers count: words that the worker alone writes, and anybody reads at any time. Nobody asks the worker.

use std::sync::Arc;

use recursive::waiting;

use super::Recursion;

/// The words of one worker. They outlive it: one that begins anew after a panic goes on from there.
#[derive(Clone, Default)]
pub(super) struct Words {
    pub(super) answers: Arc<recursive::LiveCounters>,
    pub(super) resolver: Arc<resolve::LiveCounters>,
    pub(super) waiting: Arc<waiting::LiveCounts>,
}

/// What was read of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) answers: recursive::Counters,
    pub(crate) resolver: resolve::Counters,
    pub(crate) waiting: waiting::Counts,
}

impl Words {
    fn read(&self) -> Counts {
        Counts { answers: self.answers.read(), resolver: self.resolver.read(), waiting: self.waiting.read() }
    }
}

impl Recursion {
    /// The words of a worker.
    pub(super) fn words_of(&self, worker: usize) -> Words {
        let mut all = self.words.lock();
        if all.len() <= worker {
            all.resize_with(worker + 1, Words::default);
        }
        all[worker].clone()
    }

    /// What each worker has counted.
    pub(crate) fn counts(&self) -> Vec<Counts> {
        self.words.lock().iter().map(Words::read).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::answer::Recursed;
    use crate::settings::Settings;

    /// Whoever counts: it is read as it is written, summed over workers, and goes on where a worker begins anew.
    #[test]
    fn words_are_read_while_they_are_written() {
        let mut settings = Settings::default();
        settings.resolver.enabled = true;
        let recursion = Recursion::new(&settings, &auth::Server::default(), None).unwrap().unwrap();
        assert!(recursion.counts().is_empty(), "no worker has begun");
        let count = |worker: usize, asked: u64| {
            let words = recursion.words_of(worker);
            words.resolver.asked.add(asked);
            words.waiting.waiting.write(asked);
        };
        count(1, 3);
        count(0, 4);
        count(1, 5);
        let asked = |recursion: &Recursion| Recursed::of(recursion).done.asked;
        assert_eq!((recursion.counts().len(), asked(&recursion)), (2, 12));
        assert_eq!(Recursed::of(&recursion).waiting[0], 9, "what is now is not added up over the past");
        // Who waited at a worker that is no more does not.
        let mut waiters: waiting::Waiters<()> = waiting::Waiters::new(4);
        waiters.count_in(recursion.words_of(1).waiting);
        assert_eq!((Recursed::of(&recursion).waiting[0], asked(&recursion)), (4, 12));
    }
}
