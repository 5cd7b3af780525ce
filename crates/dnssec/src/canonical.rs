//! Canonical form and order of records (RFC 4034 6, RFC 6840 5.1): what signatures and digests are made of.
//!
//! The canonical form of RDATA is its uncompressed wire form with the letters of certain names in lower case:
//! those of the types that existed when RFC 4034 was written, and no others (`wire::rdata` has the list). An RRset is ordered by the
//! canonical RDATA of its records, taken as octet strings, and equal records count once (RFC 4034 6.3).

/// Appends the canonical form of `rdata` to `to`. Octets that do not have the form of the type are taken
/// over as they are from the point where they leave it: what a signer would have hashed is unknown then.
pub fn write_canonical_rdata(rtype: u16, rdata: &[u8], to: &mut Vec<u8>) {
    let begin = to.len();
    to.extend_from_slice(rdata);
    wire::rdata::fold(rtype, &mut to[begin..]);
}

/// The records of one RRset in canonical form and order; made to be filled again for set after set.
#[derive(Default)]
pub struct CanonicalSet {
    octets: Vec<u8>,
    records: Vec<Row>,
    duplicate_count: usize,
}

#[derive(Clone, Copy)]
struct Row {
    at: usize,
    octets: u32,
    /// Position in what the set was filled from.
    source: u32,
}

impl CanonicalSet {
    /// An empty set.
    pub fn new() -> CanonicalSet {
        CanonicalSet::default()
    }

    /// Replaces the contents by the records whose RDATA `rdatas` gives, of type `rtype`, in any order.
    pub fn fill<'r>(&mut self, rtype: u16, rdatas: impl IntoIterator<Item = &'r [u8]>) {
        self.octets.clear();
        self.records.clear();
        for (source, rdata) in (0..).zip(rdatas) {
            let at = self.octets.len();
            write_canonical_rdata(rtype, rdata, &mut self.octets);
            let octets = (self.octets.len() - at) as u32;
            self.records.push(Row { at, octets, source });
        }
        let octets = &self.octets;
        let rdata = |row: &Row| &octets[row.at..][..row.octets as usize];
        if !self.records.is_sorted_by(|a, b| rdata(a) < rdata(b)) {
            self.records.sort_by(|a, b| rdata(a).cmp(rdata(b)));
        }
        let before = self.records.len();
        self.records.dedup_by(|a, b| rdata(a) == rdata(b));
        self.duplicate_count = before - self.records.len();
    }

    /// The records in canonical order, without duplicates: the position each had in the source, and its
    /// RDATA.
    pub fn records(&self) -> impl ExactSizeIterator<Item = (usize, &[u8])> {
        let octets = &self.octets;
        self.records.iter().map(move |row| (row.source as usize, &octets[row.at..][..row.octets as usize]))
    }

    /// How many records were left out because they equal another in canonical form.
    pub fn duplicate_count(&self) -> usize {
        self.duplicate_count
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use wire::iana::rtype;

    #[track_caller]
    fn check(rtype: u16, rdata: &[u8], expected: &[u8]) {
        let mut octets = b"before".to_vec();
        write_canonical_rdata(rtype, rdata, &mut octets);
        assert_eq!(&octets[6..], expected);
    }

    #[test]
    fn names_are_folded_where_listed() {
        check(rtype::NS, b"\x02Ab\0", b"\x02ab\0");
        check(rtype::SOA, b"\x01A\0\x01B\0ABCD", b"\x01a\0\x01b\0ABCD");
        check(rtype::MX, b"AB\x01C\0", b"AB\x01c\0");
        check(rtype::SRV, b"ABCDEF\x01G\0", b"ABCDEF\x01g\0");
        check(rtype::PX, b"AB\x01C\0\x01D\0", b"AB\x01c\0\x01d\0");
        check(rtype::RRSIG, b"ABCDEFGHIJKLMNOPQR\x01S\0TUV", b"ABCDEFGHIJKLMNOPQR\x01s\0TUV");
        check(rtype::NAPTR, b"ABCD\x01U\x00\x02XY\x01R\0", b"ABCD\x01U\x00\x02XY\x01r\0");
        check(rtype::A6, b"\x40ABCDEFGH\x01Z\0", b"\x40ABCDEFGH\x01z\0");
        check(rtype::A6, b"\x00ABCDEFGHIJKLMNOP", b"\x00ABCDEFGHIJKLMNOP");
        check(rtype::NXT, b"\x01A\0BITS", b"\x01a\0BITS");
    }

    #[test]
    fn other_types_keep_their_case() {
        check(rtype::NSEC, b"\x01A\0\0\x01\x40", b"\x01A\0\0\x01\x40"); // RFC 6840 5.1
        check(rtype::SVCB, b"\0\x01\x01A\0", b"\0\x01\x01A\0"); // RFC 3597 7: newer types are not folded
        check(rtype::TXT, b"\x01A", b"\x01A");
    }

    #[test]
    fn wrong_shapes_are_taken_as_they_are() {
        check(rtype::MX, b"A", b"A");
        check(rtype::NS, b"\x05Ab", b"\x05Ab");
        check(rtype::NAPTR, b"ABCD\x09U", b"ABCD\x09U");
        check(rtype::SOA, b"\x01A\0\xc0\x00ABCD", b"\x01a\0\xc0\x00ABCD");
        check(rtype::A6, b"", b"");
        check(rtype::A6, b"\xffA", b"\xffA");
    }

    /// RFC 4034 6.3: by octets, absence of an octet before any octet; equal records once.
    #[test]
    fn order() {
        let mut set = CanonicalSet::new();
        set.fill(rtype::MX, [&b"\0\x14\x01B\0"[..], b"\0\x0a\x01c\0", b"\0\x14\x01b\0", b"\0\x0a"]);
        let records: Vec<_> = set.records().collect();
        assert_eq!(records, [(3, &b"\0\x0a"[..]), (1, b"\0\x0a\x01c\0"), (0, b"\0\x14\x01b\0")]);
        assert_eq!(set.duplicate_count(), 1);
        set.fill(rtype::A, [&b"\x01\x02\x03\x04"[..]]);
        assert_eq!((set.records().len(), set.duplicate_count()), (1, 0));
    }
}
