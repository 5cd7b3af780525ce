//! What a resolver has learned, for all its workers: RRsets, denials, zone cuts, failures, and how servers behave.
//!
//! * [`key`]: what an entry is about; [`entry`]: what is known of it, and its octets; [`time`]: the clock that it ages by.
//! * [`store`]: the cache; [`named`]: all that it has of one name; [`layout`](Tended): how it becomes larger and smaller; `outline`: what others are told of it without waiting. `shard`, `index`, `ring`, `ghosts`: its parts; [`hash`]: where names lie in them.
//! * `rank`: what is believed; [`limits`]: how long, and how much.
//! * [`sweep`]: flushes, with `marks`.
//! * [`denials`]: NSEC and NSEC3 records that deny names which nobody has asked for yet.
//! * [`dump`]: the store as octets, and back.
//! * [`servers`]: how servers behave.
//! * [`locks`]: how they are taken, and counted in tests.
//! * [`naive`]: an ordered map under a lock, the model that tests compare with.
//!
//! No sockets, no clock and no files here; `docs/design/cache.md`.

pub mod denials;
pub mod dump;
pub mod entry;
mod ghosts;
pub mod hash;
mod index;
pub mod key;
mod layout;
pub mod limits;
pub mod locks;
mod marks;
pub mod naive;
pub mod named;
pub mod nearby;
mod outline;
mod primitives;
mod rank;
mod ring;
pub mod servers;
mod shard;
pub mod store;
pub mod sweep;
pub mod time;
mod words;

pub use denials::Denials;
pub use entry::{Copied, Entry, Kind, Rank, Security, Stamp};
pub use hash::{Hashed, Secret};
pub use key::{Key, Subject};
pub use layout::Tended;
pub use limits::Limits;
pub use naive::Naive;
pub use named::Named;
pub use nearby::NameHash;
pub use servers::{Case, Cookie, Edns, Quality, Servers};
pub use shard::Counts;
pub use store::{Cache, Settings};
pub use sweep::{Flush, Swept};
pub use time::Moment;
