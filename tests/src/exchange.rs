//! Sends messages to a server and waits for what comes back, one at a time or many in flight.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use crate::message::Query;
use crate::response::Response;

/// How long to wait for one answer. Long enough for a loaded test machine; a healthy run never waits it out.
const ANSWER_WAIT: Duration = Duration::from_millis(2000);

/// Queries in flight at once: below the smallest receive buffer of the servers, well above one round trip.
const WINDOW: usize = 48;

/// How often a query is sent before its answer counts as missing: datagrams may be lost even on loopback.
const ATTEMPTS: usize = 3;

/// Transport of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    /// One datagram each way.
    Udp,
    /// A stream with two octets of length before each message.
    Tcp,
}

/// Sends octets in a datagram, returns the first datagram that comes back, `None` if none does in `wait`.
pub fn udp_within(server: SocketAddr, message: &[u8], wait: Duration) -> io::Result<Option<Vec<u8>>> {
    let socket = udp_socket(server)?;
    socket.set_read_timeout(Some(wait))?;
    socket.send(message)?;
    let mut buffer = vec![0; 65536];
    match socket.recv(&mut buffer) {
        Ok(octets) => Ok(Some(buffer[..octets].to_vec())),
        Err(error) if is_timeout(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A UDP socket of the family of `server`, connected to it.
fn udp_socket(server: SocketAddr) -> io::Result<UdpSocket> {
    let any = if server.is_ipv4() { "127.0.0.1:0" } else { "[::1]:0" };
    let socket = UdpSocket::bind(any)?;
    socket.connect(server)?;
    Ok(socket)
}

/// Sends octets by UDP and expects an answer.
pub fn udp(server: SocketAddr, message: &[u8]) -> Vec<u8> {
    for _ in 0..ATTEMPTS {
        if let Some(answer) = udp_within(server, message, ANSWER_WAIT).expect("exchange by UDP") {
            return answer;
        }
    }
    panic!("no answer by UDP from {server} to {message:02x?}");
}

/// Sends octets by TCP and expects an answer.
pub fn tcp(server: SocketAddr, message: &[u8]) -> Vec<u8> {
    let mut stream = tcp_stream(server).expect("connection by TCP");
    write_framed(&mut stream, message).expect("query by TCP");
    read_framed(&mut stream).expect("answer by TCP")
}

/// Sends a query, expects a well-formed answer to it and returns that.
pub fn ask(server: SocketAddr, transport: Transport, query: &Query) -> Response {
    let message = query.octets();
    let answer = match transport {
        Transport::Udp => udp(server, &message),
        Transport::Tcp => tcp(server, &message),
    };
    let response = Response::parse(&answer);
    let response = response.unwrap_or_else(|fault| panic!("{query:?}: {fault}\n{answer:02x?}"));
    assert_eq!(response.id, query.id, "message ID of the answer to {query:?}");
    assert_ne!(response.flags & 0x8000, 0, "QR of the answer to {query:?}");
    response
}

/// A TCP connection that gives up waiting after [`ANSWER_WAIT`].
pub fn tcp_stream(server: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&server, ANSWER_WAIT)?;
    stream.set_read_timeout(Some(ANSWER_WAIT))?;
    stream.set_write_timeout(Some(ANSWER_WAIT))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Writes a message with its length (RFC 1035 4.2.2) in one segment (RFC 7766 8).
pub fn write_framed(stream: &mut impl Write, message: &[u8]) -> io::Result<()> {
    let mut framed = (message.len() as u16).to_be_bytes().to_vec();
    framed.extend_from_slice(message);
    stream.write_all(&framed)
}

/// Reads one message with its length.
pub fn read_framed(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut message = vec![0; u16::from_be_bytes(length).into()];
    stream.read_exact(&mut message)?;
    Ok(message)
}

/// Sends many messages, a window of them in flight, and returns the answers in the order of the messages.
///
/// Message IDs are replaced by positions, so `messages` has at most 65,536 entries. `None` where no answer came.
pub fn batch(server: SocketAddr, transport: Transport, messages: &[Vec<u8>]) -> Vec<Option<Vec<u8>>> {
    assert!(messages.len() <= 65536, "more messages than message IDs");
    let mut answers = vec![None; messages.len()];
    for _ in 0..ATTEMPTS {
        let missing: Vec<usize> = (0..messages.len()).filter(|&at| answers[at].is_none()).collect();
        if missing.is_empty() {
            break;
        }
        let outcome = match transport {
            Transport::Udp => batch_udp(server, messages, &missing, &mut answers),
            Transport::Tcp => batch_tcp(server, messages, &missing, &mut answers),
        };
        if let Err(error) = outcome {
            eprintln!("exchange with {server} by {transport:?}: {error}");
        }
    }
    answers
}

/// The message with its position as message ID.
fn numbered(messages: &[Vec<u8>], at: usize) -> Vec<u8> {
    let mut message = messages[at].clone();
    message[..2].copy_from_slice(&(at as u16).to_be_bytes());
    message
}

/// Files an answer under its message ID. Whether it was awaited.
fn file(answers: &mut [Option<Vec<u8>>], answer: &[u8]) -> bool {
    let Some(id) = answer.get(..2) else { return false };
    match answers.get_mut(usize::from(u16::from_be_bytes([id[0], id[1]]))) {
        Some(place @ None) => {
            *place = Some(answer.to_vec());
            true
        }
        _ => false,
    }
}

fn batch_udp(
    server: SocketAddr,
    messages: &[Vec<u8>],
    missing: &[usize],
    answers: &mut [Option<Vec<u8>>],
) -> io::Result<()> {
    let socket = udp_socket(server)?;
    socket.set_read_timeout(Some(ANSWER_WAIT))?;
    let mut buffer = vec![0; 65536];
    for window in missing.chunks(WINDOW) {
        for &at in window {
            socket.send(&numbered(messages, at))?;
        }
        let mut awaited = window.len();
        while awaited > 0 {
            match socket.recv(&mut buffer) {
                Ok(octets) => awaited -= usize::from(file(answers, &buffer[..octets])),
                Err(error) if is_timeout(&error) => break,
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

fn batch_tcp(
    server: SocketAddr,
    messages: &[Vec<u8>],
    missing: &[usize],
    answers: &mut [Option<Vec<u8>>],
) -> io::Result<()> {
    let mut stream = tcp_stream(server)?;
    for window in missing.chunks(WINDOW) {
        let mut framed = Vec::new();
        for &at in window {
            write_framed(&mut framed, &numbered(messages, at))?;
        }
        stream.write_all(&framed)?;
        for _ in window {
            file(answers, &read_framed(&mut stream)?);
        }
    }
    Ok(())
}

/// Whether the wait of a socket ran out.
pub fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
