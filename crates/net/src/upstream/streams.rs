//! The streams of a worker to servers: how many, for how long, and what became of them.
//!
//! ```text
//! table: [ (generation, Stream) | (generation, -) | ... ]   free: [ 1, ... ]   ended: [ (id, why) ... ] told in the next turn
//! ```

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

use rustix::event::epoll::{self, EventFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with, sockopt};
use rustls::ClientConnection;
use sync::random::Unguessable;

use super::settings::UpstreamSettings;
use super::socket::Family;
use super::stream::{READ_OCTETS, Stream, closed};
use super::tls::TlsServer;
use super::{Unsent, unsent};
use crate::context::Transport;
use crate::counters::Counters;
use crate::tcp::frame::{Front, LENGTH_OCTETS, front};
use crate::token::{GENERATIONS, Token};
use crate::udp::option;

/// Streams that a worker may have, whatever the settings say: with the sockets of the pool a third of the descriptors of usual limits.
pub const SERVER_STREAMS_MAX: usize = 4_096;

/// Octets of incomplete messages that all streams of a worker may hold: 64 of the longest.
const INPUT_OCTETS_MAX: usize = 4 << 20;

/// A stream that has completed a message within this time is at work, and displaced by none.
const WORKING: Duration = Duration::from_secs(1);

/// Which stream to a server. The generation tells it from an earlier one in the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId {
    pub(crate) index: u32,
    /// Below [`GENERATIONS`].
    pub(crate) generation: u32,
}

impl StreamId {
    /// As a number, for those who know no sockets.
    #[must_use]
    pub fn bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The stream of such a number. One that was never given is none.
    #[must_use]
    pub fn from_bits(bits: u64) -> Self {
        Self { index: bits as u32, generation: (bits >> 32) as u32 }
    }
}

/// How messages are carried.
#[derive(Clone, Debug)]
pub enum Protocol {
    /// RFC 7766.
    Tcp,
    /// RFC 7858, with what the server must show.
    Tls(Arc<TlsServer>),
}

/// Why a stream is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The server's host does not take connections there.
    Refused,
    /// There is no way there: as far as this host or a router says.
    NoRoute,
    /// It was not open in time, or an answer was not complete in time.
    Slow,
    /// It owed nothing, for as long as it may.
    Idle,
    /// The server ended it.
    Peer,
    /// A message was shorter than a header (RFC 1035 4.1.1).
    Malformed,
    /// TLS failed, by either side's fault.
    Handshake,
    /// The server is not who it must be.
    Certificate,
    /// Messages that are not complete take too much memory, and its has waited longest.
    Memory,
    /// It owed nothing, and another was to be opened.
    Displaced,
}

struct Entry {
    stream: Stream,
    interest: EventFlags,
}

/// The streams of a worker.
pub(super) struct Streams {
    epoll: Arc<OwnedFd>,
    table: Vec<(u32, Option<Entry>)>,
    free: Vec<u32>,
    ended: Vec<(StreamId, Closed)>,
    /// Not after the first deadline of all.
    next_check: Option<Instant>,
    /// Octets of incomplete messages: of all `input`, but for a stream whose turn it is.
    held: usize,
    /// What is read, until it is known what it is.
    area: Vec<u8>,
}

/// What the turn of a stream brought.
#[derive(Debug, Default)]
pub(crate) struct Brought {
    /// Whether the stream is open since.
    pub(crate) is_open: bool,
    /// Whole messages with their lengths, and the beginning of another.
    input: Vec<u8>,
    /// Octets of the whole ones.
    whole: usize,
    /// Octets that are new.
    pub(super) read: usize,
}

impl Brought {
    /// The whole messages.
    pub(crate) fn messages(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.input[..self.whole];
        std::iter::from_fn(move || {
            let Front::Message(message) = front(rest) else { return None };
            rest = &rest[LENGTH_OCTETS + message.len()..];
            Some(message)
        })
    }
}

impl Streams {
    pub(super) fn new(epoll: Arc<OwnedFd>) -> Self {
        let (table, free, ended, area) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { epoll, table, free, ended, next_check: None, held: 0, area }
    }

    fn entries(&self) -> impl Iterator<Item = (StreamId, &Entry)> {
        self.table.iter().enumerate().filter_map(|(index, (generation, entry))| {
            let id = StreamId { index: index as u32, generation: *generation };
            entry.as_ref().map(|entry| (id, entry))
        })
    }

    fn get(&mut self, id: StreamId) -> Option<&mut Entry> {
        let (generation, entry) = self.table.get_mut(id.index as usize)?;
        if *generation == id.generation { entry.as_mut() } else { None }
    }

    /// Where an open one leads, and how.
    pub(super) fn to(&mut self, id: StreamId) -> Option<(SocketAddr, Transport)> {
        let stream = &self.get(id)?.stream;
        Some((stream.server, if stream.is_secure() { Transport::Tls } else { Transport::Tcp }))
    }

    fn count(&self) -> usize {
        self.table.len() - self.free.len()
    }

    /// Begins a stream.
    pub(super) fn connect(
        &mut self,
        server: SocketAddr,
        protocol: &Protocol,
        settings: &UpstreamSettings,
        random: &mut Unguessable,
        now: Instant,
        counters: &Counters,
    ) -> Result<StreamId, Unsent> {
        self.make_room(server, settings, now, counters)?;
        let tls = match protocol {
            Protocol::Tcp => None,
            Protocol::Tls(tls) => Some(Box::new(tls.connection(server).map_err(|_| Unsent::Sockets)?)),
        };
        let (socket, outcome) = begin(server, settings, random).map_err(|errno| unsent(&errno.into()))?;
        let id = self.add(socket, server, tls, settings, now, counters)?;
        if let Err(errno) = outcome {
            // Told as what it is: a loopback connection is refused at once, any other later.
            self.end(id, closed(errno), counters);
        }
        Ok(id)
    }

    /// Sees to it that there may be one more stream, to `server`. What owes nothing goes first, then what has never answered anything, then what has
    /// not gone on for longest: who opens streams and holds them keeps nobody from another.
    fn make_room(
        &mut self,
        server: SocketAddr,
        settings: &UpstreamSettings,
        now: Instant,
        counters: &Counters,
    ) -> Result<(), Unsent> {
        let (mut to_server, mut to_prefix, mut least) = (0, 0, None);
        for (id, Entry { stream, .. }) in self.entries() {
            to_server += usize::from(stream.server == server);
            to_prefix += usize::from(prefix(stream.server) == prefix(server));
            let worth = (!stream.is_idle(), stream.has_answered(), stream.since());
            if least.is_none_or(|(least, _)| worth < least) {
                least = Some((worth, id));
            }
        }
        if to_server >= settings.streams_per_server.max(1) || to_prefix >= settings.streams_per_prefix.max(1)
        {
            return Err(Unsent::Full);
        }
        if self.count() >= settings.streams.clamp(1, SERVER_STREAMS_MAX) {
            match least {
                Some(((true, true, since), _)) if now.saturating_duration_since(since) < WORKING => {
                    return Err(Unsent::Full);
                }
                Some((_, id)) => self.end(id, Closed::Displaced, counters),
                None => {}
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        socket: TcpStream,
        server: SocketAddr,
        tls: Option<Box<ClientConnection>>,
        settings: &UpstreamSettings,
        now: Instant,
        counters: &Counters,
    ) -> Result<StreamId, Unsent> {
        let index = self.free.pop().unwrap_or_else(|| {
            self.table.push((0, None));
            (self.table.len() - 1) as u32
        });
        let id = StreamId { index, generation: self.table[index as usize].0 };
        let interest = EventFlags::OUT;
        if epoll::add(&*self.epoll, &socket, Token::Server(id).data(), interest).is_err() {
            self.free.push(index);
            return Err(Unsent::Sockets);
        }
        let stream = Stream::new(socket, server, tls, now);
        self.check_at(stream.deadline(settings).0);
        self.table[index as usize].1 = Some(Entry { stream, interest });
        counters.upstream_streams_begun.add(1);
        counters.upstream_streams_open.add(1);
        Ok(id)
    }

    /// Sends a message.
    pub(super) fn send(
        &mut self,
        id: StreamId,
        octets: &[u8],
        settings: &UpstreamSettings,
        now: Instant,
    ) -> Result<(), Unsent> {
        let entry = self.get(id).ok_or(Unsent::Closed)?;
        entry.stream.send(octets, now)?;
        let deadline = entry.stream.deadline(settings).0;
        self.check_at(deadline);
        self.rearm(id);
        Ok(())
    }

    /// How long it may owe nothing.
    pub(super) fn keep(&mut self, id: StreamId, idle: Duration, settings: &UpstreamSettings) {
        if let Some(Entry { stream, .. }) = self.get(id) {
            stream.keep(idle);
            let deadline = stream.deadline(settings).0;
            self.check_at(deadline);
        }
    }

    /// Goes on with a stream of whose socket the system has said something. What it brought is given back by [`Streams::give_back`].
    pub(super) fn turn(&mut self, id: StreamId, settings: &UpstreamSettings, now: Instant) -> Brought {
        self.area.resize(READ_OCTETS, 0);
        let mut area = std::mem::take(&mut self.area);
        let mut brought = Brought::default();
        if let Some(Entry { stream, .. }) = self.get(id) {
            let held = stream.input.len();
            brought.is_open = stream.turn(&mut area, now);
            brought.whole = stream.whole();
            brought.input = std::mem::take(&mut stream.input);
            brought.read = brought.input.len() - held;
            let deadline = stream.deadline(settings).0;
            self.held -= held;
            self.check_at(deadline);
        }
        self.area = area;
        brought
    }

    /// A message of the stream was told.
    pub(super) fn told(&mut self, id: StreamId, now: Instant, counters: &Counters) {
        counters.upstream_messages.add(1);
        if let Some(entry) = self.get(id) {
            entry.stream.told(now);
        }
    }

    /// All whole messages are told; ends the stream if no more can come.
    pub(super) fn give_back(&mut self, id: StreamId, brought: Brought, counters: &Counters) {
        let Some(Entry { stream, .. }) = self.get(id) else { return };
        stream.give_back(brought.input, brought.whole);
        let (octets, end) = (stream.input.len(), stream.end());
        self.held += octets;
        match end {
            Some(why) => self.end(id, why, counters),
            None => self.rearm(id),
        }
        while self.held > INPUT_OCTETS_MAX {
            let waiting = self.entries().filter(|(_, entry)| !entry.stream.input.is_empty());
            let longest = waiting.min_by_key(|(_, entry)| entry.stream.since()).map(|(id, _)| id);
            let Some(longest) = longest else { return };
            self.end(longest, Closed::Memory, counters);
        }
    }

    /// Has epoll wait for what the stream waits for.
    fn rearm(&mut self, id: StreamId) {
        let epoll = Arc::clone(&self.epoll);
        let Some(Entry { stream, interest }) = self.get(id) else { return };
        let mut wanted = EventFlags::IN;
        wanted.set(EventFlags::OUT, stream.wants_write());
        if wanted != *interest
            && epoll::modify(&*epoll, &stream.socket, Token::Server(id).data(), wanted).is_ok()
        {
            *interest = wanted;
        }
    }

    /// Ends a stream, of which the service is told in the next turn.
    fn end(&mut self, id: StreamId, why: Closed, counters: &Counters) {
        if self.remove(id, counters) {
            self.ended.push((id, why));
        }
    }

    /// Closes a stream, of which nothing is told. Whether there was one.
    pub(super) fn remove(&mut self, id: StreamId, counters: &Counters) -> bool {
        let Some(entry) = self.get(id) else { return false };
        entry.stream.finish();
        let held = entry.stream.input.len();
        self.held -= held;
        let (generation, entry) = &mut self.table[id.index as usize];
        *entry = None;
        *generation = (*generation + 1) % GENERATIONS;
        self.free.push(id.index);
        counters.upstream_streams_open.subtract(1);
        true
    }

    /// Streams that have ended, of which the service was not told.
    pub(super) fn take_ended(&mut self) -> Vec<(StreamId, Closed)> {
        std::mem::take(&mut self.ended)
    }

    pub(super) fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    fn check_at(&mut self, deadline: Instant) {
        self.next_check = Some(self.next_check.map_or(deadline, |next| next.min(deadline)));
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.next_check
    }

    /// Ends those that are too slow or idle for too long.
    pub(super) fn sweep(&mut self, settings: &UpstreamSettings, now: Instant, counters: &Counters) {
        if self.next_check.is_none_or(|at| now < at) {
            return;
        }
        self.next_check = None;
        for index in 0..self.table.len() {
            let (generation, Some(entry)) = &self.table[index] else { continue };
            let id = StreamId { index: index as u32, generation: *generation };
            match entry.stream.deadline(settings) {
                (deadline, why) if deadline <= now => self.end(id, why, counters),
                (deadline, _) => self.check_at(deadline),
            }
        }
    }

    pub(super) fn close_all(&mut self, counters: &Counters) {
        for index in 0..self.table.len() as u32 {
            self.remove(StreamId { index, generation: self.table[index as usize].0 }, counters);
        }
        self.ended.clear();
        self.next_check = None;
    }
}

/// The network that a server is in, as one operator has it.
fn prefix(server: SocketAddr) -> u64 {
    match server.ip() {
        IpAddr::V4(ip) => u64::from(u32::from(ip) >> 8),
        // Apart from those of IPv4, which have 24 bits.
        IpAddr::V6(ip) => 1 << 63 | (u128::from(ip) >> 80) as u64,
    }
}

/// A socket on its way to `server`, and what the system says of that so far.
fn begin(
    server: SocketAddr,
    settings: &UpstreamSettings,
    random: &mut Unguessable,
) -> Result<(TcpStream, Result<(), Errno>), Errno> {
    let family = if server.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    // A question waits for nothing.
    sockopt::set_tcp_nodelay(&socket, true)?;
    let source = Family::of(server).source(settings, random);
    if !source.is_unspecified() {
        // The port is chosen when the server is known. It need not be secret: who forges a segment must hit 32 bits more.
        let _ = option::bind_address_only(&socket);
        rustix::net::bind(&socket, &SocketAddr::new(source, 0))?;
    }
    let outcome = match rustix::net::connect(&socket, &server) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(()),
        Err(errno @ (Errno::CONNREFUSED | Errno::CONNRESET | Errno::TIMEDOUT)) => Err(errno),
        Err(errno) => return Err(errno),
    };
    Ok((socket.into(), outcome))
}

#[cfg(test)]
mod tests;
