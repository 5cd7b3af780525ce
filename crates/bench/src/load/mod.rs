//! The load generator: sends queries by a plan, matches replies, measures from the planned time.
//!
//! *Open loop*: query `n` is due at `n / rate`, whatever the server does; latency counts from then, so a server
//! that stalls cannot hide it. *Closed loop*: a fixed number of queries is outstanding, as in queryperf and dnsperf.
//!
//! One thread, busy while a trial runs. Queries that are due go out in bursts of up to [`Settings::burst`] from one
//! flow, then from the next, so that every system call moves many packets on both sides of the measurement.

pub mod flows;
pub mod outcome;

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    time::{Duration, Instant},
};

use crate::{
    Error,
    machine::Steal,
    mmsg::{self, Batch, Epoll},
    query::{QUERY_OCTETS_MAX, QuerySet},
};
use flows::Flows;
pub use outcome::Outcome;

/// Octets kept of a reply: header and question are looked at, nothing else; its full length is known anyway.
const REPLY_OCTETS: usize = QUERY_OCTETS_MAX;
/// Ready sockets taken from the system at once.
const EVENTS: usize = 64;
/// One reply in this many has its question compared with the query's.
const CHECK_EACH: u64 = 16;
/// Longest a closed loop waits before it looks at the clock again.
const WAIT_MS: i32 = 1;
/// How much longer than planned an open loop may take to send its last queries: a generator that is put aside for a
/// moment just before the end shall show it as lateness, one that cannot keep up shall still end.
const GRACE_NS: u64 = 100_000_000;

/// What stays the same for all trials of a generator.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The server.
    pub server: SocketAddr,
    /// Client sockets, each with its own source port.
    pub flows: usize,
    /// Most queries sent by one call from one flow.
    pub burst: usize,
    /// Whether a burst leaves as a train that the kernel cuts into packets ([`mmsg::send_train`]). A burst then
    /// ends where the length of the queries changes: see [`QuerySet::in_runs`].
    pub trains: bool,
    /// In an open loop: queries become due all at once at multiples of this time, and the thread sleeps in between
    /// instead of asking for replies without end. Zero for queries at their times and replies timed to the
    /// microsecond. A virtual machine whose cores are all busy all the time is stopped by its host again and again.
    pub gather: Duration,
    /// Replies later than this are lost.
    pub timeout: Duration,
    /// 99 % of the queries must leave within this of their planned time, or the schedule was not kept.
    pub lateness_max: Duration,
}

/// How queries are paced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// So many queries a second, evenly.
    Open {
        /// Queries a second, above 0.
        rate: f64,
    },
    /// So many queries outstanding.
    Closed {
        /// At least 1.
        window: u64,
    },
}

/// One trial.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// How queries are paced.
    pub pace: Pace,
    /// Length of the sending phase at most.
    pub seconds: f64,
    /// Queries at most.
    pub queries_max: u64,
}

/// A load generator with its sockets open.
pub struct Generator<'q> {
    settings: Settings,
    queries: &'q QuerySet,
    flows: Flows,
    epoll: Epoll,
    send_batch: Batch,
    receive_batch: Batch,
    train: Vec<u8>,
    next_query: usize,
    next_flow: usize,
    /// Size of the last reply to each query, 0 where none came.
    sizes: Vec<u16>,
}

impl<'q> Generator<'q> {
    /// Opens the sockets.
    pub fn new(settings: Settings, queries: &'q QuerySet) -> Result<Generator<'q>, Error> {
        let fault = |cause| Error::Socket { address: settings.server, action: "make sockets towards", cause };
        let flows = Flows::open(settings.server, settings.flows)?;
        let epoll = Epoll::new(EVENTS).map_err(fault)?;
        for flow in 0..flows.count() {
            epoll.add(flows.socket(flow), flow as u64).map_err(fault)?;
        }
        Ok(Generator {
            settings,
            queries,
            flows,
            epoll,
            send_batch: Batch::new(settings.burst, QUERY_OCTETS_MAX),
            receive_batch: Batch::new(settings.burst.max(64), REPLY_OCTETS),
            train: Vec::new(),
            next_query: 0,
            next_flow: 0,
            sizes: vec![0; queries.count()],
        })
    }

    /// Runs one trial and waits for its last replies.
    pub fn run(&mut self, trial: Trial) -> Result<Outcome, Error> {
        self.flows.clear();
        let drops = own_drops();
        let steal = Steal::new();
        let mut running = Running { start: Instant::now(), last_reply_ns: 0, outcome: Outcome::default() };
        match trial.pace {
            Pace::Open { rate } => self.open_loop(&mut running, rate, trial)?,
            Pace::Closed { window } => self.closed_loop(&mut running, window, trial)?,
        }
        let sending_seconds = running.start.elapsed().as_secs_f64();
        running.outcome.seconds = sending_seconds;
        if matches!(trial.pace, Pace::Closed { .. }) {
            running.outcome.planned_seconds = sending_seconds;
        }
        self.drain(&mut running)?;
        let mut outcome = running.outcome;
        outcome.stolen_share = steal.share();
        outcome.finished_seconds = running.last_reply_ns as f64 / 1e9;
        outcome.lateness_ns_max = self.settings.lateness_max.as_nanos() as u64;
        outcome.own_drops = own_drops().saturating_sub(drops);
        if outcome.received == 0 && outcome.refused > 0 {
            return Err(Error::Refused { address: self.settings.server });
        }
        Ok(outcome)
    }

    /// Size of the last reply to each query of the set, in its order; 0 where none came.
    pub fn sizes(&self) -> &[u16] {
        &self.sizes
    }

    fn open_loop(&mut self, running: &mut Running, rate: f64, trial: Trial) -> Result<(), Error> {
        let interval_ns = 1e9 / rate;
        let end_ns = (trial.seconds * 1e9) as u64 + GRACE_NS;
        let planned = ((trial.seconds * rate) as u64).min(trial.queries_max).max(1);
        let gather_ns = (self.settings.gather.as_nanos() as u64).max(1);
        running.outcome.planned = planned;
        running.outcome.planned_seconds = (planned - 1) as f64 / rate;
        loop {
            let now_ns = running.now_ns();
            let sent = running.outcome.sent;
            if now_ns >= end_ns || sent == planned {
                return Ok(());
            }
            let due_ns = now_ns - now_ns % gather_ns;
            let due = ((due_ns as f64 / interval_ns) as u64 + 1).min(planned).saturating_sub(sent);
            if due > 0 {
                self.send(running, due, |number| (number as f64 * interval_ns) as u64)?;
            }
            let ready = self.receive(running, 0)?;
            if due + ready == 0 && !self.settings.gather.is_zero() {
                let next_ns = due_ns + gather_ns;
                std::thread::sleep(Duration::from_nanos(next_ns.saturating_sub(running.now_ns())));
            }
        }
    }

    fn closed_loop(&mut self, running: &mut Running, window: u64, trial: Trial) -> Result<(), Error> {
        let end_ns = (trial.seconds * 1e9) as u64;
        let timeout_ns = self.settings.timeout.as_nanos() as u64;
        // In order of sending; an entry leaves when its query is answered or given up.
        let mut waiting: VecDeque<(usize, u16, u64)> = VecDeque::new();
        let mut given_up = 0;
        loop {
            let now_ns = running.now_ns();
            let outcome = &running.outcome;
            if now_ns >= end_ns || outcome.sent >= trial.queries_max {
                running.outcome.planned = outcome.sent;
                return Ok(());
            }
            while let Some(&(flow, id, sent_ns)) = waiting.front() {
                if self.flows.is_waiting(flow, id) {
                    if now_ns - sent_ns < timeout_ns {
                        break;
                    }
                    self.flows.answered(flow, id);
                    given_up += 1;
                }
                waiting.pop_front();
            }
            let outstanding = outcome.sent - outcome.received - outcome.late - outcome.overrun - given_up;
            let room = window.saturating_sub(outstanding).min(trial.queries_max - outcome.sent);
            if room > 0 {
                let (flow, first) = (self.next_flow, self.flows.id(self.next_flow, 0));
                let sent = self.send(running, room, |_| now_ns)?;
                waiting.extend((0..sent).map(|ahead| (flow, first.wrapping_add(ahead as u16), now_ns)));
            }
            self.receive(running, if room > 0 { 0 } else { WAIT_MS })?;
        }
    }

    /// Waits until every query has its reply, or the time-out.
    fn drain(&mut self, running: &mut Running) -> Result<(), Error> {
        let until = Instant::now() + self.settings.timeout;
        while running.outcome.received + running.outcome.late < running.outcome.sent && Instant::now() < until
        {
            self.receive(running, WAIT_MS)?;
        }
        Ok(())
    }

    /// Sends up to `due` queries, one burst from one flow at most; `planned` tells the time of the query of a
    /// number. Returns how many went out.
    fn send(
        &mut self,
        running: &mut Running,
        due: u64,
        planned: impl Fn(u64) -> u64,
    ) -> Result<usize, Error> {
        let flow = self.next_flow;
        let most = (self.send_batch.count() as u64).min(due) as usize;
        let result =
            if self.settings.trains { self.send_train(flow, most) } else { self.send_batch(flow, most) };
        let sent = self.judge(running, result)?;
        let now_ns = running.now_ns();
        for _ in 0..sent {
            let planned_ns = planned(running.outcome.sent);
            running.outcome.overrun += u64::from(self.flows.sent(flow, planned_ns, self.next_query as u32));
            running.outcome.sent += 1;
            running.outcome.lateness.saturating_record(now_ns.saturating_sub(planned_ns).max(1));
            self.next_query =
                if self.next_query + 1 < self.queries.count() { self.next_query + 1 } else { 0 };
        }
        self.next_flow = if flow + 1 < self.flows.count() { flow + 1 } else { 0 };
        Ok(sent)
    }

    /// Sends the next `count` queries as packets of their own; returns how many went out.
    fn send_batch(&mut self, flow: usize, count: usize) -> io::Result<usize> {
        let mut query = self.next_query;
        for slot in 0..count {
            let packet = self.queries.packet(query);
            let room = self.send_batch.slot_mut(slot);
            room[..packet.len()].copy_from_slice(packet);
            room[..2].copy_from_slice(&self.flows.id(flow, slot).to_be_bytes());
            self.send_batch.set_length(slot, packet.len());
            query = self.after(query);
        }
        self.send_batch.send(self.flows.socket(flow), 0, count)
    }

    /// Sends the next queries as one train, up to `most` and up to a change of their length; returns how many.
    fn send_train(&mut self, flow: usize, most: usize) -> io::Result<usize> {
        let octets = self.queries.packet(self.next_query).len();
        let (mut query, mut count) = (self.next_query, 0);
        self.train.clear();
        while count < most.min(mmsg::TRAIN_MAX) && self.queries.packet(query).len() == octets {
            self.train.extend_from_slice(&self.flows.id(flow, count).to_be_bytes());
            self.train.extend_from_slice(&self.queries.packet(query)[2..]);
            query = self.after(query);
            count += 1;
        }
        mmsg::send_train(self.flows.socket(flow), &self.train, octets as u16)?;
        Ok(count)
    }

    /// The index of the query after one, round and round.
    fn after(&self, query: usize) -> usize {
        if query + 1 < self.queries.count() { query + 1 } else { 0 }
    }

    /// Takes replies from the sockets that have some, and says how many sockets had; waits for the first for up to
    /// `wait_ms`.
    fn receive(&mut self, running: &mut Running, wait_ms: i32) -> Result<u64, Error> {
        let address = self.settings.server;
        let fault = |cause| Error::Socket { address, action: "receive from", cause };
        let ready = self.epoll.wait(wait_ms).map_err(fault)?;
        for event in 0..ready {
            let flow = self.epoll.token(event) as usize;
            let result = self.receive_batch.receive(self.flows.socket(flow), false, false);
            let count = self.judge(running, result)?;
            let now_ns = running.now_ns();
            for slot in 0..count {
                self.take_reply(running, flow, slot, now_ns);
            }
        }
        Ok(ready as u64)
    }

    fn take_reply(&mut self, running: &mut Running, flow: usize, slot: usize, now_ns: u64) {
        let outcome = &mut running.outcome;
        let reply = self.receive_batch.datagram(slot);
        if reply.len() < 12 || reply[2] & 0x80 == 0 {
            outcome.wrong += 1;
            return;
        }
        let id = u16::from_be_bytes([reply[0], reply[1]]);
        let Some(waiting) = self.flows.answered(flow, id) else {
            outcome.stray += 1;
            return;
        };
        let length = self.receive_batch.length(slot);
        let latency_ns = now_ns.saturating_sub(waiting.planned_ns).max(1);
        if u128::from(latency_ns) > self.settings.timeout.as_nanos() {
            outcome.late += 1;
            return;
        }
        running.last_reply_ns = now_ns;
        outcome.received += 1;
        outcome.octets += length as u64;
        outcome.truncated += u64::from(reply[2] >> 1 & 1);
        outcome.rcodes[usize::from(reply[3] & 15)] += 1;
        outcome.latency.saturating_record(latency_ns);
        self.sizes[waiting.query as usize] = u16::try_from(length).unwrap_or(u16::MAX);
        if outcome.received.is_multiple_of(CHECK_EACH) {
            let query = self.queries.packet(waiting.query as usize);
            outcome.wrong += u64::from(!same_question(query, reply));
        }
    }

    /// Sorts the errors of a socket call: those that pass are counted and mean nothing moved.
    fn judge(&self, running: &mut Running, result: io::Result<usize>) -> Result<usize, Error> {
        let error = match result {
            Ok(count) => return Ok(count),
            Err(error) => error,
        };
        match (error.kind(), error.raw_os_error()) {
            (io::ErrorKind::ConnectionRefused, _) => running.outcome.refused += 1,
            (io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted, _) | (_, Some(libc::ENOBUFS)) => {
                running.outcome.blocked += 1;
            }
            _ => {
                return Err(Error::Socket { address: self.settings.server, action: "talk to", cause: error });
            }
        }
        Ok(0)
    }
}

/// State of a trial under way.
struct Running {
    start: Instant,
    last_reply_ns: u64,
    outcome: Outcome,
}

impl Running {
    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }
}

/// Whether a reply repeats the question of the query, letter case included. Servers may leave the question away
/// where the query was damaged; ours are not.
fn same_question(query: &[u8], reply: &[u8]) -> bool {
    let Ok((_, rest)) = wire::Name::split_from(&query[12..]) else { return false };
    let end = query.len() - rest.len() + 4;
    reply.len() >= end && reply[4..6] == query[4..6] && reply[12..end] == query[12..end]
}

/// Datagrams the network namespace of this process dropped for want of socket buffer, of all sockets. 0 where the
/// system does not tell.
fn own_drops() -> u64 {
    let text = std::fs::read_to_string("/proc/self/net/snmp").unwrap_or_default();
    let mut lines = text.lines().filter(|line| line.starts_with("Udp:"));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    let column = names.split(' ').position(|name| name == "RcvbufErrors");
    column.and_then(|column| values.split(' ').nth(column)?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
