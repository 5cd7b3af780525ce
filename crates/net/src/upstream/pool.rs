//! The UDP sockets that a worker asks through, and which of them a question takes.
//!
//! ```text
//! fresh:  connected to one server, for one question; closed when that is settled
//! pool:   front                                  back      not connected; `size` of a family at most
//!         | oldest |   |   |   |   |   | newest |
//!           |          ^ a question for which there is no fresh one takes one at random
//!           `-> after POOL_AGE_MAX it may be replaced: leaves; closed once all that was asked through it is settled
//! ```
//!
//! A port that is open to everybody is found by whoever scans or is asked; one that is connected looks closed to all but its server. So fresh
//! ones are the rule, as many a second as is paid for, and the pool is for what is beyond. No question takes one of the pool while that
//! has fewer than `floor` to choose among.

use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, EventFlags};
use sync::random::Unguessable;

use super::fresh::{Allowance, Need};
use super::queue::{NotSent, Queue};
use super::settings::{Share, UPSTREAM_SOCKETS_MAX, UpstreamSettings};
use super::socket::{self, Family};
use super::{Unsent, unsent};
use crate::counters::Counters;
use crate::token::{GENERATIONS, Token};
use crate::worker::Rate;

/// In what time a pool that is in use is replaced: a scan for open ports takes 6.5 s at the 10,000 ICMP messages a second that
/// Linux sends in all.
pub(super) const POOL_AGE_MAX: Duration = Duration::from_secs(5);

/// How long a pool that nobody needs is kept: to open 1,024 sockets in a burst takes as long as 4,000 misses.
pub(super) const POOL_IDLE_MAX: Duration = Duration::from_secs(60);

/// Sockets of the pool that may be opened at once beyond its floor: a burst of questions finds those that are there.
const RENEWED_AT_ONCE: u32 = 8;

/// Sockets of a pool that nobody needs that leave in one sweep, a tenth of a millisecond.
const RETIRED_PER_SWEEP: usize = 32;

/// How soon the next ones leave.
const RETIRE_PAUSE: Duration = Duration::from_millis(10);

/// How long after its last question a socket stays open for answers that nobody settles: longer than any server is waited for.
pub(super) const LEAVING_AGE_MAX: Duration = Duration::from_secs(30);

/// The same where there are as many sockets as may be: no server is waited for longer than 1.2 s at a time.
pub(super) const CROWDED_AGE_MAX: Duration = Duration::from_secs(5);

/// How often those that are too old are looked for.
pub(super) const SWEEP_PAUSE: Duration = Duration::from_secs(1);

/// Which socket a question left by. The generation tells it from an earlier one in the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PathId {
    pub(crate) index: u32,
    /// Below [`GENERATIONS`].
    pub(crate) generation: u32,
}

impl PathId {
    /// As a number, for those who know no sockets.
    #[must_use]
    pub fn bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The path of such a number. One that was never given is of no socket.
    #[must_use]
    pub fn from_bits(bits: u64) -> Self {
        Self { index: bits as u32, generation: (bits >> 32) as u32 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Connected, for one question.
    Fresh,
    /// Of the pool.
    Live,
    /// Was of the pool.
    Leaving,
}

/// A socket and what is open at it.
#[derive(Debug)]
struct Socket {
    socket: UdpSocket,
    kind: Kind,
    opened: Instant,
    /// When it was last asked through.
    asked: Instant,
    /// Questions that are not settled.
    questions: u32,
}

/// What sockets are opened with.
pub(super) struct Means<'a> {
    pub(super) settings: &'a UpstreamSettings,
    pub(super) random: &'a mut Unguessable,
    pub(super) now: Instant,
    pub(super) counters: &'a Counters,
}

/// All UDP sockets that a worker asks through.
#[derive(Debug)]
pub(super) struct Pool {
    epoll: Arc<OwnedFd>,
    share: Share,
    table: Vec<(u32, Option<Socket>)>,
    free: Vec<u32>,
    /// Sockets of the pool, of each family, in the order of their opening.
    live: [VecDeque<u32>; 2],
    /// How fast those of a family are replaced, and become more than the floor.
    renewal: [Rate; 2],
    /// When one of the pool was last needed.
    needed: [Instant; 2],
    /// Fresh sockets in the order of their opening; those that are closed too, until they are first.
    fresh: VecDeque<PathId>,
    allowance: Allowance,
    /// What leaves at the end of the event.
    queue: Queue,
    next_sweep: Option<Instant>,
}

impl Pool {
    pub(super) fn new(epoll: Arc<OwnedFd>, share: Share, settings: &UpstreamSettings, now: Instant) -> Self {
        Self {
            epoll,
            share,
            table: Vec::new(),
            free: Vec::new(),
            live: [VecDeque::new(), VecDeque::new()],
            renewal: [renewal(share, now), renewal(share, now)],
            needed: [now; 2],
            fresh: VecDeque::new(),
            allowance: Allowance::new(settings, now),
            queue: Queue::default(),
            next_sweep: None,
        }
    }

    /// Goes by other settings: the pool of before leaves, as its ports and addresses may not be allowed any more.
    pub(super) fn configure(
        &mut self,
        share: Share,
        settings: &UpstreamSettings,
        now: Instant,
        counters: &Counters,
    ) {
        self.share = share;
        self.allowance.configure(settings, now);
        self.renewal = [renewal(share, now), renewal(share, now)];
        for family in [Family::V4, Family::V6] {
            while self.retire_oldest(family, counters) {}
        }
    }

    /// Takes a socket for a datagram, which leaves with [`Pool::flush`].
    pub(super) fn ask(
        &mut self,
        server: SocketAddr,
        octets: &[u8],
        need: Need,
        means: &mut Means<'_>,
    ) -> Result<PathId, Unsent> {
        if self.queue.is_full() {
            self.flush(means.counters);
        }
        let index = self.take(server, need, means).inspect_err(|_| means.counters.upstream_unsent.add(1))?;
        let (generation, entry) = &mut self.table[index as usize];
        let socket = entry.as_mut().expect("only open sockets are taken");
        socket.questions += 1;
        socket.asked = means.now;
        let path = PathId { index, generation: *generation };
        self.queue.push(path, server, octets);
        Ok(path)
    }

    #[inline]
    pub(super) fn has_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Sends what was asked since. Where a question was settled meanwhile and its socket closed, nobody waits for an answer.
    pub(super) fn flush(&mut self, counters: &Counters) {
        let Pool { queue, table, .. } = self;
        queue.flush(|path, server, octets| {
            let socket = match &table[path.index as usize] {
                (generation, Some(socket)) if *generation == path.generation => socket,
                _ => return Ok(()),
            };
            let outcome = match socket.kind {
                Kind::Fresh => socket.socket.send(octets),
                Kind::Live | Kind::Leaving => socket.socket.send_to(octets, server),
            };
            match outcome {
                Ok(_) => counters.upstream_queries.add(1),
                Err(_) => counters.upstream_unsent.add(1),
            }
            outcome.map(drop).map_err(|error| unsent(&error))
        });
    }

    pub(super) fn has_failed(&self) -> bool {
        self.queue.has_failed()
    }

    pub(super) fn take_failed(&mut self) -> Vec<NotSent> {
        self.queue.take_failed()
    }

    /// A socket for a question, opened for it or not.
    fn take(&mut self, server: SocketAddr, need: Need, means: &mut Means<'_>) -> Result<u32, Unsent> {
        if self.allowance.take(need, means.settings, means.now) {
            match self.open_fresh(server, means) {
                Err(Unsent::Sockets) => {}
                outcome => return outcome,
            }
        }
        self.take_live(Family::of(server), means)
    }

    /// One of the pool, at random of all; a new one where it is time for that.
    fn take_live(&mut self, family: Family, means: &mut Means<'_>) -> Result<u32, Unsent> {
        self.needed[family as usize] = means.now;
        let Share { size, floor, .. } = self.share;
        if size < floor {
            return Err(Unsent::Sockets);
        }
        let held = self.live[family as usize].len();
        if held < floor {
            return self.open_live(family, means);
        }
        let oldest = self.live[family as usize].front().copied();
        let is_due = held < size || oldest.is_some_and(|index| self.age(index, means.now) >= POOL_AGE_MAX);
        if is_due
            && self.renewal[family as usize].take(means.now)
            && let Ok(index) = self.open_live(family, means)
        {
            return Ok(index);
        }
        // The promise is kept by the others.
        Ok(self.live[family as usize][means.random.below(held as u32) as usize])
    }

    /// Opens a socket for one question. It takes nothing from other senders, and looks closed to them.
    fn open_fresh(&mut self, server: SocketAddr, means: &mut Means<'_>) -> Result<u32, Unsent> {
        if self.is_full() && !self.close_oldest_fresh(means) {
            return Err(Unsent::Sockets);
        }
        let socket = socket::open(Family::of(server), means.settings, means.random)?;
        socket.connect(server).map_err(|error| unsent(&error))?;
        let path = self.add(socket, Kind::Fresh, means)?;
        self.fresh.push_back(path);
        self.forget_closed();
        Ok(path.index)
    }

    /// Opens a socket as the newest of the pool; the oldest leaves if they are too many by that.
    fn open_live(&mut self, family: Family, means: &mut Means<'_>) -> Result<u32, Unsent> {
        if self.is_full() && !self.close_oldest_fresh(means) {
            return Err(Unsent::Sockets);
        }
        let socket = socket::open(family, means.settings, means.random)?;
        socket::bound_buffer(&socket);
        let index = self.add(socket, Kind::Live, means)?.index;
        if self.live[family as usize].len() >= self.share.size {
            self.retire_oldest(family, means.counters);
        }
        self.live[family as usize].push_back(index);
        Ok(index)
    }

    fn is_full(&self) -> bool {
        self.table.len() - self.free.len() >= self.share.most
    }

    /// Makes room by the fresh socket that was opened first, if nobody waits for an answer there any more.
    fn close_oldest_fresh(&mut self, means: &Means<'_>) -> bool {
        self.forget_closed();
        let Some(&path) = self.fresh.front() else { return false };
        if self.age(path.index, means.now) < CROWDED_AGE_MAX {
            return false;
        }
        self.fresh.pop_front();
        self.close(path.index, means.counters);
        true
    }

    /// Takes closed ones out of the list of fresh sockets: the first, and all of them where one that stays has let too many gather behind it.
    fn forget_closed(&mut self) {
        while self.fresh.front().is_some_and(|&path| self.socket(path).is_none()) {
            self.fresh.pop_front();
        }
        if self.fresh.len() > 2 * UPSTREAM_SOCKETS_MAX {
            let mut list = std::mem::take(&mut self.fresh);
            list.retain(|&path| self.socket(path).is_some());
            self.fresh = list;
        }
    }

    fn add(&mut self, socket: UdpSocket, kind: Kind, means: &Means<'_>) -> Result<PathId, Unsent> {
        let index = self.free.pop().unwrap_or_else(|| {
            self.table.push((0, None));
            (self.table.len() - 1) as u32
        });
        let path = PathId { index, generation: self.table[index as usize].0 };
        if epoll::add(&*self.epoll, &socket, Token::Upstream(path).data(), EventFlags::IN).is_err() {
            self.free.push(index);
            return Err(Unsent::Sockets);
        }
        let (opened, asked) = (means.now, means.now);
        self.table[index as usize].1 = Some(Socket { socket, kind, opened, asked, questions: 0 });
        self.next_sweep.get_or_insert(means.now + SWEEP_PAUSE);
        means.counters.upstream_opened.add(1);
        means.counters.upstream_sockets.add(1);
        Ok(path)
    }

    /// The oldest of the pool leaves it, and is closed once nothing is open there. Whether there was one.
    fn retire_oldest(&mut self, family: Family, counters: &Counters) -> bool {
        let Some(index) = self.live[family as usize].pop_front() else { return false };
        if let Some(socket) = &mut self.table[index as usize].1 {
            socket.kind = Kind::Leaving;
            if socket.questions == 0 {
                self.close(index, counters);
            }
        }
        true
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
        if socket.questions == 0 && socket.kind != Kind::Live {
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
        let mut pause = SWEEP_PAUSE;
        for family in [Family::V4, Family::V6] {
            if now.saturating_duration_since(self.needed[family as usize]) >= POOL_IDLE_MAX {
                let left = (0..RETIRED_PER_SWEEP).find(|_| !self.retire_oldest(family, counters));
                pause = if left.is_none() { RETIRE_PAUSE } else { pause };
            }
        }
        for index in 0..self.table.len() as u32 {
            if let Some(socket) = &self.table[index as usize].1
                && socket.kind != Kind::Live
                && now.saturating_duration_since(socket.asked) >= LEAVING_AGE_MAX
            {
                self.close(index, counters);
            }
        }
        let is_empty = self.table.len() == self.free.len();
        self.next_sweep = (!is_empty).then(|| now + pause);
    }

    fn age(&self, index: u32, now: Instant) -> Duration {
        let opened = self.table[index as usize].1.as_ref().map(|socket| socket.opened);
        opened.map_or(Duration::MAX, |opened| now.saturating_duration_since(opened))
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.next_sweep
    }

    pub(super) fn close_all(&mut self, counters: &Counters) {
        self.queue.clear();
        for live in &mut self.live {
            live.clear();
        }
        self.fresh.clear();
        for index in 0..self.table.len() as u32 {
            self.close(index, counters);
        }
        self.next_sweep = None;
    }
}

#[cfg(test)]
impl Pool {
    pub(super) fn is_fresh(&self, path: PathId) -> bool {
        let socket = self.table.get(path.index as usize).and_then(|(_, socket)| socket.as_ref());
        socket.is_some_and(|socket| socket.kind == Kind::Fresh)
    }

    pub(super) fn most(&self) -> usize {
        self.share.most
    }

    pub(super) fn fresh_listed(&self) -> usize {
        self.fresh.len()
    }
}

/// A pool is replaced in [`POOL_AGE_MAX`], evenly.
fn renewal(share: Share, now: Instant) -> Rate {
    Rate::new(RENEWED_AT_ONCE, POOL_AGE_MAX / share.size.max(1) as u32, now)
}
