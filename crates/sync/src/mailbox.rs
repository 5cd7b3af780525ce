//! A mailbox: many threads put things in, its owner takes them all out, in the order in which they came.
//!
//! ```text
//!  head -> | third | -> | second | -> | first | -> nothing        push: new head, by compare-and-swap
//!          taken whole by one exchange, then turned around
//! ```
//!
//! No push waits for another: a pusher that loses its processor has put its thing in or has not. The head is the address of a
//! node, none, or [`CLOSED`], which it stays.
//!
//! No wake-up is lost. A pusher puts its thing in and then looks whether the owner sleeps; the owner says that it sleeps and
//! then looks whether something is there. The two are ordered so that one of them sees the other: the owner stays awake, or
//! the pusher wakes it. Each pusher that finds it asleep does, whoever else may be about to: one that was told so may have lost
//! its processor before it did. While the owner is awake nobody does.
#![allow(unsafe_code)] // nodes that belong to the list, then to whoever took it

use std::{marker::PhantomData, ptr};

use crate::primitives::{AtomicPtr, AtomicU32, Ordering, Step, ordered};

/// See the module.
///
/// Bounded by what its pushers may put in, which they count.
pub struct Mailbox<T> {
    head: AtomicPtr<Node<T>>,
    /// 1 from [`Mailbox::prepare_to_sleep`] until the owner says that it is awake; stored by the owner alone.
    asleep: AtomicU32,
    owns: PhantomData<T>,
}

// SAFETY: a mailbox moves values of `T` from thread to thread and never shares one.
unsafe impl<T: Send> Sync for Mailbox<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Mailbox<T> {}

struct Node<T> {
    value: T,
    /// The one that was put in before. Written by the pusher before the node is in the list, by the taker after it took it.
    next: *mut Node<T>,
}

/// Whether the owner of a mailbox must be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Wake {
    /// It sleeps or is about to: whoever gets this wakes it.
    Needed,
    /// It looks into the mailbox before it sleeps.
    Awake,
}

impl<T> Default for Mailbox<T> {
    fn default() -> Mailbox<T> {
        Mailbox::new()
    }
}

impl<T> Mailbox<T> {
    /// An empty one whose owner is awake.
    pub fn new() -> Mailbox<T> {
        Mailbox { head: AtomicPtr::new(ptr::null_mut()), asleep: AtomicU32::new(0), owns: PhantomData }
    }

    /// The head of a mailbox that was closed: an address that no node has, as nothing is ever there.
    fn closed() -> *mut Node<T> {
        ptr::without_provenance_mut(CLOSED)
    }

    /// Puts `value` in; says whether its owner must be woken.
    ///
    /// # Errors
    ///
    /// The value, if the mailbox is closed.
    pub fn push(&self, value: T) -> Result<Wake, T> {
        let mut head = self.head.load(Ordering::Relaxed);
        if head == Self::closed() {
            return Err(value);
        }
        let node = Box::into_raw(Box::new(Node { value, next: head }));
        // Release: who takes the node finds what is in it. The pusher needs nothing of the nodes before it, and if one was freed and
        // another has its address, then that one is the one before.
        while let Err(now) = self.head.compare_exchange(head, node, Ordering::SeqCst, Ordering::Relaxed) {
            head = now;
            if head == Self::closed() {
                // SAFETY: this thread made the node and it is not in the list.
                return Err(unsafe { Box::from_raw(node) }.value);
            }
            // SAFETY: as above.
            unsafe { (*node).next = head };
        }
        ordered(Step::Pushed);
        match self.asleep.load(Ordering::SeqCst) {
            0 => Ok(Wake::Awake),
            _ => Ok(Wake::Needed),
        }
    }

    /// Takes all that is in it, in the order in which it came. Of two that take at once, one has it.
    pub fn take(&self) -> Taken<T> {
        let mut head = self.head.load(Ordering::Relaxed);
        while !head.is_null() && head != Self::closed() {
            // Acquire: what is in the nodes, of all who pushed them.
            match self.head.compare_exchange(head, ptr::null_mut(), Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Taken::new(head),
                Err(now) => head = now,
            }
        }
        Taken::new(ptr::null_mut())
    }

    /// Whether nothing is in it, closed or not.
    pub fn is_empty(&self) -> bool {
        let head = self.head.load(Ordering::SeqCst);
        head.is_null() || head == Self::closed()
    }

    /// The owner is about to sleep: whoever puts something in from now on is told to wake it. `false` if something is in
    /// the mailbox: then the owner is awake as before.
    #[must_use]
    pub fn prepare_to_sleep(&self) -> bool {
        self.asleep.store(1, Ordering::SeqCst);
        ordered(Step::OwnerSleeps);
        let is_empty = self.is_empty();
        if !is_empty {
            self.awake();
        }
        is_empty
    }

    /// The owner has slept, and looks into the mailbox before it sleeps again.
    pub fn awake(&self) {
        // Nothing is ordered by this: who reads the 1 of before wakes the owner once too often.
        self.asleep.store(0, Ordering::Relaxed);
    }

    /// Has all later pushes fail. Returns what is in it.
    pub fn close(&self) -> Taken<T> {
        let head = self.head.swap(Self::closed(), Ordering::Acquire);
        Taken::new(if head == Self::closed() { ptr::null_mut() } else { head })
    }
}

/// Nodes are at least two octets apart from it: no address of one is odd.
const CLOSED: usize = 1;

impl<T> Drop for Mailbox<T> {
    fn drop(&mut self) {
        drop(self.close());
    }
}

/// What was in a mailbox, first what came first. Dropping it drops what is left, with nothing held.
pub struct Taken<T> {
    /// A list that nobody else has.
    first: *mut Node<T>,
    owns: PhantomData<T>,
}

// SAFETY: owns its values, as a list would.
unsafe impl<T: Send> Send for Taken<T> {}

impl<T> Taken<T> {
    /// Of the list that begins at `head`, which came last, and belongs to the caller.
    fn new(head: *mut Node<T>) -> Taken<T> {
        let (mut first, mut rest) = (ptr::null_mut(), head);
        while !rest.is_null() {
            // SAFETY: a node of the list, which nobody else has.
            let next = unsafe { std::mem::replace(&mut (*rest).next, first) };
            (first, rest) = (rest, next);
        }
        Taken { first, owns: PhantomData }
    }
}

impl<T> Iterator for Taken<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        if self.first.is_null() {
            return None;
        }
        // SAFETY: a node of the list, which nobody else has, made by `push`; it leaves the list here.
        let node = unsafe { Box::from_raw(self.first) };
        self.first = node.next;
        Some(node.value)
    }
}

impl<T> Drop for Taken<T> {
    fn drop(&mut self) {
        for value in self.by_ref() {
            drop(value);
        }
    }
}
