//! A week of updates as the history of zones: what is old goes, and the disk's use should stay.

use std::path::Path;
use std::time::Duration;

use redb::{Durability, TableDefinition};

use crate::{Outcome, UPDATE_OCTETS, processor_time, written};

const ZONES: u32 = 100;
/// Versions of a zone that 64 KiB hold.
const VERSIONS: u32 = 65536 / UPDATE_OCTETS as u32;
/// One update a second, of one zone after the other.
const UPDATES_A_DAY: u32 = 86_400;
const DAYS: u32 = 7;
/// What the historian appends at a time.
const BATCH: u32 = 64;
/// Batches between two that are made durable: what a checkpoint does.
const BATCHES_A_CHECKPOINT: u32 = 10;

const HISTORY: TableDefinition<'static, (u32, u32), &'static [u8]> = TableDefinition::new("history");

trait Store {
    fn name(&self) -> &'static str;
    /// Appends versions `from..from + BATCH` of all zones in turn, and drops those that are too old.
    fn append(&mut self, from: u32, is_durable: bool) -> Outcome;
}

fn of_number(number: u32) -> (u32, u32) {
    (number % ZONES, number / ZONES)
}

struct Redb(redb::Database);

impl Store for Redb {
    fn name(&self) -> &'static str {
        "redb"
    }

    fn append(&mut self, from: u32, is_durable: bool) -> Outcome {
        let mut transaction = self.0.begin_write()?;
        transaction.set_durability(if is_durable { Durability::Immediate } else { Durability::None })?;
        {
            let mut table = transaction.open_table(HISTORY)?;
            for (zone, version) in (from..from + BATCH).map(of_number) {
                table.insert((zone, version), &[0x5a; UPDATE_OCTETS][..])?;
                if version >= VERSIONS {
                    table.remove((zone, version - VERSIONS))?;
                }
            }
        }
        Ok(transaction.commit()?)
    }
}

struct Fjall(fjall::Database, fjall::Keyspace);

impl Store for Fjall {
    fn name(&self) -> &'static str {
        "fjall"
    }

    fn append(&mut self, from: u32, is_durable: bool) -> Outcome {
        let key = |zone: u32, version: u32| (u64::from(zone) << 32 | u64::from(version)).to_be_bytes();
        let mut batch = self.0.batch().durability(is_durable.then_some(fjall::PersistMode::SyncData));
        for (zone, version) in (from..from + BATCH).map(of_number) {
            batch.insert(&self.1, key(zone, version), [0x5a; UPDATE_OCTETS]);
            if version >= VERSIONS {
                batch.remove(&self.1, key(zone, version - VERSIONS));
            }
        }
        Ok(batch.commit()?)
    }
}

/// Two files a zone, at most half of the bound each.
struct Ours(std::path::PathBuf);

impl Store for Ours {
    fn name(&self) -> &'static str {
        "two files a zone"
    }

    fn append(&mut self, from: u32, is_durable: bool) -> Outcome {
        use std::io::Write;
        let half = VERSIONS / 2;
        for (zone, version) in (from..from + BATCH).map(of_number) {
            let which = if version / half % 2 == 0 { "a" } else { "b" };
            let mut options = std::fs::OpenOptions::new();
            let path = self.0.join(format!("{zone}.{which}"));
            let mut file = options.append(true).create(true).open(path)?;
            if version % half == 0 {
                file.set_len(0)?;
            }
            file.write_all(&[0x5a; UPDATE_OCTETS + 32])?;
        }
        if is_durable {
            rustix::fs::syncfs(std::fs::File::open(&self.0)?)?;
        }
        Ok(())
    }
}

/// Octets of all files below, as blocks on the disk.
fn disk_use(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(metadata) = path.metadata() else { return 0 };
    let below = std::fs::read_dir(path).into_iter().flatten().flatten();
    metadata.blocks() * 512 + below.map(|entry| disk_use(&entry.path())).sum::<u64>()
}

pub fn run(folder: &Path) -> Outcome {
    std::fs::create_dir_all(folder.join("history"))?;
    let fjall = fjall::Database::builder(folder.join("history/fjall")).open()?;
    let updates = fjall.keyspace("history", fjall::KeyspaceCreateOptions::default)?;
    std::fs::create_dir_all(folder.join("history/ours"))?;
    let stores: [(&str, Box<dyn Store>); 3] = [
        ("redb", Box::new(Redb(redb::Database::create(folder.join("history/redb"))?))),
        ("fjall", Box::new(Fjall(fjall, updates))),
        ("ours", Box::new(Ours(folder.join("history/ours")))),
    ];
    for (file, mut store) in stores {
        let (mut cpu, mut octets): (Duration, u64) = (processor_time(), written());
        let mut number = 0;
        for day in 1..=DAYS {
            let mut batches = 0;
            while number < day * UPDATES_A_DAY {
                batches += 1;
                store.append(number, batches % BATCHES_A_CHECKPOINT == 0)?;
                number += BATCH;
            }
            println!(
                "{:<18} day {day}: {:>6} KiB on the disk, {:>6.0} octets written and {:>5.1} us an update",
                store.name(),
                disk_use(&folder.join("history").join(file)) / 1024,
                (written() - octets) as f64 / f64::from(UPDATES_A_DAY),
                (processor_time() - cpu).as_secs_f64() * 1e6 / f64::from(UPDATES_A_DAY)
            );
            (cpu, octets) = (processor_time(), written());
        }
    }
    Ok(())
}
