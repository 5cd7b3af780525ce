//! What others are told of the server in numbers: each of these declared once.
//!
//! ```text
//! counters of workers, of zones, of memory --> Readings --.
//! table: name, kind, help, labels, how it is read --------+--> Exporter: text as OpenMetrics or for Prometheus
//!                                          '--> manual        (a counter is never told to be less than it was)
//! ```
//!
//! The cost is the same with a million zones: nothing here goes through them. How many there are in which state is counted by whoever changes that; what can only be seen by a look at
//! all, that thread has counted which looks ([`crate::expiry`]). Design: `docs/design/observing.md` 4.

mod family;
mod manual;
mod readings;
mod render;
mod table;

pub use manual::markdown;
pub(crate) use readings::Readings;
pub(crate) use render::Exporter;
