//! What a resolver does to the world, and what it is told by it.

use std::net::SocketAddr;

use cache::{Cache, Moment, Servers};
use wire::Name;

use crate::outcome::{Outcome, Waiter};

/// The time of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time {
    /// For TTLs, time-outs and ages.
    pub now: Moment,
    /// Seconds since 1970, for signatures.
    pub wall: u64,
}

/// The way that a datagram went: what comes back to it is told with the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Path(pub u64);

/// A stream to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamId(pub u64);

/// How a stream is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamSecurity<'a> {
    /// TCP alone.
    Plain,
    /// TLS (RFC 7858), whoever answers.
    Opportunistic,
    /// TLS with a server that proves this name (RFC 8310).
    Named(&'a str),
}

/// What happened to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEvent<'a> {
    /// It takes messages, and TLS, if any, is established. Messages may be written before.
    Connected,
    /// A whole message came.
    Message(&'a [u8]),
    /// It is over, and so is all that was asked through it.
    Closed(Closed),
}

/// Why a stream is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The server ended it between messages, as it may at any time (RFC 7766 6.2.3).
    Ended,
    /// It was refused or reset, or ended inside of a message.
    Broken,
    /// It was not there in time, or too slow.
    TimedOut,
    /// The server did not prove to be the one that was wanted, or speaks no TLS that we do.
    Untrusted,
    /// There is no way there now; the server is not to blame.
    Unreachable,
}

/// A datagram as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<'a> {
    /// Which way what it answers went, if it does.
    pub path: Path,
    /// Who sent it, if nobody forged that.
    pub from: SocketAddr,
    /// Its octets.
    pub octets: &'a [u8],
    /// Whether it was longer than this, and was cut.
    pub is_cut: bool,
}

/// Why nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsent {
    /// There is no way there now: no address of that family, no route. The server is not to blame.
    Unreachable,
    /// Too much is being sent already, or as many sockets or streams are open as there may be.
    Busy,
    /// The stream or path is not there any more.
    Gone,
}

/// A datagram that [`World::send`] took and that could not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotSent {
    /// The way it was to go.
    pub path: Path,
    /// To whom.
    pub to: SocketAddr,
    /// Its ID.
    pub id: u16,
    /// Why not.
    pub why: Unsent,
}

/// What zones of this process say to a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Nothing: none of them is at or above its name, or not one that has data.
    Nothing,
    /// An answer of a zone of ours, which is final.
    Ours,
    /// An answer of a mirror, a copy of a zone of others with so many labels: it is worth as much as one of the zone's servers (RFC 8806).
    Mirror {
        /// Labels of the zone's apex.
        labels: usize,
    },
}

/// The world of a resolver. No method calls back into it.
pub trait World {
    /// The time at which the event began.
    fn time(&self) -> Time;
    /// 64 bits that nobody can guess.
    fn random(&mut self) -> u64;
    /// What has been learned.
    fn cache(&self) -> &Cache;
    /// How servers behave.
    fn servers(&self) -> &Servers;
    /// Sends a datagram from a port that nobody can guess, or takes it to be sent with others at the end of the event: if that fails, [`crate::Resolver::unsent`] is told.
    /// `has_cookie`: its answer has to prove by a cookie whose it is, so that it may share a port with
    /// others where ports are scarce.
    fn send(&mut self, to: SocketAddr, octets: &[u8], has_cookie: bool) -> Result<Path, Unsent>;
    /// What was sent that way is answered or given up: what still comes there is of no use to it.
    fn settle(&mut self, path: Path);
    /// Opens a stream, or says why not; how it goes on is told by events.
    fn connect(&mut self, to: SocketAddr, security: StreamSecurity<'_>) -> Result<StreamId, Unsent>;
    /// Sends a message, without its length.
    fn write(&mut self, stream: StreamId, octets: &[u8]) -> Result<(), Unsent>;
    /// Closes a stream, of which nothing more is told.
    fn close(&mut self, stream: StreamId);
    /// Has the zones of this process answer a query as if they were on a server of their own. Nothing is written with [`Held::Nothing`].
    fn authoritative(&mut self, query: &[u8], response: &mut Vec<u8>) -> Held;
    /// Whether there is any zone of this process.
    fn has_zones(&self) -> bool {
        true
    }
    /// Whether a name in lower case is at or below a zone of this process that is final, so that it is asked before the cache. Cheap; true where that is not known.
    fn is_of_ours(&self, _name: &Name) -> bool {
        true
    }
    /// Whether a name in lower case is special, so that nobody outside is asked about it, even where an alias of others leads to it (RFC 6303, 7686, 8375).
    fn keeps_inside(&self, _name: &Name) -> bool {
        false
    }
    /// A server that had to prove who it is did not: of a forwarder its operator wants to know.
    fn distrusted(&mut self, _server: SocketAddr) {}
    /// What a forward zone says is bogus, as it is where the zone is private and the signed ones above it do not say that it is unsigned: its operator may know.
    fn unproved(&mut self, _zone: &Name) {}
    /// A question came to this.
    fn done(&mut self, waiter: Waiter, outcome: &Outcome);
}
