//! What one process asks, and is told: a table of its asks, and octets that come and go.
//!
//! ```text
//! frame -> Said -> ask: judged -> Who | Changing (changer) | Looking -> Reading, Listing | Seeking (search) -> Done
//!                    `-- credit: so many pieces more
//! ```
//!
//! What it says is a stranger's: its process may have been taken over. Whatever is none of the words, or beyond the bounds, ends it. Neither side waits for the other: both write
//! what the socket takes, and nothing more is read of a process that does not take what it is told.

mod change;
mod seeking;
mod signed;
mod taken;
mod turns;

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use api::frame::{
    Answer, Ask, Asked, Done, FAULT_SETS_NONE, Fault, Frame, HEAD_OCTETS, Item, Piece, REST_OCTETS_MAX, Run,
    Said, Shown, Who,
};
use web::certificate::Certificate;
use wire::NameBuf;

use super::audit::{About, Audit};
use super::counts::Counts;
use super::explain::Explaining;
use super::inbox::{Event, Inbox, Of};
use super::judge::{At, No, Task, judge, whose};
use super::listing::Listing;
use super::look::{Look, Looks};
use super::make::{Job, Read, Work, Works};
use super::now::{Nows, Told};
use super::reading::{Reading, Wanted, frame, pieces_of_names};
use super::search::Searches;
use super::sessions::{ASKS_AT_ONCE, Now, Sessions, too_often};
use super::{Key, Keys};
use crate::controller::Controller;
use crate::dynamic::{Alter, AlterDone};
use seeking::Seeking;

/// Asks at a time: more than the process has connections.
const ASKS_MAX: usize = 192;
/// Of these, such as are told piece by piece: who reads slowly keeps nobody from changing.
const READS_MAX: u8 = 32;
const _: () = assert!(READS_MAX as u32 <= u32::BITS);
/// Pieces that may be on their way.
const CREDIT_MAX: u8 = 4;
/// Octets of asks that are longer than a frame, all together: four times the largest body.
const LONG_OCTETS_MAX: usize = 8 << 20;
/// Octets that wait for the process to take them: beyond that nothing is read of it.
const OUT_OCTETS_MAX: usize = 1 << 20;
/// How often it is looked again whether a key may change what it asked for, as keys have become others.
const ATTEMPTS_MAX: u8 = 4;
/// How long a change may be undecided, as the log is.
const CHANGE_WAIT: Duration = Duration::from_secs(20);
/// How long a reader may take for a piece.
const PIECE_WAIT: Duration = Duration::from_secs(30);
/// When who finds no place is to ask again, and who finds that nothing can be kept.
const FULL_RETRY: u16 = 1;
const NOT_NOW_RETRY: u16 = 5;

/// What the session needs of its server.
pub(super) struct Around {
    pub(super) owner: Weak<Controller>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) looks: Looks,
    /// Where it is written who changed what.
    pub(super) audit: Audit,
    pub(super) works: Works,
    pub(super) searches: Searches,
    pub(super) nows: Nows,
    pub(super) counts: Arc<Counts>,
    /// Who has signed in.
    pub(super) sessions: Sessions,
    /// Of cursors: another start has another.
    pub(super) start: u64,
}

/// See the module.
pub(super) struct Session {
    number: u32,
    pair: UnixStream,
    input: Vec<u8>,
    output: Vec<u8>,
    asks: HashMap<u32, Entry>,
    /// Of asks that came in parts, or do, until they are done.
    long_octets: usize,
    /// Seats of readings that are taken, a bit each.
    seats: u32,
    /// Asks that are told piece by piece, in turn.
    turns: VecDeque<u32>,
    is_unconfined: bool,
}

/// An ask that is not done.
struct Entry {
    /// `None`: not known yet.
    key: Option<Arc<Key>>,
    credit: u8,
    state: State,
    /// When it came, or a piece of it left.
    since: Instant,
    seat: Option<u8>,
    /// Its octets, if it came in parts.
    long_octets: usize,
    /// Nobody reads what comes of it.
    is_silent: bool,
    /// It is done, which is told whatever becomes of its key.
    is_done: bool,
    /// What is written of it once it is over, if it would change something.
    about: Option<Box<About>>,
}

impl Entry {
    /// What is asked for is under way; gives it as who does it takes it.
    fn change(&mut self, zones: &Arc<[NameBuf]>, ask: &Ask<'_>, is_dry: bool, attempts: u8) -> Box<[u8]> {
        let mut octets = Vec::new();
        ask.write(&mut octets);
        let ask: Box<[u8]> = octets.into();
        self.state = State::Changing { zones: Arc::clone(zones), ask: ask.clone(), is_dry, attempts };
        if attempts == 0 {
            self.since = Instant::now();
        }
        ask
    }
}

enum State {
    /// It comes in parts: so many octets.
    Long(Vec<u8>, usize),
    /// The changer has it, or who makes zones.
    Changing {
        zones: Arc<[NameBuf]>,
        ask: Box<[u8]>,
        is_dry: bool,
        attempts: u8,
    },
    /// Its zone is being pinned.
    Pinning(Wanted, bool),
    Reading(Box<Reading>),
    Listing(Listing),
    Seeking(Seeking),
    Explaining(Box<Explaining>),
    /// Something is done or looked at, at once.
    Acting,
    /// Pieces that are ready, and the end.
    Ready(VecDeque<Vec<u8>>, u16),
}

/// Whether the process goes on.
type Heard = Result<(), io::Error>;

fn violation() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it says what none of the words is, or more than it may")
}

/// Seconds since 1970.
fn wall() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Session {
    /// `number`: another one for each process.
    pub(super) fn new(number: u32, pair: UnixStream) -> io::Result<Session> {
        pair.set_nonblocking(true)?;
        Ok(Session {
            number,
            pair,
            input: Vec::new(),
            output: Vec::new(),
            asks: HashMap::new(),
            long_octets: 0,
            seats: 0,
            turns: VecDeque::new(),
            is_unconfined: false,
        })
    }

    /// Has the process show a certificate from now on.
    pub(super) fn show(&mut self, certificate: &Certificate) {
        let parts = certificate.parts();
        if let Some(parts) = Run::read(&parts) {
            // Of no ask. As long as a frame may be, as it was read.
            Answer::Shown(Shown(parts)).write(0, &mut self.output);
        }
    }

    /// What is polled.
    pub(super) fn pair(&self) -> &UnixStream {
        &self.pair
    }

    /// Whether something is to be read of it, and written.
    pub(super) fn wants(&self) -> (bool, bool) {
        (self.output.len() < OUT_OCTETS_MAX, !self.output.is_empty())
    }

    /// Whether anything is under way, whose time may be over.
    pub(super) fn is_busy(&self) -> bool {
        !self.asks.is_empty()
    }

    /// Reads what there is, a frame's worth, and does it.
    pub(super) fn read(&mut self, around: &Around, keys: &Keys) -> Heard {
        let before = self.input.len();
        self.input.resize(before + HEAD_OCTETS + REST_OCTETS_MAX, 0);
        let read = self.pair.read(&mut self.input[before..]);
        self.input.truncate(before + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
        let input = std::mem::take(&mut self.input);
        let mut at = 0;
        while let Some((frame, count)) = Frame::read(&input[at..]).map_err(|_| violation())? {
            self.hear(around, keys, frame.ask, Said::of(&frame).map_err(|_| violation())?)?;
            at += count;
        }
        self.input = input;
        self.input.drain(..at);
        Ok(())
    }

    /// Writes what the socket takes.
    pub(super) fn write(&mut self) -> Heard {
        match self.pair.write(&self.output) {
            Ok(count) => {
                self.output.drain(..count);
                Ok(())
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn hear(&mut self, around: &Around, keys: &Keys, number: u32, said: Said<'_>) -> Heard {
        match said {
            Said::Unconfined if self.is_unconfined => return Err(violation()),
            Said::Unconfined => {
                self.is_unconfined = true;
                tracing::warn!(
                    "Landlock or seccomp cannot be had here: the API's process could do what the server's user may"
                );
            }
            Said::Ask(ask) => {
                if self.enter(around, number)? {
                    self.begin(around, keys, number, &ask, 0);
                }
            }
            Said::Long(octets) => {
                if !self.enter(around, number)? {
                    return Ok(());
                }
                if self.long_octets + octets > LONG_OCTETS_MAX {
                    self.refuse(around, number, &full());
                } else if let Some(entry) = self.asks.get_mut(&number) {
                    (entry.state, entry.long_octets) = (State::Long(Vec::new(), octets), octets);
                    self.long_octets += octets;
                    Answer::More.write(number, &mut self.output);
                }
            }
            Said::Part(part) => self.take_part(around, keys, number, part)?,
            Said::Credit(pieces) => {
                if let Some(entry) = self.asks.get_mut(&number) {
                    entry.credit = entry.credit.saturating_add(pieces);
                    if entry.credit > CREDIT_MAX {
                        return Err(violation());
                    }
                }
            }
            Said::Stop => self.stop(around, number),
        }
        Ok(())
    }

    /// A place for an ask. False: there is none, as is told. The error: there are more than may be, or it is there.
    fn enter(&mut self, around: &Around, number: u32) -> Result<bool, io::Error> {
        if self.asks.contains_key(&number) {
            return Err(violation());
        }
        if self.asks.len() >= ASKS_MAX {
            // Of those that it has given up it does not know when they end.
            if self.asks.values().all(|entry| !entry.is_silent) {
                return Err(violation());
            }
            self.say_done(around, number, &full());
            return Ok(false);
        }
        let (key, state) = (None, State::Acting);
        let since = Instant::now();
        let (seat, about) = (None, None);
        let (long_octets, is_silent, is_done) = (0, false, false);
        let entry = Entry { key, credit: 0, state, since, seat, long_octets, is_silent, is_done, about };
        self.asks.insert(number, entry);
        around.counts.hold(self.asks.len());
        Ok(true)
    }

    fn take_part(&mut self, around: &Around, keys: &Keys, number: u32, part: &[u8]) -> Heard {
        // Of one that was refused parts may be on their way.
        let Some(entry) = self.asks.get_mut(&number) else { return Ok(()) };
        let State::Long(octets, length) = &mut entry.state else { return Err(violation()) };
        if octets.len() + part.len() > *length {
            return Err(violation());
        }
        octets.extend_from_slice(part);
        if octets.len() < *length {
            return Ok(());
        }
        let octets = std::mem::take(octets);
        entry.state = State::Acting;
        let ask = Ask::read(&octets).map_err(|_| violation())?;
        self.begin(around, keys, number, &ask, 0);
        Ok(())
    }

    /// Begins with what is asked for, if its key may.
    fn begin(&mut self, around: &Around, keys: &Keys, number: u32, ask: &Ask<'_>, attempts: u8) {
        let now = Now { wall: wall(), at: Instant::now() };
        let key = match whose(keys, &around.sessions, ask, now) {
            Ok(key) => key,
            Err(no) => return self.refuse(around, number, &no),
        };
        // Once it is over it may be said at any time.
        if attempts == 0 && !matches!(ask.asked, Asked::SignOut) {
            let turn = around.sessions.take_turn(&ask.who, now.at);
            if let Err(no) = turn.and_then(|()| self.has_session_place(&ask.who, &key)) {
                return self.refuse(around, number, &no);
            }
        }
        if let Some(entry) = self.asks.get_mut(&number).filter(|entry| entry.about.is_none()) {
            entry.about = around.audit.about(keys, &key, ask);
        }
        let task = match judge(keys, &key, ask) {
            Ok(task) => task,
            Err(no) => return self.refuse(around, number, &no),
        };
        if !self.has_place(&key) || (attempts == 0 && !self.has_long_place(number, &key)) {
            return self.refuse(around, number, &full());
        }
        let of = Of { session: self.number, ask: number };
        let is_read = matches!(task, Task::Read { .. } | Task::List { .. } | Task::Undo { .. });
        let seat = if is_read && self.has_seat(&key) { self.seat() } else { None };
        if is_read && seat.is_none() {
            return self.refuse(around, number, &full());
        }
        let Some(entry) = self.asks.get_mut(&number) else { return };
        (entry.key, entry.seat) = (Some(Arc::clone(&key)), seat);
        match task {
            Task::Who(verbs) => {
                let mut octets = Vec::new();
                verbs.write(&mut octets);
                let pieces = Run::read(&octets).and_then(|run| frame(number, Piece::Verbs(run)));
                entry.state = State::Ready(pieces.into_iter().collect(), 200);
                self.turns.push_back(number);
            }
            Task::SignIn | Task::Session | Task::SignOut => {
                self.signed(around, number, (keys, &key), ask, now);
            }
            Task::Keys(names) => {
                entry.state = State::Ready(pieces_of_names(number, &names), 200);
                self.turns.push_back(number);
            }
            Task::ListNothing => {
                entry.state = State::Ready(VecDeque::new(), 200);
                self.turns.push_back(number);
            }
            Task::List { after, .. } if after.is_some_and(|after| after.start != around.start) => {
                self.refuse(
                    around,
                    number,
                    &No::new(410, "`after` is of another start of the server: begin anew"),
                );
            }
            Task::List { name, of, after, limit } => {
                let after = after.map(|after| after.slot);
                entry.state = State::Listing(Listing::new((key, of), name, limit, after));
                self.turns.push_back(number);
            }
            Task::Read { zone, wanted, with_dnssec } => {
                entry.state = State::Pinning(wanted, with_dnssec);
                if let Some(seat) = seat {
                    self.look(around, number, Look::Pin(of, seat, zone));
                }
            }
            Task::Search { pattern, objects, limit } => {
                self.search(around, number, key, (&pattern, objects, limit));
            }
            Task::History { zone } => {
                if around.works.push(Job::Read(Read::History(of, zone)), 0).is_err() {
                    self.refuse(around, number, &not_now());
                }
            }
            Task::Undo { zone, serial } => {
                let job = seat.map(|seat| Job::Read(Read::Undo(of, seat, zone, serial)));
                if job.is_some_and(|job| around.works.push(job, 0).is_err()) {
                    self.refuse(around, number, &not_now());
                }
            }
            Task::Numbers => self.look(around, number, Look::Numbers(of)),
            Task::Now { said } => self.ask_now(around, number, Told::Now(of, said)),
            Task::Hour => self.ask_now(around, number, Told::Hour(of)),
            Task::View(view) => self.look(around, number, Look::View(of, view)),
            Task::Why(question) => {
                let job = Job::Read(Read::Why(of, question, Arc::clone(&key)));
                if around.works.push(job, 0).is_err() {
                    self.refuse(around, number, &not_now());
                }
            }
            Task::Stand { zone, is_all } => {
                if around.works.push(Job::Read(Read::Stand(of, zone, is_all)), 0).is_err() {
                    self.refuse(around, number, &not_now());
                }
            }
            Task::Explain(questions) => self.look(around, number, Look::Explain(of, questions)),
            Task::Act { zone, act } => self.look(around, number, Look::Act(of, keys.number, zone, act)),
            Task::Work { zone, repeat } => {
                let ask = entry.change(&[zone.clone()].into(), ask, false, attempts);
                let work = Work { of, zone, ask, repeat, key, keys: keys.number, since: entry.since };
                if around.works.push(Job::Work(work), 0).is_err() {
                    self.refuse(around, number, &not_now());
                }
            }
            Task::Change { zones, is_dry, repeat } => {
                let ask = entry.change(&zones, ask, is_dry, attempts);
                let (since, inbox) = (entry.since, Arc::clone(&around.inbox));
                let done = AlterDone::new(move |result| inbox.tell(Event::Altered(of, result)));
                let Some(controller) = around.owner.upgrade() else { return };
                let keys = keys.number;
                controller.dynamic.alter(Alter {
                    zones,
                    ask,
                    repeat,
                    key,
                    keys,
                    since,
                    is_single: false,
                    done,
                });
            }
        }
    }

    /// Whether a key has less than is free: alone it has half, and however many take what they can, there is one for the next.
    fn has_place(&self, key: &Key) -> bool {
        let is_of = |entry: &&Entry| entry.key.as_ref().is_some_and(|other| other.hash == key.hash);
        let own = self.asks.values().filter(is_of).count();
        own < ASKS_MAX - self.asks.len() + 1
    }

    /// Whether a session has fewer asks than it may. Each has a key of its own, of one object for all of its asks.
    fn has_session_place(&self, who: &Who<'_>, key: &Arc<Key>) -> Result<(), No> {
        let is_its = |entry: &&Entry| entry.key.as_ref().is_some_and(|other| Arc::ptr_eq(other, key));
        let is_full =
            matches!(who, Who::Session { .. }) && self.asks.values().filter(is_its).count() >= ASKS_AT_ONCE;
        if is_full { Err(too_often()) } else { Ok(()) }
    }

    /// The same of octets of long asks: those that a key has already are no more than are free. Whose an ask is is known once all of it is there.
    fn has_long_place(&self, number: u32, key: &Key) -> bool {
        let is_of = |entry: &&Entry| entry.key.as_ref().is_some_and(|other| other.hash == key.hash);
        let own: usize = self.asks.values().filter(is_of).map(|entry| entry.long_octets).sum();
        let is_long = self.asks.get(&number).is_some_and(|entry| entry.long_octets > 0);
        !is_long || own <= LONG_OCTETS_MAX - self.long_octets
    }

    /// The same of seats of those that are told piece by piece: who reads slowly keeps others out no more than who asks much.
    fn has_seat(&self, key: &Key) -> bool {
        let is_of = |entry: &&Entry| entry.key.as_ref().is_some_and(|other| other.hash == key.hash);
        let own = self.asks.values().filter(|entry| entry.seat.is_some()).filter(is_of).count();
        own < usize::from(READS_MAX) - self.seats.count_ones() as usize
    }

    fn seat(&mut self) -> Option<u8> {
        let seat = (0..READS_MAX).find(|seat| self.seats & 1 << seat == 0)?;
        self.seats |= 1 << seat;
        Some(seat)
    }

    fn look(&mut self, around: &Around, number: u32, look: Look) {
        if around.looks.push(look, 0).is_err() {
            self.refuse(around, number, &not_now());
        }
    }

    fn ask_now(&mut self, around: &Around, number: u32, told: Told) {
        if around.nows.push(told, 0).is_err() {
            self.refuse(around, number, &not_now());
        }
    }

    /// Nobody reads what comes of it: what the changer has is carried out.
    fn stop(&mut self, around: &Around, number: u32) {
        match self.asks.get_mut(&number).map(|entry| (&entry.state, &mut entry.is_silent)) {
            Some((State::Changing { .. } | State::Pinning(..) | State::Acting, is_silent)) => {
                *is_silent = true
            }
            Some((State::Listing(listing), is_silent)) if listing.is_looking => *is_silent = true,
            Some((State::Seeking(seeking), is_silent)) if seeking.is_under_way() => {
                seeking.give_up();
                *is_silent = true;
            }
            Some(_) => self.remove(around, number),
            None => {}
        }
    }

    /// Ends an ask; its pin goes.
    fn remove(&mut self, around: &Around, number: u32) {
        let Some(entry) = self.asks.remove(&number) else { return };
        around.counts.hold(self.asks.len());
        self.long_octets -= entry.long_octets;
        if let Some(seat) = entry.seat {
            self.seats &= !(1 << seat);
        }
        if let State::Reading(reading) = entry.state {
            // Where there is no room it is dropped here, which is no harm.
            drop(around.looks.push(Look::Unpin(reading.into_zone()), 0));
        }
    }

    /// Writes down what came of an ask.
    fn audit(&mut self, around: &Around, number: u32, status: u16, words: &str) {
        if let Some(about) = self.asks.get_mut(&number).and_then(|entry| entry.about.take()) {
            around.audit.end_of(&about, status, words);
        }
    }

    fn done(&mut self, around: &Around, number: u32, done: &Done<'_>) {
        self.audit(around, number, done.status, done.words);
        if self.asks.get(&number).is_some_and(|entry| !entry.is_silent) {
            self.say(around, number, done);
        }
        self.remove(around, number);
    }

    fn refuse(&mut self, around: &Around, number: u32, no: &No) {
        // What is wrong with zones says itself which they are.
        let of_set = no.faults.first().filter(|(at, _)| at.set.is_some());
        self.audit(around, number, no.status, of_set.map_or(&no.words, |(_, words)| words));
        let is_silent = self.asks.get(&number).is_none_or(|entry| entry.is_silent);
        if !no.faults.is_empty() && !is_silent {
            let mut octets = Vec::new();
            for (At { zone, set }, words) in &no.faults {
                let zone = u16::try_from(*zone).unwrap_or(u16::MAX);
                let set = set.and_then(|set| u32::try_from(set).ok()).unwrap_or(FAULT_SETS_NONE);
                Fault { zone, set, words }.write(&mut octets);
            }
            let faults = Run::read(&octets).and_then(|run| frame(number, Piece::Faults(run)));
            faults.into_iter().for_each(|frame| self.output.extend_from_slice(&frame));
        }
        if !is_silent {
            self.say_done(around, number, no);
        }
        self.remove(around, number);
    }

    /// Says that an ask is done.
    fn say(&mut self, around: &Around, number: u32, done: &Done<'_>) {
        around.counts.note(done);
        Answer::Done(*done).write(number, &mut self.output);
    }

    /// The same, and why nothing comes of it.
    fn say_done(&mut self, around: &Around, number: u32, no: &No) {
        let retry_after = no.retry_after.unwrap_or(match no.status {
            429 => FULL_RETRY,
            503 => NOT_NOW_RETRY,
            _ => 0,
        });
        let done = Done { status: no.status, retry_after, is_cut: false, next: None, words: &no.words };
        self.say(around, number, &done);
    }

    /// Lets go of all that it has.
    pub(super) fn end(mut self, around: &Around) {
        let all: Vec<u32> = self.asks.keys().copied().collect();
        for number in all {
            self.audit(around, number, 504, "the process ended before it was known what came of it");
            self.remove(around, number);
        }
    }
}

fn full() -> No {
    No::new(429, "as many requests are under way as there may be")
}

fn not_now() -> No {
    No::new(503, "nothing can be kept or told now: the log of changes, or the zone, is not ready")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests;
