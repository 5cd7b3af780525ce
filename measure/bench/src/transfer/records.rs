//! Records in wire form: owner, type, class, TTL, RDLENGTH, RDATA, nothing compressed, names in lower case.

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hasher},
};

use wire::{Name, iana::class, rdata};

/// One record.
pub type Octets = Box<[u8]>;

/// Octets of type, class, TTL and RDLENGTH.
const FIXED_OCTETS: usize = 10;

/// A record of class IN. `rdata`: uncompressed, at most 65,535 octets.
pub fn record(owner: &Name, rtype: u16, ttl: u32, rdata: &[u8]) -> Octets {
    let mut octets = Vec::with_capacity(owner.octets().len() + FIXED_OCTETS + rdata.len());
    octets.extend_from_slice(owner.to_lowercase().octets());
    octets.extend_from_slice(&rtype.to_be_bytes());
    octets.extend_from_slice(&class::IN.to_be_bytes());
    octets.extend_from_slice(&ttl.to_be_bytes());
    octets.extend_from_slice(&(rdata.len() as u16).to_be_bytes());
    let at = octets.len();
    octets.extend_from_slice(rdata);
    rdata::fold(rtype, &mut octets[at..]);
    octets.into()
}

/// The parts of a record that [`record`] made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts<'r> {
    /// Octets of the owner.
    pub owner: &'r [u8],
    /// Type.
    pub rtype: u16,
    /// RDATA.
    pub rdata: &'r [u8],
}

/// Takes a record apart; what is none has an empty owner of type 0.
pub fn parts(octets: &[u8]) -> Parts<'_> {
    let split = || {
        let (owner, rest) = Name::split_from(octets).ok()?;
        let (fixed, rdata) = rest.split_at_checked(FIXED_OCTETS)?;
        Some(Parts { owner: owner.octets(), rtype: u16::from_be_bytes([fixed[0], fixed[1]]), rdata })
    };
    split().unwrap_or(Parts { owner: &[], rtype: 0, rdata: &[] })
}

/// The serial in the RDATA of an SOA record, whose names are not compressed.
pub fn serial(rdata: &[u8]) -> Option<u32> {
    let (_, rest) = Name::split_from(rdata).ok()?;
    let (_, rest) = Name::split_from(rest).ok()?;
    rest.first_chunk().map(|octets| u32::from_be_bytes(*octets))
}

/// An SOA record with another serial.
pub fn with_serial(soa: &[u8], serial: u32) -> Octets {
    let mut octets: Octets = soa.into();
    // The last five fields have four octets each.
    if let Some(at) = octets.len().checked_sub(20) {
        octets[at..at + 4].copy_from_slice(&serial.to_be_bytes());
    }
    octets
}

/// What a set of records is, whatever their order: their number and a sum of hashes. TTLs are not in it: of RRsets whose
/// records differ in them servers make different things.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// Records.
    pub records: u64,
    sums: [u64; 2],
}

impl Digest {
    /// With one more.
    pub fn add(&mut self, record: &[u8]) {
        self.records += 1;
        self.change(record, u64::wrapping_add);
    }

    /// With one less, which must have been in it.
    pub fn remove(&mut self, record: &[u8]) {
        self.records -= 1;
        self.change(record, u64::wrapping_sub);
    }

    fn change(&mut self, record: &[u8], how: impl Fn(u64, u64) -> u64) {
        let Parts { owner, rtype, rdata } = parts(record);
        for (number, sum) in self.sums.iter_mut().enumerate() {
            let mut hasher = DefaultHasher::new();
            hasher.write_usize(number);
            hasher.write_u16(rtype);
            hasher.write(owner);
            hasher.write(rdata);
            *sum = how(*sum, hasher.finish());
        }
    }
}

/// The records of a zone, without its SOA record.
#[derive(Clone, Debug, Default)]
pub struct Records {
    set: BTreeSet<Octets>,
    digest: Digest,
}

impl Records {
    /// Adds a record; false where it is there already.
    pub fn add(&mut self, record: Octets) -> bool {
        let digest = &mut self.digest;
        if self.set.contains(&record) {
            return false;
        }
        digest.add(&record);
        self.set.insert(record)
    }

    /// Takes one away; false where it is not there.
    pub fn remove(&mut self, record: &[u8]) -> bool {
        let is_there = self.set.remove(record);
        if is_there {
            self.digest.remove(record);
        }
        is_there
    }

    /// All of them, by owner.
    pub fn iter(&self) -> impl Iterator<Item = &Octets> {
        self.set.iter()
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.set.len()
    }

    /// Their digest.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use wire::{NameBuf, iana::rtype};

    use super::*;

    #[test]
    fn sets_of_records() {
        let name = |text: &str| NameBuf::from_text(text).unwrap();
        let host = |text: &str| record(&name("A.example"), rtype::NS, 5, name(text).octets());
        let (one, two) = (host("NS1.example"), host("ns2.example"));
        assert_eq!(one, record(&name("a.EXAMPLE"), rtype::NS, 5, name("ns1.example").octets()));
        let expected =
            Parts { owner: b"\x01a\x07example\0", rtype: rtype::NS, rdata: b"\x03ns1\x07example\0" };
        assert_eq!(parts(&one), expected);
        let (mut here, mut there) = (Records::default(), Records::default());
        assert!(here.add(one.clone()) && here.add(two.clone()) && !here.add(two.clone()));
        assert!(there.add(two.clone()) && there.digest() != here.digest());
        // Another TTL is another record of the set, and none for the digest.
        assert!(there.add(record(&name("a.example"), rtype::NS, 6, name("ns1.example").octets())));
        assert_eq!((there.digest(), there.count()), (here.digest(), 2));
        assert!(here.remove(&one) && !here.remove(&one) && here.digest().records == 1);
        assert!(parts(b"\x05a").owner.is_empty());
    }

    #[test]
    fn serials() {
        let name = NameBuf::from_text("a.example").unwrap();
        let rdata = [name.octets(), name.octets(), &[0; 20]].concat();
        let soa = with_serial(&record(&name, rtype::SOA, 5, &rdata), 0xfeed_0001);
        assert_eq!(serial(parts(&soa).rdata), Some(0xfeed_0001));
        assert_eq!(serial(b"\x01a"), None);
    }
}
