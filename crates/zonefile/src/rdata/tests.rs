//! Random RDATA of every type: passes the check, prints, reads back to the same octets.

use proptest::prelude::*;
use wire::iana::rtype;
use wire::rdata::Names;
use wire::{Name, NameBuf};

use super::*;
use crate::{Options, print, records};

/// A supply of random octets that gives zeros when it is used up.
struct Entropy<'a>(std::slice::Iter<'a, u8>);

impl Entropy<'_> {
    fn octet(&mut self) -> u8 {
        self.0.next().copied().unwrap_or(0)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.octet() as usize % bound
    }

    fn octets(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.octet()).collect()
    }

    fn string(&mut self, least: usize) -> Vec<u8> {
        let length = (least + self.below(12)).min(255);
        [vec![length as u8], self.octets(length)].concat()
    }

    fn name(&mut self) -> Vec<u8> {
        let labels: Vec<u8> = (0..self.below(4)).flat_map(|_| self.string(1)).collect();
        [labels, vec![0]].concat()
    }
}

/// Random octets of one kind; `before` is what stands before them.
fn octets_of(kind: Kind, before: &[u8], entropy: &mut Entropy<'_>) -> Vec<u8> {
    let decimal = |entropy: &mut Entropy<'_>| {
        let text = format!("{}.{}", entropy.octet(), entropy.octet());
        [vec![text.len() as u8], text.into_bytes()].concat()
    };
    let gateway = |form, entropy: &mut Entropy<'_>| match form {
        0 => Vec::new(),
        1 => entropy.octets(4),
        2 => entropy.octets(16),
        _ => entropy.name(),
    };
    match kind {
        Kind::Name => entropy.name(),
        Kind::Names => (0..entropy.below(3)).flat_map(|_| entropy.name()).collect(),
        Kind::U8 | Kind::Algorithm | Kind::Scheme => entropy.octets(1),
        Kind::U16 | Kind::Type | Kind::Certificate => entropy.octets(2),
        Kind::U32 | Kind::Span | Kind::Time | Kind::Ipv4 => entropy.octets(4),
        Kind::U64 | Kind::Eui64 | Kind::Locator => entropy.octets(8),
        Kind::Eui48 => entropy.octets(6),
        Kind::Ipv6 => entropy.octets(16),
        Kind::Text | Kind::Salt => entropy.string(0),
        Kind::TextOptional => (0..entropy.below(2)).flat_map(|_| entropy.string(0)).collect(),
        Kind::Texts => (0..1 + entropy.below(3)).flat_map(|_| entropy.string(0)).collect(),
        Kind::Hash if before[0] == 1 => [vec![20], entropy.octets(20)].concat(),
        Kind::Hash => entropy.string(1),
        Kind::TextRest | Kind::Base64OrDash => {
            let count = entropy.below(20);
            entropy.octets(count)
        }
        Kind::Tag => b"\x05issue".to_vec(),
        Kind::Digits => decimal(entropy),
        Kind::Base64(least) | Kind::Hex(least) => {
            let count = least + entropy.below(40);
            entropy.octets(count)
        }
        Kind::Types(_) => {
            let types = 1 + entropy.below(12);
            let mut bits = bitmap::Builder::new();
            let spread = [1, 3, 257][entropy.below(3)];
            for _ in 0..types {
                bits.add(entropy.octet() as u16 * spread);
            }
            let mut out = crate::octets::Octets::new();
            bits.finish(&mut out).unwrap();
            out.as_slice().to_vec()
        }
        Kind::Params => {
            let port = [vec![0, 3, 0, 2], entropy.octets(2)].concat();
            let alpn = [vec![0, 1, 0, 0], entropy.string(1)].concat();
            let alpn = [&[0, 1, 0, alpn.len() as u8 - 4], &alpn[4..]].concat();
            let unknown = [&[2, 7, 0, 5][..], &entropy.octets(5)].concat();
            [alpn, port, unknown].into_iter().filter(|_| entropy.octet() & 1 == 0).flatten().collect()
        }
        Kind::Prefixes => (0..entropy.below(3))
            .flat_map(|_| {
                let mut item = vec![0, 2, entropy.octet() % 129, 0];
                let length = entropy.below(17);
                item[3] = length as u8 | entropy.octet() & 0x80;
                item.extend((0..length).map(|_| entropy.octet() | 1));
                item
            })
            .collect(),
        Kind::Location => {
            let mut octets = vec![0, 0x12, 0x99, 0x00];
            octets.extend(((1u32 << 31) + entropy.octet() as u32 * 1_000_003).to_be_bytes());
            octets.extend(((1u32 << 31) - entropy.octet() as u32 * 2_000_003).to_be_bytes());
            octets.extend(entropy.octets(4));
            octets
        }
        Kind::Nsap => {
            let count = 1 + entropy.below(20);
            entropy.octets(count)
        }
        Kind::Gateway => gateway(before[1], entropy),
        Kind::Relay => {
            let form = entropy.octet() & 0x83;
            [vec![form], gateway(form & 3, entropy)].concat()
        }
        Kind::Host => [&[2, 7, 0, 3][..], &entropy.octets(5)].concat(),
        Kind::Services => [entropy.octets(3), vec![1]].concat(),
        Kind::Atm => [vec![0], entropy.octets(20)].concat(),
        Kind::Chain => {
            let prefix = entropy.below(17) * 8;
            let suffix = entropy.octets(16 - prefix / 8);
            let name = if prefix == 0 { Vec::new() } else { entropy.name() };
            [vec![prefix as u8], suffix, name].concat()
        }
        Kind::OldTypes => [vec![entropy.octet() & 0x7f], entropy.octets(3), vec![1]].concat(),
    }
}

fn rdata_of(rtype: u16, entropy: &mut Entropy<'_>) -> Vec<u8> {
    let mut rdata = Vec::new();
    for &kind in kinds(rtype).unwrap() {
        let next = octets_of(kind, &rdata, entropy);
        rdata.extend(next);
        // The octet that says what the gateway is must be one of the four forms.
        if rtype == rtype::IPSECKEY && rdata.len() == 2 {
            rdata[1] &= 3;
        }
        // Of the digest types, only those of unknown length go with digests of any length.
        if matches!(rtype, rtype::DS | rtype::CDS | rtype::TA | rtype::DLV) && rdata.len() == 4 {
            rdata[3] |= 0x80;
        }
        if rtype == rtype::SSHFP && rdata.len() == 2 {
            rdata[1] |= 0x80;
        }
        if rtype == rtype::ZONEMD && rdata.len() == 6 {
            rdata[5] |= 0x80;
        }
    }
    rdata
}

fn check_round_trip(rtype: u16, rdata: &[u8]) {
    assert_eq!(check(rtype, rdata), Ok(()), "{} {rdata:02x?}", rtype::Text(rtype));
    let owner = NameBuf::from_text("x.example.").unwrap();
    let mut line = Vec::new();
    print::line(&owner, 1, rtype, rdata, &mut line);
    let text = String::from_utf8(line).unwrap();
    assert!(!text.contains("\\# ") || kinds(rtype).is_none(), "{text}");
    let read = records(&text, Name::root()).unwrap_or_else(|error| panic!("{text}{error}"));
    assert_eq!(read.len(), 1, "{text}");
    assert_eq!((read[0].rtype, &read[0].rdata[..], &read[0].owner), (rtype, rdata, &owner), "{text}");
    // What passes the check has the layout of its type.
    for field in Names::of(rtype, rdata) {
        let field = field.unwrap_or_else(|bad| panic!("{bad:?} in {text}"));
        assert!(Name::from_wire(&rdata[field.at..field.end]).is_ok(), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn print_and_read(octets in prop::collection::vec(any::<u8>(), 0..120)) {
        for &(rtype, _) in rtype::ALL {
            if kinds(rtype).is_some() {
                check_round_trip(rtype, &rdata_of(rtype, &mut Entropy(octets.iter())));
            }
        }
    }

    /// Octets at random: no panic, and whatever passes the check reads back.
    #[test]
    fn random_octets(octets in prop::collection::vec(prop_oneof![0u8..4, any::<u8>()], 0..40)) {
        for &(rtype, _) in rtype::ALL {
            let printed = print::rdata(rtype, &octets);
            let has_layout = Names::of(rtype, &octets).all(|field| field.is_ok());
            if check(rtype, &octets).is_ok() {
                prop_assert!(has_layout);
                let read = records(&format!("a. 1 {} {printed}\n", rtype::Text(rtype)), Name::root());
                let read = read.unwrap_or_else(|error| panic!("{printed}: {error}"));
                prop_assert_eq!(&read[0].rdata, &octets, "{}", printed);
            } else {
                prop_assert!(printed.starts_with("\\#"));
            }
        }
    }

    /// A mutated record changes or fails, and never panics.
    #[test]
    fn mutated_octets(octets in prop::collection::vec(any::<u8>(), 0..80), at: prop::sample::Index, to: u8) {
        for &(rtype, _) in rtype::ALL {
            if kinds(rtype).is_none() {
                continue;
            }
            let mut rdata = rdata_of(rtype, &mut Entropy(octets.iter()));
            if rdata.is_empty() {
                continue;
            }
            let at = at.index(rdata.len());
            rdata[at] = to;
            let has_layout = Names::of(rtype, &rdata).all(|field| field.is_ok());
            let printed = print::rdata(rtype, &rdata);
            if check(rtype, &rdata).is_ok() {
                prop_assert!(has_layout);
                let read = records(&format!("a. 1 {} {printed}\n", rtype::Text(rtype)), Name::root());
                let read = read.unwrap_or_else(|error| panic!("{printed}: {error}"));
                prop_assert_eq!(&read[0].rdata, &rdata, "{}", printed);
            }
        }
    }
}

#[test]
fn meta_types_are_no_data() {
    assert_eq!(check(rtype::NXNAME, b""), Err(Fault::MetaType));
    assert_eq!(check(rtype::OPT, b""), Err(Fault::MetaType));
    assert_eq!(check(65280, b"anything"), Ok(()));
    let _ = Options::new(Name::root());
}

#[test]
fn malformed_octets() {
    for (rtype, octets, fault) in [
        (rtype::A, &b"\x01\x02\x03"[..], Fault::Truncated),
        (rtype::A, b"\x01\x02\x03\x04\x05", Fault::TrailingOctets),
        (rtype::NS, b"\xc0\x0c", Fault::Name(wire::name::NameError::BadLabelKind)),
        (rtype::NS, b"\x01a", Fault::Truncated),
        (rtype::TXT, b"", Fault::Truncated),
        (rtype::TXT, b"\x02a", Fault::Truncated),
        (rtype::NSEC, b"\0", Fault::Bitmap),
        (rtype::NSEC, b"\0\0\x01\0", Fault::Bitmap),
        (rtype::NSEC, b"\0\x01\x01\x40\0\x01\x40", Fault::Bitmap),
        (rtype::CAA, b"\0\0", Fault::Tag),
        (rtype::CAA, b"\0\x01-", Fault::Tag),
        (rtype::ZONEMD, b"\0\0\0\x01\x01\x01abc", Fault::Truncated),
        (rtype::DS, b"\0\x01\x08\x01ab", Fault::DigestLength),
        (rtype::ZONEMD, b"\0\0\0\x01\x01\x01abcdefghijkl", Fault::DigestLength),
        (rtype::SVCB, b"\0\x01\0\0\x03\0\x01a", Fault::Params),
        (rtype::SVCB, b"\0\x01\0\0\x03\0\x02ab\0\x03\0\x02ab", Fault::Params),
        (rtype::SVCB, b"\0\x01\0\0\x00\0\x02\0\x01", Fault::Params),
        (rtype::NSEC3, b"\x01\0\0\0\0\x05abcde\0\x01\x40", Fault::HashLength),
        (rtype::NSEC3, b"\x02\0\0\0\0\0\0\x01\x40", Fault::HashLength),
        (rtype::LOC, b"\x01\x12\x16\x13\x80\0\0\0\x80\0\0\0\0\0\0\0", Fault::Location),
        (rtype::APL, b"\0\x01\x08\x01\0", Fault::Prefix),
        (rtype::AMTRELAY, b"\0\x04", Fault::Gateway),
        (rtype::IPSECKEY, b"\0\x04\x01", Fault::Gateway),
        (rtype::HIP, b"\0\x01\0\x01a", Fault::Host),
    ] {
        assert_eq!(check(rtype, octets), Err(fault), "{}", rtype::Text(rtype));
    }
}
