//! One request over one connection to one server, and the answer: octets, as the socket takes and gives them.
//!
//! ```text
//! connect -> length and request, as the socket takes them -> length and answer, as it gives them -> done
//! ```

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};
use wire::header::{HEADER_OCTETS, QR, u16_at};

/// Octets of the length before a message (RFC 1035 4.2.2).
const LENGTH_OCTETS: usize = 2;
/// Octets that are read at a time: responses to updates are a header and little more.
const READ_OCTETS: usize = 4096;

/// See the module. Dropped, its connection is closed.
pub(super) struct Exchange {
    stream: TcpStream,
    /// Octets of the request, with their length, that the socket has taken.
    written: usize,
    received: Vec<u8>,
}

impl Exchange {
    /// Begins to connect to `to`, from `source` if that is given.
    pub(super) fn begin(to: SocketAddr, source: Option<IpAddr>) -> io::Result<Exchange> {
        let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        if let Some(source) = source {
            bind(&socket, &SocketAddr::new(source, 0))?;
        }
        match connect(&socket, &to) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(Exchange { stream: TcpStream::from(socket), written: 0, received: Vec::new() })
    }

    /// The socket, and what it is waited for.
    pub(super) fn wanted(&self, request: &[u8]) -> (&TcpStream, PollFlags) {
        let is_sent = self.written == LENGTH_OCTETS + request.len();
        (&self.stream, if is_sent { PollFlags::IN } else { PollFlags::OUT })
    }

    /// Goes on as far as the socket lets it. The answer, once it is all there: a response with this request's ID and operation.
    pub(super) fn go_on(&mut self, request: &[u8]) -> io::Result<Option<&[u8]>> {
        if let Some(error) = self.stream.take_error()? {
            return Err(error);
        }
        if !self.write(request)? {
            return Ok(None);
        }
        self.read(request)
    }

    /// Whether all is sent.
    fn write(&mut self, request: &[u8]) -> io::Result<bool> {
        let octets = u16::try_from(request.len()).map_err(|_| ErrorKind::InvalidInput)?;
        if self.written == LENGTH_OCTETS + request.len() {
            return Ok(true);
        }
        let framed = [&octets.to_be_bytes(), request].concat();
        while self.written < framed.len() {
            match self.stream.write(&framed[self.written..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => self.written += written,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // A connection that is not there yet says one of both.
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) => {
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn read(&mut self, request: &[u8]) -> io::Result<Option<&[u8]>> {
        let mut room = [0; READ_OCTETS];
        loop {
            let wanted = self.wanted_octets();
            if self.received.len() >= wanted && wanted > LENGTH_OCTETS {
                let answer = &self.received[LENGTH_OCTETS..wanted];
                return match is_answer(answer, request) {
                    true => Ok(Some(answer)),
                    false => Err(ErrorKind::InvalidData.into()),
                };
            }
            match self.stream.read(&mut room) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(octets) => self.received.extend_from_slice(&room[..octets]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// Octets of length and answer, as far as they are known: more than that are never kept but for what one read brings.
    fn wanted_octets(&self) -> usize {
        match self.received.first_chunk::<LENGTH_OCTETS>() {
            // A message without a header is none.
            Some(length) => LENGTH_OCTETS + usize::from(u16::from_be_bytes(*length)).max(1),
            None => LENGTH_OCTETS,
        }
    }
}

/// Whether a message is the response to a request: its ID and its operation.
fn is_answer(message: &[u8], request: &[u8]) -> bool {
    let operation = |message: &[u8]| wire::header::opcode(u16_at(message, 2));
    message.len() >= HEADER_OCTETS
        && message[..2] == request[..2]
        && u16_at(message, 2) & QR != 0
        && operation(message) == operation(request)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, poll};
    use std::net::{Ipv4Addr, TcpListener};

    const REQUEST: [u8; 12] = [7, 9, 0x28, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    const ANSWER: [u8; 12] = [7, 9, 0xa8, 5, 0, 0, 0, 0, 0, 0, 0, 0];

    /// Goes on until it ends, with a server that sends `answer` in these pieces.
    fn exchange(request: &[u8], pieces: Vec<Vec<u8>>) -> io::Result<Vec<u8>> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (to, sent) = (listener.local_addr().unwrap(), request.len());
        let server = std::thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            let mut received = vec![0; LENGTH_OCTETS + sent];
            stream.read_exact(&mut received).unwrap();
            for piece in pieces {
                stream.write_all(&piece).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            received
        });
        let mut exchange = Exchange::begin(to, Some(Ipv4Addr::LOCALHOST.into())).unwrap();
        let result = loop {
            let (stream, flags) = exchange.wanted(request);
            poll(&mut [PollFd::new(stream, flags)], None).unwrap();
            match exchange.go_on(request) {
                Ok(None) => {}
                Ok(Some(answer)) => break Ok(answer.to_vec()),
                Err(error) => break Err(error),
            }
        };
        let received = server.join().unwrap();
        assert_eq!(received[..2], (request.len() as u16).to_be_bytes());
        assert_eq!(received[2..], *request);
        result
    }

    #[test]
    fn answers_in_pieces() {
        let framed = [&[0, 12][..], &ANSWER].concat();
        assert_eq!(exchange(&REQUEST, vec![framed.clone()]).unwrap(), ANSWER);
        let pieces = framed.iter().map(|octet| vec![*octet]).collect();
        assert_eq!(exchange(&REQUEST, pieces).unwrap(), ANSWER);
        let long = [&REQUEST[..], &vec![1; 65_523]].concat();
        let answer = [&ANSWER[..], &vec![2; 65_523]].concat();
        let framed = [&[0xff, 0xff][..], &answer].concat();
        assert_eq!(exchange(&long, vec![framed]).unwrap(), answer);
    }

    #[test]
    fn what_is_no_answer() {
        let mut other = ANSWER;
        other[1] = 8;
        let mut question = ANSWER;
        question[2] = 0x28;
        let mut query = ANSWER;
        query[2] = 0x80;
        for wrong in [&other[..], &question, &query, &ANSWER[..11], &[]] {
            let framed = [&(wrong.len() as u16).to_be_bytes()[..], wrong, &[0, 0, 0]].concat();
            assert_eq!(exchange(&REQUEST, vec![framed]).unwrap_err().kind(), ErrorKind::InvalidData);
        }
        assert_eq!(exchange(&REQUEST, vec![vec![0, 12, 7]]).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let begun = Exchange::begin(closed, None).and_then(|mut exchange| {
            let (stream, flags) = exchange.wanted(&REQUEST);
            poll(&mut [PollFd::new(stream, flags)], None).unwrap();
            exchange.go_on(&REQUEST).map(|answer| assert!(answer.is_none()))
        });
        assert_eq!(begun.unwrap_err().kind(), ErrorKind::ConnectionRefused);
    }
}
