//! One thread of a generator: its own sockets, queries in flight and counts, shared with nobody while a trial runs.

use std::time::{Duration, Instant};

use super::{Link, Outcome, Pace, Settings, Share, Stop, Trial, book::Book, pace::Schedule, udp::Udp};
use crate::{Error, query::QuerySet};

/// Longest a closed loop waits before it looks at the clock again.
const WAIT_MS: i32 = 1;
/// How much longer than planned an open loop may take to send its last queries: a generator that is put aside for a
/// moment just before the end shall show it as lateness, one that cannot keep up shall still end.
const GRACE_NS: u64 = 100_000_000;

/// A worker with its sockets open.
pub struct Worker<'q> {
    settings: Settings,
    share: Share,
    book: Book<'q>,
    link: Box<dyn Link + Send>,
    /// Planned times of queries that are due and not sent yet.
    due_ns: Vec<u64>,
}

impl<'q> Worker<'q> {
    /// Opens the sockets of a worker.
    pub fn new(settings: &Settings, queries: &'q QuerySet, share: Share) -> Result<Worker<'q>, Error> {
        let flows = share.of(settings.flows as u64).max(1) as usize;
        let link = Box::new(Udp::open(settings, flows)?);
        let timeout_ns = settings.timeout.as_nanos() as u64;
        let book = Book::new(queries, share.worker, share.workers, link.flows(), timeout_ns);
        Ok(Worker { settings: settings.clone(), share, book, link, due_ns: Vec::new() })
    }

    /// Runs this worker's part of a trial from `start` on, and waits for its last replies. Ends early once `stop`.
    pub fn run(&mut self, trial: &Trial, start: Instant, stop: &Stop<'_>) -> Result<Outcome, Error> {
        let closed = matches!(trial.pace, Pace::Closed { .. });
        self.book.begin(start, closed);
        std::thread::sleep(start.saturating_duration_since(Instant::now()));
        match trial.pace {
            Pace::Open { rate } => self.open_loop(Schedule::even(rate, trial, self.share), trial, stop)?,
            Pace::Closed { window } => self.closed_loop(window, trial, stop)?,
        }
        self.book.outcome.seconds = self.book.now_ns() as f64 / 1e9;
        if closed {
            self.book.outcome.planned_seconds = self.book.outcome.seconds;
        }
        self.drain(stop)?;
        Ok(self.book.end())
    }

    /// Size of the last reply to each query of the set, in its order; 0 where none came.
    pub fn sizes(&self) -> &[u16] {
        self.book.sizes()
    }

    fn open_loop(&mut self, mut schedule: Schedule, trial: &Trial, stop: &Stop<'_>) -> Result<(), Error> {
        let end_ns = (trial.seconds * 1e9) as u64 + GRACE_NS;
        let gather_ns = (self.settings.gather.as_nanos() as u64).max(1);
        self.due_ns.clear();
        loop {
            let now_ns = self.book.now_ns();
            let left = schedule.left() + self.due_ns.len() as u64;
            if now_ns >= end_ns || left == 0 || stop.is_set() {
                self.book.outcome.planned = self.book.outcome.sent + left;
                let last_ns = if left == 0 { schedule.last_ns() } else { end_ns - GRACE_NS };
                self.book.outcome.planned_seconds = last_ns as f64 / 1e9;
                return Ok(());
            }
            let due_ns = now_ns - now_ns % gather_ns;
            while self.due_ns.len() < self.link.burst() {
                let Some(planned_ns) = schedule.take_due(due_ns) else { break };
                self.due_ns.push(planned_ns);
            }
            let due = self.due_ns.len();
            if due > 0 {
                let sent = self.link.send(&mut self.book, &self.due_ns)?;
                self.due_ns.drain(..sent);
            }
            let ready = self.link.receive(&mut self.book, 0)?;
            if due as u64 + ready == 0 && !self.settings.gather.is_zero() {
                let next_ns = due_ns + gather_ns;
                std::thread::sleep(Duration::from_nanos(next_ns.saturating_sub(self.book.now_ns())));
            }
        }
    }

    fn closed_loop(&mut self, window: u64, trial: &Trial, stop: &Stop<'_>) -> Result<(), Error> {
        let end_ns = (trial.seconds * 1e9) as u64;
        // Workers beyond the size of the window have nothing to do; the others send all queries.
        let workers = self.share.workers.min(usize::try_from(window).unwrap_or(usize::MAX));
        let share = Share { workers, ..self.share };
        if share.worker >= workers {
            return Ok(());
        }
        let (window, queries_max) = (share.of(window), share.of(trial.queries_max));
        loop {
            let now_ns = self.book.now_ns();
            let sent = self.book.outcome.sent;
            if now_ns >= end_ns || sent >= queries_max || stop.is_set() {
                self.book.outcome.planned = sent;
                return Ok(());
            }
            self.book.give_up(now_ns);
            let room = window.saturating_sub(self.book.outstanding()).min(queries_max - sent);
            if room > 0 {
                let count = room.min(self.link.burst() as u64) as usize;
                self.due_ns.clear();
                self.due_ns.resize(count, now_ns);
                self.link.send(&mut self.book, &self.due_ns)?;
            }
            self.link.receive(&mut self.book, if room > 0 { 0 } else { WAIT_MS })?;
        }
    }

    /// Waits until every query has its reply, or the time-out.
    fn drain(&mut self, stop: &Stop<'_>) -> Result<(), Error> {
        let until = Instant::now() + self.settings.timeout;
        let outcome = |worker: &Worker| worker.book.outcome.received + worker.book.outcome.late;
        while outcome(self) < self.book.outcome.sent && Instant::now() < until && !stop.is_set() {
            self.link.receive(&mut self.book, WAIT_MS)?;
        }
        Ok(())
    }
}
