//! How long a change takes until it is served, and how many a second are followed: to be run by hand, on a machine that does nothing else
//! (`cargo test -p zonda-tests --test operator -- --ignored --nocapture --test-threads 1 store::followed::measured`). PostgreSQL flushes the disk at each commit, as an operator has it.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::*;
use crate::store::postgres::server;
use crate::store::served::feeder;

/// Changes one at a time.
const CHANGES: usize = 300;
/// Zones of one transaction, and of many writers.
const ZONES: usize = 10_000;
/// Of so many it is looked whether they are served by now.
const PROBES: usize = 500;
/// How long these write.
const WRITING: Duration = Duration::from_secs(10);

/// Processor time of each thread of a process, in milliseconds.
fn processor_time(pid: u32) -> BTreeMap<String, u64> {
    let mut times = BTreeMap::new();
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        let Some((head, rest)) = stat.rsplit_once(')') else { continue };
        let name = head.split_once('(').map_or("", |(_, name)| name);
        // User's and system's, in hundredths of a second.
        let of = |at: usize| rest.split(' ').nth(at).and_then(|ticks| ticks.parse::<u64>().ok()).unwrap_or(0);
        *times.entry(name.to_owned()).or_default() += 10 * (of(12) + of(13));
    }
    times
}

/// What threads took between two times, those that took something.
fn taken(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> String {
    let took = |(name, ms): (&String, &u64)| {
        let ms = ms - before.get(name).copied().unwrap_or(0).min(*ms);
        (ms >= 20).then(|| format!("{name} {ms} ms"))
    };
    after.iter().filter_map(took).collect::<Vec<_>>().join(", ")
}

/// `more`: further settings of the store.
fn with_zones(more: &str) -> (Bed, Home, Server) {
    let bed = Bed::of(server::Scratch::durable());
    bed.database.sql(&format!(
        "BEGIN; INSERT INTO zonda.zone (name) SELECT 'z' || n || '.test.' FROM generate_series(1, {ZONES}) n;
         INSERT INTO zonda.record SELECT id, name, 'SOA', 60, 'ns. host. 1 3 2 5 5' FROM zonda.zone WHERE name <> 'example.';
         INSERT INTO zonda.record SELECT id, name, 'NS', 60, 'ns.' FROM zonda.zone WHERE name <> 'example.'; COMMIT"
    ));
    let home = Home::new();
    let begun = Instant::now();
    let server = home.start(&bed.database.address(), more);
    await_told(&server, &["store"], "10,001 zones");
    await_told(&server, &["store"], "followed");
    println!("{ZONES} zones of two records: served {:?} after the start of the server", begun.elapsed());
    (bed, home, server)
}

#[test]
#[ignore = "a measurement"]
fn from_commit_to_answer() {
    let (bed, _home, server) = with_zones("");
    println!("looked each 5 ms:");
    changes_one_at_a_time(&bed, &server);
}

#[test]
#[ignore = "a measurement"]
fn from_commit_to_answer_by_notices() {
    let (bed, _home, server) = with_zones("poll-ms = 10000");
    bed.database.sql("UPDATE zonda.store SET notify = true");
    await_told(&server, &["store"], "notify      heard");
    println!("looked each 10 s, and when the database says so:");
    changes_one_at_a_time(&bed, &server);
}

fn changes_one_at_a_time(bed: &Bed, server: &Server) {
    let mut session = bed.database.session();
    let mut taken: Vec<Duration> = (0..CHANGES)
        .map(|number| {
            // At another moment of the pause each time.
            std::thread::sleep(Duration::from_micros(1_000 + 37 * number as u64));
            session.sql(&add("example.", &format!("n{number}.example.")));
            let committed = Instant::now();
            // A moment between questions, so that the processor is not theirs alone.
            while serial(server, "example.") != Some(Ok(number as u32 + 2)) {
                std::thread::sleep(Duration::from_micros(100));
            }
            committed.elapsed()
        })
        .collect();
    taken.sort();
    let at = |percent: usize| taken[(CHANGES * percent / 100).min(CHANGES - 1)];
    println!(
        "{CHANGES} changes, one at a time, from COMMIT to the answer: median {:?}, p90 {:?}, p99 {:?}, most {:?}",
        at(50),
        at(90),
        at(99),
        taken[CHANGES - 1]
    );
}

#[test]
#[ignore = "a measurement"]
fn many_at_once() {
    let (bed, home, server) = with_zones("");
    // The first change of a zone costs more than those after it.
    for round in 1..4 {
        let (begun, pids) = (Instant::now(), [server.process.pid(), feeder(&server), backend(&bed)]);
        bed.database.sql(&format!(
            "UPDATE zonda.record SET ttl = {} WHERE type = 'NS' AND owner <> 'example.'",
            60 + round
        ));
        let committed = Instant::now();
        let before = pids.map(processor_time);
        // One after the other, as looking is not to take the time of who is measured.
        for number in (1..=ZONES).step_by(ZONES / PROBES).chain([ZONES]) {
            await_serial(&server, &format!("z{number}.test."), round as u32 + 1);
        }
        let took = committed.elapsed();
        println!(
            "{ZONES} zones changed by one transaction, which took {:?}: served {took:?} later, {:.0} a second",
            committed - begun,
            ZONES as f64 / took.as_secs_f64()
        );
        for (pid, before) in pids.into_iter().zip(&before) {
            println!("  processor time: {}", taken(before, &processor_time(pid)));
        }
    }
    let script = write(
        home.folder.path(),
        "script.sql",
        &format!(
            "\\set n random(1, {ZONES})\nUPDATE zonda.record SET ttl = ttl + 1 WHERE type = 'NS' AND owner = 'z' || :n || '.test.';\n"
        ),
    );
    let before: usize = bed.history(&[]).len();
    let (address, seconds) = (bed.database.address(), WRITING.as_secs().to_string());
    let status = Command::new("pgbench")
        .args(["--no-vacuum", "--client", "8", "--protocol", "prepared", "--time", &seconds, "--file"])
        .arg(&script)
        .arg(address)
        .stdout(Stdio::null())
        .status();
    assert!(status.expect("pgbench starts").success());
    let stopped = Instant::now();
    let zones: Vec<(String, u32)> = bed
        .database
        .sql("SELECT name || ' ' || serial FROM zonda.zone WHERE name <> 'example.' ORDER BY random() LIMIT 500")
        .lines()
        .map(|line| {
            let (zone, serial) = line.split_once(' ').expect("two words");
            (zone.to_owned(), serial.parse().expect("a number"))
        })
        .collect();
    zones.iter().for_each(|(zone, serial)| await_serial(&server, zone, *serial));
    let behind = stopped.elapsed();
    let versions = bed.history(&[]).len() - before;
    println!(
        "{versions} changes by 8 writers in {WRITING:?}: {:.0} a second; all served within {behind:?} after the last",
        versions as f64 / WRITING.as_secs_f64()
    );
}
