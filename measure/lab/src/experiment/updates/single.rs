//! One update at a time in a large zone: how long until the reply, how long until it is served, and what memory it takes.
//!
//! One thread sends the update and then asks for its name again and again, one query at a time, so that both times are known to
//! within a query's way there and back.

use std::{
    io,
    net::UdpSocket,
    path::Path,
    time::{Duration, Instant},
};

use bench::{
    query::{self, Query},
    update,
};
use serde_json::json;
use wire::{Message, iana::rtype};

use crate::{
    Error,
    contender::{self, Server},
    error,
    error::ServerProblem,
    experiment::Lab,
    statistics,
};

/// How long a query's answer is waited for, before it is asked anew.
const ANSWER: Duration = Duration::from_millis(5);
/// How long an update is waited for.
const UPDATE: Duration = Duration::from_secs(10);
/// How long all of them may take beside looks at memory; no fewer than [`WATCHED`] are sent. Knot takes longer the larger a zone is.
const ALL: Duration = Duration::from_secs(15);
/// Updates after each of which memory is looked at; the first makes what all others use.
const WATCHED: usize = 10;
/// Between an update and a look at memory: what follows a commit has ended.
const PAUSE: Duration = Duration::from_millis(250);

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Single {
    /// Milliseconds from sending until the reply, one an update.
    pub replied: Vec<f64>,
    /// Until the first answer with the new name.
    pub served: Vec<f64>,
    /// From the reply until that answer; 0 where the first query that was sent after the reply had it.
    pub after_reply: Vec<f64>,
    /// Octets of memory that the first update took.
    pub memory_first: u64,
    /// The largest step of those after it.
    pub memory_worst: u64,
    /// Octets that each of all updates but the first took, on the average.
    pub memory_each: f64,
    /// The same with what is mapped of files.
    pub resident_each: f64,
}

impl Single {
    /// The median, the 99th of a hundred, the worst.
    pub fn summary(values: &[f64]) -> [f64; 3] {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        let at = |share: f64| sorted.get((last as f64 * share).round() as usize).copied().unwrap_or(0.0);
        [statistics::median(values), at(0.99), at(1.0)]
    }
}

/// Sends `count` updates to the zone `apex`, each when the one before is served.
pub fn run(lab: &mut Lab, server: &Server, apex: &str, count: usize) -> Result<Single, Error> {
    let path = lab.folder("updates")?.join("single");
    let names: Vec<String> = (0..count).map(|number| format!("lab-single-{number}.{apex}")).collect();
    write(&path, apex, &names)?;
    let script = update::Script::read(&path, None)?;
    let [updates, queries] = [(); 2].map(|()| contender::socket(&lab.bed, server.address));
    let (updates, queries) = (updates?, queries?);
    let set_up = || {
        updates.set_nonblocking(true)?;
        queries.set_read_timeout(Some(ANSWER))
    };
    set_up().map_err(|cause| Error::System { action: "set a time-out", cause })?;
    let mut found = Single::default();
    let (mut before, mut first) = (server.process.resident(), (0, 0));
    let (place, mut took) = (lab.load_place(), 0.0);
    for (number, name) in names.iter().enumerate() {
        lab.go_on()?;
        if took > ALL.as_secs_f64() * 1e3 && number > WATCHED {
            lab.note(format!("{}: {number} of {count} single updates fitted the time", server.name.text()));
            break;
        }
        let times = place.enter(|| one(&updates, &queries, script.message(number), number as u16, name));
        let times = times?.ok_or_else(|| server.fault(ServerProblem::Silent(UPDATE.as_secs_f64())))?;
        found.replied.push(times.replied);
        found.served.push(times.served);
        found.after_reply.push(if times.is_late { times.served - times.replied } else { 0.0 });
        took += times.served.max(times.replied);
        if number < WATCHED {
            std::thread::sleep(PAUSE);
            let now = server.process.resident();
            let step = now.1.saturating_sub(before.1);
            match number {
                0 => (found.memory_first, first) = (step, now),
                _ => found.memory_worst = found.memory_worst.max(step),
            }
            before = now;
        }
    }
    std::thread::sleep(PAUSE);
    let (resident, allocated) = server.process.resident();
    let more = found.served.len().saturating_sub(1).max(1) as f64;
    found.memory_each = (allocated as f64 - first.1 as f64) / more;
    found.resident_each = (resident as f64 - first.0 as f64) / more;
    let [replied, served, after] =
        [&found.replied, &found.served, &found.after_reply].map(|one| Single::summary(one));
    lab.record.raw.push(json!({
        "single_updates_to": server.name.text(), "updates": found.served.len(), "replied_ms": replied, "served_ms": served,
        "served_after_reply_ms": after, "memory_first": found.memory_first, "memory_worst": found.memory_worst,
        "memory_each": found.memory_each, "resident_each": found.resident_each,
    }));
    Ok(found)
}

/// A name and its address in each message.
fn write(path: &Path, apex: &str, names: &[String]) -> Result<(), Error> {
    let line = |name: &String| format!("update add {name} 300 A 192.0.2.1\nsend\n");
    let text = format!("zone {apex}\n{}", names.iter().map(line).collect::<String>());
    std::fs::write(path, text).map_err(error::file(path, "write"))
}

/// Milliseconds since an update was sent.
struct Times {
    replied: f64,
    served: f64,
    /// Whether a query that was sent after the reply had no such name yet.
    is_late: bool,
}

/// Nothing where one of the two did not come, or the update was refused.
fn one(
    updates: &UdpSocket,
    queries: &UdpSocket,
    message: &[u8],
    number: u16,
    name: &str,
) -> io::Result<Option<Times>> {
    let name = query::name_from_text(name).ok_or(io::ErrorKind::InvalidInput)?;
    let question = Query { name, rtype: rtype::A, edns: None, rd: false, cd: false };
    let (mut packet, mut room) = (Vec::new(), [0; 4096]);
    question.write(&mut packet);
    let mut update = message.to_vec();
    update[..2].copy_from_slice(&number.to_be_bytes());
    let (began, mut replied, mut served, mut asked, mut is_late) = (Instant::now(), None, None, 0u16, false);
    updates.send(&update)?;
    while replied.is_none() || served.is_none() {
        if began.elapsed() > UPDATE {
            return Ok(None);
        }
        if served.is_none() {
            asked = asked.wrapping_add(1);
            packet[..2].copy_from_slice(&asked.to_be_bytes());
            let is_after_reply = replied.is_some();
            queries.send(&packet)?;
            while let Ok(octets) = queries.recv(&mut room) {
                // One that came late is that of a question before.
                let Ok(answer) = Message::read(&room[..octets]) else { break };
                if answer.id() == asked {
                    if answer.flags() & 15 == 0 && answer.counts()[0] > 0 {
                        served = Some(began.elapsed());
                    } else {
                        is_late |= is_after_reply;
                    }
                    break;
                }
            }
        }
        if replied.is_none()
            && let Ok(octets) = updates.recv(&mut room)
            && let Some(&[id_high, id_low, _, code]) = room[..octets].first_chunk::<4>()
            && [id_high, id_low] == number.to_be_bytes()
        {
            if code & 15 != 0 {
                return Ok(None);
            }
            replied = Some(began.elapsed());
        }
    }
    let milliseconds = |time: Option<Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1e3);
    Ok(Some(Times { replied: milliseconds(replied), served: milliseconds(served), is_late }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_is_the_last() {
        let values: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        assert_eq!(Single::summary(&values), [50.0, 99.0, 100.0]);
        assert_eq!(Single::summary(&[]), [0.0; 3]);
    }
}
