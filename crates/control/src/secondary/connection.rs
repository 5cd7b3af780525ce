//! A connection to a primary: messages with their length before them (RFC 1035 4.2.2).

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};

/// How long a connection may take, and a question to be taken.
pub(super) const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// Room for octets: the longest message, and some more so that a call of the system takes many.
const ROOM_OCTETS: usize = 256 << 10;
/// Octets of the length before a message.
const LENGTH_OCTETS: usize = 2;
const _: () = assert!(ROOM_OCTETS > LENGTH_OCTETS + u16::MAX as usize);

/// See the module.
pub(super) struct Connection {
    pub(super) to: SocketAddr,
    /// The address of ours that it was to come from, if any.
    pub(super) source: Option<IpAddr>,
    stream: TcpStream,
    room: Box<[u8]>,
    /// Octets that came and were not taken yet.
    begin: usize,
    end: usize,
}

impl Connection {
    /// Within `wait`.
    pub(super) fn open(to: SocketAddr, source: Option<IpAddr>, wait: Duration) -> io::Result<Connection> {
        let stream = match source {
            None => TcpStream::connect_timeout(&to, wait)?,
            Some(source) => connect_from(source, to, wait)?,
        };
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(CONNECT_WAIT))?;
        Ok(Connection { to, source, stream, room: vec![0; ROOM_OCTETS].into(), begin: 0, end: 0 })
    }

    /// Sends a message.
    pub(super) fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let octets = u16::try_from(message.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        self.stream.write_all(&[&octets.to_be_bytes(), message].concat())
    }

    /// The next message, if it is all there.
    pub(super) fn message(&mut self) -> Option<&[u8]> {
        let there = &self.room[self.begin..self.end];
        let (length, rest) = there.split_first_chunk::<LENGTH_OCTETS>()?;
        let octets = usize::from(u16::from_be_bytes(*length));
        if rest.len() < octets {
            return None;
        }
        let at = self.begin + LENGTH_OCTETS;
        self.begin = at + octets;
        Some(&self.room[at..at + octets])
    }

    /// Waits for octets. Returns how many came, 0 at the end of the connection; `None` if none came in time.
    pub(super) fn fill(&mut self, wait: Duration) -> io::Result<Option<usize>> {
        if self.begin > 0 {
            self.room.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        // A wait of zero would be one without end.
        self.stream.set_read_timeout(Some(wait.max(Duration::from_millis(1))))?;
        match self.stream.read(&mut self.room[self.end..]) {
            Ok(octets) => {
                self.end += octets;
                Ok(Some(octets))
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                Ok(None)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether nothing is left over: what comes next answers the next question.
    pub(super) fn is_empty(&self) -> bool {
        self.begin == self.end
    }
}

/// A connection that comes from an address of ours.
fn connect_from(source: IpAddr, to: SocketAddr, wait: Duration) -> io::Result<TcpStream> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
    net::bind(&socket, &SocketAddr::new(source, 0))?;
    match net::connect(&socket, &to) {
        Ok(()) => {}
        Err(Errno::INPROGRESS) => {
            let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
            if poll(&mut [PollFd::new(&socket, PollFlags::OUT)], Some(&wait))? == 0 {
                return Err(io::ErrorKind::TimedOut.into());
            }
            net::sockopt::socket_error(&socket)??;
        }
        Err(error) => return Err(error.into()),
    }
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}
