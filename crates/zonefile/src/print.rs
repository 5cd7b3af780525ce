//! Records to text: one line each, `owner TTL IN TYPE RDATA`, that reads back as the same record.

use std::net::{Ipv4Addr, Ipv6Addr};

use wire::Name;
use wire::iana::rtype;

use crate::rdata::{self, Kind};
use crate::text::{base32, base64, hex, string, time};

/// Appends the record as one line with its newline.
pub fn line(owner: &Name, ttl: u32, rtype: u16, rdata: &[u8], out: &mut Vec<u8>) {
    name(owner, out);
    out.push(b' ');
    decimal(ttl as u64, out);
    out.extend_from_slice(b" IN ");
    match rtype::mnemonic(rtype) {
        Some(text) => out.extend_from_slice(text.as_bytes()),
        None => out.extend_from_slice(format!("TYPE{rtype}").as_bytes()),
    }
    rdata_fields(rtype, rdata, out);
    out.push(b'\n');
}

/// The RDATA as text; `\#` where the type has no presentation format or the octets are not of its form.
pub fn rdata(rtype: u16, rdata: &[u8]) -> String {
    let mut out = Vec::new();
    rdata_fields(rtype, rdata, &mut out);
    let text = out.strip_prefix(b" ").unwrap_or(&out);
    String::from_utf8_lossy(text).into_owned()
}

/// Appends each field after a blank.
fn rdata_fields(rtype: u16, rdata: &[u8], out: &mut Vec<u8>) {
    let begin = out.len();
    if rdata::check(rtype, rdata).is_err() || known_fields(rtype, rdata, out).is_none() {
        out.truncate(begin);
        out.extend_from_slice(b" \\# ");
        decimal(rdata.len() as u64, out);
        if !rdata.is_empty() {
            out.push(b' ');
            hex::encode(rdata, out);
        }
    }
}

fn known_fields(rtype: u16, rdata: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut at = 0;
    for &kind in rdata::kinds(rtype)? {
        let end = at + rdata::extent(kind, rdata, at).ok()?;
        field(kind, rdata, at, end, out)?;
        at = end;
    }
    Some(())
}

/// Appends one field with the blank before it; some kinds are several fields or none.
fn field(kind: Kind, rdata: &[u8], start: usize, end: usize, out: &mut Vec<u8>) -> Option<()> {
    let octets = &rdata[start..end];
    let number = || octets.iter().fold(0u64, |value, &octet| value << 8 | octet as u64);
    match kind {
        // These write their own blanks, one before each of their items.
        Kind::Names => return names(octets, out),
        Kind::Texts => return texts(octets, out),
        Kind::Types(_) => {
            rdata::bitmap::types(octets).for_each(|rtype| rdata::bitmap::print_type(rtype, out));
            return Some(());
        }
        Kind::OldTypes => {
            rdata::host::print_old_types(octets, out);
            return Some(());
        }
        Kind::Params => {
            rdata::params::print(octets, out);
            return Some(());
        }
        Kind::Prefixes => {
            rdata::prefixes::print(octets, out);
            return Some(());
        }
        Kind::TextOptional | Kind::Base64(_) | Kind::Hex(_) if octets.is_empty() => return Some(()),
        _ => out.push(b' '),
    }
    match kind {
        Kind::Name => name(Name::trusted(octets), out),
        Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 | Kind::Span | Kind::Algorithm | Kind::Certificate => {
            decimal(number(), out);
        }
        Kind::Type => {
            out.pop();
            rdata::bitmap::print_type(number() as u16, out);
        }
        Kind::Scheme if octets == [1] => out.extend_from_slice(b"NOTIFY"),
        Kind::Scheme => decimal(number(), out),
        Kind::Time => {
            let [year, month, day, hour, minute, second] = time::civil(number() as u32);
            out.extend_from_slice(
                format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}").as_bytes(),
            );
        }
        Kind::Ipv4 => ipv4(octets.try_into().ok()?, out),
        Kind::Ipv6 => ipv6(octets.try_into().ok()?, out),
        Kind::Text | Kind::TextOptional | Kind::Digits => string::quote(&octets[1..], out),
        Kind::TextRest => string::quote(octets, out),
        Kind::Tag => out.extend_from_slice(&octets[1..]),
        Kind::Base64OrDash if octets.is_empty() => out.push(b'-'),
        Kind::Base64(_) | Kind::Base64OrDash => base64::encode(octets, out),
        Kind::Hex(_) => hex::encode(octets, out),
        Kind::Salt if octets.len() == 1 => out.push(b'-'),
        Kind::Salt => hex::encode(&octets[1..], out),
        Kind::Hash => base32::encode(&octets[1..], out),
        Kind::Location => rdata::location::print(octets, out),
        Kind::Nsap => {
            out.extend_from_slice(b"0x");
            hex::encode(octets, out);
        }
        Kind::Gateway => gateway(rdata[start - 2], octets, out)?,
        Kind::Relay => {
            decimal((octets[0] >> 7) as u64, out);
            out.push(b' ');
            decimal((octets[0] & 0x7f) as u64, out);
            out.push(b' ');
            gateway(octets[0] & 0x7f, &octets[1..], out)?;
        }
        Kind::Host => rdata::host::print(octets, out),
        Kind::Eui48 | Kind::Eui64 => {
            let pairs: Vec<String> = octets.iter().map(|octet| format!("{octet:02x}")).collect();
            out.extend_from_slice(pairs.join("-").as_bytes());
        }
        Kind::Locator => {
            let (groups, _) = octets.as_chunks::<2>();
            let groups: Vec<String> =
                groups.iter().map(|&group| format!("{:x}", u16::from_be_bytes(group))).collect();
            out.extend_from_slice(groups.join(":").as_bytes());
        }
        Kind::Services => rdata::host::print_services(octets, out),
        Kind::Atm => rdata::host::print_atm(octets, out)?,
        Kind::Chain => chain(octets, out)?,
        Kind::Names | Kind::Texts | Kind::Types(_) | Kind::OldTypes | Kind::Params | Kind::Prefixes => {}
    }
    Some(())
}

fn names(mut octets: &[u8], out: &mut Vec<u8>) -> Option<()> {
    while !octets.is_empty() {
        let (first, rest) = Name::split_from(octets).ok()?;
        out.push(b' ');
        name(first, out);
        octets = rest;
    }
    Some(())
}

fn texts(mut octets: &[u8], out: &mut Vec<u8>) -> Option<()> {
    while let [length, rest @ ..] = octets {
        let (text, rest) = rest.split_at_checked(*length as usize)?;
        out.push(b' ');
        string::quote(text, out);
        octets = rest;
    }
    Some(())
}

fn gateway(form: u8, octets: &[u8], out: &mut Vec<u8>) -> Option<()> {
    match form {
        0 => out.push(b'.'),
        1 => ipv4(octets.try_into().ok()?, out),
        2 => ipv6(octets.try_into().ok()?, out),
        _ => name(Name::from_wire(octets).ok()?, out),
    }
    Some(())
}

fn chain(octets: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let prefix = octets[0] as usize;
    decimal(prefix as u64, out);
    let mut address = [0; 16];
    let (suffix, rest) = octets[1..].split_at_checked((128 - prefix).div_ceil(8))?;
    address[16 - suffix.len()..].copy_from_slice(suffix);
    if prefix < 128 {
        out.push(b' ');
        ipv6(address, out);
    }
    if prefix > 0 {
        out.push(b' ');
        name(Name::from_wire(rest).ok()?, out);
    }
    Some(())
}

fn ipv4(octets: [u8; 4], out: &mut Vec<u8>) {
    out.extend_from_slice(Ipv4Addr::from(octets).to_string().as_bytes());
}

fn ipv6(octets: [u8; 16], out: &mut Vec<u8>) {
    out.extend_from_slice(Ipv6Addr::from(octets).to_string().as_bytes());
}

fn decimal(value: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = value;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends a name as [`Name`] displays it.
fn name(name: &Name, out: &mut Vec<u8>) {
    if name.is_root() {
        out.push(b'.');
    }
    for label in name.labels() {
        for &octet in label {
            match octet {
                b'.' | b'\\' | b'"' | b'(' | b')' | b';' | b'@' | b'$' => {
                    out.extend_from_slice(&[b'\\', octet])
                }
                0x21..=0x7e => out.push(octet),
                _ => out.extend_from_slice(format!("\\{octet:03}").as_bytes()),
            }
        }
        out.push(b'.');
    }
}
