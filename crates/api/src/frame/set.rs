//! RRsets in wire form, and runs of them.
//!
//! ```text
//! set     owner: name | type u16 | what u8 | TTL u32 | count u16 | RDATA each: octets u16, octets
//! ```

use wire::Name;

use super::octets::{Item, Rest, Run};

/// The highest TTL (RFC 2181 8).
pub const TTL_MAX: u32 = i32::MAX as u32;

/// Records of a set: a count has 16 bits.
pub const RECORDS_MAX: usize = u16::MAX as usize;

/// Octets of the shortest set: of the root, without records.
const HEAD_OCTETS_MIN: usize = 1 + 2 + 1 + 4 + 2;

/// What is done with the RRset of a name and a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// It has these records and no others. In answers: these are its records.
    Replace,
    /// It has none; without records.
    Delete,
    /// It has these besides. In answers: these belong to the set before, or, of a dry run, come.
    Extend,
    /// It has them no more. In answers of dry runs: they go.
    Prune,
}

impl What {
    const ALL: [What; 4] = [What::Replace, What::Delete, What::Extend, What::Prune];

    fn of(octet: u8) -> Option<What> {
        What::ALL.get(usize::from(octet)).copied()
    }
}

/// Records of one owner and type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Set<'a> {
    /// Their owner, in the letters of who sent it.
    pub owner: &'a Name,
    /// Their type.
    pub rtype: u16,
    /// What is done with them.
    pub what: What,
    /// Their TTL; 0 where none is needed.
    pub ttl: u32,
    /// Their RDATA, as many as [`What`] has.
    pub rdatas: Run<'a, &'a [u8]>,
}

/// RRsets one behind the other.
pub type Sets<'a> = Run<'a, Set<'a>>;

impl<'a> Set<'a> {
    /// The same as sets of one record each, of which all but the first extend the one before. Of a set without records there are none.
    pub fn one_by_one(&self) -> impl Iterator<Item = Set<'a>> + use<'a> {
        let (mut set, mut rest) = (*self, self.rdatas.octets());
        std::iter::from_fn(move || {
            let after = <&[u8]>::split_from(rest)?.1;
            let one = Set { rdatas: Run::of(&rest[..rest.len() - after.len()], 1)?, ..set };
            (rest, set.what) = (after, What::Extend);
            Some(one)
        })
    }
}

impl<'a> Item<'a> for Set<'a> {
    fn split_from(octets: &'a [u8]) -> Option<(Set<'a>, &'a [u8])> {
        let mut rest = Rest(octets);
        let (owner, rtype, what) = (rest.name()?, rest.u16()?, What::of(rest.u8()?)?);
        let (ttl, count) = (rest.u32().filter(|ttl| *ttl <= TTL_MAX)?, rest.u16()?);
        if (what == What::Delete) != (count == 0) {
            return None;
        }
        let begin = rest.0;
        for _ in 0..count {
            rest.0 = <&[u8]>::split_from(rest.0)?.1;
        }
        let rdatas = Run::of(&begin[..begin.len() - rest.0.len()], RECORDS_MAX)?;
        Some((Set { owner, rtype, what, ttl, rdatas }, rest.0))
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut sets = SetsBuf { octets: std::mem::take(out), ..SetsBuf::default() };
        sets.begin(self.owner, self.rtype, self.what, self.ttl);
        self.rdatas.iter().for_each(|rdata| {
            sets.record(rdata);
        });
        sets.end();
        *out = sets.octets;
    }
}

/// RRsets that are put together, record by record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetsBuf {
    octets: Vec<u8>,
    /// Sets that are whole.
    count: usize,
    open: Option<Open>,
}

/// A set that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Open {
    /// Where it begins, and where its count stands.
    begin: usize,
    count_at: usize,
    what: What,
    /// Its records.
    count: u16,
}

impl SetsBuf {
    /// Begins a set. One that had begun ends.
    pub fn begin(&mut self, owner: &Name, rtype: u16, what: What, ttl: u32) {
        self.end();
        let begin = self.octets.len();
        self.octets.extend_from_slice(owner.octets());
        self.octets.extend_from_slice(&rtype.to_be_bytes());
        self.octets.push(What::ALL.iter().position(|each| *each == what).unwrap_or_default() as u8);
        self.octets.extend_from_slice(&ttl.min(TTL_MAX).to_be_bytes());
        self.octets.extend_from_slice(&[0, 0]);
        self.open = Some(Open { begin, count_at: self.octets.len() - 2, what, count: 0 });
    }

    /// Adds a record to the set that has begun; `false`: it has [`RECORDS_MAX`], is one of [`What::Delete`], or none has begun.
    pub fn record(&mut self, rdata: &[u8]) -> bool {
        let Some(open) = self.open.as_mut().filter(|open| open.what != What::Delete) else { return false };
        let Some(more) = open.count.checked_add(1) else { return false };
        open.count = more;
        rdata.write(&mut self.octets);
        true
    }

    /// Ends the set that has begun. One without the records that it needs is none, and would make none of all others.
    pub fn end(&mut self) {
        match self.open {
            Some(Open { what, count: 0, .. }) if what != What::Delete => self.give_up(),
            Some(Open { count_at, count, .. }) => {
                self.octets[count_at..count_at + 2].copy_from_slice(&count.to_be_bytes());
                self.count += 1;
                self.open = None;
            }
            None => {}
        }
    }

    /// Takes the set that has begun away again.
    pub fn give_up(&mut self) {
        if let Some(open) = self.open.take() {
            self.octets.truncate(open.begin);
        }
    }

    /// Gives back memory that was taken for more than there is.
    pub fn shrink(&mut self) {
        self.octets.shrink_to_fit();
    }

    /// Records of the set that has begun.
    #[must_use]
    pub fn records(&self) -> usize {
        self.open.map_or(0, |open| open.count.into())
    }

    /// Sets that are whole.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Octets so far.
    #[must_use]
    pub fn octets(&self) -> usize {
        self.octets.len()
    }

    /// All that are whole.
    #[must_use]
    pub fn sets(&self) -> Sets<'_> {
        let end = self.open.map_or(self.octets.len(), |open| open.begin);
        // They are as they were put together; the walk is a check of that.
        Run::of(&self.octets[..end], end / HEAD_OCTETS_MIN).unwrap_or_default()
    }
}
