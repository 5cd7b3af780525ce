//! Sharing between the threads that answer and the threads that change what is answered.
//!
//! [`epoch`]: what is replaced while others read it, and freed once nobody does. [`Mailbox`]: what others have for one thread.
//! [`tap`]: what one thread tells another without waiting for it.
//! [`rwlock`]: the reader-writer lock of BIND 9, for what is changed in place.
//! [`Counter`]: how many hold something. [`bucket`]: locks for many small things. [`area`]: memory for one piece of work.
//! [`Mutex`], [`SystemRwLock`]: the locks of the standard library; [`condition_rwlock`]: the lock that BIND 9 had before;
//! [`unshared`]: none; for comparison. [`Counted`]: a pointer with any of the counters.
//! [`protection`]: all of these behind one interface.
//! [`profile`]: who takes which lock where, for how long, and who waits.
//! [`counters`]: what workers count, declared once.
//! [`random`]: random numbers, the system's and a stream's.
//! [`event`]: how threads sleep until others have changed something.

pub mod area;
pub mod bucket;
pub mod condition_rwlock;
mod counted;
mod counter;
pub mod counters;
pub mod epoch;
pub mod event;
pub mod mailbox;
mod primitives;
pub mod profile;
pub mod protection;
pub mod random;
pub mod rwlock;
mod system;
mod taken;
pub mod tap;
pub mod unshared;

pub use area::Areas;
pub use bucket::Buckets;
pub use condition_rwlock::ConditionRwLock;
pub use counted::Counted;
pub use counter::Counter;
pub use epoch::{Cell, Collector, Domain};
pub use mailbox::{Mailbox, Wake};
pub use primitives::prepare;
pub use random::Random;
pub use rwlock::RwLock;
pub use system::{Guard, Mutex, SystemRwLock};

/// The example of the README is one of the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
