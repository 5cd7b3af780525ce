//! The same data under interchangeable protections, to be compared: what is written once against [`Protection`] runs with
//! the locks and counters of each.
//!
//! | protection | readers and writers | counters |
//! |---|---|---|
//! | [`ByMutex`] | one at a time | under a mutex each |
//! | [`SystemOrdinary`] | the system's reader-writer lock | under a mutex each |
//! | [`SystemAtomic`] | the system's reader-writer lock | atomic |
//! | [`Paper`] | the reader-writer lock of BIND 9, with our admission of readers and a futex | atomic |
//! | [`Bind9`] | a reader-writer lock made of a mutex and conditions, as BIND 9.3 | under a mutex each |
//! | [`Unshared`] | none: one thread alone | plain numbers |
//! | [`PaperPortable`] | the same, with sleepers that need no system call of their own | atomic |
//! | [`PaperPublished`] | the reader-writer lock as the paper has it | atomic |
//!
//! The fifth way, snapshots ([`crate::Cell`]), has no locks that code could be written against: a reader begins and
//! ends a batch, and in between there is nothing to take.
//!
//! Source of the first four: figure 7 of Jinmei and Vixie (USENIX 2006).

use crate::{
    Counter, Mutex, RwLock, SystemRwLock,
    condition_rwlock::ConditionRwLock,
    event::Portable,
    rwlock::{Exclusion, Published, QUOTA, Raw},
    unshared::{self, UnsharedCounter},
};

/// A value and who may use it when.
pub trait Lock<T>: Send + Sync {
    /// An unlocked value, with a name for the profiler.
    #[track_caller]
    fn named(name: &'static str, value: T) -> Self
    where
        Self: Sized,
    {
        Self::with_quota(name, value, QUOTA)
    }

    /// The same; so many writers in a row, where the lock counts them.
    #[track_caller]
    fn with_quota(name: &'static str, value: T, quota: u32) -> Self;

    /// Lets `act` read.
    #[track_caller]
    fn read<R>(&self, act: impl FnOnce(&T) -> R) -> R;

    /// Lets `act` change.
    #[track_caller]
    fn write<R>(&self, act: impl FnOnce(&mut T) -> R) -> R;
}

mod sealed {
    /// [`Counted`](crate::Counted) trusts counters with memory, so that there are these and no others.
    pub trait Sealed {}
    impl Sealed for crate::Counter {}
    impl Sealed for super::OrdinaryCounter {}
    impl Sealed for crate::unshared::UnsharedCounter {}
}

/// How many hold something: see [`Counter`].
pub trait Count: sealed::Sealed + Send + Sync {
    /// With so many holders.
    #[track_caller]
    fn new(holders: u32) -> Self;

    /// One more.
    #[track_caller]
    fn hold(&self);

    /// One less; true where that was the last.
    #[track_caller]
    fn release(&self) -> bool;
}

/// Which locks and counters: see the module.
pub trait Protection: 'static {
    /// As options have it.
    const NAME: &'static str;
    /// Of zone table, zones and buckets.
    type Lock<T: Send + Sync>: Lock<T>;
    /// Of zones and RRsets.
    type Count: Count;
}

/// A count under a mutex, as BIND 9 had it before.
pub struct OrdinaryCounter(Mutex<u32>);

/// Mutexes for all.
pub enum ByMutex {}
/// Locks of the system, ordinary counters.
pub enum SystemOrdinary {}
/// Locks of the system, atomic counters.
pub enum SystemAtomic {}
/// As BIND 9.3 had it.
pub enum Bind9 {}
/// No threads.
pub enum Unshared {}
/// All that the paper has.
pub enum Paper {}
/// The same where there is no futex.
pub enum PaperPortable {}
/// All that the paper has, as it has it.
pub enum PaperPublished {}

impl Protection for ByMutex {
    const NAME: &'static str = "mutex";
    type Lock<T: Send + Sync> = Mutex<T>;
    type Count = OrdinaryCounter;
}

impl Protection for Bind9 {
    const NAME: &'static str = "bind9";
    type Lock<T: Send + Sync> = ConditionRwLock<T>;
    type Count = OrdinaryCounter;
}

impl Protection for Unshared {
    const NAME: &'static str = "unshared";
    type Lock<T: Send + Sync> = unshared::Unshared<T>;
    type Count = UnsharedCounter;
}

impl Protection for SystemOrdinary {
    const NAME: &'static str = "system-ordinary";
    type Lock<T: Send + Sync> = SystemRwLock<T>;
    type Count = OrdinaryCounter;
}

impl Protection for SystemAtomic {
    const NAME: &'static str = "system-atomic";
    type Lock<T: Send + Sync> = SystemRwLock<T>;
    type Count = Counter;
}

impl Protection for Paper {
    const NAME: &'static str = "paper";
    type Lock<T: Send + Sync> = RwLock<T>;
    type Count = Counter;
}

impl Protection for PaperPortable {
    const NAME: &'static str = "paper-portable";
    type Lock<T: Send + Sync> = RwLock<T, Raw<Portable>>;
    type Count = Counter;
}

impl Protection for PaperPublished {
    const NAME: &'static str = "paper-published";
    type Lock<T: Send + Sync> = RwLock<T, Published>;
    type Count = Counter;
}

impl<T: Send> Lock<T> for Mutex<T> {
    fn with_quota(name: &'static str, value: T, _: u32) -> Mutex<T> {
        Mutex::named(name, value)
    }

    #[inline]
    fn read<R>(&self, act: impl FnOnce(&T) -> R) -> R {
        act(&self.lock())
    }

    #[inline]
    fn write<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        act(&mut self.lock())
    }
}

impl<T: Send + Sync> Lock<T> for SystemRwLock<T> {
    fn with_quota(name: &'static str, value: T, _: u32) -> SystemRwLock<T> {
        SystemRwLock::named(name, value)
    }

    #[inline]
    fn read<R>(&self, act: impl FnOnce(&T) -> R) -> R {
        act(&SystemRwLock::read(self))
    }

    #[inline]
    fn write<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        act(&mut SystemRwLock::write(self))
    }
}

impl<T: Send + Sync, X: Exclusion> Lock<T> for RwLock<T, X> {
    fn with_quota(name: &'static str, value: T, quota: u32) -> RwLock<T, X> {
        RwLock::with_quota(name, value, quota)
    }

    #[inline]
    fn read<R>(&self, act: impl FnOnce(&T) -> R) -> R {
        act(&RwLock::read(self))
    }

    #[inline]
    fn write<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        act(&mut RwLock::write(self))
    }
}

impl<T: Send + Sync> Lock<T> for ConditionRwLock<T> {
    fn with_quota(name: &'static str, value: T, _: u32) -> ConditionRwLock<T> {
        ConditionRwLock::named(name, value)
    }

    #[inline]
    fn read<R>(&self, act: impl FnOnce(&T) -> R) -> R {
        act(&ConditionRwLock::read(self))
    }

    #[inline]
    fn write<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        act(&mut ConditionRwLock::write(self))
    }
}

impl<T: Send + Sync> Lock<T> for unshared::Unshared<T> {
    fn with_quota(_: &'static str, value: T, _: u32) -> unshared::Unshared<T> {
        unshared::Unshared::new(value)
    }

    #[inline]
    fn read<R>(&self, act: impl FnOnce(&T) -> R) -> R {
        unshared::Unshared::read(self, act)
    }

    #[inline]
    fn write<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        unshared::Unshared::write(self, act)
    }
}

impl Count for UnsharedCounter {
    fn new(holders: u32) -> UnsharedCounter {
        UnsharedCounter::new(holders)
    }

    #[inline]
    fn hold(&self) {
        UnsharedCounter::hold(self);
    }

    #[inline]
    fn release(&self) -> bool {
        UnsharedCounter::release(self)
    }
}

impl Count for Counter {
    fn new(holders: u32) -> Counter {
        Counter::new(holders)
    }

    #[inline]
    fn hold(&self) {
        Counter::hold(self);
    }

    #[inline]
    fn release(&self) -> bool {
        Counter::release(self)
    }
}

impl Count for OrdinaryCounter {
    fn new(holders: u32) -> OrdinaryCounter {
        OrdinaryCounter(Mutex::named("counter", holders))
    }

    #[inline]
    fn hold(&self) {
        let mut holders = self.0.lock();
        *holders = holders.checked_add(1).expect("fewer holders than numbers");
    }

    #[inline]
    fn release(&self) -> bool {
        let mut holders = self.0.lock();
        *holders = holders.checked_sub(1).expect("released more often than held");
        *holders == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The thread that made it may do with it what it likes.
    #[test]
    fn one_thread_alone() {
        let lock = <Unshared as Protection>::Lock::<u32>::named("number", 1);
        let count = <Unshared as Protection>::Count::new(1);
        lock.write(|number| *number += 1);
        count.hold();
        assert_eq!((lock.read(|number| *number), count.release(), count.release()), (2, false, true));
    }

    /// Threads that read and change a pair of numbers and hold and release a thing come to the same under each.
    fn check<P: Protection>() {
        let lock = P::Lock::<[u64; 2]>::named("pair", [0; 2]);
        let count = P::Count::new(1);
        let last: u32 = std::thread::scope(|scope| {
            let work = || {
                let mut last = 0;
                for turn in 0..2000 {
                    count.hold();
                    if turn % 8 == 0 {
                        lock.write(|pair| pair.iter_mut().for_each(|number| *number += 1));
                    }
                    lock.read(|pair| assert_eq!(pair[0], pair[1], "{}", P::NAME));
                    last += u32::from(count.release());
                }
                last
            };
            [(); 4].map(|()| scope.spawn(work)).into_iter().map(|thread| thread.join().unwrap_or(99)).sum()
        });
        assert_eq!((lock.read(|pair| pair[1]), last, count.release()), (1000, 0, true), "{}", P::NAME);
    }

    #[test]
    fn all_protect_alike() {
        check::<ByMutex>();
        check::<Bind9>();
        check::<SystemOrdinary>();
        check::<SystemAtomic>();
        check::<Paper>();
        check::<PaperPortable>();
        check::<PaperPublished>();
    }
}
