//! Experiments with name servers.
//!
//! * [`record`]: what an experiment leaves behind; reports and comparisons read nothing else.
//! * [`file`](mod@file): records as files; [`published`]: what the sources of the recipes published.
//! * [`report`]: a record as a page, with [`chart`]s; [`summary`]: on one screen; [`compare`]: two beside each other.
//! * [`figures`], [`machine`], [`number`], [`escape`]: what these share.

pub mod chart;
pub mod compare;
pub mod escape;
pub mod figures;
pub mod file;
pub mod machine;
pub mod number;
pub mod published;
pub mod record;
pub mod report;
pub mod summary;

#[cfg(test)]
mod sample;
