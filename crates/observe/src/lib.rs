//! What others are told of queries while the server answers: a copy of the traffic (dnstap), lines about queries, who asks most.
//!
//! ```text
//! rings of workers -> observer: joins late responses, thins -> dnstap, lines -> blocks -> queue -> sink: socket or file
//!                     (one thread)                                                        (a thread each)
//! ```
//!
//! * [`told`]: a query and what became of it; [`observer`]: the thread that reads the rings, with `join` (queries that are answered later) and
//!   `pace` (how long it sleeps).
//! * [`dnstap`]: messages as others read them, with `protobuf` (their encoding) and `frames` (Frame Streams); [`query_log`]: lines, with `seen` (what a message
//!   says of itself).
//! * [`queue`]: blocks on their way, bounded; [`sink`]: the thread that writes them, with `file` and `socket`; [`output`]: where to.
//! * [`top`]: who asks most and for what, while somebody looks; [`sketch`], [`times`]: how that is counted in little memory.
//!
//! Workers never wait for the observer, nor the observer for a sink: what finds no room is dropped and counted. This crate knows no settings and no zones:
//! where a name is looked for is plugged in ([`Zones`]). Design: `docs/design/observing.md`.

pub mod dnstap;
mod file;
mod frames;
mod join;
pub mod observer;
pub mod output;
mod pace;
mod protobuf;
pub mod query_log;
pub mod queue;
mod seen;
pub mod sink;
pub mod sketch;
mod socket;
pub mod times;
pub mod told;
pub mod top;

use wire::Name;
use wire::name::NameRoom;

pub use dnstap::Dnstap;
pub use observer::{Consumer, Observer, Slot};
pub use output::{FileBounds, Output};
pub use query_log::QueryLog;
pub use queue::Filler;
pub use sink::Sink;
pub use told::{Asked, Exchanged, Outcome, Told};
pub use top::{Lookout, Top};

/// Which zone answers about a name, for consumers that say so.
pub trait Zones: Send {
    /// Puts the apex of the zone in `zone` that answers a query for this name and type (DS of an apex: the zone above); `false` where there is none.
    fn find(&mut self, name: &Name, qtype: u16, zone: &mut NameRoom) -> bool;
}
