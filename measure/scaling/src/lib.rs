//! How the rate of a name server grows with cores, computed: a discrete-event simulation of cores that answer queries and
//! share cache lines and locks, and the law that is fitted to what comes of it.
//!
//! * [`model`]: machine, shared things, queries as lists of steps. * [`names`]: which bucket a query's name is in.
//! * [`run`](mod@run): one number of cores. * [`sweep`]: many, and how a kernel spreads queries over sockets.
//! * [`usl`]: the universal scalability law by least squares, with intervals. * [`bootstrap`]: where these come from.
//! * [`bind`]: what the seeds published of BIND 9, and models of it that must give the same. * [`engine`]: models of the engine
//!   of the experiments, from what one thread of it was measured to do.
//!
//! What is left out: memory bandwidth, caches that are too small, frequencies that fall with busy cores, two threads on one
//! core, and how network and kernel share. A simulated rate is what locks and shared lines leave, no more.
//!
//! No input or output, no clock and no randomness but from a seed: the same model gives the same figures everywhere.

pub mod bind;
pub mod bootstrap;
pub mod engine;
mod line;
mod lock;
pub mod model;
pub mod names;
pub mod run;
pub mod sweep;
pub mod usl;

pub use model::{Background, Fault, Handover, Kind, Machine, Model, Query, Shared, Step};
pub use names::Names;
pub use run::{Effort, Outcome, run};
