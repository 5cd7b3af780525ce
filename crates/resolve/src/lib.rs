//! Iterative resolution (RFC 1034 5.3.3) as a state machine: events in, actions out.
//!
//! * [`resolver`]: the events. [`state`]: what a task may be doing; [`settings`]: what an operator decides; [`limits`]: every bound.
//! * [`query`]: what a server is asked, [`minimise`]: of which name; [`response`]: what its response means; [`store`]: what of that is kept.
//! * [`world`]: what a resolver does and is told; [`outcome`]: what a question comes to.
//! * [`counters`], [`requests`]: what was done and what is being done, for people.
//!
//! No sockets and no clock here; `docs/design/recursion.md` and `docs/design/iteration.md`.

mod aggressive;
mod ahead;
mod begin;
mod budget;
mod choose;
pub mod counters;
mod cuts;
mod deserted;
mod disowned;
mod ebb;
mod enter;
mod exchange;
pub mod explain;
mod facts;
mod finish;
mod hopeless;
mod inquiry;
mod learn;
pub mod limits;
mod lines;
mod links;
mod lists;
mod lookup;
mod mesh;
pub mod minimise;
mod network;
pub mod outcome;
mod own;
mod payers;
pub mod prime;
mod proving;
pub mod query;
mod reaction;
mod receive;
pub mod requests;
pub mod resolver;
pub mod response;
mod send;
pub mod settings;
mod silence;
pub mod slab;
mod spare;
mod start;
pub mod state;
pub mod store;
mod stream;
mod target;
mod task;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod uncut;
pub mod world;

pub use counters::Counters;
pub use explain::Told;
pub use outcome::{Ask, From, Outcome, Waiter};
pub use requests::Request;
pub use resolver::{Refused, Resolver};
pub use settings::{Configured, ConfiguredKind, Endpoint, Minimisation, Protection, Settings};
pub use state::State;
pub use task::{Place, Purpose, Source};
pub use world::{Closed, Held, Path, Received, StreamEvent, StreamId, StreamSecurity, Time, Unsent, World};
