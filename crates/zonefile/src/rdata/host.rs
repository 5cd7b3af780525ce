//! RDATA of rare shape: host identities (RFC 8005), services of WKS (RFC 1035 3.4.2), the type bitmap of
//! NXT (RFC 2535 5.2), ATM addresses.

use std::io::Write;

use super::check::Fault as Malformed;
use super::{bitmap, parse};
use crate::error::{Cause, Fault};
use crate::fields::Fields;
use crate::octets::Octets;
use crate::text::{base64, hex, number};

/// Services of WKS that are written by name in practice; all others are numbers.
const SERVICES: &[(u16, &str)] = &[
    (7, "echo"),
    (9, "discard"),
    (13, "daytime"),
    (20, "ftp-data"),
    (21, "ftp"),
    (22, "ssh"),
    (23, "telnet"),
    (25, "smtp"),
    (37, "time"),
    (42, "nameserver"),
    (43, "nicname"),
    (53, "domain"),
    (69, "tftp"),
    (79, "finger"),
    (80, "http"),
    (110, "pop3"),
    (113, "auth"),
    (119, "nntp"),
    (123, "ntp"),
    (143, "imap"),
    (443, "https"),
];
const PROTOCOLS: &[(u8, &str)] = &[(1, "icmp"), (6, "tcp"), (17, "udp")];

/// Greatest type an NXT bitmap without escape bit can hold (RFC 2535 5.2).
const OLD_TYPES_OCTETS_MAX: usize = 16;

/// Reads algorithm, tag and key of a host identity.
pub(crate) fn parse(fields: &mut Fields<'_>, out: &mut Octets) -> Result<(), Fault> {
    let begin = out.len();
    let algorithm = fields.take("a public key algorithm")?;
    let number = number::decimal(algorithm.text, 255).ok_or_else(|| algorithm.fault(Cause::Number(255)))?;
    let tag = fields.take("a host identity tag in hexadecimal")?;
    out.push(&[0, number as u8, 0, 0]).map_err(|_| tag.fault(Cause::RdataTooLong))?;
    parse::hex_field(&tag, out)?;
    let tag_length = out.len() - begin - 4;
    let key = fields.take("a public key in base64")?;
    parse::base64_field(&key, out)?;
    let key_length = out.len() - begin - 4 - tag_length;
    let tag_length = u8::try_from(tag_length).ok().filter(|&length| length > 0);
    let key_length = u16::try_from(key_length).ok().filter(|&length| length > 0);
    let head = &mut out.as_mut_slice()[begin..];
    head[0] = tag_length.ok_or_else(|| tag.fault(Cause::Field("a tag of 1 to 255 octets")))?;
    head[2..4].copy_from_slice(&key_length.ok_or_else(|| key.fault(Cause::RdataTooLong))?.to_be_bytes());
    Ok(())
}

/// The extent of lengths, algorithm, tag and key.
pub(crate) fn extent(field: &[u8]) -> Result<usize, Malformed> {
    let [tag, _, upper, lower, ..] = *field else { return Err(Malformed::Truncated) };
    let key = u16::from_be_bytes([upper, lower]) as usize;
    let length = 4 + tag as usize + key;
    match field.len() < length {
        true => Err(Malformed::Truncated),
        false if tag == 0 || key == 0 => Err(Malformed::Host),
        false => Ok(length),
    }
}

/// Appends a valid host identity as text.
pub(crate) fn print(field: &[u8], out: &mut Vec<u8>) {
    let (head, rest) = field.split_at(4);
    let (tag, key) = rest.split_at(head[0] as usize);
    out.extend_from_slice(format!("{} ", head[1]).as_bytes());
    hex::encode(tag, out);
    out.push(b' ');
    base64::encode(key, out);
}

/// Reads protocol and services of WKS.
pub(crate) fn parse_services(fields: &mut Fields<'_>, out: &mut Octets) -> Result<(), Fault> {
    let field = fields.take("a protocol number, tcp or udp")?;
    let full = |_| field.fault(Cause::RdataTooLong);
    let named = PROTOCOLS.iter().find(|entry| entry.1.as_bytes().eq_ignore_ascii_case(field.text));
    let protocol =
        named.map(|entry| entry.0).or_else(|| number::decimal(field.text, 255).map(|number| number as u8));
    out.push_u8(protocol.ok_or_else(|| field.fault(Cause::Field("a protocol number, tcp or udp")))?)
        .map_err(full)?;
    let mut ports = vec![0u8; 8192];
    while let Some(field) = fields.take_any() {
        let named = SERVICES.iter().find(|entry| entry.1.as_bytes().eq_ignore_ascii_case(field.text));
        let port = named
            .map(|entry| entry.0 as usize)
            .or_else(|| number::decimal(field.text, 65535).map(|port| port as usize));
        let port =
            port.ok_or_else(|| field.fault(Cause::Field("a port number or the name of a common service")))?;
        ports[port / 8] |= 0x80 >> (port % 8);
    }
    let length = ports.iter().rposition(|&octet| octet != 0).map_or(0, |at| at + 1);
    out.push(&ports[..length]).map_err(full)
}

/// Whether octets are a protocol and a bitmap of at most 65,536 ports without trailing zeros.
pub(crate) fn is_services(field: &[u8]) -> bool {
    (1..=8193).contains(&field.len()) && (field.len() == 1 || field.last() != Some(&0))
}

/// Appends protocol and ports, as numbers.
pub(crate) fn print_services(field: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(field[0].to_string().as_bytes());
    for port in set_bits(&field[1..]) {
        // Writing to memory does not fail.
        let _ = write!(out, " {port}");
    }
}

fn set_bits(bits: &[u8]) -> impl Iterator<Item = usize> {
    (0..bits.len() * 8).filter(|bit| bits[bit / 8] & (0x80 >> (bit % 8)) != 0)
}

/// Reads the types of NXT, all below 128.
pub(crate) fn parse_old_types(fields: &mut Fields<'_>, out: &mut Octets) -> Result<(), Fault> {
    let mut bits = [0u8; OLD_TYPES_OCTETS_MAX];
    let first = fields.take("a record type")?;
    let mut next = Some(first);
    while let Some(field) = next {
        let rtype = wire::iana::rtype::from_text(field.text).filter(|rtype| (1..128).contains(rtype));
        let rtype = rtype.ok_or_else(|| field.fault(Cause::Field("a record type below 128")))?;
        bits[rtype as usize / 8] |= 0x80 >> (rtype % 8);
        next = fields.take_any();
    }
    let length = bits.iter().rposition(|&octet| octet != 0).map_or(0, |at| at + 1);
    out.push(&bits[..length]).map_err(|_| first.fault(Cause::RdataTooLong))
}

/// Whether octets are such a bitmap: 1 to 16 octets, no trailing zero, the bit of type 0 clear.
pub(crate) fn is_old_bitmap(field: &[u8]) -> bool {
    let length_fits = (1..=OLD_TYPES_OCTETS_MAX).contains(&field.len());
    length_fits && field[0] & 0x80 == 0 && field.last() != Some(&0)
}

/// Appends the types of NXT, each after a blank.
pub(crate) fn print_old_types(field: &[u8], out: &mut Vec<u8>) {
    for bit in set_bits(field) {
        bitmap::print_type(bit as u16, out);
    }
}

/// Reads an ATM address: `+` and digits (E.164), or hexadecimal with dots anywhere between.
pub(crate) fn parse_atm(fields: &mut Fields<'_>, out: &mut Octets) -> Result<(), Fault> {
    let field = fields.take("an ATM address")?;
    let bad = || field.fault(Cause::Field("an ATM address: `+` and digits, or hexadecimal"));
    let full = |_| field.fault(Cause::RdataTooLong);
    if let [b'+', digits @ ..] = field.text {
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(bad());
        }
        return out.push_u8(1).and_then(|()| out.push(digits)).map_err(full);
    }
    out.push_u8(0).map_err(full)?;
    parse::dotted_hex(&field, field.text, out)
}

/// Appends an ATM address as text; `None` for formats other than the two.
pub(crate) fn print_atm(field: &[u8], out: &mut Vec<u8>) -> Option<()> {
    match field {
        [0, address @ ..] if !address.is_empty() => hex::encode(address, out),
        [1, digits @ ..] if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) => {
            out.push(b'+');
            out.extend_from_slice(digits);
        }
        _ => return None,
    }
    Some(())
}
