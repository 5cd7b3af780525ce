//! Frames between coordinator and agent over TCP, each with a proof of who made it.
//!
//! ```text
//! hello of the agent           magic (16), nonce (32)
//! hello of the coordinator     magic (16), nonce (32), proof (32): HMAC of "coordinator" and both nonces
//! proof of the agent           proof (32): HMAC of "agent" and both nonces
//! frame                        length of the payload (4), kind (1), payload, tag (32)
//! tag                          HMAC, with a key of both nonces, of direction, number of the frame, kind, payload
//! ```
//!
//! Numbers are big-endian; HMAC is with SHA-256 and the shared secret. The agent proves itself second, so that whoever
//! it connects to learns nothing from it. What is sent can be read on its way, but not changed, repeated or made up.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    time::Duration,
};

use ring::hmac;

use super::Problem;

/// Name and version of what is spoken.
const MAGIC: &[u8; 16] = b"zonda-bench/jn.2";
/// Octets of a nonce, and of a digest.
const DIGEST_OCTETS: usize = 32;
/// Longest payload: queries and expected answers come in parts of a MiB, histograms have less.
pub const PAYLOAD_OCTETS_MAX: usize = 4 << 20;
/// For each step of the greeting.
const GREETING_MAX: Duration = Duration::from_secs(5);

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Options of the job and the agent's place.
    Job = 1,
    /// Some of the queries.
    Queries = 2,
    /// All queries have been sent; the agent opens its sockets and says the same.
    Ready = 3,
    /// To be sent back at once.
    Ping = 4,
    /// A trial.
    Trial = 5,
    /// The agent is at work: how it goes; the coordinator is still there: empty.
    Alive = 6,
    /// What a trial brought.
    Outcome = 7,
    /// The agent cannot go on: why, as text.
    Fault = 8,
    /// No more trials.
    End = 9,
    /// Some of what answers are to be.
    Expected = 10,
    /// The trial that runs is to end now.
    Stop = 11,
}

impl Kind {
    fn from_octet(octet: u8) -> Option<Kind> {
        use Kind::*;
        [Job, Queries, Ready, Ping, Trial, Alive, Outcome, Fault, End, Expected, Stop]
            .into_iter()
            .find(|kind| *kind as u8 == octet)
    }
}

/// Which end this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Takes jobs.
    Agent,
    /// Gives them.
    Coordinator,
}

/// A connection whose ends know each other.
pub struct Channel {
    stream: TcpStream,
    role: Role,
    key: hmac::Key,
    sent: u64,
    received: u64,
}

impl Channel {
    /// Greets the other end; `Secret` where it does not know the secret.
    pub fn open(mut stream: TcpStream, role: Role, secret: &[u8]) -> Result<Channel, Problem> {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        stream.set_nodelay(true).map_err(|error| problem(&error))?;
        for set in [TcpStream::set_read_timeout, TcpStream::set_write_timeout] {
            set(&stream, Some(GREETING_MAX)).map_err(|error| problem(&error))?;
        }
        let mut own = [0; DIGEST_OCTETS];
        sync::random::fill_from_system(&mut own).map_err(|_| Problem::Closed)?;
        let nonces = match role {
            Role::Agent => {
                write(&mut stream, &[MAGIC, &own])?;
                let other = read_hello(&mut stream)?;
                let nonces = [own, other].concat();
                check_proof(&mut stream, &key, b"coordinator", &nonces)?;
                write(&mut stream, &[digest(&key, &[b"agent", &nonces]).as_ref()])?;
                nonces
            }
            Role::Coordinator => {
                let other = read_hello(&mut stream)?;
                let nonces = [other, own].concat();
                write(&mut stream, &[MAGIC, &own, digest(&key, &[b"coordinator", &nonces]).as_ref()])?;
                check_proof(&mut stream, &key, b"agent", &nonces)?;
                nonces
            }
        };
        let session = digest(&key, &[b"session", &nonces]);
        let key = hmac::Key::new(hmac::HMAC_SHA256, session.as_ref());
        Ok(Channel { stream, role, key, sent: 0, received: 0 })
    }

    /// Sends a frame. `payload`: at most [`PAYLOAD_OCTETS_MAX`].
    pub fn send(&mut self, kind: Kind, payload: &[u8]) -> Result<(), Problem> {
        assert!(payload.len() <= PAYLOAD_OCTETS_MAX, "payloads are cut to size by those who make them");
        let tag = self.tag(self.role, self.sent, kind, payload);
        self.sent += 1;
        let length = (payload.len() as u32).to_be_bytes();
        write(&mut self.stream, &[&length, &[kind as u8], payload, tag.as_ref()])
    }

    /// Waits until something has come, for so long at most; whether it has. `Closed` where the other end is gone.
    pub fn is_ready(&mut self, wait: Duration) -> Result<bool, Problem> {
        self.stream.set_read_timeout(Some(wait)).map_err(|error| problem(&error))?;
        match self.stream.peek(&mut [0]) {
            Ok(0) => Err(Problem::Closed),
            Ok(_) => Ok(true),
            Err(error) if problem(&error) == Problem::Silent => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            Err(error) => Err(problem(&error)),
        }
    }

    /// Waits for a frame, for so long at most.
    pub fn receive(&mut self, wait: Duration) -> Result<(Kind, Vec<u8>), Problem> {
        self.stream.set_read_timeout(Some(wait)).map_err(|error| problem(&error))?;
        let head: [u8; 5] = read(&mut self.stream)?;
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let kind =
            Kind::from_octet(head[4]).filter(|_| length <= PAYLOAD_OCTETS_MAX).ok_or(Problem::Frame)?;
        // Grows as octets come: a length alone takes no memory.
        let mut payload = Vec::new();
        (&mut self.stream).take(length as u64).read_to_end(&mut payload).map_err(|error| problem(&error))?;
        let tag: [u8; DIGEST_OCTETS] = read(&mut self.stream)?;
        let from = if self.role == Role::Agent { Role::Coordinator } else { Role::Agent };
        let number = self.received;
        self.received += 1;
        let data = tagged(from, number, kind, &payload);
        hmac::verify(&self.key, &data, &tag).map_err(|_| Problem::Frame)?;
        match kind {
            Kind::Fault => Err(Problem::Said(String::from_utf8_lossy(&payload).into_owned())),
            kind => Ok((kind, payload)),
        }
    }

    /// Waits for a frame of this kind; any other is of no use.
    pub fn expect(&mut self, wanted: Kind, wait: Duration) -> Result<Vec<u8>, Problem> {
        match self.receive(wait)? {
            (kind, payload) if kind == wanted => Ok(payload),
            _ => Err(Problem::Frame),
        }
    }

    fn tag(&self, from: Role, number: u64, kind: Kind, payload: &[u8]) -> hmac::Tag {
        hmac::sign(&self.key, &tagged(from, number, kind, payload))
    }
}

fn tagged(from: Role, number: u64, kind: Kind, payload: &[u8]) -> Vec<u8> {
    [&[from as u8, kind as u8], &number.to_be_bytes()[..], payload].concat()
}

fn digest(key: &hmac::Key, parts: &[&[u8]]) -> hmac::Tag {
    hmac::sign(key, &parts.concat())
}

fn read_hello(stream: &mut TcpStream) -> Result<[u8; DIGEST_OCTETS], Problem> {
    let magic: [u8; MAGIC.len()] = read(stream)?;
    if magic != *MAGIC {
        return Err(Problem::Version);
    }
    read(stream)
}

/// Reads the other end's proof; one that goes away instead has seen that ours is wrong.
fn check_proof(stream: &mut TcpStream, key: &hmac::Key, who: &[u8], nonces: &[u8]) -> Result<(), Problem> {
    let proof: [u8; DIGEST_OCTETS] = read(stream).map_err(|problem| match problem {
        Problem::Closed => Problem::Secret,
        other => other,
    })?;
    hmac::verify(key, &[who, nonces].concat(), &proof).map_err(|_| Problem::Secret)
}

fn write(stream: &mut TcpStream, parts: &[&[u8]]) -> Result<(), Problem> {
    stream.write_all(&parts.concat()).map_err(|error| problem(&error))
}

fn read<const N: usize>(stream: &mut TcpStream) -> Result<[u8; N], Problem> {
    let mut octets = [0; N];
    stream.read_exact(&mut octets).map_err(|error| problem(&error))?;
    Ok(octets)
}

fn problem(error: &io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Problem::Silent,
        _ => Problem::Closed,
    }
}
