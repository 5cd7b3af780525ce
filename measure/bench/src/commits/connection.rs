//! A connection with one request in flight, made anew where the server has closed it.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
};

use rustix::{
    event::PollFlags,
    io::Errno,
    net::{AddressFamily, SocketFlags, SocketType, connect, socket_with},
};

use super::reply::{self, Progress};

/// What is read at once: replies are shorter.
const ROOM_OCTETS: usize = 16 << 10;

/// What has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// Nothing, or not all.
    Part,
    /// A reply with this status.
    Reply(u16),
    /// The server has closed the connection before a reply.
    End {
        /// It had answered others over it, and may have closed it before it saw this request.
        is_kept: bool,
    },
    /// What is no reply.
    NoReply,
}

/// A connection to the server, or none at the moment.
pub struct Connection {
    server: SocketAddr,
    stream: Option<TcpStream>,
    /// It is being made, and the request waits for it.
    is_young: bool,
    /// What has come of the reply.
    received: Vec<u8>,
    /// Whether there were others over this connection.
    is_kept: bool,
    /// How often one was made.
    pub opened: u64,
}

impl Connection {
    /// Not made yet.
    pub fn new(server: SocketAddr) -> Connection {
        Connection { server, stream: None, is_young: false, received: Vec::new(), is_kept: false, opened: 0 }
    }

    /// What to wait for; `None` where there is none.
    pub fn waiting(&self) -> Option<(&TcpStream, PollFlags)> {
        let flags = if self.is_young { PollFlags::OUT } else { PollFlags::IN };
        self.stream.as_ref().map(|stream| (stream, flags))
    }

    /// Sends a request, which has room in a socket whose last one was answered; over one that has to be made first, later ([`Connection::go_on`]).
    /// Nothing waits here: a server with few places for those that come may have one wait for a second.
    pub fn send(&mut self, request: &[u8]) -> io::Result<()> {
        self.received.clear();
        // One that was closed just now: once more on another one.
        match self.stream.as_mut().map(|stream| stream.write_all(request)) {
            Some(Ok(())) => return Ok(()),
            Some(Err(error)) if !is_gone(&error) => return Err(error),
            _ => {}
        }
        let family = if self.server.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let stream = TcpStream::from(socket_with(family, SocketType::STREAM, flags, None)?);
        match connect(&stream, &self.server) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(errno) => return Err(errno.into()),
        }
        stream.set_nodelay(true)?;
        self.opened += 1;
        (self.is_kept, self.is_young) = (false, true);
        self.stream = Some(stream);
        Ok(())
    }

    /// What was waited for is there: sends the request over a connection that has been made, else takes what has come. The error: nobody
    /// listens any more.
    pub fn go_on(&mut self, request: &[u8]) -> io::Result<Received> {
        let Some(stream) = self.stream.as_mut().filter(|_| self.is_young) else { return Ok(self.receive()) };
        stream.take_error()?.map_or(Ok(()), Err)?;
        self.is_young = false;
        match stream.write_all(request) {
            Err(error) if is_gone(&error) => {
                self.close();
                Ok(Received::End { is_kept: false })
            }
            written => written.map(|()| Received::Part),
        }
    }

    fn receive(&mut self) -> Received {
        let Some(stream) = &mut self.stream else { return Received::End { is_kept: false } };
        let mut room = [0; ROOM_OCTETS];
        let octets = match stream.read(&mut room) {
            Ok(octets) => octets,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return Received::Part;
            }
            Err(_) => 0,
        };
        if octets == 0 {
            self.close();
            return Received::End { is_kept: self.is_kept && self.received.is_empty() };
        }
        self.received.extend_from_slice(&room[..octets]);
        match reply::read(&self.received) {
            Progress::Part => Received::Part,
            Progress::NoReply => {
                self.close();
                Received::NoReply
            }
            Progress::Whole { status, closes } => {
                self.is_kept = true;
                if closes {
                    self.close();
                }
                Received::Reply(status)
            }
        }
    }

    /// Uses it no more.
    pub fn close(&mut self) {
        self.stream = None;
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}
