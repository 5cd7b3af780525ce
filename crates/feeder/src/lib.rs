//! The feeder: a process that reads a store and pushes what is new in it to the server, which treats it as it does a primary.
//!
//! ```text
//! server                                        this process
//! where it is, once ----------------- pair ---> process: opens it, rights given up before
//!                      <--- opened: identity ---'
//! what it holds: zone, serial, mark --- pair -> follow: what is there, against what is held
//!                      <--- begin, messages of DNS records, end: a zone, or what changed in it
//! arrived, served, refused, whole ----- pair ->
//! ```
//!
//! It is `zonda feed`, a child of the server. Databases are read here and not in the process that answers. What both say to each other is crate `feed`. Design: `docs/design/store.md` 5.
//!
//! * `process`: from the start to the end; `reach`: how a store is reached; `confine`: rights that are given up before, and `filter`: system calls.
//! * `follow`: which zones are to be pushed, and what came of it; `push`: a zone from its rows; `message`: records as messages; `line`: what is said of them, many frames at a time; `misnamed`: zones that nobody knows by their names. They know no database, but [`store::source`].
//! * `sqlite`: a file as such a source; `watch`: whether the file is the one that was opened. `powerdns`: PowerDNS's tables as one. `postgres`: a database of a server as such a source; `page`: what is read of many of its zones at once. `raise`: serials above what a server had, and `write`: what it asks to be changed, in either; `ended`: why no more records are handed over.

mod confine;
mod ended;
mod filter;
mod follow;
mod line;
mod message;
mod misnamed;
mod page;
mod postgres;
mod powerdns;
mod process;
mod push;
mod raise;
mod reach;
mod sqlite;
mod watch;
mod write;

pub use process::run;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
