//! What became of zones.

use wire::Name;

use super::zone::Sets;
use super::{close, flag, item, key, name, number, open_error, string, texts};
use crate::frame::{Outcome, Set};

/// What became of zones, each with what comes and goes in a dry run.
#[derive(Debug, Default)]
pub struct Outcomes {
    count: usize,
    /// What comes and goes of the last zone, once something does.
    sets: Option<Sets>,
}

impl Outcomes {
    /// Adds a zone.
    pub fn outcome(&mut self, outcome: &Outcome<'_>, out: &mut Vec<u8>) {
        self.end_zone(out);
        item(&mut self.count, "{\"zones\":[", out);
        out.push(b'{');
        key("name", out);
        name(outcome.zone, out);
        flag("done", outcome.is_done, out);
        number("status", outcome.status, out);
        if outcome.words.is_empty() {
            number("old-serial", outcome.before, out);
            number("new-serial", outcome.after, out);
        }
        if let Some(tag) = outcome.tag {
            string("tag", &tag.to_string(), out);
        }
        if !outcome.words.is_empty() {
            string("error", outcome.words, out);
        }
    }

    /// Adds what comes (extend) or goes (prune) to the last zone.
    pub fn set(&mut self, set: &Set<'_>, out: &mut Vec<u8>) {
        let sets = self.sets.get_or_insert_with(|| {
            key("rrsets", out);
            Sets::of_changes()
        });
        sets.set(set, out);
    }

    fn end_sets(&mut self, out: &mut Vec<u8>) {
        if let Some(sets) = self.sets.take() {
            sets.end(out);
        }
    }

    fn end_zone(&mut self, out: &mut Vec<u8>) {
        self.end_sets(out);
        if self.count > 0 {
            out.push(b'}');
        }
    }

    /// Ends the answer.
    pub fn end(mut self, out: &mut Vec<u8>) {
        self.end_zone(out);
        close(self.count, "{\"zones\":[", "]}", out);
    }
}

/// A zone that is not changed, as none of those is that were to change with it.
#[derive(Clone, Copy, Debug)]
pub struct Undone<'a> {
    /// The zone.
    pub zone: &'a Name,
    /// The status of its part.
    pub status: u16,
    /// Why it cannot be changed; empty: it is not why, or some of its RRsets are.
    pub words: &'a str,
    /// At which RRsets, and what.
    pub faults: &'a [String],
}

/// What is wrong with changes of several zones: as [`super::error`], and `zones`, of each whether it is why.
pub fn undone<'a>(
    words: &str,
    faults: &[String],
    zones: impl IntoIterator<Item = Undone<'a>>,
    out: &mut Vec<u8>,
) {
    open_error(words, faults, out);
    key("zones", out);
    let mut count = 0;
    for zone in zones {
        item(&mut count, "[", out);
        out.push(b'{');
        key("name", out);
        name(zone.zone, out);
        flag("done", false, out);
        number("status", zone.status, out);
        if !zone.words.is_empty() {
            string("error", zone.words, out);
        }
        texts("errors", zone.faults, out);
        out.push(b'}');
    }
    close(count, "[", "]}", out);
}
