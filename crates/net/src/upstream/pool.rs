//! The UDP sockets that a worker asks through, and which of them a question takes.
//!
//! ```text
//! live, of a family:  front                                  back      `size` of them at most
//!                     | oldest |   |   |   |   |   | newest |
//!                       |          ^ a question takes one at random, or a new one, which is put at the back
//!                       `-> replaced, or too old: leaves; closed once all that was asked through it is settled,
//!                           or LEAVING_AGE_MAX after its last question
//! ```
//!
//! A socket is opened while fewer than `size` are live, and beyond as often as the rate of fresh ones allows. So a question that takes a live
//! one has at least [`POOL_FLOOR`] to choose among, or its worker's share of the ports, and any other has a port that nobody has seen.

use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, EventFlags};
use sync::random::Unguessable;

use super::settings::{POOL_FLOOR, UPSTREAM_SOCKETS_MAX, UpstreamSettings};
use super::socket::{self, Family};
use super::{Unsent, unsent};
use crate::counters::Counters;
use crate::token::{GENERATIONS, Token};
use crate::worker::Rate;

/// How long a socket is live: about as long as a scan for open ports takes at the 1,000 ICMP messages a second that Linux sends in all.
pub(super) const SOCKET_AGE_MAX: Duration = Duration::from_secs(60);

/// How long after its last question a socket that leaves stays open for answers: longer than any server is waited for.
pub(super) const LEAVING_AGE_MAX: Duration = Duration::from_secs(30);

/// How often those that are too old are looked for.
pub(super) const SWEEP_PAUSE: Duration = Duration::from_secs(1);

/// Part of a second whose fresh sockets may be opened at once: questions come in bursts.
const FRESH_BURST: u32 = 10;

/// Which socket a question left by. The generation tells it from an earlier one in the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PathId {
    pub(crate) index: u32,
    /// Below [`GENERATIONS`].
    pub(crate) generation: u32,
}

/// A socket and what is open at it.
#[derive(Debug)]
struct Socket {
    socket: UdpSocket,
    opened: Instant,
    /// When it was last asked through.
    asked: Instant,
    /// Questions that are not settled.
    questions: u32,
    is_live: bool,
}

/// The live sockets of a family, in the order of their opening.
#[derive(Debug)]
struct Live {
    list: VecDeque<u32>,
    fresh: Rate,
}

/// All UDP sockets that a worker asks through.
#[derive(Debug)]
pub(super) struct Pool {
    epoll: Arc<OwnedFd>,
    workers: usize,
    table: Vec<(u32, Option<Socket>)>,
    free: Vec<u32>,
    families: [Live; 2],
    /// Live sockets of a family, at most.
    size: usize,
    next_sweep: Option<Instant>,
}

impl Pool {
    pub(super) fn new(
        epoll: Arc<OwnedFd>,
        workers: usize,
        settings: &UpstreamSettings,
        now: Instant,
    ) -> Self {
        let live = || Live { list: VecDeque::new(), fresh: rate(settings, now) };
        Self {
            epoll,
            workers,
            table: Vec::new(),
            free: Vec::new(),
            families: [live(), live()],
            size: settings.pool_size(workers),
            next_sweep: None,
        }
    }

    /// Goes by other settings: sockets of before leave, as their ports and addresses may not be allowed any more.
    pub(super) fn configure(&mut self, settings: &UpstreamSettings, now: Instant, counters: &Counters) {
        self.size = settings.pool_size(self.workers);
        for family in [Family::V4, Family::V6] {
            while let Some(index) = self.families[family as usize].list.pop_front() {
                self.leave(index, counters);
            }
            self.families[family as usize].fresh = rate(settings, now);
        }
    }

    /// Sends a datagram.
    pub(super) fn ask(
        &mut self,
        server: SocketAddr,
        octets: &[u8],
        settings: &UpstreamSettings,
        random: &mut Unguessable,
        now: Instant,
        counters: &Counters,
    ) -> Result<PathId, Unsent> {
        let index = self.take(Family::of(server), settings, random, now, counters)?;
        let (generation, entry) = &mut self.table[index as usize];
        let socket = entry.as_mut().expect("live sockets are open");
        match socket.socket.send_to(octets, server) {
            Ok(_) => {
                socket.questions += 1;
                socket.asked = now;
                counters.upstream_queries.add(1);
                Ok(PathId { index, generation: *generation })
            }
            Err(error) => {
                counters.upstream_unsent.add(1);
                Err(unsent(&error))
            }
        }
    }

    /// A live socket, opened for it or not.
    fn take(
        &mut self,
        family: Family,
        settings: &UpstreamSettings,
        random: &mut Unguessable,
        now: Instant,
        counters: &Counters,
    ) -> Result<u32, Unsent> {
        let live = &mut self.families[family as usize];
        let held = live.list.len();
        if held < self.size || live.fresh.take(now) {
            match self.open(family, settings, random, now, counters) {
                Ok(index) => return Ok(index),
                // The promise is kept by the others.
                Err(_) if held >= POOL_FLOOR.min(self.size) => {}
                Err(unsent) => {
                    counters.upstream_unsent.add(1);
                    return Err(unsent);
                }
            }
        }
        let list = &self.families[family as usize].list;
        Ok(list[random.below(list.len() as u32) as usize])
    }

    /// Opens a socket as the newest of the live ones; the oldest leaves if they are too many by that.
    fn open(
        &mut self,
        family: Family,
        settings: &UpstreamSettings,
        random: &mut Unguessable,
        now: Instant,
        counters: &Counters,
    ) -> Result<u32, Unsent> {
        let is_full = |pool: &Self| pool.table.len() - pool.free.len() >= UPSTREAM_SOCKETS_MAX;
        let excess = |pool: &Self| pool.families[family as usize].list.len() >= pool.size;
        if is_full(self) && excess(self) {
            // One goes for one that comes, if nothing is open at it.
            self.replace_oldest(family, counters);
        }
        if is_full(self) {
            return Err(Unsent::Sockets);
        }
        let socket = socket::open(family, settings, random)?;
        let index = self.free.pop().unwrap_or_else(|| {
            self.table.push((0, None));
            (self.table.len() - 1) as u32
        });
        let path = PathId { index, generation: self.table[index as usize].0 };
        if epoll::add(&*self.epoll, &socket, Token::Upstream(path).data(), EventFlags::IN).is_err() {
            self.free.push(index);
            return Err(Unsent::Sockets);
        }
        if excess(self) {
            self.replace_oldest(family, counters);
        }
        self.table[index as usize].1 =
            Some(Socket { socket, opened: now, asked: now, questions: 0, is_live: true });
        self.families[family as usize].list.push_back(index);
        self.next_sweep.get_or_insert(now + SWEEP_PAUSE);
        counters.upstream_fresh.add(1);
        counters.upstream_sockets.add(1);
        Ok(index)
    }

    fn replace_oldest(&mut self, family: Family, counters: &Counters) {
        if let Some(index) = self.families[family as usize].list.pop_front() {
            self.leave(index, counters);
        }
    }

    /// A socket is no longer live, and closed once nothing is open at it.
    fn leave(&mut self, index: u32, counters: &Counters) {
        let Some(socket) = &mut self.table[index as usize].1 else { return };
        socket.is_live = false;
        if socket.questions == 0 {
            self.close(index, counters);
        }
    }

    fn close(&mut self, index: u32, counters: &Counters) {
        let (generation, socket) = &mut self.table[index as usize];
        if socket.take().is_some() {
            *generation = (*generation + 1) % GENERATIONS;
            self.free.push(index);
            counters.upstream_sockets.subtract(1);
        }
    }

    /// A question is over. More of them than were asked do nothing.
    pub(super) fn settle(&mut self, path: PathId, counters: &Counters) {
        let Some((generation, Some(socket))) = self.table.get_mut(path.index as usize) else { return };
        if *generation != path.generation {
            return;
        }
        socket.questions = socket.questions.saturating_sub(1);
        if socket.questions == 0 && !socket.is_live {
            self.close(path.index, counters);
        }
    }

    /// The descriptor of a path, while it is open.
    pub(super) fn socket(&self, path: PathId) -> Option<BorrowedFd<'_>> {
        let (generation, socket) = self.table.get(path.index as usize)?;
        let is_it = *generation == path.generation;
        socket.as_ref().filter(|_| is_it).map(|socket| socket.socket.as_fd())
    }

    /// Has what is too old leave, and closes what is too old to leave.
    pub(super) fn sweep(&mut self, now: Instant, counters: &Counters) {
        if self.next_sweep.is_none_or(|at| now < at) {
            return;
        }
        for family in [Family::V4, Family::V6] {
            while let Some(&index) = self.families[family as usize].list.front()
                && self.age(index, now) >= SOCKET_AGE_MAX
            {
                self.replace_oldest(family, counters);
            }
        }
        for index in 0..self.table.len() as u32 {
            if let Some(socket) = &self.table[index as usize].1
                && !socket.is_live
                && now.saturating_duration_since(socket.asked) >= LEAVING_AGE_MAX
            {
                self.close(index, counters);
            }
        }
        let is_empty = self.table.len() == self.free.len();
        self.next_sweep = (!is_empty).then(|| now + SWEEP_PAUSE);
    }

    fn age(&self, index: u32, now: Instant) -> Duration {
        let opened = self.table[index as usize].1.as_ref().map(|socket| socket.opened);
        opened.map_or(Duration::MAX, |opened| now.saturating_duration_since(opened))
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.next_sweep
    }

    pub(super) fn close_all(&mut self, counters: &Counters) {
        for live in &mut self.families {
            live.list.clear();
        }
        for index in 0..self.table.len() as u32 {
            self.close(index, counters);
        }
        self.next_sweep = None;
    }
}

fn rate(settings: &UpstreamSettings, now: Instant) -> Rate {
    match settings.fresh_per_second {
        0 => Rate::new(0, Duration::MAX, now),
        count => Rate::new(count.div_ceil(FRESH_BURST), Duration::from_secs(1) / count, now),
    }
}
