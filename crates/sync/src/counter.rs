//! Counts of those who hold something, without a lock but for the last of them.
//!
//! A holder that is not the last costs one atomic addition. The last one learns that it is, and only then is there
//! something to lock: whatever list or table the thing has to be taken out of.
//!
//! ```
//! use sync::Counter;
//! let holders = Counter::new(1);
//! holders.hold();
//! assert!(!holders.release());
//! assert!(holders.release(), "the last: now take the lock and free it, unless it is held again");
//! ```

use crate::primitives::{AtomicU32, Ordering};

/// Holders at most: so many additions of threads that were between the look at the count and the end of the process
/// do not overflow it.
const HOLDERS_MAX: u32 = 1 << 31;

/// See the module.
#[derive(Debug)]
pub struct Counter(AtomicU32);

impl Counter {
    /// With so many holders.
    pub fn new(holders: u32) -> Counter {
        Counter(AtomicU32::new(holders))
    }

    /// One more. The caller knows that it is there: it holds it, or has the lock under which the last holder frees it.
    #[inline]
    pub fn hold(&self) {
        if self.0.fetch_add(1, Ordering::Relaxed) >= HOLDERS_MAX {
            std::process::abort();
        }
    }

    /// One less; true where that was the last. All that other holders did is over then.
    #[inline]
    pub fn release(&self) -> bool {
        let before = self.0.fetch_sub(1, Ordering::AcqRel);
        assert!(before > 0, "released more often than held");
        before == 1
    }

    /// How many there are at the moment; under the lock of the thing, 0 means that nobody can hold it again.
    pub fn holders(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }
}
