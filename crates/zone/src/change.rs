//! What one version of a zone has that another has not, record by record.
//!
//! ```text
//! UPDATE, IXFR, a text read again -> Change -> delta (what is served), journal (what is durable), history (IXFR to others)
//!
//! Change:  removed, added   each: SOA record of the version before or after, then the other records
//! record:  owner in wire form | type u16 | class u16 | TTL u32 | RDLENGTH u16 | RDATA      no compression, network order
//! ```
//!
//! These are the difference sequences of RFC 1995 4, in the octets in which IXFR sends them.

use wire::iana::{class, rtype};
use wire::record::FIXED_OCTETS;
use wire::{Name, NameBuf};

mod condense;

pub use condense::{Condenser, NotCondensed};

/// Records in wire form, one after another. All have class IN, and names in their RDATA are not compressed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records {
    octets: Vec<u8>,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'r> {
    /// The owner, as it was written: upper and lower case stay.
    pub owner: &'r Name,
    /// The type.
    pub rtype: u16,
    /// The TTL.
    pub ttl: u32,
    /// The RDATA, at most 65,535 octets.
    pub rdata: &'r [u8],
}

/// Octets that are not records in wire form from the place given on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotRecords(pub usize);

impl std::fmt::Display for NotRecords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no record in wire form at octet {}", self.0)
    }
}

impl std::error::Error for NotRecords {}

impl Records {
    /// Takes over what [`Records::octets`] gave elsewhere: only whole records of class IN with names as owners. RDATA is not looked at.
    pub fn from_octets(octets: Vec<u8>) -> Result<Records, NotRecords> {
        let mut at = 0;
        while at < octets.len() {
            at = read(&octets, at).ok_or(NotRecords(at))?.1;
        }
        Ok(Records { octets })
    }

    /// Adds a record. `rdata`: uncompressed, at most 65,535 octets.
    pub fn push(&mut self, owner: &Name, rtype: u16, ttl: u32, rdata: &[u8]) {
        debug_assert!(u16::try_from(rdata.len()).is_ok(), "no more than RDLENGTH can say");
        self.octets.reserve(owner.octets().len() + FIXED_OCTETS + rdata.len());
        self.octets.extend_from_slice(owner.octets());
        self.octets.extend_from_slice(&rtype.to_be_bytes());
        self.octets.extend_from_slice(&class::IN.to_be_bytes());
        self.octets.extend_from_slice(&ttl.to_be_bytes());
        self.octets.extend_from_slice(&(rdata.len() as u16).to_be_bytes());
        self.octets.extend_from_slice(rdata);
    }

    /// Adds one that is among others.
    pub fn push_record(&mut self, record: &Record<'_>) {
        self.push(record.owner, record.rtype, record.ttl, record.rdata);
    }

    /// Adds all of these behind the others.
    pub fn append(&mut self, mut others: Records) {
        self.octets.append(&mut others.octets);
    }

    /// All of them, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Record<'_>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let (record, end) = read(&self.octets, at)?;
            at = end;
            Some(record)
        })
    }

    /// The record that begins at octet `at`, and where the next one does; `None` at the end, and where none begins.
    pub fn at(&self, at: usize) -> Option<(Record<'_>, usize)> {
        read(&self.octets, at)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }

    /// The records as IXFR sends them.
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }
}

/// The record at `at`, and where it ends.
fn read(octets: &[u8], at: usize) -> Option<(Record<'_>, usize)> {
    let (owner, rest) = Name::split_from(octets.get(at..)?).ok()?;
    let fixed = rest.first_chunk::<FIXED_OCTETS>()?;
    let [t0, t1, c0, c1, l0, l1, l2, l3, r0, r1] = *fixed;
    if u16::from_be_bytes([c0, c1]) != class::IN {
        return None;
    }
    let rdata = rest.get(FIXED_OCTETS..)?.get(..usize::from(u16::from_be_bytes([r0, r1])))?;
    let record = Record {
        owner,
        rtype: u16::from_be_bytes([t0, t1]),
        ttl: u32::from_be_bytes([l0, l1, l2, l3]),
        rdata,
    };
    Some((record, at + owner.octets().len() + FIXED_OCTETS + rdata.len()))
}

/// What leads from one version of a zone to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    removed: Records,
    added: Records,
    zone: NameBuf,
    before: u32,
    after: u32,
}

/// Why records are no [`Change`]: both parts begin with the SOA record of the zone, and have no other SOA record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSoa;

impl Change {
    /// `removed` and `added` begin with the SOA record before and after. A record that is in both is removed first.
    pub fn new(removed: Records, added: Records) -> Result<Change, NoSoa> {
        let (zone, before) = soa_first(&removed)?;
        let (other, after) = soa_first(&added)?;
        if !zone.eq_ignore_case(other) {
            return Err(NoSoa);
        }
        let zone = zone.to_owned();
        Ok(Change { removed, added, zone, before, after })
    }

    /// The zone's name.
    pub fn zone(&self) -> &Name {
        &self.zone
    }

    /// The serial of the version that it is applied to.
    pub fn serial_before(&self) -> u32 {
        self.before
    }

    /// The serial of the version that it makes.
    pub fn serial_after(&self) -> u32 {
        self.after
    }

    /// What goes, the SOA record first.
    pub fn removed(&self) -> &Records {
        &self.removed
    }

    /// What comes, the SOA record first.
    pub fn added(&self) -> &Records {
        &self.added
    }

    /// Octets of all its records.
    pub fn octets(&self) -> usize {
        self.removed.octets().len() + self.added.octets().len()
    }
}

/// Owner and serial of the SOA record that comes first and is the only one.
fn soa_first(records: &Records) -> Result<(&Name, u32), NoSoa> {
    let mut all = records.iter();
    let first = all.next().filter(|record| record.rtype == rtype::SOA).ok_or(NoSoa)?;
    if all.any(|record| record.rtype == rtype::SOA) {
        return Err(NoSoa);
    }
    Ok((first.owner, soa_serial(first.rdata).ok_or(NoSoa)?))
}

/// The serial in the RDATA of an SOA record (RFC 1035 3.3.13): five numbers are its end, the serial is the first of them. `None`: too short.
pub fn soa_serial(rdata: &[u8]) -> Option<u32> {
    let numbers = rdata.len().checked_sub(20)?;
    Some(u32::from_be_bytes(*rdata.get(numbers..)?.first_chunk()?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn name(text: &str) -> NameBuf {
        NameBuf::from_text(text).unwrap()
    }

    fn soa(serial: u32) -> Vec<u8> {
        let mut rdata = vec![0, 0];
        rdata.extend(serial.to_be_bytes());
        rdata.extend([0; 16]);
        rdata
    }

    fn with_soa(serial: u32) -> Records {
        let mut records = Records::default();
        records.push(&name("example."), rtype::SOA, 60, &soa(serial));
        records
    }

    #[test]
    fn records_come_back() {
        let mut records = with_soa(7);
        records.push(&name("WWW.example."), rtype::A, u32::MAX, &[1, 2, 3, 4]);
        records.push(&name("."), 65_280, 0, &[]);
        let again = Records::from_octets(records.octets().to_vec()).unwrap();
        assert_eq!(again, records);
        let all: Vec<_> = again.iter().collect();
        assert_eq!(
            (all.len(), all[1].owner.octets(), all[1].rdata),
            (3, &b"\x03WWW\x07example\0"[..], &[1, 2, 3, 4][..])
        );
        assert_eq!((all[1].ttl, all[2].rtype, all[2].rdata.len()), (u32::MAX, 65_280, 0));
        let mut copy = Records::default();
        again.iter().for_each(|record| copy.push_record(&record));
        assert_eq!(copy, records);
    }

    #[test]
    fn what_is_cut_off_is_no_record() {
        let mut records = with_soa(7);
        let first = records.octets().len();
        records.push(&name("a.example."), rtype::A, 1, &[1, 2, 3, 4]);
        for end in 1..records.octets().len() {
            let expected =
                if end == first { None } else { Some(NotRecords(if end < first { 0 } else { first })) };
            assert_eq!(Records::from_octets(records.octets()[..end].to_vec()).err(), expected, "{end}");
        }
        // Class CH, and a pointer in place of a name.
        assert!(Records::from_octets(b"\0\0\x01\0\x03\0\0\0\0\0\0".to_vec()).is_err());
        assert!(Records::from_octets(b"\xc0\0\0\x01\0\x01\0\0\0\0\0\0".to_vec()).is_err());
    }

    #[test]
    fn changes_begin_with_soa() {
        let change = Change::new(with_soa(7), with_soa(9)).unwrap();
        assert_eq!((change.serial_before(), change.serial_after()), (7, 9));
        assert_eq!(change.zone(), &*name("example."));
        assert_eq!(Change::new(with_soa(7), Records::default()), Err(NoSoa));
        let mut two = with_soa(7);
        two.push(&name("example."), rtype::SOA, 60, &soa(8));
        assert_eq!(Change::new(two, with_soa(9)), Err(NoSoa));
        let mut other = Records::default();
        other.push(&name("org."), rtype::SOA, 60, &soa(8));
        assert_eq!(Change::new(with_soa(7), other), Err(NoSoa));
        let mut short = Records::default();
        short.push(&name("example."), rtype::SOA, 60, &[0; 19]);
        assert_eq!(Change::new(short, with_soa(8)), Err(NoSoa));
    }
}
