//! Zones, piece by piece, in the order of their slots: one that is there all the time is told once, one that comes or goes meanwhile may be or not.

use std::collections::VecDeque;
use std::sync::Arc;

use api::frame::{Cursor, Item, Row, Stands};
use wire::NameBuf;
use zone::catalog::SlotNumber;

use super::Key;
use super::look::Listed;
use super::reading::{row, rows_frame};

/// Octets of a piece.
const PIECE_OCTETS: usize = 60 << 10;

/// Looks that find nothing until something is told all the same: 256,000 zones that are not for the key, some tenth of a second.
const QUIET_LOOKS: u32 = 256;

/// Which zones are told, beside what the key may see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    /// Those of an account.
    pub(super) account: Option<Box<str>>,
    /// Those that stand so.
    pub(super) stands: Option<Stands>,
}

/// See the module.
pub(super) struct Listing {
    /// Of which the one of a name is wanted.
    pub(super) name: Option<NameBuf>,
    /// That a key may see, and of these.
    pub(super) of: (Arc<Key>, Filter),
    /// Where it goes on; `None`: all are told.
    pub(super) from: Option<SlotNumber>,
    /// How many more are told; `None`: as many as there are.
    left: Option<u32>,
    /// Frames that are ready.
    ready: VecDeque<Vec<u8>>,
    /// Whether it was asked what comes next.
    pub(super) is_looking: bool,
    /// Where the next page begins, behind the slot that was told last.
    page: Option<SlotNumber>,
    /// How often it was looked without anything that is told.
    looks: u32,
}

impl Listing {
    /// `limit`: of zones; 0: as many as there are. `after`: the slot that was told last.
    pub(super) fn new(
        of: (Arc<Key>, Filter),
        name: Option<NameBuf>,
        limit: u32,
        after: Option<u64>,
    ) -> Listing {
        let after = after.map(|slot| u32::try_from(slot).unwrap_or(u32::MAX).saturating_add(1));
        Listing {
            name,
            of,
            from: Some(SlotNumber(after.unwrap_or_default())),
            left: (limit > 0).then_some(limit),
            ready: VecDeque::new(),
            is_looking: false,
            page: None,
            looks: 0,
        }
    }

    /// Takes some zones, of the ask with this number.
    pub(super) fn take(&mut self, ask: u32, listed: Listed) {
        self.is_looking = false;
        self.from = listed.next.filter(|_| self.name.is_none());
        self.looks = if listed.zones.is_empty() { self.looks + 1 } else { 0 };
        let mut octets = Vec::new();
        for zone in listed.zones {
            if self.left == Some(0) {
                self.from = None;
                break;
            }
            self.left = self.left.map(|left| left - 1);
            // A page that is full and at its end has a next one, which may be empty.
            self.page = (self.left == Some(0)).then_some(zone.slot);
            let kinds = (zone.is_secondary, zone.is_signed);
            let row = row(&zone.name, zone.serial, kinds, zone.made.as_ref(), None);
            Row { stands: zone.stands, ..row }.write(&mut octets);
            if octets.len() >= PIECE_OCTETS {
                self.ready.extend(rows_frame(ask, &std::mem::take(&mut octets)));
            }
        }
        if self.left == Some(0) {
            self.from = None;
        }
        self.look_at_work(ask);
        if !octets.is_empty() {
            self.ready.extend(rows_frame(ask, &octets));
        }
    }

    /// A key that sees few of many zones has the others looked at all the same: a page ends then, with those that were found, and of a list something is said, as clients and
    /// what passes their requests on take silence for an end.
    fn look_at_work(&mut self, ask: u32) {
        let Some(next) = self.from.filter(|_| self.looks > 0 && self.looks.is_multiple_of(QUIET_LOOKS))
        else {
            return;
        };
        match self.left {
            Some(_) => (self.from, self.page) = (None, Some(SlotNumber(next.0 - 1))),
            None => self.ready.extend(rows_frame(ask, &[])),
        }
    }

    /// The next frame that is ready.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        self.ready.pop_front()
    }

    /// Whether a frame is ready.
    pub(super) fn has_piece(&self) -> bool {
        !self.ready.is_empty()
    }

    /// From where the next page goes on. `start`: of this server.
    pub(super) fn cursor(&self, start: u64) -> Option<Cursor> {
        self.page.map(|slot| Cursor { start, slot: slot.0.into() })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::api::look::ListedZone;
    use crate::api::{Keys, new_api_key};
    use crate::settings::Settings;
    use api::frame::{Answer, Frame, Piece};
    use std::path::Path;

    fn key() -> Arc<Key> {
        let (section, secret) = new_api_key("k").unwrap();
        let section = section.replace("zones = []", "zones = [\"*.x.\"]");
        let keys = Keys::of(&Settings::parse(Path::new("f"), &section).unwrap(), 1);
        Arc::clone(keys.find(secret.as_bytes(), 0).unwrap())
    }

    fn listed(slots: std::ops::Range<u32>, next: Option<u32>) -> Listed {
        let zone = |slot| ListedZone {
            slot: SlotNumber(slot),
            name: format!("z{slot}.x.").parse().unwrap(),
            serial: slot,
            stands: Stands::Served,
            is_secondary: false,
            is_signed: false,
            made: None,
        };
        Listed { zones: slots.map(zone).collect(), next: next.map(SlotNumber) }
    }

    fn serials(listing: &mut Listing) -> Vec<u32> {
        let mut serials = Vec::new();
        while let Some(frame) = listing.next() {
            let (frame, _) = Frame::read(&frame).unwrap().unwrap();
            let Ok(Answer::Piece(Piece::Rows(rows))) = Answer::of(&frame) else { panic!("rows") };
            serials.extend(rows.iter().map(|row| row.serial));
        }
        serials
    }

    #[test]
    fn all_of_them_in_pieces() {
        let mut listing = Listing::new((key(), Filter::default()), None, 0, None);
        listing.take(1, listed(10..5000, Some(6000)));
        assert!(serials(&mut listing).into_iter().eq(10..5000));
        assert_eq!(listing.from, Some(SlotNumber(6000)));
        listing.take(1, listed(0..0, None));
        assert!(serials(&mut listing).is_empty() && listing.from.is_none() && listing.cursor(7).is_none());
    }

    /// A page ends where it is full, and the next one goes on behind it.
    #[test]
    fn pages() {
        let mut listing = Listing::new((key(), Filter::default()), None, 3, Some(9));
        assert_eq!(listing.from, Some(SlotNumber(10)));
        listing.take(1, listed(10..12, Some(20)));
        assert_eq!((serials(&mut listing), listing.from), (vec![10, 11], Some(SlotNumber(20))));
        listing.take(1, listed(20..30, Some(40)));
        assert_eq!((serials(&mut listing), listing.from), (vec![20], None));
        assert_eq!(listing.cursor(7), Some(Cursor { start: 7, slot: 20 }));
        // A page whose key sees nothing ends all the same, and the next goes on behind what was looked at.
        let mut quiet = Listing::new((key(), Filter::default()), None, 3, None);
        let mut all = Listing::new((key(), Filter::default()), None, 0, None);
        for look in 1..=QUIET_LOOKS {
            assert!(quiet.from.is_some() && !all.has_piece());
            quiet.take(1, listed(0..0, Some(1000 * look)));
            all.take(1, listed(0..0, Some(1000 * look)));
        }
        let last = u64::from(1000 * QUIET_LOOKS) - 1;
        assert_eq!((quiet.from, quiet.cursor(7)), (None, Some(Cursor { start: 7, slot: last })));
        // Of a list a piece of nothing is told, and it goes on.
        assert!(all.has_piece() && serials(&mut all).is_empty() && all.from.is_some());
        // The one of a name is all.
        let mut one = Listing::new((key(), Filter::default()), Some("z1.x.".parse().unwrap()), 0, None);
        one.take(1, listed(1..2, Some(5)));
        assert_eq!((serials(&mut one), one.from), (vec![1], None));
    }
}
