//! Asking: from a zone to the question that is on its way to one of its servers.
//!
//! ```text
//! zone -> enter (prime, own)        its servers, and their addresses         ahead: its keys, beside the first question
//!      -> choose among target       who is asked; network: is there one?     lines: those that wait for a busy server
//!                                   inquiry: another task asks the same      minimise: of which name
//!      -> send a query              exchange: a datagram and who waits for it         stream: TCP and TLS, many questions each
//! ```
//!
//! What comes back: `receive`. Zones of this process (`own`) are asked in the same way, without a message.

pub(crate) mod ahead;
mod choose;
mod enter;
pub(crate) mod exchange;
pub(crate) mod inquiry;
pub(crate) mod lines;
pub(crate) mod minimise;
pub(crate) mod network;
mod own;
pub(crate) mod prime;
pub(crate) mod query;
mod send;
pub(crate) mod stream;
pub(crate) mod target;
