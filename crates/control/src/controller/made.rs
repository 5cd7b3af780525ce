//! Zones that are made over the API: read before they are kept, then shown; and taken out again with all that is known of them.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use wire::{Name, NameBuf};

use super::change::Change;
use super::said::{By, Said};
use super::zones::Awaited;
use super::{ChangeGuard, Changing, Controller};
use crate::findings::Room;
use crate::load::{Job, Loaded, Loader, SMALL_PACK_OCTETS};
use crate::packs::{PackFolder, Stored};
use crate::progress::Progress;
use crate::sources::{Source, SourceId};

/// How long it waits between two looks at whether a change is under way.
const LOOK_PAUSE: Duration = Duration::from_millis(5);

/// A zone that was read and is not shown yet.
pub(crate) struct ReadMade {
    job: Job,
    loaded: Loaded,
}

impl Controller {
    /// Begins a change unless another one takes longer than this.
    pub(crate) fn change_within(&self, wait: Duration) -> Option<ChangeGuard<'_>> {
        let until = Instant::now() + wait;
        loop {
            match self.changing.try_lock() {
                Some(changing) => return Some(changing),
                None if Instant::now() > until => return None,
                None => std::thread::sleep(LOOK_PAUSE),
            }
        }
    }

    /// Reads the text of a zone that there is not yet, as one that comes from `source` is read. The error: what is wrong with it, as lines.
    pub(crate) fn read_made(
        &self,
        name: &Name,
        source: SourceId,
        text: &Path,
    ) -> Result<ReadMade, Vec<String>> {
        let (refuse, digest) = {
            let zones = self.zones.read();
            let refuse = zones.sources.refuse(source).unwrap_or(zones.refuse);
            (refuse.severity(), zones.sources.digest(source))
        };
        let job = Job { id: 0, name: name.to_owned(), source: Source::File(text.to_owned()), refuse, digest };
        let (stored, progress) = (Stored::default(), Progress::default());
        let loader = Loader {
            effort: self.effort(),
            // Not before it is kept: a start would show what a pack of the folder has.
            folder: None,
            stored: &stored,
            progress: &progress,
            keep_small: true,
            anchors: self.anchors(),
            room: Room::default(),
        };
        let mut outcomes = Vec::new();
        let making = self.make_packs();
        loader.load_each(std::iter::once(&job), &mut |some| outcomes.extend(some));
        drop(making);
        match outcomes.pop() {
            Some((_, Ok(loaded))) => Ok(ReadMade { job, loaded }),
            Some((_, Err(lines))) => Err(lines),
            None => Err(vec!["it could not be read".to_owned()]),
        }
    }

    /// Stores a zone that was read where packs of the folder have another one of its name, which went: the list of those that went names it no more once it is shown, and a start
    /// must find the new one then. Until that start the list does name it, so that nothing of this pack is shown before the zone is kept. `None`: it cannot be stored.
    pub(crate) fn store_over_older(&self, folder: &PackFolder, mut read: ReadMade) -> Option<ReadMade> {
        if self.zones.read().gone.has(&read.job.name) {
            let _making = self.make_packs();
            read.loaded.pack = folder.store(&read.loaded.pack.pack).ok()?;
        }
        Some(read)
    }

    /// A zone that was read is not to be shown.
    pub(crate) fn give_up_made(&self, read: ReadMade) {
        self.zones.write().packs.add_unused(&read.loaded.pack);
        self.remove_unused_files();
    }

    /// Serves a zone that was read. There is none of its name.
    pub(crate) fn enter_made(&self, _changing: &mut Changing, source: SourceId, read: ReadMade) {
        let ReadMade { job, loaded } = read;
        let mut change = Change { added: 1, ..Change::new(By::Api) };
        change.told.begin(1);
        self.make_room();
        let mut zones = self.zones.write();
        let awaited = Awaited { name: job.name.clone(), source, problem: None, slot: None };
        zones.awaited.insert(job.name.to_lowercase(), awaited);
        let pack = Arc::clone(&loaded.pack);
        self.take(&mut zones, &job, loaded, None, &mut change);
        // Data where there were none can hide zones below.
        self.arrange_awaited(&mut zones);
        drop(zones);
        // Smaller ones are stored together.
        if pack.file.is_none() && pack.pack.octets().len() >= SMALL_PACK_OCTETS {
            self.store_base(&pack.pack);
        }
        self.is_untidy.store(true, Ordering::SeqCst);
        change.told.end(&mut change.warnings);
        change.said.end();
        self.recursion.iter().for_each(|recursion| recursion.zones_changed());
        self.catalogs.make();
        self.secondaries.look_at(vec![job.name]);
    }

    /// Serves a zone no longer, and forgets all that is known of it; says whether log and packs have no more of it that a start would show. It waits
    /// for the log as long as that may be full.
    pub(crate) fn leave_made(&self, _changing: &mut Changing, name: &NameBuf) -> bool {
        let mut said = Said::new(By::Api);
        self.catalogs.renew(name);
        self.forget_data(&HashSet::from([name.clone()]), &mut said);
        self.arrange_awaited(&mut self.zones.write());
        self.forget_text(name);
        let is_told = self.dynamic.replaced(name.to_lowercase());
        self.recursion.iter().for_each(|recursion| recursion.zones_changed());
        said.end();
        // Once more, where it could not be written.
        self.store_gone() && is_told
    }

    /// Whose a zone is that is there, in words.
    pub(crate) fn owner_of(&self, name: &Name) -> String {
        if let Some(made) = self.made.of(name) {
            return format!("it was made over the API, by key {}", made.by);
        }
        if let Some(store) = self.store_of(name) {
            return format!("it is of store {store}");
        }
        if let Some(catalog) = self.member_of(name) {
            return format!("it is a member of catalog {catalog}");
        }
        match self.zones.read().by_command(name) {
            Some(_) => "it is of the operator, by a command".to_owned(),
            None => "it is of the settings".to_owned(),
        }
    }

    /// The name of the nearest zone above this name that others are answered from.
    pub(crate) fn zone_above(&self, name: &Name) -> Option<NameBuf> {
        let zones = self.zones.read();
        self.catalog.reader().with(|view| {
            // Nobody is answered from a mirror: it is a copy for the resolver. Whether there are data now does not matter, as they may come back.
            let is_answered_from = |name: &&Name| match zones.slot(view, name) {
                Some(slot) => !view.group_of(slot).is_mirror(),
                None => !zones.awaited.is_empty() && zones.awaited.contains_key(&name.to_lowercase()),
            };
            let mut above = std::iter::successors(name.parent(), |name| name.parent());
            above.find(is_answered_from).map(Name::to_lowercase)
        })
    }
}
