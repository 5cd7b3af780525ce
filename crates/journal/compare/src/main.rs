//! What stores of others would give in place of the log and of the history, beside the format of `docs/design/journal.md` and the limit.
//!
//! ```text
//! journal-compare FOLDER log SECONDS       durable commits a second, octets written and processor time for each update
//! journal-compare FOLDER start MIB         how long a start takes to read a log of so many MiB, and to hand out its records
//! journal-compare FOLDER damage            one octet in the middle of what they stored is changed: updates that are there after that
//! journal-compare FOLDER history           a week of updates of 100 zones, of which each keeps 64 KiB: octets on the disk after each day
//! ```
//!
//! An update is 300 octets: what one that adds an address to a signed name is in the log. Blocks of all contenders take turns, so that what
//! else the machine does falls on all; medians of the blocks are shown.

mod contenders;
mod damage;
mod history;
mod start;

use std::path::Path;
use std::time::{Duration, Instant};

use contenders::Contender;
use rustix::time::{ClockId, clock_gettime};

/// Octets of an update.
const UPDATE_OCTETS: usize = 300;
/// How often each contender has its turn.
const BLOCKS: usize = 7;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// What one block has measured.
struct Block {
    updates_per_s: f64,
    octets_per_update: f64,
    cpu_us_per_update: f64,
}

/// Processor time of all threads so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Octets that the machine has written to its first disk: measure while nothing else writes. What the system counts for a process is more
/// than what is written where files have large pages in memory.
fn written() -> u64 {
    const SECTOR_OCTETS: u64 = 512;
    let text = std::fs::read_to_string("/proc/diskstats").unwrap_or_default();
    let line = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let sectors =
        line.filter(|words| words.get(1) == Some(&"0")).filter_map(|words| words.get(9)?.parse::<u64>().ok());
    sectors.max().unwrap_or(0) * SECTOR_OCTETS
}

fn run_block(
    contender: &mut dyn Contender,
    group: usize,
    time: Duration,
) -> Result<Block, Box<dyn std::error::Error>> {
    let update = [0x5a; UPDATE_OCTETS];
    let (start, cpu, octets) = (Instant::now(), processor_time(), written());
    let mut updates = 0;
    while start.elapsed() < time {
        contender.commit(&vec![&update[..]; group])?;
        updates += group;
    }
    let (elapsed, cpu, octets) = (start.elapsed(), processor_time() - cpu, written() - octets);
    Ok(Block {
        updates_per_s: updates as f64 / elapsed.as_secs_f64(),
        octets_per_update: octets as f64 / updates as f64,
        cpu_us_per_update: cpu.as_secs_f64() * 1e6 / updates as f64,
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn compare_logs(folder: &Path, time: Duration) -> Outcome {
    let mut contenders = contenders::all(folder)?;
    println!("{:<28} {:>5} {:>12} {:>10} {:>10}", "", "group", "updates/s", "octets", "cpu us");
    for group in [1, 64] {
        let mut blocks: Vec<Vec<Block>> = contenders.iter().map(|_| Vec::new()).collect();
        for _ in 0..BLOCKS {
            for (contender, blocks) in contenders.iter_mut().zip(&mut blocks) {
                blocks.push(run_block(contender.as_mut(), group, time)?);
            }
        }
        for (contender, blocks) in contenders.iter().zip(&blocks) {
            let median = |part: fn(&Block) -> f64| median(blocks.iter().map(part).collect());
            println!(
                "{:<28} {group:>5} {:>12.0} {:>10.0} {:>10.1}",
                contender.name(),
                median(|block| block.updates_per_s),
                median(|block| block.octets_per_update),
                median(|block| block.cpu_us_per_update)
            );
        }
    }
    Ok(())
}

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = arguments[1..].iter().map(String::as_str).collect();
    match words[..] {
        [folder, "log", seconds] => {
            compare_logs(Path::new(folder), Duration::from_secs_f64(seconds.parse()?))
        }
        [folder, "start", mib] => start::run(Path::new(folder), mib.parse()?),
        [folder, "damage"] => damage::run(Path::new(folder)),
        [folder, "history"] => history::run(Path::new(folder)),
        _ => Err("journal-compare FOLDER log SECONDS|start MIB|damage|history".into()),
    }
}
