//! What is in a segment, whatever its octets are.
//!
//! Every page is looked at, as behind a damaged group there may be others. Groups say themselves to which use of the segment they belong, so
//! that a head that cannot be read costs nothing; where there is one, older groups behind the last new one are told by it.

use super::format::{GROUP_HEAD_OCTETS, GroupHead, NoHead, SegmentHead, Term, place};
use crate::disk::PAGE_OCTETS;
use crate::octets::{Reader, put};
use crate::sum::Identity;

/// A group of the last use of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) head: GroupHead,
    /// Where it begins.
    pub(crate) page: usize,
    /// Whether its body is as it was written.
    pub(crate) is_whole: bool,
}

/// What a segment has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scanned {
    pub(crate) head: Result<SegmentHead, NoHead>,
    /// Of the head, or of the groups where that cannot be read.
    pub(crate) term: Option<Term>,
    /// In the order of pages.
    pub(crate) groups: Vec<Found>,
}

/// Looks through a segment of whole pages.
pub(crate) fn scan(octets: &[u8], segment: u32, identity: &Identity) -> Scanned {
    let head = SegmentHead::read(octets.get(..PAGE_OCTETS).unwrap_or(&[]), segment)
        .and_then(|head| if head.identity == *identity { Ok(head) } else { Err(NoHead::Damaged) });
    let pages = octets.len() / PAGE_OCTETS;
    let at = |page: usize| &octets[page * PAGE_OCTETS..];
    let head_at = |page: usize| {
        // Most pages of a segment that is not full are zero.
        if at(page).first_chunk() == Some(&[0; 8]) {
            return None;
        }
        let head = GroupHead::read(place(identity, segment, page), at(page))?;
        (page + head.pages() <= pages).then_some(head)
    };
    let term = match &head {
        Ok(head) => Some(head.term),
        Err(_) => (1..pages).filter_map(head_at).map(|head| head.term).max(),
    };
    let mut groups: Vec<Found> = Vec::new();
    let mut page = 1;
    while page < pages {
        let Some(head) = head_at(page).filter(|head| Some(head.term) == term) else {
            page += 1;
            continue;
        };
        let is_whole = head.body(place(identity, segment, page), at(page)).is_some();
        groups.push(Found { head, page, is_whole });
        page += if is_whole { head.pages() } else { 1 };
    }
    Scanned { head, term, groups }
}

/// Calls that must not panic whatever the octets are: all that reads a segment. For fuzzing.
#[doc(hidden)]
pub fn fuzz_segment(octets: &[u8], identity: &Identity) {
    let scanned = scan(octets, 1, identity);
    let mut last = 0;
    for found in &scanned.groups {
        assert!(found.page >= 1 && (found.page + found.head.pages()) * PAGE_OCTETS <= octets.len());
        assert_eq!(Some(found.head.term), scanned.term);
        if !found.is_whole {
            continue;
        }
        assert!(found.page >= last, "whole groups do not overlap");
        last = found.page + found.head.pages();
        let body = found.head.body(place(identity, 1, found.page), &octets[found.page * PAGE_OCTETS..]);
        let records = body.and_then(|body| body.get(found.head.named_octets()..)).expect("as it was found");
        for (record, at) in crate::Record::all(records) {
            assert!(at < records.len());
            std::hint::black_box(record);
        }
    }
}

/// Makes the checksums of a segment right again, at its first page and at each that begins with anything: what was changed is then looked at.
/// For fuzzing.
#[doc(hidden)]
pub fn mend_segment(octets: &mut [u8], path: &std::path::Path, identity: &Identity) {
    let name = path.file_name().and_then(|name| name.to_str());
    let Some(segment) = name.and_then(super::segments::number_of) else { return };
    let sum = place(identity, segment, 0).sum(&octets[..56]);
    if octets[0] != 0 {
        put(octets, 56, &sum.to_le_bytes());
    }
    for page in 1..octets.len() / PAGE_OCTETS {
        let key = place(identity, segment, page);
        let group = &mut octets[page * PAGE_OCTETS..];
        if group[0..8] == [0; 8] {
            continue;
        }
        let length = Reader::new(&group[24..]).u32().unwrap_or_default() as usize;
        if let Some(body) = group.get(GROUP_HEAD_OCTETS..length) {
            let sum = key.sum(body);
            put(group, 16, &sum.to_le_bytes());
        }
        let sum = key.sum(&group[8..GROUP_HEAD_OCTETS]);
        put(group, 0, &sum.to_le_bytes());
    }
}
