//! From a request to change a zone to the change: dynamic updates (RFC 2136), who may make them, serials.
//!
//! ```text
//! octets -> Request --\
//! ZoneView -> Draft ---+-> Draft::update -> Applied: done, failed (why), commit first     for each update that waits
//! Policy, Asker, now -/       `---------- -> Draft::into_change -> zone::Change            once a commit
//! ```
//!
//! * [`request`]: the message, read once; [`response`]: what is answered; [`failure`]: why it is not done, in words.
//! * [`draft`]: the zone with what this commit has changed so far; [`update`]: one message against it.
//! * [`alteration`]: RRsets that are to be so, of the HTTP API.
//! * [`edit`]: what was edited in a text, on top of what has changed since.
//! * [`policy`]: who may change what; [`serial`]: what comes after a serial; `signed`: what signed zones take.
//! * [`sig0`]: signatures of requests with keys of the zone (RFC 2931).
//!
//! It has no sockets, files, clock or threads: a request and a state of the zone come in, an answer and a [`zone::Change`] go out. Design:
//! `docs/design/update.md`.

pub mod alteration;
pub mod draft;
pub mod edit;
mod effect;
pub mod failure;
#[doc(hidden)]
pub mod fuzz;
pub mod policy;
mod prerequisite;
pub mod request;
pub mod response;
pub mod serial;
mod set;
pub mod sig0;
mod signed;
pub mod update;

pub use draft::Draft;
pub use edit::{Edit, EditFault};
pub use failure::{Failure, Part, Why};
pub use policy::{Asker, Policy};
pub use request::Request;
pub use serial::SerialStyle;
pub use update::{Applied, Limits, Proof, Terms};
