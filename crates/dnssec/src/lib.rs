//! What DNSSEC computes over records: canonical forms, digests, hashed names, signature checks.
//!
//! * [`nsec3`]: hash of a name, fast enough for the query path (RFC 5155); [`bitmap`]: type bitmaps.
//!
//! Everything is a function of its arguments: no clock (the time is a parameter), no files, no zone.

mod base32hex;
pub mod bitmap;
pub mod nsec3;

pub use bitmap::TypeBitmap;
