//! UDP: one thread, a socket for each address, a connected one for each server.
//!
//! ```text
//! fronts[address] -- query --> waiting[way][new ID] = who asked, where, under which ID, until when its answer is held
//!                              backs[way] -- query --> server
//!                              backs[way] <- answer -- server
//! held (by time) <------------ taken out of waiting
//! fronts[address] <- answer -- once it is time
//! ```
//!
//! An ID comes back after 65,536 queries of a way: who still waits under it then, waits for nothing.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    io,
    net::{SocketAddr, UdpSocket},
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use bench::mmsg::{self, SocketOptions, any_like};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{LOOK, Shared, spawn};

/// Room of the sockets: a tenth of a second of what floods bring.
const BUFFER_OCTETS: usize = 16 << 20;
/// Largest message over UDP.
const MESSAGE_MAX: usize = 65_535;
/// Datagrams taken from one socket before the others have their turn.
const TURN: usize = 64;
/// Answers held back at most. With round trips of 20 ms these are three million a second; more are lost, as on a full line.
const HELD_MAX: usize = 1 << 16;

/// A query that a server was asked.
#[derive(Clone, Copy)]
struct Waiting {
    front: usize,
    asker: SocketAddr,
    id: [u8; 2],
    due: Instant,
}

/// An answer that is held back: in the order of time, then of arrival.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    due: Instant,
    number: u64,
    front: usize,
    asker: SocketAddr,
    answer: Vec<u8>,
}

/// All sockets and what waits.
struct Relay {
    shared: Arc<Shared>,
    /// Way and socket of each address.
    fronts: Vec<(usize, UdpSocket)>,
    /// By way: the socket to its server, and who waits, by ID.
    backs: Vec<(UdpSocket, Box<[Option<Waiting>]>)>,
    /// By way: the next ID.
    next: Vec<u16>,
    held: BinaryHeap<Reverse<Held>>,
    number: u64,
    buffer: Vec<u8>,
}

/// Makes the sockets where the calling thread is, and begins.
pub fn start(shared: Arc<Shared>) -> io::Result<JoinHandle<()>> {
    let options =
        SocketOptions { reuse_port: false, receive_octets: BUFFER_OCTETS, send_octets: BUFFER_OCTETS };
    let front = |(way, address): (usize, SocketAddr)| {
        let socket = mmsg::bind(address, options)?;
        socket.set_nonblocking(true)?;
        Ok((way, socket))
    };
    let back = |server: SocketAddr| {
        let socket = mmsg::bind(any_like(server), options)?;
        socket.connect(server)?;
        socket.set_nonblocking(true)?;
        Ok((socket, vec![None; usize::from(u16::MAX) + 1].into()))
    };
    let fronts = shared.fronts().map(front).collect::<io::Result<_>>()?;
    let backs = shared.ways.iter().map(|way| back(way.server)).collect::<io::Result<Vec<_>>>()?;
    let next = vec![0; backs.len()];
    let (held, buffer) = (BinaryHeap::new(), vec![0; MESSAGE_MAX]);
    let mut relay = Relay { shared, fronts, backs, next, held, number: 0, buffer };
    spawn("link-udp", move || relay.run())
}

impl Relay {
    fn run(&mut self) {
        while !self.shared.is_over() {
            let now = Instant::now();
            self.release(now);
            let until = self.held.peek().map_or(LOOK, |Reverse(held)| held.due.duration_since(now).min(LOOK));
            let (fronts, backs) = self.ready(until);
            fronts.into_iter().for_each(|front| self.ask(front));
            backs.into_iter().for_each(|way| self.hold(way));
        }
    }

    /// Waits so long for something to read; which addresses and which servers have it.
    fn ready(&self, wait: Duration) -> (Vec<usize>, Vec<usize>) {
        let sockets =
            self.fronts.iter().map(|(_, socket)| socket).chain(self.backs.iter().map(|(socket, _)| socket));
        let mut polled: Vec<PollFd<'_>> = sockets.map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
        let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
        // A signal is no more than a wake-up that was not needed.
        if poll(&mut polled, Some(&wait)).is_err() {
            return (Vec::new(), Vec::new());
        }
        let is_ready = |(number, fd): (usize, &PollFd<'_>)| (!fd.revents().is_empty()).then_some(number);
        let (fronts, backs) = polled.split_at(self.fronts.len());
        (
            fronts.iter().enumerate().filter_map(is_ready).collect(),
            backs.iter().enumerate().filter_map(is_ready).collect(),
        )
    }

    /// Passes on what came to an address.
    fn ask(&mut self, front: usize) {
        let (way, socket) = &self.fronts[front];
        for _ in 0..TURN {
            let Ok((octets, asker)) = socket.recv_from(&mut self.buffer) else { return };
            let query = &mut self.buffer[..octets];
            let Some(&[high, low]) = query.first_chunk::<2>() else { continue };
            let Some(delay) = self.shared.take(*way, query, false) else { continue };
            let id = self.next[*way];
            self.next[*way] = id.wrapping_add(1);
            query[..2].copy_from_slice(&id.to_be_bytes());
            let (back, waiting) = &mut self.backs[*way];
            let due = Instant::now() + delay;
            waiting[usize::from(id)] = Some(Waiting { front, asker, id: [high, low], due });
            // A server that is gone says so on this socket; its askers hear nothing, as from a machine that is gone.
            let _ = back.send(query);
        }
    }

    /// Holds back what a server answered.
    fn hold(&mut self, way: usize) {
        let (back, waiting) = &mut self.backs[way];
        for _ in 0..TURN {
            let octets = match back.recv(&mut self.buffer) {
                Ok(octets) => octets,
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
                Err(_) => return,
            };
            let Some(&id) = self.buffer[..octets].first_chunk::<2>() else { continue };
            let asked = waiting[usize::from(u16::from_be_bytes(id))].take();
            let Some(Waiting { front, asker, id, due }) = asked else { continue };
            if self.held.len() >= HELD_MAX {
                continue;
            }
            let mut answer = self.buffer[..octets].to_vec();
            answer[..2].copy_from_slice(&id);
            self.number += 1;
            self.held.push(Reverse(Held { due, number: self.number, front, asker, answer }));
        }
    }

    /// Sends what is due.
    fn release(&mut self, now: Instant) {
        while let Some(Reverse(held)) = self.held.peek()
            && held.due <= now
        {
            let Some(Reverse(held)) = self.held.pop() else { return };
            // An asker that is gone has no more use for it.
            let _ = self.fronts[held.front].1.send_to(&held.answer, held.asker);
        }
    }
}
