//! What a worker keeps of a trial whatever carries its queries: which query is next, which wait for a reply, and the
//! counts.

use std::{collections::VecDeque, sync::Arc, time::Instant};

use super::{
    Outcome, Settings,
    expect::{Answer, Comparison, Expected},
    in_flight::InFlight,
    pace::Share,
    progress::Publisher,
};
use crate::query::{QUERY_OCTETS_MAX, QuerySet};

/// One reply in this many has its question compared with the query's.
pub const CHECK_EACH: u64 = 16;

/// Octets of the header of a message.
const HEADER_OCTETS: usize = 12;

/// The book of one worker. Nobody else touches it while a trial runs.
pub struct Book<'q> {
    queries: &'q QuerySet,
    worker: usize,
    /// The next query, and how far it is from there to the one after: other workers send those between.
    next_query: usize,
    stride: usize,
    in_flight: InFlight,
    /// Queries that neither were answered nor given up.
    outstanding: u64,
    /// In a closed loop: the queries in order of sending; one leaves when it is answered or given up.
    order: Option<VecDeque<(usize, u16, u64)>>,
    timeout_ns: u64,
    start: Instant,
    last_reply_ns: u64,
    /// Counts of the trial that runs.
    pub outcome: Outcome,
    /// Size of the last reply to each query that is kept in memory, 0 where none came.
    sizes: Vec<u16>,
    /// Who watches.
    publisher: Option<Publisher>,
    /// What replies are held against, and what came of it.
    expected: Option<Arc<Expected>>,
    comparison: Comparison,
    /// Last answer to each query that is kept in memory, where answers are recorded.
    answers: Vec<Option<Answer>>,
}

impl<'q> Book<'q> {
    /// Of a worker with so many flows.
    pub fn new(
        settings: &Settings,
        queries: &'q QuerySet,
        share: Share,
        flows: usize,
        publisher: Option<Publisher>,
    ) -> Book<'q> {
        let Share { worker, workers } = share;
        Book {
            queries,
            worker,
            next_query: worker % queries.count().max(1),
            stride: workers % queries.count().max(1),
            in_flight: InFlight::new(flows),
            outstanding: 0,
            order: None,
            timeout_ns: settings.timeout.as_nanos() as u64,
            start: Instant::now(),
            last_reply_ns: 0,
            outcome: Outcome::default(),
            sizes: vec![0; queries.kept()],
            publisher,
            expected: settings.expected.clone(),
            comparison: Comparison::default(),
            answers: vec![None; if settings.record_answers { queries.kept() } else { 0 }],
        }
    }

    /// Begins a trial, for now at `start`. `keep_order`: for [`Book::give_up`].
    pub fn begin(&mut self, start: Instant, keep_order: bool) {
        self.in_flight.clear();
        self.outstanding = 0;
        self.order = keep_order.then(VecDeque::new);
        self.start = start;
        self.last_reply_ns = 0;
        self.outcome = Outcome::default();
        if let Some(publisher) = &mut self.publisher {
            publisher.begin();
        }
    }

    /// Moves the start of the trial; nothing was sent yet.
    pub fn start(&mut self, start: Instant) {
        self.start = start;
    }

    /// Ends the trial.
    pub fn end(&mut self) -> Outcome {
        let mut outcome = std::mem::take(&mut self.outcome);
        outcome.finished_seconds = self.last_reply_ns as f64 / 1e9;
        let Comparison { compared, different, first } = std::mem::take(&mut self.comparison);
        (outcome.compared, outcome.different, outcome.mismatches) = (compared, different, first);
        outcome
    }

    /// Time since the start of the trial; 0 before it.
    pub fn now_ns(&self) -> u64 {
        Instant::now().saturating_duration_since(self.start).as_nanos() as u64
    }

    /// Queries that wait for a reply.
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Publishes the counts now and then; cheap enough for every turn of a loop.
    pub fn publish(&mut self, now_ns: u64) {
        if let Some(publisher) = &mut self.publisher {
            publisher.turn(now_ns, self.outcome.sent, self.outcome.received);
        }
    }

    /// The last answer to each query of the set, where they are recorded.
    pub fn answers(&self) -> &[Option<Answer>] {
        &self.answers
    }

    /// Size of the last reply to each query of the set.
    pub fn sizes(&self) -> &[u16] {
        &self.sizes
    }

    /// The index of the next query.
    pub fn next_query(&self) -> usize {
        self.next_query
    }

    /// The index of this worker's query after one.
    pub fn after(&self, query: usize) -> usize {
        let next = query + self.stride;
        if next < self.queries.count() { next } else { next - self.queries.count() }
    }

    /// All queries.
    pub fn queries(&self) -> &'q QuerySet {
        self.queries
    }

    /// Goes back to this worker's first query.
    pub fn rewind(&mut self) {
        self.next_query = self.worker % self.queries.count().max(1);
    }

    /// Lets so many workers have their part of the queries; if they were others before, from the beginning.
    pub fn divide(&mut self, share: Share) {
        let stride = share.workers % self.queries.count().max(1);
        if stride != self.stride {
            self.stride = stride;
            self.rewind();
        }
    }

    /// How many queries wait on a flow.
    pub fn waiting(&self, flow: usize) -> u32 {
        self.in_flight.waiting(flow)
    }

    /// Gives up what waits of the last `sent` queries of a flow, as it is no more.
    pub fn forget(&mut self, flow: usize, sent: u64) {
        self.outstanding -= self.in_flight.forget(flow, sent);
    }

    /// The ID of the query that will be number `ahead` from now on a flow.
    pub fn id(&self, flow: usize, ahead: usize) -> u16 {
        self.in_flight.id(flow, ahead)
    }

    /// Notes that the next queries went out on a flow at `now_ns`: one for each planned time, in ascending order.
    pub fn sent(&mut self, flow: usize, times_ns: &[u64], now_ns: u64) {
        let (Some(first), Some(last)) = (times_ns.first(), times_ns.last()) else { return };
        let lateness = &mut self.outcome.lateness;
        match first == last {
            // Those of a closed loop.
            true => lateness.saturating_record_n(now_ns.saturating_sub(*first).max(1), times_ns.len() as u64),
            false => times_ns
                .iter()
                .for_each(|time| lateness.saturating_record(now_ns.saturating_sub(*time).max(1))),
        }
        for &planned_ns in times_ns {
            if let Some(order) = &mut self.order {
                order.push_back((flow, self.in_flight.id(flow, 0), now_ns));
            }
            let overrun = self.in_flight.sent(flow, planned_ns, self.next_query as u32);
            self.outcome.overrun += u64::from(overrun);
            self.outstanding += u64::from(!overrun);
            self.next_query = self.after(self.next_query);
        }
        self.outcome.sent += times_ns.len() as u64;
    }

    /// Gives up queries that wait for longer than the time-out; returns how many. For closed loops.
    pub fn give_up(&mut self, now_ns: u64) -> u64 {
        let mut given_up = 0;
        let Some(order) = &mut self.order else { return 0 };
        while let Some(&(flow, id, sent_ns)) = order.front() {
            if self.in_flight.is_waiting(flow, id) {
                if now_ns.saturating_sub(sent_ns) < self.timeout_ns {
                    break;
                }
                self.in_flight.answered(flow, id);
                given_up += 1;
            }
            order.pop_front();
        }
        self.outstanding -= given_up;
        given_up
    }

    /// Takes a reply that came on a flow at `now_ns`: `reply` is its beginning, `octets` its whole length.
    pub fn take_reply(&mut self, flow: usize, reply: &[u8], octets: usize, now_ns: u64) {
        let outcome = &mut self.outcome;
        if reply.len() < HEADER_OCTETS || reply[2] & 0x80 == 0 {
            outcome.wrong += 1;
            return;
        }
        let id = u16::from_be_bytes([reply[0], reply[1]]);
        let Some(waiting) = self.in_flight.answered(flow, id) else {
            outcome.stray += 1;
            return;
        };
        self.outstanding -= 1;
        let latency_ns = now_ns.saturating_sub(waiting.planned_ns).max(1);
        if latency_ns > self.timeout_ns {
            outcome.late += 1;
            return;
        }
        self.last_reply_ns = now_ns;
        outcome.received += 1;
        outcome.octets += octets as u64;
        outcome.truncated += u64::from(reply[2] >> 1 & 1);
        outcome.rcodes[usize::from(reply[3] & 15)] += 1;
        outcome.latency.saturating_record(latency_ns);
        if let Some(size) = self.sizes.get_mut(waiting.query as usize) {
            *size = u16::try_from(octets).unwrap_or(u16::MAX);
        }
        if outcome.received.is_multiple_of(CHECK_EACH) {
            let mut room = [0; QUERY_OCTETS_MAX];
            let octets = self.queries.write(waiting.query as usize, &mut room);
            outcome.wrong += u64::from(!same_question(&room[..octets], reply));
        }
        if let Some(publisher) = &mut self.publisher {
            publisher.answered(latency_ns);
        }
        if let Some(answer) = self.answers.get_mut(waiting.query as usize) {
            *answer = Answer::of_reply(reply);
        }
        if let Some(expected) = &self.expected {
            let mut room = [0; QUERY_OCTETS_MAX];
            let octets = self.queries.write(waiting.query as usize, &mut room);
            self.comparison.take(expected, &room[..octets], reply);
        }
    }
}

/// Whether a reply repeats the question of the query, letter case included. Servers may leave the question away
/// where the query was damaged; ours are not.
fn same_question(query: &[u8], reply: &[u8]) -> bool {
    let Ok((_, rest)) = wire::Name::split_from(&query[HEADER_OCTETS..]) else { return false };
    let end = query.len() - rest.len() + 4;
    reply.len() >= end && reply[4..6] == query[4..6] && reply[HEADER_OCTETS..end] == query[HEADER_OCTETS..end]
}
