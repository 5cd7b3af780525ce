//! The *limit program* of a UDP name server: receives a batch, sets QR, sends each back, looks at nothing.
//!
//! It uses the same calls, batch size, buffers and socket options as a worker of the server and replies with
//! the sizes the server's answers have; what it reaches is what the socket interface allows. The reply is the
//! query with filler after it, cut where the answer is shorter.

use std::{
    io,
    net::{SocketAddr, UdpSocket},
    sync::atomic::{AtomicBool, Ordering},
};

use crate::{
    Error,
    mmsg::{Batch, Epoll, SocketOptions, bind},
    sizes::{ANSWER_OCTETS_MAX, Sizes},
};

/// Batch of a server's worker.
pub const BATCH: usize = 64;
/// Receive buffer, as a server asks for: 4 MiB hold some ten milliseconds of small queries at full rate.
pub const RECEIVE_OCTETS: usize = 4 << 20;
/// Send buffer: datagrams leave at once on loopback and veth, on a network card within a few milliseconds.
pub const SEND_OCTETS: usize = 1 << 20;
/// Batches taken before the socket is waited for again, as in a worker that serves other sockets too.
const BATCHES_A_TURN: usize = 16;
/// How often the loop looks whether it shall end.
const STOP_CHECK_MS: i32 = 100;

/// How large replies are.
pub enum ReplySize {
    /// As the query.
    Same,
    /// All alike.
    Fixed(usize),
    /// As recorded for the query; unknown queries come back as they are.
    ByQuery(Sizes),
    /// The recorded sizes one after the other.
    InOrder(Sizes),
}

/// What an echo server did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Datagrams received.
    pub received: u64,
    /// Replies sent.
    pub sent: u64,
    /// Replies the kernel refused.
    pub dropped: u64,
    /// Datagrams not answered: shorter than a header, or replies.
    pub ignored: u64,
}

/// An echo server, bound and not yet running.
pub struct Echo {
    socket: UdpSocket,
    address: SocketAddr,
    sizes: ReplySize,
    batch: usize,
}

impl Echo {
    /// Binds to `address`; `batch` is how many datagrams a call moves, `receive_octets` what the socket may hold.
    pub fn bind(
        address: SocketAddr,
        sizes: ReplySize,
        batch: usize,
        receive_octets: usize,
    ) -> Result<Echo, Error> {
        let options = SocketOptions { reuse_port: true, receive_octets, send_octets: SEND_OCTETS };
        let fault = |cause| Error::Socket { address, action: "listen on", cause };
        let socket = bind(address, options).map_err(fault)?;
        let address = socket.local_addr().map_err(fault)?;
        Ok(Echo { socket, address, sizes, batch })
    }

    /// The address bound, with its port where 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Echoes until `stop`; returns what was done.
    pub fn run(self, stop: &AtomicBool) -> Result<Counters, Error> {
        let address = self.address;
        let mut batch = Batch::new(self.batch, ANSWER_OCTETS_MAX);
        for slot in 0..batch.count() {
            batch.slot_mut(slot).fill(b'z');
        }
        let fault = |cause| Error::Socket { address, action: "wait on", cause };
        let mut epoll = Epoll::new(1).map_err(fault)?;
        epoll.add(&self.socket, 0).map_err(fault)?;
        let mut counters = Counters::default();
        let mut turn = 0;
        while !stop.load(Ordering::Relaxed) {
            if epoll.wait(STOP_CHECK_MS).map_err(fault)? == 0 {
                continue;
            }
            for _ in 0..BATCHES_A_TURN {
                let full = batch.count();
                match batch.receive(&self.socket, true, false) {
                    Ok(count) => {
                        self.reply(&mut batch, count, &mut turn, &mut counters);
                        if count < full {
                            break;
                        }
                    }
                    // Anything else is an error an earlier reply met (a client gone): told once, then forgotten.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(_) => {}
                }
            }
        }
        Ok(counters)
    }

    fn reply(&self, batch: &mut Batch, count: usize, turn: &mut usize, counters: &mut Counters) {
        counters.received += count as u64;
        for slot in 0..count {
            let query = batch.datagram(slot);
            let length = batch.length(slot);
            let size = match &self.sizes {
                ReplySize::Same => length,
                ReplySize::Fixed(size) => *size,
                ReplySize::ByQuery(sizes) => sizes.size(query).unwrap_or(length),
                ReplySize::InOrder(sizes) => {
                    *turn = if *turn + 1 < sizes.in_order().len() { *turn + 1 } else { 0 };
                    sizes.in_order()[*turn].into()
                }
            };
            // A reply to a reply would run for ever between two echo servers.
            let is_query = query.len() >= 12 && query[2] & 0x80 == 0;
            if is_query {
                batch.slot_mut(slot)[2] |= 0x80;
                batch.set_length(slot, size);
            } else {
                batch.set_length(slot, 0);
            }
        }
        self.send(batch, count, counters);
    }

    /// Sends each run of slots with something in them; what the kernel refuses is counted and left.
    fn send(&self, batch: &mut Batch, count: usize, counters: &mut Counters) {
        let mut from = 0;
        while from < count {
            if batch.length(from) == 0 {
                counters.ignored += 1;
                from += 1;
                continue;
            }
            let mut to = from + 1;
            while to < count && batch.length(to) > 0 {
                to += 1;
            }
            match batch.send(&self.socket, from, to) {
                Ok(sent) => {
                    counters.sent += sent as u64;
                    from += sent;
                }
                Err(_) => {
                    counters.dropped += 1;
                    from += 1;
                }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use super::*;

    fn check(sizes: ReplySize, queries: &[&[u8]], replies: &[usize]) {
        let echo = Echo::bind("127.0.0.1:0".parse().unwrap(), sizes, BATCH, RECEIVE_OCTETS).unwrap();
        let address = echo.address();
        let stop = Arc::new(AtomicBool::new(false));
        let running = std::thread::spawn({
            let stop = Arc::clone(&stop);
            move || echo.run(&stop).unwrap()
        });
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        client.connect(address).unwrap();
        for query in queries {
            client.send(query).unwrap();
        }
        let mut room = [0; 5000];
        for &size in replies {
            assert_eq!(client.recv(&mut room).unwrap(), size);
            assert_eq!(room[2] & 0x80, 0x80);
        }
        stop.store(true, Ordering::Relaxed);
        let counters = running.join().unwrap();
        let (received, sent) = (queries.len() as u64, replies.len() as u64);
        assert_eq!(counters, Counters { received, sent, dropped: 0, ignored: received - sent });
    }

    #[test]
    fn sizes_of_replies() {
        let queries: [&[u8]; 3] =
            [b"\0\x01\0\0............", b"\0\x02\0\0........", b"\0\x03\0\0............"];
        check(ReplySize::Same, &queries, &[16, 12, 16]);
        check(ReplySize::Fixed(100), &queries, &[100, 100, 100]);
        let sizes = || Sizes::new(&[(crate::sizes::query_hash(queries[0]), 700), (1, 50)]);
        check(ReplySize::ByQuery(sizes()), &queries, &[700, 12, 700]);
        check(ReplySize::InOrder(sizes()), &queries, &[50, 700, 50]);
    }

    #[test]
    fn no_reply_to_replies_and_fragments() {
        check(ReplySize::Fixed(40), &[b"\0\x01\x80\0........", b"short", b"\0\x02\0\0........"], &[40]);
    }
}
