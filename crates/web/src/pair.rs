//! What the server and its HTTP process say to each other.
//!
//! ```text
//! pair, a stream   server: 'd' with descriptors (pipe, listeners), length (4 octets, big endian), terms (JSON); once
//!                  child:  an octet, a Request                server: length, text of the numbers
//! pipe             server: an octet, a Beat, once a second
//! ```

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};

/// Addresses that the process may listen on: more than any machine needs, and few enough for one message.
pub const LISTENERS_MAX: usize = 32;

/// Octets of a text of numbers: 1,024 workers have some 300 KB.
pub const TEXT_OCTETS_MAX: usize = 4 << 20;

/// From one beat to the next.
pub const BEAT: Duration = Duration::from_secs(1);

/// Octets of the terms: ten thousand networks.
const TERMS_OCTETS_MAX: usize = 1 << 20;

/// The pipe and the listeners.
const DESCRIPTORS_MAX: usize = 1 + LISTENERS_MAX;

/// Who is answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// Networks of clients: first address, and how many of its bits count. Others are not read from.
    pub allow: Vec<(IpAddr, u8)>,
    /// Names that a request may be for, beside addresses.
    pub names: Vec<String>,
    /// Whether TLS is spoken, and nothing in clear text; with what, the API's process is told as soon as it runs.
    pub is_secure: bool,
    /// Whether the API's process has a page, and who signs in at it.
    pub page: bool,
}

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.0.
    OpenMetrics,
    /// The text format of Prometheus, 0.0.4.
    Text,
}

/// What the process says to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// The numbers are wanted.
    Numbers(Format),
    /// Its rights could not be given up, or not all, as this kernel does not know how (Landlock, seccomp).
    IsUnconfined,
}

impl Request {
    /// As it is sent.
    #[must_use]
    pub fn octet(self) -> u8 {
        match self {
            Request::Numbers(Format::OpenMetrics) => b'o',
            Request::Numbers(Format::Text) => b't',
            Request::IsUnconfined => b'u',
        }
    }

    /// What an octet means; `None`: nothing.
    #[must_use]
    pub fn of(octet: u8) -> Option<Request> {
        let all =
            [Request::Numbers(Format::OpenMetrics), Request::Numbers(Format::Text), Request::IsUnconfined];
        all.into_iter().find(|request| request.octet() == octet)
    }
}

/// How the server is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beat {
    /// Workers serve, or need not yet.
    pub is_well: bool,
    /// Something is served, and will be.
    pub is_ready: bool,
    /// This process is to answer what was asked, and to end.
    pub is_over: bool,
}

impl Beat {
    /// As it is sent.
    #[must_use]
    pub fn octet(self) -> u8 {
        u8::from(self.is_well) | u8::from(self.is_ready) << 1 | u8::from(self.is_over) << 2
    }

    /// What an octet means.
    #[must_use]
    pub fn of(octet: u8) -> Beat {
        Beat { is_well: octet & 1 != 0, is_ready: octet & 2 != 0, is_over: octet & 4 != 0 }
    }
}

/// Server: gives a process that has just been started what it needs. `pipe`: the end that beats are read from; `listeners`: [`LISTENERS_MAX`] at most.
pub fn introduce(
    mut pair: &UnixStream,
    terms: &Terms,
    pipe: &OwnedFd,
    listeners: &[OwnedFd],
) -> io::Result<()> {
    let terms = serde_json::to_vec(terms)?;
    let descriptors: Vec<BorrowedFd<'_>> =
        [pipe].into_iter().chain(listeners).map(|descriptor| descriptor.as_fd()).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fits = terms.len() <= TERMS_OCTETS_MAX && descriptors.len() <= DESCRIPTORS_MAX;
    if !fits || !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "too many addresses or networks"));
    }
    sendmsg(pair, &[IoSlice::new(b"d")], &mut control, SendFlags::NOSIGNAL)?;
    pair.write_all(&(terms.len() as u32).to_be_bytes())?;
    pair.write_all(&terms)
}

/// Server: gives the numbers that were asked for. A text longer than [`TEXT_OCTETS_MAX`] is an error.
pub fn give(mut pair: &UnixStream, text: &str) -> io::Result<()> {
    if text.len() > TEXT_OCTETS_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "too many numbers"));
    }
    pair.write_all(&(text.len() as u32).to_be_bytes())?;
    pair.write_all(text.as_bytes())
}

/// What the process was given.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) terms: Terms,
    pub(crate) pipe: OwnedFd,
    pub(crate) listeners: Vec<OwnedFd>,
}

/// Child: takes what the server gives. Waits for it.
pub(crate) fn introduced(mut pair: &UnixStream) -> io::Result<Given> {
    let wrong = |what: &'static str| io::Error::new(io::ErrorKind::InvalidData, what);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut kind = [0];
    let message = recvmsg(pair, &mut [IoSliceMut::new(&mut kind)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    if message.bytes != 1 || kind != *b"d" || message.flags.contains(ReturnFlags::CTRUNC) {
        return Err(wrong("descriptors are missing"));
    }
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(some) = message {
            descriptors.extend(some);
        }
    }
    let mut length = [0; 4];
    pair.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length) as usize;
    if length > TERMS_OCTETS_MAX || descriptors.is_empty() {
        return Err(wrong("terms or descriptors are missing"));
    }
    let mut terms = vec![0; length];
    pair.read_exact(&mut terms)?;
    let pipe = descriptors.remove(0);
    Ok(Given { terms: serde_json::from_slice(&terms)?, pipe, listeners: descriptors })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn octets_mean_what_they_were() {
        for octet in 0..8 {
            assert_eq!(Beat::of(octet).octet(), octet);
        }
        let known: Vec<u8> = (0..=u8::MAX).filter(|octet| Request::of(*octet).is_some()).collect();
        assert_eq!(known, b"otu");
        assert!(known.iter().all(|octet| Request::of(*octet).unwrap().octet() == *octet));
    }

    #[test]
    fn what_is_given_arrives() {
        let (server, child) = UnixStream::pair().unwrap();
        let (reader, _writer) = io::pipe().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let terms = Terms {
            allow: vec![("127.0.0.0".parse().unwrap(), 8)],
            names: vec!["localhost".into()],
            is_secure: true,
            page: true,
        };
        introduce(&server, &terms, &reader.into(), &[listener.into()]).unwrap();
        let given = introduced(&child).unwrap();
        assert_eq!((given.terms, given.listeners.len()), (terms, 1));
        let listener = TcpListener::from(given.listeners.into_iter().next().unwrap());
        assert_eq!(listener.local_addr().unwrap(), address);
    }

    #[test]
    fn what_was_not_given_is_an_error() {
        let given = |octets: &[u8]| {
            let (mut server, child) = UnixStream::pair().unwrap();
            server.write_all(octets).unwrap();
            drop(server);
            introduced(&child)
        };
        assert!(given(b"").is_err() && given(b"d").is_err() && given(b"GET / HTTP/1.1\r\n\r\n").is_err());
        let (reader, _writer) = io::pipe().unwrap();
        let (server, _child) = UnixStream::pair().unwrap();
        let many: Vec<OwnedFd> = (0..=LISTENERS_MAX).map(|_| reader.try_clone().unwrap().into()).collect();
        assert!(introduce(&server, &Terms::default(), &reader.into(), &many).is_err());
        assert!(give(&server, &"x".repeat(TEXT_OCTETS_MAX + 1)).is_err());
    }
}
