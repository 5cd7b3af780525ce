//! Memory of atomic words.

use std::sync::atomic::AtomicU64;

/// So many words of zero. The system gives such memory page by page as it is written: an optimised build touches none of it here, as
/// the words stay where they are.
pub(crate) fn zeroed(count: usize) -> Box<[AtomicU64]> {
    vec![0_u64; count].into_iter().map(AtomicU64::new).collect()
}
