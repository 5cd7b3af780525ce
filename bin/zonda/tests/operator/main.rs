#![allow(clippy::unwrap_used)] // tests
//! The program as its operator meets it: what it says to bad input, and what stays served meanwhile.

mod access;
mod control;
mod expiry;
mod files;
mod findings;
mod first_week;
mod limits;
mod packs;
mod pages;
mod refuse;
mod reload;
mod server;
mod state;
mod stored;
