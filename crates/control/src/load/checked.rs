//! One zone from its text, checked, and told from what it was by a hash.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU64;

use zone::contents::Contents;

use super::{Job, LINES_MAX, OWN_PACK_OCTETS};
use crate::progress::Progress;
use crate::read::{self, ZoneText};

/// A zone that can be served.
pub(super) struct Checked {
    pub(super) text: ZoneText,
    pub(super) warnings: Vec<String>,
    /// See [`super::Loaded::contents_hash`].
    pub(super) hash: Option<NonZeroU64>,
}

pub(super) fn read_checked(job: &Job, progress: &Progress) -> Result<Checked, Vec<String>> {
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
