//! The form of each type's RDATA: a list of field kinds, which drives reading, checking and printing.
//!
//! Where the same fields lie on the wire, and what becomes of the names among them, is said by [`wire::rdata::layout`];
//! `layout` compares the two.

use wire::iana::rtype::*;

/// The kind of one field, in text and on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A domain name.
    Name,
    /// Domain names to the end of the RDATA, or none.
    Names,
    U8,
    U16,
    U32,
    U64,
    /// 32 bits as seconds or with units.
    Span,
    /// 16 bits as a type's mnemonic.
    Type,
    /// 8 bits as a DNSSEC algorithm.
    Algorithm,
    /// 16 bits as a certificate type.
    Certificate,
    /// 8 bits as a scheme of DSYNC.
    Scheme,
    /// 32 bits as a time.
    Time,
    Ipv4,
    Ipv6,
    /// One character-string.
    Text,
    /// One character-string or nothing, at the end.
    TextOptional,
    /// One or more character-strings, to the end.
    Texts,
    /// One field without length octet, to the end: CAA value, URI target.
    TextRest,
    /// A character-string of letters and digits (CAA).
    Tag,
    /// A character-string of digits only (X25, ISDN), or a decimal fraction (GPOS).
    Digits,
    /// Base64 to the end, at least so many octets.
    Base64(usize),
    /// Base64 to the end, or `-` for none (DOA).
    Base64OrDash,
    /// Hexadecimal to the end, at least so many octets.
    Hex(usize),
    /// Length octet and octets, as one hexadecimal field, `-` for none (NSEC3).
    Salt,
    /// Length octet and octets, as one base32 field (NSEC3).
    Hash,
    /// A type bitmap (RFC 4034 4.1.2); whether it may be empty.
    Types(bool),
    /// Service parameters (RFC 9460 2.1, 2.2).
    Params,
    /// Address prefixes (RFC 3123).
    Prefixes,
    /// A location (RFC 1876).
    Location,
    /// An NSAP address (RFC 1706).
    Nsap,
    /// The gateway of IPSECKEY, whose form the octet before the last says (RFC 4025 2.5).
    Gateway,
    /// Discovery bit, type and relay of AMTRELAY (RFC 8777 4.2).
    Relay,
    /// Lengths, algorithm, tag and key of HIP (RFC 8005 5).
    Host,
    /// Six octets with hyphens.
    Eui48,
    /// Eight octets with hyphens.
    Eui64,
    /// Eight octets in four groups (RFC 6742).
    Locator,
    /// Protocol and ports of WKS (RFC 1035 3.4.2).
    Services,
    /// An ATM address.
    Atm,
    /// Prefix length, address suffix and prefix name of A6 (RFC 2874 3.1).
    Chain,
    /// Type bitmap of NXT (RFC 2535 5.2).
    OldTypes,
}

use Kind::*;
// Named on its own because both lists have one.
use Kind::Text;

const SIGNATURE: &[Kind] = &[Type, Algorithm, U8, Span, Time, Time, U16, Name, Base64(1)];
const DIGEST: &[Kind] = &[U16, Algorithm, U8, Hex(1)];

/// The fields of a type; `None` for a type without presentation format, whose RDATA is `\#` only.
#[inline]
pub(crate) const fn kinds(rtype: u16) -> Option<&'static [Kind]> {
    Some(match rtype {
        A => &[Ipv4],
        NS | MD | MF | CNAME | MB | MG | MR | PTR => &[Name],
        SOA => &[Name, Name, U32, Span, Span, Span, Span],
        WKS => &[Ipv4, Services],
        HINFO => &[Text, Text],
        MINFO => &[Name, Name],
        MX => &[U16, Name],
        TXT | SPF | NINFO | AVC | RESINFO | WALLET | CLA => &[Texts],
        RP => &[Name, Name],
        AFSDB | RT | KX => &[U16, Name],
        X25 => &[Digits],
        ISDN => &[Text, TextOptional],
        NSAP => &[Nsap],
        NSAP_PTR => &[Name],
        SIG | RRSIG => SIGNATURE,
        KEY => &[U16, U8, Algorithm, Base64(0)],
        DNSKEY | CDNSKEY | RKEY => &[U16, U8, Algorithm, Base64(1)],
        PX => &[U16, Name, Name],
        GPOS => &[Digits, Digits, Digits],
        AAAA => &[Ipv6],
        LOC => &[Location],
        NXT => &[Name, OldTypes],
        EID | NIMLOC => &[Hex(1)],
        SRV => &[U16, U16, U16, Name],
        ATMA => &[Atm],
        NAPTR => &[U16, U16, Text, Text, Text, Name],
        CERT => &[Certificate, U16, Algorithm, Base64(1)],
        A6 => &[Chain],
        DNAME => &[Name],
        SINK => &[U8, U8, U8, Base64(0)],
        APL => &[Prefixes],
        DS | CDS | TA | DLV => DIGEST,
        SSHFP => &[U8, U8, Hex(1)],
        IPSECKEY => &[U8, U8, U8, Gateway, Base64(0)],
        NSEC => &[Name, Types(false)],
        DHCID | OPENPGPKEY | HHIT | BRID => &[Base64(1)],
        NSEC3 => &[U8, U8, U16, Salt, Hash, Types(true)],
        NSEC3PARAM => &[U8, U8, U16, Salt],
        TLSA | SMIMEA => &[U8, U8, U8, Hex(1)],
        HIP => &[Host, Names],
        TALINK => &[Name, Name],
        CSYNC => &[U32, U16, Types(true)],
        // RFC 8976 2.2.4: a digest shorter than 12 octets must not be accepted.
        ZONEMD => &[U32, U8, U8, Hex(12)],
        SVCB | HTTPS => &[U16, Name, Params],
        DSYNC => &[Type, Scheme, U16, Name],
        NID | L64 => &[U16, Locator],
        L32 => &[U16, Ipv4],
        LP => &[U16, Name],
        EUI48 => &[Kind::Eui48],
        EUI64 => &[Kind::Eui64],
        URI => &[U16, U16, TextRest],
        CAA => &[U8, Tag, TextRest],
        DOA => &[U32, U32, U8, Text, Base64OrDash],
        AMTRELAY => &[U8, Relay],
        IPN => &[U64],
        _ => return None,
    })
}
