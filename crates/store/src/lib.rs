//! Zones in a database: a schema of our own, versions of zones, and what changed in each.
//!
//! ```text
//! contents of a zone -- Writer::put ----.                                                   .-- Store::contents (one zone, one version)
//! plain SQL of others -- triggers -- (SQLite: pending -- closed by who comes next) -- version, change -- Store::versions, changes
//! ```
//!
//! * [`row`]: a record as a row, which has one text only; [`version`]: what a version is; [`serial`]: which serial it gets; [`schema`]: numbers of the tables.
//! * [`put`]: a zone in place of what is there; [`alter`]: records that go and come; [`read`], [`trim`], [`open`]: what is said of reading, of dropping history, of opening.
//! * [`sqlite`]: a store in a file; [`postgres`]: one of a server; [`database`]: either, by its address.
//! * [`fault`]: what goes wrong, in words.
//! * [`powerdns`]: the tables of another program, as they are.
//!
//! It knows no clock: the time of a version is an argument. Random numbers (marks, the identity) are the database's. Whether a zone can be served is
//! not looked at here: who puts one in has checked it. The process that answers queries uses nothing of this crate: `zonda store` and the feeder do. Design: `docs/design/store.md`.

pub mod alter;
pub mod database;
pub mod fault;
pub mod open;
pub mod postgres;
pub mod powerdns;
pub mod put;
pub mod read;
pub mod row;
pub mod schema;
pub mod serial;
pub mod source;
pub mod sqlite;
pub mod trim;
pub mod version;

pub use alter::{NotCommitted, Once, Write, Wrote};
pub use database::{Database, DatabaseWriter, Place};
pub use fault::Fault;
pub use open::Access;
pub use put::Put;
pub use row::{Refusal, Row, Unfit};
pub use sqlite::{Snapshot, Store, Writer};
pub use trim::{Bounds, Trimmed};
pub use version::{Closing, Kind, Meta, Version};
