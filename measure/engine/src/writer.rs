//! Changes at a rate, by one thread, as updates come to a server: serially; or by several, so that writers queue for a lock.

use std::{
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use bench::random::Random;
use serde_json::{Value, json};
use wire::{NameBuf, iana::rtype};

use crate::{content::Content, rrset::RRset, run::Phase, server::Server, settings::Settings, tally::Times};

/// Of four changes one adds a name and one takes it out again; the others replace an address.
const KINDS: u64 = 4;
/// Longest sleep of the writer, so that it ends soon after the run.
const SLEEP_MAX: Duration = Duration::from_millis(50);

/// What the writer did while it was measured.
#[derive(Clone, Debug, Default)]
pub struct Writes {
    /// Changes that were due.
    pub asked: u64,
    /// Changes made.
    pub done: u64,
    /// From when each was due to when it was made.
    pub times: Times,
}

impl Writes {
    /// Those of several writers.
    pub(crate) fn of_all(writers: impl Iterator<Item = Writes>) -> Writes {
        writers.fold(Writes::default(), |mut all, writes| {
            all.asked += writes.asked;
            all.done += writes.done;
            all.times.add(&writes.times);
            all
        })
    }

    /// As results have it.
    pub fn json(&self) -> Value {
        json!({ "asked": self.asked, "done": self.done, "us": self.times.json() })
    }
}

/// Changes a server until the run is over, as writer `number` of all.
pub(crate) fn run<S: Server>(
    number: usize,
    server: &S,
    content: &Content,
    settings: &Settings,
    phase: &Phase,
    ready: &Barrier,
) -> Writes {
    let mut writes = Writes::default();
    let addresses = content.addresses();
    ready.wait();
    let added: Option<NameBuf> = format!("update-{number}-of-an-experiment.").parse().ok();
    let Some(added) = added.filter(|_| !addresses.is_empty()) else { return writes };
    let added = RRset::new(added.octets(), rtype::A, 60, [&[192u8, 0, 2, 1][..]]);
    let mut random = Random::part(settings.seed, 1000 + number as u64);
    let period = Duration::from_secs(1) * settings.writers as u32 / settings.writes;
    let mut due = Instant::now();
    for turn in 0u64.. {
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() || phase.is_over() {
                break;
            }
            thread::sleep(left.min(SLEEP_MAX));
        }
        if phase.is_over() {
            break;
        }
        match turn % KINDS {
            0 => server.add(&added),
            1 => server.remove(&added.owner),
            _ => server.replace(&addresses[random.index(addresses.len())]),
        }
        if phase.is_measured() {
            writes.done += 1;
            writes.times.record(due.elapsed());
        }
        due += period;
    }
    let rate = f64::from(settings.writes) / settings.writers as f64;
    writes.asked = (settings.time.as_secs_f64() * rate).round() as u64;
    writes
}
