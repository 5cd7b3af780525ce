//! Bodies of clients, and answers to them, in the form of PowerDNS.
//!
//! ```text
//! body -> read::{patch, post, put, changes, explain} -> RRsets in wire form, fields | Refusal: status, words, faults
//! rows, RRsets in wire form -> write::{...} -> JSON, piece by piece
//! ```
//!
//! * [`read`]: bodies as their types, an RRset at a time; `object`: how their fields are read; `rrset`: one RRset; `body`: what is around them; `text`: a zone as
//!   a text.
//! * [`content`]: text of a record to its RDATA and back.
//! * [`mod@write`]: what is told of zones, RRsets and the server.
//! * [`Refusal`]: what is wrong with a body.

mod body;
pub mod content;
mod object;
pub mod read;
mod rrset;
mod text;
pub mod write;

/// What is wrong with RRsets that is told of one body: who has more has the same mistake in all.
pub const FAULTS_MAX: usize = 20;

/// Why a body is not taken. Nothing of it says anything that a client sent but names and types, escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Status of HTTP: 400 no JSON, 413 too much, 422 else.
    pub status: u16,
    /// Why.
    pub words: String,
    /// At which RRsets, and what, [`FAULTS_MAX`] at most.
    pub faults: Vec<String>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod clients;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod told;
