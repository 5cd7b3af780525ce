//! What a resolver has learned, for all its workers: RRsets, denials, zone cuts.
//!
//! * [`key`]: what an entry is about; [`entry`]: what is known of it; [`time`]: the clock that it ages by.
//! * [`naive`]: an ordered map under a lock, the model that tests compare with.
//!
//! No sockets, no clock and no files here; `docs/design/cache.md`.

pub mod entry;
pub mod key;
pub mod naive;
pub mod time;

pub use entry::{Copied, Entry, Kind, Rank, Security};
pub use key::{Key, Subject};
pub use naive::Naive as Cache;
pub use time::Moment;
