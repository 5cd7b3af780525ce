//! Many publications a second beside a worker that answers from other zones.

use std::ops::Range;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use auth::{Client, Responder, Server, Transport, inspect};
use sync::Collector;
use sync::epoch::Domain;
use wire::iana::rtype;
use zone::catalog::{CatalogReader, SlotNumber};
use zone::{Catalog, Pack};

use crate::{HEAP, Outcome, catalog, name, publish, scattered, small_packs};

/// Publications a second.
const RATE: u64 = 10_000;
/// Fewer of them are no test: the publisher was kept from its processor.
const RATE_SHARE_MIN: f64 = 0.98;
/// Zones that the worker asks for: so few that hardly two want the same place among kept answers.
const ASKED: usize = 400;
/// Zones that are published, one after the other, over and over: each twice in four seconds.
const CHANGED: usize = 20_000;
/// Queries of a batch, as a busy worker takes them from its socket.
const BATCH: usize = 64;

/// What is promised: instructions an answer with publications to those without.
const INSTRUCTIONS_RATIO_MAX: f64 = 1.02;
/// Garbage of the last third of the time to that of the first: more is growth and not chance.
const GARBAGE_RATIO_MAX: f64 = 1.25;
/// The same of the heap, which hardly changes by chance.
const HEAP_RATIO_MAX: f64 = 1.01;

/// Zones of the runs that are counted, and those that are published: callgrind takes a minute to build a million, and the
/// instructions of an answer do not depend on them.
const ZONES_COUNTED: usize = 10_000;
const CHANGED_COUNTED: usize = 2000;
/// Answers a second of the worker that is counted. The fewer, the more publications come on each; busy ones give four times as many.
const ANSWERS_A_SECOND: u64 = 100_000;
/// Rounds that are counted, of up to [`ASKED`] answers each: 100,000 answers and 10,000 publications.
const ROUNDS: usize = 250;

/// The zones that are published: their slots, and packs with each in two states.
struct Changes {
    slots: Vec<SlotNumber>,
    packs: [Vec<Arc<Pack>>; 2],
    done: usize,
}

impl Changes {
    fn new(zones: usize, slots: &[SlotNumber], count: usize) -> Result<Changes, String> {
        // The worker asks for the first zones, the others are published.
        let others = zones.checked_sub(ASKED).filter(|&others| others >= count);
        let others = others.ok_or(format!("at least {} zones are needed", ASKED + count))?;
        let numbers: Vec<usize> = scattered(others, count).iter().map(|at| ASKED + at).collect();
        let packs = [small_packs(&numbers, 2)?, small_packs(&numbers, 3)?];
        Ok(Changes { slots: numbers.iter().map(|&at| slots[at]).collect(), packs, done: 0 })
    }

    /// Publishes the next.
    fn next(&mut self, catalog: &Catalog) -> Outcome {
        let (lap, at) = (self.done / self.slots.len(), self.done % self.slots.len());
        self.done += 1;
        publish(catalog, self.slots[at], &self.packs[lap % 2][at])
    }
}

/// Answers the same queries, round for round.
struct Worker {
    queries: Vec<Vec<u8>>,
    responder: Responder,
    server: Server,
    buffer: Vec<u8>,
}

impl Worker {
    /// One that has kept its answers.
    fn new(reader: &mut CatalogReader) -> Result<Worker, String> {
        let names = (0..ASKED).map(|at| name(&format!("ns.z{at}.example")));
        let queries = names.map(|name| Ok(inspect::query(0, &name?, rtype::A, Some((1232, false)))));
        let queries = queries.collect::<Result<_, String>>()?;
        let (responder, server) = (Responder::new(), Server::default());
        let mut worker = Worker { queries, responder, server, buffer: vec![0; 1232] };
        for _ in 0..2 {
            worker.batches().for_each(|batch| worker.answer(batch, reader));
        }
        // Of those that want the same place none stays for long.
        let is_kept = |at| {
            let before = worker.responder.repeated();
            worker.answer(at..at + 1, reader);
            worker.responder.repeated() > before
        };
        let mut are_kept = (0..ASKED).map(is_kept).collect::<Vec<_>>().into_iter();
        worker.queries.retain(|_| are_kept.next() == Some(true));
        Ok(worker)
    }

    /// The queries of a round, in batches.
    fn batches(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let count = self.queries.len();
        (0..count).step_by(BATCH).map(move |at| at..count.min(at + BATCH))
    }

    /// Answers a batch. Callgrind counts what happens in here.
    #[inline(never)]
    fn answer(&mut self, batch: Range<usize>, reader: &mut CatalogReader) {
        let Worker { queries, responder, server, buffer } = self;
        let client = Client::unknown(Transport::Udp);
        reader.with(|view| {
            for query in &queries[batch] {
                responder.answer(query, view, server, &client, buffer);
            }
        });
    }
}

/// The worker and the publisher in turn, for callgrind. `rounds` 0: as many as otherwise, without publications.
pub fn counted(zones: usize, rounds: usize) -> Outcome {
    let (catalog, slots, _) = catalog(zones, false)?;
    let mut changes = Changes::new(zones, &slots, CHANGED_COUNTED.min(zones / 2))?;
    let mut reader = catalog.reader();
    let mut worker = Worker::new(&mut reader)?;
    let before = worker.responder.repeated();
    let (mut answers, is_quiet) = (0, rounds == 0);
    for _ in 0..if is_quiet { ROUNDS } else { rounds } {
        for batch in worker.batches() {
            answers += batch.len() as u64;
            while !is_quiet && (changes.done as u64) < answers * RATE / ANSWERS_A_SECOND {
                changes.next(&catalog)?;
                // What the collector does on a thread of its own.
                if changes.done % 64 == 0 {
                    catalog.domain().collect();
                }
            }
            worker.answer(batch, &mut reader);
        }
    }
    let lost = answers - (worker.responder.repeated() - before);
    println!("{answers} answers, {} publications, {lost} kept answers lost", changes.done);
    Ok(())
}

/// Instructions of the worker for an answer in a run of `counted`.
fn instructions(rounds: usize) -> Result<f64, String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*Worker*answer*"]);
    command.arg(std::env::current_exe().map_err(|error| error.to_string())?);
    command.args(["counted", &ZONES_COUNTED.to_string(), &rounds.to_string()]);
    let output = command.output().map_err(|error| format!("valgrind: {error}"))?;
    let (said, text) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let collected = text.lines().find_map(|line| line.split_once("Collected : "));
    let collected = collected.and_then(|(_, number)| number.trim().parse::<f64>().ok());
    let answers = said.split_once(" answers").and_then(|(number, _)| number.parse::<f64>().ok());
    println!("counted: {}", said.trim_end());
    collected.zip(answers).map(|(all, answers)| all / answers).ok_or(format!("callgrind says: {text}"))
}

/// What was retired and not freed yet, or taken from the allocator, at a time: octets.
#[derive(Clone, Copy, Default)]
struct Seen {
    garbage: usize,
    heap: i64,
}

/// What a worker did: answers, those that were kept, nanoseconds.
type Counts = [AtomicU64; 3];

pub fn rate(zones: usize, seconds: u64) -> Outcome {
    let [quiet, busy] = [instructions(0)?, instructions(ROUNDS)?];
    let ratio = busy / quiet;
    println!(
        "instructions an answer: {quiet:.1} without publications, {busy:.1} with {RATE} a second beside {ANSWERS_A_SECOND} answers: {ratio:.4}"
    );
    let (counts, growth, share) = publish_for(zones, seconds)?;
    let mut lost = 0;
    for (text, count) in ["without", "with"].iter().zip(&counts) {
        let [answers, kept, ns] = [0, 1, 2].map(|at| count[at].load(Ordering::Relaxed));
        println!(
            "{text} publications: {answers} answers, {} of them not kept, {:.1} ns of processor time each",
            answers - kept,
            ns as f64 / answers as f64
        );
        lost += answers - kept;
    }
    let verdicts = [
        ("the rate of publications was reached", share >= RATE_SHARE_MIN),
        ("an answer costs at most 2 % more instructions", ratio <= INSTRUCTIONS_RATIO_MAX),
        ("what is retired does not grow", growth[0] <= GARBAGE_RATIO_MAX && growth[1] <= HEAP_RATIO_MAX),
        ("no kept answer of another zone is lost", lost == 0),
    ];
    verdicts.iter().for_each(|(text, is_kept)| println!("{}: {text}", if *is_kept { "yes" } else { "NO" }));
    if verdicts.iter().all(|verdict| verdict.1) { Ok(()) } else { Err("not all is kept".into()) }
}

/// Publishes for so long beside a worker, which had a quarter of the time without. Returns its counts without and with, how garbage
/// and heap of the last third are to those of the first (medians of the most of each second: one second in which the collector gets no processor
/// says nothing of growth), and which share of the rate was reached.
fn publish_for(zones: usize, seconds: u64) -> Result<([Counts; 2], [f64; 2], f64), String> {
    let (catalog, slots, _) = catalog(zones, false)?;
    let domain = catalog.domain().clone();
    let _collector = Collector::start(std::slice::from_ref(&domain)).map_err(|error| error.to_string())?;
    let mut changes = Changes::new(zones, &slots, CHANGED)?;
    let (is_over, is_publishing) = (AtomicBool::new(false), AtomicBool::new(false));
    let counts: [Counts; 2] = Default::default();
    let worker = || work(&catalog, &is_over, &is_publishing, &counts);
    let mut publisher = || {
        // All zones in the state of small packs: from here on each publication takes as much as it gives back.
        for _ in 0..2 * CHANGED {
            changes.next(&catalog)?;
        }
        std::thread::sleep(Duration::from_secs(seconds / 4 + 1));
        is_publishing.store(true, Ordering::Relaxed);
        let seen = publish_at_rate(&catalog, &domain, &mut changes, Duration::from_secs(seconds));
        is_over.store(true, Ordering::Relaxed);
        seen
    };
    let seen = std::thread::scope(|scope| {
        let working = scope.spawn(worker);
        let seen = publisher();
        is_over.store(true, Ordering::Relaxed);
        working.join().map_err(|_| "a panic")??;
        seen
    })?;
    let share = (changes.done - 2 * CHANGED) as f64 / (RATE * seconds) as f64;
    let third = seen.len() / 3;
    if third == 0 {
        return Err("three seconds are needed".into());
    }
    let middle = |part: &[Seen], of: fn(&Seen) -> f64| {
        let mut values: Vec<f64> = part.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2].max(1.0)
    };
    let both =
        |part: &[Seen]| [middle(part, |seen| seen.garbage as f64), middle(part, |seen| seen.heap as f64)];
    let thirds = [both(&seen[..third]), both(&seen[seen.len() - third..])];
    for (text, [garbage, heap]) in ["first", "last"].iter().zip(thirds) {
        println!(
            "median second of the {text} third: {garbage} octets retired and not freed at most, heap {heap}"
        );
    }
    let worst = seen.iter().map(|seen| seen.garbage).max().unwrap_or(0);
    println!("worst second: {worst} octets retired and not freed");
    let growth = [0, 1].map(|at| thirds[1][at] / thirds[0][at]);
    println!("{:.1} % of {RATE} publications a second for {seconds} s", 100.0 * share);
    Ok((counts, growth, share))
}

/// Publishes at the rate for so long. Returns, of each second, the most of what there was.
fn publish_at_rate(
    catalog: &Catalog,
    domain: &Domain,
    changes: &mut Changes,
    span: Duration,
) -> Result<Vec<Seen>, String> {
    let (begin, first) = (Instant::now(), changes.done);
    let mut seen = Vec::new();
    while begin.elapsed() < span {
        while ((changes.done - first) as u128) < begin.elapsed().as_micros() * u128::from(RATE) / 1_000_000 {
            changes.next(catalog)?;
        }
        let at = begin.elapsed().as_secs() as usize;
        seen.resize(seen.len().max(at + 1), Seen::default());
        let now = Seen { garbage: domain.garbage().1, heap: HEAP.load(Ordering::Relaxed) };
        let most = &mut seen[at];
        *most = Seen { garbage: most.garbage.max(now.garbage), heap: most.heap.max(now.heap) };
        std::thread::sleep(Duration::from_micros(500));
    }
    seen.truncate(span.as_secs() as usize);
    Ok(seen)
}

/// The worker: answers as fast as it can.
fn work(
    catalog: &Catalog,
    is_over: &AtomicBool,
    is_publishing: &AtomicBool,
    counts: &[Counts; 2],
) -> Outcome {
    let mut reader = catalog.reader();
    let mut worker = Worker::new(&mut reader)?;
    while !is_over.load(Ordering::Relaxed) {
        let mode = usize::from(is_publishing.load(Ordering::Relaxed));
        let (begin, before) = (processor_ns(), worker.responder.repeated());
        worker.batches().for_each(|batch| worker.answer(batch, &mut reader));
        if mode == usize::from(is_publishing.load(Ordering::Relaxed)) {
            let spent =
                [worker.queries.len() as u64, worker.responder.repeated() - before, processor_ns() - begin];
            for (to, by) in counts[mode].iter().zip(spent) {
                to.fetch_add(by, Ordering::Relaxed);
            }
        }
    }
    Ok(())
}

/// Processor time of this thread, which others on the machine do not disturb much.
fn processor_ns() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0)
}
