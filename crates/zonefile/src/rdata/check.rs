//! The check of RDATA in wire form: is it exactly the fields of its type?

use std::fmt;

use wire::Name;
use wire::iana::rtype;
use wire::name::NameError;

use super::table::{Kind, kinds};
use super::{bitmap, host, location, params, prefixes};

/// Why RDATA is not of its type's form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A type of messages only (RFC 6895 3.1): never data of a zone.
    MetaType,
    /// The RDATA ends inside a field.
    Truncated,
    /// Octets follow the last field.
    TrailingOctets,
    /// A domain name is none, or is compressed.
    Name(NameError),
    /// A type bitmap is malformed.
    Bitmap,
    /// Service parameters are malformed.
    Params,
    /// An address prefix is malformed.
    Prefix,
    /// A location is malformed.
    Location,
    /// A gateway or relay is of unknown type.
    Gateway,
    /// A property tag is empty or has octets other than letters and digits.
    Tag,
    /// A field must be of digits.
    Digits,
    /// A host identity is malformed.
    Host,
    /// A digest is not as long as its type wants.
    DigestLength,
    /// The next hash of an NSEC3 record is not as long as its algorithm makes it.
    HashLength,
    /// Another field has a value that its type excludes.
    Value,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::MetaType => "type exists in messages only",
            Fault::Truncated => "RDATA ends too early",
            Fault::TrailingOctets => "octets after the last field",
            Fault::Name(error) => return write!(f, "{error}"),
            Fault::Bitmap => "malformed type bitmap",
            Fault::Params => "malformed service parameters",
            Fault::Prefix => "malformed address prefix",
            Fault::Location => "malformed location",
            Fault::Gateway => "gateway of unknown type",
            Fault::Tag => "property tag must be letters and digits",
            Fault::Digits => "field must be of digits",
            Fault::DigestLength => "digest not as long as its type wants",
            Fault::HashLength => "hash not as long as its algorithm makes it",
            Fault::Host => "malformed host identity",
            Fault::Value => "field has a value that the type excludes",
        })
    }
}

impl std::error::Error for Fault {}

/// Checks that `rdata` is well-formed for its type: all fields whole, nothing after them, names
/// uncompressed. RDATA of a type without a known form is fine as it is (RFC 3597 3); a type that exists in
/// messages only is not.
pub fn check(rtype: u16, rdata: &[u8]) -> Result<(), Fault> {
    if rtype::is_meta(rtype) {
        return Err(Fault::MetaType);
    }
    let Some(kinds) = kinds(rtype) else { return Ok(()) };
    let mut at = 0;
    for &kind in kinds {
        at += extent(kind, rdata, at)?;
    }
    if at != rdata.len() {
        return Err(Fault::TrailingOctets);
    }
    if has_digest_length(rtype, rdata) { Ok(()) } else { Err(Fault::DigestLength) }
}

/// Whether the digest in DS, SSHFP and ZONEMD records is as long as its digest type wants; true for all other types
/// and for digest types without known length.
#[inline]
pub(crate) fn has_digest_length(rtype: u16, rdata: &[u8]) -> bool {
    let (kind_at, digest_at) = match rtype {
        rtype::DS | rtype::CDS | rtype::TA | rtype::DLV => (3, 4),
        rtype::SSHFP => (1, 2),
        rtype::ZONEMD => (5, 6),
        _ => return true,
    };
    let length = match (rtype, rdata.get(kind_at)) {
        // RFC 8976 5.3: SHA-384, SHA-512.
        (rtype::ZONEMD, Some(1)) => 48,
        (rtype::ZONEMD, Some(2)) => 64,
        (rtype::ZONEMD, _) => return true,
        // RFC 4255 3.1.2, RFC 6594.
        (rtype::SSHFP, Some(1)) => 20,
        (rtype::SSHFP, Some(2)) => 32,
        (rtype::SSHFP, _) => return true,
        // RFC 3658, RFC 4509, RFC 5933, RFC 6605, RFC 9558, RFC 9563.
        (_, Some(1)) => 20,
        (_, Some(2 | 3 | 5 | 6)) => 32,
        (_, Some(4)) => 48,
        _ => return true,
    };
    rdata.len() == digest_at + length
}

/// Whether hashes of this NSEC3 algorithm have so many octets: those of SHA-1, the only one there is, have 20 (RFC 5155 3.1.7, 11).
#[inline]
pub(crate) fn is_hash_length(algorithm: u8, octets: usize) -> bool {
    algorithm != 1 || octets == 20
}

/// How many octets the field of this kind takes that begins at `at` in `rdata`, its content checked.
pub(crate) fn extent(kind: Kind, rdata: &[u8], at: usize) -> Result<usize, Fault> {
    let field = rdata.get(at..).ok_or(Fault::Truncated)?;
    let fixed = |length: usize| if field.len() < length { Err(Fault::Truncated) } else { Ok(length) };
    let rest = |valid: bool, fault: Fault| if valid { Ok(field.len()) } else { Err(fault) };
    match kind {
        Kind::Name => Name::split_from(field).map(|(name, _)| name.octets().len()).map_err(name_fault),
        Kind::Names => names_extent(field),
        Kind::U8 | Kind::Algorithm | Kind::Scheme => fixed(1),
        Kind::U16 | Kind::Type | Kind::Certificate => fixed(2),
        Kind::U32 | Kind::Time | Kind::Ipv4 => fixed(4),
        Kind::Span => fixed(4),
        Kind::Eui48 => fixed(6),
        Kind::U64 | Kind::Eui64 | Kind::Locator => fixed(8),
        Kind::Ipv6 => fixed(16),
        Kind::Text | Kind::Salt => string(field),
        Kind::Hash => string(field).and_then(|length| match rdata.first() {
            Some(&algorithm) if length > 1 && is_hash_length(algorithm, length - 1) => Ok(length),
            _ => Err(Fault::HashLength),
        }),
        Kind::TextOptional if field.is_empty() => Ok(0),
        Kind::TextOptional => string(field),
        Kind::Texts => texts(field),
        Kind::TextRest | Kind::Base64OrDash => Ok(field.len()),
        Kind::Tag => tag(field),
        Kind::Digits => digits(field),
        Kind::Base64(least) | Kind::Hex(least) => rest(field.len() >= least, Fault::Truncated),
        Kind::Types(may_be_empty) => {
            rest((may_be_empty || !field.is_empty()) && bitmap::is_valid(field), Fault::Bitmap)
        }
        Kind::OldTypes => rest(host::is_old_bitmap(field), Fault::Bitmap),
        Kind::Params => rest(params::is_valid(field), Fault::Params),
        Kind::Prefixes => rest(prefixes::is_valid(field), Fault::Prefix),
        Kind::Location => location::check(field),
        Kind::Nsap | Kind::Atm => rest(!field.is_empty(), Fault::Truncated),
        Kind::Gateway => {
            let form = at.checked_sub(2).and_then(|at| rdata.get(at)).ok_or(Fault::Truncated)?;
            gateway(*form, field)
        }
        Kind::Relay => {
            let form = field.first().ok_or(Fault::Truncated)?;
            gateway(form & 0x7f, &field[1..]).map(|length| 1 + length)
        }
        Kind::Host => host::extent(field),
        Kind::Services => rest(host::is_services(field), Fault::Value),
        Kind::Chain => chain(field),
    }
}

fn name_fault(error: NameError) -> Fault {
    match error {
        NameError::Truncated => Fault::Truncated,
        error => Fault::Name(error),
    }
}

fn names_extent(field: &[u8]) -> Result<usize, Fault> {
    let mut rest = field;
    while !rest.is_empty() {
        rest = Name::split_from(rest).map_err(name_fault)?.1;
    }
    Ok(field.len())
}

/// A length octet and that many octets.
fn string(field: &[u8]) -> Result<usize, Fault> {
    let length = 1 + *field.first().ok_or(Fault::Truncated)? as usize;
    if field.len() < length { Err(Fault::Truncated) } else { Ok(length) }
}

fn texts(field: &[u8]) -> Result<usize, Fault> {
    let mut at = string(field)?;
    while at < field.len() {
        at += string(&field[at..])?;
    }
    Ok(at)
}

fn tag(field: &[u8]) -> Result<usize, Fault> {
    let length = string(field)?;
    let is_tag = length > 1 && field[1..length].iter().all(u8::is_ascii_alphanumeric);
    if is_tag { Ok(length) } else { Err(Fault::Tag) }
}

fn digits(field: &[u8]) -> Result<usize, Fault> {
    let length = string(field)?;
    if is_decimal(&field[1..length]) { Ok(length) } else { Err(Fault::Digits) }
}

/// Digits with a sign before and a point between them at most, as GPOS needs; X25 has neither.
pub(crate) fn is_decimal(text: &[u8]) -> bool {
    let unsigned = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    let points = unsigned.iter().filter(|&&octet| octet == b'.').count();
    let digits = unsigned.iter().filter(|octet| octet.is_ascii_digit()).count();
    digits > 0 && points <= 1 && digits + points == unsigned.len()
}

/// Nothing, an address, or a name (RFC 4025 2.3, RFC 8777 4.2.3).
fn gateway(form: u8, field: &[u8]) -> Result<usize, Fault> {
    let length = match form {
        0 => 0,
        1 => 4,
        2 => 16,
        3 => return Name::split_from(field).map(|(name, _)| name.octets().len()).map_err(name_fault),
        _ => return Err(Fault::Gateway),
    };
    if field.len() < length { Err(Fault::Truncated) } else { Ok(length) }
}

/// A6: prefix length, the octets of the suffix that holds the other bits, and a name unless the prefix is
/// empty. Returns the extent.
fn chain(field: &[u8]) -> Result<usize, Fault> {
    let prefix = *field.first().ok_or(Fault::Truncated)? as usize;
    if prefix > 128 {
        return Err(Fault::Value);
    }
    let name_at = 1 + (128 - prefix).div_ceil(8);
    let suffix = field.get(1..name_at).ok_or(Fault::Truncated)?;
    // Bits of the suffix that the prefix covers must be zero (RFC 2874 3.1.1).
    let covered = prefix % 8;
    if suffix.first().is_some_and(|&octet| octet & !(0xff >> covered) != 0) {
        return Err(Fault::Value);
    }
    if prefix == 0 {
        return Ok(name_at);
    }
    let (name, _) = Name::split_from(&field[name_at..]).map_err(name_fault)?;
    Ok(name_at + name.octets().len())
}
