//! Queries over TCP: a number of connections, pipelined, each opened again when it has carried its part of the queries
//! or was closed by the server (RFC 7766).
//!
//! ```text
//! Closed --retry time--> Connecting --writable--> Open --its last query sent--> Draining --all answered--> Closed
//!    ^                        | failed               | closed by the server          | time-out
//!    '------------------------'----------------------'-------------------------------'
//! ```
//!
//! A query counts as sent when it is handed to the system, and not before: a connection whose last octets the system
//! did not take yet gets no more queries. Handshakes happen ahead of time, so that they are part of a latency only
//! where no connection is open when a query is due.

use std::{
    io::{self, Read, Write},
    mem::MaybeUninit,
    net::{SocketAddr, TcpStream},
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::{
    event::{
        Timespec,
        epoll::{self, EventData, EventFlags},
    },
    io::Errno,
    net::{self, AddressFamily, SocketFlags, SocketType},
};

use super::{Link, Settings, TcpSettings, book::Book, pace::Share};
use crate::{
    Error,
    mmsg::{any_like, raise_descriptor_limit},
    query::QUERY_OCTETS_MAX,
};

/// Most connections: as with flows, the local ports run out beyond that.
pub const CONNECTIONS_MAX: usize = 28_000;
/// Octets of the length before each message (RFC 1035 4.2.2).
const LENGTH_OCTETS: usize = 2;
/// Room for what is read at once: the largest message with its length, so that most reads end a message.
const ROOM_OCTETS: usize = LENGTH_OCTETS + 65_535;
/// Sockets handled a turn.
const EVENTS: usize = 64;
/// How long a connection that failed, or was closed before it carried an answer, stays closed: so that a server that
/// refuses connections is not flooded with them.
const RETRY_NS: u64 = 10_000_000;
/// How often connections are looked through for those to be opened or given up.
const SCAN_NS: u64 = 2_000_000;
/// Longest wait for the first connection before a trial. A lost SYN is sent again after one second, and after three.
const CONNECT_TIME: Duration = Duration::from_secs(4);
/// Once one connection is open, how long the trial waits for the others.
const OTHERS_TIME: Duration = Duration::from_secs(1);
/// Wait for connections, a turn.
const CONNECT_WAIT_MS: i32 = 10;

/// Where a connection is in its life; the drawing above says what leads where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed { retry_ns: u64 },
    Connecting,
    Open,
    Draining,
}

struct Connection {
    state: State,
    stream: Option<TcpStream>,
    /// Queries sent since it was opened, and replies.
    sent: u64,
    answered: u64,
    last_sent_ns: u64,
    /// Octets the system has not taken yet.
    output: Vec<u8>,
    /// The beginning of a message.
    input: Vec<u8>,
}

impl Connection {
    fn new() -> Connection {
        let state = State::Closed { retry_ns: 0 };
        let (output, input) = (Vec::new(), Vec::new());
        Connection { state, stream: None, sent: 0, answered: 0, last_sent_ns: 0, output, input }
    }

    /// Gives the system what it takes of the output.
    fn flush(&mut self) -> io::Result<()> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        while !self.output.is_empty() {
            match stream.write(&self.output) {
                Ok(taken) => drop(self.output.drain(..taken)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The connections of a worker.
pub struct Tcp {
    settings: Settings,
    tcp: TcpSettings,
    share: Share,
    epoll: OwnedFd,
    connections: Vec<Connection>,
    /// Whose turn it is.
    next: usize,
    next_scan_ns: u64,
    /// A connection was opened at least once: the server is there.
    was_open: bool,
    room: Box<[u8]>,
}

impl Tcp {
    /// Makes the table; connections are opened at the beginning of a trial.
    pub fn new(settings: &Settings, tcp: TcpSettings, share: Share) -> Result<Tcp, Error> {
        let fault = |cause| Error::Socket { address: settings.server, action: "make sockets towards", cause };
        raise_descriptor_limit().map_err(fault)?;
        let count = share.of(tcp.connections.min(CONNECTIONS_MAX) as u64).max(1);
        Ok(Tcp {
            settings: settings.clone(),
            tcp,
            share,
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|errno| fault(errno.into()))?,
            connections: (0..count).map(|_| Connection::new()).collect(),
            next: 0,
            next_scan_ns: 0,
            was_open: false,
            room: vec![0; ROOM_OCTETS].into(),
        })
    }

    /// Begins to open a connection.
    fn open(&mut self, book: &mut Book<'_>, flow: usize, now_ns: u64) -> Result<(), Error> {
        match self.connect(flow) {
            Ok(stream) => {
                let connection = &mut self.connections[flow];
                *connection =
                    Connection { state: State::Connecting, stream: Some(stream), ..Connection::new() };
                Ok(())
            }
            Err(error) => self.failed(book, flow, now_ns, error),
        }
    }

    fn connect(&self, flow: usize) -> io::Result<TcpStream> {
        let server = self.settings.server;
        let family = if server.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
        let sources = &self.settings.sources;
        if !sources.is_empty() {
            let number = flow * self.share.workers + self.share.worker;
            let local = SocketAddr::new(sources[number % sources.len()], any_like(server).port());
            net::bind(&socket, &local)?;
        }
        match net::connect(&socket, &server) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(errno) => return Err(errno.into()),
        }
        let stream = TcpStream::from(socket);
        // A burst is written whole, so waiting for more octets (Nagle) would only delay the last of them.
        stream.set_nodelay(true)?;
        let data = EventData::new_u64(flow as u64);
        epoll::add(&self.epoll, &stream, data, EventFlags::IN | EventFlags::OUT)?;
        Ok(stream)
    }

    /// Notes that a connection could not be opened; an error where none ever was.
    fn failed(
        &mut self,
        book: &mut Book<'_>,
        flow: usize,
        now_ns: u64,
        cause: io::Error,
    ) -> Result<(), Error> {
        book.outcome.connections_failed += 1;
        self.connections[flow] =
            Connection { state: State::Closed { retry_ns: now_ns + RETRY_NS }, ..Connection::new() };
        match (self.was_open, cause.kind()) {
            (true, _) => Ok(()),
            (false, io::ErrorKind::ConnectionRefused) => {
                Err(Error::Refused { address: self.settings.server })
            }
            (false, _) => Err(Error::unreachable(self.settings.server, "connect to", cause)),
        }
    }

    /// Closes a connection; what still waits on it is lost.
    fn close(&mut self, book: &mut Book<'_>, flow: usize, now_ns: u64) {
        let connection = &mut self.connections[flow];
        let useless = connection.answered == 0;
        let retry_ns = if useless { now_ns + RETRY_NS } else { now_ns };
        book.forget(flow, connection.sent);
        // Dropping the stream takes it out of the epoll set, as nobody else has the descriptor.
        *connection = Connection { state: State::Closed { retry_ns }, ..Connection::new() };
        if !useless {
            self.next_scan_ns = now_ns;
        }
    }

    /// Opens what is closed for long enough and closes what waits in vain.
    fn scan(&mut self, book: &mut Book<'_>) -> Result<(), Error> {
        let now_ns = book.now_ns();
        if now_ns < self.next_scan_ns {
            return Ok(());
        }
        self.next_scan_ns = now_ns + SCAN_NS;
        let timeout_ns = self.settings.timeout.as_nanos() as u64;
        for flow in 0..self.connections.len() {
            let connection = &self.connections[flow];
            match connection.state {
                State::Closed { retry_ns } if retry_ns <= now_ns => self.open(book, flow, now_ns)?,
                State::Draining if now_ns.saturating_sub(connection.last_sent_ns) > timeout_ns => {
                    self.close(book, flow, now_ns);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Asks for the events that a connection now waits for; with output also for room.
    fn listen(&self, flow: usize) -> io::Result<()> {
        let connection = &self.connections[flow];
        let Some(stream) = &connection.stream else { return Ok(()) };
        let mut flags = EventFlags::IN;
        flags.set(EventFlags::OUT, !connection.output.is_empty());
        Ok(epoll::modify(&self.epoll, stream, EventData::new_u64(flow as u64), flags)?)
    }

    /// What came for a connection: the end of its handshake, room for output, replies, or its end.
    fn handle(&mut self, book: &mut Book<'_>, flow: usize, flags: EventFlags) -> Result<(), Error> {
        let connection = &mut self.connections[flow];
        if connection.state == State::Connecting {
            let Some(stream) = &connection.stream else { return Ok(()) };
            if let Err(errno) = net::sockopt::socket_error(stream).and_then(|inner| inner) {
                let now_ns = book.now_ns();
                return self.failed(book, flow, now_ns, errno.into());
            }
            if !flags.contains(EventFlags::OUT) {
                return Ok(());
            }
            connection.state = State::Open;
            book.outcome.connections += 1;
            self.was_open = true;
            return self.check_listen(book, flow);
        }
        if flags.contains(EventFlags::OUT) && !connection.output.is_empty() {
            if connection.flush().is_err() {
                self.closed_by_server(book, flow);
                return Ok(());
            }
            if connection.output.is_empty() {
                self.check_listen(book, flow)?;
            }
        }
        if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
            self.read(book, flow);
        }
        Ok(())
    }

    fn check_listen(&mut self, book: &mut Book<'_>, flow: usize) -> Result<(), Error> {
        if self.listen(flow).is_err() {
            self.closed_by_server(book, flow);
        }
        Ok(())
    }

    fn closed_by_server(&mut self, book: &mut Book<'_>, flow: usize) {
        book.outcome.connections_closed += 1;
        let now_ns = book.now_ns();
        self.close(book, flow, now_ns);
    }

    /// Takes what a connection has to read.
    fn read(&mut self, book: &mut Book<'_>, flow: usize) {
        let connection = &mut self.connections[flow];
        let Some(stream) = &mut connection.stream else { return };
        let octets = match stream.read(&mut self.room) {
            Ok(0) => return self.closed_by_server(book, flow),
            Ok(octets) => octets,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return;
            }
            Err(_) => return self.closed_by_server(book, flow),
        };
        let now_ns = book.now_ns();
        let received = book.outcome.received;
        if connection.input.is_empty() {
            let used = take_messages(book, flow, &self.room[..octets], now_ns);
            connection.input.extend_from_slice(&self.room[used..octets]);
        } else {
            connection.input.extend_from_slice(&self.room[..octets]);
            let used = take_messages(book, flow, &connection.input, now_ns);
            connection.input.drain(..used);
        }
        connection.answered += book.outcome.received - received;
        if connection.state == State::Draining && book.waiting(flow) == 0 {
            self.close(book, flow, now_ns);
        }
    }

    /// The next connection that can take queries, and how many.
    fn find_open(&self) -> Option<(usize, usize)> {
        let count = self.connections.len();
        (0..count).map(|ahead| (self.next + ahead) % count).find_map(|flow| {
            let connection = &self.connections[flow];
            let is_free = connection.state == State::Open && connection.output.is_empty();
            let left = match self.tcp.queries_per_connection {
                0 => u64::MAX,
                most => most.saturating_sub(connection.sent),
            };
            is_free.then_some((flow, left.min(self.settings.burst as u64) as usize))
        })
    }
}

/// Takes the whole messages of `octets`; returns how many octets they are.
fn take_messages(book: &mut Book<'_>, flow: usize, octets: &[u8], now_ns: u64) -> usize {
    let mut at = 0;
    while let Some(length) = octets.get(at..at + LENGTH_OCTETS) {
        let start = at + LENGTH_OCTETS;
        let end = start + usize::from(u16::from_be_bytes([length[0], length[1]]));
        let Some(message) = octets.get(start..end) else { break };
        book.take_reply(flow, message, message.len(), now_ns);
        at = end;
    }
    at
}

impl Link for Tcp {
    fn flows(&self) -> usize {
        self.connections.len()
    }

    fn burst(&self) -> usize {
        self.settings.burst
    }

    fn begin(&mut self, book: &mut Book<'_>) -> Result<(), Error> {
        // Queries of an earlier trial that were not written to their end would be answered in this one.
        for flow in 0..self.connections.len() {
            if !self.connections[flow].output.is_empty() {
                self.close(book, flow, 0);
            }
        }
        self.next_scan_ns = 0;
        let start = Instant::now();
        loop {
            self.receive(book, CONNECT_WAIT_MS)?;
            let is_open = |connection: &Connection| connection.state == State::Open;
            let open = self.connections.iter().filter(|connection| is_open(connection)).count();
            let waited = start.elapsed();
            if open == self.connections.len() || (open > 0 && waited >= OTHERS_TIME) {
                return Ok(());
            }
            if waited >= CONNECT_TIME {
                let cause = io::Error::new(io::ErrorKind::TimedOut, "no connection came about");
                return Err(Error::unreachable(self.settings.server, "connect to", cause));
            }
        }
    }

    fn send(&mut self, book: &mut Book<'_>, times_ns: &[u64]) -> Result<usize, Error> {
        let Some((flow, most)) = self.find_open() else {
            book.outcome.blocked += 1;
            return Ok(0);
        };
        let count = most.min(times_ns.len());
        let connection = &mut self.connections[flow];
        let mut query = book.next_query();
        for ahead in 0..count {
            let mut frame = [0; LENGTH_OCTETS + QUERY_OCTETS_MAX];
            let octets = book.queries().write(query, &mut frame[LENGTH_OCTETS..]);
            frame[..LENGTH_OCTETS].copy_from_slice(&(octets as u16).to_be_bytes());
            frame[LENGTH_OCTETS..LENGTH_OCTETS + 2].copy_from_slice(&book.id(flow, ahead).to_be_bytes());
            connection.output.extend_from_slice(&frame[..LENGTH_OCTETS + octets]);
            query = book.after(query);
        }
        let flushed = connection.flush();
        let now_ns = book.now_ns();
        book.sent(flow, &times_ns[..count], now_ns);
        connection.sent += count as u64;
        connection.last_sent_ns = now_ns;
        let most = self.tcp.queries_per_connection;
        if most > 0 && connection.sent >= most {
            connection.state = State::Draining;
        }
        self.next = (flow + 1) % self.connections.len();
        match flushed {
            Err(_) => self.closed_by_server(book, flow),
            Ok(()) if !self.connections[flow].output.is_empty() => self.check_listen(book, flow)?,
            Ok(()) => {}
        }
        Ok(count)
    }

    fn receive(&mut self, book: &mut Book<'_>, wait_ms: i32) -> Result<u64, Error> {
        self.scan(book)?;
        let mut space = [const { MaybeUninit::<epoll::Event>::uninit() }; EVENTS];
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(wait_ms) * 1_000_000 };
        let events = match epoll::wait(&self.epoll, &mut space, Some(&timeout)) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => return Ok(0),
            Err(errno) => {
                let (address, cause) = (self.settings.server, errno.into());
                return Err(Error::Socket { address, action: "receive from", cause });
            }
        };
        let count = events.len() as u64;
        for event in events {
            self.handle(book, event.data.u64() as usize, event.flags)?;
        }
        Ok(count)
    }
}
