//! A store in a file of SQLite.
//!
//! * [`open`]: a file made, opened and refused; [`schema`]: its tables (`schema.sql`).
//! * [`close`]: from changed rows to a version; [`write`]: all of a zone put in place of what is there; [`alter`]: records that go and come; [`read`]: the reverse, and the history.
//! * [`snapshot`]: one moment, for who follows it; [`trim`]: history dropped.

pub mod alter;
pub mod close;
pub mod open;
pub mod read;
pub mod schema;
pub mod snapshot;
pub mod trim;
mod version;
pub mod write;

pub use open::Store;
pub use snapshot::Snapshot;
pub use write::Writer;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests;
