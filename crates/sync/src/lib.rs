//! Sharing between the threads that answer and the threads that change what is answered.
//!
//! [`snapshot`]: a value that is replaced as a whole; readers load one pointer and never wait.
//! [`rwlock`]: the reader-writer lock of BIND 9, for what is changed in place.
//! [`event`]: how threads sleep until others have changed something.

pub mod event;
mod primitives;
pub mod rwlock;
pub mod snapshot;

pub use primitives::prepare;
pub use rwlock::RwLock;
pub use snapshot::{Published, Reader};
