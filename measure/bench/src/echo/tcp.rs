//! TCP: one thread, its listener and its connections, waited for with epoll.

use std::{
    io,
    mem::MaybeUninit,
    net::TcpListener,
    os::fd::OwnedFd,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use rustix::{
    event::{
        Timespec,
        epoll::{self, EventData, EventFlags},
    },
    io::Errno,
};

use super::{
    Counters, STOP_CHECK_MS, Settings,
    connection::{Connection, FRAME_OCTETS_MAX},
    reply::Judge,
};
use crate::{Error, mmsg::raise_descriptor_limit};

/// Connections of a thread at most. Each may keep some 200 KiB of a client that does not read, so 2 GiB in all;
/// those of a measurement keep nothing between queries. A process whose limit of descriptors is lower takes fewer.
pub const CONNECTIONS_MAX: usize = 10_000;
/// Descriptors a process needs for other things than connections.
const DESCRIPTORS_APART: u64 = 64;
/// Connections taken before the others get their turn.
const ACCEPTS_A_TURN: usize = 64;
/// Sockets handled a turn.
const EVENTS_A_TURN: usize = 256;
/// The listener among the tokens; connections have their place in the table.
const LISTENER: u64 = u64::MAX;

/// Serves `listener` until `stop`; connections idle for longer than `idle` are closed.
pub(super) fn run(
    settings: &Settings,
    listener: &TcpListener,
    idle: Duration,
    stop: &AtomicBool,
) -> Result<Counters, Error> {
    let fault = |cause| Error::Socket { address: settings.address, action: "wait on", cause };
    let judge = Judge::new(&settings.sizes, None);
    let mut streams = Streams::new(listener, judge, connections_max(settings.threads)).map_err(fault)?;
    let mut checked = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        let now = streams.turn(listener).map_err(fault)?;
        if now - checked >= (idle / 4).min(Duration::from_secs(1)) {
            streams.close_idle(now, idle);
            checked = now;
        }
    }
    Ok(streams.counters)
}

/// Connections a thread may have, so that there are always descriptors left.
fn connections_max(threads: usize) -> usize {
    let limit = raise_descriptor_limit().unwrap_or(1024).saturating_sub(DESCRIPTORS_APART);
    CONNECTIONS_MAX.min(limit as usize / threads).max(1)
}

/// The connections of one thread.
struct Streams<'a> {
    epoll: OwnedFd,
    table: Vec<Option<Connection>>,
    free: Vec<usize>,
    connections_max: usize,
    room: Box<[u8]>,
    judge: Judge<'a>,
    counters: Counters,
}

impl<'a> Streams<'a> {
    fn new(listener: &TcpListener, judge: Judge<'a>, connections_max: usize) -> io::Result<Streams<'a>> {
        listener.set_nonblocking(true)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        Ok(Streams {
            epoll,
            table: Vec::new(),
            free: Vec::new(),
            connections_max,
            room: vec![0; FRAME_OCTETS_MAX].into(),
            judge,
            counters: Counters::default(),
        })
    }

    /// Waits for sockets and handles those that are ready; returns when it began.
    fn turn(&mut self, listener: &TcpListener) -> io::Result<Instant> {
        let mut space = [const { MaybeUninit::<epoll::Event>::uninit() }; EVENTS_A_TURN];
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(STOP_CHECK_MS) * 1_000_000 };
        let events = match epoll::wait(&self.epoll, &mut space, Some(&timeout)) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => return Ok(Instant::now()),
            Err(errno) => return Err(errno.into()),
        };
        let now = Instant::now();
        for event in events {
            match event.data.u64() {
                LISTENER => self.accept(listener, now),
                place => self.handle(place as usize, now),
            }
        }
        Ok(now)
    }

    fn accept(&mut self, listener: &TcpListener, now: Instant) {
        for _ in 0..ACCEPTS_A_TURN {
            // Nobody there any more (another thread was first), or gone again: the next turn sees.
            let Ok((stream, _)) = listener.accept() else { return };
            if self.table.len() - self.free.len() >= self.connections_max {
                self.counters.refused += 1;
                continue;
            }
            // Replies are written whole, so waiting for more octets (Nagle) would only delay the last of them.
            if stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).is_err() {
                continue;
            }
            let place = self.free.pop().unwrap_or_else(|| {
                self.table.push(None);
                self.table.len() - 1
            });
            if epoll::add(&self.epoll, &stream, EventData::new_u64(place as u64), EventFlags::IN).is_err() {
                self.free.push(place);
                continue;
            }
            self.counters.connections += 1;
            self.table[place] = Some(Connection::new(stream, now));
        }
    }

    fn handle(&mut self, place: usize, now: Instant) {
        let Some(connection) = self.table.get_mut(place).and_then(Option::as_mut) else { return };
        let before = (connection.wants_input(), connection.wants_output());
        if !connection.turn(&mut self.room, &mut self.judge, &mut self.counters, now) {
            return self.close(place);
        }
        let after = (connection.wants_input(), connection.wants_output());
        if before != after {
            let mut flags = EventFlags::empty();
            flags.set(EventFlags::IN, after.0);
            flags.set(EventFlags::OUT, after.1);
            let data = EventData::new_u64(place as u64);
            if epoll::modify(&self.epoll, &connection.stream, data, flags).is_err() {
                self.close(place);
            }
        }
    }

    /// Closing takes it out of the epoll set, as nobody else has the descriptor.
    fn close(&mut self, place: usize) {
        self.table[place] = None;
        self.free.push(place);
    }

    fn close_idle(&mut self, now: Instant, idle: Duration) {
        for place in 0..self.table.len() {
            if self.table[place].as_ref().is_some_and(|connection| now - connection.last >= idle) {
                self.close(place);
            }
        }
    }
}
