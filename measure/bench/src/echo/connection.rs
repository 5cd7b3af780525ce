//! One TCP connection: messages with their length in two octets before them (RFC 1035 4.2.2), many of them
//! without waiting for replies (pipelining, RFC 7766 6.2.1.1).

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    time::Instant,
};

use super::{
    Counters,
    reply::{Fate, Judge, QR},
};

/// Largest frame: two octets of length and a message.
pub(super) const FRAME_OCTETS_MAX: usize = 2 + 65_535;
/// Unsent octets of a connection from which on its queries wait: some 16 of the largest answers. A client that asks
/// and does not read costs no more than this, one frame and what a read brings.
const UNSENT_OCTETS_MAX: usize = 64 << 10;

/// What a connection has received and not yet answered, and answered and not yet sent.
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    input: Vec<u8>,
    output: Vec<u8>,
    /// The client has sent its last octet.
    is_ended: bool,
    /// When it last did something that counts.
    pub(super) last: Instant,
}

impl Connection {
    /// A connection just accepted; its stream does not block.
    pub(super) fn new(stream: TcpStream, now: Instant) -> Connection {
        Connection { stream, input: Vec::new(), output: Vec::new(), is_ended: false, last: now }
    }

    /// Whether octets of the client are of use.
    pub(super) fn wants_input(&self) -> bool {
        !self.is_ended && self.output.len() < UNSENT_OCTETS_MAX && self.input.len() < FRAME_OCTETS_MAX
    }

    /// Whether there is something to send.
    pub(super) fn wants_output(&self) -> bool {
        !self.output.is_empty()
    }

    /// Reads once, answers what is complete, sends what can be sent. False where the connection is over, by the
    /// client's will or a fault. `room` is for one read.
    pub(super) fn turn(
        &mut self,
        room: &mut [u8],
        judge: &mut Judge,
        counters: &mut Counters,
        now: Instant,
    ) -> bool {
        if self.wants_input() {
            match self.stream.read(room) {
                Ok(0) => self.is_ended = true,
                Ok(octets) => self.input.extend_from_slice(&room[..octets]),
                Err(error) if is_passing(&error) => {}
                Err(_) => return false,
            }
        }
        loop {
            // First what is left from before: it may be what queries wait for.
            let Ok(sent) = self.flush() else { return false };
            let answered = self.answer(judge, counters);
            if answered > 0 || sent > 0 {
                self.last = now;
            }
            // No complete frame is left, or the output is full and the kernel takes no more.
            if answered == 0 {
                break;
            }
        }
        !self.is_ended || self.wants_output()
    }

    /// Answers complete frames while there is room for replies; returns how many it took.
    fn answer(&mut self, judge: &mut Judge, counters: &mut Counters) -> usize {
        let (mut taken, mut frames) = (0, 0);
        while self.output.len() < UNSENT_OCTETS_MAX
            && let Some(message) = frame(&self.input[taken..])
        {
            counters.received += 1;
            match judge.fate(message, message.len()) {
                Fate::Reply(size) => {
                    push_reply(&mut self.output, message, size);
                    counters.sent += 1;
                }
                Fate::Ignore | Fate::Relay => counters.ignored += 1,
            }
            taken += 2 + message.len();
            frames += 1;
        }
        self.input.drain(..taken);
        frames
    }

    /// Sends until the kernel takes no more; returns how many octets it took.
    fn flush(&mut self) -> io::Result<usize> {
        let mut sent = 0;
        while sent < self.output.len() {
            match self.stream.write(&self.output[sent..]) {
                Ok(octets) => sent += octets,
                Err(error) if is_passing(&error) => break,
                Err(error) => return Err(error),
            }
        }
        self.output.drain(..sent);
        Ok(sent)
    }
}

/// The message of the first frame, where all of it is there.
fn frame(input: &[u8]) -> Option<&[u8]> {
    let (length, rest) = input.split_first_chunk()?;
    rest.get(..u16::from_be_bytes(*length).into())
}

/// Appends a reply of `size` octets in its frame: the query with QR set, cut or with filler after it.
fn push_reply(output: &mut Vec<u8>, query: &[u8], size: usize) {
    let size = size.min(65_535);
    output.extend_from_slice(&(size as u16).to_be_bytes());
    let start = output.len();
    output.extend_from_slice(&query[..size.min(query.len())]);
    output.resize(start + size, b'z');
    if size > 2 {
        output[start + 2] |= QR;
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames() {
        assert_eq!(frame(b""), None);
        assert_eq!(frame(b"\0"), None);
        assert_eq!(frame(b"\0\x02a"), None);
        assert_eq!(frame(b"\0\x02abc"), Some(&b"ab"[..]));
        assert_eq!(frame(b"\0\0"), Some(&b""[..]));
    }

    #[test]
    fn replies() {
        let check = |size, expected: &[u8]| {
            let mut output = b"before".to_vec();
            push_reply(&mut output, b"\0\x01\x01\0", size);
            assert_eq!(&output[6..], expected);
        };
        check(4, b"\0\x04\0\x01\x81\0");
        check(3, b"\0\x03\0\x01\x81");
        check(6, b"\0\x06\0\x01\x81\0zz");
    }
}
