//! One zone of a moment as frames: all of it, or what has changed since a version.

use std::cell::{Cell, RefCell};
use std::io;
use std::ops::ControlFlow;

use store::read::What;
use store::source::Moment;
use store::{Fault, Kind};
use wire::{Name, NameBuf};
use zonefile::RecordBuf;

use crate::message::{Messages, TooLong};
use feed::frame::{Frame, Mark, Version};

/// Records of differences that are pushed as such: of more the whole zone is the shorter way.
pub(crate) const CHANGED_MAX: u64 = 100_000;

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// This is on its way; octets of its messages.
    Version(Version, usize),
    /// There is nothing newer than what is held.
    Nothing,
    /// The zone is not there.
    Gone,
    /// It has changes that are no version yet: later.
    Later,
    /// The database has an older version, of this serial, or another one of the serial that is held.
    Back(u32),
}

/// Why it is not.
#[derive(Debug)]
pub(crate) enum NotPushed {
    /// The store.
    Fault(Fault),
    /// The server.
    Io(io::Error),
    /// A record is longer than a message.
    TooLong,
    /// A version has not the rows that it says it has: all of the zone is to be pushed.
    Incomplete,
}

impl From<Fault> for NotPushed {
    fn from(fault: Fault) -> NotPushed {
        NotPushed::Fault(fault)
    }
}

impl From<io::Error> for NotPushed {
    fn from(error: io::Error) -> NotPushed {
        NotPushed::Io(error)
    }
}

impl From<TooLong> for NotPushed {
    fn from(_: TooLong) -> NotPushed {
        NotPushed::TooLong
    }
}

/// What is to be pushed.
pub(crate) struct Push<'p> {
    pub(crate) zone: &'p Name,
    /// Whether the server has the zone.
    pub(crate) is_known: bool,
    /// What it serves of it.
    pub(crate) held: Option<Version>,
    /// Whether all of the zone is wanted, whatever is held.
    pub(crate) is_whole: bool,
}

impl Push<'_> {
    /// Pushes the zone by `say`, if there is anything to push.
    pub(crate) fn run(
        &self,
        moment: &mut dyn Moment,
        say: &mut dyn FnMut(Frame) -> io::Result<()>,
    ) -> Result<Pushed, NotPushed> {
        let name = self.zone.to_string();
        let newest = moment.newest(&name)?;
        // A zone that was removed has a version that says so.
        if newest.is_none() && self.is_known && moment.may_lag() {
            return Ok(Pushed::Later);
        }
        let Some(newest) = newest.filter(|newest| newest.kind != Kind::Removed) else {
            return Ok(if self.is_known { Pushed::Gone } else { Pushed::Nothing });
        };
        if let Some(words) = moment.without() {
            say(Frame::Without(self.zone.to_owned(), words))?;
        }
        let to = version_of(&newest);
        let mark = to.mark;
        // Somebody is at work in it, so that there is no version to compare.
        if mark == Mark::NONE && moment.is_pending(&name)? {
            return Ok(Pushed::Later);
        }
        if let Some(held) = self.held {
            if held.mark == mark && mark != Mark::NONE && !self.is_whole {
                return Ok(Pushed::Nothing);
            }
            let is_known = held.mark != Mark::NONE;
            let since = if is_known { moment.since(&name, &held.mark.to_string())? } else { None };
            match since {
                Some(versions) if !self.is_whole && leads_on(&versions) => {
                    let from = Some(held);
                    return Sender::begin(self.zone, (from, to), say)?.changes(moment, &versions);
                }
                Some(_) => {}
                // Of a mark that is not known here it is not known either what led from it; a serial that is not greater is of a database that went back.
                None if change::serial::is_greater(to.serial, held.serial) => {}
                // Nobody knows which version is served; the server compares.
                None if !is_known && to.serial == held.serial => {}
                None => return Ok(Pushed::Back(to.serial)),
            }
        }
        if moment.is_pending(&name)? {
            return Ok(Pushed::Later);
        }
        whole(self.zone, moment, say)
    }
}

/// Whether versions are differences, and few enough.
pub(crate) fn leads_on<'v>(versions: impl IntoIterator<Item = &'v store::Version>) -> bool {
    let mut rows = 0_u64;
    versions.into_iter().all(|version| {
        rows = rows.saturating_add(version.rows);
        version.kind == Kind::Change && version.rows > 0 && rows <= CHANGED_MAX
    })
}

/// A push that has begun.
struct Sender<'s> {
    zone: NameBuf,
    to: Version,
    say: &'s mut dyn FnMut(Frame) -> io::Result<()>,
    octets: usize,
}

impl<'s> Sender<'s> {
    fn begin(
        zone: &Name,
        (from, to): (Option<Version>, Version),
        say: &'s mut dyn FnMut(Frame) -> io::Result<()>,
    ) -> Result<Sender<'s>, NotPushed> {
        say(Frame::Begin { zone: zone.to_owned(), from, to })?;
        Ok(Sender { zone: zone.to_owned(), to, say, octets: 0 })
    }

    /// What led to the newest version, one after the other.
    fn changes(mut self, moment: &mut dyn Moment, versions: &[store::Version]) -> Result<Pushed, NotPushed> {
        let mut messages = Messages::new(&self.zone, false);
        let sent = {
            let Sender { say, octets, .. } = &mut self;
            let mut each = |message: Vec<u8>| {
                *octets += message.len();
                say(Frame::Message(message)).map_err(NotPushed::from)
            };
            send_changes(moment, versions, &mut messages, &mut each)
        };
        self.end(sent, messages)
    }

    fn end(mut self, sent: Result<(), NotPushed>, messages: Messages) -> Result<Pushed, NotPushed> {
        if let Err(why) = sent {
            // Where it cannot be said there is nobody to say it to.
            (self.say)(Frame::Broken)?;
            return Err(why);
        }
        let last = messages.finish();
        self.octets += last.len();
        (self.say)(Frame::Message(last))?;
        (self.say)(Frame::End)?;
        Ok(Pushed::Version(self.to, self.octets))
    }
}

/// All of the zone: the SOA record, which comes first, once more at the end. What it leads to is said once that is known.
fn whole(
    zone: &Name,
    moment: &mut dyn Moment,
    say: &mut dyn FnMut(Frame) -> io::Result<()>,
) -> Result<Pushed, NotPushed> {
    let mut messages = Messages::new(zone, true);
    let (mut soa, mut octets, mut sent): (Option<RecordBuf>, usize, _) = (None, 0, Ok(()));
    let (begun, said) = (Cell::new(None), RefCell::new(say));
    let mut each = |message: Vec<u8>| {
        octets += message.len();
        (*said.borrow_mut())(Frame::Message(message)).map_err(NotPushed::from)
    };
    let mut begin_sent = Ok(());
    let read = moment.records(
        &zone.to_string(),
        &mut |version| {
            let to = version_of(version);
            begun.set(Some(to));
            let begin = Frame::Begin { zone: zone.to_owned(), from: None, to };
            go_on(&mut begin_sent, (*said.borrow_mut())(begin).map_err(NotPushed::from))
        },
        &mut |record| {
            soa.get_or_insert_with(|| record.clone());
            go_on(&mut sent, messages.push(record, &mut each))
        },
    );
    let sent = begin_sent
        .and(sent)
        .and(read.map_err(NotPushed::from))
        .and_then(|()| soa.as_ref().map_or(Ok(()), |soa| messages.push(soa, &mut each)));
    let Some(to) = begun.get() else {
        // Nothing was said of it.
        return sent.and(Ok(Pushed::Nothing));
    };
    let say = said.into_inner();
    Sender { zone: zone.to_owned(), to, say, octets }.end(sent, messages)
}

fn version_of(version: &store::Version) -> Version {
    Version { serial: version.serial, mark: Mark::from_text(&version.mark).unwrap_or(Mark::NONE) }
}

/// Keeps what came of a record; whether another one is wanted.
fn go_on(kept: &mut Result<(), NotPushed>, sent: Result<(), NotPushed>) -> ControlFlow<()> {
    *kept = sent;
    if kept.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// The SOA record of the newest version, then each difference, then that record again (RFC 1995 4).
fn send_changes(
    moment: &mut dyn Moment,
    versions: &[store::Version],
    messages: &mut Messages,
    each: &mut impl FnMut(Vec<u8>) -> Result<(), NotPushed>,
) -> Result<(), NotPushed> {
    let Some(last) = versions.last() else { return Ok(()) };
    let mut soa: Option<RecordBuf> = None;
    moment.changed(last, &mut |what, record| {
        if what == What::Added {
            soa = Some(record.clone());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    let Some(soa) = soa else { return Err(NotPushed::Incomplete) };
    messages.push(&soa, each)?;
    for version in versions {
        let mut sent = Ok(());
        let rows = moment.changed(version, &mut |_, record| go_on(&mut sent, messages.push(record, each)));
        sent?;
        let rows = rows?;
        if rows != version.rows {
            return Err(NotPushed::Incomplete);
        }
    }
    messages.push(&soa, each)
}
