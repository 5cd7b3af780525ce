//! Which locks a thread has, in builds with debug assertions: it panics where it asks for one of them again. Without this such a
//! place goes well until a writer comes between its two readers, and then waits for ever.

use std::marker::PhantomData;

/// That the thread has a lock, once for each guard. It stays on its thread, and so does the guard.
pub(super) struct Taken {
    #[cfg(debug_assertions)]
    lock: usize,
    /// One of those that other threads may look at but not have.
    _of_this_thread: PhantomData<std::sync::MutexGuard<'static, ()>>,
}

#[cfg(debug_assertions)]
mod noted {
    use std::cell::RefCell;

    thread_local! {
        /// The addresses of the locks that the thread has: a handful.
        static LOCKS: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    }

    pub(super) fn has(lock: usize) -> bool {
        // A thread that ends asks for locks when its list may be gone.
        LOCKS.try_with(|locks| locks.borrow().contains(&lock)).unwrap_or(false)
    }

    pub(super) fn add(lock: usize) {
        let _ = LOCKS.try_with(|locks| locks.borrow_mut().push(lock));
    }

    pub(super) fn remove(lock: usize) {
        let remove = |locks: &RefCell<Vec<usize>>| {
            let mut locks = locks.borrow_mut();
            if let Some(at) = locks.iter().rposition(|&one| one == lock) {
                locks.swap_remove(at);
            }
        };
        let _ = LOCKS.try_with(remove);
    }
}

/// Before a thread waits for the lock at this address.
///
/// # Panics
///
/// In builds with debug assertions, if the thread has it.
#[inline]
#[track_caller]
pub(super) fn not_twice<T: ?Sized>(lock: &T) {
    #[cfg(debug_assertions)]
    assert!(!noted::has(address(lock)), "a thread asks for a lock that it has");
    let _ = lock;
}

#[cfg(debug_assertions)]
fn address<T: ?Sized>(lock: &T) -> usize {
    std::ptr::from_ref(lock).cast::<()>().addr()
}

impl Taken {
    /// The thread has the lock at this address from now until this is dropped.
    #[inline]
    pub(super) fn now<T: ?Sized>(lock: &T) -> Taken {
        let taken = Taken::still(lock);
        #[cfg(debug_assertions)]
        noted::add(taken.lock);
        taken
    }

    /// The same for a guard that takes the place of one that is forgotten.
    #[inline]
    pub(super) fn still<T: ?Sized>(lock: &T) -> Taken {
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
