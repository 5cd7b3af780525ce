//! One stream to a server: messages with their lengths (RFC 7766 8) over TCP, or over TLS over TCP (RFC 7858).
//!
//! ```text
//!            Connecting --> Handshaking (TLS) --> Open --> over
//!  send -> frame -> [rustls] -> unsent -> socket        socket -> [rustls] -> input -> whole messages
//! ```
//!
//! It knows neither table nor epoll: what the system says of its socket comes in, what it waits for and how it ended comes out.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::sockopt;
use rustls::ClientConnection;

use super::settings::UpstreamSettings;
use super::{Closed, Unsent};
use crate::tcp::frame::{Front, LENGTH_OCTETS, MESSAGE_OCTETS_MAX, front};

/// Octets that a stream keeps until its socket takes them: some 400 questions, or one of the longest messages and a few.
pub const UNSENT_OCTETS_MAX: usize = MESSAGE_OCTETS_MAX + LENGTH_OCTETS;

/// Messages that a stream may owe: what servers take from one client at a time (RFC 7766 6.2.1.1). One that leaves some unanswered for ever
/// comes to this, is asked no more, and is too slow then.
const OWED_MAX: u32 = 128;

/// A time beyond what a clock can show is none: a day is as good.
const TIME_MAX: Duration = Duration::from_secs(86_400);

/// Octets read in a turn: what a few records of TLS or one message have; the others have their turn.
pub(super) const READ_OCTETS: usize = 64 << 10;

/// Memory that an empty buffer keeps: usual answers need no other.
const KEPT_OCTETS: usize = 4 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// SYN is on its way.
    Connecting,
    /// TCP is there, TLS not yet.
    Handshaking,
    Open,
}

/// A stream with its socket.
pub(super) struct Stream {
    pub(super) socket: TcpStream,
    pub(super) server: SocketAddr,
    state: State,
    tls: Option<Box<ClientConnection>>,
    /// A message that is not complete; whole ones only until they are told.
    pub(super) input: Vec<u8>,
    /// What the socket has not taken, from `written` on.
    unsent: Vec<u8>,
    written: usize,
    /// Octets given to TLS before it is open.
    early: usize,
    /// Messages that were sent and not answered, by count.
    owed: u32,
    has_answered: bool,
    /// How long it may owe nothing, if another time than that of the settings.
    idle: Option<Duration>,
    /// When it last did what it should: connected, completed a message, was asked after a rest.
    since: Instant,
    /// Why no more comes, once that is known.
    end: Option<Closed>,
}

impl Stream {
    /// Whether it is by TLS.
    pub(super) fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    pub(super) fn new(
        socket: TcpStream,
        server: SocketAddr,
        tls: Option<Box<ClientConnection>>,
        now: Instant,
    ) -> Self {
        let state = State::Connecting;
        Self {
            socket,
            server,
            state,
            tls,
            input: Vec::new(),
            unsent: Vec::new(),
            written: 0,
            early: 0,
            owed: 0,
            has_answered: false,
            idle: None,
            since: now,
            end: None,
        }
    }

    /// Whether it waits for room to send: also for the connection itself.
    pub(super) fn wants_write(&self) -> bool {
        self.state == State::Connecting || !self.unsent.is_empty()
    }

    /// Whether it can be given up without loss.
    pub(super) fn is_idle(&self) -> bool {
        self.state == State::Open && self.owed == 0 && self.unsent.is_empty() && self.input.is_empty()
    }

    pub(super) fn has_answered(&self) -> bool {
        self.has_answered
    }

    pub(super) fn keep(&mut self, idle: Duration) {
        self.idle = Some(idle);
    }

    pub(super) fn since(&self) -> Instant {
        self.since
    }

    /// Why no more comes, if so.
    pub(super) fn end(&self) -> Option<Closed> {
        self.end
    }

    /// When it is too slow, or idle for too long, and how that is called.
    pub(super) fn deadline(&self, settings: &UpstreamSettings) -> (Instant, Closed) {
        let (after, why) = match self.state {
            State::Connecting | State::Handshaking => (settings.handshake, Closed::Slow),
            State::Open if self.is_idle() => (self.idle.unwrap_or(settings.idle), Closed::Idle),
            State::Open if self.has_answered => (settings.stall, Closed::Slow),
            State::Open => (settings.first_answer, Closed::Slow),
        };
        (self.since + after.min(TIME_MAX), why)
    }

    /// Sends a message, or keeps it until the socket takes it.
    pub(super) fn send(&mut self, octets: &[u8], now: Instant) -> Result<(), Unsent> {
        let length = u16::try_from(octets.len()).ok().filter(|&length| length > 0).ok_or(Unsent::Length)?;
        if self.end.is_some() {
            return Err(Unsent::Closed);
        }
        let kept = self.unsent.len() - self.written + self.early;
        if self.owed >= OWED_MAX || kept > 0 && kept + LENGTH_OCTETS + octets.len() > UNSENT_OCTETS_MAX {
            return Err(Unsent::Busy);
        }
        if self.is_idle() {
            self.since = now;
        }
        self.owed = self.owed.saturating_add(1);
        match &mut self.tls {
            None => {
                self.unsent.extend(length.to_be_bytes());
                self.unsent.extend(octets);
            }
            Some(tls) => {
                // Memory takes whatever it is given: the buffers of TLS have no limit but ours.
                let mut writer = tls.writer();
                let _ = writer.write_all(&length.to_be_bytes()).and_then(|()| writer.write_all(octets));
                if self.state != State::Open {
                    self.early += LENGTH_OCTETS + octets.len();
                }
            }
        }
        if self.state == State::Open {
            self.flush();
        }
        Ok(())
    }

    /// Goes on after the system has said something of the socket: connects, writes, reads once. Returns whether it is open since.
    pub(super) fn turn(&mut self, area: &mut [u8], now: Instant) -> bool {
        let before = self.state;
        if self.state == State::Connecting {
            self.connected(now);
        }
        if self.state != State::Connecting && self.end.is_none() {
            self.flush();
            self.read(area, now);
        }
        before != State::Open && self.state == State::Open
    }

    /// TCP is there, or not.
    fn connected(&mut self, now: Instant) {
        match sockopt::socket_error(&self.socket) {
            Ok(Ok(())) if self.socket.peer_addr().is_err() => {}
            Ok(Ok(())) if self.tls.is_none() => self.open(now),
            Ok(Ok(())) => self.state = State::Handshaking,
            Ok(Err(errno)) | Err(errno) => self.end = Some(closed(errno)),
        }
    }

    fn open(&mut self, now: Instant) {
        (self.state, self.since, self.early) = (State::Open, now, 0);
    }

    /// Writes what the socket takes. A failure shows when it is read.
    fn flush(&mut self) {
        if let Some(tls) = &mut self.tls {
            while tls.wants_write() {
                // To memory, which does not fail.
                let _ = tls.write_tls(&mut self.unsent);
            }
        }
        while self.written < self.unsent.len() {
            match self.socket.write(&self.unsent[self.written..]) {
                Ok(octets) => self.written += octets,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
        self.written = 0;
        empty(&mut self.unsent);
    }

    /// Reads once, at most as much as `area` holds.
    fn read(&mut self, area: &mut [u8], now: Instant) {
        match self.socket.read(area) {
            Ok(0) => self.end = Some(Closed::Peer),
            Ok(octets) => self.receive(&area[..octets], now),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::AGAIN | Errno::INTR) => {}
                _ => self.end = Some(Closed::Peer),
            },
        }
    }

    /// Takes octets of the socket.
    fn receive(&mut self, octets: &[u8], now: Instant) {
        if self.tls.is_none() {
            return self.input.extend(octets);
        }
        if let Err(why) = self.decrypt(octets) {
            self.end = Some(why);
        }
        // Answers to a handshake, or the alert that says what is wrong.
        let is_done = self.tls.as_ref().is_some_and(|tls| !tls.is_handshaking());
        if self.end.is_none() && is_done && self.state == State::Handshaking {
            self.open(now);
        }
        self.flush();
    }

    fn decrypt(&mut self, mut octets: &[u8]) -> Result<(), Closed> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        // Each round takes at least one octet, or TLS says that it is over.
        while !octets.is_empty() {
            match tls.read_tls(&mut octets) {
                Ok(0) => return Err(Closed::Peer),
                Ok(_) => {}
                Err(_) => return Err(Closed::Handshake),
            }
            let state = tls.process_new_packets().map_err(|error| match error {
                rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented => {
                    Closed::Certificate
                }
                _ => Closed::Handshake,
            })?;
            let (start, more) = (self.input.len(), state.plaintext_bytes_to_read());
            self.input.resize(start + more, 0);
            let read = tls.reader().read(&mut self.input[start..]).unwrap_or(0);
            self.input.truncate(start + read);
            if state.peer_has_closed() {
                return Err(Closed::Peer);
            }
        }
        Ok(())
    }

    /// Octets at the front of `input` that are whole messages. One that cannot be a message ends the stream.
    pub(super) fn whole(&mut self) -> usize {
        let mut whole = 0;
        loop {
            match front(&self.input[whole..]) {
                Front::Message(message) => whole += LENGTH_OCTETS + message.len(),
                Front::Incomplete => return whole,
                Front::Malformed => {
                    self.end = Some(Closed::Malformed);
                    return whole;
                }
            }
        }
    }

    /// A message was told.
    pub(super) fn told(&mut self, now: Instant) {
        // One that was not asked for is no reason to keep the stream.
        if self.owed > 0 {
            self.owed -= 1;
            self.has_answered = true;
            self.since = now;
        }
    }

    /// Takes back its input, of which the first `whole` octets were told.
    pub(super) fn give_back(&mut self, mut input: Vec<u8>, whole: usize) {
        input.drain(..whole);
        if input.is_empty() {
            empty(&mut input);
        }
        self.input = input;
    }

    /// Tells the peer that no more comes, as far as there is room.
    pub(super) fn finish(&mut self) {
        if let Some(tls) = &mut self.tls
            && self.state == State::Open
        {
            tls.send_close_notify();
            self.flush();
        }
    }
}

/// Empties a buffer, which keeps the memory that is usual.
fn empty(buffer: &mut Vec<u8>) {
    if buffer.capacity() > KEPT_OCTETS {
        *buffer = Vec::new();
    } else {
        buffer.clear();
    }
}

/// How a connection that failed is called.
pub(super) fn closed(errno: Errno) -> Closed {
    match errno {
        Errno::CONNREFUSED | Errno::CONNRESET => Closed::Refused,
        Errno::TIMEDOUT => Closed::Slow,
        _ => Closed::NoRoute,
    }
}
