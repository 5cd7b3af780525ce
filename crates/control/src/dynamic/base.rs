//! What a zone's changes in the log begin from: its contents, if they are small, or the pack that has them.
//!
//! ```text
//! contents: mark of the text u64 | 255 u8, if the zone had changed since it was read | records in wire form, one after another       kind 2 of the journal
//! pack:     checksum of its header, which has those of all its sections           kind 3
//! at rest:  the same; nothing follows                                              kind 7
//! ```

use std::sync::Arc;

use journal::{Body, Entry};
use wire::Name;
use zone::contents::SourcePosition;
use zone::pack::ZoneRow;
use zone::{ContentsBuilder, Crawl, Pack, PackBuilder, Records, TextStamp, ZoneView};

use crate::load::SEEDS_MAX;
use crate::system::random;

/// Contents that are written into the log: a small zone needs no file of its own to begin from.
pub(super) const CONTENTS_OCTETS_MAX: usize = 64 << 10;

/// Before the records: the text of the mark has others. No name begins so.
const BESIDE: u8 = 255;

/// All records of a zone, in wire form. `None`: they have more octets than this, or cannot be read.
fn records(zone: &ZoneView<'_>, octets_max: usize) -> Option<Records> {
    let mut records = Records::default();
    let mut crawl = Crawl::default();
    let mut labels = [0; wire::name::NAME_OCTETS_MAX];
    while let Some(step) = crawl.next(zone).ok()? {
        let octets = step.owner.write_labels(&mut labels)?;
        let owner = [&labels[..octets], zone.apex().octets()].concat();
        let owner = Name::from_wire(&owner).ok()?;
        let rrset = &step.rrset;
        for rdata in rrset.rdata(owner, zone.apex())? {
            records.push(owner, rrset.rtype(), rrset.ttl(), &rdata);
        }
        for rdata in rrset.signature_rdata() {
            records.push(owner, wire::iana::rtype::RRSIG, rrset.ttl(), &rdata);
        }
        if records.octets().len() > octets_max {
            return None;
        }
    }
    Some(records)
}

/// The record that has all of a zone. `None`: it is larger than what the log takes, or cannot be read.
pub(super) fn contents(zone: &ZoneView<'_>, time: u64) -> Option<Entry> {
    let (row, records) = (zone.row(), records(zone, CONTENTS_OCTETS_MAX)?);
    let beside: &[u8] = if row.bits & ZoneRow::BESIDE_TEXT == 0 { &[] } else { &[BESIDE] };
    let contents = [&row.text_mark.to_le_bytes(), beside, records.octets()].concat();
    Entry::new(zone.apex(), 0, row.serial, time, Body::Contents(&contents)).ok()
}

/// The record that says that a zone is in a pack, which is on the disk.
pub(super) fn of_pack(pack: &Pack, number: u32, time: u64) -> Option<Entry> {
    let zone = ZoneView::new(pack, number)?;
    let body = Body::Pack { number: u64::from(number), checksum: pack.checksum() };
    Entry::new(zone.apex(), 0, zone.row().serial, time, body).ok()
}

/// The record that says that a zone is in a pack, which is on the disk, and that the log has nothing more of it.
pub(super) fn at_rest(pack: &Pack, number: u32, time: u64) -> Option<Entry> {
    let zone = ZoneView::new(pack, number)?;
    let serial = zone.row().serial;
    let body = Body::AtRest { number: u64::from(number), checksum: pack.checksum() };
    Entry::new(zone.apex(), serial, serial, time, body).ok()
}

/// The zone that contents are of, in a pack of its own. `None`: they are no zone.
pub(crate) fn pack_of(apex: &Name, contents: &[u8]) -> Option<Arc<Pack>> {
    let (mark, records) = contents.split_first_chunk()?;
    let (is_beside, records) = match records {
        [BESIDE, records @ ..] => (true, records),
        records => (false, records),
    };
    let records = Records::from_octets(records.to_vec()).ok()?;
    let mut builder = ContentsBuilder::new(apex);
    for record in records.iter() {
        builder
            .push(record.owner, false, record.rtype, record.ttl, record.rdata, SourcePosition::default())
            .ok()?;
    }
    let contents = builder.finish();
    let stamp = TextStamp { mark: u64::from_le_bytes(*mark), is_beside, ..TextStamp::default() };
    for _ in 0..SEEDS_MAX {
        let mut builder = PackBuilder::new(random());
        builder.add_zone(&contents, stamp).ok()?;
        if let Ok(backing) = builder.finish() {
            return Pack::open(backing).ok().map(Arc::new);
        }
    }
    None
}
