//! Which zones are to be loaded: a look at the file of each.

use wire::Name;

use super::{Candidate, Who};
use crate::controller::Controller;
use crate::controller::change::Scope;
use crate::controller::zones::Look;
use crate::load::Job;
use crate::progress::{Act, Progress};
use crate::sources::Source;

/// Zones that a thread looks at between two looks at the lists.
const LOOKS_A_BATCH: usize = 100;

/// Zones whose files are looked at before the next are prepared: enough for some threads, and little memory.
const LOOKS_A_WINDOW: usize = 64 * LOOKS_A_BATCH;

impl Controller {
    /// The zone of this name, if there is one.
    pub(in crate::controller) fn candidate(&self, name: &Name) -> Option<Candidate> {
        let mut reader = self.catalog.reader();
        let slot = reader.with(|view| self.zones.read().slot(view, name));
        let who = match slot {
            Some(slot) => {
                self.empty_lost(&mut self.zones.write(), &mut reader, name, slot);
                Who::Slot(slot)
            }
            None => {
                let lower = name.to_lowercase();
                self.zones.read().awaited.contains_key(&lower).then_some(Who::Hidden(lower))?
            }
        };
        Some(Candidate { who, is_new: false })
    }

    /// Which zones are to be loaded: those that are new, and if `scope` says so those whose files have changed.
    pub(in crate::controller) fn look(
        &self,
        candidates: &[Candidate],
        scope: Scope,
        progress: &Progress,
    ) -> Vec<Job> {
        progress.begin(Act::Looking, candidates.len());
        let mut all: Vec<Job> = Vec::new();
        for window in candidates.chunks(LOOKS_A_WINDOW) {
            let looks: Vec<(&Candidate, Look)> =
                window.chunks(LOOKS_A_BATCH).flat_map(|batch| self.looks(batch)).collect();
            // Without a lock, as every look is a call into the file system.
            let is_due = |(candidate, look): &(&Candidate, Look)| match scope {
                _ if candidate.is_new => true,
                Scope::All => !look.is_unchanged(),
                Scope::Force => true,
                Scope::New => false,
            };
            let due = self.effort().map(&looks, is_due);
            let jobs = looks.into_iter().zip(due).filter_map(|((_, look), is_due)| is_due.then(|| job(look)));
            all.extend(jobs);
            progress.count(window.len());
        }
        (0..).zip(&mut all).for_each(|(id, job)| job.id = id);
        all
    }

    /// What there is to look at of candidates.
    pub(super) fn looks<'c>(&self, candidates: &'c [Candidate]) -> Vec<(&'c Candidate, Look)> {
        let zones = self.zones.read();
        self.catalog.reader().with(|view| {
            let look = |candidate: &Candidate| match &candidate.who {
                Who::Slot(slot) => zones.look(view, *slot),
                Who::Hidden(lower) => zones.look_hidden(lower),
            };
            let is_read = |look: &Look| !matches!(look.source, Source::Primaries(_));
            let looks = candidates.iter().filter_map(|candidate| Some((candidate, look(candidate)?)));
            looks.filter(|(_, look)| is_read(look)).collect()
        })
    }
}

/// The job of loading a zone; its number is given later.
pub(super) fn job(look: Look) -> Job {
    Job { id: 0, name: look.name, source: look.source, refuse: look.refuse, digest: look.digest }
}
