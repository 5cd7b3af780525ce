//! What was acknowledged stays: the write-ahead log of all zones, its checkpoints, and the history of each zone for IXFR.
//!
//! ```text
//! Entry --Committer--> Log --> segments          a start: Recovery -> records in order, zones that lost some
//! ```
//!
//! | a start | |
//! |---|---|
//! | `Anchor::open`, `confirm` | which packs and checkpoints there are, and what the log has to know of them |
//! | `Checkpoint::open` | the zones' octets in each |
//! | `Recovery::open`, `replay`, `suffers` | what came since, and who has lost something |
//! | `Recovery::begin`, `Log::decide` | the log goes on; where that fails, ticks try again |
//! | `Anchor::write` | if there was no log: with its identity, and `Recovery::next` as the first group that is needed |
//! | `Committer::new`, `Log::start_preparer` | changes are taken; a thread calls `tick`, another `History::flush` |
//!
//! It knows names, serials and octets of records, and nothing of what zones are made of. Design: `docs/design/journal.md`.

pub mod anchor;
pub mod checkpoint;
pub mod commit;
pub mod disk;
#[doc(hidden)]
#[cfg(any(test, feature = "simulated"))]
pub mod fuzz;
pub mod history;
pub mod log;
mod octets;
pub mod record;
pub mod show;
mod sum;

pub use anchor::Anchor;
pub use commit::{Committer, Outcome, Refusal};
pub use history::History;
pub use log::{Log, Recovery};
pub use record::{Asked, Body, Entry, Record};
pub use sum::Identity;
