//! What became of zones, or would, as pieces.

use std::collections::VecDeque;

use api::frame::{Item, Outcome, Piece, REST_OCTETS_MAX, Run, SetsBuf, What};
use wire::iana::rtype;
use wire::{Name, NameBuf};
use zone::{Change, Record};

use crate::api::reading::{frame, sets_frame};
use crate::dynamic;

/// Octets around the owner and the first record of a set.
const SET_HEAD_OCTETS: usize = 2 + 1 + 4 + 2 + 2;

/// What is said of a zone that was changed, and is there no more.
const REMOVED: &str = "the zone was removed as it was changed";

/// What became of zones, as many of them in a piece as fit; and what would change in each, behind it.
pub(super) fn pieces_of(
    number: u32,
    zones: &[NameBuf],
    is_dry: bool,
    outcomes: &[Option<dynamic::Outcome>],
) -> VecDeque<Vec<u8>> {
    let (mut pieces, mut octets) = (VecDeque::new(), Vec::new());
    let flush = |octets: &mut Vec<u8>, pieces: &mut VecDeque<Vec<u8>>| {
        pieces.extend(Run::read(octets).and_then(|run| frame(number, Piece::Outcomes(run))));
        octets.clear();
    };
    for (zone, outcome) in zones.iter().zip(outcomes) {
        let mut one = Vec::new();
        of_zone(zone, is_dry, outcome.as_ref()).write(&mut one);
        if octets.len() + one.len() > REST_OCTETS_MAX {
            flush(&mut octets, &mut pieces);
        }
        octets.extend_from_slice(&one);
        if let Some(change) = outcome.as_ref().and_then(|outcome| outcome.would.as_ref()) {
            flush(&mut octets, &mut pieces);
            put_change(number, change, &mut pieces);
        }
    }
    if !octets.is_empty() {
        flush(&mut octets, &mut pieces);
    }
    pieces
}

fn of_zone<'a>(zone: &'a Name, is_dry: bool, outcome: Option<&dynamic::Outcome>) -> Outcome<'a> {
    match outcome {
        Some(dynamic::Outcome { before, after, tag, .. }) => {
            let status = if is_dry { 200 } else { 204 };
            Outcome { zone, is_done: !is_dry, status, before: *before, after: *after, tag: *tag, words: "" }
        }
        None => Outcome { zone, is_done: false, status: 404, before: 0, after: 0, tag: None, words: REMOVED },
    }
}

/// Records that go, then those that come, without SOA records that differ by their serial alone.
fn put_change(number: u32, change: &Change, pieces: &mut VecDeque<Vec<u8>>) {
    let mut sets = SetsBuf::default();
    let is_left_out = |record: &Record<'_>| record.rtype == rtype::SOA && is_same_soa(change);
    for (what, records) in [(What::Prune, change.removed()), (What::Extend, change.added())] {
        let mut open: Option<(&Name, u16)> = None;
        for record in records.iter().filter(|record| !is_left_out(record)) {
            let needed = record.owner.octets().len() + SET_HEAD_OCTETS + record.rdata.len();
            if sets.octets() > 0 && sets.octets() + needed > REST_OCTETS_MAX {
                sets.end();
                pieces.extend(sets_frame(number, &std::mem::take(&mut sets)));
                open = None;
            }
            if open != Some((record.owner, record.rtype)) {
                sets.begin(record.owner, record.rtype, what, record.ttl);
                open = Some((record.owner, record.rtype));
            }
            sets.record(record.rdata);
        }
        sets.end();
    }
    if sets.octets() > 0 {
        pieces.extend(sets_frame(number, &sets));
    }
}

/// Whether the SOA records of a change, which are its first ones, differ by their serial alone: who has the change made is given a serial.
fn is_same_soa(change: &Change) -> bool {
    let soa = |record: Option<Record<'_>>| {
        let record = record?;
        let mut rdata = record.rdata.to_vec();
        let at = rdata.len().checked_sub(SOA_NUMBERS_OCTETS)?;
        rdata.get_mut(at..at + 4)?.fill(0);
        Some((record.ttl, rdata))
    };
    soa(change.removed().iter().next()) == soa(change.added().iter().next())
}

/// Octets of the five numbers that an SOA record ends with, the serial first (RFC 1035 3.3.13).
const SOA_NUMBERS_OCTETS: usize = 20;
