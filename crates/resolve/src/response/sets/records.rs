//! The records of sets: where their RDATA lies, which are there already, and what of them goes into a reply.

use wire::Name;
use wire::iana::rtype;
use wire::message;
use wire::name::NAME_OCTETS_MAX;
use wire::rdata::has_names;
use wire::rrset::{Rrset, RrsetListBuf};

use super::{BUCKETS, Fault, Sets};
use crate::response::limits::{RECORDS_MAX, SERVERS_MAX, SIGNATURES_MAX};

/// No record.
pub(super) const NONE: u16 = u16::MAX;

/// Records of a set, in their order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    first: u16,
    last: u16,
    pub(super) count: u16,
}

impl Run {
    pub(super) const EMPTY: Run = Run { first: NONE, last: NONE, count: 0 };
}

/// A record of a set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    place: Place,
    /// Number of its set, and whether it is a signature of that.
    of: u16,
    /// The next of its run.
    next: u16,
    /// The next in its bucket.
    next_alike: u16,
    hash: u32,
}

impl Record {
    /// Its place.
    pub(super) fn bucket(&self) -> usize {
        self.hash as usize % BUCKETS
    }
}

/// Where RDATA lies: in the message, or in [`Sets::octets`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    at: u32,
    length: u16,
    is_expanded: bool,
}

impl Place {
    fn octets<'o>(&self, message: &'o [u8], expanded: &'o [u8]) -> &'o [u8] {
        let from = if self.is_expanded { expanded } else { message };
        &from[self.at as usize..][..usize::from(self.length)]
    }
}

impl Sets {
    /// Where the RDATA lies, its names expanded.
    pub(super) fn rdata(&mut self, record: &message::Record<'_, '_>) -> Result<Place, Fault> {
        let view = record.view;
        let plain = Place { at: view.rdata_at as u32, length: view.rdata.len() as u16, is_expanded: false };
        match view.rtype {
            rtype::A if view.rdata.len() != 4 => return Err(Fault::Malformed),
            rtype::AAAA if view.rdata.len() != 16 => return Err(Fault::Malformed),
            other if !has_names(other) => return Ok(plain),
            _ => {}
        }
        let at = self.octets.len();
        // As many octets more as two names can have.
        self.octets.resize(at + view.rdata.len() + 2 * NAME_OCTETS_MAX, 0);
        let expanded = record.rdata_uncompressed(&mut self.octets[at..])?;
        let (is_plain, length) = (expanded.as_ptr() == view.rdata.as_ptr(), expanded.len());
        self.octets.truncate(if is_plain { at } else { at + length });
        Ok(if is_plain { plain } else { Place { at: at as u32, length: length as u16, is_expanded: true } })
    }

    /// Appends a record to the data or the signatures of a set, unless it is there.
    pub(super) fn append(
        &mut self,
        message: &[u8],
        number: usize,
        is_signature: bool,
        place: Place,
    ) -> Result<(), Fault> {
        let rdata = place.octets(message, &self.octets);
        let of = run_number(number, is_signature);
        let hash = hash(self.key ^ u64::from(of), rdata);
        if self.has_record(message, of, hash, rdata) {
            return Ok(());
        }
        let set = &mut self.sets[number];
        let run = match is_signature {
            true if usize::from(set.signatures.count) == SIGNATURES_MAX => return Ok(()),
            true => &mut set.signatures,
            false if usize::from(set.data.count) == RECORDS_MAX => return Err(Fault::Excess),
            false => &mut set.data,
        };
        // A message has at most 65,535 / 11 records.
        let new = self.records.len() as u16;
        match self.records.get_mut(usize::from(run.last)) {
            Some(last) => last.next = new,
            None => run.first = new,
        }
        (run.last, run.count) = (new, run.count + 1);
        let next_alike = std::mem::replace(&mut self.buckets[hash as usize % BUCKETS], new);
        self.records.push(Record { place, of, next: NONE, next_alike, hash });
        Ok(())
    }

    /// Whether a record with this RDATA is in a run.
    fn has_record(&self, message: &[u8], of: u16, hash: u32, rdata: &[u8]) -> bool {
        let mut at = self.buckets[hash as usize % BUCKETS];
        while let Some(there) = self.records.get(usize::from(at)) {
            if there.hash == hash && there.of == of && there.place.octets(message, &self.octets) == rdata {
                return true;
            }
            at = there.next_alike;
        }
        false
    }

    /// The RDATA of its first record.
    pub(in crate::response) fn first<'s>(&'s self, message: &'s [u8], number: usize) -> &'s [u8] {
        let first = self.records.get(usize::from(self.sets[number].data.first));
        first.map_or(&[], |record| record.place.octets(message, &self.octets))
    }

    /// Whether one of the first [`SERVERS_MAX`] records of a set is this name.
    pub(in crate::response) fn has_name(&self, message: &[u8], number: usize, name: &Name) -> bool {
        let (data, name) = (self.sets[number].data, name.octets());
        let of = run_number(number, false);
        // Mostly it is written the same.
        if usize::from(data.count) <= SERVERS_MAX
            && self.has_record(message, of, hash(self.key ^ u64::from(of), name), name)
        {
            return true;
        }
        let is_name = |record: &Record| record.place.octets(message, &self.octets).eq_ignore_ascii_case(name);
        self.run(data).take(SERVERS_MAX).any(is_name)
    }

    fn run(&self, run: Run) -> impl Iterator<Item = &Record> {
        let mut at = run.first;
        std::iter::from_fn(move || {
            let record = self.records.get(usize::from(at))?;
            at = record.next;
            Some(record)
        })
    }

    /// Appends the first record of a set of which there can be one only.
    pub(in crate::response) fn put_first(
        &mut self,
        message: &[u8],
        number: usize,
        ttl: u32,
        to: &mut RrsetListBuf,
    ) {
        let mut is_first = true;
        self.put(message, number, ttl, |_| std::mem::take(&mut is_first), to);
    }

    /// Appends a set to `to`, unless that was done before: its records as far as `keep` says, with `ttl` if that is less than its own.
    pub(in crate::response) fn put(
        &mut self,
        message: &[u8],
        number: usize,
        ttl: u32,
        mut keep: impl FnMut(&[u8]) -> bool,
        to: &mut RrsetListBuf,
    ) {
        let set = self.sets[number];
        if set.is_taken {
            return;
        }
        self.sets[number].is_taken = true;
        let (mut data, mut signatures) =
            (std::mem::take(&mut self.data), std::mem::take(&mut self.signatures));
        data.clear();
        signatures.clear();
        for record in self.run(set.data) {
            let rdata = record.place.octets(message, &self.octets);
            if keep(rdata) {
                data.push(rdata);
            }
        }
        for record in self.run(set.signatures) {
            signatures.push(record.place.octets(message, &self.octets));
        }
        if !data.list().is_empty() {
            to.push(&Rrset {
                owner: self.span(set.owner),
                rtype: set.rtype,
                ttl: set.ttl.min(ttl),
                rdatas: data.list(),
                signatures: signatures.list(),
            });
        }
        (self.data, self.signatures) = (data, signatures);
    }
}

/// A number for the data and for the signatures of each set.
fn run_number(set: usize, is_signature: bool) -> u16 {
    (set as u16) << 1 | u16::from(is_signature)
}

/// A hash to tell octets apart by before they are compared: nobody who does not know the key can make many that have the same.
pub(super) fn hash(key: u64, octets: &[u8]) -> u32 {
    let (words, rest) = octets.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let hash = words.iter().fold(key, |hash, word| mix(hash ^ u64::from_le_bytes(*word)));
    mix(mix(hash ^ u64::from_le_bytes(last)) ^ octets.len() as u64) as u32
}

/// The two halves of a product, folded together.
fn mix(word: u64) -> u64 {
    let product = u128::from(word) * 0x9e37_79b9_7f4a_7c15_u128;
    product as u64 ^ (product >> 64) as u64
}
