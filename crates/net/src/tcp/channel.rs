//! A connection with its socket: reads and writes for it.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::net::TcpStream;

use rustix::event::epoll::EventFlags;

use super::connection::{Connection, Ending, Over, WorkerParts};
use crate::admit::Seat;

/// What a connection reads from and writes to: TCP in earnest, memory in tests.
pub(super) trait Socket: Read + Write {
    /// Tells the client that nothing more will come.
    fn finish(&self) -> io::Result<()>;
}

impl Socket for TcpStream {
    fn finish(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

#[derive(Debug)]
pub(super) struct Channel<S> {
    pub(super) socket: S,
    pub(super) connection: Connection,
    /// Its share of the limits; given back by whoever removes it.
    pub(super) seat: Option<Seat>,
    /// What epoll waits for; kept by whoever has the epoll instance.
    pub(super) interest: EventFlags,
    /// Whether it stands in the ready list.
    pub(super) is_ready: bool,
    /// Whether it is among those that linger briefly.
    pub(super) is_brief: bool,
}

// With the entry around it and the counted prefix an idle connection takes below 512 octets.
const _: () = assert!(size_of::<Channel<TcpStream>>() <= 288);

impl<S: Socket> Channel<S> {
    pub(super) fn new(socket: S, connection: Connection, seat: Option<Seat>) -> Self {
        Self { socket, connection, seat, interest: EventFlags::IN, is_ready: false, is_brief: false }
    }

    /// Goes on after the socket became ready: writes what is unsent, reads once, has queries answered. An `Err` says to
    /// drop the connection.
    pub(super) fn turn(&mut self, ready: EventFlags, parts: &mut WorkerParts<'_>) -> Result<(), Ending> {
        if ready.contains(EventFlags::OUT) && self.connection.has_unsent() {
            self.send_unsent(parts)?;
        }
        if self.connection.can_go_on(parts.open()) {
            self.go_on(parts)?;
        } else if ready.contains(EventFlags::IN) && self.connection.wants().read {
            self.read(parts)?;
        }
        self.settle(parts)
    }

    /// Answers queries that were put off, as far as they can be now.
    pub(super) fn go_on(&mut self, parts: &mut WorkerParts<'_>) -> Result<(), Ending> {
        while self.connection.can_go_on(parts.open()) {
            let is_full = self.connection.go_on(parts)?;
            self.write(parts)?;
            if !is_full {
                break;
            }
        }
        Ok(())
    }

    /// Ends a connection that is over.
    pub(super) fn settle(&mut self, parts: &WorkerParts<'_>) -> Result<(), Ending> {
        match self.connection.is_over(parts.open()) {
            None => Ok(()),
            Some(Over::AtOnce) => Err(Ending::Client),
            Some(Over::Linger) => {
                self.connection.linger();
                self.socket.finish().map_err(|_| Ending::Error)
            }
        }
    }

    fn read(&mut self, parts: &mut WorkerParts<'_>) -> Result<(), Ending> {
        let octets = match self.socket.read(&mut parts.scratch.input) {
            Ok(octets) => octets,
            Err(error) if is_transient(&error) => return Ok(()),
            Err(_) => return Err(Ending::Error),
        };
        match octets {
            0 if self.connection.is_lingering() => Err(Ending::Client),
            0 => {
                self.connection.end_of_input();
                Ok(())
            }
            _ if self.connection.is_lingering() => self.connection.discard(octets),
            _ => {
                let is_full = self.connection.receive(octets, parts)?;
                self.write(parts)?;
                if is_full { self.go_on(parts) } else { Ok(()) }
            }
        }
    }

    /// Writes the responses in the output area; what the system does not take becomes unsent.
    pub(super) fn write(&mut self, parts: &mut WorkerParts<'_>) -> Result<(), Ending> {
        let output = parts.scratch.output();
        if output.is_empty() {
            return Ok(());
        }
        // Nothing overtakes what waits already.
        let written = if self.connection.has_unsent() { Ok(0) } else { self.socket.write(output) };
        let written = match written {
            Ok(written) => written,
            Err(error) if is_transient(&error) => 0,
            Err(_) => return Err(Ending::Error),
        };
        parts.scratch.written(written, &mut self.connection);
        Ok(())
    }

    /// Writes more of what is unsent.
    pub(super) fn send_unsent(&mut self, parts: &mut WorkerParts<'_>) -> Result<(), Ending> {
        let written = match self.socket.write(self.connection.unsent()) {
            Ok(0) => return Err(Ending::Error),
            Ok(written) => written,
            Err(error) if is_transient(&error) => return Ok(()),
            Err(_) => return Err(Ending::Error),
        };
        self.connection.sent(written, parts.now.instant, &mut parts.scratch.pool);
        Ok(())
    }
}

/// Whether the socket is merely not ready.
fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
