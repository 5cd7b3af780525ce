//! Zones out: a pinned zone, or what changed in it, as the messages of an AXFR (RFC 5936) or IXFR (RFC 1995).
//!
//! ```text
//! AXFR            SOA, its signatures | RRsets of the crawl ...                                      | SOA
//! IXFR            SOA | of each change: removed, added, both with their SOA record first             | SOA
//! IXFR, current   SOA
//! ```
//!
//! A [`Transfer`] owns all it needs and writes one message after another into the room that it is given. What it keeps between two is a place: what did not fit
//! is read again. It may wait for a disk, where the pack is mapped or the history on one.

mod changes;
mod history;
mod page;
mod whole;

use changes::ChangesPlace;
use page::{Page, Stop};
use std::sync::Arc;
use whole::WholePlace;
use wire::envelope::{Envelope, EnvelopeStream};
use wire::header;
use wire::iana::rtype;
use zone::catalog::PinnedZone;
use zone::{RRset, ZoneView};

pub use history::{Changes, History, HistoryLost, NoHistory};

/// Octets of a message: as far as compression pointers reach (RFC 1035 4.1.4), so that every name can be pointed at, and one message is a short turn of a worker.
pub const MESSAGE_OCTETS: usize = 16 << 10;
/// Octets of a message with one RRset that does not fit into others: all that its length can say.
pub const LARGE_OCTETS: usize = 65_535;
/// What a record takes in an AXFR, roughly: changes that are longer than the zone are not sent.
pub const RECORD_OCTETS: u64 = 40;

/// Why a transfer cannot be completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The pack is damaged, or its file was written into since the zone was pinned.
    Damaged,
    /// A record that no message has room for, beside its owner, the question and the signature.
    TooLarge,
    /// The history ended before the last change.
    History,
    /// What it has of the zone is served no more, and transfers keep too much of that.
    Cut,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Broken::Damaged => "the pack is damaged",
            Broken::TooLarge => "a record is too large for any message",
            Broken::History => "the history of changes cannot be read to its end",
            Broken::Cut => "the zone was replaced meanwhile, and transfers keep as much that was as they may",
        })
    }
}

/// What came of asking for the next message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A message of so many octets.
    Message(usize),
    /// The one before was the last.
    End,
    /// It cannot be completed; nothing more comes of it.
    Broken(Broken),
}

/// What is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// It is not decided yet.
    #[default]
    Unknown,
    /// The whole zone.
    Whole,
    /// What changed since a serial.
    Changes(u32),
    /// The SOA record alone, as there is nothing newer (or, over UDP, to come again for).
    Current,
}

/// What was sent so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// What it is.
    pub form: Form,
    /// The serial of the version that is sent.
    pub serial: u32,
    /// Messages.
    pub messages: u64,
    /// Records in them.
    pub records: u64,
    /// Octets of them, signatures included.
    pub octets: u64,
    /// Nothing is missing.
    pub is_complete: bool,
}

/// Where a transfer is.
enum Place {
    /// An IXFR that nothing was sent of: the serial that the client has, and who knows what changed since.
    Unasked(u32, Arc<dyn History>),
    Whole(WholePlace),
    Changes(ChangesPlace),
    /// The SOA record alone.
    Current,
    End,
    Broken(Broken),
}

/// The messages of one transfer.
pub struct Transfer {
    zone: PinnedZone,
    stream: EnvelopeStream,
    place: Place,
    sent: Sent,
}

impl Transfer {
    /// An AXFR of the zone in the state in which it was pinned. `envelope`: of the request.
    #[must_use]
    pub fn axfr(zone: PinnedZone, envelope: Envelope) -> Transfer {
        Transfer::new(zone, envelope, Place::Whole(WholePlace::default()))
    }

    /// An IXFR for who has version `from`; `history` is asked when the first message is made.
    #[must_use]
    pub fn ixfr(zone: PinnedZone, envelope: Envelope, from: u32, history: Arc<dyn History>) -> Transfer {
        Transfer::new(zone, envelope, Place::Unasked(from, history))
    }

    /// The SOA record alone: for who has not shown that he receives at his address, so that nobody has zones sent to others.
    #[must_use]
    pub fn current(zone: PinnedZone, envelope: Envelope) -> Transfer {
        let mut transfer = Transfer::new(zone, envelope, Place::Current);
        transfer.sent.form = Form::Current;
        transfer
    }

    fn new(zone: PinnedZone, envelope: Envelope, place: Place) -> Transfer {
        let serial = zone.view().map_or(0, |view| view.row().serial);
        let sent = Sent { serial, ..Sent::default() };
        Transfer { zone, stream: EnvelopeStream::new(envelope), place, sent }
    }

    /// What was sent so far.
    #[must_use]
    pub fn sent(&self) -> Sent {
        self.sent
    }

    /// Whether the zone can be read without waiting for a disk.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        self.zone.view().is_none_or(|view| !view.is_mapped())
    }

    /// Writes the next message to `room`, which has [`LARGE_OCTETS`]. `now`: seconds since 1970.
    pub fn next(&mut self, room: &mut [u8], now: u64) -> Next {
        if matches!(self.place, Place::End) {
            return Next::End;
        }
        match self.write(room, MESSAGE_OCTETS, now) {
            Ok(octets) => Next::Message(octets),
            Err(broken) => {
                self.place = Place::Broken(broken);
                Next::Broken(broken)
            }
        }
    }

    /// Why the zone shows nothing any more.
    fn lost(&self) -> Broken {
        if self.zone.is_cut() { Broken::Cut } else { Broken::Damaged }
    }

    /// Writes one message of at most `limit` octets, or of [`LARGE_OCTETS`] where it has one RRset that wants more.
    fn write(&mut self, room: &mut [u8], limit: usize, now: u64) -> Result<usize, Broken> {
        let view = self.zone.view().ok_or_else(|| self.lost())?;
        decide(&mut self.place, &mut self.sent, &view)?;
        let soa = view.apex_node().and_then(|apex| apex.rrset(rtype::SOA)).ok_or(Broken::Damaged)?;
        let mut octets_max = limit;
        let (octets, records, is_over) = loop {
            let out = self.stream.begin(room, octets_max).ok_or(Broken::TooLarge)?;
            let mut page = Page::new(out, view.apex(), self.stream.envelope().question());
            match self.place.fill(&mut page, &view, &soa) {
                // Nothing but one RRset, or the beginning of it, then.
                Err(Stop::Full) if page.is_empty() && octets_max < LARGE_OCTETS => octets_max = LARGE_OCTETS,
                Err(Stop::Full) if page.is_empty() => return Err(Broken::TooLarge),
                Err(Stop::Broken(broken)) => return Err(broken),
                filled => {
                    let records = page.records();
                    let octets =
                        self.stream.end(page.into_inner(), header::AA).map_err(|_| Broken::TooLarge)?;
                    break (octets, records, filled.is_ok());
                }
            }
        };
        // What was read of a file that somebody wrote into meanwhile must not leave.
        self.zone.view().ok_or_else(|| self.lost())?;
        let octets = self.stream.sign(room, octets, now).ok_or(Broken::TooLarge)?;
        if is_over {
            self.place = Place::End;
            self.sent.is_complete = true;
        }
        self.sent.messages += 1;
        self.sent.records += u64::from(records);
        self.sent.octets += octets as u64;
        Ok(octets)
    }

    /// Writes the whole transfer as one datagram of the length that the envelope allows, or the SOA record alone: then the client comes again over TCP (RFC 1995 2). Returns
    /// its octets. Whoever calls this on a worker has a history that waits for nothing.
    pub fn datagram(&mut self, room: &mut [u8], now: u64) -> Result<usize, Broken> {
        let limit = self.stream.envelope().limit.min(room.len());
        let before = self.stream.clone();
        if let Ok(octets) = self.write(room, limit, now)
            && octets <= limit
            && self.sent.is_complete
        {
            return Ok(octets);
        }
        self.stream = before;
        self.place = Place::Current;
        self.sent = Sent { form: Form::Current, serial: self.sent.serial, ..Sent::default() };
        let octets = self.write(room, limit, now)?;
        if octets <= limit { Ok(octets) } else { Err(Broken::TooLarge) }
    }
}

/// Decides what is sent, if that is open.
fn decide(place: &mut Place, sent: &mut Sent, view: &ZoneView<'_>) -> Result<(), Broken> {
    let row = view.row();
    (sent.form, *place) = match place {
        Place::Broken(broken) => return Err(*broken),
        Place::Unasked(from, _) if !crate::serial::is_newer(row.serial, *from) => {
            (Form::Current, Place::Current)
        }
        Place::Unasked(from, history) => {
            let changes = history.changes(view.apex(), *from, row.serial);
            let octets_max = row.record_count.saturating_mul(RECORD_OCTETS);
            match changes.filter(|changes| changes.octets() <= octets_max) {
                Some(changes) => {
                    (Form::Changes(*from), Place::Changes(ChangesPlace::new(changes, *from, row.serial)))
                }
                None => (Form::Whole, Place::Whole(WholePlace::default())),
            }
        }
        Place::Whole(_) => {
            sent.form = Form::Whole;
            return Ok(());
        }
        _ => return Ok(()),
    };
    Ok(())
}

impl Place {
    /// Writes what fits, and moves on. `Ok` after the last record; `Full` where there is more, or nothing fits.
    fn fill(&mut self, page: &mut Page<'_, '_>, view: &ZoneView<'_>, soa: &RRset<'_>) -> Result<(), Stop> {
        match self {
            Place::Whole(place) => place.fill(page, view, soa),
            Place::Changes(place) => place.fill(page, soa),
            Place::Current => page.rrset(&[], soa, false),
            Place::Unasked(..) | Place::End => Ok(()),
            Place::Broken(broken) => Err(Stop::Broken(*broken)),
        }
    }
}
