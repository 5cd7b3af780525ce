//! RRsets as the engine stores them: what follows the owner in a message, ready to be copied.

use wire::Name;

/// Octets between owner and RDATA: type, class, TTL, length.
const HEAD_OCTETS: usize = 10;

/// All records of an owner and a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RRset {
    /// In lower case.
    pub owner: Box<[u8]>,
    /// The type.
    pub rtype: u16,
    /// Of each record: type, class, TTL, length and RDATA.
    body: Box<[u8]>,
}

impl RRset {
    /// Of these RDATA.
    pub fn new<'r>(owner: &[u8], rtype: u16, ttl: u32, rdatas: impl IntoIterator<Item = &'r [u8]>) -> RRset {
        let mut body = Vec::new();
        for rdata in rdatas {
            let Ok(length) = u16::try_from(rdata.len()) else { continue };
            body.extend_from_slice(&rtype.to_be_bytes());
            body.extend_from_slice(&1u16.to_be_bytes());
            body.extend_from_slice(&ttl.to_be_bytes());
            body.extend_from_slice(&length.to_be_bytes());
            body.extend_from_slice(rdata);
        }
        RRset { owner: owner.into(), rtype, body: body.into() }
    }

    /// Each record from its type on.
    pub fn records(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &*self.body;
        std::iter::from_fn(move || {
            let length = u16::from_be_bytes([*rest.get(8)?, *rest.get(9)?]) as usize;
            let (record, after) = rest.split_at_checked(HEAD_OCTETS + length)?;
            rest = after;
            Some(record)
        })
    }

    /// The RDATA of each record.
    pub fn rdatas(&self) -> impl Iterator<Item = &[u8]> {
        self.records().map(|record| &record[HEAD_OCTETS..])
    }

    /// The names that NS records name.
    pub fn targets(&self) -> impl Iterator<Item = &Name> {
        self.rdatas().filter_map(|rdata| Name::from_wire(rdata).ok())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back() {
        let set = RRset::new(b"\x01a\0", 2, 60, [&b"\x02ns\0"[..], b"\0"]);
        assert!(set.rdatas().eq([&b"\x02ns\0"[..], b"\0"]));
        assert_eq!(set.records().next().unwrap(), b"\0\x02\0\x01\0\0\0\x3c\0\x04\x02ns\0");
        assert_eq!(set.targets().count(), 2);
        assert_eq!(RRset::new(b"\0", 1, 0, []).records().count(), 0);
    }
}
