#![allow(clippy::unwrap_used)] // tests
//! The program as its operator meets it: what it says to bad input, and what stays served meanwhile.

mod access;
mod control;
mod files;
mod limits;
mod packs;
mod reload;
mod server;
mod stored;
