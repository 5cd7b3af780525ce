//! One change: zones are loaded, what came of them is taken into the list, and shown to workers.

use std::sync::atomic::Ordering;

use wire::{Name, NameBuf};

use super::entry::Entry;
use super::publish::Changed;
use super::zones::{Rare, Zone, hidden, job};
use super::{Changing, Controller};
use crate::load::{Job, Loaded, Loader, Origin, Outcome};
use crate::packs::{PackFolder, Stored};
use crate::progress::{Act, Progress};
use crate::wanted::Wanted;

/// What a change did.
#[derive(Debug, Default)]
pub struct Change {
    /// Zones loaded anew.
    pub loaded: usize,
    /// Zones whose files had not changed.
    pub unchanged: usize,
    /// Zones that were not served before the change, the broken ones included.
    pub added: usize,
    /// Zones that are no longer served.
    pub removed: usize,
    /// Zones that could not be loaded: what was served of them before still is.
    pub failed: Vec<NameBuf>,
    /// What is wrong, as lines, and what is merely odd.
    pub errors: Vec<String>,
    /// What is merely odd, as lines.
    pub warnings: Vec<String>,
}

/// Which zones a change looks at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All: each whose files have changed is loaded again.
    All,
    /// Those that are new or come from elsewhere now.
    New,
}

impl Controller {
    /// Loads the zones announced, for the first time.
    pub fn load_first(&self) -> Change {
        let changing = self.change();
        let mut change = Change::default();
        let progress = Progress::default();
        progress.show_while(|| {
            progress.begin(Act::Mapping, 0);
            let stored = self.folder.as_ref().map(PackFolder::stored).unwrap_or_default();
            let zones = self.zones.read();
            let jobs: Vec<Job> = zones.iter().enumerate().map(|(id, zone)| job(id, zone)).collect();
            drop(zones);
            self.load(&jobs, &stored, &progress, &mut change);
        });
        self.remove_unused_packs();
        drop(changing);
        change
    }

    /// Changes the set of zones to `wanted` and loads those that `scope` covers and that have changed.
    /// `changing`: proof that nobody else makes a change.
    pub(crate) fn apply(
        &self,
        _changing: &mut Changing,
        wanted: Vec<Wanted>,
        scope: Scope,
        progress: &Progress,
    ) -> Change {
        let mut change = Change::default();
        progress.begin(Act::Arranging, wanted.len());
        let candidates = self.arrange(wanted, &mut change);
        if change.added + change.removed > 0 {
            self.is_untidy.store(true, Ordering::SeqCst);
        }
        let jobs = self.look(&candidates, scope, progress);
        change.unchanged = candidates.len() - jobs.len();
        self.load(&jobs, &Stored::default(), progress, &mut change);
        change
    }

    /// Looks again at one zone. `None`: there is none of that name.
    pub(crate) fn look_again(&self, _changing: &mut Changing, name: &Name) -> Option<Change> {
        let at = self.position(name)?;
        let mut change = Change::default();
        let zones = self.zones.read();
        let jobs = match zones[at].is_changed() {
            true => vec![job(at, &zones[at])],
            false => {
                change.unchanged += 1;
                Vec::new()
            }
        };
        drop(zones);
        let progress = Progress::default();
        progress.show_while(|| self.load(&jobs, &Stored::default(), &progress, &mut change));
        Some(change)
    }

    fn load(&self, jobs: &[Job], stored: &Stored, progress: &Progress, change: &mut Change) {
        self.loader(stored, progress).load(jobs, &mut |mut outcomes| {
            let mut zones = self.zones.write();
            let failed: Vec<_> = outcomes.extract_if(.., |(_, outcome)| outcome.is_err()).collect();
            let taken: Vec<usize> = outcomes.iter().map(|(at, _)| *at).collect();
            // Data where there were none can hide zones below, and a zone that was hidden is not any more.
            let is_new = taken.iter().any(|&at| zones[at].entry.zone().is_none());
            let is_list_changed = is_new && zones.iter().any(Zone::is_awaited);
            outcomes.into_iter().for_each(|(at, outcome)| take(&mut zones[at], outcome, false, change));
            if !failed.is_empty() {
                let hidden = hidden(&zones);
                failed
                    .into_iter()
                    .for_each(|(at, outcome)| take(&mut zones[at], outcome, hidden[at], change));
            }
            let changed = match is_list_changed {
                true => Changed::ZonesAndList(&taken),
                false => Changed::Zones(&taken),
            };
            self.show(&mut zones, &changed);
            drop(zones);
            self.is_untidy.store(true, Ordering::SeqCst);
        });
    }

    pub(super) fn loader<'l>(&'l self, stored: &'l Stored, progress: &'l Progress) -> Loader<'l> {
        Loader { threads: net::worker_count_default(), folder: self.folder.as_ref(), stored, progress }
    }
}

/// Puts what became of a job into its zone. `is_hidden`: see [`hidden`].
fn take(zone: &mut Zone, outcome: Outcome, is_hidden: bool, change: &mut Change) {
    match outcome {
        Ok(loaded) => {
            if is_written_into(zone, &loaded) {
                let line = format!(
                    "{}: has another time or length and is no new file: a pack that is written into while it is \
                     served can give wrong answers or end the server; replace it with mv, install or rsync",
                    zone.source
                );
                tracing::warn!("{line}");
                change.warnings.push(line);
            } else {
                warn_of_serial(zone, &loaded, change);
            }
            zone.name = (loaded.origin == Origin::PackFile).then(|| Box::new(zone.apex().to_owned()));
            let Loaded { pack, number, stamp, includes, warnings, origin, contents_hash } = loaded;
            for line in warnings {
                tracing::warn!("{line}");
                change.warnings.push(line);
            }
            zone.entry = Entry::Loaded { pack, number };
            zone.stamp = stamp;
            zone.origin = origin;
            zone.contents_hash = contents_hash;
            zone.rare = (!includes.is_empty()).then(|| Box::new(Rare { includes, problem: None }));
            change.loaded += 1;
        }
        Err(lines) => {
            for line in &lines {
                tracing::error!("{line}");
            }
            let apex = zone.apex();
            let line = match zone.entry.zone() {
                Some(_) => format!("zone {apex} not loaded; what was loaded before is served still"),
                None if is_hidden => {
                    format!("zone {apex} not loaded; its names are answered from the zone above it still")
                }
                None => format!("zone {apex} not loaded; queries for it get SERVFAIL"),
            };
            tracing::error!("{line}");
            change.failed.push(apex.to_owned());
            change.errors.extend(lines.iter().cloned());
            change.errors.push(line);
            zone.rare.get_or_insert_default().problem = Some(lines.into());
        }
    }
}

/// Whether the pack that a zone is served from has become another without being replaced, so that nothing of what
/// is mapped can be believed. A file put in its place has another inode, as the map keeps the old one.
fn is_written_into(zone: &Zone, loaded: &Loaded) -> bool {
    // Without a time it was too fresh to tell.
    let (old, new) = (&zone.stamp, &loaded.stamp);
    zone.origin == Origin::PackFile && old.time != 0 && old.inode == new.inode && !old.is_still(new)
}

/// Secondaries take a zone only if its serial grows (RFC 1034 4.3.5, RFC 1982).
fn warn_of_serial(zone: &Zone, loaded: &Loaded, change: &mut Change) {
    let Entry::Loaded { pack, number } = &zone.entry else { return };
    if loaded.origin == Origin::Stored || loaded.stamp.is_still(&zone.stamp) {
        return;
    }
    // Touched, or with other comments: the zone is what it was, and so may its serial be.
    if zone.contents_hash.is_some() && zone.contents_hash == loaded.contents_hash {
        return;
    }
    let (old, new) = (pack.zone_row(*number).serial, loaded.pack.zone_row(loaded.number).serial);
    let how = match new.wrapping_sub(old) {
        0 => "did not change, though the zone did",
        1..=0x7fff_ffff => return,
        _ => "went backwards",
    };
    let line = format!("zone {}: serial {how} ({old}, now {new})", zone.apex());
    tracing::warn!("{line}");
    change.warnings.push(line);
}
