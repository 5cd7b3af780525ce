//! Zones from server to server: AXFR (RFC 5936), IXFR (RFC 1995), NOTIFY (RFC 1996) and the times of secondaries (RFC 1035 3.3.13).
//!
//! It has no sockets, files, clock or threads: messages and times come in, messages, records and times go out.

pub mod catalog_zone;
