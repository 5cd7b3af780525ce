//! What a pattern fits of the zones that a key may see: names of zones, then records, found by a thread that lets all others go before it and waits for no lock of theirs.
//!
//! ```text
//! session -- Search --> Walk: names of zones, a batch of slots at a time -> records, a batch of RRsets at a time -- Sought --> inbox
//!                       a millisecond each in turn, 5 s in all
//! ```
//!
//! Zones in which names that fit may be, by how the pattern ends, are read before the others: who asks for one name is told it first, however many zones there are. What is found is told
//! once; more than [`FOUND_OCTETS_MAX`] of it, or more time than [`SEARCH_TIME`], and the end says that it is not all.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use api::frame::{Detail, Done, Item, Objects, Piece, Run, SetsBuf, What};
use api::pattern::Pattern;
use wire::{Name, NameBuf};
use zone::catalog::{CatalogReader, SlotNumber};

use super::Key;
use super::inbox::{Event, Inbox, Of};
use super::reading::{frame, row};
use crate::dynamic::Queue;
use crate::system::give_way;
use zones::{Next, Reading, Slots, Taken};

mod zones;

/// How long a search goes on: clients wait 5 to 30 s.
pub(super) const SEARCH_TIME: Duration = Duration::from_secs(5);

/// How long one is gone on with before the next has its turn.
const PORTION: Duration = Duration::from_millis(1);

/// Octets of what one finds, which wait for the process to take them: all searches at a time have eight times so many.
const FOUND_OCTETS_MAX: usize = 512 << 10;

/// Octets of a piece, but for one record that is larger.
const PIECE_OCTETS: usize = 60 << 10;

/// What is searched for.
pub(super) struct Search {
    pub(super) of: Of,
    /// What it may see.
    pub(super) key: Arc<Key>,
    pub(super) pattern: Pattern,
    pub(super) objects: Objects,
    /// How much is told at most, at least one.
    pub(super) limit: u32,
    /// When it was asked for.
    pub(super) since: Instant,
    /// Nobody waits for it any more.
    pub(super) is_given_up: Arc<AtomicBool>,
}

/// What the thread has to tell.
pub(super) enum Sought {
    /// A frame of what was found.
    Piece(Vec<u8>),
    /// That was all, or why it is not. What was given up has an end too.
    End(Option<Cut>),
}

/// Why a search ended before all was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// [`SEARCH_TIME`].
    Time,
    /// [`FOUND_OCTETS_MAX`].
    Size,
}

impl Cut {
    /// The end of an answer that was cut so, or of a whole one.
    pub(super) fn done(cut: Option<Cut>) -> Done<'static> {
        let words = match cut {
            None => "",
            Some(Cut::Time) => "time",
            Some(Cut::Size) => "size",
        };
        Done { status: 200, retry_after: 0, is_cut: cut.is_some(), next: None, words }
    }
}

/// The thread's queue: of asks, of which there is a bound.
pub(super) type Searches = Arc<Queue<Search>>;

/// Starts the thread, which ends when its queue is closed and what it has was given up.
pub(super) fn start(mut reader: CatalogReader, inbox: Arc<Inbox>) -> io::Result<Searches> {
    let searches: Searches = Arc::new(Queue::new());
    let queue = Arc::clone(&searches);
    std::thread::Builder::new().name("api-read".into()).spawn(move || {
        give_way();
        let mut walks: VecDeque<Walk> = VecDeque::new();
        // While there is something to do it is only looked whether there is more.
        while let Some(more) = queue.take((!walks.is_empty()).then(Instant::now)) {
            walks.extend(more.into_iter().map(Walk::new));
            let Some(mut walk) = walks.pop_front() else { continue };
            if walk.go_on(&mut reader, &inbox) {
                walks.push_back(walk);
            }
        }
    })?;
    Ok(searches)
}

/// The end of a walk: there is no more, or no more is told.
type Ended = Option<Cut>;

/// A search under way.
struct Walk {
    search: Search,
    slots: Slots,
    /// Whether names of zones are behind.
    is_at_records: bool,
    /// Zones that are read first, and those of them that were.
    near: VecDeque<(SlotNumber, NameBuf)>,
    passed: Vec<SlotNumber>,
    /// The zone that is read, and what was taken out of it: of the first RRset so many records are behind, and whether its owner fits.
    reading: Option<Reading>,
    sets: VecDeque<Taken>,
    records: usize,
    fits_owner: Option<bool>,
    finds: Finds,
    room: Vec<u8>,
}

impl Walk {
    fn new(search: Search) -> Walk {
        let finds =
            Finds { of: search.of, left: search.limit, octets: 0, ready: Vec::new(), are_zones: true };
        Walk {
            search,
            slots: Slots::default(),
            is_at_records: false,
            near: VecDeque::new(),
            passed: Vec::new(),
            reading: None,
            sets: VecDeque::new(),
            records: 0,
            fits_owner: None,
            finds,
            room: Vec::new(),
        }
    }

    /// Goes on for a portion; says whether there is more to do. Its end is told.
    fn go_on(&mut self, reader: &mut CatalogReader, inbox: &Inbox) -> bool {
        let began = Instant::now();
        while began.elapsed() < PORTION {
            let gone_on = match self.search.is_given_up.load(Ordering::Relaxed) {
                true => Err(None),
                false if self.search.since.elapsed() >= SEARCH_TIME => Err(Some(Cut::Time)),
                false => self.step(reader, inbox),
            };
            if let Err(ended) = gone_on {
                self.finds.flush(inbox);
                inbox.tell(Event::Sought(self.search.of, Sought::End(ended)));
                return false;
            }
        }
        true
    }

    /// One record, one batch, or one zone.
    fn step(&mut self, reader: &mut CatalogReader, inbox: &Inbox) -> Result<(), Ended> {
        match &mut self.reading {
            Some(_) if !self.sets.is_empty() => self.compare(inbox),
            Some(reading) if reading.has_more() => {
                self.sets = reading.take(reader);
                Ok(())
            }
            _ => {
                self.reading = None;
                self.next_zone(reader, inbox)
            }
        }
    }

    fn next_zone(&mut self, reader: &mut CatalogReader, inbox: &Inbox) -> Result<(), Ended> {
        if self.is_at_records
            && let Some((slot, name)) = self.near.pop_front()
        {
            self.reading = Some(Reading::new(slot, name));
            return Ok(());
        }
        match self.slots.next(reader) {
            Next::Later => Ok(()),
            Next::Zone(_, name) if !self.search.key.may_see(&name) => Ok(()),
            Next::Zone(slot, name) if !self.is_at_records => self.look_at_name(slot, name, inbox),
            Next::Zone(slot, _) if self.passed.contains(&slot) => Ok(()),
            Next::Zone(slot, name) => {
                self.reading = Some(Reading::new(slot, name));
                Ok(())
            }
            Next::End if self.is_at_records || self.search.objects == Objects::Zones => Err(None),
            Next::End => {
                self.finds.flush(inbox);
                (self.is_at_records, self.finds.are_zones, self.slots) = (true, false, Slots::default());
                // A name is in the zone that is nearest to it.
                self.near.make_contiguous().sort_by_key(|(_, name)| Reverse(name.label_count()));
                Ok(())
            }
        }
    }

    fn look_at_name(&mut self, slot: SlotNumber, name: NameBuf, inbox: &Inbox) -> Result<(), Ended> {
        let Search { pattern, objects, .. } = &self.search;
        if *objects != Objects::Records && pattern.fits_name(&name, &mut self.room) {
            self.finds.zone(inbox, &name)?;
        }
        // As many as a name has labels, as each has another name.
        if *objects != Objects::Zones && pattern.ends_in(&name, &mut self.room) {
            self.near.push_back((slot, name));
            self.passed.push(slot);
        }
        Ok(())
    }

    /// Compares the next record of the first RRset, or goes on to the RRset behind.
    fn compare(&mut self, inbox: &Inbox) -> Result<(), Ended> {
        let (Some(set), Some(reading)) = (self.sets.front(), &self.reading) else { return Ok(()) };
        let (pattern, room) = (&self.search.pattern, &mut self.room);
        let fits_owner = *self.fits_owner.get_or_insert_with(|| pattern.fits_name(&set.owner, room));
        let Some(rdata) = set.rdatas.get(self.records) else {
            self.sets.pop_front();
            (self.records, self.fits_owner) = (0, None);
            return Ok(());
        };
        self.records += 1;
        if fits_owner || pattern.fits_content(set.rtype, rdata, &mut self.room) {
            self.finds.record(inbox, reading.zone(), set, rdata)?;
        }
        Ok(())
    }
}

/// What was found and is not told yet.
struct Finds {
    of: Of,
    /// How much more is told.
    left: u32,
    /// Octets so far.
    octets: usize,
    ready: Vec<u8>,
    /// Whether these are zones, or records.
    are_zones: bool,
}

impl Finds {
    fn zone(&mut self, inbox: &Inbox, name: &Name) -> Result<(), Ended> {
        let mut octets = Vec::new();
        // Of what is found the name is told, and no more.
        row(name, 0, (false, false), None, None).write(&mut octets);
        self.put(inbox, &octets)
    }

    fn record(&mut self, inbox: &Inbox, zone: &Name, set: &Taken, rdata: &[u8]) -> Result<(), Ended> {
        let (mut sets, mut octets) = (SetsBuf::default(), Vec::new());
        sets.begin(&set.owner, set.rtype, What::Replace, set.ttl);
        sets.record(rdata);
        sets.end();
        sets.sets().iter().for_each(|set| Detail { zone, set }.write(&mut octets));
        self.put(inbox, &octets)
    }

    fn put(&mut self, inbox: &Inbox, item: &[u8]) -> Result<(), Ended> {
        self.octets += item.len();
        if self.octets > FOUND_OCTETS_MAX {
            return Err(Some(Cut::Size));
        }
        if self.ready.len() + item.len() > PIECE_OCTETS {
            self.flush(inbox);
        }
        self.ready.extend_from_slice(item);
        self.left = self.left.saturating_sub(1);
        if self.left == 0 { Err(None) } else { Ok(()) }
    }

    /// Tells it.
    fn flush(&mut self, inbox: &Inbox) {
        let octets = std::mem::take(&mut self.ready);
        let piece = match self.are_zones {
            _ if octets.is_empty() => None,
            true => Run::read(&octets).map(Piece::Rows),
            false => Run::read(&octets).map(Piece::Found),
        };
        if let Some(frame) = piece.and_then(|piece| frame(self.of.ask, piece)) {
            inbox.tell(Event::Sought(self.of, Sought::Piece(frame)));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
