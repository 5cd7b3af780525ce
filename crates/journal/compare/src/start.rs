//! How long a start reads a log.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use journal::log::{Options, Urgency};
use journal::{Body, Entry, Recovery};

use crate::{Outcome, UPDATE_OCTETS};

/// Updates of a group: what waits during a sync on a busy server.
const GROUP: usize = 64;

fn open(folder: &Path) -> Result<Recovery, journal::log::OpenError> {
    Recovery::open(Arc::new(journal::disk::System), folder, Options::default(), Default::default())
}

/// Fills a log, and reads it: with its octets in the memory of the system.
pub fn run(folder: &Path, mib: u64) -> Outcome {
    let folder = folder.join("start");
    let mut log = open(&folder)?.begin();
    log.decide()?;
    let zone: wire::NameBuf = "example.com".parse().map_err(|_| "no name")?;
    let half = [7; UPDATE_OCTETS / 2];
    let entry = Entry::new(&zone, 1, 2, 3, Body::Difference { removed: &half, added: &half })?;
    while log.status().octets < mib << 20 {
        log.append(&[&entry; GROUP], Urgency::Ordinary)?;
        while log.prepare()? {}
    }
    for _ in 0..5 {
        let began = Instant::now();
        let recovery = open(&folder)?;
        let opened = began.elapsed();
        let (mut records, mut octets) = (0, 0);
        recovery.replay(&mut |_, record| {
            records += 1;
            if let Body::Difference { removed, added } = record.body {
                octets += removed.len() + added.len();
            }
        })?;
        println!(
            "{mib} MiB: opened after {opened:?}, {records} records of {octets} octets after {:?}",
            began.elapsed()
        );
    }
    Ok(())
}
