//! A model Internet in virtual time, for tests of the recursive server: nothing that is served depends on it.
//!
//! * [`records`]: a zone as a list of records, from text and to text.
//! * [`signer`]: signs zones with keys of a seed, right or wrong on purpose.
//!
//! Design: `docs/design/model-internet.md`.

pub mod records;
pub mod signer;

pub use records::Records;
pub use signer::{Denial, Fault, FaultKind, Signing};

/// When virtual time begins unless a scenario says otherwise: 2026-06-01 00:00 UTC, in seconds since 1970.
pub const BEGIN_UNIX_SECONDS: u32 = 1_780_272_000;
