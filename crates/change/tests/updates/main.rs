//! Updates of zones, against the RFC and a model.
//!
//! One program, as what they share is compiled once then; what needs a process of its own stands beside it.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod alterations;
mod edits;
mod fuzz_seeds;
mod kit;
mod like_model;
mod rfc2136;
mod sig0;
mod signed;
mod terms;
