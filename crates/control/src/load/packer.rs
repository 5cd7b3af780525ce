//! Zones into packs: one, or more where one would be too large.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;

use zone::build::Problem;
use zone::{Backing, Pack, PackBuilder, TextStamp};

use super::checked::Checked;
use super::{Job, LINES_MAX, Loaded, Origin, Outcome, SMALL_PACK_OCTETS};
use crate::findings::Findings;
use crate::packs::{PackFolder, StoredPack};
use crate::read::ZoneText;
use crate::stamp::Stamp;
use crate::system::random;

/// A zone in a pack that is being built.
struct Member {
    id: usize,
    stamp: Stamp,
    includes: Box<[(PathBuf, Stamp)]>,
    findings: Findings,
    hash: Option<NonZeroU64>,
}

/// Puts zones into packs.
pub(super) struct Packer<'l> {
    folder: Option<&'l PackFolder>,
    /// See [`super::Loader::keep_small`].
    keep_small: bool,
    /// Text in one pack at most.
    texts_max: u64,
    /// Text of the zones in the builder.
    texts: u64,
    builder: PackBuilder,
    /// The zones in the builder, by number.
    members: Vec<Member>,
    pub(super) outcomes: Vec<(usize, Outcome)>,
    /// Jobs whose pack failed for its seed.
    crowded: Vec<usize>,
}

impl<'l> Packer<'l> {
    pub(super) fn new(folder: Option<&'l PackFolder>, keep_small: bool, texts_max: u64) -> Packer<'l> {
        Packer {
            folder,
            keep_small,
            texts_max,
            texts: 0,
            builder: PackBuilder::new(random()),
            members: Vec::new(),
            outcomes: Vec::new(),
            crowded: Vec::new(),
        }
    }

    /// Whether there are no zones in the builder: all outcomes so far can be handed over.
    pub(super) fn is_at_end_of_pack(&self) -> bool {
        self.members.is_empty()
    }

    pub(super) fn add(&mut self, job: &Job, text: Result<Checked, Vec<String>>) {
        let Checked { text, findings, hash } = match text {
            Ok(checked) => checked,
            Err(lines) => return self.outcomes.push((job.id, Err(lines))),
        };
        // A pack can be recognised as current by one file's mark only.
        let mark = if text.includes.is_empty() { text.stamp.mark } else { 0 };
        let Findings { errors, warnings, is_digested, .. } = findings;
        let stamp = TextStamp { mark, errors, warnings, is_digested, ..TextStamp::default() };
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
                self.texts += stamp.octets;
                self.members.push(Member { id: job.id, stamp, includes, findings, hash });
                if self.texts > self.texts_max {
                    self.finish_pack();
                }
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
    pub(super) fn finish(&mut self) -> Vec<usize> {
        if !self.members.is_empty() {
            self.finish_pack();
        }
        std::mem::take(&mut self.crowded)
    }

    fn finish_pack(&mut self) {
        let builder = std::mem::replace(&mut self.builder, PackBuilder::new(random()));
        let members = std::mem::take(&mut self.members);
        self.texts = 0;
        let Ok(backing) = builder.finish() else {
            self.crowded.extend(members.iter().map(|member| member.id));
            return;
        };
        let pack = self.keep(backing);
        for (number, member) in (0..).zip(members) {
            let Member { id, stamp, includes, findings, hash: contents_hash } = member;
            let (pack, origin) = (Arc::clone(&pack), Origin::Text);
            let loaded = Loaded { pack, number, stamp, includes, findings, origin, contents_hash };
            self.outcomes.push((id, Ok(loaded)));
        }
    }

    /// Opens the new pack, stored in the pack folder if there is one and it is worth a file.
    fn keep(&self, backing: Backing) -> Arc<StoredPack> {
        let pack = Pack::open(backing).expect("a pack that was just built opens");
        let is_left = self.keep_small && pack.octets().len() < SMALL_PACK_OCTETS;
        store(self.folder.filter(|_| !is_left), pack)
    }
}

/// Stores a pack if there is a folder.
pub(crate) fn store(folder: Option<&PackFolder>, pack: Pack) -> Arc<StoredPack> {
    let Some(folder) = folder else { return StoredPack::elsewhere(pack) };
    // The folder says why not.
    folder.store(&pack).unwrap_or_else(|_| StoredPack::elsewhere(pack))
}
