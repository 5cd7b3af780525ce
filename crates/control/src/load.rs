//! From sources to packs: zones that a pack already has are mapped, the others are read on all processors.
//!
//! ```text
//! jobs --stamp--> in the pack folder, unchanged ------------------------> batch 1
//!        |  `---> pack files ------------------------------------------->
//!        `------> text: groups of zones --threads--> Contents --packer--> one pack a group, batch 2, 3, …
//! ```
//!
//! A batch is published as soon as it is there, so that a large zone does not keep others waiting. Large zones
//! get packs of their own, which are given up as a whole when the zone changes; small ones share packs.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use sync::RwLock;
use zone::build::Problem;
use zone::contents::Contents;
use zone::section::{HEADER_OCTETS, SECTION_ALIGNMENT};
use zone::{Backing, Pack, PackBuilder, TextStamp};

use crate::packs::{PackFolder, Stored};
use crate::parallel::map_on_threads;
use crate::progress::{Act, Progress};
use crate::read::{self, ZoneText};
use crate::stamp::Stamp;
use crate::system::{map_pack, random, trim_memory};
use crate::wanted::Source;

/// A zone whose text is at least this long gets a pack of its own: a pack costs about a kilobyte, and a zone of
/// this size at least a thousand times that.
pub(crate) const OWN_PACK_OCTETS: u64 = 8 << 20;

/// Text of small zones in one pack: bounds what a merge reads again, and the memory while packing.
const SHARED_PACK_OCTETS: u64 = 1 << 30;

/// Text that a thread reads before it hands over what came of it: small zones are not worth a wake-up each, and
/// what waits is a fraction of what one large zone takes.
const HAND_OVER_OCTETS: u64 = 64 << 10;

/// Seeds tried for the index of a pack. That one fails has odds of one in millions; eight never do.
const SEEDS_MAX: usize = 8;

/// Lines about one zone: more than this is read by nobody.
const LINES_MAX: usize = 100;

/// A zone to load.
#[derive(Clone, Debug)]
pub struct Job {
    /// Whose number it is, for the caller.
    pub id: usize,
    /// The zone's name.
    pub name: wire::NameBuf,
    /// Where its data are.
    pub source: Source,
}

/// A zone that was loaded.
pub struct Loaded {
    /// The pack with its data.
    pub pack: Arc<Pack>,
    /// Its number in the pack.
    pub number: u32,
    /// The state of its file.
    pub stamp: Stamp,
    /// Files that its text includes, and their states.
    pub includes: Box<[(PathBuf, Stamp)]>,
    /// What is odd about it, as lines.
    pub warnings: Vec<String>,
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
}

/// What became of a job: the zone, or lines that tell what is wrong, each with its place.
pub type Outcome = Result<Loaded, Vec<String>>;

/// Loads zones.
pub struct Loader<'l> {
    /// Threads that read text.
    pub threads: usize,
    /// Where packs are kept.
    pub folder: Option<&'l PackFolder>,
    /// The zones of the packs in there.
    pub stored: &'l Stored,
    /// Told how far it is.
    pub progress: &'l Progress,
}

/// Packs of the operator's that jobs turned out to be, by path. Empty unless there are some.
type PackFiles = RwLock<HashMap<PathBuf, Arc<PackFile>>>;

/// A pack of the operator's.
struct PackFile {
    zones: Stored,
    stamp: Stamp,
}

impl Loader<'_> {
    /// Loads all of `jobs`; hands their outcomes to `done` in batches.
    pub fn load(&self, jobs: &[Job], done: &mut dyn FnMut(Vec<(usize, Outcome)>)) {
        self.progress.begin(Act::Looking, jobs.len());
        let files = PackFiles::named("pack files", HashMap::new());
        let begun = map_on_threads(self.threads, jobs, |job| {
            let begun = self.begin(job, &files);
            self.progress.count(1);
            begun
        });
        let mut first = Vec::new();
        let mut texts = Vec::new();
        for (begun, job) in begun.into_iter().zip(jobs) {
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
            trim_memory();
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
            Source::File(path) => path.path(),
        };
        let describe = |problem: String| format!("{}: {problem}", path.display());
        let known = files.read().get(&path).map(Arc::clone);
        let file = match known {
            Some(file) => file,
            None => {
                let stamp = read::stamp_of(&path)?;
                if let Some((pack, number)) = self.stored.find_current(&job.name, &stamp) {
                    return Ok(loaded(pack, number, stamp, Origin::Stored));
                }
                if !may_be_pack(stamp.octets) || !read::is_pack(&path)? {
                    return Ok(Begun::Text(stamp.octets));
                }
                map_once(files, &path).map_err(describe)?
            }
        };
        let (pack, number) = file
            .zones
            .find(&job.name)
            .ok_or_else(|| describe(format!("the pack has no zone {}", job.name)))?;
        Ok(loaded(pack, number, file.stamp, Origin::PackFile))
    }

    /// Reads the texts of a group and makes packs of them, usually one.
    fn load_group(&self, group: &[&Job]) -> Vec<(usize, Outcome)> {
        let mut outcomes = Vec::with_capacity(group.len());
        let mut left: Vec<&Job> = group.to_vec();
        for _ in 0..SEEDS_MAX {
            let mut packer = Packer::new(self.folder);
            self.read_all(&left, |job, text| packer.add(job, text));
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

    /// Reads texts on several threads and hands them to `take` as they come.
    fn read_all(&self, jobs: &[&Job], mut take: impl FnMut(&Job, Result<Checked, Vec<String>>)) {
        let next = AtomicUsize::new(0);
        let threads = self.threads.clamp(1, jobs.len().max(1));
        // As many wait as are read: more would only hold memory.
        let (sender, receiver) = mpsc::sync_channel(threads);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || {
                    loop {
                        let batch = self.read_some(jobs, next);
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
    ) -> Vec<(&'j Job, Result<Checked, Vec<String>>)> {
        let (mut batch, mut octets) = (Vec::new(), 0);
        while octets < HAND_OVER_OCTETS
            && let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed))
        {
            let text = read_checked(job, self.progress);
            // What is broken has no text, and lines that take memory too.
            octets += text.as_ref().map_or(HAND_OVER_OCTETS / 64, |checked| checked.text.stamp.octets);
            self.progress.count(1);
            batch.push((*job, text));
        }
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
    let file = Arc::new(PackFile { zones: Stored::of(&[Arc::new(pack)]), stamp });
    files.insert(path.to_owned(), Arc::clone(&file));
    Ok(file)
}

/// Whether a file of so many octets can be a pack: only those are opened to look, 1 text in 64. A pack that was cut
/// off is told from text once it is found to be none.
fn may_be_pack(octets: u64) -> bool {
    octets >= HEADER_OCTETS as u64 && octets.is_multiple_of(SECTION_ALIGNMENT as u64)
}

fn loaded(pack: &Arc<Pack>, number: u32, stamp: Stamp, origin: Origin) -> Begun {
    Begun::Loaded(Box::new(Loaded {
        pack: Arc::clone(pack),
        number,
        stamp,
        includes: Box::default(),
        warnings: Vec::new(),
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
    let large = texts.extract_if(.., |(octets, _)| *octets >= OWN_PACK_OCTETS).collect::<Vec<_>>();
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

/// A zone that can be served.
struct Checked {
    text: ZoneText,
    warnings: Vec<String>,
    /// See [`Loaded::contents_hash`].
    hash: Option<NonZeroU64>,
}

fn read_checked(job: &Job, progress: &Progress) -> Result<Checked, Vec<String>> {
    let check = |text: ZoneText| {
        let (errors, warnings) = text.check_for_loading();
        let hash = (text.stamp.octets < OWN_PACK_OCTETS).then(|| hash_of(&text.contents)).flatten();
        if errors.is_empty() { Ok(Checked { text, warnings, hash }) } else { Err(errors) }
    };
    read::read(&job.name, &job.source, &progress.octets_read).and_then(check).map_err(|mut lines| {
        if let Some(line) = read::broken_pack(&job.source) {
            return vec![line];
        }
        lines.truncate(LINES_MAX);
        lines
    })
}

/// A hash of all records. The same in one process only.
fn hash_of(contents: &Contents) -> Option<NonZeroU64> {
    let mut hasher = DefaultHasher::new();
    for node in contents.nodes() {
        node.key().hash(&mut hasher);
        for set in node.rrsets() {
            (set.rtype(), set.len()).hash(&mut hasher);
            set.records().for_each(|record| (record.ttl, record.rdata).hash(&mut hasher));
        }
    }
    NonZeroU64::new(hasher.finish())
}

/// A zone in a pack that is being built.
struct Member {
    id: usize,
    stamp: Stamp,
    includes: Box<[(PathBuf, Stamp)]>,
    warnings: Vec<String>,
    hash: Option<NonZeroU64>,
}

/// Puts zones into packs.
struct Packer<'l> {
    folder: Option<&'l PackFolder>,
    builder: PackBuilder,
    /// The zones in the builder, by number.
    members: Vec<Member>,
    outcomes: Vec<(usize, Outcome)>,
    /// Jobs whose pack failed for its seed.
    crowded: Vec<usize>,
}

impl<'l> Packer<'l> {
    fn new(folder: Option<&'l PackFolder>) -> Packer<'l> {
        let builder = PackBuilder::new(random());
        Packer { folder, builder, members: Vec::new(), outcomes: Vec::new(), crowded: Vec::new() }
    }

    fn add(&mut self, job: &Job, text: Result<Checked, Vec<String>>) {
        let Checked { text, warnings, hash } = match text {
            Ok(checked) => checked,
            Err(lines) => return self.outcomes.push((job.id, Err(lines))),
        };
        // A pack can be recognised as current by one file's stamp only.
        let time = if text.includes.is_empty() { text.stamp.time } else { 0 };
        let stamp = TextStamp { time, octets: text.stamp.octets };
        let mut added = self.builder.add_zone(&text.contents, stamp);
        if matches!(&added, Err(problems) if problems.contains(&Problem::PackFull))
            && !self.members.is_empty()
        {
            self.finish_pack();
            added = self.builder.add_zone(&text.contents, stamp);
        }
        match added {
            Ok(()) => {
                let ZoneText { stamp, includes, .. } = text;
                self.members.push(Member { id: job.id, stamp, includes, warnings, hash });
            }
            Err(problems) => {
                let lines = problems
                    .iter()
                    .take(LINES_MAX)
                    .map(|problem| format!("{}: error: {problem}", job.source));
                self.outcomes.push((job.id, Err(lines.collect())));
            }
        }
    }

    /// Finishes the last pack; returns the jobs that are to be tried again.
    fn finish(&mut self) -> Vec<usize> {
        if !self.members.is_empty() {
            self.finish_pack();
        }
        std::mem::take(&mut self.crowded)
    }

    fn finish_pack(&mut self) {
        let builder = std::mem::replace(&mut self.builder, PackBuilder::new(random()));
        let members = std::mem::take(&mut self.members);
        let Ok(backing) = builder.finish() else {
            self.crowded.extend(members.iter().map(|member| member.id));
            return;
        };
        let pack = Arc::new(self.keep(backing));
        for (number, member) in (0..).zip(members) {
            let Member { id, stamp, includes, warnings, hash: contents_hash } = member;
            let (pack, origin) = (Arc::clone(&pack), Origin::Text);
            let loaded = Loaded { pack, number, stamp, includes, warnings, origin, contents_hash };
            self.outcomes.push((id, Ok(loaded)));
        }
    }

    /// Opens the new pack, stored in the pack folder if there is one.
    fn keep(&self, backing: Backing) -> Pack {
        let pack = Pack::open(backing).expect("a pack that was just built opens");
        let Some(folder) = self.folder else { return pack };
        folder.store(&pack).unwrap_or_else(|problem| {
            tracing::warn!("{problem}; zones are served from memory and the next start reads their text");
            pack
        })
    }
}

/// What `zonda compile` made.
pub struct Compiled {
    /// One, unless the zones are too many for that.
    pub packs: Vec<Arc<Pack>>,
    /// What is odd about the zones, as lines.
    pub warnings: Vec<String>,
}

/// Builds packs of zones from text. Errors are lines that tell what is wrong with each zone.
pub fn compile(jobs: &[Job], threads: usize) -> Result<Compiled, Vec<String>> {
    let stored = Stored::default();
    let progress = Progress::default();
    let loader = Loader { threads, folder: None, stored: &stored, progress: &progress };
    progress.begin(Act::Reading, jobs.len());
    let texts = jobs.iter().filter_map(|job| match &job.source {
        Source::File(path) => read::stamp_of(&path.path()).ok(),
        Source::Embedded(_) => None,
    });
    progress.octets.store(texts.map(|stamp| stamp.octets).sum(), Ordering::Relaxed);
    let all: Vec<&Job> = jobs.iter().collect();
    let outcomes = progress.show_while(|| loader.load_group(&all));
    let mut compiled = Compiled { packs: Vec::new(), warnings: Vec::new() };
    let mut errors = Vec::new();
    for (_, outcome) in outcomes {
        match outcome {
            Ok(loaded) => {
                compiled.warnings.extend(loaded.warnings);
                if !compiled.packs.iter().any(|pack| Arc::ptr_eq(pack, &loaded.pack)) {
                    compiled.packs.push(loaded.pack);
                }
            }
            Err(lines) => errors.extend(lines),
        }
    }
    if errors.is_empty() { Ok(compiled) } else { Err(errors) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::wanted::Folders;

    const ZONE: &str = "@ 9 SOA ns host 1 2 3 4 5\n@ 9 NS ns\nns 9 A 192.0.2.1\n";

    fn job(id: usize, name: &str, path: &Path) -> Job {
        Job { id, name: name.parse().unwrap(), source: Source::File(Folders::default().share(path)) }
    }

    fn load(jobs: &[Job]) -> Vec<Outcome> {
        let (stored, progress) = (Stored::default(), Progress::default());
        let loader = Loader { threads: 2, folder: None, stored: &stored, progress: &progress };
        let mut outcomes = Vec::new();
        loader.load(jobs, &mut |mut batch| outcomes.append(&mut batch));
        outcomes.sort_by_key(|(id, _)| *id);
        assert!(outcomes.iter().map(|(id, _)| *id).eq(0..jobs.len()));
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }

    /// A text is told from a pack by its content, whatever its length; a pack that was cut off is told as one.
    #[test]
    fn texts_and_packs() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, octets: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, octets).unwrap();
            path
        };
        let text = write("text", ZONE.as_bytes());
        let mut long = ZONE.to_owned();
        while long.len() < HEADER_OCTETS || !may_be_pack(long.len() as u64) {
            long.push('\n');
        }
        let long = write("long", long.as_bytes());
        let compiled = compile(&[job(0, "a.example", &text), job(1, "b.example", &text)], 1).unwrap();
        let octets = compiled.packs[0].octets();
        let (pack, cut) = (write("pack", octets), write("cut", &octets[..octets.len() - 1]));
        let short = write("short", &octets[..octets.len() - SECTION_ALIGNMENT]);
        let outcomes = load(&[
            job(0, "text.example", &text),
            job(1, "long.example", &long),
            job(2, "a.example", &pack),
            job(3, "b.example", &pack),
            job(4, "c.example", &pack),
            job(5, "a.example", &cut),
            job(6, "a.example", &short),
            job(7, "a.example", &folder.path().join("none")),
        ]);
        let said: Vec<String> = outcomes
            .into_iter()
            .map(|outcome| match outcome {
                Ok(loaded) => format!("{:?} {}", loaded.origin, loaded.pack.zone_count()),
                Err(lines) => lines.join("\n").replace(&format!("{}/", folder.path().display()), ""),
            })
            .collect();
        let (whole, aligned) = (octets.len(), octets.len() - SECTION_ALIGNMENT);
        let damaged =
            |octets| format!("truncated or extended: the header says {whole} octets, there are {octets}");
        assert_eq!(said[..4], ["Text 2", "Text 2", "PackFile 2", "PackFile 2"]);
        assert_eq!(said[4], "pack: the pack has no zone c.example.");
        assert_eq!(said[5], format!("cut: {}", damaged(whole - 1)));
        assert_eq!(said[6], format!("short: {}", damaged(aligned)));
        assert_eq!(said[7], "none: cannot open: no such file or directory");
    }

    /// Zones that are handed over in batches all arrive, each once and with its own data.
    #[test]
    fn many_small_zones() {
        let folder = tempfile::tempdir().unwrap();
        let jobs: Vec<Job> = (0..500)
            .map(|number| {
                let path = folder.path().join(number.to_string());
                let text = if number % 50 == 7 {
                    "broken".into()
                } else {
                    ZONE.replace("host 1", &format!("host {number}"))
                };
                std::fs::write(&path, text).unwrap();
                job(number, &format!("z{number}.example"), &path)
            })
            .collect();
        for (number, outcome) in load(&jobs).into_iter().enumerate() {
            match outcome {
                Ok(loaded) => assert_eq!(loaded.pack.zone_row(loaded.number).serial, number as u32),
                Err(lines) => {
                    assert!(number % 50 == 7 && lines[0].contains(&format!("/{number}:1:")), "{lines:?}")
                }
            }
        }
    }
}
