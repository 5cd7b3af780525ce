//! One query and what a resolver has learned to one response, or the work of a resolver and a note of who waits for it.
//!
//! ```text
//! query octets --> rendered --------------------------------> response octets
//!                   `-> local --> answer (cache) -----------> response octets
//!                                   `-> miss: ask, waiting ... outcome --> response octets
//! ```
//!
//! * [`Responder`]: the entry, buffers and counters of one worker. [`Client`]: who asks.
//! * [`policy`]: the settings as one value; [`networks`], [`names`]: sets of addresses and of names.
//! * `answer`: from the cache; `outcome`: from a resolver's outcome; `writer`: RRsets to sections.
//! * [`local`]: names that are answered from here; [`dns64`], [`rebinding`]: what is made of answers, and kept from clients.
//! * [`waiting`]: who waits for the resolver.
//!
//! The crate has no sockets and no clock and allocates nothing for a hit; all its loops are bounded, see [`limits`]. `docs/design/recursive.md`.

mod answer;
mod counters;
pub mod dns64;
mod dues;
#[cfg(test)]
mod kit;
pub mod limits;
pub mod local;
pub mod names;
pub mod networks;
mod outcome;
mod pace;
pub mod policy;
pub mod rebinding;
mod rendered;
mod responder;
mod space;
mod verdict;
pub mod waiting;
mod wishes;
mod writer;

pub use counters::{Counters, LiveCounters};
pub use policy::Policy;
pub use responder::{Client, IsOfOurs, Replied, Responder, Served};
pub use wishes::Waiting;
