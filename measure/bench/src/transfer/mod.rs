//! Zones from server to server, as experiments need them: a primary that has versions of zones and gives them as fast as a
//! connection takes them, and a client that takes a zone and counts.
//!
//! ```text
//! base, deltas -> history: versions -> feeder: SOA, AXFR, IXFR, NOTIFY -> secondaries
//!                            `-> digest of each version   ==   digest of what a secondary gives: drain
//! ```
//!
//! * [`records`]: records in wire form, and what sets of them have in common: a digest that does not depend on their order.
//! * [`history`]: versions of a zone, from files of real changes or made up.
//! * [`feeder`]: the primary (RFC 5936, RFC 1995, RFC 1996). It knows no keys and refuses nobody.
//! * [`notices`]: who tells a secondary of many zones without losing most of it on the way.
//! * [`frames`]: records as messages of a stream. [`drain`]: the client.

pub mod drain;
pub mod feeder;
pub mod frames;
pub mod history;
pub mod notices;
pub mod records;

pub use drain::{Drained, Wanted};
pub use feeder::Feeder;
pub use history::{Change, History};
pub use notices::Notices;
pub use records::{Digest, Octets, Records};
