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
use std::io::Read;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use wire::Key;
use zone::build::Problem;
use zone::contents::Contents;
use zone::{Backing, Pack, PackBuilder, TextStamp};

use crate::packs::{Found, PackFolder, Stored};
use crate::progress::Progress;
use crate::read::{self, ZoneText};
use crate::stamp::Stamp;
use crate::system::{map_pack, random, trim_memory};
use crate::wanted::Source;

/// A zone whose text is at least this long gets a pack of its own: a pack costs about a kilobyte, and a zone of
/// this size at least a thousand times that.
pub(crate) const OWN_PACK_OCTETS: u64 = 8 << 20;

/// Text of small zones in one pack: bounds what a merge reads again, and the memory while packing.
const SHARED_PACK_OCTETS: u64 = 1 << 30;

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
}

impl Loader<'_> {
    /// Loads all of `jobs`; hands their outcomes to `done` in batches. Shows its progress if it takes long.
    pub fn load(&self, jobs: &[Job], done: &mut dyn FnMut(Vec<(usize, Outcome)>)) {
        let mut first = Vec::new();
        let mut texts = Vec::new();
        let mut packs = HashMap::new();
        for job in jobs {
            match self.begin(job, &mut packs) {
                Ok(Begun::Loaded(loaded)) => first.push((job.id, Ok(loaded))),
                Ok(Begun::Text(octets)) => texts.push((octets, job)),
                Err(line) => first.push((job.id, Err(vec![line]))),
            }
        }
        if !first.is_empty() {
            done(first);
        }
        if texts.is_empty() {
            return;
        }
        let progress = Progress::default();
        progress.zones.store(texts.len(), Ordering::Relaxed);
        progress.octets.store(texts.iter().map(|(octets, _)| octets).sum(), Ordering::Relaxed);
        progress.show_while(|| {
            for group in groups(texts) {
                done(self.load_group(&group, &progress));
                trim_memory();
            }
        });
    }

    /// Finds out what a job's file is, and maps it if it is a pack or one has its zone.
    fn begin(&self, job: &Job, packs: &mut HashMap<PathBuf, Stored>) -> Result<Begun, String> {
        let path = match &job.source {
            Source::Embedded(_, text) => return Ok(Begun::Text(text.len() as u64)),
            Source::File(path) => path.path(),
        };
        let key = Key::of(&job.name);
        let loaded = |found: &Found, stamp, origin| {
            let (pack, number) = (Arc::clone(&found.pack), found.number);
            Begun::Loaded(Loaded {
                pack,
                number,
                stamp,
                includes: Box::default(),
                warnings: Vec::new(),
                origin,
                contents_hash: None,
            })
        };
        let stamp = read::stamp_of(&path)?;
        if let Some(stored) = self.stored.find_current(&key, &stamp) {
            return Ok(loaded(stored, stamp, Origin::Stored));
        }
        let (mut file, stamp) = read::open(&path)?;
        let mut magic = [0; zone::section::MAGIC.len()];
        if file.read_exact(&mut magic).is_err() || magic != zone::section::MAGIC {
            return Ok(Begun::Text(stamp.octets));
        }
        let describe = |problem: String| format!("{}: {problem}", path.display());
        if !packs.contains_key(&path) {
            let mut zones = Stored::default();
            zones.add(&Arc::new(map_pack(&path).map_err(describe)?));
            packs.insert(path.clone(), zones);
        }
        let found = packs.get(&path).and_then(|zones| zones.find(&key));
        let found = found.ok_or_else(|| describe(format!("the pack has no zone {}", job.name)))?;
        Ok(loaded(found, stamp, Origin::PackFile))
    }

    /// Reads the texts of a group and makes packs of them, usually one.
    fn load_group(&self, group: &[&Job], progress: &Progress) -> Vec<(usize, Outcome)> {
        let mut outcomes = Vec::with_capacity(group.len());
        let mut left: Vec<&Job> = group.to_vec();
        for _ in 0..SEEDS_MAX {
            let mut packer = Packer::new(self.folder);
            self.read_all(&left, progress, |job, text| packer.add(job, text));
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
    fn read_all(
        &self,
        jobs: &[&Job],
        progress: &Progress,
        mut take: impl FnMut(&Job, Result<Checked, Vec<String>>),
    ) {
        let next = AtomicUsize::new(0);
        let threads = self.threads.clamp(1, jobs.len().max(1));
        // As many wait as are read: more would only hold memory.
        let (sender, receiver) = mpsc::sync_channel(threads);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || {
                    while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let text = read_checked(job, progress);
                        progress.zones_read.fetch_add(1, Ordering::Relaxed);
                        if sender.send((job, text)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            for (job, text) in receiver {
                take(job, text);
            }
        });
    }
}

/// What a job turns out to be.
enum Begun {
    Loaded(Loaded),
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
    let loader = Loader { threads, folder: None, stored: &stored };
    let progress = Progress::default();
    progress.zones.store(jobs.len(), Ordering::Relaxed);
    let texts = jobs.iter().filter_map(|job| match &job.source {
        Source::File(path) => read::stamp_of(&path.path()).ok(),
        Source::Embedded(..) => None,
    });
    progress.octets.store(texts.map(|stamp| stamp.octets).sum(), Ordering::Relaxed);
    let all: Vec<&Job> = jobs.iter().collect();
    let outcomes = progress.show_while(|| loader.load_group(&all, &progress));
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
