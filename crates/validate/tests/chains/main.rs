//! Chains of trust: sound ones, attacked ones, those of the real root.
//!
//! One program, as what they share is compiled once then; what needs a process of its own stands beside it.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod attacks;
mod chain;
mod fuzz_zones;
mod kit;
mod properties;
mod root_zone;
mod sound;
