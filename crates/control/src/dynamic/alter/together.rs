//! Changes of one zone or several that are kept together: one payload of the log, whose records no group parts.
//!
//! ```text
//! parts, each in its delta --queue--> one group: written, synced -> published one after the other, within one call -> told, of each
//!                                `-- failed, full, stale: all are taken back, newest first
//! ```

use std::sync::Arc;

use api::tag::Condition;
use journal::Entry;
use wire::NameBuf;
use zone::Change;
use zone::delta::Refused;

use super::{AlterDone, NotAltered, Outcome};
use crate::dynamic::changer::{Changer, wall};
use crate::dynamic::group::{Commit, Payload};
use crate::dynamic::log::Log;
use crate::dynamic::repeats::Repeat;

/// Changes that are kept together, while they wait for the disk.
pub(in crate::dynamic) struct Together {
    /// Of each zone, in the order of the ask.
    pub(super) parts: Vec<Part>,
    /// How they are known, if they may be asked for again.
    pub(super) repeat: Option<Repeat>,
    /// Who is told.
    pub(super) done: AlterDone,
}

/// A zone's part of them.
pub(super) struct Part {
    /// The zone, lower-case.
    pub(super) zone: NameBuf,
    /// On which it was made: who had one is told of what version it is then.
    pub(super) condition: Condition,
    /// What is told, but for that.
    pub(super) outcome: Outcome,
    /// Its version. `None`: nothing changes in it.
    pub(super) commit: Option<Commit>,
}

impl Part {
    /// Before and after.
    fn serials(&self) -> (u32, u32) {
        (self.outcome.before, self.outcome.after)
    }
}

impl Changer {
    /// Puts a change into the delta of a zone.
    pub(super) fn put_in(
        &mut self,
        name: &NameBuf,
        change: &Change,
        record: Entry,
    ) -> Result<Commit, NotAltered> {
        let zone = self.zones.get_mut(name).ok_or(NotAltered::NotNow)?;
        let applied = match zone.apply(change) {
            Ok(applied) => applied,
            Err(Refused::Full) => {
                self.say_full(name);
                return Err(NotAltered::NotNow);
            }
            Err(Refused::Damaged) => return Err(NotAltered::NotNow),
            Err(refused) => {
                tracing::error!(zone = %name, "zone {name}: a change that was worked out does not fit: {refused:?}");
                return Err(NotAltered::said(422, "this cannot be changed in place"));
            }
        };
        Ok(Commit {
            zone: name.clone(),
            record: Some(Arc::new(record)),
            version: Some((applied.changed, applied.parts)),
            replies: Vec::new(),
            told: None,
        })
    }

    /// Has them wait for the disk.
    pub(super) fn keep_together(&mut self, together: Together) {
        let Log::Open(open) = &self.log else { return self.take_back_together(together) };
        let commits = together.parts.iter().filter_map(|part| part.commit.as_ref());
        let mut entries: Vec<Arc<Entry>> = commits.filter_map(|commit| commit.record.clone()).collect();
        if let Some(repeat) = &together.repeat {
            let (count, now) = (together.parts.len(), wall());
            let of = |part: &Part| repeat.entry(&part.zone, part.serials(), count, now).map(Arc::new);
            entries.extend(together.parts.iter().filter_map(of));
            self.repeats.begin(repeat);
        }
        let (generation, payload) = (open.committer.generation(), Payload::Together(Box::new(together)));
        let queued = open.committer.enqueue_together(generation, entries, payload).map(drop);
        if let Err(refused) = queued
            && let Payload::Together(together) = refused.payload
        {
            self.take_back_together(*together);
        }
    }

    /// They are on the disk: publishes them, and tells what became of each.
    pub(in crate::dynamic) fn serve_together(&mut self, group: u64, together: Together) {
        let Together { parts, repeat, done } = together;
        if let Some(repeat) = repeat {
            let zones = parts.iter().map(|part| (part.zone.clone(), part.serials())).collect();
            self.repeats.done(&repeat, zones, wall());
        }
        let mut told = Vec::with_capacity(parts.len());
        for Part { zone, condition, outcome, commit } in parts {
            let is_served = commit.is_none_or(|commit| self.serve(group, commit, false));
            // Nothing has come since: it has just been published, on this thread.
            let tag = self.tag(&zone, condition);
            told.push(is_served.then_some(Outcome { tag, ..outcome }));
        }
        done.tell(match told.iter().any(Option::is_some) {
            true => Ok(told),
            // Durable, and nobody would find it.
            false => Err(NotAltered::NotNow),
        });
    }

    /// They are not on the disk and never will be. Who asked is told so as this is dropped.
    pub(in crate::dynamic) fn take_back_together(&mut self, together: Together) {
        together.repeat.iter().for_each(|repeat| self.repeats.give_up(repeat));
        self.take_back_parts(together.parts);
    }

    pub(super) fn take_back_parts(&mut self, parts: Vec<Part>) {
        parts.into_iter().rev().filter_map(|part| part.commit).for_each(|commit| self.take_back(commit));
    }
}
