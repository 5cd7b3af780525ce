//! One query and one snapshot to one response (RFC 1034 4.3.2 and what came after it).
//!
//! ```text
//! query octets --+--plain, as before--> cache ------------------------------------------------> response octets
//!                |                        ^
//!                `--faults, EDNS, class --|--> chaos
//!                                         `--> answer: zone, walk, alias ... --> response octets
//!                                              referral, denial, additional
//! ```
//!
//! * [`Responder`]: the entry point, buffers and counters of one worker.
//! * `answer`: the algorithm; `alias`, `referral`, `denial`, `additional`: its parts; `rrset`: RRsets to octets.
//! * `cache`: answers given before, as octets; `sources`: what an answer was made from.
//! * [`access`]: who may ask; `admission`: what that means for a query.
//! * [`rate`]: how often they get answers who have not shown where they are.
//! * `chaos`: who this server is (RFC 4892).
//! * [`keys`]: by which signed messages are known; [`request`]: what asks for something else than an answer, read and verified for whoever carries it out.
//!
//! The crate has no sockets and no clock and allocates nothing for a query; all its loops are bounded, see [`limits`].

pub mod access;
mod additional;
mod admission;
mod alias;
mod answer;
mod cache;
mod chaos;
mod counters;
mod denial;
#[doc(hidden)]
pub mod fuzz;
#[doc(hidden)]
pub mod inspect;
pub mod keys;
pub mod limits;
pub mod rate;
mod referral;
pub mod request;
mod responder;
mod rrset;
mod server;
mod sources;
mod tally;
mod uncompressed;

pub use access::Access;
pub use counters::{Counters, LiveCounters};
#[doc(hidden)]
pub use fuzz::fuzz_message;
pub use keys::Keys;
pub use request::Request;
pub use responder::{Answered, Responder};
pub use server::{Client, Server, Style};
pub use tally::{Asked, Tally};
pub use wire::Transport;
