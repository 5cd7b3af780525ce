//! From sources to packs: zones that a pack already has are mapped, the others are read on as many processors as they may have.
//!
//! ```text
//! jobs --stamp--> in the pack folder, unchanged ------------------------> batch 1
//!        |  `---> pack files ------------------------------------------->
//!        `------> text: groups of zones --threads--> Contents --packer--> one pack a group, batch 2, 3, …
//! ```
//!
//! Where zones are many and no packs are stored nearly all are text: then each file is opened and read at once, and only what turns
//! out to be large or may be a pack goes the way above.
//!
//! A batch is published as soon as it is there, so that a large zone does not keep others waiting. Large zones
//! get packs of their own, which are given up as a whole when the zone changes; small ones share packs.

mod checked;
mod packer;

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use checked::{Checked, read_checked};
use packer::Packer;
pub(crate) use packer::store;
use sync::RwLock;
use validate::Anchors;
use zone::check::Severity;
use zone::section::{HEADER_OCTETS, SECTION_ALIGNMENT};
use zone::{Pack, ZoneView};
use zonefile::Buffers;

use crate::effort::Effort;
use crate::findings::{Digest, Findings, Room, Told, examine_digest, is_known_as_required, refused_row};
use crate::packs::{PackFolder, Stored, StoredPack};
use crate::parallel::map_on_threads;
use crate::progress::{Act, Progress};
use crate::read;
use crate::stamp::Stamp;
use crate::system::{map_pack, trim_memory};
use crate::wanted::Source;

/// A zone whose text is at least this long is read and packed by itself, so that others do not wait for it. Whether its pack stays by itself
/// depends on how large that is: see [`OWN_PACK_OCTETS`].
pub(crate) const ALONE_TEXT_OCTETS: u64 = 8 << 20;

/// A pack of one zone of at least so many octets stays as it is: a pack costs about a kilobyte, and one of this size some thousand times
/// that. Smaller ones are joined, whatever the length of their text, and what was joined is not taken apart but by a change of its text:
/// so no zone goes back and forth.
pub(crate) const OWN_PACK_OCTETS: usize = 8 << 20;

/// Text of small zones in one pack, and octets of a merged one: bounds what a merge copies again, and the memory while packing.
pub(crate) const SHARED_PACK_OCTETS: u64 = 1 << 30;

/// Packs of less than this are small: thousands of zones of some records, or one of some ten thousand.
pub(crate) const SMALL_PACK_OCTETS: usize = 1 << 20;

/// Text that a thread reads before it hands over what came of it: small zones are not worth a wake-up each, and
/// what waits is a fraction of what one large zone takes.
const HAND_OVER_OCTETS: u64 = 64 << 10;

/// With so many zones of which nothing is stored, files are opened without a look before: a look at each of a million costs seconds, and
/// minutes where the system has to read the folders from a disk. With fewer it costs nothing, and a device that somebody put in the
/// place of a zone by a command is not even opened.
const UNLOOKED_MIN: usize = 1000;

/// Seeds tried for the index of a pack. That one fails has odds of one in millions; eight never do.
pub(crate) const SEEDS_MAX: usize = 8;

/// Lines about one zone: more than this is read by nobody.
const LINES_MAX: usize = 100;

/// A zone to load.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its number, for the caller.
    pub id: usize,
    /// The zone's name.
    pub name: wire::NameBuf,
    /// Where its data are.
    pub source: Source,
    /// From which severity on what is wrong with it keeps it from being loaded.
    pub refuse: Severity,
    /// What becomes of its digest.
    pub digest: Digest,
}

/// A zone that was loaded.
pub struct Loaded {
    /// The pack with its data.
    pub pack: Arc<StoredPack>,
    /// Its number in the pack.
    pub number: u32,
    /// The state of its file.
    pub stamp: Stamp,
    /// Files that its text includes, and their states.
    pub includes: Box<[(PathBuf, Stamp)]>,
    /// What is wrong with it, if that is not told by its row alone.
    pub findings: Findings,
    /// Where it comes from.
    pub origin: Origin,
    /// A hash of its records, to tell whether two texts say the same. `None`: from a pack, or too large to spend
    /// the time on each load.
    pub contents_hash: Option<NonZeroU64>,
}

/// Where a loaded zone comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Its text was read.
    Text,
    /// The pack folder, in place of its text.
    Stored,
    /// A pack that the operator made.
    PackFile,
    /// A primary, and it is not to be kept on the disk.
    Passing,
}

/// What became of a job: the zone, or lines that tell what is wrong, each with its place.
pub type Outcome = Result<Loaded, Vec<String>>;

/// Loads zones.
pub struct Loader<'l> {
    /// What it may take of the processors.
    pub effort: Effort,
    /// Where packs are kept.
    pub folder: Option<&'l PackFolder>,
    /// The zones of the packs in there.
    pub stored: &'l Stored,
    /// Told how far it is.
    pub progress: &'l Progress,
    /// Whether small packs are left in memory, to be stored later and together: their text is what lasts.
    pub keep_small: bool,
    /// Where trust begins, for zones whose digests are verified.
    pub(crate) anchors: Arc<Anchors>,
    /// For lines about zones.
    pub(crate) room: Room,
}

/// What came of reading a text; `None`: it was left.
type Read = Option<Result<Checked, Vec<String>>>;

/// Packs of the operator's that jobs turned out to be, by path. Empty unless there are some.
type PackFiles = RwLock<HashMap<PathBuf, Arc<PackFile>>>;

/// A pack of the operator's.
struct PackFile {
    zones: Stored,
    stamp: Stamp,
}

impl Loader<'_> {
    /// Loads all of `jobs`; hands their outcomes to `done` in batches.
    ///
    /// `done` is called on this thread, which has the priority that it had: it may hold locks.
    pub fn load(&self, jobs: &[Job], done: &mut dyn FnMut(Vec<(usize, Outcome)>)) {
        let mut take = |outcomes| {
            done(outcomes);
            // Here, as it holds locks of the allocator for long.
            trim_memory();
        };
        if !self.effort.yields() {
            return self.load_here(jobs, &mut take);
        }
        let (sender, receiver) = mpsc::sync_channel(0);
        let (taken, is_taken) = mpsc::sync_channel(0);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                self.effort.begin();
                self.load_here(jobs, &mut |outcomes| {
                    // Nothing is read meanwhile, which would take memory. Without a receiver its thread panics.
                    let _ = sender.send(outcomes).map(|()| is_taken.recv());
                });
            });
            for outcomes in receiver {
                take(outcomes);
                let _ = taken.send(());
            }
        });
    }

    /// The same, each by itself: what is read is in a pack of its own.
    pub(crate) fn load_each<'j>(
        &self,
        jobs: impl Iterator<Item = &'j Job>,
        done: &mut dyn FnMut(Vec<(usize, Outcome)>),
    ) {
        for job in jobs {
            let mut outcomes = Vec::new();
            self.effort.run(|| self.load_looked_at(&[job], &mut |some| outcomes.extend(some)));
            done(outcomes);
        }
        trim_memory();
    }

    fn load_here(&self, jobs: &[Job], done: &mut dyn FnMut(Vec<(usize, Outcome)>)) {
        let mut left: Vec<&Job> = jobs.iter().collect();
        if self.stored.packs().is_empty() && jobs.len() >= UNLOOKED_MIN {
            left = self.load_unlooked(&left, done);
        }
        if !left.is_empty() {
            self.load_looked_at(&left, done);
        }
    }

    /// Reads files as the texts that they most probably are. Returns the jobs that need a look.
    fn load_unlooked<'j>(
        &self,
        jobs: &[&'j Job],
        done: &mut dyn FnMut(Vec<(usize, Outcome)>),
    ) -> Vec<&'j Job> {
        // How many octets there are is not known.
        self.progress.octets.store(0, Ordering::Relaxed);
        self.progress.begin(Act::Reading, jobs.len());
        let (mut left, mut read) = (Vec::new(), 0);
        let mut packer = Packer::new(self.folder, self.keep_small, SHARED_PACK_OCTETS);
        self.read_all(jobs, true, |job, text| {
            read += 1;
            match text {
                Some(text) => packer.add(job, text),
                None => left.push(job),
            }
            if packer.is_at_end_of_pack() && packer.outcomes.len() >= UNLOOKED_MIN {
                self.hand_over(std::mem::take(&mut packer.outcomes), done);
                self.progress.begin(Act::Reading, jobs.len());
                self.progress.count(read);
            }
        });
        let crowded: HashSet<usize> = packer.finish().into_iter().collect();
        if !crowded.is_empty() {
            left.extend(jobs.iter().filter(|job| crowded.contains(&job.id)));
        }
        self.hand_over(std::mem::take(&mut packer.outcomes), done);
        left
    }

    /// Looks at files and loads them as what they are.
    fn load_looked_at(&self, jobs: &[&Job], done: &mut dyn FnMut(Vec<(usize, Outcome)>)) {
        self.progress.begin(Act::Looking, jobs.len());
        let files = PackFiles::named("pack files", HashMap::new());
        let begun = map_on_threads(self.effort.threads(), jobs, |job| {
            let begun = self.begin(job, &files);
            self.progress.count(1);
            begun
        });
        let mut first = Vec::new();
        let mut texts = Vec::new();
        for (begun, &job) in begun.into_iter().zip(jobs) {
            match begun {
                Ok(Begun::Loaded(loaded)) => first.push((job.id, Ok(*loaded))),
                Ok(Begun::Text(octets)) => texts.push((octets, job)),
                Err(line) => first.push((job.id, Err(vec![line]))),
            }
        }
        if !first.is_empty() {
            self.hand_over(first, done);
        }
        if texts.is_empty() {
            return;
        }
        self.progress.octets_read.store(0, Ordering::Relaxed);
        self.progress.octets.store(texts.iter().map(|(octets, _)| octets).sum(), Ordering::Relaxed);
        let (all, mut read) = (texts.len(), 0);
        for group in groups(texts) {
            self.progress.begin(Act::Reading, all);
            self.progress.count(read);
            read += group.len();
            let outcomes = self.load_group(&group);
            self.hand_over(outcomes, done);
        }
    }

    fn hand_over(&self, outcomes: Vec<(usize, Outcome)>, done: &mut dyn FnMut(Vec<(usize, Outcome)>)) {
        self.progress.begin(Act::Publishing, outcomes.len());
        done(outcomes);
    }

    /// Finds out what a job's file is, and maps it if it is a pack or one has its zone.
    fn begin(&self, job: &Job, files: &PackFiles) -> Result<Begun, String> {
        let path = match &job.source {
            Source::Embedded(embedded) => return Ok(Begun::Text(embedded.text.len() as u64)),
            Source::File(path) => path,
            Source::Several(files) => return Err(read::several(files)),
            Source::Primaries(primaries) => return Err(read::transferred(primaries)),
        };
        let describe = |problem: String| format!("{}: {problem}", path.display());
        let known = files.read().get(path).map(Arc::clone);
        let file = match known {
            Some(file) => file,
            None => {
                let stamp = read::stamp_of(path)?;
                // Its text is verified otherwise.
                let is_known = |pack: &StoredPack, number| {
                    let view = ZoneView::new(&pack.pack, number);
                    view.is_some_and(|view| is_known_as_required(&view, true, job.digest))
                };
                let stored = self.stored.find_current(&job.name, &stamp);
                if let Some((pack, number)) = stored.filter(|(pack, number)| is_known(pack, *number)) {
                    return Ok(loaded(pack, number, stamp, Origin::Stored));
                }
                if !may_be_pack(stamp.octets) || !read::is_pack(path)? {
                    return Ok(Begun::Text(stamp.octets));
                }
                map_once(files, path).map_err(describe)?
            }
        };
        let (pack, number) = file
            .zones
            .find(&job.name)
            .ok_or_else(|| describe(format!("the pack has no zone {}", job.name)))?;
        let row = pack.pack.zone_row(number);
        if let Some(line) = refused_row(row.errors, row.warnings, job.refuse) {
            return Err(describe(line));
        }
        if job.digest != Digest::Ignore {
            // Whoever made it had settings of their own.
            let view =
                ZoneView::new(&pack.pack, number).ok_or_else(|| describe("it cannot be read".into()))?;
            examine_digest(&view, &path.display(), (job.digest, &self.anchors)).map_err(|(_, line)| line)?;
        }
        Ok(loaded(pack, number, file.stamp, Origin::PackFile))
    }

    /// Reads the texts of a group and makes packs of them, usually one.
    fn load_group(&self, group: &[&Job]) -> Vec<(usize, Outcome)> {
        let mut outcomes = Vec::with_capacity(group.len());
        let mut left: Vec<&Job> = group.to_vec();
        for _ in 0..SEEDS_MAX {
            let mut packer = Packer::new(self.folder, self.keep_small, u64::MAX);
            self.read_all(&left, false, |job, text| text.into_iter().for_each(|text| packer.add(job, text)));
            let crowded = packer.finish();
            outcomes.append(&mut packer.outcomes);
            if crowded.is_empty() {
                return outcomes;
            }
            left.retain(|job| crowded.contains(&job.id));
        }
        let line = |job: &Job| vec![format!("{}: no index could be built for its pack", job.source)];
        outcomes.extend(left.iter().map(|job| (job.id, Err(line(job)))));
        outcomes
    }

    /// Reads texts on several threads and hands them to `take` as they come. `may_leave`: see [`read_checked`].
    fn read_all<'j>(&self, jobs: &[&'j Job], may_leave: bool, mut take: impl FnMut(&'j Job, Read)) {
        let next = AtomicUsize::new(0);
        let threads = self.effort.threads().clamp(1, jobs.len().max(1));
        // As many wait as are read: more would only hold memory.
        let (sender, receiver) = mpsc::sync_channel(threads);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || {
                    let mut buffers = Buffers::new();
                    loop {
                        let batch = self.read_some(jobs, next, may_leave, &mut buffers);
                        if batch.is_empty() || sender.send(batch).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            for (job, text) in receiver.into_iter().flatten() {
                take(job, text);
            }
        });
    }

    /// Reads the texts of one job after the other until they are worth handing over; none when there are no more jobs.
    fn read_some<'j>(
        &self,
        jobs: &[&'j Job],
        next: &AtomicUsize,
        may_leave: bool,
        buffers: &mut Buffers,
    ) -> Vec<(&'j Job, Read)> {
        let (mut batch, mut octets) = (Vec::new(), 0);
        while octets < HAND_OVER_OCTETS
            && let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed))
        {
            let text = read_checked(job, may_leave, buffers, self.progress, (&self.anchors, &self.room));
            octets += match &text {
                Some(Ok(checked)) => checked.text.stamp.octets,
                // What is broken has no text, and lines that take memory too.
                _ => HAND_OVER_OCTETS / 64,
            };
            batch.push((*job, text));
        }
        self.progress.count(batch.len());
        batch
    }
}

/// Maps a pack of the operator's, once for all jobs that name it.
fn map_once(files: &PackFiles, path: &Path) -> Result<Arc<PackFile>, String> {
    let mut files = files.write();
    if let Some(file) = files.get(path) {
        return Ok(Arc::clone(file));
    }
    let (pack, stamp) = map_pack(path)?;
    let file = Arc::new(PackFile { zones: Stored::of(vec![StoredPack::elsewhere(pack)]), stamp });
    files.insert(path.to_owned(), Arc::clone(&file));
    Ok(file)
}

/// Whether a file of so many octets can be a pack: only those are opened to look, 1 text in 64. A pack that was cut
/// off is told from text once it is found to be none.
fn may_be_pack(octets: u64) -> bool {
    octets >= HEADER_OCTETS as u64 && octets.is_multiple_of(SECTION_ALIGNMENT as u64)
}

fn loaded(pack: &Arc<StoredPack>, number: u32, stamp: Stamp, origin: Origin) -> Begun {
    Begun::Loaded(Box::new(Loaded {
        pack: Arc::clone(pack),
        number,
        stamp,
        includes: Box::default(),
        findings: Findings::default(),
        origin,
        contents_hash: None,
    }))
}

/// What a job turns out to be.
enum Begun {
    Loaded(Box<Loaded>),
    /// Text of so many octets.
    Text(u64),
}

/// Divides texts into groups that become packs: small ones together and first, each large one by itself.
fn groups(mut texts: Vec<(u64, &Job)>) -> Vec<Vec<&Job>> {
    let large = texts.extract_if(.., |(octets, _)| *octets >= ALONE_TEXT_OCTETS).collect::<Vec<_>>();
    let mut groups: Vec<Vec<&Job>> = Vec::new();
    let mut sum = u64::MAX;
    for (octets, job) in texts {
        if sum.saturating_add(octets) > SHARED_PACK_OCTETS {
            groups.push(Vec::new());
            sum = 0;
        }
        sum += octets;
        groups.last_mut().expect("pushed above").push(job);
    }
    groups.extend(large.into_iter().map(|(_, job)| vec![job]));
    groups
}

/// What `zonda compile` made.
pub struct Compiled {
    /// One, unless the zones are too many for that.
    pub packs: Vec<Arc<Pack>>,
    /// What is odd about the zones, as lines.
    pub warnings: Vec<String>,
}

/// Builds packs of zones from text. Errors are lines that tell what is wrong with each zone.
pub fn compile(jobs: &[Job], effort: Effort) -> Result<Compiled, Vec<String>> {
    let stored = Stored::default();
    let progress = Progress::default();
    let (room, anchors) = (Room::default(), Arc::default());
    let (stored, progress) = (&stored, &progress);
    let loader = Loader { effort, folder: None, stored, progress, keep_small: false, anchors, room };
    progress.begin(Act::Reading, jobs.len());
    let (mut errors, mut octets) = (Vec::new(), 0);
    for job in jobs {
        match &job.source {
            Source::File(path) => match read::stamp_of(path) {
                Ok(stamp) => octets += stamp.octets,
                Err(line) => errors.push(line),
            },
            Source::Embedded(embedded) => octets += embedded.text.len() as u64,
            Source::Several(files) => errors.push(read::several(files)),
            Source::Primaries(primaries) => errors.push(read::transferred(primaries)),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    progress.octets.store(octets, Ordering::Relaxed);
    let all: Vec<&Job> = jobs.iter().collect();
    let outcomes = progress.show_while(|| loader.load_group(&all));
    let mut compiled = Compiled { packs: Vec::new(), warnings: Vec::new() };
    let names: HashMap<usize, &wire::NameBuf> = jobs.iter().map(|job| (job.id, &job.name)).collect();
    let mut told = Told::default();
    told.begin(jobs.len());
    for (id, outcome) in outcomes {
        match outcome {
            Ok(loaded) => {
                told.zone(names[&id], &loaded.findings);
                if !compiled.packs.iter().any(|pack| Arc::ptr_eq(pack, &loaded.pack.pack)) {
                    compiled.packs.push(Arc::clone(&loaded.pack.pack));
                }
            }
            Err(lines) => errors.extend(lines),
        }
    }
    told.end(&mut compiled.warnings);
    if errors.is_empty() { Ok(compiled) } else { Err(errors) }
}

#[cfg(test)]
mod tests;
