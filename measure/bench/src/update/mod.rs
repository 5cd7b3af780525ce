//! Dynamic updates (RFC 2136) at a constant rate or as fast as they are accepted, alone or beside queries.
//!
//! ```text
//! nsupdate input -> script: messages without ID and signature -> stream: paced, signed (wire::tsig), matched -> outcome
//! ```
//!
//! A rate of updates is low beside that of queries: one thread with a socket of its own sends them, asleep in between.

mod key_text;
pub mod outcome;
pub mod script;
mod socket;
pub mod stream;
mod words;

pub use key_text::key_of_option;
pub use outcome::Outcome;
pub use script::Script;
pub use stream::{Pace, Plan, Settings, run};
