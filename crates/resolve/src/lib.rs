//! Iterative resolution (RFC 1034 5.3.3) as a state machine: events in, actions out.
//!
//! * [`world`]: what a resolver does and is told; [`outcome`]: what a question comes to.
//!
//! No sockets and no clock here; `docs/design/recursion.md` and `docs/design/iteration.md`.

pub mod outcome;
pub mod world;

pub use outcome::{Ask, From, Outcome, Waiter};
pub use world::{Closed, Path, Received, StreamEvent, StreamId, StreamSecurity, Time, Unsent, World};
