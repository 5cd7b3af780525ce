//! Zones from server to server: AXFR (RFC 5936), IXFR (RFC 1995), NOTIFY (RFC 1996) and the times of secondaries (RFC 1035 3.3.13).
//!
//! * [`outgoing`]: a zone, or what changed in it, as messages; [`notify`]: whom to tell that it did, and when.
//! * [`incoming`]: one transfer from a primary; [`refresh`]: when which zone is asked for; [`notify_in`]: NOTIFY from others.
//! * [`serial`]: what is newer than what.
//!
//! It has no sockets, files, clock or threads: messages and times come in, messages, records and times go out.

pub mod catalog_zone;
pub mod incoming;
pub mod notify;
pub mod notify_in;
pub mod outgoing;
pub mod refresh;
pub mod serial;
