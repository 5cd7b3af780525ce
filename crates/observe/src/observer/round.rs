//! What the observer's thread has, and a round of it: all rings are read, and each consumer is told what it wants of that.

use std::io;
use std::time::{Duration, Instant};

use net::{TapRecord, Tapped, is_in_sample};
use sync::Random;
use sync::tap::{Reader, Tap, Wants};

use super::{Consumer, SLOTS, Slot};
use crate::join::{Join, Row, Takers};
use crate::pace::Pace;
use crate::told::{Exchanged, Outcome, Told};

/// Records of one ring at a time: so that no worker's has to become full while another's is read.
const RECORDS_A_TURN: usize = 1024;

sync::counters! {
    /// Live counters of the observer; its thread is the only writer.
    pub(super) live Live;
    /// What was counted of the tap.
    pub values Counts;

    /// Records of queries, late responses and ends that were read.
    read,
    /// Records that found no room in the ring of their worker.
    lost_in_rings,
    /// Queries that wait for their response and had to go for others, or whose end was lost.
    lost_queries,
    /// Late responses and ends whose query was not there any more.
    without_query,
    /// Times that the thread which reads met a fault of its own: nobody was told of queries until it was started again.
    faults,
}

/// A worker's ring, and its queries that wait.
struct Worker {
    reader: Reader,
    join: Join,
}

/// Everything.
#[derive(Default)]
pub(super) struct Parts {
    workers: Vec<Worker>,
    consumers: Consumers,
    pace: Option<Pace>,
    record: Vec<u8>,
    /// What the rings were asked for last.
    asked: Option<Wants>,
}

#[derive(Default)]
struct Consumers {
    each: [Option<Box<dyn Consumer>>; SLOTS],
    /// One in so many, of each; 0 where there is none.
    one_in: [u32; SLOTS],
    /// Who wants what is asked of others too.
    others: [bool; SLOTS],
    random: Option<Random>,
}

/// What a consumer wants of queries; 0: there is none.
fn one_in(consumer: Option<&dyn Consumer>) -> u32 {
    consumer.map_or(0, |consumer| consumer.wants().one_in.max(1))
}

impl Parts {
    pub(super) fn consumer(&self, slot: Slot) -> Option<&dyn Consumer> {
        self.consumers.each[slot as usize].as_deref()
    }

    pub(super) fn replace(
        &mut self,
        slot: Slot,
        consumer: Option<Box<dyn Consumer>>,
    ) -> Option<Box<dyn Consumer>> {
        self.consumers.one_in[slot as usize] = one_in(consumer.as_deref());
        self.consumers.others[slot as usize] =
            consumer.as_ref().is_some_and(|consumer| consumer.wants().others);
        std::mem::replace(&mut self.consumers.each[slot as usize], consumer)
    }

    /// What all consumers together want; `None`: there is none.
    pub(super) fn wants(&self) -> Option<Wants> {
        let wants = self.consumers.each.iter().flatten().map(|consumer| consumer.wants());
        wants.reduce(|one, other| Wants {
            one_in: one.one_in.min(other.one_in),
            query_octets: one.query_octets.max(other.query_octets),
            response_octets: one.response_octets.max(other.response_octets),
            others: one.others | other.others,
        })
    }

    pub(super) fn has_consumers(&self) -> bool {
        self.consumers.each.iter().any(Option::is_some)
    }

    pub(super) fn is_urgent(&self) -> bool {
        self.consumers.each.iter().flatten().any(|consumer| consumer.is_urgent())
    }

    /// Becomes the reader of all rings, or wants something else of them.
    pub(super) fn attach(&mut self, taps: &[Tap], wants: Wants, ring_octets: usize) -> io::Result<()> {
        if self.consumers.random.is_none() {
            self.consumers.random = Some(Random::from_system()?);
        }
        self.pace.get_or_insert_with(|| Pace::new(ring_octets, Instant::now()));
        self.asked = Some(wants);
        if self.workers.len() == taps.len() {
            self.workers.iter_mut().for_each(|worker| worker.reader.change(wants));
            return Ok(());
        }
        self.detach();
        for tap in taps {
            let reader = tap.attach(wants).ok_or(io::ErrorKind::ResourceBusy)?;
            self.workers.push(Worker { reader, join: Join::default() });
        }
        Ok(())
    }

    pub(super) fn detach(&mut self) {
        self.workers.clear();
    }

    /// Reads all rings once. How long may be slept until the next round, if so.
    pub(super) fn round(&mut self, counts: &Live) -> Option<Duration> {
        let (mut most, mut is_busy) = (0, false);
        for worker in &mut self.workers {
            let (records, octets) = worker.read(&mut self.consumers, &mut self.record, counts);
            most = most.max(octets);
            is_busy |= records == RECORDS_A_TURN;
        }
        let now = Instant::now();
        self.consumers.each.iter_mut().flatten().for_each(|consumer| consumer.hand_over(now));
        self.follow();
        let pause = self.pace.as_mut().map(|pace| pace.pause(most, now));
        pause.filter(|_| !is_busy)
    }

    /// Does what consumers want now: some go, others want more or less than before.
    fn follow(&mut self) {
        for (consumer, rate) in self.consumers.each.iter_mut().zip(&mut self.consumers.one_in) {
            if let Some(mut over) = consumer.take_if(|consumer| consumer.is_over()) {
                over.flush();
            }
            *rate = one_in(consumer.as_deref());
        }
        let wants = self.wants();
        if wants != self.asked {
            self.asked = wants;
            match wants {
                Some(wants) => self.workers.iter_mut().for_each(|worker| worker.reader.change(wants)),
                None => self.detach(),
            }
        }
    }

    /// Reads until nothing is left, but no longer than this.
    pub(super) fn read_until(&mut self, until: Instant, counts: &Live) {
        loop {
            let records = self
                .workers
                .iter_mut()
                .map(|worker| worker.read(&mut self.consumers, &mut self.record, counts).0)
                .sum::<usize>();
            if records == 0 || Instant::now() >= until {
                return;
            }
        }
    }

    pub(super) fn flush(&mut self) {
        self.consumers.each.iter_mut().flatten().for_each(|consumer| consumer.flush());
    }
}

impl Worker {
    /// Reads some records; how many, and what they took of the ring.
    fn read(&mut self, consumers: &mut Consumers, record: &mut Vec<u8>, counts: &Live) -> (usize, usize) {
        let (mut records, mut octets) = (0, 0);
        while records < RECORDS_A_TURN && self.reader.read(record) {
            records += 1;
            octets += size_of::<u64>() + record.len().next_multiple_of(size_of::<u64>());
            // The writer is ours: what cannot be read is a fault of its own, and no reason to stop.
            let Some(record) = TapRecord::read(record) else { continue };
            self.tell(&record, consumers, counts);
        }
        counts.read.add(records as u64);
        (records, octets)
    }

    /// Tells consumers of a record, with the query where that came before.
    fn tell(&mut self, record: &TapRecord<'_>, consumers: &mut Consumers, counts: &Live) {
        if let Some(exchanged) = Exchanged::of(record) {
            return consumers.tell_exchanged(&exchanged);
        }
        let mut told = Told::of(record);
        match (record.outcome, record.row) {
            (Tapped::Later, Some(at)) => {
                let takers = consumers.draw(record.one_in);
                consumers.tell(takers, &told);
                if let Some(asked) = told.asked {
                    counts.lost_queries.add(self.join.put(at, Row::new(at, &told, asked, takers)));
                }
            }
            (Tapped::LateResponse | Tapped::Ended, Some(at)) => match self.join.take(at) {
                Some(row) => {
                    (told.asked, told.query_octets, told.query) =
                        (Some(row.asked), row.query_octets, &*row.query);
                    consumers.tell(row.takers, &told);
                }
                None => {
                    counts.without_query.add(1);
                    // An end by itself says nothing that anybody could use.
                    if told.outcome == Outcome::AnsweredLate {
                        let takers = consumers.draw(record.one_in);
                        consumers.tell(takers, &told);
                    }
                }
            },
            _ => {
                let takers = consumers.draw(record.one_in);
                consumers.tell(takers, &told);
            }
        }
    }
}

impl Consumers {
    /// Which of them take a query that was told as one in `told`: each as often as it wants queries, by chance and not every so many, as that would take the same
    /// client again and again.
    fn draw(&mut self, told: u32) -> Takers {
        let mut slots = 0;
        for (slot, wanted) in self.one_in.into_iter().enumerate().filter(|(_, wanted)| *wanted > 0) {
            let is_taken = wanted <= told
                || self
                    .random
                    .as_mut()
                    .is_some_and(|random| random.below(u64::from(wanted)) < u64::from(told.max(1)));
            slots |= u8::from(is_taken) << slot;
        }
        // Nobody takes more than it wants: each of those stands for as many as it leaves out, or as the ring did.
        Takers { slots, times: self.one_in.map(|wanted| wanted.max(told)) }
    }

    /// Tells those who want it, each of its own sample: see [`is_in_sample`].
    fn tell_exchanged(&mut self, exchanged: &Exchanged<'_>) {
        for (slot, consumer) in self.each.iter_mut().enumerate() {
            let is_wanted = self.others[slot] && is_in_sample(exchanged.message, self.one_in[slot]);
            if let Some(consumer) = consumer.as_mut().filter(|_| is_wanted) {
                consumer.take_exchanged(exchanged);
            }
        }
    }

    fn tell(&mut self, takers: Takers, told: &Told<'_>) {
        for (slot, consumer) in self.each.iter_mut().enumerate() {
            if let Some(consumer) = consumer.as_mut().filter(|_| takers.slots & 1 << slot != 0) {
                consumer.take(&Told { one_in: takers.times[slot].max(1), ..*told });
            }
        }
    }
}
