//! RDATA from the fields of an entry.

use wire::iana::{algorithm, certificate, rtype};

use super::table::{Kind, kinds};
use super::{bitmap, host, location, params, prefixes};
use crate::error::{Cause, Fault, Found};
use crate::fields::{Field, Fields};
use crate::limits::RDATA_OCTETS_MAX;
use crate::name::{self, Origin};
use crate::octets::{Full, Octets};
use crate::text::{address, base32, base64, hex, number, string, time};

/// Appends the RDATA of a record of this type to `out`, which is empty. All fields must be used up.
pub(crate) fn rdata(
    rtype: u16,
    fields: &mut Fields<'_>,
    origin: &Origin,
    out: &mut Octets,
) -> Result<(), Fault> {
    let first = fields.peek();
    if fields.may_escape && first.is_some_and(|field| field.text == b"\\#" && !field.quoted) {
        fields.skip();
        generic(rtype, fields, out)?;
    } else {
        match kinds(rtype) {
            // The RDATA of most records: one loop less.
            Some([Kind::Name]) => domain_name(fields, origin, out)?,
            Some(kinds) => {
                for &kind in kinds {
                    field(kind, fields, origin, out)?;
                }
            }
            None => {
                let missing = || fields.missing("`\\#`");
                return Err(first.map_or_else(missing, |field| field.fault(Cause::NoPresentation)));
            }
        }
    }
    if !super::check::has_digest_length(rtype, out.as_slice()) {
        let what = Cause::Field("a digest as long as its digest type wants");
        let before_digest = match rtype {
            rtype::ZONEMD => 6,
            rtype::SSHFP => 2,
            _ => 4,
        };
        return Err(Fault::saying(
            fields.end_at(),
            what,
            Found::Octets(out.len().saturating_sub(before_digest)),
        ));
    }
    if out.len() > RDATA_OCTETS_MAX {
        return Err(Fault::saying(fields.end_at(), Cause::RdataTooLong, Found::Octets(out.len())));
    }
    fields.finish()
}

/// `\# length hexadecimal` (RFC 3597 5), for known types too.
fn generic(rtype: u16, fields: &mut Fields<'_>, out: &mut Octets) -> Result<(), Fault> {
    let length = fields.take("the length of the RDATA")?;
    let said = number::decimal(length.text, RDATA_OCTETS_MAX as u64);
    let said = said.ok_or_else(|| length.fault(Cause::Number(RDATA_OCTETS_MAX as u64)))?;
    hex_rest(fields, out)?;
    if out.len() as u64 != said {
        return Err(Fault::saying(length.start, Cause::RdataLength(said), Found::Octets(out.len())));
    }
    super::check(rtype, out.as_slice())
        .map_err(|fault| Fault::saying(length.start, Cause::Rdata(fault), Found::Unsaid))
}

/// Reads one field, or all that are left, of this kind.
#[inline]
fn field(kind: Kind, fields: &mut Fields<'_>, origin: &Origin, out: &mut Octets) -> Result<(), Fault> {
    match kind {
        Kind::Name => domain_name(fields, origin, out),
        Kind::U8 => decimal(fields, 255).and_then(|(value, field)| keep(&field, out.push_u8(value as u8))),
        Kind::U16 => {
            decimal(fields, 65535).and_then(|(value, field)| keep(&field, out.push_u16(value as u16)))
        }
        Kind::U32 => decimal(fields, u32::MAX as u64)
            .and_then(|(value, field)| keep(&field, out.push_u32(value as u32))),
        Kind::Span => {
            let field = fields.take("a time in seconds")?;
            // A span is no TTL: the serial-sized range of SOA timers and original TTLs is allowed.
            let plain = number::decimal(field.text, u32::MAX as u64).map(|value| value as u32);
            let value = plain.or_else(|| number::ttl(field.text)).ok_or_else(|| field.fault(Cause::Span))?;
            keep(&field, out.push_u32(value))
        }
        Kind::Type => {
            let field = fields.take("a record type")?;
            let value = rtype::from_text(field.text).ok_or_else(|| field.fault(Cause::Type))?;
            keep(&field, out.push_u16(value))
        }
        Kind::Algorithm => {
            let field = fields.take("an algorithm")?;
            let value = number::decimal(field.text, 255).map(|value| value as u8);
            let value = value.or_else(|| algorithm::from_mnemonic(field.text));
            keep(&field, out.push_u8(value.ok_or_else(|| field.fault(Cause::Algorithm))?))
        }
        Kind::Time => {
            let field = fields.take("a time as YYYYMMDDHHmmSS or in seconds")?;
            let value = time::time(field.text).ok_or_else(|| field.fault(Cause::Time))?;
            keep(&field, out.push_u32(value))
        }
        Kind::Ipv4 => {
            let field = fields.take("an IPv4 address")?;
            let address = address::ipv4(field.text).ok_or_else(|| field.fault(Cause::Ipv4))?;
            keep(&field, out.push(&address))
        }
        Kind::Ipv6 => {
            let field = fields.take("an IPv6 address")?;
            let address = address::ipv6(field.text).ok_or_else(|| field.fault(Cause::Ipv6))?;
            keep(&field, out.push(&address))
        }
        Kind::Base64(least) => base64_rest(fields, least, out),
        Kind::Hex(least) => {
            let begin = out.len();
            hex_rest(fields, out)?;
            if out.len() - begin >= least {
                return Ok(());
            }
            let what = if least > 1 { "at least 12 octets in hexadecimal" } else { "hexadecimal digits" };
            Err(fields.missing(what))
        }
        Kind::Hash => {
            let field = fields.take("a hash in base32")?;
            let mut octets = [0; 256];
            let length = base32::decode(field.text, &mut octets).filter(|&length| length > 0);
            let length = length.ok_or_else(|| field.fault(Cause::Base32))?;
            // The RDATA begins with the number of the algorithm.
            let algorithm = out.as_slice().first().copied().unwrap_or(0);
            if !super::check::is_hash_length(algorithm, length) {
                return Err(field.fault(Cause::Field("a hash of 32 characters, the 20 octets of SHA-1")));
            }
            keep(&field, out.push_u8(length as u8).and_then(|()| out.push(&octets[..length])))
        }
        Kind::Types(may_be_empty) => types(may_be_empty, fields, out),
        other => rare(other, fields, origin, out),
    }
}

/// Kinds that large zones have few of.
fn rare(kind: Kind, fields: &mut Fields<'_>, origin: &Origin, out: &mut Octets) -> Result<(), Fault> {
    match kind {
        Kind::Names => {
            while !fields.is_empty() {
                domain_name(fields, origin, out)?;
            }
            Ok(())
        }
        Kind::U64 => {
            let field = fields.take("a number")?;
            let value = std::str::from_utf8(field.text).ok().filter(|text| !text.starts_with('+'));
            let value = value.and_then(|text| text.parse::<u64>().ok());
            let value = value.ok_or_else(|| field.fault(Cause::Number(u64::MAX)))?;
            keep(&field, out.push(&value.to_be_bytes()))
        }
        Kind::Certificate => {
            let field = fields.take("a certificate type")?;
            let number = number::decimal(field.text, 65535).map(|number| number as u16);
            let value = number.or_else(|| certificate::from_mnemonic(field.text));
            let what = Cause::Field("a certificate type number or mnemonic");
            keep(&field, out.push_u16(value.ok_or_else(|| field.fault(what))?))
        }
        Kind::Scheme => {
            let field = fields.take("a scheme")?;
            let notify = field.text.eq_ignore_ascii_case(b"NOTIFY").then_some(1);
            let value = notify.or_else(|| number::decimal(field.text, 255));
            let what = Cause::Field("a scheme number or NOTIFY");
            keep(&field, out.push_u8(value.ok_or_else(|| field.fault(what))? as u8))
        }
        Kind::Text => {
            let field = fields.take("text")?;
            text(&field, out)
        }
        Kind::TextOptional => fields.take_any().map_or(Ok(()), |field| text(&field, out)),
        Kind::Texts => {
            let first = fields.take("text")?;
            text(&first, out)?;
            while let Some(field) = fields.take_any() {
                text(&field, out)?;
            }
            Ok(())
        }
        Kind::TextRest => {
            let field = fields.take("text")?;
            unescaped(&field, out)
        }
        Kind::Tag | Kind::Digits => {
            let is_tag = kind == Kind::Tag;
            let field = fields.take(if is_tag { "a property tag" } else { "digits" })?;
            let fits = match is_tag {
                true => !field.text.is_empty() && field.text.iter().all(u8::is_ascii_alphanumeric),
                false => super::check::is_decimal(field.text),
            };
            if fits {
                return text(&field, out);
            }
            let what = if is_tag { "a property tag of letters and digits" } else { "digits" };
            Err(field.fault(Cause::Field(what)))
        }
        Kind::Base64OrDash => match fields.peek() {
            Some(field) if field.text == b"-" => {
                fields.skip();
                Ok(())
            }
            _ => base64_rest(fields, 1, out),
        },
        Kind::Salt => salt(fields, out),
        Kind::Params => params::parse(fields, out),
        Kind::Prefixes => {
            while let Some(field) = fields.take_any() {
                let item = prefixes::parse(field.text, out);
                let what = Cause::Field("an address prefix, as in 1:192.0.2.0/24 or !2:2001:db8::/32");
                keep(&field, item.ok_or_else(|| field.fault(what))?)?;
            }
            Ok(())
        }
        Kind::Location => location::parse(fields, out),
        Kind::Nsap => {
            let field = fields.take("an NSAP address")?;
            let digits = field.text.strip_prefix(b"0x").or(field.text.strip_prefix(b"0X"));
            let what = Cause::Field("an NSAP address: 0x and hexadecimal digits");
            dotted_hex(&field, digits.ok_or_else(|| field.fault(what))?, out)
        }
        Kind::Gateway => {
            let form = out.as_slice().iter().rev().nth(1).copied().unwrap_or(0);
            gateway(form, fields, origin, out)
        }
        Kind::Relay => relay(fields, origin, out),
        Kind::Host => host::parse(fields, out),
        Kind::Eui48 => hardware::<6>(fields, "six octets as in 00-00-5e-00-53-2a", out),
        Kind::Eui64 => hardware::<8>(fields, "eight octets as in 00-00-5e-ef-10-00-00-2a", out),
        Kind::Locator => {
            let field = fields.take("64 bits as in 2001:db8:1140:1000")?;
            let what = Cause::Field("64 bits as in 2001:db8:1140:1000");
            keep(&field, out.push(&address::locator(field.text).ok_or_else(|| field.fault(what))?))
        }
        Kind::Services => host::parse_services(fields, out),
        Kind::Atm => host::parse_atm(fields, out),
        Kind::Chain => chain(fields, origin, out),
        Kind::OldTypes => host::parse_old_types(fields, out),
        _ => unreachable!("`field` reads all other kinds"),
    }
}

/// Ties a full buffer to the field that filled it.
#[inline]
fn keep(field: &Field<'_>, result: Result<(), Full>) -> Result<(), Fault> {
    result.map_err(|Full| field.fault(Cause::RdataTooLong))
}

#[inline]
fn decimal<'w>(fields: &mut Fields<'w>, max: u64) -> Result<(u64, Field<'w>), Fault> {
    let field = fields.take("a number")?;
    match number::decimal(field.text, max) {
        Some(value) => Ok((value, field)),
        None => Err(field.fault(Cause::Number(max))),
    }
}

#[inline]
fn domain_name(fields: &mut Fields<'_>, origin: &Origin, out: &mut Octets) -> Result<(), Fault> {
    let field = fields.take("a domain name")?;
    let Ok(room) = out.room() else { return Err(field.fault(Cause::RdataTooLong)) };
    match name::to_wire(fields.octets, field.start, field.end(), fields.may_escape, origin, room) {
        Ok(length) => out.advance(length),
        Err(error) => return Err(field.fault(Cause::Name(error))),
    }
    Ok(())
}

fn base64_rest(fields: &mut Fields<'_>, least: usize, out: &mut Octets) -> Result<(), Fault> {
    let begin = out.len();
    let mut decoder = base64::Decoder::default();
    let mut last = None;
    while let Some(field) = fields.take_any() {
        decoder.push(field.text, out).map_err(|error| base64_fault(&field, error))?;
        last = Some(field);
    }
    match last {
        Some(field) if !decoder.is_whole() => Err(field.fault(Cause::Base64)),
        _ if out.len() - begin < least => Err(fields.missing("base64")),
        _ => Ok(()),
    }
}

fn base64_fault(field: &Field<'_>, error: base64::Error) -> Fault {
    field.fault(match error {
        base64::Error::NotBase64 => Cause::Base64,
        base64::Error::Full => Cause::RdataTooLong,
    })
}

fn hex_rest(fields: &mut Fields<'_>, out: &mut Octets) -> Result<(), Fault> {
    let mut decoder = hex::Decoder::default();
    let mut last = None;
    while let Some(field) = fields.take_any() {
        decoder.push(field.text, out).map_err(|error| hex_fault(&field, error))?;
        last = Some(field);
    }
    match last {
        Some(field) if !decoder.is_whole() => Err(field.fault(Cause::Hex)),
        _ => Ok(()),
    }
}

fn hex_fault(field: &Field<'_>, error: hex::Error) -> Fault {
    field.fault(match error {
        hex::Error::NotHex => Cause::Hex,
        hex::Error::Full => Cause::RdataTooLong,
    })
}

/// All of one field as hexadecimal.
pub(super) fn hex_field(field: &Field<'_>, out: &mut Octets) -> Result<(), Fault> {
    let mut decoder = hex::Decoder::default();
    decoder.push(field.text, out).map_err(|error| hex_fault(field, error))?;
    if decoder.is_whole() { Ok(()) } else { Err(field.fault(Cause::Hex)) }
}

/// All of one field as base64.
pub(super) fn base64_field(field: &Field<'_>, out: &mut Octets) -> Result<(), Fault> {
    let mut decoder = base64::Decoder::default();
    decoder.push(field.text, out).map_err(|error| base64_fault(field, error))?;
    if decoder.is_whole() { Ok(()) } else { Err(field.fault(Cause::Base64)) }
}

/// Hexadecimal with dots anywhere between, at least one octet.
pub(super) fn dotted_hex(field: &Field<'_>, digits: &[u8], out: &mut Octets) -> Result<(), Fault> {
    let mut decoder = hex::Decoder::default();
    let begin = out.len();
    for piece in digits.split(|&octet| octet == b'.') {
        decoder.push(piece, out).map_err(|error| hex_fault(field, error))?;
    }
    if decoder.is_whole() && out.len() > begin { Ok(()) } else { Err(field.fault(Cause::Hex)) }
}

fn salt(fields: &mut Fields<'_>, out: &mut Octets) -> Result<(), Fault> {
    let field = fields.take("a salt in hexadecimal or -")?;
    let begin = out.len();
    keep(&field, out.push_u8(0))?;
    if field.text != b"-" {
        hex_field(&field, out)?;
    }
    let Ok(length) = u8::try_from(out.len() - begin - 1) else {
        return Err(field.fault(Cause::Field("a salt of at most 255 octets")));
    };
    out.as_mut_slice()[begin] = length;
    Ok(())
}

#[inline]
fn types(may_be_empty: bool, fields: &mut Fields<'_>, out: &mut Octets) -> Result<(), Fault> {
    if fields.is_empty() && !may_be_empty {
        return Err(fields.missing("a record type"));
    }
    let mut bits = bitmap::Builder::new();
    while let Some(field) = fields.take_any() {
        match rtype::from_text(field.text) {
            Some(rtype) => bits.add(rtype),
            None => return Err(field.fault(Cause::Type)),
        }
    }
    bits.finish(out).map_err(|Full| Fault::at(fields.end_at(), fields.end_at(), Cause::RdataTooLong))
}

/// One character-string with its length octet.
fn text(field: &Field<'_>, out: &mut Octets) -> Result<(), Fault> {
    let begin = out.len();
    keep(field, out.push_u8(0))?;
    unescaped(field, out)?;
    let Ok(length) = u8::try_from(out.len() - begin - 1) else {
        return Err(field.fault(Cause::StringTooLong));
    };
    out.as_mut_slice()[begin] = length;
    Ok(())
}

fn unescaped(field: &Field<'_>, out: &mut Octets) -> Result<(), Fault> {
    string::unescape(field.text, out).map_err(|error| {
        field.fault(match error {
            string::Error::Escape => Cause::Escape,
            string::Error::Full => Cause::RdataTooLong,
        })
    })
}

fn hardware<const N: usize>(
    fields: &mut Fields<'_>,
    what: &'static str,
    out: &mut Octets,
) -> Result<(), Fault> {
    let field = fields.take(what)?;
    let address = address::hyphenated::<N>(field.text).ok_or_else(|| field.fault(Cause::Field(what)))?;
    keep(&field, out.push(&address))
}

/// A gateway of the form 0 (`.`), 1 (IPv4), 2 (IPv6) or 3 (name).
fn gateway(form: u8, fields: &mut Fields<'_>, origin: &Origin, out: &mut Octets) -> Result<(), Fault> {
    let kind = match form {
        1 => Kind::Ipv4,
        2 => Kind::Ipv6,
        3 => return domain_name(fields, origin, out),
        _ => {
            let taken = fields.take("a gateway")?;
            return match form {
                0 if taken.text == b"." => Ok(()),
                0 => Err(taken.fault(Cause::Field("`.` for no gateway"))),
                _ => Err(taken.fault(Cause::Field("a gateway type from 0 to 3 before this"))),
            };
        }
    };
    field(kind, fields, origin, out)
}

/// Discovery bit, type, and relay of AMTRELAY.
fn relay(fields: &mut Fields<'_>, origin: &Origin, out: &mut Octets) -> Result<(), Fault> {
    let (discovery, _) = decimal(fields, 1)?;
    let (form, field) = decimal(fields, 127)?;
    keep(&field, out.push_u8((discovery as u8) << 7 | form as u8))?;
    gateway(form as u8, fields, origin, out)
}

/// A6: prefix length, suffix unless the prefix is the whole address, name unless it is empty.
fn chain(fields: &mut Fields<'_>, origin: &Origin, out: &mut Octets) -> Result<(), Fault> {
    let (prefix, field) = decimal(fields, 128)?;
    let prefix = prefix as usize;
    keep(&field, out.push_u8(prefix as u8))?;
    if prefix < 128 {
        let field = fields.take("an IPv6 address")?;
        let mut address = address::ipv6(field.text).ok_or_else(|| field.fault(Cause::Ipv6))?;
        let first = prefix / 8;
        address[first] &= 0xff >> (prefix % 8);
        keep(&field, out.push(&address[first..]))?;
    }
    if prefix == 0 { Ok(()) } else { domain_name(fields, origin, out) }
}
