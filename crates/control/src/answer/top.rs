//! What is said to who looks at the server from moment to moment.

use std::thread;
use std::time::{Duration, Instant};

use net::WorkerCounters;
use observe::times::{self, PERCENTS};
use observe::top::{Looked, Most};

use super::Failure;
use super::stats::{paths, rcode_name};
use super::status::uptime_seconds;
use crate::command::{
    Count, Frequent, FrequentEntry, Percentile, TimeRange, Took, Top, TopAsked, WorkerCounts,
};
use crate::controller::{Controller, ZoneNumbers};
use crate::metrics::Readings;
use crate::recursion::Recursion;

/// How many of each kind are said: more than a screen has, so that a filter finds something.
const ENTRIES: usize = 100;

/// Longest look before the answer: who asks holds one of few seats meanwhile.
pub(super) const LOOK_SECONDS_MAX: u64 = 60;

/// How often a longer look looks, so that what it looks at goes on.
const LOOK_PAUSE: Duration = Duration::from_secs(1);

/// The server now, or after so many seconds in which it was looked who asks.
pub(super) fn top(controller: &Controller, seconds: u64) -> Result<Top, Failure> {
    let until = Instant::now() + Duration::from_secs(seconds.min(LOOK_SECONDS_MAX));
    loop {
        let asked = controller.observing.look(controller, ENTRIES)?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Top { asked: said(asked), ..numbers(controller, &Readings::of(controller)) });
        }
        thread::sleep(left.min(LOOK_PAUSE));
    }
}

/// Who asks for what: of nothing yet where nobody has looked for a while.
pub(crate) fn asked(controller: &Controller) -> Result<TopAsked, String> {
    Ok(said(controller.observing.look(controller, ENTRIES)?))
}

/// What was read just now, without who asks.
pub(crate) fn numbers(controller: &Controller, readings: &Readings) -> Top {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let rcodes = readings.rcodes().into_iter().enumerate().filter(|(_, responses)| *responses > 0);
    let told = ("told", controller.observing.octets() as u64);
    Top {
        version: env!("CARGO_PKG_VERSION").into(),
        pid: std::process::id(),
        uptime_seconds: uptime_seconds(controller),
        clock_seconds: now.tv_sec as f64 + now.tv_nsec as f64 / 1e9,
        cpu_seconds: readings.process.cpu_seconds,
        queries: paths(&readings.transport).map(named).to_vec(),
        rcodes: rcodes.map(|(code, responses)| count(&rcode_name(code), responses)).collect(),
        transport: readings.transport.each().map(named).collect(),
        limited: readings.limited.each().map(named).collect(),
        workers: readings.workers.iter().map(worker).collect(),
        zones: zones(&readings.zones),
        resolver: readings.recursed.iter().flat_map(|recursed| recursed.each().map(named)).collect(),
        resolver_status: controller.recursion.as_deref().map(Recursion::status),
        memory: readings.memory.iter().chain([&told]).map(|(name, octets)| count(name, *octets)).collect(),
        resident_octets: readings.process.resident_octets,
        types: readings.types.iter().map(|(name, queries)| count(name, *queries)).collect(),
        asked: TopAsked::default(),
    }
}

fn count(name: &str, count: u64) -> Count {
    Count { name: name.replace('_', "-"), count, help: String::new() }
}

/// One that is declared with a help, which is read once a second and is to be short.
fn named((name, _, number): (&str, &str, u64)) -> Count {
    count(name, number)
}

fn worker(counts: &WorkerCounters) -> WorkerCounts {
    WorkerCounts {
        queries: counts.udp_queries + counts.tcp_queries,
        udp_queries: counts.udp_queries,
        udp_batches: counts.udp_batches,
        udp_receive_overflows: counts.udp_receive_overflows,
        tcp_open: counts.tcp_open,
    }
}

fn zones(numbers: &ZoneNumbers) -> Vec<Count> {
    let ZoneNumbers { served, absent, broken, stale, .. } = *numbers;
    vec![count("served", served), count("absent", absent), count("broken", broken), count("stale", stale)]
}

fn said(looked: Looked) -> TopAsked {
    let Looked { counted_for, samples, one_in, names, missing, failed, clients, zones, took } = looked;
    let [names, missing, failed, clients, zones] = [names, missing, failed, clients, zones].map(frequent);
    let (seconds, took) = (counted_for.as_secs_f64(), took_of(took));
    TopAsked { seconds, samples, one_in, names, missing, failed, clients, zones, took }
}

fn took_of(took: times::Took) -> Took {
    let microseconds = |time: Option<Duration>| time.map(|time| time.as_nanos() as f64 / 1e3);
    let percentiles = PERCENTS.into_iter().zip(took.percentiles);
    let ranges = took.ranges.into_iter();
    Took {
        answers: took.count,
        percentiles: percentiles
            .map(|(percent, time)| Percentile { percent, microseconds: microseconds(time) })
            .collect(),
        ranges: ranges.map(|(end, answers)| TimeRange { microseconds: microseconds(end), answers }).collect(),
    }
}

fn frequent(Most { sum, each }: Most) -> Frequent {
    let entry =
        |one: observe::top::Counted| FrequentEntry { key: one.key, count: one.count, error: one.error };
    Frequent { sum, most: each.into_iter().map(entry).collect() }
}
