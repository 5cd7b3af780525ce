//! Fragments: RRsets as they go on the wire, independent of who owns them and where they will stand.
//!
//! ```text
//! head:        records u16: 13 bits, 0x8000 has signatures, 0x4000 has pointers, 0x2000 the apex follows | rendered octets u16
//! pointers:    count u8 | places u16 each                                     (if any)
//! records:     RDLENGTH: u8, or 255 and u16 | RDATA as rendered                each
//! signatures:  count u8 | rendered octets u16 | length u16 and RDATA without covered type, each
//! ```
//!
//! "Rendered" is what stands in a message from the end of the first owner name on, when all other owners
//! are compression pointers of two octets. A *place* counts from there; at each place stand two octets,
//! network order, that become a compression pointer when rendered:
//!
//! | value | points at |
//! |---|---|
//! | [`TO_OWNER`] | the owner name |
//! | [`TO_APEX`] | the apex of the zone |
//! | less | that many octets after the end of the first owner: a name in an earlier record |
//!
//! Where the apex follows, that of the zone is to be added to the RDATA of each record, in full: names of types that do not leave compressed (RFC 3597 4) end
//! in it. Such a fragment has no pointers.
//!
//! Equal RRsets have equal fragments, whoever owns them, and so do those that are equal but for the apex: a pack stores each once.

use crate::section::u16_at;

/// Pointer to the owner name.
pub const TO_OWNER: u16 = 0x3fff;
/// Pointer to the apex of the zone.
pub const TO_APEX: u16 = 0x3ffe;
/// Pointers inside a fragment reach this far at most, so that a fragment near the start of a message never
/// needs a pointer beyond 14 bits.
pub const REACH_MAX: usize = 0x2000;
/// Most records of an RRset: a message of 65,535 octets holds 5,461 of the smallest (RFC 1035 4.1.3), and 13 bits count to 8,191.
pub const RECORDS_MAX: usize = 8191;
/// Most signatures of an RRset.
pub const SIGNATURES_MAX: usize = 255;
/// Most pointers of a fragment; names after that stay uncompressed.
pub const POINTERS_MAX: usize = 255;
/// Fragments begin at multiples of this in the pool, so that 32 bits reach 16 GiB.
pub const POOL_ALIGNMENT: usize = 4;

const HAS_SIGNATURES: u16 = 0x8000;
const HAS_POINTERS: u16 = 0x4000;
const APEX_FOLLOWS: u16 = 0x2000;

/// A fragment, taken apart. Octets after it are visible and never interpreted.
#[derive(Clone, Copy)]
pub struct Fragment<'p> {
    count: u16,
    signed: bool,
    apex_follows: bool,
    rendered: u16,
    places: &'p [u8],
    records: &'p [u8],
}

impl<'p> Fragment<'p> {
    /// The fragment that begins at `octets`; `None` when its head is cut off.
    #[inline(always)]
    pub fn at(octets: &'p [u8]) -> Option<Fragment<'p>> {
        let head = u16_at(octets.get(..4)?, 0);
        let rendered = u16_at(octets, 2);
        let mut rest = &octets[4..];
        let mut places: &[u8] = &[];
        if head & HAS_POINTERS != 0 {
            let (&count, after) = rest.split_first()?;
            (places, rest) = after.split_at_checked(2 * count as usize)?;
        }
        let count = head & (APEX_FOLLOWS - 1);
        let [signed, apex_follows] = [HAS_SIGNATURES, APEX_FOLLOWS].map(|bit| head & bit != 0);
        Some(Fragment { count, signed, apex_follows, rendered, places, records: rest })
    }

    /// How many records.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether it holds no record; never so in a sound pack.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether the apex is to be added to the RDATA of each record.
    #[inline(always)]
    pub fn apex_follows(&self) -> bool {
        self.apex_follows
    }

    /// Whether both are of the same records, in zones of the same apex.
    pub fn is_same(&self, other: &Fragment<'_>) -> bool {
        self.apex_follows == other.apex_follows
            && self.places().eq(other.places())
            && self.records().eq(other.records())
            && self.signatures().eq(other.signatures())
    }

    /// Octets of all records when rendered, first owner name excluded, and apexes that follow.
    #[inline(always)]
    pub fn rendered_octets(&self) -> usize {
        self.rendered as usize
    }

    /// Where pointers stand, in rendered octets.
    #[inline(always)]
    pub fn places(&self) -> impl ExactSizeIterator<Item = usize> + use<'p> {
        let (places, _) = self.places.as_chunks::<2>();
        places.iter().map(|place| u16::from_le_bytes(*place) as usize)
    }

    /// The RDATA of each record as rendered, pointers not yet turned.
    #[inline(always)]
    pub fn records(&self) -> Records<'p> {
        Records { rest: self.records, left: self.count }
    }

    /// The signatures; empty for an unsigned RRset.
    #[inline(always)]
    pub fn signatures(&self) -> Signatures<'p> {
        if !self.signed {
            return Signatures { rest: &[], left: 0, rendered: 0 };
        }
        let mut records = self.records();
        while records.next().is_some() {}
        records.signatures()
    }

    /// Whether it has signatures.
    pub fn is_signed(&self) -> bool {
        self.signed
    }
}

/// Iterator over the RDATA of a fragment. Ends early in a damaged pack.
#[derive(Clone)]
pub struct Records<'p> {
    rest: &'p [u8],
    left: u16,
}

impl<'p> Iterator for Records<'p> {
    type Item = &'p [u8];
    #[inline(always)]
    fn next(&mut self) -> Option<&'p [u8]> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let (&octet, mut rest) = self.rest.split_first()?;
        let mut length = octet as usize;
        if octet == 255 {
            length = u16_at(rest, 0) as usize;
            rest = rest.get(2..)?;
        }
        let (rdata, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        Some(rdata)
    }
}

impl<'p> Records<'p> {
    /// The signatures that follow the records; call after the last record of a signed fragment.
    #[inline(always)]
    pub fn signatures(&self) -> Signatures<'p> {
        match self.rest {
            [count, low, high, rest @ ..] => {
                Signatures { rest, left: *count, rendered: u16::from_le_bytes([*low, *high]) }
            }
            _ => Signatures { rest: &[], left: 0, rendered: 0 },
        }
    }
}

/// Iterator over signatures: RDATA of RRSIG records from the algorithm on, that is without covered type.
#[derive(Clone)]
pub struct Signatures<'p> {
    rest: &'p [u8],
    left: u8,
    rendered: u16,
}

impl Signatures<'_> {
    /// Octets of all signatures when rendered, each with an owner of two octets.
    #[inline(always)]
    pub fn rendered_octets(&self) -> usize {
        self.rendered as usize
    }
}

impl<'p> Iterator for Signatures<'p> {
    type Item = &'p [u8];
    #[inline(always)]
    fn next(&mut self) -> Option<&'p [u8]> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let length = u16_at(self.rest, 0) as usize;
        let (rdata, rest) = self.rest.get(2..)?.split_at_checked(length)?;
        self.rest = rest;
        Some(rdata)
    }
}

/// Octets of the stored fragment that `octets` begin with; `None` when it is cut off or has no records.
pub fn fragment_octets(octets: &[u8]) -> Option<usize> {
    let fragment = Fragment::at(octets)?;
    let mut records = fragment.records();
    for _ in 0..fragment.len() {
        records.next()?;
    }
    let mut rest = records.rest;
    if fragment.is_signed() {
        let mut signatures = records.signatures();
        rest.get(..3)?;
        for _ in 0..signatures.left {
            signatures.next()?;
        }
        rest = signatures.rest;
    }
    (!fragment.is_empty()).then(|| octets.len() - rest.len())
}

/// Octets of the stored glue list that `octets` begin with; `None` when it is cut off.
pub fn glue_octets(octets: &[u8]) -> Option<usize> {
    octets.get(..if *octets.first()? == 255 { 3 } else { 1 })?;
    let mut glue = Glue::at(octets);
    for _ in 0..glue.left {
        glue.next()?;
    }
    Some(octets.len() - glue.rest.len())
}

/// Octets of a record on the wire beside its RDATA when its owner is a pointer.
pub const RECORD_HEAD_OCTETS: usize = 12;

/// Appends the stored form. `rendered`: all RDATA as rendered, one after the other, ending at `ends`, with
/// pointers at `places`; `apex`: octets of the apex where it follows each, else 0; `signatures`: RDATA of RRSIG without covered type. Returns false, and
/// appends nothing, when a limit of the format is passed: such a set fits no message.
pub fn encode<'s>(
    rendered: &[u8],
    ends: &[usize],
    (places, apex): (&[u16], usize),
    signatures: impl Iterator<Item = &'s [u8]> + Clone,
    out: &mut Vec<u8>,
) -> bool {
    let octets = rendered.len() + RECORD_HEAD_OCTETS * ends.len();
    let (mut count, mut signed) = (0, 0);
    for rdata in signatures.clone() {
        count += 1;
        signed += RECORD_HEAD_OCTETS + 2 + rdata.len();
    }
    let fits = !ends.is_empty()
        && ends.len() <= RECORDS_MAX
        && count <= SIGNATURES_MAX
        && places.len() <= POINTERS_MAX
        && octets + apex * ends.len() + signed <= u16::MAX as usize;
    if !fits {
        return false;
    }
    let mut head = ends.len() as u16;
    head |= if count == 0 { 0 } else { HAS_SIGNATURES };
    head |= if places.is_empty() { 0 } else { HAS_POINTERS };
    head |= if apex == 0 { 0 } else { APEX_FOLLOWS };
    out.extend_from_slice(&head.to_le_bytes());
    out.extend_from_slice(&(octets as u16 - 2).to_le_bytes());
    if !places.is_empty() {
        out.push(places.len() as u8);
        places.iter().for_each(|place| out.extend_from_slice(&place.to_le_bytes()));
    }
    let mut start = 0;
    for &end in ends {
        match end - start {
            length @ 0..255 => out.push(length as u8),
            length => {
                out.push(255);
                out.extend_from_slice(&(length as u16).to_le_bytes());
            }
        }
        out.extend_from_slice(&rendered[start..end]);
        start = end;
    }
    if count > 0 {
        out.push(count as u8);
        out.extend_from_slice(&(signed as u16).to_le_bytes());
        for rdata in signatures {
            out.extend_from_slice(&(rdata.len() as u16).to_le_bytes());
            out.extend_from_slice(rdata);
        }
    }
    true
}

/// [`encode`] of records without pointers.
pub fn encode_plain<'s>(
    records: impl Iterator<Item = &'s [u8]>,
    signatures: impl Iterator<Item = &'s [u8]> + Clone,
    out: &mut Vec<u8>,
) -> bool {
    let (mut rendered, mut ends) = (Vec::new(), Vec::new());
    for rdata in records {
        rendered.extend_from_slice(rdata);
        ends.push(rendered.len());
    }
    encode(&rendered, &ends, (&[], 0), signatures, out)
}

/// Glue of a zone cut: addresses of its name servers below it or below another cut of the zone, in the order
/// in which they go into a message. What must not be left out without TC comes first (RFC 9471 3.1).
///
/// ```text
/// groups u8, or 255 and u16 | each: kind u8 | addresses u8 | record of the NS RRset u16 | TTL (network order) u32 | addresses
/// ```
///
/// A server with more than 255 addresses of a kind has several groups.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct GlueGroup<'p> {
    /// Which record of the NS RRset names the server.
    pub server: usize,
    /// A or AAAA.
    pub rtype: u16,
    /// Below this very cut (RFC 9471 2.1, in-domain): TC when it does not fit.
    pub in_domain: bool,
    /// Not glue but data of the zone itself, signatures of which belong to it when there are any (RFC 4035 3.1.1).
    pub authoritative: bool,
    /// TTL in network order.
    pub ttl: [u8; 4],
    /// Four octets each for A, sixteen for AAAA.
    pub addresses: &'p [u8],
}

/// Kind octet of a group: AAAA instead of A.
pub const GLUE_AAAA: u8 = 1;
/// Kind octet of a group: an in-domain server.
pub const GLUE_IN_DOMAIN: u8 = 2;

/// Kind octet of a group: addresses that are data of the zone itself.
pub const GLUE_AUTHORITATIVE: u8 = 4;

/// Iterator over the glue of a cut. Ends early in a damaged pack.
#[derive(Clone)]
pub struct Glue<'p> {
    rest: &'p [u8],
    left: u16,
}

impl<'p> Glue<'p> {
    /// The list that begins at `octets`.
    #[inline(always)]
    pub fn at(octets: &'p [u8]) -> Glue<'p> {
        match octets {
            [255, low, high, rest @ ..] => Glue { rest, left: u16::from_le_bytes([*low, *high]) },
            [left, rest @ ..] => Glue { rest, left: u16::from(*left) },
            _ => Glue { rest: &[], left: 0 },
        }
    }
}

impl<'p> Iterator for Glue<'p> {
    type Item = GlueGroup<'p>;
    #[inline(always)]
    fn next(&mut self) -> Option<GlueGroup<'p>> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let (&[kind, count, low, high, a, b, c, d], rest) = self.rest.split_first_chunk::<8>()?;
        let (rtype, octets) = if kind & GLUE_AAAA == 0 { (1, 4) } else { (28, 16) };
        let (addresses, rest) = rest.split_at_checked(count as usize * octets)?;
        self.rest = rest;
        let in_domain = kind & GLUE_IN_DOMAIN != 0;
        let authoritative = kind & GLUE_AUTHORITATIVE != 0;
        Some(GlueGroup {
            server: u16::from_le_bytes([low, high]) as usize,
            rtype,
            in_domain,
            authoritative,
            ttl: [a, b, c, d],
            addresses,
        })
    }
}

/// Appends a glue list, mandatory groups first; at most 65,535 groups, which no message holds.
pub fn encode_glue<'g>(groups: &[GlueGroup<'g>], out: &mut Vec<u8>) {
    let (first, second): (Vec<&GlueGroup<'g>>, Vec<&GlueGroup<'g>>) =
        groups.iter().partition(|group| group.in_domain);
    let parts: Vec<(&GlueGroup<'g>, usize, &[u8])> = first
        .into_iter()
        .chain(second)
        .flat_map(|group| {
            let octets = if group.rtype == 1 { 4 } else { 16 };
            group
                .addresses
                .chunks(octets * u8::MAX as usize)
                .map(move |part| (group, part.len() / octets, part))
        })
        .take(u16::MAX as usize)
        .collect();
    match u8::try_from(parts.len()) {
        Ok(count) if count < u8::MAX => out.push(count),
        _ => {
            out.push(255);
            out.extend_from_slice(&(parts.len() as u16).to_le_bytes());
        }
    }
    for (group, count, addresses) in parts {
        let kind = if group.rtype == 1 { 0 } else { GLUE_AAAA }
            | if group.in_domain { GLUE_IN_DOMAIN } else { 0 }
            | if group.authoritative { GLUE_AUTHORITATIVE } else { 0 };
        out.extend_from_slice(&[kind, count as u8]);
        out.extend_from_slice(&(group.server as u16).to_le_bytes());
        out.extend_from_slice(&group.ttl);
        out.extend_from_slice(addresses);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        let long = [7; 300];
        let records: [&[u8]; 3] = [b"abc", b"", &long];
        let mut out = Vec::new();
        let (rendered, ends) = (records.concat(), [3, 3, 303]);
        let signatures: [&[u8]; 2] = [b"signature", b""];
        assert!(encode(&rendered, &ends, (&[10, 500], 0), signatures.into_iter(), &mut out));
        out.extend_from_slice(b"next");
        let fragment = Fragment::at(&out).unwrap();
        assert!(fragment.records().eq(records));
        assert!(fragment.places().eq([10, 500]));
        assert_eq!(fragment.rendered_octets(), 3 * 12 - 2 + 303);
        assert!(fragment.signatures().eq([&b"signature"[..], b""]));
        assert_eq!(fragment.signatures().rendered_octets(), 2 * 14 + 9);
    }

    #[test]
    fn the_apex_follows() {
        let [mut with, mut without] = [Vec::new(), Vec::new()];
        let signatures: [&[u8]; 1] = [b"signature"];
        assert!(encode(b"abcdef", &[3, 6], (&[], 9), signatures.into_iter(), &mut with));
        assert!(encode(b"abcdef", &[3, 6], (&[], 0), signatures.into_iter(), &mut without));
        let [with, without] = [&with, &without].map(|octets| Fragment::at(octets).unwrap());
        assert!(with.apex_follows() && !without.apex_follows() && with.len() == 2);
        assert!(with.records().eq(without.records()) && with.signatures().eq(without.signatures()));
        assert!(with.is_same(&with) && !with.is_same(&without));
        // With its apex and signatures it is to fit a message.
        let long = [0; 30_000];
        let fits = |apex, signature: &[u8]| {
            encode(&long, &[15_000, 30_000], (&[], apex), [signature].into_iter(), &mut Vec::new())
        };
        assert!(fits(250, &[]) && fits(0, &[0; 35_000]) && !fits(250, &[0; 35_300]));
    }

    #[test]
    fn too_large_for_any_message() {
        let mut out = Vec::new();
        let none = std::iter::empty;
        assert!(!encode_plain([&[0; 40_000][..], &[0; 30_000]].into_iter(), none(), &mut out));
        assert!(!encode_plain(none(), none(), &mut out));
        assert!(out.is_empty());
    }

    #[test]
    fn damaged_fragments_end_early() {
        let mut out = Vec::new();
        encode(b"abcdef", &[3, 6], (&[3], 0), [&b"signature"[..]].into_iter(), &mut out);
        for end in 0..out.len() {
            if let Some(fragment) = Fragment::at(&out[..end]) {
                let _ = (fragment.records().count(), fragment.places().len(), fragment.signatures().count());
            }
        }
    }

    #[test]
    fn glue_of_any_length() {
        let addresses: Vec<u8> = (0..4 * 600u32).map(|number| number as u8).collect();
        for servers in [1, 254, 255, 300] {
            let group = |server| GlueGroup {
                server,
                rtype: 1,
                in_domain: true,
                authoritative: false,
                ttl: [0; 4],
                addresses: if server == 0 { &addresses } else { &addresses[..4] },
            };
            let groups: Vec<_> = (0..servers).map(group).collect();
            let mut out = Vec::new();
            encode_glue(&groups, &mut out);
            let all: Vec<u8> = Glue::at(&out).flat_map(|group| group.addresses).copied().collect();
            assert_eq!(all.len(), 4 * (600 + servers - 1));
            assert_eq!(
                (all.starts_with(&addresses), Glue::at(&out).last().unwrap().server),
                (true, servers - 1)
            );
        }
    }

    #[test]
    fn glue_puts_in_domain_servers_first() {
        let group = |server, in_domain, addresses| GlueGroup {
            server,
            rtype: 1,
            in_domain,
            authoritative: !in_domain,
            ttl: [0, 0, 0, 9],
            addresses,
        };
        let mut out = Vec::new();
        encode_glue(&[group(0, false, b"abcd"), group(1, true, b"efghijkl")], &mut out);
        let servers: Vec<_> = Glue::at(&out).map(|group| (group.server, group.addresses.len())).collect();
        assert_eq!(servers, [(1, 8), (0, 4)]);
        assert!((0..out.len()).all(|end| Glue::at(&out[..end]).count() <= 1 || end > 10));
    }
}
