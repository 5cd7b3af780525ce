//! Experiments with name servers.
//!
//! * [`record`]: what an experiment leaves behind; reports and comparisons read nothing else.
//! * [`chart`]: charts as SVG.
//! * [`number`], [`escape`]: numbers as people read them, and text of others made harmless.

pub mod chart;
pub mod escape;
pub mod number;
pub mod record;
