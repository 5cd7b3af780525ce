//! A client that shows by a DNS cookie that it is where it says it is.

use std::{
    io,
    net::{SocketAddr, UdpSocket},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use wire::{
    edns::Options,
    iana::{edns_option, rtype},
    record::Records,
};

use crate::{
    mmsg::{SocketOptions, any_like, bind},
    query::{Edns, Query},
};

/// How long an answer is waited for, after the last query as well.
const PATIENCE: Duration = Duration::from_millis(1500);
/// How long one is for a cookie, and how often it is asked for: a server may be busy with others.
const COOKIE_PATIENCE: Duration = Duration::from_millis(200);
const COOKIE_TRIES: usize = 25;
/// What the client can hold of answers while it sleeps.
const RECEIVE_OCTETS: usize = 4 << 20;
/// Between two looks at what is due and what came.
const REST: Duration = Duration::from_millis(1);
/// Octets of a client's part of a cookie, and of all of one at most (RFC 7873 4).
const CLIENT_OCTETS: usize = 8;
const COOKIE_OCTETS_MAX: usize = 40;
/// Longest answer.
const ANSWER_OCTETS: usize = 4096;

/// What a client asked and was told.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Asked {
    /// Queries sent.
    pub asked: u64,
    /// Answered with records, in time: neither cut nor an error.
    pub answered: u64,
    /// Answers that were cut or errors.
    pub refused: u64,
    /// For how long it asked.
    pub seconds: f64,
}

/// A client with a cookie.
pub struct Client {
    socket: UdpSocket,
    query: Vec<u8>,
    /// By the ID of a query that is not answered: when it was sent.
    waiting: Vec<Option<Instant>>,
}

impl Client {
    /// Gets a cookie for `query` from the network namespace of this thread. Errors: of the socket, or none was given.
    pub fn new(server: SocketAddr, query: &Query) -> io::Result<Client> {
        let options = SocketOptions { receive_octets: RECEIVE_OCTETS, ..SocketOptions::default() };
        let socket = bind(any_like(server), options)?;
        socket.connect(server)?;
        socket.set_read_timeout(Some(COOKIE_PATIENCE))?;
        let edns = Edns { has_cookie: true, ..query.edns.unwrap_or_default() };
        let mut asked = Vec::new();
        Query { edns: Some(edns), ..query.clone() }.write(&mut asked);
        let query = cookie(&socket, &asked)?.map(|cookie| with_cookie(&asked, &cookie));
        let query = query.ok_or_else(|| io::Error::other("the server gives no DNS cookie"))?;
        socket.set_nonblocking(true)?;
        Ok(Client { socket, query, waiting: vec![None; 1 << 16] })
    }

    /// Asks at a rate, queries a second, for so long or until `stop`, and waits for the last answers.
    pub fn ask(&mut self, rate: f64, length: Duration, stop: &AtomicBool) -> io::Result<Asked> {
        let (began, mut asked) = (Instant::now(), Asked::default());
        while began.elapsed() < length && !stop.load(Ordering::Relaxed) {
            let due = (began.elapsed().as_secs_f64() * rate) as u64;
            while asked.asked < due {
                self.send(asked.asked as u16)?;
                asked.asked += 1;
            }
            self.take(&mut asked);
            thread::sleep(REST);
        }
        asked.seconds = began.elapsed().as_secs_f64();
        let last = Instant::now();
        while last.elapsed() < PATIENCE && asked.answered + asked.refused < asked.asked {
            self.take(&mut asked);
            thread::sleep(REST);
        }
        Ok(asked)
    }

    fn send(&mut self, id: u16) -> io::Result<()> {
        self.query[..2].copy_from_slice(&id.to_be_bytes());
        self.waiting[usize::from(id)] = Some(Instant::now());
        match self.socket.send(&self.query) {
            // What there is no room for is a query that is lost, as any other.
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }

    /// Takes all answers that are there.
    fn take(&mut self, asked: &mut Asked) {
        let mut answer = [0; ANSWER_OCTETS];
        while let Ok(octets) = self.socket.recv(&mut answer) {
            let Some(header) = answer[..octets].first_chunk::<12>() else { continue };
            let sent = self.waiting[usize::from(u16::from_be_bytes([header[0], header[1]]))].take();
            if sent.is_none_or(|sent| sent.elapsed() > PATIENCE) {
                continue;
            }
            // TC tells to come again over TCP; BADCOOKIE is an error as well, the rest of it in the OPT record.
            let is_answer = header[2] & 2 == 0 && header[3] & 15 == 0 && (header[7] > 0 || header[9] > 0);
            *(if is_answer { &mut asked.answered } else { &mut asked.refused }) += 1;
        }
    }
}

/// The whole cookie that a server gives to who asks with the client's part.
fn cookie(socket: &UdpSocket, query: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let mut answer = [0; ANSWER_OCTETS];
    for _ in 0..COOKIE_TRIES {
        socket.send(query)?;
        if let Ok(octets) = socket.recv(&mut answer)
            && let Some(cookie) = cookie_of(&answer[..octets])
        {
            return Ok(Some(cookie));
        }
    }
    Ok(None)
}

/// The cookie of an answer, where it has the server's part.
fn cookie_of(answer: &[u8]) -> Option<Vec<u8>> {
    let mut records = Records::of(answer)?.flatten().map(|placed| placed.record);
    let opt = records.find(|record| record.rtype == rtype::OPT)?;
    let options = Options::read(answer, opt.rdata_at, opt.rdata.len())?;
    let cookie = options.data(answer, edns_option::COOKIE)?;
    (CLIENT_OCTETS + 1..=COOKIE_OCTETS_MAX).contains(&cookie.len()).then(|| cookie.to_vec())
}

/// A query that ends with the client's part of a cookie, with all of it.
fn with_cookie(query: &[u8], cookie: &[u8]) -> Vec<u8> {
    // The option is the only one, and the last of the message: length of the data, code, length, client's part.
    let data = query.len() - CLIENT_OCTETS;
    let mut with = [&query[..data], cookie].concat();
    with[data - 6..data - 4].copy_from_slice(&(cookie.len() as u16 + 4).to_be_bytes());
    with[data - 2..data].copy_from_slice(&(cookie.len() as u16).to_be_bytes());
    with
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_cookie_is_asked_with() {
        let edns = Some(Edns { has_cookie: true, ..Edns::default() });
        let query = Query { edns, ..Query::from_line(b"org. A").unwrap().unwrap() };
        let mut asked = Vec::new();
        query.write(&mut asked);
        assert_eq!(cookie_of(&asked), None, "the client's part alone");
        let whole = [&asked[asked.len() - CLIENT_OCTETS..], &[7; 16]].concat();
        let with = with_cookie(&asked, &whole);
        assert_eq!((with.len(), cookie_of(&with)), (asked.len() + 16, Some(whole)));
    }
}
