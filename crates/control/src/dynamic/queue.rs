//! What waits for one thread: bounded, in order, and whoever puts something in never waits.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::Instant;

use sync::Mailbox;
use sync::mailbox::{Taken, Wake};

/// Requests that wait: a thread that is so far behind does not catch up in a client's patience.
pub(crate) const REQUESTS_MAX: usize = 4096;
/// Octets of the same: as many messages of the largest kind as a small server can spare memory for.
pub(crate) const REQUESTS_OCTETS_MAX: usize = 64 << 20;

/// See the module.
pub(crate) struct Queue<T> {
    mailbox: Mailbox<(T, usize)>,
    /// Those in it, and their octets.
    waiting: AtomicUsize,
    octets: AtomicUsize,
    owner: OnceLock<Thread>,
    is_closed: AtomicBool,
}

impl<T> Queue<T> {
    pub(crate) fn new() -> Queue<T> {
        let (waiting, octets) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let is_closed = AtomicBool::new(false);
        Queue { mailbox: Mailbox::new(), waiting, octets, owner: OnceLock::new(), is_closed }
    }

    /// Puts in what takes so many octets.
    ///
    /// # Errors
    ///
    /// The thing, if too many wait, or too many octets, or the owner has ended.
    pub(crate) fn push(&self, thing: T, octets: usize) -> Result<(), T> {
        let waiting = self.waiting.fetch_add(1, Ordering::Relaxed);
        let before = self.octets.fetch_add(octets, Ordering::Relaxed);
        if waiting >= REQUESTS_MAX || before.saturating_add(octets) > REQUESTS_OCTETS_MAX {
            self.leave(octets);
            return Err(thing);
        }
        if self.is_closed.load(Ordering::Acquire) {
            self.leave(octets);
            return Err(thing);
        }
        match self.mailbox.push((thing, octets)) {
            Ok(Wake::Awake) => Ok(()),
            Ok(Wake::Needed) => {
                self.wake();
                Ok(())
            }
            Err((thing, octets)) => {
                self.leave(octets);
                Err(thing)
            }
        }
    }

    /// Has the owner look, though nothing came.
    pub(crate) fn wake(&self) {
        if let Some(owner) = self.owner.get() {
            owner.unpark();
        }
    }

    /// One less waits.
    fn leave(&self, octets: usize) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        self.octets.fetch_sub(octets, Ordering::Relaxed);
    }

    /// All that waits, first what came first; waits for the first thing, until `until`, or for [`Queue::wake`]; nothing may have come then. `None`: it is closed, and all was taken. Called by the owner alone,
    /// which is whoever calls it first.
    pub(crate) fn take(&self, until: Option<Instant>) -> Option<Vec<T>> {
        let mut is_first = self.owner.get().is_none();
        let owner = self.owner.get_or_init(std::thread::current);
        debug_assert_eq!(owner.id(), std::thread::current().id(), "one owner");
        loop {
            let all = self.taken(self.mailbox.take());
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if !all.is_empty() || left.is_some_and(|left| left.is_zero()) {
                return Some(all);
            }
            // Who had it look before it was known had nobody to wake.
            if std::mem::take(&mut is_first) {
                return Some(all);
            }
            if self.is_closed.load(Ordering::Acquire) {
                // Who looked before it was closed has put in what is taken here, or gets it back.
                let last = self.end();
                return (!last.is_empty()).then_some(last);
            }
            if self.mailbox.prepare_to_sleep() {
                match left {
                    Some(left) => std::thread::park_timeout(left),
                    None => std::thread::park(),
                }
                self.mailbox.awake();
                if self.mailbox.is_empty() && !self.is_closed.load(Ordering::Acquire) {
                    return Some(Vec::new());
                }
            }
        }
    }

    /// Has the owner end once it has taken what waits; later pushes fail.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.wake();
    }

    /// The owner has ended, or does so: nothing can be put in any more. Returns what nobody has taken.
    pub(crate) fn end(&self) -> Vec<T> {
        self.is_closed.store(true, Ordering::Release);
        self.taken(self.mailbox.close())
    }

    fn taken(&self, things: Taken<(T, usize)>) -> Vec<T> {
        let each = |(thing, octets)| {
            self.leave(octets);
            thing
        };
        things.map(each).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

    /// Who has it look before there is an owner does not do so in vain.
    #[test]
    fn woken_before_it_is_owned() {
        let queue: Queue<u32> = Queue::new();
        queue.wake();
        assert_eq!(queue.take(None), Some(Vec::new()));
        queue.close();
        assert_eq!(queue.take(None), None);
    }

    #[test]
    fn in_order_and_bounded() {
        let queue = Queue::new();
        (0..REQUESTS_MAX).for_each(|number| queue.push(number, 1).unwrap());
        assert_eq!(queue.push(7, 1), Err(7));
        assert!(queue.take(None).unwrap().into_iter().eq(0..REQUESTS_MAX));
        queue.push(1, REQUESTS_OCTETS_MAX).unwrap();
        assert_eq!(queue.push(2, 1), Err(2));
        assert_eq!(queue.take(None).unwrap(), [1]);
        queue.push(3, REQUESTS_OCTETS_MAX).unwrap();
        queue.close();
        assert_eq!((queue.push(4, 1), queue.take(None), queue.take(None)), (Err(4), Some(vec![3]), None));
    }

    /// Who saw it open and comes when it is closed has its thing taken, or gets it back: nothing stays inside that nobody looks at.
    #[test]
    fn nothing_is_left_inside_by_who_comes_as_it_closes() {
        let queue = Queue::new();
        queue.close();
        // What `push` does once it has seen the queue open.
        assert!(queue.mailbox.push((1, 0)).is_ok());
        assert_eq!((queue.take(None), queue.take(None)), (Some(vec![1]), None));
        assert_eq!(queue.mailbox.push((2, 0)), Err((2, 0)));
        // An owner that ends without another look.
        let queue = Queue::new();
        queue.push(1, 0).unwrap();
        assert_eq!(queue.end(), [1]);
        assert_eq!((queue.push(2, 0), queue.mailbox.push((3, 0))), (Err(2), Err((3, 0))));
    }

    #[test]
    fn the_owner_is_woken() {
        let queue = Arc::new(Queue::new());
        let owner = {
            let queue = Arc::clone(&queue);
            std::thread::spawn(move || {
                let mut seen = Vec::new();
                while seen.len() < 1000 {
                    seen.extend(queue.take(None).unwrap());
                }
                // Nothing more comes.
                assert_eq!(queue.take(Some(Instant::now() + Duration::from_millis(5))), Some(vec![]));
                seen
            })
        };
        let pushers: Vec<_> = (0..4u32)
            .map(|pusher| {
                let queue = Arc::clone(&queue);
                std::thread::spawn(move || {
                    for number in 0..250 {
                        queue.push(pusher * 1000 + number, 8).unwrap();
                        if number % 16 == 0 {
                            std::thread::yield_now();
                        }
                    }
                })
            })
            .collect();
        pushers.into_iter().for_each(|pusher| pusher.join().unwrap());
        let seen = owner.join().unwrap();
        for pusher in 0..4 {
            assert!(seen.iter().copied().filter(|number| number / 1000 == pusher).is_sorted());
        }
    }
}
