//! One feeder from its start to its end: what it says is taken, one frame after the other, and it is told what came of that. All that one read of the pair brought is a turn: what has changed in
//! zones goes to the changer together at its end.

use std::collections::HashSet;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use feed::frame::Frame;
use feed::pair::{Reader, SILENCE_MAX};
use wire::NameBuf;

use super::batch::{Batch, UnderWay};
use super::incoming::{Came, Means, Push};
use super::leaving::SETTLE;
use super::outcome::Outcomes;
use super::readdress::Readdress;
use super::shown::shown;
use super::tell::{Line, Tell};
use super::turn::{Coming, Turn};
use super::{About, Stands, StoreName};
use crate::controller::Controller;
use crate::settings::StoreTerms;
use crate::text::count as zones_of;

/// How long it is waited for a frame, before it is looked whether the settings are others, and what else is due.
const PAUSE: Duration = Duration::from_millis(100);
/// Whole zones that have come are served once nothing more has come for so long, and the first of them after so long in any case.
const BATCH_WAITS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(2));

/// Why a session is over.
pub(super) enum Ended {
    /// The settings have other terms, or the server ends.
    NotWanted,
    /// Another server has taken over.
    HandedOver,
    /// The database is away, and has another address by now, or another password.
    Readdressed,
    /// The feeder is gone, or says what is no word.
    Fault(io::Error),
}

/// See the module.
pub(super) struct Session {
    pub(super) controller: Arc<Controller>,
    pub(super) key: (StoreName, u64),
    pub(super) terms: StoreTerms,
    pub(super) line: Line,
    reader: Reader,
    pub(super) tell: Tell,
    /// When something was heard last.
    heard: Instant,
    /// What pushes may take.
    means: Means,
    pub(super) push: Option<Push>,
    pub(super) under_way: Arc<UnderWay>,
    pub(super) batch: Batch,
    pub(super) turn: Turn,
    /// Zones that are gone, of the look that is under way.
    pub(super) gone: HashSet<NameBuf>,
    /// The database that the feeder has opened, and whether it was told what is held.
    pub(super) opened: Option<(String, bool)>,
    pub(super) opened_at: Option<Instant>,
    readdress: Readdress,
}

impl Session {
    /// Begins with a feeder that was just started. `opening`: what it is told first ([`super::opening`]).
    pub(super) fn begin(
        controller: Arc<Controller>,
        key: (StoreName, u64),
        pid: u32,
        (pair, opening): (UnixStream, &[Frame]),
    ) -> io::Result<Session> {
        let means = Means::of(&controller);
        let reader = Reader::new(pair.try_clone()?);
        let line = Line::new(pair)?;
        let awaited = controller.stores.with(key, |store, _, _| store.about.writes.awaited());
        let outcomes = Outcomes::of(Arc::downgrade(&controller.stores), key);
        let tell = Tell::start(outcomes, line.clone(), awaited.unwrap_or_default())?;
        let begun = tell.clone();
        let terms = controller.stores.with(key, |store, _, _| {
            let about = &mut store.about;
            about.begin_anew();
            (about.stands, about.pid, about.tell) = (Stands::Starting, Some(pid), Some(begun));
            store.terms.clone()
        });
        let terms = terms.ok_or(io::ErrorKind::NotFound)?;
        line.say(opening)?;
        tracing::debug!(pid, "store {}: its feeder is {pid}", key.0);
        Ok(Session {
            controller,
            key,
            terms,
            line,
            reader,
            tell,
            heard: Instant::now(),
            means,
            push: None,
            under_way: Arc::default(),
            batch: Batch::default(),
            turn: Turn::default(),
            gone: HashSet::new(),
            opened: None,
            opened_at: None,
            readdress: Readdress::new(opening),
        })
    }

    /// Does something with what is known of the store; nothing where the settings have other terms by now.
    pub(super) fn about<R>(&self, act: impl FnOnce(&mut About) -> R) -> Option<R> {
        self.controller.stores.with(self.key, |store, _, _| act(&mut store.about))
    }

    /// Until the feeder ends, or is to.
    pub(super) fn run(mut self) -> Ended {
        let ended = self.converse();
        self.end_writes(true);
        // Others have this end too, and it is to see that it is over.
        self.line.hang_up();
        match ended {
            Ended::Fault(_) if !self.is_wanted() => Ended::NotWanted,
            ended => ended,
        }
    }

    /// Whether the settings have the store as it was begun, and the server does not end.
    fn is_wanted(&self) -> bool {
        self.controller.stores.generation(self.key.0) == Some(self.key.1)
    }

    fn converse(&mut self) -> Ended {
        let mut looked = Instant::now();
        loop {
            if !self.is_wanted() {
                return Ended::NotWanted;
            }
            if self.controller.upgrade.handed_to().is_some() {
                return Ended::HandedOver;
            }
            match self.reader.next(if self.batch.is_empty() { PAUSE } else { BATCH_WAITS.0 }) {
                Ok(Some(frame)) => {
                    self.heard = Instant::now();
                    if let Err(error) = self.take(frame) {
                        return Ended::Fault(error);
                    }
                    // It may be long until there is more.
                    if !self.reader.has_frame() {
                        self.end_turn();
                    }
                }
                Ok(None) if self.heard.elapsed() >= SILENCE_MAX => {
                    return Ended::Fault(io::ErrorKind::TimedOut.into());
                }
                Ok(None) => self.flush(),
                Err(error) => return Ended::Fault(error),
            }
            if self.batch.is_full()
                || self.batch.waits_since().is_some_and(|since| since.elapsed() >= BATCH_WAITS.1)
            {
                self.flush();
            }
            if looked.elapsed() >= PAUSE {
                looked = Instant::now();
                if let Err(error) = self.tend() {
                    return Ended::Fault(error);
                }
                // A second connection may be refused, with a password of before, while the first one stands.
                let is_refused = |about: &About| matches!(about.notices, Some(Err(_)));
                let is_away =
                    self.about(|about| matches!(about.stands, Stands::Away(..)) || is_refused(about));
                if self.readdress.is_due(&self.terms, is_away == Some(true)) {
                    return Ended::Readdressed;
                }
            }
        }
    }

    /// What is due by time, or by an operator's word.
    fn tend(&mut self) -> io::Result<()> {
        if self.tell.is_unheard() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if let Some((identity, false)) = self.opened.clone() {
            self.go(&identity)?;
        }
        let is_due = self.about(|about| about.back.values().any(|since| since.elapsed() >= SETTLE));
        if is_due == Some(true) {
            self.weigh();
        }
        self.controller.stores.keep_owned(self.controller.place_of_stores().as_ref());
        self.tell_late_writes();
        Ok(())
    }

    fn take(&mut self, frame: Frame) -> io::Result<()> {
        match frame {
            Frame::Opened { identity, is_writable } => self.take_opened(identity, is_writable)?,
            Frame::Beat => {}
            Frame::Away(words) => self.away(shown(&words)),
            Frame::Unconfined if self.may_say() => tracing::warn!(
                "Landlock, or a filter of system calls, cannot be had here: the feeder of store {} could do what the server's user may",
                self.key.0
            ),
            Frame::Unconfined => {}
            // What comes before it was told what is held is no word.
            _ if !matches!(self.opened, Some((_, true))) => return Err(io::ErrorKind::InvalidData.into()),
            Frame::Begin { zone, from, to } => {
                self.is_there(&zone);
                self.push = Some(Push::begin((zone, from, to), &self.means));
            }
            Frame::Message(octets) => self.push.as_mut().ok_or(io::ErrorKind::InvalidData)?.message(&octets),
            Frame::End => {
                let push = self.push.take().ok_or(io::ErrorKind::InvalidData)?;
                self.end(push);
            }
            Frame::Broken => drop(self.push.take()),
            // Of zones that are not its own nothing is kept.
            Frame::Gone(zone) if self.is_ours(&zone) => drop(self.gone.insert(zone)),
            Frame::Back(zone, serial) if self.is_ours(&zone) => {
                self.is_there(&zone);
                self.went_back(&zone, serial);
            }
            Frame::Gone(_) | Frame::Back(..) => {}
            // It may have zones that are not to be served.
            Frame::Unfit(zone, _) | Frame::Without(zone, _) if !self.terms.zones.allows(&zone) => {}
            Frame::Without(zone, words) => self.without(zone, shown(&words)),
            Frame::Unfit(zone, words) => self.unfit(zone, shown(&words)),
            Frame::Misnamed(count, words) => self.misnamed((count, shown(&words))),
            Frame::Notices(words) => self.notices(words.as_deref().map(shown)),
            Frame::Looked => self.looked(),
            Frame::Written(written) => self.written(&written),
            Frame::Unwritten(zone, number, why, words) => self.unwritten(&zone, number, why, shown(&words)),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
        Ok(())
    }

    /// A zone is in the store, whatever was said before: it may have come back since.
    fn is_there(&mut self, zone: &NameBuf) {
        self.gone.remove(zone);
        self.about(|about| about.gone.remove(zone));
    }

    /// The database cannot be read, or, without words, can again.
    pub(super) fn away(&mut self, words: String) {
        let name = self.key.0;
        let now = crate::expiry::now();
        let was = self.about(|about| {
            let stands = match (words.is_empty(), &about.stands) {
                (true, _) => Stands::Following,
                (false, Stands::Away(_, since)) => Stands::Away(words.clone(), *since),
                (false, _) => Stands::Away(words.clone(), now),
            };
            // Who hears them is away too.
            about.notices.take_if(|_| !words.is_empty());
            std::mem::replace(&mut about.stands, stands)
        });
        match was {
            Some(Stands::Away(before, _)) if before == words => {}
            Some(_) if !self.may_say() => {}
            Some(_) if words.is_empty() => tracing::info!("store {name}: it can be read again"),
            Some(_) => tracing::error!("store {name}: {words}; its zones are served as they are"),
            None => {}
        }
    }

    /// Whether one more line of the log may be of what the feeder says; what is not said there is told by `zonda ctl store`.
    pub(super) fn may_say(&self) -> bool {
        let now = self.controller.stores.seconds();
        let (may, is_first) = self.about(|about| about.lines.may(now)).unwrap_or_default();
        if is_first {
            let name = self.key.0;
            tracing::warn!(
                "store {name}: more is wrong than the log is told in a minute; `zonda ctl store show {name}`"
            );
        }
        may
    }

    /// Whether a zone is of this store.
    pub(super) fn is_ours(&self, zone: &NameBuf) -> bool {
        self.controller.stores.is_of(self.key, zone)
    }

    fn unfit(&mut self, zone: NameBuf, words: String) {
        if words.is_empty() {
            // It has what is served, or nothing, so that it did not go back either.
            self.about(|about| (about.refused.remove(&zone), about.back.remove(&zone)));
            return;
        }
        // What another owner has is not to be served from here, whatever is wrong with it: PowerDNS has zones of others that settings have by now.
        let is_others = || self.controller.taken()(&zone) || self.controller.member_of(&zone).is_some();
        if !self.is_ours(&zone) && is_others() {
            self.about(|about| about.refused.remove(&zone));
            return;
        }
        self.refuse(zone, words);
    }

    /// Whether what the database says is heard, or why not: it is looked each `poll-ms` then, as if it said nothing.
    fn notices(&self, words: Option<String>) {
        let heard = words.map(|words| if words.is_empty() { Ok(()) } else { Err(words) });
        let (is_heard, why) = (heard == Some(Ok(())), heard.clone().and_then(Result::err));
        let before = self.about(|about| {
            about.notices = heard;
            std::mem::replace(&mut about.notices_said, why.clone())
        });
        let name = self.key.0;
        match (before, why) {
            (Some(None), Some(why)) if self.may_say() => {
                tracing::warn!("store {name}: its NOTIFY is not heard: {why}; it is looked each `poll-ms`");
            }
            (Some(Some(_)), None) if is_heard && self.may_say() => {
                tracing::info!("store {name}: its NOTIFY is heard");
            }
            _ => {}
        }
    }

    /// Zones have names by which nobody knows them; none, or none any more.
    fn misnamed(&self, now: (u32, String)) {
        let (count, words) = now.clone();
        let is_new = self.about(|about| {
            let is_new = about.misnamed != now && about.misnamed_before.take().as_ref() != Some(&now);
            about.misnamed = now;
            is_new
        });
        if count > 0 && is_new == Some(true) && self.may_say() {
            let zones = zones_of(count as usize, "zone");
            tracing::error!(
                "store {}: {zones} not served, as their names are not in their one form: {words}",
                self.key.0
            );
        }
    }

    /// Notes what of a zone is not served. That is as its owner has it, and no matter of the log.
    fn without(&self, zone: NameBuf, words: String) {
        if !self.is_ours(&zone) && self.controller.taken()(&zone) {
            return;
        }
        if self.about(|about| about.note_without(zone.clone(), &words)) == Some(true) {
            tracing::debug!(%zone, "zone {zone}: store {}: {words}", self.key.0);
        }
    }

    /// Notes and says why a zone is not served as the store has it.
    pub(super) fn refuse(&self, zone: NameBuf, why: String) {
        if self.about(|about| about.refuse(zone.clone(), why.clone())) == Some(true) && self.may_say() {
            let stays = match self.controller.serial_of(&zone) {
                Some(serial) => format!("serial {serial} stays"),
                None => "it is not served".into(),
            };
            tracing::error!(%zone, "zone {zone}: store {}: {why}; {stays}", self.key.0);
        }
    }

    /// A push has come to its end.
    fn end(&mut self, push: Push) {
        let (zone, from, to, octets) = (push.zone.clone(), push.from, push.to, push.octets());
        if !self.terms.zones.allows(&zone) {
            return self.refused(zone, "its name is none of those in `zones`".into());
        }
        match (push.finish(), from) {
            // As of a primary whose differences are none: all of it, which says what is wrong if that is not right either.
            (Err(why), Some(_)) => {
                tracing::debug!(%zone, "zone {zone}: what has changed in store {} cannot be read: {why}; all of it is asked for", self.key.0);
                self.reply(Frame::Whole(zone));
            }
            (Err(why), None) => self.refused(zone, why),
            (Ok(Came::Changes(changes)), Some(from)) => {
                self.take_changes(Coming { zone, from, to, changes });
            }
            (Ok(Came::Changes(_)), None) => self.refused(zone, "differences that begin nowhere".into()),
            (Ok(Came::Whole(contents, out_of_zone)), _) => {
                self.take_whole((zone, to), (*contents, out_of_zone), octets)
            }
        }
    }

    /// A push comes to nothing, and its feeder is to try again later.
    pub(super) fn refused(&self, zone: NameBuf, why: String) {
        self.refuse(zone.clone(), why);
        self.reply(Frame::Refused(zone));
    }

    /// Has the feeder be told something, by another thread.
    pub(super) fn reply(&self, frame: Frame) {
        self.tell.say(frame);
    }
}
