//! Sleeping until another thread has changed something.
//!
//! Whoever changes what others may wait for calls [`Event::wake_all`] afterwards. No wake-up is lost: the sleeper says
//! that it sleeps and then looks a last time, the other changes and then looks for sleepers, so that one of the two
//! sees what the other did (sequentially consistent accesses; the conditions must be so, too).

mod futex;
mod portable;

use crate::primitives::spins;
pub use futex::Futex;
pub use portable::Portable;

/// What threads wait for. Nobody else can have a kind of their own: a lock trusts that a wait which ends was not early.
pub trait Event: sealed::Sealed + Send + Sync {
    /// Nobody waits.
    fn new() -> Self;

    /// Waits while `is_early`, which may be asked any number of times and, once it is not, never again.
    #[inline]
    fn wait_while(&self, mut is_early: impl FnMut() -> bool) {
        if is_early() && spin_while(&mut is_early) {
            self.sleep_while(is_early);
        }
    }

    /// The same for who has looked in vain for long enough.
    fn sleep_while(&self, is_early: impl FnMut() -> bool);

    /// Lets all look again who wait.
    fn wake_all(&self);
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Futex {}
    impl Sealed for super::Portable {}
}

/// Looks again for a while; true where it is still early.
fn spin_while(is_early: &mut impl FnMut() -> bool) -> bool {
    for _ in 0..spins() {
        std::hint::spin_loop();
        if !is_early() {
            return false;
        }
    }
    true
}

/// What suits this system.
#[cfg(target_os = "linux")]
pub type Native = Futex;
/// What suits this system.
#[cfg(not(target_os = "linux"))]
pub type Native = Portable;
