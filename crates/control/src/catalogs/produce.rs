//! Catalogs that are made here: what zones say of them (`catalog` in `[[zone]]`) becomes changes of the zones that list them.
//!
//! ```text
//! settings, commands --> zones and their listings --> edits --65,536 at a time--> change --> changer: delta, log, catalog, NOTIFY
//!                                                       ^ labels: the catalog itself, read when it is another than this made
//! ```

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use transfer::catalog_zone::{CHANGE_MEMBERS_MAX, Listed, NoCatalog, Produced, Wanted};
use wire::iana::rtype;
use wire::{Name, NameBuf};
use zone::{Change, Records, ZoneView};

use crate::controller::Controller;
use crate::dynamic::{Incoming, Told, What, pack_of};
use crate::expiry::now;
use crate::findings::Findings;
use crate::load::store;
use crate::sources::Listing;
use crate::text::count;

/// How long the first of some zones waits for those that come with it.
const PAUSE: Duration = Duration::from_millis(100);
/// How long it is from one version of catalogs to the next at least: ten thousand zones that are added one by one are some versions.
const PAUSE_BETWEEN: Duration = Duration::from_secs(1);
/// How long it is until what could not be done is tried again.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(5);
/// How long the changer may take for one change: some syncs of a busy disk.
const CHANGE_WAIT: Duration = Duration::from_secs(30);

/// What the thread knows of the catalogs that are made here.
#[derive(Default)]
pub(super) struct Maker {
    /// The labels of each, and the serial at which they are so; by name in lower case.
    made: HashMap<NameBuf, (u32, Produced)>,
    /// When they are to be looked at.
    due: Option<Instant>,
    last: Option<Instant>,
    /// Whether groups may be others, too.
    is_all: bool,
    /// Why one could not be made, if that was said.
    said: Option<String>,
}

/// A zone that is to be listed, and how.
type Member = (NameBuf, Arc<Listed>);

impl Maker {
    /// Zones may be others; `is_all`: their groups, too.
    pub(super) fn note(&mut self, is_all: bool) {
        let between = self.last.map(|last| last + PAUSE_BETWEEN);
        let due = (Instant::now() + PAUSE).max(between.unwrap_or_else(Instant::now));
        self.due.get_or_insert(due);
        self.is_all |= is_all;
    }

    /// How long there is nothing to do.
    pub(super) fn pause(&self) -> Option<Duration> {
        self.due.map(|due| due.saturating_duration_since(Instant::now()))
    }

    /// Does what is due.
    pub(super) fn make(&mut self, controller: &Controller) {
        if self.due.is_none_or(|due| due > Instant::now()) {
            return;
        }
        (self.due, self.last) = (None, Some(Instant::now()));
        let names = controller.catalogs.state.lock().made.clone();
        self.made.retain(|name, _| names.contains(name));
        let is_all = std::mem::take(&mut self.is_all);
        let renewed = std::mem::take(&mut *controller.catalogs.renewed.lock());
        if names.is_empty() || controller.upgrade.handed_to().is_some() {
            return;
        }
        let mut members = controller.listings();
        let mut failure = None;
        for name in names {
            let members = members.remove(&name).unwrap_or_default();
            if let Err(why) = self.make_one(controller, &name, &members, is_all, &renewed) {
                failure = Some(format!("catalog {name}: {why}"));
            }
        }
        if let Some(line) = &failure {
            // Labels that were to be others still are.
            controller.catalogs.renewed.lock().extend(renewed);
            self.due = Some(Instant::now() + PAUSE_AFTER_FAILURE);
            self.is_all |= is_all;
            if self.said.as_ref() != Some(line) {
                tracing::error!("{line}; tried again each five seconds");
            }
        }
        self.said = failure;
    }

    /// Makes one catalog list what it is to list.
    fn make_one(
        &mut self,
        controller: &Controller,
        name: &NameBuf,
        members: &[Member],
        is_all: bool,
        renewed: &HashSet<NameBuf>,
    ) -> Result<(), String> {
        if controller.serial_of(name).is_none() {
            self.made.remove(name);
            return controller.begin_catalog(name, members);
        }
        let mut edits: Option<std::vec::IntoIter<(NameBuf, Wanted)>> = None;
        let mut is_changed = false;
        loop {
            // Changed by nobody else: updates of it are refused.
            let pinned = controller.pin_catalog(name).ok_or("it cannot be read")?;
            let view = pinned.view().ok_or("its pack is damaged")?;
            let serial = view.row().serial;
            let produced = match self.made.remove(name).filter(|(at, _)| *at == serial) {
                Some((_, produced)) => produced,
                None => Produced::read(&view).map_err(|why| why_text(&why))?,
            };
            let entry = self.made.entry(name.clone()).insert_entry((serial, produced)).into_mut();
            let edits = edits.get_or_insert_with(|| edits_of(&entry.1, members, is_all, renewed).into_iter());
            let some: Vec<(NameBuf, Wanted)> = edits.take(CHANGE_MEMBERS_MAX).collect();
            if some.is_empty() {
                break;
            }
            let change = entry.1.change(&view, &some).map_err(|why| why_text(&why))?;
            let Some(change) = change else { continue };
            controller.give_to_changer(name, &change)?;
            is_changed = true;
            entry.0 = change.serial_after();
            if entry.1.commit(&change).is_err() {
                self.made.remove(name);
            }
        }
        if is_changed {
            let serial = controller.serial_of(name);
            tracing::info!(zone = %name, serial, "catalog {name}: changed, {} now", count(members.len(), "member"));
        }
        Ok(())
    }
}

/// What is to be changed. `is_all`: each member is looked at; otherwise those that are new, others of their name, or no more.
fn edits_of(
    produced: &Produced,
    members: &[Member],
    is_all: bool,
    renewed: &HashSet<NameBuf>,
) -> Vec<(NameBuf, Wanted)> {
    let wanted: HashSet<NameBuf> = members.iter().map(|(zone, _)| zone.to_lowercase()).collect();
    let gone = produced.members_not(|zone| wanted.contains(&zone.to_lowercase()));
    let gone = gone.into_iter().map(|zone| (zone, Wanted::Unlisted));
    let listed = members.iter().filter_map(|(zone, listed)| {
        let is_there = produced.label(zone).is_some();
        let is_other = is_there && !renewed.is_empty() && renewed.contains(&zone.to_lowercase());
        let wanted = match is_other {
            true => Wanted::Renewed((**listed).clone()),
            false if is_all || !is_there => Wanted::Listed((**listed).clone()),
            false => return None,
        };
        Some((zone.clone(), wanted))
    });
    gone.chain(listed).collect()
}

fn why_text(why: &NoCatalog) -> String {
    match why {
        NoCatalog::NameTooLong => "its name leaves no room for those of members".into(),
        NoCatalog::Broken(broken) => format!("what is stored of it is none: {broken}"),
        NoCatalog::Damaged => "it is damaged where it is stored".into(),
        NoCatalog::TooMany => "there is no room for more members".into(),
    }
}

/// What listings say, as catalogs have it.
fn listed(listing: &Listing) -> Listed {
    let groups = listing.groups.texts().iter().map(|group| group.as_bytes().into()).collect();
    Listed { groups, coo: listing.coo.clone() }
}

impl Controller {
    /// The zones that say that a catalog lists them, by catalog.
    fn listings(&self) -> HashMap<NameBuf, Vec<Member>> {
        let mut members: HashMap<NameBuf, Vec<Member>> = HashMap::new();
        let mut known: HashMap<Listing, Arc<Listed>> = HashMap::new();
        self.for_each_listing(|name, listing| {
            let own = known.entry(listing.clone()).or_insert_with(|| Arc::new(listed(listing)));
            members.entry(listing.catalog.clone()).or_default().push((name.to_owned(), Arc::clone(own)));
        });
        members
    }

    /// Makes a catalog that has no data: all of it at once, as others would take an empty one at its word. Labels are those that it had, if they were of names alone.
    fn begin_catalog(&self, name: &Name, members: &[Member]) -> Result<(), String> {
        // What is stored of it is shown, if anything is, once a change that is under way is over.
        let _changing = self.change();
        if self.serial_of(name).is_some() || !self.is_made(name) {
            return Ok(());
        }
        let begin = Produced::begin(name, now() as u32).map_err(|why| why_text(&why))?;
        let empty = pack(name, &begin).ok_or("it cannot be built")?;
        let view = ZoneView::new(&empty, 0).ok_or("it cannot be built")?;
        let produced = Produced::read(&view).map_err(|why| why_text(&why))?;
        let mut records = begin;
        for some in members.chunks(CHANGE_MEMBERS_MAX) {
            let wanted: Vec<(NameBuf, Wanted)> = some
                .iter()
                .map(|(zone, listed)| (zone.clone(), Wanted::Listed((**listed).clone())))
                .collect();
            let change = produced.change(&view, &wanted).map_err(|why| why_text(&why))?;
            for record in change.iter().flat_map(|change| change.added().iter()) {
                if record.rtype != rtype::SOA {
                    records.push(record.owner, record.rtype, record.ttl, record.rdata);
                }
            }
        }
        let pack = pack(name, &records).and_then(Arc::into_inner).ok_or("it cannot be built")?;
        let stored = store(self.writable_folder(), pack);
        match self.take_transferred((name, None), (stored, 0), Findings::default(), true) {
            true => {
                let members = members.len();
                tracing::info!(zone = %name, members, "catalog {name}: made, with {}", count(members, "member"));
                Ok(())
            }
            false => Err("it is not served any more".into()),
        }
    }

    /// Has the changer make a change; waits until it is served.
    fn give_to_changer(&self, name: &Name, change: &Change) -> Result<(), String> {
        let (sender, done) = sync_channel(1);
        let told = Told::new(move |result| {
            // Who waited for it may be gone.
            let _ = sender.try_send(result);
        });
        let what = What::Changes(vec![change.clone()], told);
        self.dynamic.incoming(Incoming { zone: name.to_lowercase(), what });
        match done.recv_timeout(CHANGE_WAIT) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(why)) => Err(format!("a change cannot be kept or served now ({why:?})")),
            Err(_) => Err("a change was not made within half a minute".into()),
        }
    }
}

/// A pack of these records alone.
fn pack(apex: &Name, records: &Records) -> Option<Arc<zone::Pack>> {
    // No text: its mark is none.
    pack_of(apex, &[&0_u64.to_le_bytes(), records.octets()].concat())
}
