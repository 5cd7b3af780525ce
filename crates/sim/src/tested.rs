//! What is put into a world: a resolver, and what it may do there.
//!
//! The words are those of `resolve::World` and of the messages that clients send. This crate depends on none of the resolver's, so
//! that their own tests can use it: who tests a resolver writes the few lines from these traits to its types.

use crate::records::Records;
use crate::time::{Micros, Time};
use std::net::SocketAddr;
use wire::Transport;

/// A query of a client that waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// The way that a datagram went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Path(pub u64);

/// A stream to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(pub u64);

/// What happened to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEvent<'a> {
    /// It takes messages; they may be written before.
    Connected,
    /// A whole message came.
    Message(&'a [u8]),
    /// It is over.
    Closed(Closed),
}

/// Why a stream is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The server ended it between messages.
    Ended,
    /// It was refused or reset.
    Broken,
    /// It was not there in time, or too slow.
    TimedOut,
    /// There is no way there.
    Unreachable,
}

/// Why nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsent {
    /// There is no way there now.
    Unreachable,
    /// The stream is not there any more.
    Gone,
}

/// A client's query as it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientQuery<'a> {
    /// Whom to answer.
    pub ticket: Ticket,
    /// Where it came from.
    pub from: SocketAddr,
    /// How it came.
    pub transport: Transport,
    /// The message.
    pub octets: &'a [u8],
}

/// What a resolver may do. Nothing of it calls back: what it leads to is an event of its own.
pub trait Outside {
    /// When the event happens.
    fn time(&self) -> Time;
    /// 64 bits, of the seed.
    fn random(&mut self) -> u64;
    /// Sends a datagram.
    fn send(&mut self, to: SocketAddr, octets: &[u8]) -> Result<Path, Unsent>;
    /// What was sent that way is answered or given up.
    fn settle(&mut self, path: Path);
    /// Opens a stream.
    fn connect(&mut self, to: SocketAddr) -> Result<StreamId, Unsent>;
    /// Sends a message.
    fn write(&mut self, stream: StreamId, octets: &[u8]) -> Result<(), Unsent>;
    /// Closes a stream.
    fn close(&mut self, stream: StreamId);
    /// Answers a client.
    fn reply(&mut self, ticket: Ticket, octets: &[u8]);
}

/// What a resolver begins with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The root's NS records and addresses of these.
    pub hints: Records,
    /// RDATA of the DS records of the root; none: nothing is validated.
    pub anchors: Vec<Vec<u8>>,
    /// Lines of settings, such as `serve-stale 3s`.
    pub settings: Vec<String>,
    /// What [`Tested::store`] gave before a restart.
    pub stored: Option<Vec<u8>>,
    /// When it begins.
    pub time: Time,
}

/// Makes a resolver; the error names the setting that it does not know.
pub type Make<'m> = dyn Fn(&Setup) -> Result<Box<dyn Tested>, String> + 'm;

/// A resolver with all that it keeps.
pub trait Tested {
    /// A client asks.
    fn query(&mut self, query: &ClientQuery<'_>, outside: &mut dyn Outside);
    /// A datagram came back a path, from whom it says.
    fn datagram(&mut self, path: Path, from: SocketAddr, octets: &[u8], outside: &mut dyn Outside);
    /// Something happened to a stream.
    fn stream(&mut self, stream: StreamId, event: StreamEvent<'_>, outside: &mut dyn Outside);
    /// The time that [`Tested::deadline`] said has come.
    fn tick(&mut self, outside: &mut dyn Outside);
    /// When it wants to be called; asked after each event.
    fn deadline(&self) -> Option<Micros>;
    /// An operator's command, such as `flush all`; what it says.
    fn command(&mut self, words: &str, outside: &mut dyn Outside) -> Result<String, String>;
    /// What it wants to have again when it starts anew; nothing where it keeps nothing.
    fn store(&mut self, time: Time) -> Option<Vec<u8>>;
    /// A count of its own, of work that no message shows; none where it has none of that name.
    fn counter(&self, name: &str) -> Option<u64>;
    /// What it does for itself, or for nobody: open questions, streams. Zero when nothing has been asked for long (leaks).
    fn open_count(&self) -> usize;
}
