//! One zone from its text, checked, and told from what it was by a hash.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU64;

use validate::Anchors;
use zone::contents::Contents;
use zonefile::Buffers;

use super::{ALONE_TEXT_OCTETS, Job, LINES_MAX, may_be_pack};
use crate::findings::{Findings, Room, examine};
use crate::progress::Progress;
use crate::read::{self, ZoneText};
use crate::sources::Source;

/// A zone that can be served.
pub(super) struct Checked {
    pub(super) text: ZoneText,
    pub(super) findings: Findings,
    /// See [`super::Loaded::contents_hash`].
    pub(super) hash: Option<NonZeroU64>,
}

/// Reads a zone's text. `may_leave`: whether nobody looked at its file yet; what is large or may be a pack is then left for one who does,
/// and not read.
pub(super) fn read_checked(
    job: &Job,
    may_leave: bool,
    buffers: &mut Buffers,
    progress: &Progress,
    (anchors, room): (&Anchors, &Room),
) -> Option<Result<Checked, Vec<String>>> {
    let opened = match read::open_source(&job.source) {
        Ok(opened) => opened,
        Err(line) => return Some(Err(vec![line])),
    };
    let octets = opened.stamp.octets;
    if may_leave && (octets >= ALONE_TEXT_OCTETS || may_be_pack(octets)) {
        return None;
    }
    let text = read::read_opened(&job.name, opened, buffers, &progress.octets_read);
    let check = |text: ZoneText| {
        // Of what came with the program it is said by itself that it is old.
        let is_dated = !matches!(job.source, Source::Embedded(_));
        let findings = examine(&text, (job.refuse, (job.digest, anchors)), is_dated, room)?;
        let hash = (text.stamp.octets < ALONE_TEXT_OCTETS).then(|| hash_of(&text.contents)).flatten();
        Ok(Checked { text, findings, hash })
    };
    Some(text.map_err(|unread| unread.lines()).and_then(check).map_err(|mut lines| {
        if let Some(line) = read::broken_pack(&job.source) {
            return vec![line];
        }
        lines.truncate(LINES_MAX);
        lines
    }))
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
