//! Images of deltas made while zones change, so that what a start applies change by change stays short.
//!
//! ```text
//! zone with many rows since its last image --pin--> thread of the lowest priority: file, synced --> chain of the zone; others are removed
//! ```

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Instant;

use journal::Identity;
use journal::checkpoint::{Head, Writer, number_of};
use journal::commit::Condition;
use journal::disk::{Disk, System};
use wire::NameBuf;
use zone::delta::image::{Mark, NotWritten, Pinned};

use super::changer::Changer;
use super::images::{Chain, folder_of, tidy};
use super::log::Log;
use super::origin::{Anew, Origin};
use super::recover::journal_of;
use super::zone::DynamicZone;

/// Images of one delta at most: a start opens all their files.
const FILES_MAX: usize = 64;
/// What came since the image that has all may be this part of it, and as much as so many of the smallest images, before all is written anew. So a row is
/// written some eight times more at the most, and what a start puts in twice is little.
const PART: u64 = 8;
const SMALLEST: u64 = 4;

/// What is under way.
#[derive(Default)]
pub(super) struct Imaging {
    /// Zones whose images are due, the one with most rows since last.
    due: Vec<NameBuf>,
    work: Option<Receiver<Made>>,
    not_before: Option<Instant>,
}

/// An image that is to be.
struct Job {
    zone: NameBuf,
    pinned: Pinned,
    head: Head,
    said: Origin,
    chain: Option<Chain>,
    /// See [`DynamicZone::imaged`].
    beginnings: u32,
    identity: Identity,
    folder: PathBuf,
    /// Files of other zones.
    others: HashSet<u64>,
}

/// What came of one.
struct Made {
    zone: NameBuf,
    chain: Result<Chain, NotWritten>,
    /// Rows of the delta that it has.
    rows: u64,
    beginnings: u32,
}

impl Imaging {
    /// Whether images are due, as far as is known.
    pub(super) fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Finds whose images are due.
    pub(super) fn look<'z>(&mut self, zones: impl Iterator<Item = &'z DynamicZone>, rows_min: u64) {
        let mut due: Vec<(u64, &DynamicZone)> = zones
            .map(|zone| (zone.rows_to_apply(), zone))
            .filter(|(rows, zone)| *rows >= rows_min && zone.said().is_some() && zone.is_based)
            .collect();
        due.sort_unstable_by_key(|(rows, _)| *rows);
        self.due = due.into_iter().map(|(_, zone)| zone.name().to_owned()).collect();
    }

    /// Has the image of a zone be the next one, if it is due. The list is made anew at the next look, so it has each zone a few times at the most.
    pub(super) fn ask(&mut self, zone: &DynamicZone, rows_min: u64) {
        if zone.rows_to_apply() >= rows_min && self.due.last().is_none_or(|last| **last != *zone.name()) {
            self.due.push(zone.name().to_owned());
        }
    }
}

impl Changer {
    /// Takes the image that was made, and begins the next one.
    pub(super) fn make_images(&mut self, now: Instant) {
        self.take_image(now);
        let is_ready = self.imaging.work.is_none() && self.imaging.not_before.is_none_or(|time| now >= time);
        while is_ready && self.imaging.work.is_none() {
            let Some(name) = self.imaging.due.pop() else { return };
            let Some(job) = self.image_of(&name) else { continue };
            let (sender, receiver) = channel();
            let controller = Arc::clone(&self.controller);
            let thread = std::thread::Builder::new().name("image".into()).spawn(move || {
                controller.effort().begin();
                let made = make(job);
                let _ = sender.send(made);
                drop(sender);
                controller.dynamic.queue.wake();
            });
            match thread {
                Ok(_) => self.imaging.work = Some(receiver),
                Err(_) => self.imaging.not_before = Some(now + self.renewal.rules.pause),
            }
        }
    }

    /// The image of a zone that is next. `None`: there can be none now.
    fn image_of(&self, name: &NameBuf) -> Option<Job> {
        let Log::Open(open) = &self.log else { return None };
        if self.condition != Condition::Ready {
            return None;
        }
        let zone = self.zones.get(name)?;
        let is_sound = zone.is_based && !zone.is_passing && zone.fault.is_none() && zone.is_published();
        let (pack, rows_min) = (zone.pack(), self.renewal.rules.image_rows_min);
        // It may have been made since it was asked for.
        if !is_sound
            || zone.rows_to_apply() < rows_min
            || zone.is_waiting()
            || !self.controller.is_stored(pack.id())
        {
            return None;
        }
        let pinned = zone.pin()?;
        let (said, changed) = (zone.said()?, pinned.changed());
        let head = Head {
            zone: name.clone(),
            kind: 1,
            pack: changed.number().into(),
            pack_checksum: pack.checksum(),
            group: said.group,
            serial: changed.row().serial,
        };
        let goes_on = |chain: &&Chain| {
            let since = chain.mark.rows().saturating_sub(chain.whole) + zone.rows_since_image();
            chain.mark.is_of(changed)
                && chain.files.len() < FILES_MAX
                && since <= (chain.whole / PART).max(rows_min * SMALLEST)
        };
        let of_others = self.zones.iter().filter(|(other, _)| *other != name);
        let others = of_others.filter_map(|(_, zone)| zone.chain()).flat_map(|chain| &chain.files);
        Some(Job {
            zone: name.clone(),
            head,
            said,
            chain: zone.chain().filter(goes_on).cloned(),
            beginnings: zone.beginnings(),
            identity: open.committer.with_log(journal::Log::identity),
            folder: folder_of(&journal_of(self.controller.writable_folder()?.path())),
            others: others.map(|(number, _)| *number).collect(),
            pinned,
        })
    }

    /// A zone has said anew, to the end, what its changes begin from, and a start takes no image of before: the next one is due at once.
    pub(super) fn said_anew(&mut self, group: u64, anew: Option<Box<Anew>>) {
        let Some(Anew { zone: name, sum }) = anew.map(|anew| *anew) else { return };
        let Some(zone) = self.zones.get_mut(&name) else { return };
        zone.say(Some(Origin { group, sum }));
        self.imaging.ask(zone, self.renewal.rules.image_rows_min);
    }

    fn take_image(&mut self, now: Instant) {
        let Some(receiver) = &self.imaging.work else { return };
        let made = match receiver.try_recv() {
            Ok(made) => made,
            Err(TryRecvError::Empty) => return,
            Err(TryRecvError::Disconnected) => {
                self.imaging.work = None;
                self.imaging.not_before = Some(now + self.renewal.rules.pause);
                return;
            }
        };
        self.imaging.work = None;
        let Made { zone: name, chain, rows, beginnings } = made;
        let Some(zone) = self.zones.get_mut(&name) else { return };
        match chain {
            Ok(chain) => {
                tracing::debug!(zone = %name, rows = chain.mark.rows(), "zone {name}: an image of its changes is stored");
                zone.imaged(chain, rows, beginnings);
            }
            // Starts take longer, and that is all.
            Err(error) => {
                self.imaging.not_before = Some(now + self.renewal.rules.pause);
                tracing::warn!(zone = %name, "zone {name}: an image of its changes cannot be stored: {error:?}; a start takes longer");
            }
        }
    }
}

fn make(job: Job) -> Made {
    let (rows, beginnings) = (job.pinned.all_rows(), job.beginnings);
    let chain = write(&job);
    let keep = chain.as_ref().ok().map(|chain| {
        let own = chain.files.iter().map(|(number, _)| *number);
        own.chain(job.others.iter().copied()).collect::<HashSet<u64>>()
    });
    tidy(&job.folder, keep.as_ref());
    Made { zone: job.zone, chain, rows, beginnings }
}

/// The number that the next file has: more than any that is there.
fn next_number(folder: &Path) -> io::Result<u64> {
    let names = System.names(folder)?;
    Ok(names.iter().filter_map(|name| number_of(&name.to_string_lossy())).max().unwrap_or(0) + 1)
}

fn write(job: &Job) -> Result<Chain, NotWritten> {
    let io = NotWritten::Io;
    System.make_folder(&job.folder).map_err(io)?;
    // Left by a server that ended meanwhile.
    tidy(&job.folder, None);
    let number = next_number(&job.folder).map_err(io)?;
    let mut file = Writer::create(Arc::new(System), &job.folder, number, &job.identity).map_err(io)?;
    let mut entry = file.begin(job.head.clone());
    let after = job.chain.as_ref().map(|chain| chain.mark);
    let before = job.chain.as_ref().and_then(|chain| chain.files.last().copied()).unwrap_or_default();
    let head = [before.0, before.1, job.said.sum, job.pinned.entries()].map(u64::to_le_bytes);
    entry.write_all(head.as_flattened()).map_err(io)?;
    let mark: Mark = job.pinned.write(after.as_ref(), &mut |octets| entry.write_all(octets))?;
    entry.end().map_err(io)?;
    let stored = file.finish().map_err(io)?;
    let mut files = job.chain.as_ref().map(|chain| chain.files.clone()).unwrap_or_default();
    files.push((stored.number, stored.checksum));
    let whole = job.chain.as_ref().map_or(mark.rows(), |chain| chain.whole);
    Ok(Chain { files, mark, whole })
}
