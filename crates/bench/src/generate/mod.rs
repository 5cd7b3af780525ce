//! Generators of zones and of queries for them. Same options and seed, same octets.

pub mod flat;
pub mod hosting;
pub mod net;
pub mod queries;
pub mod text;
