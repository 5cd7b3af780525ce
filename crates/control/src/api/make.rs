//! Zones that are made, set and removed: each is a change of the list of zones, done by a thread of its own, as such a change waits for others and for the disk.
//!
//! ```text
//! make   contents -> text, written and synced -> read as any text is, checked -> line in `made`, synced -> served -> 201
//! set    line -> 204
//! drop   line -> served no more, packs and log told -> text removed -> 204
//! ```
//!
//! It reads histories too, which are in files (`undo`). The line is the commit: whatever is killed before it, nobody was told of the zone; whatever after it, a start goes on from there. Design: `docs/design/api.md` 4.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use api::frame::{Ask, Asked, Fields, Kind, RowKind, Sets, Verbs, Version};
use api::tag::Condition;
use journal::history::Listed;
use wire::iana::rtype;
use wire::{Name, NameBuf, SortKey};

use super::Key;
use super::inbox::{Event, Inbox, Of};
use super::views::{bounded, frames, json};
use super::words::NO_ZONE;
use crate::controller::{Changing, Controller};
use crate::dynamic::repeats::{Look, Repeat};
use crate::dynamic::{NotAltered, Queue, Told};
use crate::made::text::{Usual, text_of};
use crate::made::{Gone, MadeZone, Request, Unkept};
use crate::packs::PackFolder;
use crate::settings::MadeTerms;
use crate::text::cannot;
use crate::why::Question;

/// How long a change of the list waits for another one: who asks over HTTP waits seconds, and a reload of a million zones takes a minute.
const CHANGE_WAIT: Duration = Duration::from_secs(2);

/// How old a request may be when its turn comes: who waited longer was told that nothing is known of it, and may have done something else.
const WORK_AGE_MAX: Duration = Duration::from_secs(10);

/// How long changes of a zone that is to go may take: some syncs of a busy disk.
const SETTLE_WAIT: Duration = Duration::from_secs(3);

/// Versions of a zone that are told: one piece, and what a person may want to look at.
const VERSIONS_MAX: usize = 1_000;

/// A text on its way, in the folder of texts: there is one at a time.
const TEMPORARY: &str = ".new";

/// Lines about contents that are told: who has more has the same mistake in all.
const LINES_MAX: usize = 20;

/// What the thread does, as it waits for the disk.
pub(super) enum Job {
    /// Something is done with a zone.
    Work(Work),
    /// Something of its history is read.
    Read(Read),
}

/// What is read of zones behind that: their histories, how they stand, and why they answer so.
pub(super) enum Read {
    /// Versions of a zone.
    History(Of, NameBuf),
    /// What leads back to the one with this serial; with a pin on this seat.
    Undo(Of, u8, NameBuf, u32),
    /// How a zone stands, with what only operators know or without.
    Stand(Of, NameBuf, bool),
    /// Why a question is answered as it is, for who may see what this key may.
    Why(Of, Question, Arc<Key>),
}

/// What is to be done with a zone.
pub(super) struct Work {
    pub(super) of: Of,
    /// Lower-case.
    pub(super) zone: NameBuf,
    /// To make, set or drop it.
    pub(super) ask: Box<[u8]>,
    /// By what it is known if it comes again.
    pub(super) repeat: Option<Repeat>,
    /// Whose it is; that it may was looked at.
    pub(super) key: Arc<Key>,
    /// The keys among which that one is.
    pub(super) keys: u64,
    /// When it came.
    pub(super) since: Instant,
}

impl Work {
    /// What is kept of it, as it is carried out. `serial`: that the zone has now, or had last.
    fn request(&self, serial: u32) -> Option<Request> {
        let time = crate::expiry::now();
        self.repeat.map(|repeat| Request { repeat, serial, time })
    }
}

/// What became of it.
pub(super) enum Worked {
    /// There is such a zone now, with this serial.
    Made(u32, MadeZone),
    /// It is as was asked for.
    Done,
}

/// The thread's queue: of asks, of which there is a bound.
pub(super) type Works = Arc<Queue<Job>>;

/// Starts the thread, which ends when its queue is closed.
pub(super) fn start(owner: Weak<Controller>, inbox: Arc<Inbox>) -> io::Result<Works> {
    let works: Works = Arc::new(Queue::new());
    let queue = Arc::clone(&works);
    std::thread::Builder::new().name("api-make".into()).spawn(move || {
        // What is only read waits for what is done: a zone is made within a client's patience however many histories are asked for.
        let mut reads = VecDeque::new();
        while let Some(jobs) = queue.take((!reads.is_empty()).then(Instant::now)) {
            let Some(controller) = owner.upgrade() else { return };
            let mut has_worked = false;
            for job in jobs {
                match job {
                    Job::Work(work) => {
                        inbox.tell(Event::Worked(work.of, controller.work_for_api(&work)));
                        has_worked = true;
                    }
                    Job::Read(read) => reads.push_back(read),
                }
            }
            match reads.pop_front() {
                Some(Read::History(of, zone)) => {
                    inbox.tell(Event::Versions(of, controller.history_for_api(&zone)));
                }
                Some(Read::Undo(of, seat, zone, serial)) => {
                    inbox.tell(Event::Undo(of, controller.undo_for_api(of.ask, seat, &zone, serial)));
                }
                Some(Read::Why(of, question, key)) => {
                    let may_observe = key.verbs.has(Verbs::OBSERVE);
                    let why = controller.why(&question, |zone| key.may_see(zone), may_observe);
                    let told = bounded(json(&why)).map(|text| frames(of.ask, &text));
                    inbox.tell(Event::Told(of, told));
                }
                Some(Read::Stand(of, zone, is_all)) => {
                    let told = controller.stand_for_api(&zone, is_all).map(|text| frames(of.ask, &text));
                    inbox.tell(Event::Told(of, told));
                }
                None => {}
            }
            // Packs of zones that are new are stored beside what is asked next.
            if has_worked {
                crate::serve::tidy_on_a_thread(&controller);
            }
        }
    })?;
    Ok(works)
}

fn said(status: u16, words: impl Into<String>) -> NotAltered {
    NotAltered::said(status, words)
}

/// What is said where nothing was kept.
fn unkept(why: Unkept) -> NotAltered {
    match why {
        Unkept::NotNow => NotAltered::NotNow,
        Unkept::Unknown => {
            said(504, "it is not known whether this is kept: the list of zones cannot be written")
        }
    }
}

impl Controller {
    /// The newest versions of a zone, newest first. The error: a status, and why not.
    fn history_for_api(&self, zone: &Name) -> Result<Vec<Version>, (u16, &'static str)> {
        if !self.is_listed(zone) {
            return Err((404, NO_ZONE));
        }
        let serial = self.serial_of(zone).ok_or((503, "the zone has no data now"))?;
        let versions = self.historian.versions(zone, serial).map_err(|error| {
            tracing::warn!(%zone, %error, "zone {zone}: its history cannot be read: {error}");
            (503, "its history cannot be read")
        })?;
        let version = |listed: &Listed| {
            let Listed { before, after, time: seconds, octets, .. } = *listed;
            Version { before, after, seconds, octets }
        };
        Ok(versions.iter().rev().take(VERSIONS_MAX).map(version).collect())
    }

    fn work_for_api(&self, work: &Work) -> Result<Worked, NotAltered> {
        let Ok(ask) = Ask::read(&work.ask) else { return Err(said(422, "this is nothing that is done")) };
        let mut changing = self.change_within(CHANGE_WAIT).ok_or(NotAltered::NotNow)?;
        // Keys are others by a change: none comes in between from here on.
        if self.api.keys_number() != work.keys {
            return Err(NotAltered::OtherKeys);
        }
        let is_over = self.dynamic.is_held() || self.upgrade.handed_to().is_some();
        let folder = self.writable_folder().filter(|_| self.dynamic.is_running() && !is_over);
        let folder = folder.ok_or(NotAltered::NotNow)?;
        if work.since.elapsed() > WORK_AGE_MAX {
            return Err(NotAltered::NotNow);
        }
        // Told when it was read, and by `zonda ctl status`.
        if self.made.problem().is_some() {
            return Err(said(
                503,
                "zones are not made or removed now: the list of those that were cannot be read",
            ));
        }
        if let Some(done) = self.done_before(work, &ask.asked)? {
            return Ok(done);
        }
        match ask.asked {
            Asked::Make { fields, sets, .. } => self.make_zone(&mut changing, folder, work, (&fields, sets)),
            Asked::Set { condition, fields, .. } => {
                let made = self.expect_made(&work.zone)?;
                self.expect_version(&work.zone, condition)?;
                let serial = self.serial_of(&work.zone).unwrap_or_default();
                let request = work.request(serial);
                self.made.keep(folder, &work.zone, made.with(&fields), request).map_err(unkept)?;
                Ok(Worked::Done)
            }
            Asked::Drop { condition, .. } => {
                let made = self.expect_made(&work.zone)?;
                if self.texts.of(&work.zone).is_frozen {
                    return Err(said(409, "the zone is frozen by its operator"));
                }
                let _leaving = self.made.leaving(&work.zone);
                if !self.is_settled(&work.zone) {
                    return Err(NotAltered::NotNow);
                }
                self.expect_version(&work.zone, condition)?;
                self.drop_zone(&mut changing, folder, work, &made)
            }
            _ => Err(said(422, "this is nothing that is done")),
        }
    }

    /// What is said of a request that was carried out before: what was said of it then, whatever became of the zone. `None`: it is new.
    fn done_before(&self, work: &Work, asked: &Asked<'_>) -> Result<Option<Worked>, NotAltered> {
        let Some(repeat) = &work.repeat else { return Ok(None) };
        match (self.made.look(repeat, crate::expiry::now()), asked) {
            // One is carried out after the other.
            (Look::New | Look::UnderWay, _) => Ok(None),
            (Look::Other, _) => Err(NotAltered::OtherRequest),
            (Look::Done(zones), Asked::Make { fields, .. }) => {
                let serial = zones.first().map_or(0, |(_, (_, serial))| *serial);
                Ok(Some(Worked::Made(serial, MadeZone::new(fields, work.key.name()))))
            }
            (Look::Done(_), _) => Ok(Some(Worked::Done)),
        }
    }

    /// A zone that was made; the error: there is none, or it is another's.
    fn expect_made(&self, zone: &Name) -> Result<MadeZone, NotAltered> {
        if let Some(made) = self.made.of(zone) {
            return Ok(made);
        }
        match self.has_zone(zone) {
            true => Err(said(422, format!("this zone was not made over the API: {}", self.owner_of(zone)))),
            false => Err(said(404, NO_ZONE)),
        }
    }

    /// Whether all that was asked for of a zone is served: nothing more of it is taken now.
    fn is_settled(&self, zone: &NameBuf) -> bool {
        let (sender, told) = sync_channel(1);
        let barrier = Told::new(move |result: Result<(), _>| {
            // Who waited for it may be gone.
            let _ = sender.try_send(result.is_ok());
        });
        self.dynamic.barrier(zone.clone(), barrier);
        told.recv_timeout(SETTLE_WAIT).unwrap_or(false)
    }

    fn expect_version(&self, zone: &Name, condition: Condition) -> Result<(), NotAltered> {
        let holds = match condition {
            Condition::None => true,
            Condition::Any => self.has_data(zone),
            condition => self.api.tag_of(self, zone).is_some_and(|tag| condition.holds(tag)),
        };
        if holds { Ok(()) } else { Err(said(412, "the zone is in another version")) }
    }

    fn make_zone(
        &self,
        changing: &mut Changing,
        folder: &PackFolder,
        work: &Work,
        (fields, sets): (&Fields<'_>, Sets<'_>),
    ) -> Result<Worked, NotAltered> {
        let zone = &work.zone;
        let terms = changing.settings.made_terms().ok().flatten().filter(|terms| !terms.zones.is_empty());
        let terms = terms.ok_or_else(|| {
            said(422, "no zones are made here: `zones` and `template` of [api] in the settings say which are")
        })?;
        self.expect_place(changing, &terms, zone, &work.key)?;
        let source = self.made.source().ok_or(NotAltered::NotNow)?;
        let path = self.made_text(zone).ok_or_else(|| said(422, "the name is too long for a file"))?;
        let made = MadeZone::new(fields, work.key.name());
        let usual = Usual {
            default_ns: &terms.default_ns,
            style: made.serial_style(),
            floor: self.made.floor(zone),
            now: crate::expiry::now(),
        };
        let (text, serial) = text_of(zone, fields, sets, &usual).map_err(|words| said(422, words))?;
        // Of a zone that had the name, and left while nothing could be written: the log says that before anything of this one is there.
        if !self.dynamic.replaced(zone.clone()) {
            return Err(NotAltered::NotNow);
        }
        // So with what is known of its text, where its end was cut short: a start would hold this one's text against that, and miss changes that it never had.
        self.texts
            .change(zone, |text| (text.base, text.next) = (None, None))
            .map_err(|_| NotAltered::NotNow)?;
        self.made.begin(folder).map_err(unkept)?;
        if let Err(error) = write_text(&path, &text) {
            let path = path.display();
            tracing::error!(zone = %zone, "zone {zone} is not made: {path}: {}", cannot("write", &error));
            return Err(NotAltered::NotNow);
        }
        let read = self.read_made(zone, source, &path).map_err(|lines| {
            let _ = fs::remove_file(&path);
            said(422, words_of(&lines, &path))
        })?;
        let Some(read) = self.store_over_older(folder, read) else {
            let _ = fs::remove_file(&path);
            return Err(NotAltered::NotNow);
        };
        if let Err(why) = self.made.keep(folder, zone, made.clone(), work.request(serial)) {
            self.give_up_made(read);
            if why == Unkept::NotNow {
                let _ = fs::remove_file(&path);
            }
            return Err(unkept(why));
        }
        self.enter_made(changing, source, read);
        let key = work.key.name();
        tracing::info!(zone = %zone, serial, key, "zone {zone}: made over the API by key {key}");
        Ok(Worked::Made(serial, made))
    }

    /// The error: no zone of this name is made here, or not by this key.
    fn expect_place(
        &self,
        changing: &Changing,
        terms: &MadeTerms,
        zone: &Name,
        key: &Key,
    ) -> Result<(), NotAltered> {
        if !terms.zones.allows(zone) {
            return Err(said(403, "no zone of this name is made here: `zones` of [api] in the settings"));
        }
        if self.has_zone(zone) {
            return Err(said(409, format!("this zone is there: {}", self.owner_of(zone))));
        }
        if changing.commanded.removed().any(|name| name.eq_ignore_case(zone)) {
            return Err(said(409, "this zone is of the settings; its operator has removed it by a command"));
        }
        if self.made.count() >= terms.zones_max {
            return Err(said(
                422,
                "there are as many zones as may be made: `zones-max` of [api] in the settings",
            ));
        }
        let Some(above) = self.zone_above(zone).filter(|_| !terms.below) else { return Ok(()) };
        // It takes its names from that zone, as a delegation would.
        let owner = SortKey::of(zone);
        let may_delegate =
            |policy: &change::Policy| policy.of_api(key.name()).decide(owner.octets(), rtype::NS).is_granted;
        let of_zone = self.update_terms(&above).policy;
        if may_delegate(&key.policy) && of_zone.as_deref().is_some_and(may_delegate) {
            return Ok(());
        }
        Err(said(
            403,
            "a zone above this one is served here, in which this key may not delegate the name (NS): its rules, those of that zone, or `below` of [api] in the settings",
        ))
    }

    fn drop_zone(
        &self,
        changing: &mut Changing,
        folder: &PackFolder,
        work: &Work,
        made: &MadeZone,
    ) -> Result<Worked, NotAltered> {
        let zone = &work.zone;
        let serial = self.serial_of(zone).or_else(|| self.made.floor(zone)).unwrap_or_default();
        let gone = Gone { serial, time: crate::expiry::now() };
        self.made.strike(folder, zone, gone, work.request(serial)).map_err(unkept)?;
        let is_told = self.leave_made(changing, zone);
        if let Some(path) = self.made_text(zone) {
            // What stays is removed by the next start.
            let _ = fs::remove_file(path);
        }
        let (key, by) = (work.key.name(), &made.by);
        tracing::info!(zone = %zone, serial, key, "zone {zone}: removed over the API by key {key}; {by} had made it");
        match is_told {
            true => Ok(Worked::Done),
            false => Err(said(
                504,
                "it is served no more; as the log of changes cannot be written, a start may show it until it has read which zones there are",
            )),
        }
    }
}

/// Writes the text of a zone, durable with its name in the folder.
fn write_text(path: &Path, text: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    let temporary = folder.join(TEMPORARY);
    let mut file = File::create(&temporary)?;
    file.write_all(text)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    File::open(folder)?.sync_all()
}

/// What is wrong with contents, without the name of the file that nobody wrote.
fn words_of(lines: &[String], path: &Path) -> String {
    let path = path.display().to_string();
    let told = lines.iter().take(LINES_MAX);
    let told: Vec<&str> = told
        .map(|line| {
            let Some(rest) = line.strip_prefix(&path) else { return &**line };
            // Line and column of it are nobody's either.
            rest.trim_start_matches(|letter: char| letter == ':' || letter.is_ascii_digit()).trim_start()
        })
        .collect();
    told.join("; ")
}

impl MadeZone {
    /// As rows tell it.
    pub(super) fn row_kind(&self) -> RowKind {
        match self.kind {
            Kind::Native => RowKind::Native,
            Kind::Master => RowKind::Master,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
