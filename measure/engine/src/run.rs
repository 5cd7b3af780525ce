//! Answering in process: threads that ask and answer, writers, and what they count.

use std::{
    hint::black_box,
    sync::{
        Barrier,
        atomic::{AtomicU8, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use bench::random::Random;
use sync::profile;

use crate::{
    content::Content,
    memory::Memory,
    message::Query,
    outcome::Outcome,
    server::{PUBLISH_EVERY, Server, Session},
    settings::{Data, Settings},
    tally::{Began, Tally},
    writer::{self, Writes},
};

/// Queries of a batch: what a server's worker has at a time under load.
const BATCH: usize = 32;
/// Batches after which a thread with a copy of its own makes visible what it learned: about a millisecond.
const BATCHES_A_PUBLICATION: usize = 32;

/// Where a run is.
pub(crate) struct Phase(AtomicU8);

const WARM: u8 = 0;
const MEASURED: u8 = 1;
const OVER: u8 = 2;

impl Phase {
    pub(crate) fn new() -> Phase {
        Phase(AtomicU8::new(WARM))
    }

    fn now(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn is_measured(&self) -> bool {
        self.now() == MEASURED
    }

    pub(crate) fn is_over(&self) -> bool {
        self.now() == OVER
    }

    fn set(&self, phase: u8) {
        self.0.store(phase, Ordering::Relaxed);
    }
}

/// Runs threads against a server that `build` makes, one for all or one each.
pub(crate) fn run<S: Server>(
    settings: &Settings,
    content: &Content,
    build: impl Fn() -> S + Sync,
) -> Outcome {
    let memory = Memory::new(settings.memory, sync::area::AREAS_MAX);
    let asked = content.asked();
    let phase = Phase::new();
    let ready = Barrier::new(settings.threads + 1 + settings.writer_count());
    let shared = (!settings.is_own()).then(&build);
    let learns = settings.data == Data::Cache && settings.hits < 1.0;
    thread::scope(|scope| {
        let (memory, phase, ready, shared, build) = (&memory, &phase, &ready, shared.as_ref(), &build);
        let asked = &asked;
        let worker = |number: usize| {
            move || {
                let questions =
                    asked.questions(settings.names, settings.nxdomain, settings.seed + number as u64);
                // A copy of its own, for none but this thread.
                let own;
                let server = match shared {
                    Some(server) => server,
                    None => {
                        own = build();
                        &own
                    }
                };
                let mut worker =
                    Worker { settings, number, phase, publishes: shared.is_none() && learns && S::PUBLISHES };
                ready.wait();
                worker.work(server, memory, &questions)
            }
        };
        let workers: Vec<_> = (0..settings.threads).map(|number| scope.spawn(worker(number))).collect();
        let publisher = shared.filter(|_| learns && S::PUBLISHES);
        let publisher = publisher.map(|server| scope.spawn(move || publish(server, phase)));
        let write = |number| {
            shared.map(|server| {
                scope.spawn(move || writer::run(number, server, content, settings, phase, ready))
            })
        };
        let writers: Vec<_> = (0..settings.writer_count()).filter_map(write).collect();
        ready.wait();
        thread::sleep(settings.warm);
        profile::clear();
        profile::set(settings.profile || settings.waits);
        phase.set(MEASURED);
        let began = Instant::now();
        thread::sleep(settings.time);
        phase.set(OVER);
        let seconds = began.elapsed();
        profile::set(false);
        let tallies: Vec<Tally> = workers.into_iter().map(joined).collect();
        let writes = (!writers.is_empty()).then(|| Writes::of_all(writers.into_iter().map(joined)));
        let publisher_cpu = publisher.map(joined).unwrap_or_default();
        let locks = settings.profile.then(|| profile::report().summary(seconds * settings.threads as u32));
        Outcome { settings: settings.clone(), seconds, tallies, publisher_cpu, writes, locks }
    })
}

/// A panic of a thread is one of ours: nothing of it can be measured.
fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause))
}

/// Makes visible what threads learn; returns the processor time that took.
fn publish<S: Server>(server: &S, phase: &Phase) -> Duration {
    let mut began = Began::now();
    let mut is_measured = false;
    while !phase.is_over() {
        thread::sleep(PUBLISH_EVERY);
        server.publish();
        if !is_measured && phase.is_measured() {
            (is_measured, began) = (true, Began::now());
        }
    }
    began.until_now().1
}

struct Worker<'r> {
    settings: &'r Settings,
    number: usize,
    phase: &'r Phase,
    publishes: bool,
}

impl Worker<'_> {
    fn work<S: Server>(&mut self, server: &S, memory: &Memory, questions: &[Box<[u8]>]) -> Tally {
        let mut tally = Tally::default();
        let Some(mut store) = memory.store() else { return tally };
        let mut session = server.session();
        let mut random = Random::part(self.settings.seed, 100 + self.number as u64);
        // So that not all threads ask for the same at once.
        let mut at = random.index(questions.len());
        let misses = if self.settings.data == Data::Cache { 1.0 - self.settings.hits } else { 0.0 };
        let mut began = Began::now();
        let (mut is_measured, mut batches, mut unlearned) = (false, 0, 0);
        loop {
            match self.phase.now() {
                OVER => break,
                MEASURED if !is_measured => {
                    (tally, began, is_measured) = (Tally::default(), Began::now(), true);
                    unlearned = session.unlearned();
                }
                _ => {}
            }
            session.begin();
            for _ in 0..BATCH {
                at = if at + 1 < questions.len() { at + 1 } else { 0 };
                let is_miss = misses > 0.0 && random.chance(misses);
                let before =
                    (is_measured && self.settings.waits).then(|| (Instant::now(), profile::waited_here()));
                let is_answered =
                    Query::read(&questions[at]).zip(store.begin()).is_some_and(|(query, place)| {
                        let is_answered = session.answer(&query, &place, |octets| {
                            black_box(octets);
                        });
                        if is_miss {
                            session.learn(&query, random.next_u64() as u32);
                        }
                        is_answered
                    });
                tally.starved += u64::from(!is_answered);
                tally.misses += u64::from(is_miss);
                if let Some((at, waited)) = before {
                    tally.questions.record(at.elapsed());
                    tally.waits.record(profile::waited_here() - waited);
                }
            }
            session.end();
            tally.answered += BATCH as u64;
            batches += 1;
            if self.publishes && batches % BATCHES_A_PUBLICATION == 0 {
                server.publish();
            }
        }
        (tally.time, tally.cpu) = began.until_now();
        tally.answered -= tally.starved;
        tally.unlearned = session.unlearned() - unlearned;
        tally
    }
}
