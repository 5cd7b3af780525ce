//! Ids of zones, and names as PowerDNS writes them.
//!
//! ```text
//! id      the name in lower case with its last dot; what is no letter, digit, `.` or `-` as `=XX`; the root `=2E`
//! name    labels and dots; `.` and `\` in a label escaped, octets outside printable ASCII as `\DDD`
//! ```

use wire::{Name, NameBuf};

/// Octets of a name as text: 255 octets of four letters each.
pub const NAME_TEXT_OCTETS_MAX: usize = 1_024;

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// The name of a zone by its id, in lower case. Percent signs are decoded already; the last dot may be missing.
#[must_use]
pub fn zone(part: &[u8]) -> Option<NameBuf> {
    name(&escaped(part, b'=')?)
}

/// A name as text, in lower case, with or without its last dot.
#[must_use]
pub fn name(text: &[u8]) -> Option<NameBuf> {
    Some(read(text, Some(Name::root()))?.to_lowercase())
}

/// A name as text with its last dot, in the letters in which it is written.
#[must_use]
pub fn absolute(text: &[u8]) -> Option<NameBuf> {
    read(text, None)
}

fn read(text: &[u8], origin: Option<&Name>) -> Option<NameBuf> {
    // Neither nothing nor `@` is a name of anything here; octets that are no ASCII are somebody's letters in an encoding that the DNS does not have.
    let fits = (1..=NAME_TEXT_OCTETS_MAX).contains(&text.len()) && text.is_ascii() && text != b"@";
    let is_plain = text.iter().all(u8::is_ascii_graphic);
    (fits && is_plain).then(|| NameBuf::from_text_at(text, origin).ok()).flatten()
}

/// The octets that a part of a path or a query stands for. `with_blanks`: `+` is one, as in queries. `None`: a percent sign without two digits.
#[must_use]
pub fn percent_decoded(text: &str, with_blanks: bool) -> Option<Vec<u8>> {
    match with_blanks {
        // Before the digits are read, as a `+` that was written by its digits is one.
        true => escaped(text.replace('+', " ").as_bytes(), b'%'),
        false => escaped(text.as_bytes(), b'%'),
    }
}

/// The octets of a text in which `sign` and two hexadecimal digits stand for one.
fn escaped(text: &[u8], sign: u8) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&octet, after)) = rest.split_first() {
        rest = after;
        if octet != sign {
            out.push(octet);
            continue;
        }
        let ([upper, lower], after) = rest.split_first_chunk()?;
        let digit = |octet: &u8| char::from(*octet).to_digit(16);
        out.push((digit(upper)? << 4 | digit(lower)?) as u8);
        rest = after;
    }
    Some(out)
}

/// Appends the id of a zone.
pub fn put_id(zone: &Name, out: &mut Vec<u8>) {
    let mut text = Vec::new();
    put_name(&zone.to_lowercase(), &mut text);
    for octet in text {
        match octet {
            b'.' if zone.is_root() => out.extend_from_slice(b"=2E"),
            b'.' | b'-' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => out.push(octet),
            _ => {
                let [upper, lower] = [octet >> 4, octet & 15].map(|digit| DIGITS[usize::from(digit)]);
                out.extend_from_slice(&[b'=', upper, lower]);
            }
        }
    }
}

/// Appends a name as PowerDNS writes it: of what has a meaning in zone files, dots and backslashes alone are escaped.
pub fn put_name(name: &Name, out: &mut Vec<u8>) {
    if name.is_root() {
        out.push(b'.');
    }
    for label in name.labels() {
        for &octet in label {
            match octet {
                b'.' | b'\\' => out.extend_from_slice(&[b'\\', octet]),
                0x21..=0x7e => out.push(octet),
                _ => out.extend_from_slice(format!("\\{octet:03}").as_bytes()),
            }
        }
        out.push(b'.');
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(name: &str, id: &str) {
        let name = NameBuf::from_text(name).unwrap();
        let mut text = Vec::new();
        put_id(&name, &mut text);
        assert_eq!(String::from_utf8(text).unwrap(), id);
        assert_eq!(zone(id.as_bytes()), Some(name.to_lowercase()));
        assert_eq!(zone(id.to_ascii_lowercase().as_bytes()), Some(name.to_lowercase()));
    }

    #[test]
    fn ids() {
        check("Example.COM", "example.com.");
        check(".", "=2E");
        check("_tcp.0/25.2.0.192.in-addr.arpa", "=5Ftcp.0=2F25.2.0.192.in-addr.arpa.");
        check("a\\.b.\\000\\200.", "a=5C.b.=5C000=5C200.");
        assert_eq!(zone(b"example.com"), zone(b"EXAMPLE=2ecom."));
        assert_eq!(zone(b"=5c119ww.x"), zone(b"www.x."));
        for none in
            ["", "@", "..", "example.com..view", "a..b", "=", "=4", "=zz", "ex ample", "=40", "=ffx", "ü"]
        {
            assert_eq!(zone(none.as_bytes()), None, "{none}");
        }
        assert_eq!(zone("a.".repeat(600).as_bytes()), None);
    }

    #[test]
    fn percent_signs() {
        assert_eq!(percent_decoded("a%2Fb+%2b%253d", false), Some(b"a/b++%3d".to_vec()));
        assert_eq!(percent_decoded("a%2fb+%2B", true), Some(b"a/b +".to_vec()));
        assert_eq!(
            [percent_decoded("%", true), percent_decoded("%2", false), percent_decoded("%+2", false)],
            [None, None, None]
        );
    }

    proptest! {
        #[test]
        fn there_and_back(labels in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..12), 0..6)) {
            let mut wire = Vec::new();
            for label in &labels {
                wire.push(label.len() as u8);
                wire.extend_from_slice(label);
            }
            wire.push(0);
            let name = Name::from_wire(&wire).unwrap();
            let (mut text, mut id) = (Vec::new(), Vec::new());
            put_name(name, &mut text);
            put_id(name, &mut id);
            prop_assert_eq!(absolute(&text), Some(name.to_owned()));
            prop_assert_eq!(zone(&id), Some(name.to_lowercase()));
        }
    }
}
