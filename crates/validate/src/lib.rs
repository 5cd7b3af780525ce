//! DNSSEC validation: whether a response is what the owner of the zone signed (RFC 4033 to 4035, 5155, 6840).
//!
//! ```text
//! Response, time, Anchors, Policy -> Validation::step <-> Facts -> Step: Need (DS, DNSKEY) | Done (Verdict)
//! ```
//!
//! * [`validation`]: one response to a verdict; [`response`]: its chain of aliases; [`verdict`]: what comes of it, and why, in words.
//! * [`facts`]: what the caller knows and fetches; `chain`: the walk from an anchor to a zone; `keys`, `signature`: its steps.
//! * [`denial`]: what [`nsec`] and [`nsec3`] records prove, for kept records too (RFC 8198).
//! * [`anchors`]: where trust begins and ends; [`rfc5011`]: keys that follow a zone through its changes.
//! * [`limits`]: bounds of the work, counted; [`fault`]: why not, with the codes of RFC 8914; [`policy`]: what is verified.
//!
//! No sockets, clock, files and cache: time and what was fetched are arguments. Design: `docs/design/validation.md`.

pub mod anchors;
mod chain;
pub mod denial;
pub mod facts;
pub mod fault;
#[doc(hidden)]
pub mod fuzz;
mod keys;
pub mod limits;
mod names;
pub mod nsec;
pub mod nsec3;
pub mod policy;
pub mod response;
pub mod rfc5011;
mod signature;
pub mod validation;
pub mod verdict;

pub use anchors::Anchors;
pub use chain::Context;
pub use facts::{Facts, Fetched, Need, Standing};
pub use fault::{Fault, Insecurity};
pub use limits::Work;
pub use policy::Policy;
pub use response::{Ending, Response};
pub use signature::Verifier;
pub use validation::{Step, Validation};
pub use verdict::{Reason, RrsetVerdict, Security, Verdict};
