//! Experiments with name servers.
//!
//! * [`recipe`]: files that say what runs, what varies and what is measured.
//! * [`bed`], [`place`], [`process`]: network namespaces, cores, and programs that end with us.
//! * [`contender`]: the servers, each with the best settings that its makers document; [`data`]: zones and queries.
//! * [`origin`]: what the programs of this project were built from; [`peers`]: which programs of other servers, the system's or newer ones.
//! * [`agreement`]: whether all answer alike; [`experiment`]: the measurements; [`statistics`]: what their values say
//!   together.
//! * [`run`](mod@run): a recipe from begin to end; [`all`]: one after the other; [`copies`]:
//!   a server beside a copy of itself, the laboratory's own test.
//! * [`record`]: what an experiment leaves behind; reports and comparisons read nothing else.
//! * [`file`](mod@file): records as files; [`published`]: what the sources of the recipes published.
//! * [`report`]: a record as a page, with [`chart`]s; [`summary`]: on one screen; [`compare`]: two beside each other;
//!   [`history`](mod@history): a figure over all [`records`] of a recipe; [`mod@draw`]: what the README shows.
//! * [`trace`]: the chart of what a capture holds.
//! * [`known`]: from which sides a value is known, and a median.
//! * [`figures`], [`machine`], [`number`], [`escape`], [`commit`]: what these share.

pub mod agreement;
pub mod all;
pub mod bed;
pub mod chart;
pub mod compare;
pub mod contender;
pub mod copies;
pub mod data;
pub mod draw;
mod error;
pub mod escape;
pub mod experiment;
pub mod figures;
pub mod file;
pub mod history;
pub mod known;
pub mod machine;
pub mod number;
pub mod origin;
pub mod peers;
pub mod place;
pub mod process;
pub mod published;
pub mod recipe;
pub mod record;
pub mod records;
pub mod report;
pub mod run;
pub mod statistics;
pub mod summary;
pub mod trace;

pub use error::Error;

#[cfg(test)]
mod sample;
