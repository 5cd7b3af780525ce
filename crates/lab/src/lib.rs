//! Experiments with name servers.
//!
//! * [`record`]: what an experiment leaves behind; reports and comparisons read nothing else.

pub mod record;
