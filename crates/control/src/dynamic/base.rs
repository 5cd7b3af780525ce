//! What a zone's changes in the log begin from: its contents, if they are small, or the pack that has them.
//!
//! ```text
//! contents: mark of the text u64 | records in wire form, one after another       kind 2 of the journal
//! pack:     checksum of its header, which has those of all its sections           kind 3
//! ```

use std::sync::Arc;

use journal::{Body, Entry};
use wire::Name;
use zone::contents::SourcePosition;
use zone::{ContentsBuilder, Crawl, Pack, PackBuilder, Records, TextStamp, ZoneView};

use crate::load::SEEDS_MAX;
use crate::system::random;

/// Contents that are written into the log: a small zone needs no file of its own to begin from.
pub(super) const CONTENTS_OCTETS_MAX: usize = 64 << 10;

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

/// The record that says what the changes of a zone begin from. `pack`: the one that it is in, if that is on the disk. `None`: the zone is larger than what the log
/// takes, and nowhere on the disk.
pub(super) fn entry(zone: &ZoneView<'_>, pack: Option<&Pack>, time: u64) -> Option<Entry> {
    let row = zone.row();
    let make = |body| Entry::new(zone.apex(), 0, row.serial, time, body).ok();
    if let Some(records) = records(zone, CONTENTS_OCTETS_MAX) {
        return make(Body::Contents(&[&row.text_mark.to_le_bytes(), records.octets()].concat()));
    }
    let pack = pack?;
    make(Body::Pack { number: u64::from(zone.number()), checksum: pack.checksum() })
}

/// The zone that contents are of, in a pack of its own. `None`: they are no zone.
pub(super) fn pack_of(apex: &Name, contents: &[u8]) -> Option<Arc<Pack>> {
    let (mark, records) = contents.split_first_chunk()?;
    let records = Records::from_octets(records.to_vec()).ok()?;
    let mut builder = ContentsBuilder::new(apex);
    for record in records.iter() {
        builder
            .push(record.owner, false, record.rtype, record.ttl, record.rdata, SourcePosition::default())
            .ok()?;
    }
    let contents = builder.finish();
    let stamp = TextStamp { mark: u64::from_le_bytes(*mark), ..TextStamp::default() };
    for _ in 0..SEEDS_MAX {
        let mut builder = PackBuilder::new(random());
        builder.add_zone(&contents, stamp).ok()?;
        if let Ok(backing) = builder.finish() {
            return Pack::open(backing).ok().map(Arc::new);
        }
    }
    None
}
