//! What DNSSEC computes over records: canonical forms, digests, hashed names, signature checks.
//!
//! * [`canonical`]: RDATA and RRsets in the form that is signed and digested (RFC 4034 6).
//! * [`key`]: DNSKEY and DS records, key tags; [`digest`]: DS and ZONEMD digests (RFC 8976).
//! * [`verify`]: signatures over RRsets (RFC 4035 5.3).
//! * [`nsec`], [`nsec3`]: records of denial; the hash of a name, fast enough for the query path (RFC 5155);
//!   [`bitmap`]: their type bitmaps.
//!
//! Everything is a function of its arguments: no clock (the time is a parameter), no files, no zone.

mod base32hex;
pub mod bitmap;
pub mod canonical;
mod crypto;
pub mod digest;
pub mod key;
pub mod nsec;
pub mod nsec3;
pub mod verify;

pub use bitmap::TypeBitmap;
pub use canonical::CanonicalSet;
