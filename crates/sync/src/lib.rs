//! Sharing between the threads that answer and the threads that change what is answered.
//!
//! [`snapshot`]: a value that is replaced as a whole; readers load one pointer and never wait.

mod primitives;
pub mod snapshot;

pub use primitives::prepare;
pub use snapshot::{Published, Reader};
