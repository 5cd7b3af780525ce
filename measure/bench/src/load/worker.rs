//! One thread of a generator: its own sockets, queries in flight and counts, shared with nobody while a trial runs.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use super::{
    Link, Outcome, Pace, Settings, Share, Stop, Trial, book::Book, expect::Answer, pace::Schedule,
    progress::Publisher, tcp::Tcp, udp::Udp, window::Window,
};
use crate::{Error, machine::thread_time, query::QuerySet};

/// Longest a closed loop waits before it looks at the clock again.
const WAIT_MS: i32 = 1;
/// How much longer than planned an open loop may take to send its last queries: a generator that is put aside for a
/// moment just before the end shall show it as lateness, one that cannot keep up shall still end.
const GRACE_NS: u64 = 100_000_000;
/// A server that never answered and whose host says that nobody listens is not there: so long after the start that a
/// server which is just being started has its chance.
const REFUSED_NS: u64 = 300_000_000;
/// After so long without any reply, and after twice the time-out, a server is not there.
const SILENT_NS: u64 = 2_000_000_000;
/// A worker gives up a silent server only after so many queries: some may be lost.
const SILENT_QUERIES: u64 = 10;

/// A closed loop is limited by its worker if the worker was running for this share of the time at least, ...
const BUSY_SHARE: f64 = 0.95;
/// ... had its window full in no more than this share of its turns, ...
const FULL_SHARE: f64 = 0.1;
/// ... and the loop lasted so long: in a shorter one the start counts for too much.
const LIMITED_NS: u64 = 500_000_000;

/// A worker with its sockets open.
pub struct Worker<'q> {
    settings: Settings,
    share: Share,
    book: Book<'q>,
    link: Box<dyn Link + Send>,
    /// Planned times of queries that are due and not sent yet.
    due_ns: Vec<u64>,
    /// Some worker had a reply.
    answered: bool,
}

impl<'q> Worker<'q> {
    /// Opens the sockets of a worker.
    pub fn new(
        settings: &Settings,
        queries: &'q QuerySet,
        share: Share,
        publisher: Option<Publisher>,
    ) -> Result<Worker<'q>, Error> {
        let link: Box<dyn Link + Send> = match settings.tcp {
            Some(tcp) => Box::new(Tcp::new(settings, tcp, share)?),
            None => Box::new(Udp::open(settings, share)?),
        };
        let book = Book::new(settings, queries, share, link.flows(), publisher);
        Ok(Worker { settings: settings.clone(), share, book, link, due_ns: Vec::new(), answered: false })
    }

    /// Makes ready for a trial: opens connections, where there are some.
    pub fn prepare(&mut self, trial: &Trial) -> Result<(), Error> {
        self.book.begin(Instant::now(), trial.pace.is_closed());
        self.book.divide(self.share);
        self.link.begin(&mut self.book)
    }

    /// Runs this worker's part of a trial from `start` on, and waits for its last replies. Ends early once `stop`.
    pub fn run(&mut self, trial: &Trial, start: Instant, stop: &Stop<'_>) -> Result<Outcome, Error> {
        let closed = trial.pace.is_closed();
        self.book.start(start);
        std::thread::sleep(start.saturating_duration_since(Instant::now()));
        match trial.pace {
            Pace::Closed { window } => self.closed_loop(window, false, trial, stop)?,
            Pace::SelfPaced { window } => self.closed_loop(window, true, trial, stop)?,
            Pace::Open { .. } | Pace::Poisson { .. } | Pace::Replay { .. } => self.open_loop(trial, stop)?,
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

    /// The last answer to each query of the set, where they are recorded.
    pub fn answers(&self) -> &[Option<Answer>] {
        self.book.answers()
    }

    fn open_loop(&mut self, trial: &Trial, stop: &Stop<'_>) -> Result<(), Error> {
        if matches!(trial.pace, Pace::Replay { .. }) {
            // Times and queries belong together.
            self.book.rewind();
        }
        let recorded_ns = self.book.queries().times_ns();
        let Some(mut schedule) = Schedule::of(trial, self.share, recorded_ns) else { return Ok(()) };
        let end_ns = (trial.seconds * 1e9) as u64 + GRACE_NS;
        let gather_ns = (self.settings.gather.as_nanos() as u64).max(1);
        self.due_ns.clear();
        loop {
            let now_ns = self.book.now_ns();
            let is_over = schedule.is_done() && self.due_ns.is_empty();
            if now_ns >= end_ns || is_over || stop.is_set() {
                let last_ns = if is_over { schedule.last_ns() } else { end_ns - GRACE_NS };
                // What a trial that was ended early had not come to was not planned.
                let left = if stop.is_set() { 0 } else { schedule.left() } + self.due_ns.len() as u64;
                self.book.outcome.planned = self.book.outcome.sent + left;
                self.book.outcome.planned_seconds = last_ns as f64 / 1e9;
                return Ok(());
            }
            self.book.publish(now_ns);
            self.check_there(now_ns, stop)?;
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

    fn closed_loop(
        &mut self,
        window: u64,
        self_paced: bool,
        trial: &Trial,
        stop: &Stop<'_>,
    ) -> Result<(), Error> {
        let end_ns = (trial.seconds * 1e9) as u64;
        // Workers beyond the size of the window have nothing to do; the others send all queries.
        let workers = self.share.workers.min(usize::try_from(window).unwrap_or(usize::MAX));
        let share = Share { workers, ..self.share };
        if share.worker >= workers {
            return Ok(());
        }
        if workers != self.share.workers {
            self.book.divide(share);
        }
        let timeout_ns = self.settings.timeout.as_nanos() as u64;
        let mut window = Window::new(share.of(window), self_paced, timeout_ns);
        let queries_max = share.of(trial.queries_max);
        let processor = thread_time();
        let (mut turns, mut full_turns) = (0u64, 0u64);
        loop {
            let now_ns = self.book.now_ns();
            let sent_before = self.book.outcome.sent;
            if now_ns >= end_ns || sent_before >= queries_max || stop.is_set() {
                self.book.outcome.planned = sent_before;
                self.book.outcome.window = window.size();
                let limited = is_limit(now_ns, thread_time().saturating_sub(processor), full_turns, turns);
                self.book.outcome.workers_limited = limited.into();
                return Ok(());
            }
            self.book.publish(now_ns);
            self.check_there(now_ns, stop)?;
            let lost = self.book.give_up(now_ns);
            window.turn(now_ns, lost, self.book.outstanding());
            let room = window.size().saturating_sub(self.book.outstanding()).min(queries_max - sent_before);
            turns += 1;
            full_turns += u64::from(room == 0);
            let mut sent = 0;
            if room > 0 {
                let count = room.min(self.link.burst() as u64) as usize;
                self.due_ns.clear();
                self.due_ns.resize(count, now_ns);
                sent = self.link.send(&mut self.book, &self.due_ns)?;
            }
            if self.settings.gather.is_zero() {
                self.link.receive(&mut self.book, if room > 0 { 0 } else { WAIT_MS })?;
            } else if sent == 0 || sent as u64 == room {
                std::thread::sleep(self.settings.gather);
                self.receive_all()?;
            }
        }
    }

    /// Takes all replies that came, with an end even if they come without one.
    fn receive_all(&mut self) -> Result<(), Error> {
        for _ in 0..=self.book.outstanding() {
            if self.link.receive(&mut self.book, 0)? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Ends a trial against a server that is not there.
    fn check_there(&mut self, now_ns: u64, stop: &Stop<'_>) -> Result<(), Error> {
        if self.answered {
            return Ok(());
        }
        let (outcome, address) = (&self.book.outcome, self.settings.server);
        if outcome.received > 0 {
            stop.answered.store(true, Ordering::Relaxed);
        }
        self.answered = stop.answered.load(Ordering::Relaxed);
        let silent_ns = SILENT_NS.max(2 * self.settings.timeout.as_nanos() as u64);
        if self.answered {
            Ok(())
        } else if outcome.refused > 0 && now_ns > REFUSED_NS {
            Err(Error::Refused { address })
        } else if outcome.sent >= SILENT_QUERIES && now_ns > silent_ns {
            Err(Error::Silent { address, queries: outcome.sent, seconds: now_ns as f64 / 1e9 })
        } else {
            Ok(())
        }
    }

    /// Waits until every query has its reply, or the time-out.
    fn drain(&mut self, stop: &Stop<'_>) -> Result<(), Error> {
        let until = Instant::now() + self.settings.timeout;
        while self.book.outstanding() > 0 && Instant::now() < until && !stop.failed.load(Ordering::Relaxed) {
            self.link.receive(&mut self.book, WAIT_MS)?;
        }
        Ok(())
    }
}

/// Whether a worker was the limit of a closed loop: busy for all of its time, though its window had room.
fn is_limit(passed_ns: u64, processor: Duration, full_turns: u64, turns: u64) -> bool {
    let busy = processor.as_secs_f64() / (passed_ns.max(1) as f64 / 1e9);
    let full = full_turns as f64 / turns.max(1) as f64;
    passed_ns >= LIMITED_NS && busy >= BUSY_SHARE && full <= FULL_SHARE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits() {
        let check = |milliseconds: u64, busy, full| {
            is_limit(milliseconds * 1_000_000, Duration::from_millis(busy), full, 1000)
        };
        assert!(check(1000, 990, 0) && check(1000, 960, 100));
        assert!(!check(1000, 900, 0), "it waited");
        assert!(!check(1000, 990, 500), "the server made it wait");
        assert!(!check(100, 100, 0), "too short to tell");
        let before = thread_time();
        let until = Instant::now() + Duration::from_millis(20);
        while Instant::now() < until {}
        assert!(thread_time() > before);
    }
}
