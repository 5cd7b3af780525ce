//! The parts of `zonda-bench`: generators of zones, queries and updates, an echo server, a load generator.
//!
//! * [`generate`]: zones (root, top-level, many small ones, …), queries, updates and slices of them, by seed; from
//!   [`labels`] and [`random`].
//! * [`query`]: query files and packets; [`source`]: where queries come from; [`trace`]: captures, their queries and what they are made of.
//! * [`echo`]: the limit program, replying with recorded [`sizes`].
//! * [`durable`]: the limit program of updates: keeps every message, then replies; and the disk alone.
//! * [`load`]: trials in open and closed loop; [`search`]: the rate a server sustains.
//! * [`flood`]: queries with made-up sources, and a client with a cookie beside them.
//! * [`join`]: generators on several hosts as one.
//! * [`commits`]: changes over HTTP, one record each, as fast as they are done.
//! * [`transfer`]: zones from server to server: a primary with versions, a client that counts.
//! * [`update`]: dynamic updates at a rate, signed and checked.
//! * [`mmsg`]: sockets and batches of datagrams, as a server's worker uses them; unsafe code is there and in the
//!   io_uring model of the echo server only. [`cores`]: lists of cores to run on.
//! * [`percentiles`]: of times, as all results show them.
//! * [`machine`]: what a result must say about where it was measured; [`host`]: what that machine is and can do.
//!
//! Nothing here knows Zonda: it measures any name server.

pub mod commits;
pub mod cores;
pub mod durable;
pub mod echo;
pub mod error;
pub mod flood;
pub mod generate;
pub mod host;
pub mod join;
pub mod labels;
pub mod load;
pub mod machine;
pub mod mmsg;
pub mod percentiles;
pub mod query;
pub mod random;
pub mod search;
pub mod sizes;
pub mod source;
pub mod trace;
pub mod transfer;
pub mod update;

pub use error::Error;
