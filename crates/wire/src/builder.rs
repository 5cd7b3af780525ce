//! Writing a message with names of all kinds: transfers, updates, queries, answers from elsewhere than a pack.
//!
//! A [`Builder`] is a [`Renderer`] (room, reserve, sections, counts) that looks for what it has written before: names that it
//! writes end in pointers to equal suffixes (RFC 1035 4.1.4). Suffixes are found in a [`Suffixes`] table from right to left:
//!
//! ```text
//! offset 12: 3 w w w 7 e x a m p l e 0          places: example. 16, www.example. 12
//! next name  mail.example.: example. at 16, no mail. whose parent is 16: 4 m a i l c0 10
//! ```
//!
//! The parent of a suffix is where its first label's end leads: the label after it or, by a pointer, one elsewhere. All that is
//! in the table has its parent there too, so a suffix is equal to a name's when its first label is and its parent is the place
//! found before. So a name costs what its labels cost, whatever stands in the table.
//!
//! The packet path has packs, which come with their pointers, and needs none of this.

use crate::Name;
use crate::header::HEADER_OCTETS;
use crate::name::{LABELS_MAX, NAME_OCTETS_MAX};
use crate::rdata::{Compressible, compressible};
use crate::render::{self, Full, POINTER_MAX, Renderer, Section};

/// Places of the table: a power of two. A message of 64 KiB can have more suffixes than this; those that come later are written
/// in full, or up to a suffix that is there.
const SLOTS: usize = 1024;
/// Places that are used at most: three quarters, so that a search ends early.
const USED_MAX: usize = SLOTS / 4 * 3;
/// Places that a search looks at: at three quarters, nearly all find what they look for, or that it is not there.
const PROBES_MAX: usize = 8;

/// When two names are the same in a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// Letters differ from those of other case: what is read is what was written (transfers, RFC 5936 3.4).
    #[default]
    Exact,
    /// Letters are equal in both cases (RFC 4343): smaller messages.
    Ignored,
}

/// What was written where; made to be used again for message after message.
pub struct Suffixes {
    /// What the hashes begin with, so that nobody can choose names that fall together.
    key: u64,
    slots: [Slot; SLOTS],
    /// The slots in the order in which they were filled.
    log: [u16; USED_MAX],
    used: usize,
}

/// Where a suffix begins; 0 in an empty slot, as the header is there. Beside it more bits of its hash.
#[derive(Clone, Copy)]
struct Slot {
    place: u16,
    tag: u16,
}

const EMPTY: Slot = Slot { place: 0, tag: 0 };

impl Suffixes {
    /// An empty table. `key`: any random number.
    pub fn new(key: u64) -> Suffixes {
        Suffixes { key, slots: [EMPTY; SLOTS], log: [0; USED_MAX], used: 0 }
    }

    /// Takes back all but the first `used` suffixes, the last first: so each search finds what it found before.
    fn rollback(&mut self, used: usize) {
        for &slot in &self.log[used.min(self.used)..self.used] {
            self.slots[usize::from(slot)] = EMPTY;
        }
        self.used = self.used.min(used);
    }

    /// The slots that a hash may be in, in their order.
    #[inline]
    fn probes(hash: u64) -> impl Iterator<Item = usize> {
        (0..PROBES_MAX).map(move |probe| (hash as usize + probe) % SLOTS)
    }

    /// The place with this hash that is the one looked for.
    #[inline]
    fn find(&self, hash: u64, is_it: impl Fn(u16) -> bool) -> Option<u16> {
        let tag = (hash >> 48) as u16;
        Suffixes::probes(hash)
            .map(|slot| self.slots[slot])
            .take_while(|slot| slot.place != 0)
            .find(|slot| slot.tag == tag && is_it(slot.place))
            .map(|slot| slot.place)
    }

    /// Enters a suffix that is not there; `false` where there is no room for it.
    fn insert(&mut self, hash: u64, place: u16) -> bool {
        if self.used == USED_MAX {
            return false;
        }
        let Some(slot) = Suffixes::probes(hash).find(|&slot| self.slots[slot].place == 0) else {
            return false;
        };
        self.slots[slot] = Slot { place, tag: (hash >> 48) as u16 };
        self.log[self.used] = slot as u16;
        self.used += 1;
        true
    }
}

/// A point to go back to.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    rendered: render::Mark,
    suffixes: usize,
    unlisted: u8,
}

/// A message being written; see the module.
pub struct Builder<'b> {
    out: Renderer<'b>,
    suffixes: &'b mut Suffixes,
    case: Case,
    /// Octets of the question's name while its suffixes are not in the table: most answers have no other name.
    unlisted: u8,
}

impl<'b> Builder<'b> {
    /// Begins a message with this ID. At most `limit` octets are written, 65,535 in any case, the last `reserve` of them after
    /// [`Builder::release`] only. `None` when the header does not fit.
    pub fn new(
        octets: &'b mut [u8],
        (limit, reserve): (usize, usize),
        suffixes: &'b mut Suffixes,
        case: Case,
        id: u16,
    ) -> Option<Builder<'b>> {
        suffixes.rollback(0);
        let mut out = Renderer::new(octets, limit, reserve)?;
        let mut header = [0; HEADER_OCTETS];
        header[..2].copy_from_slice(&id.to_be_bytes());
        out.copy_query(&header, HEADER_OCTETS).ok()?;
        Some(Builder { out, suffixes, case, unlisted: 0 })
    }

    /// Writes the question, before any record.
    pub fn question(&mut self, qname: &Name, qtype: u16, qclass: u16) -> Result<(), Full> {
        let mark = self.mark();
        let ([t, y], [c, l]) = (qtype.to_be_bytes(), qclass.to_be_bytes());
        let written = self.out.octets(qname.octets()).and_then(|()| self.out.octets(&[t, y, c, l]));
        // The root has no suffixes.
        self.unlisted = if qname.is_root() { 0 } else { qname.octets().len() as u8 };
        written.inspect_err(|Full| self.rollback(mark))
    }

    /// Says where the next records go. Sections come in their order.
    pub fn begin_section(&mut self, section: Section) {
        self.out.begin_section(section);
    }

    /// Writes a record, or nothing where it does not fit. `rdata`: uncompressed, of the form of its type; what is not stays as
    /// it is from the name on that cannot be read.
    pub fn record(
        &mut self,
        owner: &Name,
        (rtype, class, ttl): (u16, u16, u32),
        rdata: &[u8],
    ) -> Result<(), Full> {
        self.whole(|builder| {
            builder.name(owner)?;
            builder.body((rtype, class, ttl), rdata)
        })
    }

    /// The same where the owner was written before, at `place`: what follows in a set, and what the question asks for.
    pub fn record_at(
        &mut self,
        place: u16,
        (rtype, class, ttl): (u16, u16, u32),
        rdata: &[u8],
    ) -> Result<(), Full> {
        self.whole(|builder| {
            builder.out.pointer(place)?;
            builder.body((rtype, class, ttl), rdata)
        })
    }

    /// Where the owner of the record that was written at `at` stands, for [`Builder::record_at`]; `None` where no pointer leads, and for the root, which is
    /// shorter than one.
    pub fn owner_at(&self, at: usize) -> Option<u16> {
        let place = match self.out.message().get(at)? {
            0 => return None,
            0xc0.. => self.out.u16_at(at) & POINTER_MAX,
            _ => u16::try_from(at).ok()?,
        };
        (place <= POINTER_MAX).then_some(place)
    }

    /// Writes the rest of a record.
    fn body(&mut self, (rtype, class, ttl): (u16, u16, u32), rdata: &[u8]) -> Result<(), Full> {
        let ([t, y], [c, l]) = (rtype.to_be_bytes(), class.to_be_bytes());
        let [e, f, g, h] = ttl.to_be_bytes();
        let head = [t, y, c, l, e, f, g, h];
        match compressible(rtype) {
            Compressible { names: 0, .. } => self.out.body(head, rdata),
            names => self.compressed_body(head, names, rdata),
        }
    }

    /// Writes a record whose RDATA has names to compress, and its length after it.
    fn compressed_body(&mut self, head: [u8; 8], names: Compressible, rdata: &[u8]) -> Result<(), Full> {
        self.out.octets(&head)?;
        let length_at = self.out.at();
        self.out.octets(&[0, 0])?;
        let begin = self.out.at();
        let (before, mut rest) = rdata.split_at(names.before.min(rdata.len()));
        self.out.octets(before)?;
        for _ in 0..names.names {
            let Ok((name, after)) = Name::split_from(rest) else { break };
            self.name(name)?;
            rest = after;
        }
        self.out.octets(rest)?;
        let length = (self.out.at() - begin) as u16;
        self.out.set_u16(length_at, length);
        self.out.count_one();
        Ok(())
    }

    /// Enters the suffixes of the question, before the first name that may end in one.
    #[inline(never)]
    fn list_question(&mut self) {
        let length = usize::from(std::mem::take(&mut self.unlisted));
        let mut octets = [0; NAME_OCTETS_MAX];
        octets[..length].copy_from_slice(&self.out.message()[HEADER_OCTETS..HEADER_OCTETS + length]);
        let (begins, count) = labels_of(&octets[..length]);
        let mut hash = self.suffixes.key;
        for number in (0..count).rev() {
            let (begin, end) = (usize::from(begins[number]), usize::from(begins[number + 1]));
            hash = self.hash(hash, &octets[begin..end]);
            if !self.suffixes.insert(hash, (HEADER_OCTETS + begin) as u16) {
                break;
            }
        }
    }

    /// Writes a name, its suffix as a pointer where one was written before.
    fn name(&mut self, name: &Name) -> Result<(), Full> {
        if self.unlisted > 0 {
            self.list_question();
        }
        let octets = name.octets();
        let (begins, count) = labels_of(octets);
        let label = |number: usize| &octets[usize::from(begins[number])..usize::from(begins[number + 1])];
        // From the right: how many labels are not found, and where what follows them stands.
        let (mut left, mut parent, mut hash) = (count, 0, self.suffixes.key);
        while left > 0 {
            let longer = self.hash(hash, label(left - 1));
            let is_it = |place| self.is_suffix(place, label(left - 1), parent);
            let Some(place) = self.suffixes.find(longer, is_it) else { break };
            (left, parent, hash) = (left - 1, place, longer);
        }
        let start = self.out.at();
        self.out.octets(&octets[..usize::from(begins[left])])?;
        if parent == 0 {
            self.out.octets(&[0])?;
        } else {
            self.out.pointer(parent)?;
        }
        // What was written, from the right too: a suffix without its parent would never be found.
        for number in (0..left).rev() {
            let place = start + usize::from(begins[number]);
            hash = self.hash(hash, label(number));
            if place > usize::from(POINTER_MAX) || !self.suffixes.insert(hash, place as u16) {
                break;
            }
        }
        Ok(())
    }

    /// The hash of a label before a suffix that has hash `hash`.
    #[inline]
    fn hash(&self, hash: u64, label: &[u8]) -> u64 {
        let fold = |word: u64| match self.case {
            Case::Exact => word,
            Case::Ignored => crate::sort_key::fold_case(word),
        };
        let (words, rest) = label.as_chunks::<8>();
        let mut hash = hash;
        for word in words {
            hash = fold_multiply(hash ^ fold(u64::from_le_bytes(*word)));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        // The length octet is the first, so that no two labels give the same words.
        fold_multiply(hash ^ fold(u64::from_le_bytes(last)) ^ self.suffixes.key.rotate_left(32))
    }

    /// Whether what stands at `place` is this label, and `parent` (0: the root) after it.
    #[inline]
    fn is_suffix(&self, place: u16, label: &[u8], parent: u16) -> bool {
        let message = self.out.message();
        let at = usize::from(place);
        let end = at + label.len();
        let Some(there) = message.get(at..end) else { return false };
        let is_same = match self.case {
            Case::Exact => there == label,
            Case::Ignored => there.eq_ignore_ascii_case(label),
        };
        is_same
            && match message.get(end) {
                Some(0) => parent == 0,
                Some(0xc0..) => self.out.u16_at(end) & POINTER_MAX == parent,
                _ => end == usize::from(parent),
            }
    }

    /// A point to go back to.
    pub fn mark(&self) -> Mark {
        Mark { rendered: self.out.mark(), suffixes: self.suffixes.used, unlisted: self.unlisted }
    }

    /// Takes back what was written since `mark`.
    pub fn rollback(&mut self, mark: Mark) {
        self.out.rollback(mark.rendered);
        self.suffixes.rollback(mark.suffixes);
        self.unlisted = mark.unlisted;
    }

    /// Does all of it or nothing.
    fn whole(&mut self, write: impl FnOnce(&mut Self) -> Result<(), Full>) -> Result<(), Full> {
        let mark = self.mark();
        write(self).inspect_err(|Full| self.rollback(mark))
    }

    /// What was written so far.
    pub fn message(&self) -> &[u8] {
        self.out.message()
    }

    /// How many records a section has.
    pub fn count(&self, section: Section) -> u16 {
        self.out.count(section)
    }

    /// Ends the data and opens the reserve: OPT and TSIG are written without looking for names, as they must stand alone
    /// (RFC 8945 4.2).
    pub fn release(self) -> Renderer<'b> {
        let mut out = self.out;
        out.begin_section(Section::Additional);
        out.release();
        out
    }

    /// Writes the flags and the counts; `questions` is 0 or 1. Returns the octets of the message.
    pub fn finish(mut self, flags: u16, questions: u16) -> usize {
        self.out.finish(flags, questions)
    }
}

/// Where the labels of a name begin, and last its root label; and how many they are.
#[inline(always)]
fn labels_of(octets: &[u8]) -> ([u8; LABELS_MAX + 1], usize) {
    let mut begins = [0_u8; LABELS_MAX + 1];
    let (mut count, mut at) = (0, 0);
    while let Some(&length) = octets.get(at)
        && length != 0
        && count < LABELS_MAX
    {
        at += 1 + usize::from(length);
        count += 1;
        begins[count] = at as u8;
    }
    (begins, count)
}

/// The two halves of a product, folded together.
#[inline(always)]
fn fold_multiply(word: u64) -> u64 {
    let product = u128::from(word) * 0x9e37_79b9_7f4a_7c15_u128;
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
