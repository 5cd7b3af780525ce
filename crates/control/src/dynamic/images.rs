//! Images of deltas in files: what a start need not take out of the log change by change. `docs/design/journal.md` 4.
//!
//! ```text
//! journal/images/checkpoint-N.delta   one image of one zone: of all that differs from its pack, or of what came since image B
//!   entry: zone, number and checksum of the pack, serial, group of the log by which it was published
//!   octets: number of B u64, its checksum u64 (0, 0: none) | sum of the record that made the serial u64 | rows u64 | image (zone::delta::image)
//! ```
//!
//! The log says what zones are, and does not know of images. One is made of a state that is on the disk and published, and is used where the log, read from
//! its beginning, comes by the same state: the last record of the zone up to that group makes that serial and has that sum (`origin`), over that pack. From
//! there on changes are applied. So an image that is old, damaged, of another copy of the log or not there costs time, and nothing else.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use journal::anchor::{FileMark, Kind};
use journal::checkpoint::{Checkpoint, number_of};
use journal::disk::{Disk, System};
use journal::{Identity, Record, Recovery};
use wire::NameBuf;
use zone::delta::image::{Block, Loader, Mark};
use zone::{DeltaWriter, Pack};

use super::beginnings::Beginnings;
use super::origin::{Origin, Sums};
use crate::packs::StoredPack;

/// The folder of images, in that of the log.
const FOLDER: &str = "images";
/// Octets before an image.
pub(super) const HEAD_OCTETS: usize = 32;
/// Parts of an image that are read before they are put in: some megabytes.
const BLOCKS_AHEAD: usize = 8;

/// Where images are.
pub(super) fn folder_of(journal: &Path) -> PathBuf {
    journal.join(FOLDER)
}

/// The images that there are of a zone's delta, which the next one goes on behind.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    /// Numbers and checksums of their files.
    pub(super) files: Vec<(u64, u64)>,
    pub(super) mark: Mark,
    /// Rows of the first, which has all.
    pub(super) whole: u64,
}

/// An image in a file, as its head says.
struct Image {
    number: u64,
    checksum: u64,
    before: (u64, u64),
    pack: (u64, u32),
    serial: u32,
    said: Origin,
    rows: u64,
    /// The record of the log that makes its state, once it was come by.
    at: Option<u64>,
}

/// Images that a start found, by zone, in the order of their numbers.
#[derive(Default)]
pub(super) struct Images {
    folder: PathBuf,
    identity: Identity,
    zones: HashMap<NameBuf, Vec<Image>>,
    /// Files that cannot be read.
    unread: Vec<u64>,
    sums: Sums,
}

/// A delta that was made of images.
pub(super) struct Loaded {
    pub(super) writer: DeltaWriter,
    pub(super) chain: Chain,
    pub(super) said: Origin,
    /// The record of the log after which it is as the zone was.
    pub(super) at: u64,
}

impl Images {
    /// Looks what there is. Files that cannot be read are none.
    pub(super) fn find(journal: &Path, identity: Identity) -> Images {
        let folder = folder_of(journal);
        let (zones, unread, sums) = Default::default();
        let mut images = Images { folder, identity, zones, unread, sums };
        let names = System.names(&images.folder).unwrap_or_default();
        let mut numbers: Vec<u64> =
            names.iter().filter_map(|name| number_of(&name.to_string_lossy())).collect();
        numbers.sort_unstable();
        for number in numbers {
            match read_head(&images.folder, number, &identity) {
                Some((zone, image)) => images.zones.entry(zone).or_default().push(image),
                None => images.unread.push(number),
            }
        }
        images
    }

    /// Takes note of the next record of the log, which has this number.
    fn look(&mut self, number: u64, group: u64, record: &Record<'_>) {
        if self.zones.is_empty() {
            return;
        }
        let zone = record.zone.to_lowercase();
        let Some(images) = self.zones.get_mut(&zone) else { return };
        // Behind the last of them there is nothing to be found.
        if images.iter().all(|image| image.said.group < group) {
            return;
        }
        let Some(sum) = self.sums.next(&zone, record) else { return };
        for image in images.iter_mut().filter(|image| group <= image.said.group) {
            let is_it = image.serial == record.serial_after && image.said.sum == sum;
            image.at = is_it.then_some(number);
        }
    }

    /// Files that are no images of this log, or damaged.
    pub(super) fn unread(&self) -> &[u64] {
        &self.unread
    }

    /// Looks through the log for where zones begin, and for the states that images are of.
    pub(super) fn look_through(
        &mut self,
        recovery: &Recovery,
        has_pack: &mut dyn FnMut(u64) -> bool,
    ) -> io::Result<Beginnings> {
        let (mut beginnings, mut number) = (Beginnings::default(), 0);
        let mut look = |group, record: &Record<'_>| {
            number += 1;
            beginnings.look(record, &mut |checksum| has_pack(checksum));
            self.look(number, group, record);
        };
        recovery.replay(&mut look)?;
        Ok(beginnings)
    }

    /// Makes deltas of what there is, for zones that begin as it does and come by it.
    pub(super) fn load(
        self,
        beginnings: &Beginnings,
        packs: &HashMap<u64, Arc<StoredPack>>,
    ) -> HashMap<NameBuf, Loaded> {
        let mut loaded = HashMap::new();
        for (zone, put) in self.put_in(beginnings, packs) {
            for image in put.damaged {
                tracing::warn!(%zone, image, "zone {zone}: an image of its changes is damaged ({image}); they are taken from the log");
            }
            loaded.extend(put.loaded.map(|made| (zone, made)));
        }
        loaded
    }

    /// The same, with what is wrong with the others: all zones that have any, one after the other.
    pub(super) fn put_in(
        self,
        beginnings: &Beginnings,
        packs: &HashMap<u64, Arc<StoredPack>>,
    ) -> impl Iterator<Item = (NameBuf, Put)> {
        let (folder, identity) = (self.folder, self.identity);
        self.zones.into_iter().map(move |(zone, images)| {
            let mut put = Put { files: images.len(), loaded: None, damaged: Vec::new() };
            let base = beginnings.sound(&zone);
            let base = base.and_then(|(begins, place)| Some((begins, place, packs.get(&place.0)?)));
            if let Some((begins, place, stored)) = base {
                let of_pack: Vec<Image> = images.into_iter().filter(|image| image.pack == place).collect();
                let over = Over { folder: &folder, identity: &identity, pack: &stored.pack, number: place.1 };
                put.take(&over, &of_pack, begins);
            }
            (zone, put)
        })
    }
}

/// What came of the images of a zone.
pub(super) struct Put {
    /// How many there are.
    pub(super) files: usize,
    /// The delta; `None`: none of them has a state that the log comes by, or they are damaged.
    pub(super) loaded: Option<Loaded>,
    /// Numbers of those that are damaged, of which a start would have taken something.
    pub(super) damaged: Vec<u64>,
}

/// What images are read from, and lie over.
struct Over<'p> {
    folder: &'p Path,
    identity: &'p Identity,
    pack: &'p Arc<Pack>,
    number: u32,
}

impl Put {
    /// Puts the newest images in that the log comes by, behind record `begins`, and all below, as far as they are sound.
    fn take(&mut self, over: &Over<'_>, images: &[Image], begins: u64) {
        let fits = |image: &Image| image.at.is_some_and(|at| at > begins);
        let mut chain = newest_chain(images, fits);
        while let Some(last) = chain.last() {
            match load(over, &chain) {
                Ok((writer, mark)) => {
                    let (said, at) = (last.said, last.at.unwrap_or_default());
                    let files = chain.iter().map(|image| (image.number, image.checksum)).collect();
                    let whole = chain.first().map_or(0, |first| first.rows);
                    let chain = Chain { files, mark, whole };
                    self.loaded = Some(Loaded { writer, chain, said, at });
                    return;
                }
                Err(failed) => {
                    self.damaged.push(chain[failed].number);
                    chain.truncate(failed);
                    while chain.last().is_some_and(|last| !fits(last)) {
                        chain.pop();
                    }
                }
            }
        }
    }
}

/// The newest image that the log comes by (`fits`), and before it all that it lies over: of these the log may know nothing any more, as the last one names
/// each of them by its checksum.
fn newest_chain(images: &[Image], fits: impl Fn(&Image) -> bool) -> Vec<&Image> {
    for last in images.iter().rev().filter(|image| fits(image)) {
        let mut chain = vec![last];
        let mut top = last;
        let below = |top: &Image| {
            let is_below =
                |image: &&Image| (image.number, image.checksum) == top.before && image.number < top.number;
            images.iter().find(is_below)
        };
        while let Some(image) = below(top) {
            chain.push(image);
            top = image;
        }
        if top.before == (0, 0) {
            chain.reverse();
            return chain;
        }
    }
    Vec::new()
}

fn mark_of(number: u64) -> FileMark {
    FileMark { kind: Kind::Checkpoint, number, checksum: 0, octets: 0, last_group: 0 }
}

/// What a file says of itself; its octets are checked when they are taken.
fn read_head(folder: &Path, number: u64, identity: &Identity) -> Option<(NameBuf, Image)> {
    let mut file = Checkpoint::open(&System, folder, &mark_of(number), identity).ok()?;
    let sum = file.file_checksum()?;
    let mut entry = file.next_entry().ok()??;
    let mut octets = [0; HEAD_OCTETS];
    entry.read_exact(&mut octets).ok()?;
    let numbers: Vec<u64> = octets.as_chunks().0.iter().map(|octets| u64::from_le_bytes(*octets)).collect();
    let &[before, before_sum, said, rows] = &numbers[..] else { return None };
    let head = &entry.head;
    let image = Image {
        number,
        checksum: sum,
        before: (before, before_sum),
        pack: (head.pack_checksum, u32::try_from(head.pack).ok()?),
        serial: head.serial,
        said: Origin { group: head.group, sum: said },
        rows,
        at: None,
    };
    Some((head.zone.to_lowercase(), image))
}

/// Makes a delta of a chain of images. The error: which of them is damaged.
fn load(over: &Over<'_>, chain: &[&Image]) -> Result<(DeltaWriter, Mark), usize> {
    let rows = chain.first().map_or(0, |first| first.rows) as usize;
    let mut loader = Loader::new(Arc::clone(over.pack), over.number, rows).ok_or(0_usize)?;
    for (at, image) in chain.iter().enumerate() {
        let is_in = std::thread::scope(|scope| {
            // One reads and checks, the other puts in.
            let (sender, receiver) = sync_channel(BLOCKS_AHEAD);
            let reader = scope.spawn(move || read_blocks(over, image, &|block| sender.send(block).is_ok()));
            let is_put = receiver.into_iter().all(|block| loader.put(block).is_ok());
            reader.join().ok().flatten().is_some() && is_put
        });
        if !is_in || loader.serial() != image.serial {
            return Err(at);
        }
    }
    loader.finish().map_err(|_| chain.len() - 1)
}

/// Reads an image part by part. `None`: it is not whole, or nobody takes it any more.
fn read_blocks(over: &Over<'_>, image: &Image, give: &dyn Fn(Block) -> bool) -> Option<()> {
    let mut file = Checkpoint::open(&System, over.folder, &mark_of(image.number), over.identity).ok()?;
    let mut entry = file.next_entry().ok()??;
    entry.read_exact(&mut [0; HEAD_OCTETS]).ok()?;
    loop {
        let block = Block::read(&mut entry).ok()?;
        let is_end = block.is_end();
        if is_end && entry.read(&mut [0]).ok()? > 0 {
            return None;
        }
        if is_end {
            let is_whole = file.next_entry().ok()?.is_none() && file.checksum() == image.checksum;
            // The end counts where the file is as it was written.
            return (is_whole && give(block)).then_some(());
        }
        if !give(block) {
            return None;
        }
    }
}

/// Removes all images but these, and what was not written to its end; without these, that alone.
pub(super) fn tidy(folder: &Path, keep: Option<&HashSet<u64>>) {
    for name in System.names(folder).unwrap_or_default() {
        let number = number_of(&name.to_string_lossy());
        if number.is_none_or(|number| keep.is_some_and(|keep| !keep.contains(&number))) {
            // What stays costs room alone, and is tried again.
            let _ = System.remove(&folder.join(name));
        }
    }
}
