//! Iterative resolution (RFC 1034 5.3.3) as a state machine: events in, actions out.
//!
//! * [`query`]: what a server is asked, [`minimise`]: of which name; [`response`]: what its response means; [`store`]: what of that is kept.
//! * [`world`]: what a resolver does and is told; [`outcome`]: what a question comes to.
//!
//! No sockets and no clock here; `docs/design/recursion.md` and `docs/design/iteration.md`.

pub mod minimise;
pub mod outcome;
pub mod query;
pub mod response;
pub mod store;
pub mod world;

pub use outcome::{Ask, From, Outcome, Waiter};
pub use world::{Closed, Path, Received, StreamEvent, StreamId, StreamSecurity, Time, Unsent, World};
