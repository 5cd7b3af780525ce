//! Packs, deltas and catalogs against models and real zones.
//!
//! One program, as what they share is compiled once then; what needs a process of its own stands beside it.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod catalog_like_model;
mod catalog_parts;
mod copied_zones;
mod delta_changes;
mod delta_like_pack;
mod delta_readers;
mod difference;
mod kit;
mod lookup_like_model;
mod pins;
mod root_zone;
