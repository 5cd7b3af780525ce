//! Scenario files: a few zones, servers that behave, steps in virtual time with what is expected. `tests/scenario/resolver/README.md` has
//! the words.
//!
//! ```text
//! text --read--> Scenario --plan--> zones completed and signed, servers --run--> steps, one after the other --> passed, or a Failure with its story
//! ```

mod all;
mod check;
mod plan;
mod read;
mod run;
#[cfg(test)]
mod tests;

pub use all::{Report, files, run_all};
pub use plan::{Plan, ZonePlan};
pub use run::{Failure, run, story_of};

use crate::behaviour::Behaviour;
use crate::time::Micros;
use crate::world::Question;
use std::net::IpAddr;
use wire::NameBuf;

/// A scenario file, read.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What its failures are said with: the path of the file.
    pub name: String,
    /// Why it cannot pass yet, if it cannot.
    pub pending: Option<String>,
    /// Seed of the world and of keys; 1 where nothing is said.
    pub seed: u64,
    /// Zones and servers.
    pub plan: Plan,
    /// Settings of the resolver.
    pub settings: Vec<String>,
    /// Rules of the world that do not hold here; the file says why.
    pub without_rules: Vec<String>,
    /// What happens, in its order.
    pub steps: Vec<Step>,
}

/// A step.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its line in the file.
    pub line: usize,
    /// When it happens; where nothing is said, when the step before is done.
    pub at: Option<Micros>,
    /// What happens.
    pub what: What,
}

/// What happens in a step.
#[derive(Clone, Debug)]
pub enum What {
    /// A client asks, and expects this.
    Query(Question, Box<Expected>),
    /// Clients ask this many questions at once, `N` in the name being the number of each; what they get is not looked at.
    Flood(u32, String, u16),
    /// This is compared.
    Compare(Quantity, Comparison, u64),
    /// What [`What::Compare`] compares begins at zero again.
    Count,
    /// A zone has these records from now on.
    Zone(NameBuf, String),
    /// A zone is not delegated any more; its servers still have it.
    Withdraw(NameBuf),
    /// A zone is delegated again.
    Delegate(NameBuf),
    /// A zone is signed with other keys, and the zone above points at these.
    Rekey(NameBuf),
    /// A server behaves so from now on.
    Behaviour(String, Behaviour),
    /// A server has no behaviour any more.
    Behave(String),
    /// The network is so.
    Network(Network),
    /// The machine's clock is so many seconds ahead.
    Clock(i64),
    /// An operator says this.
    Command(String),
    /// The resolver ends and starts.
    Restart,
    /// Nothing; time goes by.
    Wait,
}

/// What can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Queries that a server got.
    Queries(String),
    /// Queries that all servers got.
    AllQueries,
    /// Thousandths of queries that a server, or all of them, got for each question of clients.
    Each(Option<String>),
    /// Streams that servers were asked to open.
    Streams,
    /// Milliseconds that the last question took.
    Took,
    /// What the resolver has open.
    Open,
    /// What the resolver counts under this name.
    Counter(String),
}

/// How it is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// At most.
    Most,
    /// At least.
    Least,
    /// Exactly.
    Equal,
}

/// What there is of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// All.
    Whole,
    /// No IPv4.
    NoIpv4,
    /// No IPv6.
    NoIpv6,
    /// Nothing arrives anywhere.
    Cut,
}

/// What a client expects.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// The RCODE; none: no answer comes.
    pub rcode: Option<u16>,
    /// Any answer will do.
    pub is_any: bool,
    /// Flags of AA, TC, AD that are set; the others are not.
    pub flags: u16,
    /// An extended error that must be there.
    pub ede: Option<u16>,
    /// Sections that are compared: lines, TTL `~` for any.
    pub sections: [Option<String>; 3],
}

/// A server that the file speaks of.
#[derive(Clone, Debug)]
pub struct ServerPlan {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub addresses: Vec<IpAddr>,
    /// Its round trip, if it is said.
    pub round_trip: Option<Micros>,
}
