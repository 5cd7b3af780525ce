//! A model Internet in virtual time, for tests of the recursive server: nothing that is served depends on it.
//!
//! * [`records`]: a zone as a list of records, from text and to text; [`signer`]: signs zones with keys of a seed, right or wrong on purpose.
//! * [`server`]: name servers, answering as ours do; [`behaviour`]: what they do beside; [`reply`]: messages taken apart.
//! * [`internet`]: which servers are where.
//! * [`world`]: virtual time, the network, clients; [`tested`]: what they are the world of; [`transcript`]: what happened.
//! * [`scenario`]: files that say all of it.
//! * [`generated`]: a larger Internet of real names; [`export`]: the same for real servers; [`truth`]: what a resolver should answer.
//! * [`sockets`]: the servers of a scenario on real sockets.
//! * [`naive`]: a small resolver that shows that the model works.
//!
//! Design: `docs/design/model-internet.md`.

pub mod behaviour;
pub mod export;
pub mod generated;
pub mod internet;
pub mod naive;
pub mod records;
pub mod reply;
pub mod scenario;
pub mod server;
pub mod signer;
pub mod sockets;
pub mod tested;
pub mod time;
pub mod transcript;
pub mod truth;
pub mod world;

pub use behaviour::Behaviour;
pub use internet::Internet;
pub use records::Records;
pub use reply::Reply;
pub use scenario::Scenario;
pub use server::ModelServer;
pub use signer::{Denial, Fault, FaultKind, Signing};
pub use sync::random::Random;
pub use tested::{Outside, Tested};
pub use time::Micros;
pub use world::World;

/// When virtual time begins unless a scenario says otherwise: 2026-06-01 00:00 UTC, in seconds since 1970.
pub const BEGIN_UNIX_SECONDS: u32 = 1_780_272_000;
