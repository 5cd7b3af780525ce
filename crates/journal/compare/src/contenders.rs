//! Those that make updates durable.

use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use redb::TableDefinition;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// One that returns from `commit` when the updates are durable.
pub trait Contender {
    fn name(&self) -> &'static str;
    fn commit(&mut self, updates: &[&[u8]]) -> Result<()>;
}

const PAGE_OCTETS: usize = 4096;
const SEGMENT_OCTETS: usize = 4 << 20;
/// Updates that stores of others keep: as many as the log has between two checkpoints, or so.
const KEPT: u64 = 50_000;

/// In the order in which they have their turns.
pub fn all(folder: &Path) -> Result<Vec<Box<dyn Contender>>> {
    Ok(vec![
        Box::new(Limit::new(&folder.join("limit"), false)?),
        Box::new(Limit::new(&folder.join("limit-dsync"), true)?),
        Box::new(Ours::new(folder)?),
        Box::new(Journal::new(&folder.join("journal"))?),
        Box::new(Handed::new(folder)?),
        Box::new(Redb::new(&folder.join("redb"))?),
        Box::new(Fjall::new(&folder.join("fjall"))?),
    ])
}

/// A file of zeros on the disk.
fn zeros(path: &Path, is_dsync: bool) -> Result<File> {
    let flags = if is_dsync { rustix::fs::OFlags::DSYNC.bits() as i32 } else { 0 };
    std::fs::write(path, vec![0; SEGMENT_OCTETS])?;
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
    file.sync_all()?;
    Ok(file)
}

/// A write of whole pages and a sync, whatever the updates are.
struct Limit {
    file: File,
    at: usize,
    is_dsync: bool,
}

impl Limit {
    fn new(path: &Path, is_dsync: bool) -> Result<Limit> {
        Ok(Limit { file: zeros(path, is_dsync)?, at: 0, is_dsync })
    }
}

impl Contender for Limit {
    fn name(&self) -> &'static str {
        if self.is_dsync { "limit, O_DSYNC" } else { "limit, pwrite + fdatasync" }
    }

    fn commit(&mut self, updates: &[&[u8]]) -> Result<()> {
        let octets = updates.iter().map(|update| update.len()).sum::<usize>().next_multiple_of(PAGE_OCTETS);
        self.at = if self.at + octets > SEGMENT_OCTETS { 0 } else { self.at };
        self.file.write_all_at(&vec![1; octets], self.at as u64)?;
        self.at += octets;
        if !self.is_dsync {
            self.file.sync_data()?;
        }
        Ok(())
    }
}

/// Groups with a head, records and a checksum at multiples of a page, in segments that are used again with a new head.
struct Ours {
    segments: Vec<File>,
    current: usize,
    at: usize,
    number: u64,
    buffer: Vec<u8>,
}

/// Two lanes of multiply and fold: as much work as the checksum of the format.
fn checksum(octets: &[u8]) -> u64 {
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let word = |chunk: &[u8]| u64::from_le_bytes(chunk.try_into().unwrap_or_default());
    octets
        .chunks_exact(16)
        .fold(1, |sum: u64, chunk| fold(sum ^ word(&chunk[..8]), word(&chunk[8..]) | 1).wrapping_add(sum))
}

impl Ours {
    fn new(folder: &Path) -> Result<Ours> {
        let segments: Result<_> =
            (0..8).map(|each| zeros(&folder.join(format!("ours-{each}")), false)).collect();
        Ok(Ours { segments: segments?, current: 0, at: PAGE_OCTETS, number: 1, buffer: Vec::new() })
    }
}

impl Contender for Ours {
    fn name(&self) -> &'static str {
        "this format"
    }

    fn commit(&mut self, updates: &[&[u8]]) -> Result<()> {
        self.number += 1;
        self.buffer.clear();
        self.buffer.resize(32, 0);
        for update in updates {
            self.buffer.extend_from_slice(&(update.len() as u64).to_le_bytes());
            self.buffer.extend_from_slice(&[7; 48]);
            self.buffer.extend_from_slice(update);
            self.buffer.resize(self.buffer.len().next_multiple_of(8), 0);
        }
        self.buffer.resize(self.buffer.len().next_multiple_of(PAGE_OCTETS), 0);
        self.buffer[8..16].copy_from_slice(&self.number.to_le_bytes());
        let sum = black_box(checksum(&self.buffer));
        self.buffer[..8].copy_from_slice(&sum.to_le_bytes());
        if self.at + self.buffer.len() > SEGMENT_OCTETS {
            self.current = (self.current + 1) % self.segments.len();
            self.segments[self.current].write_all_at(&[3; PAGE_OCTETS], 0)?;
            self.at = PAGE_OCTETS;
        }
        self.segments[self.current].write_all_at(&self.buffer, self.at as u64)?;
        self.at += self.buffer.len();
        Ok(self.segments[self.current].sync_data()?)
    }
}

/// The same by a thread of its own, which is told of the updates and tells back.
struct Handed {
    updates: Sender<Vec<Vec<u8>>>,
    replies: Receiver<bool>,
}

impl Handed {
    fn new(folder: &Path) -> Result<Handed> {
        let folder = folder.join("handed");
        std::fs::create_dir_all(&folder)?;
        let mut ours = Ours::new(&folder)?;
        let ((updates, incoming), (outgoing, replies)) = (channel::<Vec<Vec<u8>>>(), channel());
        std::thread::spawn(move || {
            for updates in incoming {
                let updates: Vec<&[u8]> = updates.iter().map(Vec::as_slice).collect();
                let _ = outgoing.send(ours.commit(&updates).is_ok());
            }
        });
        Ok(Handed { updates, replies })
    }
}

impl Contender for Handed {
    fn name(&self) -> &'static str {
        "this format, own thread"
    }

    fn commit(&mut self, updates: &[&[u8]]) -> Result<()> {
        self.updates.send(updates.iter().map(|update| update.to_vec()).collect())?;
        if self.replies.recv()? { Ok(()) } else { Err("the thread could not write".into()) }
    }
}

/// One file, a copy-on-write tree.
struct Redb {
    database: redb::Database,
    number: u64,
}

const UPDATES: TableDefinition<'static, u64, &'static [u8]> = TableDefinition::new("updates");

impl Redb {
    fn new(path: &Path) -> Result<Redb> {
        let database = redb::Database::create(path)?;
        Ok(Redb { database, number: 0 })
    }
}

impl Contender for Redb {
    fn name(&self) -> &'static str {
        "redb 4.6"
    }

    fn commit(&mut self, updates: &[&[u8]]) -> Result<()> {
        let transaction = self.database.begin_write()?;
        {
            let mut table = transaction.open_table(UPDATES)?;
            for update in updates {
                self.number += 1;
                table.insert(self.number, *update)?;
                if self.number > KEPT {
                    table.remove(self.number - KEPT)?;
                }
            }
        }
        Ok(transaction.commit()?)
    }
}

/// A log-structured store.
struct Fjall {
    database: fjall::Database,
    updates: fjall::Keyspace,
    number: u64,
}

impl Fjall {
    fn new(path: &Path) -> Result<Fjall> {
        let database = fjall::Database::builder(path).open()?;
        let updates = database.keyspace("updates", fjall::KeyspaceCreateOptions::default)?;
        Ok(Fjall { database, updates, number: 0 })
    }
}

impl Contender for Fjall {
    fn name(&self) -> &'static str {
        "fjall 3.1"
    }

    fn commit(&mut self, updates: &[&[u8]]) -> Result<()> {
        let mut batch = self.database.batch().durability(Some(fjall::PersistMode::SyncData));
        for update in updates {
            self.number += 1;
            batch.insert(&self.updates, self.number.to_be_bytes(), *update);
            if self.number > KEPT {
                batch.remove(&self.updates, (self.number - KEPT).to_be_bytes());
            }
        }
        Ok(batch.commit()?)
    }
}

/// The log of this project, through its committer.
struct Journal {
    committer: Arc<journal::Committer<()>>,
    zone: wire::NameBuf,
    serial: u32,
    failed: Arc<AtomicBool>,
    /// Makes segments ahead.
    _preparer: journal::log::Preparer,
}

struct Told(Arc<AtomicBool>);

impl journal::Outcome<()> for Told {
    fn committed(&self, _: u64, _: Vec<()>) {}

    fn refused(&self, _: Vec<()>, _: journal::Refusal) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn condition(&self, _: &journal::commit::Condition) {}
}

impl Journal {
    fn new(folder: &Path) -> Result<Journal> {
        let disk = Arc::new(journal::disk::System);
        let recovery = journal::Recovery::open(disk, folder, Default::default(), Default::default())?;
        let mut log = recovery.begin();
        log.decide()?;
        let failed = Arc::new(AtomicBool::new(false));
        let committer = Arc::new(journal::Committer::new(log, Box::new(Told(Arc::clone(&failed)))));
        let after = Arc::downgrade(&committer);
        let preparer = committer.with_log(|log| {
            log.start_preparer(move || {
                if let Some(committer) = after.upgrade() {
                    committer.run();
                }
            })
        })?;
        let zone = "example.com".parse().map_err(|_| "no name")?;
        Ok(Journal { committer, zone, serial: 0, failed, _preparer: preparer })
    }
}

impl Contender for Journal {
    fn name(&self) -> &'static str {
        "crates/journal"
    }

    fn commit(&mut self, updates: &[&[u8]]) -> Result<()> {
        let generation = self.committer.generation();
        for update in updates {
            self.serial += 1;
            let body = journal::Body::Difference { removed: &update[..150], added: &update[150..] };
            let entry = journal::Entry::new(&self.zone, self.serial - 1, self.serial, 0, body)?;
            let queued = self.committer.enqueue(generation, Some(Arc::new(entry)), ());
            drop(queued.map_err(|refused| refused.why)?);
        }
        self.committer.run();
        let waiting = self.committer.condition().1;
        // What a checkpoint does: the segments before are free.
        let status = self.committer.status();
        if status.segments_used > 20 {
            self.committer.release(status.next);
        }
        while waiting > 0 && self.committer.condition().1 > 0 {
            std::thread::yield_now();
        }
        if self.failed.load(Ordering::Relaxed) { Err("refused".into()) } else { Ok(()) }
    }
}
