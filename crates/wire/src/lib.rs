//! Bytes of a DNS message to borrowed views and back; no allocation on any path a query takes.
//!
//! * [`name`]: domain names on the wire (RFC 1035 3.1) and in text; [`key`]: their order form.
//! * [`iana`]: code points of types, classes, response codes and options.
//!
//! This crate knows no sockets, no clock and no zone.

pub mod iana;
pub mod key;
pub mod name;

pub use key::Key;
pub use name::{Name, NameBuf};
