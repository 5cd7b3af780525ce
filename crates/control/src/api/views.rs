//! What the server tells of itself beside how it is now: the objects that `zonda ctl` prints with `--json`, so that there is one set of names for people, programs and the page.

use std::collections::VecDeque;

use api::frame::{Item, Piece, Run};
use serde::Serialize;
use wire::{Name, NameBuf};

use super::audit::Watched;
use super::reading::frame;
use super::words::NO_ZONE;
use crate::answer::{asked, cache_entries, cache_stats, of_threads, servers_of, zone_line};
use crate::command::{
    AuditLine, CacheEntry, CacheStats, CatalogLine, ChangesLog, Count, ResolverStatus, ServerLine, StoreLine,
    ZoneLine,
};
use crate::controller::Controller;
use crate::locks;

/// Octets of a part of a text: with what is around it in one frame.
const PART_OCTETS: usize = 60 << 10;

/// Octets of a text: a name with all its RRsets in the cache has a few KiB. More is for commands, which print it piece by piece.
const TEXT_OCTETS_MAX: usize = 1 << 20;

/// Why something is not told: a status, and words.
pub(super) type NotTold = (u16, &'static str);

const TOO_LONG: NotTold =
    (413, "there is more of this than is told here: `zonda ctl` at the server has all of it");
const NO_RESOLVER: NotTold = (404, "there is no resolver: `enabled` in [resolver] of the settings is false");

/// What is to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// Who asks for what.
    Asked,
    /// What threads wait for.
    Locks,
    /// Logs, stores and catalogs.
    Journals,
    /// The resolver; what it knows of a name.
    Resolver(Option<NameBuf>),
}

#[derive(Serialize)]
struct Journals {
    log: ChangesLog,
    /// `None`: the API has none.
    audit: Option<AuditLine>,
    counts: Vec<Count>,
    /// Of what is told of queries: nothing while nothing is.
    observed: Vec<Count>,
    stores: Vec<StoreLine>,
    catalogs: Vec<CatalogLine>,
}

#[derive(Serialize)]
struct Resolver {
    status: ResolverStatus,
    cache: CacheStats,
}

#[derive(Serialize)]
struct Known {
    name: String,
    entries: Vec<CacheEntry>,
    servers: Vec<ServerLine>,
}

impl Controller {
    /// Takes locks that workers and others wait for: for a thread of the usual priority.
    pub(super) fn view_for_api(&self, view: &View) -> Result<Vec<u8>, NotTold> {
        let resolver = || self.recursion.as_deref().ok_or(NO_RESOLVER);
        let text = match view {
            View::Asked => json(&asked(self).map_err(|_| (503, "queries cannot be looked at now"))?),
            View::Locks => json(&locks::command(self, None, false)),
            View::Journals => json(&Journals {
                log: self.dynamic.changes_log(),
                audit: self.api.audited.get().map(Watched::line),
                counts: of_threads(self).collect(),
                observed: of_sinks(self.observing.counts()),
                stores: self.store_lines(None),
                catalogs: self.catalog_lines(None),
            }),
            View::Resolver(None) => {
                let recursion = resolver()?;
                json(&Resolver { status: recursion.status(), cache: cache_stats(recursion) })
            }
            View::Resolver(Some(name)) => {
                let recursion = resolver()?;
                let (entries, servers) = (cache_entries(recursion, name), servers_of(recursion, name));
                json(&Known { name: name.to_string(), entries, servers })
            }
        };
        bounded(text)
    }

    /// How a zone stands: without what names files, databases, keys and other servers, unless that is wanted. Waits for the thread that transfers zones, some seconds at the most.
    pub(super) fn stand_for_api(&self, zone: &Name, is_all: bool) -> Result<Vec<u8>, NotTold> {
        let line = zone_line(self, zone).map_err(|_| (404, NO_ZONE))?;
        bounded(json(&if is_all { line } else { of_itself(line) }))
    }
}

/// What is counted of dnstap and the query log: nothing while there was neither, though somebody may have looked at who asks.
fn of_sinks(counts: Vec<Count>) -> Vec<Count> {
    let is_told = counts.iter().any(|one| one.count > 0 && !one.name.starts_with("tap-"));
    if is_told { counts } else { Vec::new() }
}

/// What of a zone is its own: state, records and changes.
fn of_itself(line: ZoneLine) -> ZoneLine {
    let ZoneLine { zone, state, serial, records, names, signed, expires, expired, .. } = line;
    let ZoneLine { errors, warnings, changes, frozen, secondary, .. } = line;
    let own =
        ZoneLine { zone, state, serial, records, names, signed, expires, expired, ..ZoneLine::default() };
    ZoneLine { errors, warnings, changes, frozen, secondary, ..own }
}

/// A text that is not too long to be told.
pub(super) fn bounded(text: Vec<u8>) -> Result<Vec<u8>, NotTold> {
    if text.len() > TEXT_OCTETS_MAX { Err(TOO_LONG) } else { Ok(text) }
}

pub(super) fn json(told: &impl Serialize) -> Vec<u8> {
    // Writing to memory does not fail, and keys are texts.
    serde_json::to_vec(told).unwrap_or_default()
}

/// A text in frames.
pub(super) fn frames(ask: u32, text: &[u8]) -> VecDeque<Vec<u8>> {
    let part = |part: &[u8]| {
        let mut octets = Vec::new();
        part.write(&mut octets);
        frame(ask, Piece::Json(Run::read(&octets)?))
    };
    text.chunks(PART_OCTETS).filter_map(part).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use api::frame::{Answer, Frame};

    #[test]
    fn long_texts_come_in_parts() {
        for octets in [0, 1, PART_OCTETS, PART_OCTETS + 1, 5 * PART_OCTETS / 2] {
            let text: Vec<u8> = (0..octets).map(|at| at as u8).collect();
            let frames = frames(3, &text);
            assert_eq!(frames.len(), octets.div_ceil(PART_OCTETS));
            let mut again = Vec::new();
            for octets in &frames {
                let (frame, _) = Frame::read(octets).unwrap().unwrap();
                let Answer::Piece(Piece::Json(parts)) = Answer::of(&frame).unwrap() else {
                    panic!("{frame:?}")
                };
                parts.iter().for_each(|part| again.extend_from_slice(part));
            }
            assert!(again == text);
        }
    }
}
