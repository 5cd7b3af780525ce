//! The server over sockets: what comes by datagrams and streams, later answers, what is handed on.
//!
//! One program, as what they share is compiled once then; what needs a process of its own stands beside it.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod awaited;
mod common;
mod handed;
mod later;
mod order;
mod streams;
mod tap;
mod tcp;
mod udp;
