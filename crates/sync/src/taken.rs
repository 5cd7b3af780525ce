//! In builds with debug assertions: which locks a thread has. It panics where it asks for one again, and where it asks for two in
//! another order than some thread did before.
//!
//! Either goes well until another thread comes between, and then both wait for ever. Here the tests find it where it is written,
//! whatever the threads do meanwhile:
//!
//! ```text
//! thread 1 has  zones ---- asks for ---> texts        noted: zones before texts
//! thread 2 has  texts ---- asks for ---> zones        panics, also a day later
//! ```
//!
//! Orders are those of the lines where locks are made, not of single locks: of the locks of one line, such as those of all zones, nothing is
//! noted. What asks without waiting is in nobody's way.

use std::marker::PhantomData;

use crate::profile::Origin;

/// That the thread has a lock, once for each guard. It stays on its thread, and so does the guard.
pub(crate) struct Taken {
    #[cfg(debug_assertions)]
    lock: usize,
    /// One of those that other threads may look at but not have.
    _of_this_thread: PhantomData<std::sync::MutexGuard<'static, ()>>,
}

/// Before a thread waits for a lock.
///
/// # Panics
///
/// In builds with debug assertions, if the thread has it, or has one that was asked for after it.
#[inline]
#[track_caller]
pub(crate) fn waits<T: ?Sized>(lock: &T, origin: Origin) {
    #[cfg(debug_assertions)]
    noted::waits(address(lock), origin);
    let _ = (lock, origin);
}

impl Taken {
    /// The thread has the lock from now until this is dropped.
    #[inline]
    pub(crate) fn now<T: ?Sized>(lock: &T, origin: Origin) -> Taken {
        #[cfg(debug_assertions)]
        noted::add(address(lock), origin);
        let _ = origin;
        Taken::still(lock)
    }

    /// The same for a guard that takes the place of one that is forgotten.
    #[inline]
    pub(crate) fn still<T: ?Sized>(lock: &T) -> Taken {
        let _ = lock;
        Taken {
            #[cfg(debug_assertions)]
            lock: address(lock),
            _of_this_thread: PhantomData,
        }
    }
}

#[cfg(debug_assertions)]
impl Drop for Taken {
    fn drop(&mut self) {
        noted::remove(self.lock);
    }
}

#[cfg(debug_assertions)]
fn address<T: ?Sized>(lock: &T) -> usize {
    std::ptr::from_ref(lock).cast::<()>().addr()
}

#[cfg(debug_assertions)]
mod noted {
    use std::{
        cell::RefCell,
        collections::{HashMap, HashSet},
        sync::{LazyLock, Mutex, PoisonError},
    };

    use crate::profile::Origin;

    /// What a thread knows.
    #[derive(Default)]
    struct Thread {
        /// Addresses of the locks that it has: a handful.
        has: Vec<(usize, Origin)>,
        /// Orders that it has noted already.
        orders: HashSet<(Origin, Origin)>,
    }

    thread_local! {
        static THREAD: RefCell<Thread> = RefCell::default();
    }

    /// By the lock that a thread had, those that it asked for. As many as the program has lines that make locks.
    static ORDERS: LazyLock<Mutex<HashMap<Origin, HashSet<Origin>>>> = LazyLock::new(Mutex::default);

    /// A thread that ends asks for locks when what it knew may be gone.
    fn thread<R>(of: impl FnOnce(&mut Thread) -> R) -> Option<R> {
        THREAD.try_with(|thread| of(&mut thread.borrow_mut())).ok()
    }

    #[track_caller]
    pub(super) fn waits(lock: usize, origin: Origin) {
        let news = thread(|thread| {
            let has = thread.has.iter().any(|&(one, _)| one == lock);
            let before = thread.has.iter().map(|&(_, before)| before).filter(|&before| before != origin);
            let news: Vec<Origin> =
                before.filter(|&before| !thread.orders.contains(&(before, origin))).collect();
            (has, news)
        });
        let (has, news) = news.unwrap_or_default();
        assert!(!has, "a thread asks for the lock {} that it has", text(origin));
        for before in news {
            let turned = note(before, origin);
            assert!(
                !turned,
                "{} after {}: some thread took them in the other order",
                text(origin),
                text(before)
            );
            thread(|thread| thread.orders.insert((before, origin)));
        }
    }

    /// Notes an order; whether the other one was noted before, perhaps by way of others.
    fn note(before: Origin, after: Origin) -> bool {
        let mut orders = ORDERS.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut seen, mut left) = (HashSet::from([after]), vec![after]);
        while let Some(one) = left.pop() {
            left.extend(orders.get(&one).into_iter().flatten().filter(|&&next| seen.insert(next)));
        }
        let turned = seen.contains(&before);
        if !turned {
            orders.entry(before).or_default().insert(after);
        }
        turned
    }

    fn text(origin: Origin) -> String {
        format!("`{}` of {}", origin.name, origin.made)
    }

    pub(super) fn add(lock: usize, origin: Origin) {
        thread(|thread| thread.has.push((lock, origin)));
    }

    pub(super) fn remove(lock: usize) {
        thread(|thread| {
            if let Some(at) = thread.has.iter().rposition(|&(one, _)| one == lock) {
                thread.has.swap_remove(at);
            }
        });
    }
}

#[cfg(all(test, debug_assertions))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::thread;

    use crate::{Mutex, RwLock};

    /// Whether it panics on a thread of its own.
    fn panics(asks: impl FnOnce() + Send) -> bool {
        thread::scope(|scope| scope.spawn(asks).join().is_err())
    }

    #[test]
    fn two_locks_in_two_orders() {
        let (one, other, third) = (Mutex::new(()), RwLock::new(()), Mutex::new(()));
        let both = || drop((one.lock(), other.read()));
        let turned = || drop((other.read(), one.lock()));
        assert!(!panics(both));
        // It was noted by a thread that is gone.
        assert!(panics(turned));
        assert!(!panics(both));
        // By way of a third one.
        assert!(!panics(|| drop((other.write(), third.lock()))));
        assert!(panics(|| drop((third.lock(), one.lock()))));
        // What does not wait is free to ask.
        assert!(!panics(|| drop((third.lock(), other.try_read().unwrap()))));
    }

    #[test]
    fn locks_of_one_line_have_no_order() {
        let all: Vec<Mutex<()>> = (0..2).map(|_| Mutex::new(())).collect();
        assert!(!panics(|| drop((all[0].lock(), all[1].lock()))));
        assert!(!panics(|| drop((all[1].lock(), all[0].lock()))));
    }
}
