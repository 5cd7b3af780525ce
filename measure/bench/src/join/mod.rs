//! Load generators on several hosts as one.
//!
//! ```text
//! agent       -> coordinator   connects, both prove that they know the secret (channel)
//! coordinator -> agents        options, queries and expected answers, once (job); each agent is ready or says why not
//! coordinator -> agents        ping, ping, …; then a trial with the time until its start
//! agent       -> coordinator   how it goes, again and again; then what the trial brought (trial)
//! coordinator -> agents        alive, alive, … meanwhile; stop, where it is to end before its time
//! ```
//!
//! Query `n` of a trial belongs to one of all workers of all agents, as it would to one of the threads of one
//! generator; so rates, windows and counts are those of the whole, and what agents bring adds up exactly.
//!
//! Agents send load to whoever their coordinator names: they connect to the one their operator names, prove themselves
//! to nobody else, and take a job from nobody who does not know the secret.

pub mod agent;
pub mod channel;
pub mod coordinator;
mod job;
pub mod live;
mod trial;

use std::{fmt, time::Duration};

pub use agent::{Agent, Work};
pub use coordinator::Coordinator;
pub use live::Live;

/// Most agents: each has a thread of the coordinator.
pub const AGENTS_MAX: usize = 256;
/// How often the coordinator says that it lives while a trial runs.
const ALIVE_EACH: Duration = Duration::from_secs(1);
/// How often agents say how it goes: those who watch look once a second, and find something new each time.
const REPORT_EACH: Duration = Duration::from_millis(500);
/// How often both ends look meanwhile whether the other has said something: soon enough for an operator who waits for
/// an end, too seldom to disturb the load.
const LOOK_EACH: Duration = Duration::from_millis(100);
/// Whoever says nothing for so long is lost: ten signs of life and more.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// Why one end cannot go on with the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The other end is none of these programs, or of another version.
    Version,
    /// The other end does not know the secret.
    Secret,
    /// A frame is damaged, changed on its way, or of no use at this time.
    Frame,
    /// The other end said nothing for too long.
    Silent,
    /// The other end has gone.
    Closed,
    /// The other end stopped for this reason.
    Said(String),
    /// Not all agents came: so many of so many.
    Missing(usize, usize),
    /// More octets of queries than are passed on.
    TooManyQueries,
    /// More expected answers than are passed on.
    TooManyAnswers,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Version => f.write_str("does not speak this version of joining"),
            Problem::Secret => f.write_str("has another secret: compare --secret or --token of both"),
            Problem::Frame => f.write_str("sent what is of no use here"),
            Problem::Silent => f.write_str("said nothing for too long"),
            Problem::Closed => f.write_str("went away"),
            Problem::Said(reason) => write!(f, "stopped: {reason}"),
            Problem::Missing(came, wanted) => write!(f, "{came} of {wanted} agents came in time"),
            Problem::TooManyQueries => {
                f.write_str("queries of more than 256 MiB are not passed on to agents")
            }
            Problem::TooManyAnswers => f.write_str(
                "more than eight million expected answers are not passed on to agents: split the file",
            ),
        }
    }
}

#[cfg(test)]
mod tests;
