//! Address prefix lists (RFC 3123): `[!]family:address/prefix`.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::octets::{Full, Octets};
use crate::text::{address, number};

const IPV4: u16 = 1;
const IPV6: u16 = 2;

/// Reads one item; `None` when it is none.
pub(crate) fn parse(text: &[u8], out: &mut Octets) -> Option<Result<(), Full>> {
    let (negated, text) = match text {
        [b'!', rest @ ..] => (0x80, rest),
        _ => (0, text),
    };
    let colon = text.iter().position(|&octet| octet == b':')?;
    let slash = text.iter().rposition(|&octet| octet == b'/')?;
    let (family, address) = (&text[..colon], text.get(colon + 1..slash)?);
    let prefix = number::decimal(&text[slash + 1..], 128)? as u8;
    let mut octets = [0; 16];
    let family = match family {
        b"1" if prefix <= 32 => {
            octets[..4].copy_from_slice(&address::ipv4(address)?);
            IPV4
        }
        b"2" => {
            octets = address::ipv6(address)?;
            IPV6
        }
        _ => return None,
    };
    // Trailing octets of zero are not sent (RFC 3123 4.1).
    let length = octets.iter().rposition(|&octet| octet != 0).map_or(0, |at| at + 1);
    let push = |out: &mut Octets| {
        out.push_u16(family)?;
        out.push(&[prefix, negated | length as u8])?;
        out.push(&octets[..length])
    };
    Some(push(out))
}

/// One item of a list.
struct Item<'a> {
    family: u16,
    prefix: u8,
    is_negated: bool,
    /// Without the trailing octets of zero.
    address: &'a [u8],
}

/// The item at the start and what follows.
fn item(list: &[u8]) -> Option<(Item<'_>, &[u8])> {
    let [upper, lower, prefix, length, rest @ ..] = list else { return None };
    let (address, rest) = rest.split_at_checked((length & 0x7f) as usize)?;
    let family = u16::from_be_bytes([*upper, *lower]);
    Some((Item { family, prefix: *prefix, is_negated: length & 0x80 != 0, address }, rest))
}

/// Whether a list in wire form is well-formed and of families that have a presentation format.
pub(crate) fn is_valid(mut list: &[u8]) -> bool {
    while let Some((item, rest)) = item(list) {
        let fits = match item.family {
            IPV4 => item.prefix <= 32 && item.address.len() <= 4,
            IPV6 => item.prefix <= 128 && item.address.len() <= 16,
            _ => false,
        };
        if !fits || item.address.last() == Some(&0) {
            return false;
        }
        list = rest;
    }
    list.is_empty()
}

/// Appends a valid list as text, each item after a blank.
pub(crate) fn print(mut list: &[u8], out: &mut Vec<u8>) {
    while let Some((item, rest)) = item(list) {
        let mut octets = [0; 16];
        let length = item.address.len().min(16);
        octets[..length].copy_from_slice(&item.address[..length]);
        let [a, b, c, d, ..] = octets;
        let address = match item.family {
            IPV4 => Ipv4Addr::from([a, b, c, d]).to_string(),
            _ => Ipv6Addr::from(octets).to_string(),
        };
        let mark = if item.is_negated { "!" } else { "" };
        out.extend_from_slice(format!(" {mark}{}:{address}/{}", item.family, item.prefix).as_bytes());
        list = rest;
    }
}
