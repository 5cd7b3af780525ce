//! Character-strings (RFC 1035 3.3, 5.1): octets with `\X` and `\DDD` escapes.

use crate::octets::{Full, Octets};

/// Why a string could not be taken.
pub(crate) enum Error {
    Escape,
    Full,
}

impl From<Full> for Error {
    fn from(_: Full) -> Error {
        Error::Full
    }
}

/// Appends the octets that `text` stands for.
pub(crate) fn unescape(text: &[u8], out: &mut Octets) -> Result<(), Error> {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|&octet| octet == b'\\') {
        out.push(&rest[..at])?;
        let (octet, length) = escape(&rest[at..]).ok_or(Error::Escape)?;
        out.push_u8(octet)?;
        rest = &rest[at + length..];
    }
    Ok(out.push(rest)?)
}

/// The octet of the escape at the start of `text`, and the length of the escape.
pub(crate) fn escape(text: &[u8]) -> Option<(u8, usize)> {
    match *text {
        [b'\\', a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', ..] => {
            let value = (a - b'0') as u32 * 100 + (b - b'0') as u32 * 10 + (c - b'0') as u32;
            Some((u8::try_from(value).ok()?, 4))
        }
        [b'\\', b'0'..=b'9', ..] => None,
        [b'\\', octet, ..] => Some((octet, 2)),
        _ => None,
    }
}

/// Appends `octets` in quotes; quotes and backslashes escaped, octets outside printable ASCII as `\DDD`.
pub(crate) fn quote(octets: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for &octet in octets {
        match octet {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', octet]),
            b' '..=b'~' => out.push(octet),
            _ => {
                out.extend_from_slice(&[b'\\', b'0' + octet / 100, b'0' + octet / 10 % 10, b'0' + octet % 10])
            }
        }
    }
    out.push(b'"');
}
