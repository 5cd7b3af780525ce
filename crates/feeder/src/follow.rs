//! Which zones are to be pushed, and what came of it.
//!
//! ```text
//! list, versions -> due -> pushed: on its way -- served --> held        due again, where it has changed meanwhile
//!                    ^        |      `-- whole -> due, all of it
//!                    '- again '-- refused, unfit, back -> put off
//! ```
//!
//! One push of a zone is on its way at a time: what comes meanwhile goes together with the next, and none is pushed over a version that may be refused. Zones that were read
//! together are said together, and the next ones are read before these are answered, once there is room for as many.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::time::{Duration, Instant};

use store::Fault;
use store::source::{Moment, Next, Source};
use transfer::catalog_zone::Allowed;
use wire::{Name, NameBuf};

use crate::line::Line;
use crate::misnamed::{Misnamed, name_of};
use crate::push::{NotPushed, Push, Pushed};
use crate::raise::{Came, Raises};
use feed::by_name::ByName;
use feed::frame::{Frame, Mark, ON_THEIR_WAY_MAX, Version};

/// What was refused or unfit is looked at again after so long, also if nothing has changed, as the disk may have room again; twice as long each time, until something
/// is served.
const AGAIN: (Duration, Duration) = (Duration::from_secs(15), Duration::from_secs(300));
/// Zones that are said to be asked for next: one round trip for so many is little beside what is read of them, and what was read in vain where there is no room for all is not much.
const PREPARED_MAX: usize = 256;
const _: () =
    assert!(2 * PREPARED_MAX <= ON_THEIR_WAY_MAX.0, "some are on their way while the next are read");

/// What is known of a zone.
#[derive(Default)]
struct Zone {
    /// Whether the server has it.
    is_known: bool,
    /// What it serves of it.
    held: Option<Version>,
    /// Whether a push is on its way, and the octets by which it is counted still.
    is_on_its_way: bool,
    counted: Option<usize>,
    /// Whether all of it is to be pushed next.
    is_whole: bool,
    /// Whether it is among those that are due.
    is_due: bool,
    /// Whether the list has it that is looked at.
    is_listed: bool,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Follow {
    /// Names that zones may have; others are not looked at.
    wanted: Allowed,
    zones: ByName<Zone>,
    due: VecDeque<NameBuf>,
    /// Pushes that are on their way, and their octets.
    on_their_way: (usize, usize),
    /// What was put off, and since when the first of it.
    put_off: HashSet<NameBuf>,
    since: Option<Instant>,
    /// How long that is left alone.
    again: Duration,
    /// What was said of zones whose changes by plain SQL can be no version.
    unfit: HashMap<NameBuf, String>,
    /// Zones of which it was said that what they have cannot be pushed, or is older.
    unpushed: HashSet<NameBuf>,
    /// Zones that are to be given other versions.
    raises: Raises,
    /// Zones that nobody knows by their names.
    misnamed: Misnamed,
    /// Whether it was said that all was looked at.
    has_said: bool,
}

/// Why following a store ends.
#[derive(Debug)]
pub(crate) enum Over {
    /// It cannot be read.
    Fault(Fault),
    /// It is another one, or has other versions, than the one that was opened.
    IsAnother,
    /// The server is gone.
    Io(io::Error),
}

impl From<Fault> for Over {
    fn from(fault: Fault) -> Over {
        Over::Fault(fault)
    }
}

impl From<io::Error> for Over {
    fn from(error: io::Error) -> Over {
        Over::Io(error)
    }
}

type Say<'s> = &'s mut dyn FnMut(Frame) -> io::Result<()>;

impl Follow {
    /// Before anything is known.
    pub(crate) fn new(wanted: Allowed) -> Follow {
        Follow { wanted, ..Follow::default() }
    }

    /// Takes what the server says it holds, before anything is pushed.
    pub(crate) fn hold(&mut self, zone: NameBuf, held: Option<Version>) {
        self.zones.insert(&zone, Zone { is_known: true, held, ..Zone::default() });
    }

    /// Looks at the whole list.
    pub(crate) fn list(&mut self, source: &mut dyn Source) -> Result<(), Fault> {
        let mut due = Vec::new();
        self.zones.values_mut().for_each(|zone| zone.is_listed = false);
        self.misnamed.begin_list();
        source.list(&mut |head| {
            let Some(name) = name_of(head.zone) else {
                if !head.is_removed {
                    self.misnamed.is_there(head.zone, &self.wanted);
                }
                return;
            };
            if !self.wanted.allows(&name) {
                return;
            }
            let known = self.zones.get_mut(&name).map(|zone| {
                zone.is_listed = true;
                zone.held
            });
            let is_same = known.flatten().is_some_and(|held| Mark::from_text(head.mark) == Some(held.mark));
            if !(head.is_removed && known.is_none() || is_same && !head.is_removed) {
                due.push(name);
            }
        })?;
        let unlisted = self.zones.iter().filter(|(_, zone)| !zone.is_listed);
        due.extend(unlisted.map(|(zone, _)| zone.to_owned()));
        due.into_iter().for_each(|zone| self.note(zone));
        Ok(())
    }

    /// Has zones be looked at that have other versions.
    pub(crate) fn changed(&mut self, zones: &[String]) {
        for zone in zones {
            match name_of(zone) {
                Some(name) => self.note(name),
                None => self.misnamed.changed(zone, &self.wanted),
            }
        }
    }

    /// Says which zones have changes that can be no version, and which of them have none any more.
    pub(crate) fn note_unfit(&mut self, refused: &[Fault], say: Say<'_>) -> io::Result<()> {
        self.misnamed.unfit(refused.iter(), &self.wanted);
        let named = refused.iter().filter_map(|fault| Some((name_of(fault.zone()?)?, fault)));
        let now: HashMap<NameBuf, String> =
            named.map(|(zone, fault)| (zone, fault.lines().join("; "))).collect();
        for zone in self.unfit.keys().filter(|zone| !now.contains_key(*zone)) {
            say(Frame::Unfit(zone.clone(), String::new()))?;
        }
        for (zone, words) in now.iter().filter(|(zone, words)| self.unfit.get(*zone) != Some(words)) {
            say(Frame::Unfit(zone.clone(), words.clone()))?;
        }
        self.unfit = now;
        Ok(())
    }

    /// Has a zone be looked at that has another version by what was written here, or than somebody thought who wrote.
    pub(crate) fn written(&mut self, zone: NameBuf) {
        self.note(zone);
    }

    /// Has a zone be looked at.
    fn note(&mut self, name: NameBuf) {
        if !self.wanted.allows(&name) {
            return;
        }
        self.put_off.remove(&name);
        let zone = self.zones.or_default(&name);
        if !std::mem::replace(&mut zone.is_due, true) && !zone.is_on_its_way {
            self.due.push_back(name);
        }
        self.has_said = false;
    }

    fn put_off(&mut self, zone: NameBuf) {
        self.since.get_or_insert_with(Instant::now);
        self.put_off.insert(zone);
    }

    /// Looks once more at all that was put off.
    fn look_again(&mut self) {
        self.since = None;
        std::mem::take(&mut self.put_off).into_iter().for_each(|zone| self.note(zone));
    }

    /// Whether anything is to be pushed, and has room: as much of it as one question is for, since each place that an answer frees would have one of its own else.
    pub(crate) fn is_busy(&self) -> bool {
        !self.due.is_empty() && self.has_room() && self.room() >= self.due.len().min(PREPARED_MAX)
    }

    /// Pushes that may be on their way beside those that are.
    fn room(&self) -> usize {
        ON_THEIR_WAY_MAX.0.saturating_sub(self.on_their_way.0)
    }

    fn has_room(&self) -> bool {
        self.on_their_way.0 < ON_THEIR_WAY_MAX.0 && self.on_their_way.1 < ON_THEIR_WAY_MAX.1
    }

    /// Pushes what is due, as far as there is room; looks once more at what was put off when it is time.
    pub(crate) fn push(&mut self, source: &mut dyn Source, line: &mut dyn Line) -> Result<(), Over> {
        if self.since.is_some_and(|since| since.elapsed() >= self.again.max(AGAIN.0)) {
            self.again = (2 * self.again).clamp(AGAIN.0, AGAIN.1);
            self.look_again();
        }
        if self.misnamed.has_questions() {
            self.misnamed.ask(&mut *source.moment()?)?;
        }
        self.misnamed.news().map_or(Ok(()), |frame| line.say(frame))?;
        if self.is_busy() {
            self.push_due(&mut *source.moment()?, line)?;
        }
        if self.due.is_empty() && !std::mem::replace(&mut self.has_said, true) {
            line.say(Frame::Looked)?;
        }
        line.end()?;
        Ok(())
    }

    fn push_due(&mut self, moment: &mut dyn Moment, line: &mut dyn Line) -> Result<(), Over> {
        while self.is_busy() {
            line.end()?;
            // Of more than there is room for all that is read is read in vain.
            let room = self.room().min(PREPARED_MAX);
            let next: Vec<Next> = self.due.iter().take(room).map(|name| self.next(name)).collect();
            moment.prepare(&next)?;
            for _ in next {
                if !self.has_room() || moment.is_over() {
                    return Ok(());
                }
                let Some(name) = self.due.pop_front() else { return Ok(()) };
                self.push_one(name, moment, line)?;
            }
        }
        Ok(())
    }

    /// What will be asked of a zone.
    fn next(&self, name: &Name) -> Next {
        let zone = self.zones.get(name).filter(|zone| !zone.is_whole);
        let held = zone.and_then(|zone| zone.held).filter(|held| held.mark != Mark::NONE);
        Next { zone: name.to_string(), held: held.map(|held| held.mark.to_string()) }
    }

    fn push_one(&mut self, name: NameBuf, moment: &mut dyn Moment, line: &mut dyn Line) -> Result<(), Over> {
        let zone = self.zones.or_default(&name);
        zone.is_due = false;
        let Zone { is_known, held, is_whole, .. } = *zone;
        // Those before it are not to wait until it is read.
        if is_whole || !moment.has(&name.to_string()) {
            line.end()?;
        }
        match (Push { zone: &name, is_known, held, is_whole }).run(moment, &mut |frame| line.say(frame)) {
            Ok(Pushed::Version(_, octets)) => {
                (zone.is_whole, zone.is_on_its_way, zone.counted) = (false, true, Some(octets));
                self.on_their_way.0 += 1;
                self.on_their_way.1 += octets;
            }
            Ok(Pushed::Gone) => {
                self.raises.forget(&name);
                self.mended(&name, line)?;
                line.say(Frame::Gone(name))?;
            }
            Ok(Pushed::Nothing) => {
                self.raises.forget(&name);
                if !is_known {
                    self.zones.remove(&name);
                }
                self.mended(&name, line)?;
            }
            Ok(Pushed::Later) => self.put_off(name),
            // That is known, and it will be given another version.
            Ok(Pushed::Back(_)) if self.raises.is_held(&name) => self.put_off(name),
            Ok(Pushed::Back(serial)) => {
                line.say(Frame::Back(name.clone(), serial))?;
                self.unpushed.insert(name.clone());
                self.put_off(name);
            }
            Err(NotPushed::Incomplete) => {
                zone.is_whole = true;
                self.note(name);
            }
            // It is gone since it was asked which version is the newest.
            Err(NotPushed::Fault(Fault::Moved { .. })) => self.note(name),
            // It may be the history alone that is broken.
            Err(NotPushed::Fault(fault)) if fault.is_of_zone() && held.is_some() && !is_whole => {
                zone.is_whole = true;
                self.note(name);
            }
            Err(NotPushed::TooLong) => {
                self.cannot_push(name, "a record has more octets than a message".into(), line)?;
            }
            Err(NotPushed::Fault(fault)) if fault.is_of_zone() => {
                self.cannot_push(name, fault.lines().join("; "), line)?;
            }
            Err(NotPushed::Fault(fault)) => return Err(fault.into()),
            Err(NotPushed::Io(error)) => return Err(error.into()),
        }
        Ok(())
    }

    /// Says why what a zone has cannot be pushed; it is looked at once more later.
    fn cannot_push(&mut self, name: NameBuf, words: String, line: &mut dyn Line) -> io::Result<()> {
        line.say(Frame::Unfit(name.clone(), words))?;
        self.unpushed.insert(name.clone());
        self.put_off(name);
        Ok(())
    }

    /// There is nothing to push of a zone, so that nothing is wrong with it either.
    fn mended(&mut self, name: &Name, line: &mut dyn Line) -> io::Result<()> {
        match self.unpushed.take(name) {
            Some(name) => line.say(Frame::Unfit(name, String::new())),
            None => Ok(()),
        }
    }

    /// A push needs no place any more.
    fn leave(&mut self, name: &Name) {
        if let Some(octets) = self.zones.get_mut(name).and_then(|zone| zone.counted.take()) {
            self.on_their_way.0 -= 1;
            self.on_their_way.1 -= octets;
        }
    }

    /// A push is not on its way any more: the zone may be pushed again.
    fn end(&mut self, name: &Name) {
        self.leave(name);
        let Some(zone) = self.zones.get_mut(name) else { return };
        if std::mem::take(&mut zone.is_on_its_way) && zone.is_due {
            self.due.push_back(name.to_owned());
        }
    }

    /// Takes what the server says of a push.
    pub(crate) fn answer(&mut self, frame: Frame) {
        match frame {
            // Its place is free; the zone waits for its end.
            Frame::Arrived(name) => self.leave(&name),
            Frame::Served(name, version) => {
                self.raises.forget(&name);
                let zone = self.zones.or_default(&name);
                (zone.is_known, zone.held) = (true, Some(version));
                self.again = AGAIN.0;
                self.end(&name);
            }
            Frame::Refused(name) => {
                self.end(&name);
                self.put_off(name);
            }
            Frame::Whole(name) => {
                if let Some(zone) = self.zones.get_mut(&name) {
                    zone.is_whole = true;
                }
                self.end(&name);
                self.note(name);
            }
            Frame::Left(name) => {
                self.raises.forget(&name);
                self.end(&name);
                self.zones.remove(&name);
                self.put_off.remove(&name);
                // It may be there again by now.
                self.note(name);
            }
            Frame::Raise(name, above) => self.raises.ask(name, above),
            Frame::Again => self.look_again(),
            _ => {}
        }
    }

    /// Whether zones are to be given other versions that nobody is known to hold.
    pub(crate) fn is_raising(&self) -> bool {
        self.raises.is_due()
    }

    /// Has zones be given other versions, as far as they can now; those that were are looked at again. `at`: the time.
    pub(crate) fn raise(&mut self, source: &mut dyn Source, at: u64, say: Say<'_>) -> Result<(), Over> {
        for (name, came) in self.raises.turn(Instant::now, |some| source.raise(some, at))? {
            match came {
                Came::Raised => self.note(name),
                Came::Held(words) | Came::Never(words) => say(Frame::Unfit(name, words))?,
            }
        }
        Ok(())
    }
}
