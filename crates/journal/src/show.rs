//! What is in a journal, in lines for people, and what is wrong with it: `zonda journal show` and `verify`. Nothing is changed.
//!
//! ```text
//! anchor | log/ | checkpoint-N.delta | history/
//! ```

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use wire::Name;

use crate::anchor::{Anchor, Content, Kind};
use crate::checkpoint::Checkpoint;
use crate::disk::Disk;
use crate::history::History;
use crate::log::{OpenError, Options, Recovery};
use crate::record::{Asked, Body, Record};

/// The folder of the history.
pub const HISTORY_FOLDER: &str = "history";
/// Octets that are read at a time.
const READ_OCTETS: usize = 64 << 10;

/// Takes lines of text.
pub type Lines<'l> = &'l mut dyn FnMut(String);

/// What a record says, in a line without its place.
fn describe(record: &Record<'_>) -> String {
    let Record { zone, serial_before, serial_after, time, .. } = record;
    let what = match record.body {
        Body::Difference { removed, added } => {
            format!(
                "serial {serial_before} to {serial_after}, {} octets removed, {} added",
                removed.len(),
                added.len()
            )
        }
        Body::Contents(records) => format!("serial {serial_after}, all records: {} octets", records.len()),
        Body::Pack { number, checksum } => {
            format!("serial {serial_after}, in pack {number} with checksum {checksum:016x}")
        }
        Body::AtRest { checksum, .. } => {
            format!("serial {serial_after}, at rest in the pack with checksum {checksum:016x}")
        }
        Body::Removed => "no longer served".to_owned(),
        Body::Damaged(b"") => "what was lost of it is given up".to_owned(),
        Body::Damaged(fault) => format!("damaged: {}", String::from_utf8_lossy(fault)),
        Body::Checked { time, expiry } => format!("current at {time}, expires {expiry} s later"),
        Body::Asked(Asked { zones, .. }) => {
            let together = if zones == 1 { String::new() } else { format!(", one of {zones} zones") };
            format!("serial {serial_before} to {serial_after} by a request with an Idempotency-Key{together}")
        }
    };
    format!("{zone} at {time}: {what}")
}

/// Shows the groups of a log and their records; those of one zone alone where one is given. Groups that are lost come first.
pub fn show_log(recovery: &Recovery, zone: Option<&Name>, lines: Lines<'_>) -> io::Result<()> {
    recovery.lost().iter().for_each(|lost| lines(lost.to_string()));
    recovery.describe(&mut |group| {
        let is_wanted = |record: &&Record<'_>| zone.is_none_or(|zone| record.zone.eq_ignore_case(zone));
        let records: Vec<&Record<'_>> = group.records.iter().filter(is_wanted).collect();
        if zone.is_none() || !records.is_empty() {
            let count = group.records.len();
            lines(format!(
                "group {}: {count} records, {} octets; {}",
                group.number, group.octets, group.place
            ));
        }
        records.iter().for_each(|record| lines(format!("  {}", describe(record))));
    })
}

/// Shows the versions of a zone that its history has.
pub fn show_history(history: &History, zone: &Name, lines: Lines<'_>) -> io::Result<()> {
    for version in history.list(zone)? {
        let crate::history::Listed { group, before, after, time, octets } = version;
        lines(format!("{zone} at {time}: serial {before} to {after}, {octets} octets, of group {group}"));
    }
    Ok(())
}

/// Reads anchor, log, checkpoints and history of a journal. A line for each fault; none: all is well. Packs are not looked at: their
/// checksums are their readers'.
pub fn verify(disk: &Arc<dyn Disk>, folder: &Path, options: Options, lines: Lines<'_>) -> io::Result<()> {
    let anchor = match Anchor::open(Arc::clone(disk), folder) {
        Ok(anchor) => anchor.content().cloned(),
        Err(error) => {
            lines(error.to_string());
            None
        }
    };
    if let Some(content) = &anchor {
        verify_checkpoints(&**disk, folder, content, lines);
    }
    let start = anchor.as_ref().map(Content::start).unwrap_or_default();
    match Recovery::open(Arc::clone(disk), folder, options, start) {
        Ok(recovery) => recovery.lost().iter().for_each(|lost| lines(lost.to_string())),
        Err(OpenError::Io(path, error)) => lines(format!("{}: {error}", path.display())),
        Err(error) => lines(error.to_string()),
    }
    let history = History::new(Arc::clone(disk), &folder.join(HISTORY_FOLDER));
    for zone in history.zones()? {
        history.verify(&zone)?.into_iter().for_each(&mut *lines);
    }
    Ok(())
}

/// Reads all octets of all checkpoints that an anchor names.
fn verify_checkpoints(disk: &dyn Disk, folder: &Path, anchor: &Content, lines: Lines<'_>) {
    for mark in anchor.files.iter().filter(|mark| mark.kind == Kind::Checkpoint) {
        let mut checkpoint = match Checkpoint::open(disk, folder, mark, &anchor.identity) {
            Ok(checkpoint) => checkpoint,
            Err(error) => {
                lines(error.to_string());
                continue;
            }
        };
        let mut is_sound = true;
        loop {
            match checkpoint.next_entry() {
                Ok(Some(mut entry)) => {
                    let mut octets = [0; READ_OCTETS];
                    while match entry.read(&mut octets) {
                        Ok(count) => count > 0,
                        Err(_) => {
                            is_sound = false;
                            lines(entry.damaged().to_string());
                            false
                        }
                    } {}
                }
                Ok(None) => break,
                Err(error) => {
                    is_sound = false;
                    lines(error.to_string());
                }
            }
        }
        if is_sound && checkpoint.checksum() != mark.checksum {
            let name = folder.join(crate::checkpoint::file_name(mark.number));
            lines(format!("{}: whole, but not the one that the anchor names", name.display()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::PathBuf;

    use super::*;
    use crate::checkpoint::{Head, Writer};
    use crate::disk::simulated::Simulated;
    use crate::history::{BOUND_OCTETS_MIN, Bound};
    use crate::log::tests::{OPTIONS, append, begin, entry, name};

    fn folder() -> PathBuf {
        PathBuf::from("journal")
    }

    /// A journal with two zones in all its parts.
    fn journal() -> (Simulated, Arc<dyn Disk>) {
        let simulated = Simulated::new(1);
        let disk: Arc<dyn Disk> = Arc::new(simulated.clone());
        let open = || Recovery::open(Arc::clone(&disk), &folder(), OPTIONS, Default::default());
        let mut log = begin(open().expect("a log"));
        let history = History::new(Arc::clone(&disk), &folder().join(HISTORY_FOLDER));
        history.begin(&log.identity(), 0).expect("readable");
        for serial in 1..=5 {
            let entries = [entry(1, serial - 1, serial, b"abc"), entry(2, serial - 1, serial, b"def")];
            let group = append(&mut log, &[&entries[0], &entries[1]]);
            entries.into_iter().for_each(|entry| history.push(group, Arc::new(entry)));
        }
        history.flush(&|_| Bound { octets: BOUND_OCTETS_MIN, versions: 100 }).expect("a disk that works");
        let mut writer =
            Writer::create(Arc::clone(&disk), &folder(), 1, &log.identity()).expect("a checkpoint");
        for zone in 1..=2 {
            let head = Head { zone: name(zone), kind: 1, pack: 1, pack_checksum: 1, group: 3, serial: 2 };
            let mut entry = writer.begin(head);
            entry.write_all(&[7; 500]).expect("written");
            entry.end().expect("written");
        }
        let mark = writer.finish().expect("finished");
        let files = vec![mark];
        let content = Content { identity: log.identity(), first: 4, known: 3, epoch: 1, time: 0, files };
        Anchor::open(Arc::clone(&disk), &folder()).expect("none").write(&content).expect("written");
        (simulated, disk)
    }

    fn faults(disk: &Arc<dyn Disk>) -> Vec<String> {
        let mut found = Vec::new();
        verify(disk, &folder(), OPTIONS, &mut |line| found.push(line)).expect("readable");
        found
    }

    #[test]
    fn all_is_shown_and_one_zone_alone() {
        let (_, disk) = journal();
        let recovery = Recovery::open(Arc::clone(&disk), &folder(), OPTIONS, Default::default());
        let recovery = recovery.expect("a log");
        let (mut all, mut one) = (Vec::new(), Vec::new());
        show_log(&recovery, None, &mut |line| all.push(line)).expect("readable");
        show_log(&recovery, Some(&name(2)), &mut |line| one.push(line)).expect("readable");
        assert_eq!((all.len(), one.len()), (6 + 10, 5 + 5), "{all:#?}");
        assert!(
            one[1].contains("z2.example. at 1800000000: serial 0 to 1, 0 octets removed, 3 added"),
            "{}",
            one[1]
        );
        assert!(one[0].starts_with("group 2: 2 records"), "{}", one[0]);
        let history = History::new(Arc::clone(&disk), &folder().join(HISTORY_FOLDER));
        let mut versions = Vec::new();
        show_history(&history, &name(1), &mut |line| versions.push(line)).expect("readable");
        assert_eq!(versions.len(), 5);
        assert!(versions[4].contains("serial 4 to 5, 3 octets, of group 6"), "{}", versions[4]);
    }

    #[test]
    fn each_fault_has_a_line_with_its_place() {
        let (simulated, disk) = journal();
        assert_eq!(faults(&disk), Vec::<String>::new());
        let path = folder().join("checkpoint-1.delta");
        simulated.damage(&path, 200, |octets| octets[0] ^= 1);
        let found = faults(&disk);
        assert!(found.len() == 1 && found[0].contains("octet 128: what it has of z1.example."), "{found:?}");
        let segment = folder().join("00000002.seg");
        let segment = if simulated.content(&segment).is_some_and(|octets| octets[0] != 0) {
            segment
        } else {
            panic!("another segment")
        };
        simulated.damage(&segment, 4096 + 60, |octets| octets[0] ^= 1);
        let found = faults(&disk);
        assert!(found.iter().any(|line| line.contains("00000002.seg, octet 4096")), "{found:?}");
        let history = History::new(Arc::clone(&disk), &folder().join(HISTORY_FOLDER));
        assert_eq!(history.zones().expect("readable").len(), 2);
        let mut folders = simulated.names(&folder().join(HISTORY_FOLDER)).expect("names");
        folders.retain(|name| name != "mark");
        let below = folder().join(HISTORY_FOLDER).join(&folders[0]);
        let file = below.join(&simulated.names(&below).expect("names")[0]);
        simulated.damage(&file, 97, |octets| octets[0] ^= 1);
        let found = faults(&disk);
        assert!(found.iter().any(|line| line.contains(".a")), "{found:?}");
        simulated.damage(&folder().join("anchor"), 20, |octets| octets[0] ^= 1);
        assert!(faults(&disk).iter().any(|line| line.contains("anchor: neither page is whole")));
    }
}
