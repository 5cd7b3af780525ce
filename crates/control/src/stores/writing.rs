//! Changes of zones that are asked of stores (`write`): one of a zone at a time, until it is served, or is known not to be there.
//!
//! ```text
//! changer --StoreWrite--> under way --frames--> feeder --written--> awaits to be served --served--> told: serials
//!                            |                     `--not, and why--> told
//!                            '-- 14 s: told that it is not known; it stays under way until its feeder has said, or is gone
//! ```
//!
//! Who is told is told outside all locks. Whether a version is served is known by its serial: both are of one history, as what is under way is over when the feeder opens its database anew.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use feed::frame::{
    Frame, Once as OnceFrame, REST_OCTETS_MAX, Unwritten, Version, WRITES_OCTETS_MAX, Write, Written,
};
use wire::{Name, NameBuf};
use zone::Change;

use super::session::Session;
use super::{About, Stands, Stores};
use crate::controller::Controller;
use crate::dynamic::{Once, WhyNot};

/// How long a write is waited for once it was said: with the time that it may wait before (`dynamic::alter::store`) less than who asks over HTTP waits.
const WAIT_MAX: Duration = Duration::from_secs(14);
/// How long an upgrade waits for writes that are under way.
const REST_WAIT: Duration = Duration::from_secs(2);

/// A change of a zone that its store is asked for.
pub(crate) struct StoreWrite {
    /// The zone, lower-case.
    pub(crate) zone: NameBuf,
    /// The serial of what is served.
    pub(crate) over: u32,
    /// What changes in that; nothing: it is only looked whether it was done before.
    pub(crate) change: Option<Change>,
    /// Who asks for it.
    pub(crate) who: String,
    /// Hashes of its name and of all that is asked for, if it may be asked for again.
    pub(crate) once: Option<[[u8; 16]; 2]>,
    /// Until when it is begun.
    pub(crate) until: Instant,
    /// Who is told what became of it.
    pub(crate) done: WriteDone,
}

/// Told once; `Ok`: the serials before and after it, as it is served.
pub(crate) type WriteDone = Once<NotWritten, (u32, u32)>;

/// Why it is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotWritten {
    /// The zone has another version in its store.
    Moved,
    /// Another request was made under its name.
    OtherRequest,
    /// The database refuses it, in these words.
    Refused(String),
    /// The zone has to be mended first.
    Unfit(String),
    /// Nothing can be written.
    Denied(String),
    /// The same may go well in a moment.
    NotNow(String),
    /// It may be done.
    Unknown,
}

impl WhyNot for NotWritten {
    const GIVEN_UP: NotWritten = NotWritten::Unknown;
}

/// What is under way of a store. As many as the API lets in.
#[derive(Default)]
pub(super) struct Writes {
    under_way: HashMap<NameBuf, UnderWay>,
    octets: usize,
    number: u32,
    /// How many are under way, for who tells the feeder.
    awaited: Arc<AtomicUsize>,
}

/// Who waits. Nobody locks it: what all may look at has nothing that one alone may call.
type Waits = Mutex<WriteDone>;

struct UnderWay {
    number: u32,
    since: Instant,
    octets: usize,
    /// Its serials, once it is in the store.
    written: Option<(u32, u32)>,
    /// `None`: who asked was told that it is not known.
    done: Option<Waits>,
}

impl Writes {
    /// Takes a change; its number. The error: it does not fit beside the others.
    fn begin(&mut self, zone: &Name, octets: usize, done: WriteDone) -> Result<u32, WriteDone> {
        if self.under_way.contains_key(zone) || self.octets + octets > WRITES_OCTETS_MAX && self.octets > 0 {
            return Err(done);
        }
        self.number = self.number.wrapping_add(1);
        self.octets += octets;
        let (number, since, done) = (self.number, Instant::now(), Some(Mutex::new(done)));
        self.under_way.insert(zone.to_owned(), UnderWay { number, since, octets, written: None, done });
        self.count();
        Ok(number)
    }

    /// Ends the one of a zone, if it is that of this number; who is told.
    fn end(&mut self, zone: &Name, number: u32) -> Option<WriteDone> {
        self.under_way.get(zone).filter(|own| own.number == number)?;
        let ended = self.under_way.remove(zone)?;
        self.octets -= ended.octets;
        self.count();
        ended.done.map(let_go)
    }

    /// One is in the store.
    fn written(&mut self, written: &Written) {
        if let Some(own) = self.under_way.get_mut(&written.zone)
            && own.number == written.number
        {
            own.written = Some((written.before, written.after));
        }
    }

    /// A serial of a zone is served: who is told of what.
    pub(super) fn served(&mut self, zone: &Name, serial: u32) -> Option<Done> {
        let own = self.under_way.get(zone)?;
        let serials = own.written?;
        let is_served = serial == serials.1 || change::serial::is_greater(serial, serials.1);
        let number = own.number;
        if !is_served {
            return None;
        }
        Some(Done(self.end(zone, number)?, Ok(serials)))
    }

    /// Those that have waited for too long: who is told that nobody knows. What is in the store, and not served by then, is over; what the feeder has not answered may be done still.
    fn late(&mut self) -> Vec<WriteDone> {
        let late = self.under_way.values_mut().filter(|own| own.since.elapsed() >= WAIT_MAX);
        let told = late.filter_map(|own| own.done.take().map(let_go)).collect();
        let is_over = |own: &UnderWay| own.done.is_none() && own.written.is_some();
        let over: Vec<(NameBuf, u32)> = self
            .under_way
            .iter()
            .filter(|(_, own)| is_over(own))
            .map(|(zone, own)| (zone.clone(), own.number))
            .collect();
        over.iter().for_each(|(zone, number)| drop(self.end(zone, *number)));
        told
    }

    /// The feeder that had been asked is not there any more, or has opened its database anew.
    pub(super) fn end_all(&mut self) -> Vec<Done> {
        self.octets = 0;
        let all = std::mem::take(&mut self.under_way).into_values();
        self.count();
        all.filter_map(|own| Some(Done(let_go(own.done?), Err(NotWritten::Unknown)))).collect()
    }

    fn count(&self) {
        self.awaited.store(self.under_way.len(), Ordering::Relaxed);
    }

    /// See [`super::tell`].
    pub(super) fn awaited(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.awaited)
    }

    /// How many of those that were asked for until then the feeder has not answered.
    fn unanswered(&self, until: Instant) -> usize {
        self.under_way.values().filter(|own| own.written.is_none() && own.since <= until).count()
    }
}

fn let_go(waits: Waits) -> WriteDone {
    waits.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Who is told what, once no lock is held.
#[must_use = "somebody waits to be told"]
pub(super) struct Done(WriteDone, Result<(u32, u32), NotWritten>);

impl Done {
    pub(super) fn tell(self) {
        self.0.tell(self.1);
    }
}

impl About {
    /// Whether a zone can be written now; the error: why not.
    fn expect_writable(&self, zone: &Name) -> Result<(), NotWritten> {
        match &self.stands {
            Stands::Following => {}
            Stands::Away(..) | Stands::Another(_) => {
                return Err(NotWritten::Denied("the zone's database cannot be asked now".into()));
            }
            Stands::Starting | Stands::Listing => {
                return Err(NotWritten::NotNow("the zone's database is being opened".into()));
            }
        }
        if self.is_read_only {
            return Err(NotWritten::Denied("the zone's database cannot be written by this server".into()));
        }
        if self.refused.contains_key(zone) {
            let words =
                "the zone's database has a version of it that is not served, and has to be mended first";
            return Err(NotWritten::Unfit(words.into()));
        }
        if self.back.contains_key(zone) || self.gone.contains(zone) {
            let words = "the zone's database has an older version of it, or none any more";
            return Err(NotWritten::Unfit(words.into()));
        }
        Ok(())
    }
}

impl Stores {
    /// Asks the store of a zone for a change.
    pub(crate) fn write(&self, write: StoreWrite) {
        let StoreWrite { zone, over, change, who, once, until, done } = write;
        let refused = {
            let mut state = self.state.write();
            let super::State { stores, owned, followed, .. } = &mut *state;
            let own = stores.iter_mut().find(|store| store.terms.write && store.owns(owned, &zone));
            match own {
                None => Some((done, NotWritten::Denied("the zone's store takes no changes".into()))),
                Some(store) => {
                    let mark = followed.mark(&zone, over);
                    let over = mark.map(|mark| Version { serial: over, mark });
                    let frames = (zone, change, who, once, until);
                    store.about.write(frames, over, self.writing_rests.load(Ordering::SeqCst), done).err()
                }
            }
        };
        if let Some((done, why)) = refused {
            done.tell(Err(why));
        }
    }

    /// Whether a store takes changes of its zones. `zone`: lower-case.
    pub(crate) fn may_write(&self, zone: &Name) -> bool {
        let state = self.state.read();
        state.stores.iter().any(|store| store.terms.write && store.owns(&state.owned, zone))
    }

    /// Whether a feeder may do something still that was asked for until then.
    pub(crate) fn are_writing(&self, until: Instant) -> bool {
        let writes = |store: &super::Store| store.about.writes.unanswered(until) > 0;
        self.is_any() && self.state.read().stores.iter().any(writes)
    }

    /// Has no change be asked for until what this gives is dropped; those that were asked for have their answer, or a moment.
    pub(crate) fn stop_writing(&self) -> impl Sized + '_ {
        let rests = Rests(&self.writing_rests);
        self.writing_rests.store(true, Ordering::SeqCst);
        let until = Instant::now() + REST_WAIT;
        let has_any = || {
            let state = self.state.read();
            state.stores.iter().any(|store| !store.about.writes.under_way.is_empty())
        };
        while self.is_any() && has_any() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        rests
    }
}

/// Nothing is asked for as long as this lives.
struct Rests<'s>(&'s AtomicBool);

impl Drop for Rests<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// What a write is, beside what it is over.
type Asked = (NameBuf, Option<Change>, String, Option<[[u8; 16]; 2]>, Instant);

impl About {
    /// Asks the feeder for a change.
    fn write(
        &mut self,
        (zone, change, who, once, until): Asked,
        over: Option<Version>,
        rests: bool,
        done: WriteDone,
    ) -> Result<(), (WriteDone, NotWritten)> {
        let not_now = |words: &str| NotWritten::NotNow(words.to_owned());
        if rests {
            return Err((done, not_now("another server takes over")));
        }
        if let Err(why) = self.expect_writable(&zone) {
            return Err((done, why));
        }
        let Some((tell, over)) = self.tell.clone().zip(over) else {
            return Err((done, not_now("it is not known yet which version of the zone its database has")));
        };
        let octets = change.as_ref().map_or(0, Change::octets);
        let number = match self.writes.begin(&zone, octets, done) {
            Ok(number) => number,
            Err(done) => {
                return Err((done, not_now("too many changes are on their way to the zone's database")));
            }
        };
        let once = once.map(|[name, request]| OnceFrame { name, request });
        let head = Write { number, zone, over, once, until: wall_millis(until), who };
        let pieces = |octets: &[u8], frame: fn(Vec<u8>) -> Frame| {
            octets.chunks(REST_OCTETS_MAX).map(|piece| frame(piece.to_vec())).collect::<Vec<Frame>>()
        };
        let mut frames = vec![Frame::Write(head)];
        if let Some(change) = &change {
            frames.extend(pieces(change.removed().octets(), Frame::Going));
            frames.extend(pieces(change.added().octets(), Frame::Coming));
        }
        frames.push(Frame::Commit);
        tell.say_together(frames);
        Ok(())
    }
}

/// A moment by the clock that another process has too, in milliseconds since 1970.
fn wall_millis(at: Instant) -> u64 {
    let at = SystemTime::now() + at.saturating_duration_since(Instant::now());
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl Session {
    /// A change is in the store.
    pub(super) fn written(&self, written: &Written) {
        // Of a zone that is another owner's by now nothing of it is served.
        if !self.is_ours(&written.zone) {
            let done = self.about(|about| about.writes.end(&written.zone, written.number)).flatten();
            return done.into_iter().for_each(|done| done.tell(Err(NotWritten::Unknown)));
        }
        self.about(|about| about.writes.written(written));
        // What was done before, or changes nothing, is served already.
        if let Some(serial) = self.controller.serial_of(&written.zone) {
            let done = self.about(|about| about.writes.served(&written.zone, serial));
            done.flatten().into_iter().for_each(Done::tell);
        }
    }

    /// One is not, or nobody knows.
    pub(super) fn unwritten(&self, zone: &Name, number: u32, why: Unwritten, words: String) {
        let Some(done) = self.about(|about| about.writes.end(zone, number)).flatten() else { return };
        let name = self.key.0;
        let is_for_operators = matches!(why, Unwritten::Denied | Unwritten::Unfit | Unwritten::Refused);
        if is_for_operators && self.may_say() {
            tracing::warn!(%zone, "zone {zone}: store {name}: a change over the API is not taken: {words}");
        }
        done.tell(Err(match why {
            Unwritten::Moved => NotWritten::Moved,
            Unwritten::OtherRequest => NotWritten::OtherRequest,
            Unwritten::Refused => NotWritten::Refused(format!("the zone's database refuses it: {words}")),
            // What it says of rows is for who wrote these.
            Unwritten::Unfit => NotWritten::Unfit(
                "what somebody has changed of the zone in its database is no version, and has to be mended first"
                    .into(),
            ),
            Unwritten::Denied => NotWritten::Denied("the zone's database cannot be written now".into()),
            Unwritten::NotNow => NotWritten::NotNow(format!("the zone's database cannot be written now: {words}")),
            Unwritten::Unknown => NotWritten::Unknown,
        }));
    }

    /// Tells those who have waited for too long.
    pub(super) fn tell_late_writes(&self) {
        let late = self.about(|about| about.writes.late()).unwrap_or_default();
        late.into_iter().for_each(|done| done.tell(Err(NotWritten::Unknown)));
    }

    /// The feeder of which something was asked begins anew, or is over: then it is asked for nothing more.
    pub(super) fn end_writes(&self, is_over: bool) {
        let ended = self.about(|about| {
            about.tell.take_if(|_| is_over);
            about.writes.end_all()
        });
        ended.unwrap_or_default().into_iter().for_each(Done::tell);
    }
}

impl Controller {
    /// The error: zones of this store are changed there alone.
    pub(crate) fn expect_store_takes(&self, zone: &Name) -> Result<(), String> {
        match self.store_of(zone) {
            Some(_) if self.stores.may_write(&zone.to_lowercase()) => Ok(()),
            Some(store) => Err(format!("this zone is of store {store}: change it there")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    type Heard = Receiver<Result<(u32, u32), NotWritten>>;

    fn name(text: &str) -> NameBuf {
        NameBuf::from_text(text).unwrap()
    }

    fn done() -> (WriteDone, Heard) {
        let (said, heard) = channel();
        (WriteDone::new(move |result| drop(said.send(result))), heard)
    }

    /// Begins one of 100 octets; its number, and who hears of it.
    fn begin(writes: &mut Writes, zone: &str) -> (u32, Heard) {
        let (done, heard) = done();
        (writes.begin(&name(zone), 100, done).ok().unwrap(), heard)
    }

    #[test]
    fn who_asks_is_told_once_it_is_served() {
        let (mut writes, zone) = (Writes::default(), name("a.test"));
        let (number, heard) = begin(&mut writes, "a.test");
        // Another one of the zone waits.
        assert!(writes.begin(&zone, 1, done().0).is_err());
        assert!(writes.served(&zone, 9).is_none(), "it is not in the store");
        writes.written(&Written { zone: zone.clone(), number: number + 1, before: 7, after: 8 });
        assert_eq!(writes.unanswered(Instant::now()), 1, "of another number");
        writes.written(&Written { zone: zone.clone(), number, before: 7, after: 8 });
        assert!((writes.unanswered(Instant::now()), writes.served(&zone, 7).is_none()) == (0, true));
        assert!(writes.served(&name("b.test"), 8).is_none());
        writes.served(&zone, 9).unwrap().tell();
        assert_eq!(heard.recv().unwrap(), Ok((7, 8)));
        assert!(writes.under_way.is_empty() && writes.octets == 0);
    }

    #[test]
    fn a_feeder_that_ends_leaves_nobody_waiting() {
        let mut writes = Writes::default();
        let (_, one) = begin(&mut writes, "a.test");
        let (number, two) = begin(&mut writes, "b.test");
        let (_, three) = begin(&mut writes, "c.test");
        writes.end(&name("b.test"), number).unwrap().tell(Err(NotWritten::Moved));
        assert_eq!(two.recv().unwrap(), Err(NotWritten::Moved));
        writes.end_all().into_iter().for_each(Done::tell);
        assert_eq!([one.recv().unwrap(), three.recv().unwrap()], [const { Err(NotWritten::Unknown) }; 2]);
        // What is dropped may be done, too.
        let (_, four) = begin(&mut writes, "a.test");
        drop(writes);
        assert_eq!(four.recv().unwrap(), Err(NotWritten::Unknown));
    }

    #[test]
    fn what_is_on_its_way_is_bounded() {
        let mut writes = Writes::default();
        // One has its place, however large it is.
        assert!(writes.begin(&name("a.test"), WRITES_OCTETS_MAX + 1, done().0).is_ok());
        assert!(writes.begin(&name("b.test"), 1, done().0).is_err());
        drop(writes.end_all());
        assert!(writes.begin(&name("b.test"), 1, done().0).is_ok());
    }

    /// After a while nobody knows; until the feeder has said, it may be done still.
    #[test]
    fn who_waits_for_long_is_told() {
        let (mut writes, zone) = (Writes::default(), name("a.test"));
        let (number, heard) = begin(&mut writes, "a.test");
        assert!(writes.late().is_empty());
        let own = writes.under_way.get_mut(&zone).unwrap();
        own.since = own.since.checked_sub(WAIT_MAX).unwrap();
        writes.late().into_iter().for_each(|done| done.tell(Err(NotWritten::Unknown)));
        assert_eq!((heard.recv().unwrap(), writes.unanswered(Instant::now())), (Err(NotWritten::Unknown), 1));
        assert!(writes.end(&zone, number).is_none() && writes.unanswered(Instant::now()) == 0);
    }
}
