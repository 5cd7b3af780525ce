//! RR types: numbers, mnemonics and the little of their RDATA that the tests need.

use crate::name::Name;

/// Mnemonics of the types that are named in tests and reports.
#[rustfmt::skip]
const NAMES: &[(u16, &str)] = &[
    (1, "A"), (2, "NS"), (3, "MD"), (4, "MF"), (5, "CNAME"), (6, "SOA"), (7, "MB"), (8, "MG"), (9, "MR"),
    (10, "NULL"), (11, "WKS"), (12, "PTR"), (13, "HINFO"), (14, "MINFO"), (15, "MX"), (16, "TXT"),
    (17, "RP"), (18, "AFSDB"), (19, "X25"), (20, "ISDN"), (21, "RT"), (22, "NSAP"), (24, "SIG"), (25, "KEY"), (26, "PX"),
    (27, "GPOS"), (28, "AAAA"), (29, "LOC"), (30, "NXT"), (33, "SRV"), (35, "NAPTR"), (36, "KX"), (37, "CERT"),
    (39, "DNAME"), (41, "OPT"), (42, "APL"), (43, "DS"), (44, "SSHFP"), (45, "IPSECKEY"), (46, "RRSIG"),
    (47, "NSEC"), (48, "DNSKEY"), (49, "DHCID"), (50, "NSEC3"), (51, "NSEC3PARAM"), (52, "TLSA"),
    (53, "SMIMEA"), (55, "HIP"), (59, "CDS"), (60, "CDNSKEY"), (61, "OPENPGPKEY"), (62, "CSYNC"),
    (63, "ZONEMD"), (64, "SVCB"), (65, "HTTPS"), (99, "SPF"), (104, "NID"), (105, "L32"), (106, "L64"),
    (107, "LP"), (108, "EUI48"), (109, "EUI64"), (128, "NXNAME"), (249, "TKEY"), (250, "TSIG"),
    (251, "IXFR"), (252, "AXFR"), (253, "MAILB"), (254, "MAILA"), (255, "ANY"), (256, "URI"),
    (257, "CAA"), (260, "AMTRELAY"), (261, "RESINFO"), (32769, "DLV"),
];

macro_rules! numbers {
    ($($name:ident = $number:literal),* $(,)?) => {
        $(#[doc = concat!("Number of type ", stringify!($name), ".")] pub const $name: u16 = $number;)*
    };
}

numbers! {
    A = 1, NS = 2, CNAME = 5, SOA = 6, PTR = 12, HINFO = 13, MX = 15, TXT = 16, AAAA = 28, SRV = 33, NAPTR = 35,
    SIG = 24, KEY = 25, NXT = 30, DNAME = 39, OPT = 41, DS = 43, RRSIG = 46, NSEC = 47, DNSKEY = 48, NSEC3 = 50, NSEC3PARAM = 51, SVCB = 64,
    HTTPS = 65, TSIG = 250, IXFR = 251, AXFR = 252, ANY = 255, CAA = 257,
}

/// The mnemonic, or `TYPEnnn`.
pub fn name(rtype: u16) -> String {
    match NAMES.iter().find(|(number, _)| *number == rtype) {
        Some((_, name)) => (*name).to_owned(),
        None => format!("TYPE{rtype}"),
    }
}

/// The number of a mnemonic or of `TYPEnnn`.
pub fn number(text: &str) -> Option<u16> {
    let known = NAMES.iter().find(|(_, name)| name.eq_ignore_ascii_case(text));
    known.map(|(number, _)| *number).or_else(|| text.strip_prefix("TYPE")?.parse().ok())
}

/// RDATA that may be compressed (RFC 3597 4): octets before, names, octets after.
pub fn compressible_layout(rtype: u16) -> Option<(usize, usize, usize)> {
    match rtype {
        NS | CNAME | PTR | 3 | 4 | 7 | 8 | 9 => Some((0, 1, 0)),
        SOA => Some((0, 2, 20)),
        14 => Some((0, 2, 0)),
        MX => Some((2, 1, 0)),
        _ => None,
    }
}

/// Whether the names in the RDATA are of a type of RFC 1035, whose case may change on the way.
pub fn has_compressible_names(rtype: u16) -> bool {
    compressible_layout(rtype).is_some()
}

/// Names that the RDATA points to, as far as queries for them are of interest.
pub fn targets(rtype: u16, rdata: &[u8]) -> Vec<Name> {
    let skip = match rtype {
        NS | CNAME | PTR | DNAME => 0,
        MX | SVCB | HTTPS => 2,
        SRV => 6,
        _ => return Vec::new(),
    };
    let mut end = skip;
    while let Some(&length) = rdata.get(end) {
        if length == 0 {
            return vec![Name::from_wire(rdata[skip..=end].to_vec())];
        }
        end += 1 + length as usize;
    }
    Vec::new()
}

/// RDATA for people: names, addresses and types where that helps, hexadecimal digits otherwise.
pub fn rdata_text(rtype: u16, rdata: &[u8]) -> String {
    match (rtype, rdata) {
        (A, &[a, b, c, d]) => format!("{a}.{b}.{c}.{d}"),
        (AAAA, octets) if octets.len() == 16 => {
            let mut address = [0; 16];
            address.copy_from_slice(octets);
            std::net::Ipv6Addr::from(address).to_string()
        }
        (RRSIG, [high, low, _, labels, ..]) => {
            let covered = name(u16::from_be_bytes([*high, *low]));
            format!("{covered} labels={labels} {}", hex(&rdata[rdata.len().saturating_sub(4)..]))
        }
        (NS | CNAME | PTR | DNAME | MX | SRV, _) => {
            targets(rtype, rdata).first().map_or_else(|| hex(rdata), Name::to_string)
        }
        _ => hex(rdata),
    }
}

/// Hexadecimal digits, at most 40 of them.
fn hex(octets: &[u8]) -> String {
    let digits: String = octets.iter().take(20).map(|octet| format!("{octet:02x}")).collect();
    if octets.len() > 20 { format!("{digits}... ({} octets)", octets.len()) } else { digits }
}
