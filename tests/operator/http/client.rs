//! A client of HTTP that sends what it is told to, and believes nothing.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};

/// How long a reply may take: more than the server gives any request.
const REPLY_WAIT: Duration = Duration::from_secs(10);

/// What came back.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub text: String,
}

impl Reply {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Asks for a page. `None`: there is no reply.
pub fn get(at: SocketAddr, path: &str) -> Option<Reply> {
    request(at, format!("GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n"))
}

/// Sends octets and reads the reply to its end. `None`: there is none.
pub fn request(at: SocketAddr, octets: impl AsRef<[u8]>) -> Option<Reply> {
    over(TcpStream::connect(at).ok()?, octets)
}

/// The same from another address of this machine.
pub fn from(address: &str, at: SocketAddr, octets: impl AsRef<[u8]>) -> Option<Reply> {
    over(connected(address, at)?, octets)
}

/// A connection from an address of this machine.
pub fn connected(address: &str, at: SocketAddr) -> Option<TcpStream> {
    let from = SocketAddr::new(address.parse().expect("an address"), 0);
    // Of no program that another test starts meanwhile.
    let stream = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).ok()?;
    bind(&stream, &from).ok()?;
    connect(&stream, &at).ok()?;
    Some(TcpStream::from(stream))
}

fn over(mut stream: TcpStream, octets: impl AsRef<[u8]>) -> Option<Reply> {
    stream.set_read_timeout(Some(REPLY_WAIT)).ok()?;
    // Whoever is refused may be so before all is sent.
    let _ = stream.write_all(octets.as_ref());
    let mut reply = Vec::new();
    match stream.read_to_end(&mut reply) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("no end of a reply: {reply:?}"),
        _ => read(&String::from_utf8_lossy(&reply)),
    }
}

fn read(reply: &str) -> Option<Reply> {
    let (head, text) = reply.split_once("\r\n\r\n")?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    let header =
        |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    Some(Reply { status, headers: lines.filter_map(header).collect(), text: text.to_owned() })
}

/// The value of a series, which is named as it is written.
pub fn value(text: &str, series: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
}
