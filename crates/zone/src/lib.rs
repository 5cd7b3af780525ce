//! The zone store: packs, immutable once published, and how names are found in them.
//!
//! * [`contents`]: the records of one zone, sorted and classified; what checks read and packs are built from.
//!
//! The crate opens no files and knows no clock; octets come in, octets go out.

pub mod contents;

pub use contents::{Contents, ContentsBuilder};
