//! Fragments back to RDATA as it was read: for transfers, dumps and tests, not for answers.

use crate::contents::{Contents, ContentsBuilder, SourcePosition};
use crate::fragment::{Fragment, RECORD_HEAD_OCTETS, TO_APEX, TO_OWNER};
use crate::lookup::{Crawl, Damaged, Data, RRset, ZoneView};
use wire::iana::rtype;
use wire::name::{LABELS_MAX, NAME_OCTETS_MAX};
use wire::{Name, NameBuf};

impl RRset<'_> {
    /// The RDATA of every record, uncompressed. `owner`, `apex`: what pointers may point at. `None` in a
    /// damaged pack. Case is as read, but for names that end in the owner or the apex: that part is lower-case.
    pub fn rdata(&self, owner: &Name, apex: &Name) -> Option<Vec<Vec<u8>>> {
        match self.data() {
            Data::Inline(octets) => Some(vec![octets.to_vec()]),
            Data::Fragment(fragment) => expand(&fragment, owner, apex),
        }
    }

    /// The RDATA of every signature, covered type included.
    pub fn signature_rdata(&self) -> Vec<Vec<u8>> {
        let Data::Fragment(fragment) = self.data() else { return Vec::new() };
        fragment.signatures().map(|rest| [&self.rtype().to_be_bytes()[..], rest].concat()).collect()
    }
}

impl ZoneView<'_> {
    /// All records of the zone, as if they had been read: to check what is served, changes included. TTLs are those of RRsets, which signatures share. Cost: a pass over the zone,
    /// some 100 octets of memory a record.
    pub fn contents(&self) -> Result<Contents, Damaged> {
        let apex = self.apex();
        let mut builder = ContentsBuilder::new(apex);
        let (mut crawl, mut labels) = (Crawl::default(), [0; NAME_OCTETS_MAX]);
        let mut owner: NameBuf = apex.to_owned();
        while let Some(step) = crawl.next(self)? {
            let octets = step.owner.write_labels(&mut labels).ok_or(Damaged)?;
            let wire = [&labels[..octets], apex.octets()].concat();
            let name = Name::from_wire(&wire).map_err(|_| Damaged)?;
            let mut is_same = *name == *owner;
            if !is_same {
                owner = name.to_owned();
            }
            let (set, signatures) = (&step.rrset, step.rrset.signature_rdata());
            let records = set.rdata(name, apex).ok_or(Damaged)?;
            let records = records.iter().map(|rdata| (set.rtype(), rdata));
            for (rtype, rdata) in records.chain(signatures.iter().map(|rdata| (rtype::RRSIG, rdata))) {
                let pushed = builder.push(name, is_same, rtype, set.ttl(), rdata, SourcePosition::default());
                pushed.map_err(|_| Damaged)?;
                is_same = true;
            }
        }
        Ok(builder.finish())
    }
}

fn expand(fragment: &Fragment<'_>, owner: &Name, apex: &Name) -> Option<Vec<Vec<u8>>> {
    if fragment.apex_follows() {
        let records = fragment.records().map(|rdata| [rdata, apex.octets()].concat());
        return Some(records.collect()).filter(|records: &Vec<_>| records.len() == fragment.len());
    }
    // What pointers count in: everything after the first owner name.
    let mut rendered = Vec::with_capacity(fragment.rendered_octets());
    let mut ranges = Vec::with_capacity(fragment.len());
    for rdata in fragment.records() {
        let head = if rendered.is_empty() { RECORD_HEAD_OCTETS - 2 } else { RECORD_HEAD_OCTETS };
        rendered.resize(rendered.len() + head, 0);
        ranges.push(rendered.len()..rendered.len() + rdata.len());
        rendered.extend_from_slice(rdata);
    }
    if ranges.len() != fragment.len() {
        return None;
    }
    let places: Vec<usize> = fragment.places().collect();
    let source = Rendered { octets: &rendered, places: &places, owner, apex };
    ranges
        .into_iter()
        .map(|range| {
            let mut rdata = Vec::with_capacity(range.len() + NAME_OCTETS_MAX);
            let mut at = range.start;
            for &place in places.iter().filter(|place| range.contains(place)) {
                rdata.extend_from_slice(rendered.get(at..place)?);
                source.name(place, &mut rdata)?;
                at = place + 2;
            }
            rdata.extend_from_slice(rendered.get(at..range.end)?);
            Some(rdata)
        })
        .collect()
}

struct Rendered<'r> {
    octets: &'r [u8],
    places: &'r [usize],
    owner: &'r Name,
    apex: &'r Name,
}

impl Rendered<'_> {
    /// Appends the name that begins at `at`, following pointers; gives up after more steps than a name has
    /// labels, since each step but the last of a sound name yields one.
    fn name(&self, mut at: usize, out: &mut Vec<u8>) -> Option<()> {
        for _ in 0..2 * LABELS_MAX {
            if self.places.binary_search(&at).is_ok() {
                let end = match u16::from_be_bytes(*self.octets.get(at..)?.first_chunk()?) {
                    TO_OWNER => self.owner,
                    TO_APEX => self.apex,
                    earlier => {
                        at = earlier as usize;
                        continue;
                    }
                };
                out.extend_from_slice(end.octets());
                return Some(());
            }
            let length = *self.octets.get(at)? as usize;
            out.extend_from_slice(self.octets.get(at..at + 1 + length)?);
            if length == 0 {
                return Some(());
            }
            at += 1 + length;
        }
        None
    }
}
