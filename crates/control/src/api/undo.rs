//! What leads back to a version of a zone: RRsets as a PATCH has them, worked out from what the history knows and what is served. Nothing is changed by asking.
//!
//! ```text
//! history: from there to here, as one change -> RRsets that differ -> of each what is served, without what came, with what went -> REPLACE, DELETE
//! ```
//!
//! Beside them is the tag of what is served: who sends them with `If-Match` undoes what he has seen. Serials only go on, so that of the SOA record stays as it is; of
//! signatures and their like nothing is told, as no PATCH makes any.

use std::collections::{BTreeMap, HashSet, VecDeque};

use wire::iana::rtype;
use wire::{Name, NameBuf, SortKey};
use zone::change::Record;
use zone::lookup::Damaged;
use zone::{Change, ZoneView};

use super::judge::SETS_MAX;
use super::look::{NotPinned, Pinned};
use super::reading::{Found, Frames, row};
use super::words::NO_ZONE;
use crate::controller::Controller;
use crate::dynamic::history::NotKnown;

/// Octets of records that differ, and of RRsets that are told: more is no body of a PATCH, which has two mebibytes as text.
const OCTETS_MAX: usize = 1 << 20;

/// Octets of an SOA record from its serial to its end (RFC 1035 3.3.13).
const SOA_NUMBERS_OCTETS: usize = 20;

/// A status, and why nothing is told.
type No = (u16, &'static str);

const NOT_NOW: No = (503, "the zone has no data that can be read now");
const TOO_MUCH: No =
    (413, "more has changed since than one request may change back: transfer the zone, or go back in steps");

impl Controller {
    /// Frames of what leads a zone back to the version with this serial, with a pin on this seat. May wait for the disk.
    pub(super) fn undo_for_api(
        &self,
        ask: u32,
        seat: u8,
        zone: &Name,
        serial: u32,
    ) -> Result<VecDeque<Vec<u8>>, No> {
        let pinned = self.pin_for_api(seat, zone).map_err(|not| match not {
            NotPinned::Nothing => (404, NO_ZONE),
            NotPinned::Full => (429, "as many zones are being read as may be"),
            NotPinned::NotNow => NOT_NOW,
        })?;
        let Pinned { zone: pinned, is_secondary, made } = pinned;
        let view = pinned.view().ok_or(NOT_NOW)?;
        let now = view.row().serial;
        let found = match now == serial {
            true => Vec::new(),
            false => {
                let change = self.historian.between(zone, (serial, now), OCTETS_MAX).map_err(words_of)?;
                back(&view, &change)?
            }
        };
        let tag = self.api.tag(pinned.version(), now, made.as_ref());
        let mut frames = Frames::new(ask);
        frames.row(&row(zone, now, (is_secondary, view.is_signed()), made.as_ref(), Some(tag)));
        frames.put_all(found);
        frames.finish();
        // What was read of a pack that was written into meanwhile is not told.
        pinned.view().map(|_| frames.ready).ok_or(NOT_NOW)
    }
}

fn words_of(not: NotKnown) -> No {
    match not {
        NotKnown::Version => (404, "nothing is known of such a version: `history` has those that are"),
        NotKnown::TooLong => TOO_MUCH,
        NotKnown::Unreadable => (503, "the history of the zone cannot be read"),
    }
}

/// What a change did to an RRset.
struct Differing {
    owner: NameBuf,
    /// The TTL that it had, where that is known by a record that went.
    ttl: Option<u32>,
    /// RDATA of what went, and, folded, of what came.
    gone: Vec<Vec<u8>>,
    came: HashSet<Vec<u8>>,
}

/// RRsets of a zone as they were before a change that led to what is served; without records: there was none.
fn back(view: &ZoneView<'_>, change: &Change) -> Result<Vec<Found>, No> {
    let mut differing: BTreeMap<(Box<[u8]>, u16), Differing> = BTreeMap::new();
    let mut of = |record: &Record<'_>, note: &dyn Fn(&mut Differing)| {
        let key = (SortKey::of(record.owner).octets().into(), record.rtype);
        note(differing.entry(key).or_insert_with(|| Differing {
            owner: record.owner.to_owned(),
            ttl: None,
            gone: Vec::new(),
            came: HashSet::new(),
        }));
    };
    for record in change.removed().iter().skip(1).filter(is_told) {
        of(&record, &|set| {
            set.ttl = Some(record.ttl);
            set.gone.push(record.rdata.to_vec());
        });
    }
    for record in change.added().iter().skip(1).filter(is_told) {
        of(&record, &|set| {
            set.came.insert(folded(record.rtype, record.rdata));
        });
    }
    if differing.len() >= SETS_MAX {
        return Err(TOO_MUCH);
    }
    let mut found: Vec<Found> = soa_back(change).into_iter().collect();
    let mut octets = 0;
    for ((key, rtype), set) in differing {
        let set = set_back(view, &key, rtype, set).map_err(|Damaged| NOT_NOW)?;
        octets += set.rdatas.iter().map(|rdata| set.owner.octets().len() + rdata.len()).sum::<usize>();
        if octets > OCTETS_MAX {
            return Err(TOO_MUCH);
        }
        found.push(set);
    }
    Ok(found)
}

/// An RRset as it was: what is served of it, without what came, with what went.
fn set_back(view: &ZoneView<'_>, key: &[u8], rtype: u16, set: Differing) -> Result<Found, Damaged> {
    let Differing { owner, ttl, gone: mut rdatas, mut came } = set;
    let node = key.strip_prefix(view.apex_key()).and_then(|key| view.find(key));
    let served = node.as_ref().and_then(|node| node.rrset(rtype));
    let of_served =
        served.as_ref().map(|rrset| rrset.rdata(&owner, view.apex()).ok_or(Damaged)).transpose()?;
    rdatas.extend(of_served.into_iter().flatten().filter(|rdata| !came.remove(&folded(rtype, rdata))));
    // All that came is served, or this is not what the change led to.
    if !came.is_empty() {
        return Err(Damaged);
    }
    let ttl = ttl.or(served.map(|rrset| rrset.ttl())).unwrap_or_default();
    Ok(Found { owner, rtype, ttl, rdatas })
}

/// The SOA record as it was, with the serial that it has now; `None`: nothing else became another.
fn soa_back(change: &Change) -> Option<Found> {
    let (before, after) = (change.removed().iter().next()?, change.added().iter().next()?);
    let mut rdata = before.rdata.to_vec();
    let serial = rdata.len().checked_sub(SOA_NUMBERS_OCTETS)?;
    rdata.get_mut(serial..serial + 4)?.copy_from_slice(&change.serial_after().to_be_bytes());
    let is_same = before.ttl == after.ttl && rdata == after.rdata;
    (!is_same).then(|| Found {
        owner: before.owner.to_owned(),
        rtype: rtype::SOA,
        ttl: before.ttl,
        rdatas: vec![rdata],
    })
}

fn folded(rtype: u16, rdata: &[u8]) -> Vec<u8> {
    let mut folded = rdata.to_vec();
    wire::rdata::fold(rtype, &mut folded);
    folded
}

fn is_told(record: &Record<'_>) -> bool {
    !matches!(record.rtype, rtype::RRSIG | rtype::NSEC | rtype::NSEC3)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::api::reading::tests::catalog;
    use zone::Records;
    use zone::catalog::View;

    /// What leads back, if the zone of this text came of the one before by what went and came; RRsets as lines.
    fn told(text: &str, gone: &str, came: &str) -> Result<Vec<String>, No> {
        let apex: NameBuf = "x.".parse().unwrap();
        let records = |text: &str| {
            let mut records = Records::default();
            for record in zonefile::records(text, &apex).unwrap() {
                records.push(&record.owner, record.rtype, record.ttl, &record.rdata);
            }
            records
        };
        let change = Change::new(records(gone), records(came)).unwrap();
        let line = |set: &Found| {
            let rdatas = set.rdatas.iter().map(|rdata| zonefile::print::rdata(set.rtype, rdata));
            let rdatas: Vec<String> = rdatas.collect();
            format!("{} {} {}: {}", set.owner, set.ttl, rtype::Text(set.rtype), rdatas.join(", "))
        };
        catalog(text).reader().with(|view| {
            let slot = view.slot_named(&apex).unwrap();
            let Some(View::Zone(view)) = view.view_of(slot) else { panic!("no zone") };
            back(&view, &change).map(|found| found.iter().map(line).collect())
        })
    }

    const SOA: &str = "@ 60 SOA ns host";
    const ZONE: &str =
        "@ 60 SOA ns host 9 2 3 4 5\n@ 60 NS ns\na 60 A 192.0.2.2\na 60 A 192.0.2.3\nb 60 MX 1 Mail\n";

    #[test]
    fn what_went_comes_back_and_what_came_goes() {
        let before = format!("{SOA} 7 2 3 4 5\na 60 A 192.0.2.1\nc 30 TXT t\nd.c 30 TXT u\n");
        // Letters of names in RDATA do not count.
        let after = format!("{SOA} 9 2 3 4 5\na 60 A 192.0.2.2\nb 60 MX 1 mail\n");
        let expected =
            ["a.x. 60 A: 192.0.2.1, 192.0.2.3", "b.x. 60 MX: ", "c.x. 30 TXT: \"t\"", "d.c.x. 30 TXT: \"u\""];
        assert_eq!(told(ZONE, &before, &after).unwrap(), expected);
        // Another TTL is another record.
        let (before, after) = ("a 5 A 192.0.2.2\na 5 A 192.0.2.3\n", "a 60 A 192.0.2.2\na 60 A 192.0.2.3\n");
        let of = |serial: u32, records: &str| format!("{SOA} {serial} 2 3 4 5\n{records}");
        assert_eq!(told(ZONE, &of(8, before), &of(9, after)).unwrap(), ["a.x. 5 A: 192.0.2.2, 192.0.2.3"]);
    }

    #[test]
    fn serials_do_not_go_back() {
        let after = format!("{SOA} 9 2 3 4 5\n");
        assert_eq!(told(ZONE, &format!("{SOA} 7 2 3 4 5\n"), &after).unwrap(), [""; 0]);
        let told = told(ZONE, "@ 30 SOA ns host 7 2 3 4 6\n", &after).unwrap();
        assert_eq!(told, ["x. 30 SOA: ns.x. host.x. 9 2 3 4 6"]);
    }

    #[test]
    fn what_is_not_so_is_not_told() {
        let (before, after) = (format!("{SOA} 7 2 3 4 5\n"), format!("{SOA} 9 2 3 4 5\na 60 A 192.0.2.9\n"));
        assert_eq!(told(ZONE, &before, &after), Err(NOT_NOW));
        // What no PATCH takes as a whole.
        let many: String = (0..SETS_MAX).map(|number| format!("n{number} 60 A 192.0.2.1\n")).collect();
        let after = format!("{SOA} 9 2 3 4 5\n");
        assert_eq!(told(ZONE, &format!("{before}{many}"), &after), Err(TOO_MUCH));
        let long = "y".repeat(250);
        let large: String = (0..4_200).map(|number| format!("l 60 TXT {long}{number:04}\n")).collect();
        assert_eq!(told(ZONE, &format!("{before}{large}"), &after), Err(TOO_MUCH));
    }
}
