//! Zones in a database: a schema of our own in a file of SQLite, versions of zones, and what changed in each.
//!
//! ```text
//! contents of a zone -- Writer::put ----.                                        .-- Store::contents (one zone, one version)
//! plain SQL of others -- triggers -- pending -- closed by whoever comes next -- version, change -- Store::versions, changes
//! ```
//!
//! * [`schema`]: the tables, and which of them this program reads; [`open`]: a file made, opened and refused.
//! * [`row`]: a record as a row, which has one text only.
//! * [`version`]: what a version is; [`close`]: from changed rows to a version; [`serial`]: which serial it gets.
//! * [`write`]: all of a zone put in place of what is there; [`read`]: the reverse, and the history; [`trim`]: history dropped.
//! * [`snapshot`]: one moment, for who follows a store.
//! * [`fault`]: what goes wrong, in words.
//! * [`powerdns`]: the tables of another program, as they are.
//!
//! It knows no clock: the time of a version is an argument. Random numbers (marks, the identity) are the database's. Whether a zone can be served is
//! not looked at here: who puts one in has checked it. The process that answers queries uses nothing of this crate: `zonda store` and the feeder do. Design: `docs/design/store.md`.

pub mod close;
pub mod fault;
pub mod open;
pub mod powerdns;
pub mod read;
pub mod row;
pub mod schema;
pub mod serial;
pub mod snapshot;
pub mod source;
pub mod trim;
pub mod version;
pub mod write;

pub use close::Closing;
pub use fault::Fault;
pub use open::{Access, Store};
pub use row::{Refusal, Row, Unfit};
pub use snapshot::Snapshot;
pub use trim::{Bounds, Trimmed};
pub use version::{Kind, Meta, Version};
pub use write::{Put, Writer};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
