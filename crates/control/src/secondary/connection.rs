//! A connection to a primary: messages with their length before them (RFC 1035 4.2.2).

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long a connection may take, and a question to be taken.
const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// Room for octets: the longest message, and some more so that a call of the system takes many.
const ROOM_OCTETS: usize = 256 << 10;
/// Octets of the length before a message.
const LENGTH_OCTETS: usize = 2;
const _: () = assert!(ROOM_OCTETS > LENGTH_OCTETS + u16::MAX as usize);

/// See the module.
pub(super) struct Connection {
    pub(super) to: SocketAddr,
    stream: TcpStream,
    room: Box<[u8]>,
    /// Octets that came and were not taken yet.
    begin: usize,
    end: usize,
}

impl Connection {
    pub(super) fn open(to: SocketAddr) -> io::Result<Connection> {
        let stream = TcpStream::connect_timeout(&to, CONNECT_WAIT)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(CONNECT_WAIT))?;
        Ok(Connection { to, stream, room: vec![0; ROOM_OCTETS].into(), begin: 0, end: 0 })
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
