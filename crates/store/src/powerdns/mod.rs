//! PowerDNS's tables as they are (its generic SQL backends; versions 3.4 to 5): read, never written.
//!
//! ```text
//! domains, cryptokeys, domainmetadata -- Tables::list, by pages --> Listed: name, kind, SOA content, what hinders --> Look: which are others than before
//! records --------------------- Tables::zone, by pages, twice --> Translator: rows to records --> Zone: contents, mark, what was left out; or a Refusal
//! ```
//!
//! * [`list`]: a zone as the list has it; [`look`]: which have changed; [`audit`]: which have though the list does not say so; [`mark`]: by what that is told.
//! * [`translate`]: rows to records, as PowerDNS means them (`content`, `soa`); [`left_out`], [`refusal`]: what is not served, and why, in words.
//! * [`read`]: a [`zone`], or all of them; [`client`]: the statements, and who runs them; [`sqlite`]: a file; [`fault`]: what keeps it from being read.
//!
//! Of clocks it knows the one that only goes on, for how long a reader holds up writers. Design: `docs/design/store.md` 6.

pub mod audit;
pub mod client;
mod content;
pub mod fault;
pub mod left_out;
pub mod list;
pub mod look;
pub mod mark;
pub mod read;
pub mod refusal;
mod soa;
pub mod sqlite;
pub mod translate;
pub mod zone;

pub use audit::Audit;
pub use client::Client;
pub use fault::Fault;
pub use left_out::LeftOut;
pub use list::{Kind, Listed};
pub use look::{Look, Seen};
pub use mark::Mark;
pub use read::{Tables, zones};
pub use refusal::Refusal;
pub use sqlite::Sqlite;
pub use translate::{Row, Rules, Translator, Unknown};
pub use zone::Zone;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
