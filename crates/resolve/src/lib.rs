//! Iterative resolution (RFC 1034 5.3.3) as a state machine: events in, actions out.
//!
//! * [`resolver`]: the events; [`world`]: what a resolver does and is told; [`outcome`]: what a question comes to.
//! * `task`: what is found out, for whom, at what cost. `known`: what need not be asked. `ask`: of zones' servers. `receive`: what comes back.
//!   [`response`]: what it means. `proving`: what it is worth.
//! * [`settings`]: what an operator decides; [`limits`]: every bound; [`counters`], [`requests`], [`explain`]: what was done and is being done, for people.
//!
//! No sockets and no clock here; `docs/design/recursion.md` and `docs/design/iteration.md`.

mod ask;
pub mod counters;
pub mod explain;
mod known;
pub mod limits;
pub mod outcome;
mod proving;
mod receive;
pub mod requests;
pub mod resolver;
pub mod response;
pub mod settings;
pub mod slab;
mod task;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
pub mod world;

pub use counters::{Counters, LiveCounters};
pub use explain::Told;
pub use outcome::{Ask, From, Outcome, Waiter};
pub use requests::Request;
pub use resolver::{Refused, Resolver};
pub use settings::{Configured, ConfiguredKind, Endpoint, Minimisation, Protection, Settings};
pub use task::state::State;
pub use task::{Place, Purpose, Source};
pub use world::{
    Closed, Held, NotSent, Path, Received, StreamEvent, StreamId, StreamSecurity, Time, Unsent, World,
};
