//! A store in PostgreSQL, 13 or later.
//!
//! ```text
//! writers: Writer::put, SQL of anybody -- triggers (triggers.sql) -- COMMIT (close.sql) --> version, change -- look, fetch, records: who follows
//! ```
//!
//! * [`target`]: where it is; `tls`: how to trust it; `link`: a connection, with a limit of time for each statement; `fault`: what the server says.
//! * [`open`]: a schema made, opened, refused, adopted; `schema.sql`, `triggers.sql`, `close.sql`: versions are made in there.
//! * [`write`]: all of a zone put in place of what is there; [`alter`]: records that go and come; [`read`]: the reverse, and the history; [`trim`]: history dropped.
//! * [`powerdns`]: the tables of another program in one.
//! * [`follow`]: as who follows it has it open; [`look`]: what is new for them, [`fetch`]: and what that is; [`notices`]: when to look.

pub mod alter;
mod fault;
pub mod fetch;
pub mod follow;
mod link;
pub mod look;
pub mod notices;
pub mod open;
pub mod powerdns;
pub mod read;
pub mod target;
mod tls;
pub mod trim;
mod version;
pub mod write;

pub use link::Beat;
pub use open::Store;
pub use target::Target;
pub use write::Writer;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
