//! The resolver in a small Internet of its own, in virtual time.

mod configured;
mod delegations;
mod deserted;
mod example;
mod expired;
mod explain;
mod held;
mod lossy;
mod many;
mod mirrors;
mod names;
mod outages;
mod plain;
mod scripted;
mod transport;
