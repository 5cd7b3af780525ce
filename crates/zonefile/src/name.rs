//! Names from text straight into a wire buffer (RFC 1035 5.1, 3.1), relative to the current origin.

use wire::Name;
use wire::name::{LABEL_OCTETS_MAX, NAME_OCTETS_MAX, NameError};

use crate::scan::dots;

/// Room a name is written into: 255 octets and what steps of sixteen octets may write beyond them.
pub(crate) const NAME_ROOM: usize = 288;

/// The name that relative names end in.
pub(crate) struct Origin {
    octets: [u8; NAME_OCTETS_MAX + 1],
    length: usize,
}

impl Origin {
    pub fn new(name: &Name) -> Origin {
        let mut origin = Origin { octets: [0; NAME_OCTETS_MAX + 1], length: 0 };
        origin.set(name);
        origin
    }

    pub fn set(&mut self, name: &Name) {
        self.length = name.octets().len();
        self.octets[..self.length].copy_from_slice(name.octets());
    }

    pub fn name(&self) -> &Name {
        Name::trusted(&self.octets[..self.length])
    }
}

/// Writes the name at `start..end` of the window `octets` to `room`; returns its length. `may_escape`:
/// there may be backslashes in the text.
#[inline]
pub(crate) fn to_wire(
    octets: &[u8],
    start: usize,
    end: usize,
    may_escape: bool,
    origin: &Origin,
    room: &mut [u8; NAME_ROOM],
) -> Result<usize, NameError> {
    if !may_escape && let Some(length) = plain(octets, start, end, origin, room) {
        return Ok(length);
    }
    general(&octets[start..end], origin, room)
}

/// The fast way for well-formed names without escapes: copies sixteen octets at a time one place to the
/// right, and overwrites each dot with the length of the label after it. `None`: take the general way.
#[inline]
fn plain(
    octets: &[u8],
    start: usize,
    end: usize,
    origin: &Origin,
    room: &mut [u8; NAME_ROOM],
) -> Option<usize> {
    let length = end - start;
    if length == 0 || length >= NAME_OCTETS_MAX {
        return None;
    }
    let mut label_at = 0; // where the length octet of the open label goes
    let mut done = 0;
    while done < length {
        let chunk = octets.get(start + done..)?.first_chunk::<16>()?;
        *room.get_mut(1 + done..)?.first_chunk_mut::<16>()? = *chunk;
        let mut dots = dots(chunk);
        let left = length - done;
        if left < 16 {
            dots &= (1 << left) - 1;
        }
        while dots != 0 {
            let dot_at = 1 + done + dots.trailing_zeros() as usize;
            let label = dot_at - label_at - 1;
            if label.wrapping_sub(1) >= LABEL_OCTETS_MAX {
                return None;
            }
            room[label_at] = label as u8;
            label_at = dot_at;
            dots &= dots - 1;
        }
        done += 16;
    }
    if label_at == length {
        room[label_at] = 0;
        return Some(length + 1);
    }
    let label = length - label_at;
    if label > LABEL_OCTETS_MAX || (length == 1 && room[1] == b'@') {
        return None;
    }
    room[label_at] = label as u8;
    append(origin, length + 1, room)
}

/// Ends the relative name of `length` octets with the origin.
#[inline]
fn append(origin: &Origin, length: usize, room: &mut [u8; NAME_ROOM]) -> Option<usize> {
    let whole = length + origin.length;
    if whole > NAME_OCTETS_MAX {
        return None;
    }
    // Most origins fit in sixteen octets, which one instruction copies.
    if origin.length <= 16 {
        *room.get_mut(length..)?.first_chunk_mut::<16>()? = *origin.octets.first_chunk()?;
    } else {
        room[length..whole].copy_from_slice(&origin.octets[..origin.length]);
    }
    Some(whole)
}

/// The way for names with escapes, for `@` and `.`, and for all errors.
#[cold]
fn general(text: &[u8], origin: &Origin, room: &mut [u8; NAME_ROOM]) -> Result<usize, NameError> {
    if text.is_empty() {
        return Err(NameError::EmptyLabel);
    }
    let name = wire::NameBuf::from_text_at(text, Some(origin.name()))?;
    let octets = name.octets();
    room[..octets.len()].copy_from_slice(octets);
    Ok(octets.len())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::NameBuf;

    /// Whatever the text, the fast way gives the name that the general way gives, or none.
    fn check(text: &[u8], origin: &Name) {
        let origin = Origin::new(origin);
        let mut octets = b"before ".to_vec();
        let start = octets.len();
        octets.extend_from_slice(text);
        let end = octets.len();
        octets.extend_from_slice(&[b'.'; 64]);
        let (mut fast, mut slow) = ([0xaa; NAME_ROOM], [0x55; NAME_ROOM]);
        let expected = general(text, &origin, &mut slow);
        let escapes = text.contains(&b'\\');
        let length = if escapes { None } else { plain(&octets, start, end, &origin, &mut fast) };
        if let Some(length) = length {
            assert_eq!(expected, Ok(length), "{}", text.escape_ascii());
            assert_eq!(fast[..length], slow[..length], "{}", text.escape_ascii());
        } else {
            let general_only = expected.is_err()
                || text.contains(&b'\\')
                || text == b"@"
                || text == b"."
                || text.len() > 254;
            assert!(general_only, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn shapes() {
        let net = NameBuf::from_text("net.").unwrap();
        let long = NameBuf::from_text("a.rather.long.origin.example.net.").unwrap();
        for origin in [Name::root(), &net, &long] {
            for text in [
                "a",
                "a.",
                ".",
                "@",
                "",
                "a..",
                ".a",
                "..",
                "a.b.c.d.e.f.g.h.i.j",
                "ns1.EXAMPLE.net.",
                "\\046a.b",
            ] {
                check(text.as_bytes(), origin);
            }
            for count in 60..66 {
                check("a".repeat(count).as_bytes(), origin);
                check(("a".repeat(count) + ".b.").as_bytes(), origin);
            }
            for count in 100..130 {
                check("a.".repeat(count).as_bytes(), origin);
                check(("a.".repeat(count) + "b").as_bytes(), origin);
            }
        }
    }

    proptest! {
        #[test]
        fn fast_equals_general(text in "[a-z.@A\\\\0-9\u{7f}-\u{ff}*-]{0,40}", origin in "[a-z]{0,12}") {
            check(text.as_bytes(), &NameBuf::from_text(&origin).unwrap());
        }
    }
}
