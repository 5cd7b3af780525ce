//! Names from text straight into a wire buffer (RFC 1035 5.1, 3.1), relative to the current origin.

use wire::Name;
use wire::name::{LABEL_OCTETS_MAX, NAME_OCTETS_MAX, NameError};

use crate::scan::dots;
use crate::text::string;

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
#[inline(always)] // else shared by both ways, and a call in the fast one: 30 instructions a record more
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
#[inline(never)]
fn general(text: &[u8], origin: &Origin, room: &mut [u8; NAME_ROOM]) -> Result<usize, NameError> {
    match text {
        b"" => return Err(NameError::EmptyLabel),
        b"." => {
            room[0] = 0;
            return Ok(1);
        }
        b"@" => return append(origin, 0, room).ok_or(NameError::NameTooLong),
        _ => {}
    }
    let (mut label_at, mut length, mut at) = (0, 1, 0);
    while at < text.len() {
        let (octet, taken) = match text[at] {
            b'.' => {
                close_label(room, label_at, length)?;
                (label_at, length, at) = (length, length + 1, at + 1);
                continue;
            }
            b'\\' => string::escape(&text[at..]).ok_or(NameError::BadEscape)?,
            octet => (octet, 1),
        };
        // A label is closed before it can leave the room: names end at 255 octets, labels at 63.
        if length - label_at > LABEL_OCTETS_MAX {
            return Err(NameError::LabelTooLong);
        }
        room[length] = octet;
        (length, at) = (length + 1, at + taken);
        if length > NAME_OCTETS_MAX {
            return Err(NameError::NameTooLong);
        }
    }
    if length == label_at + 1 {
        // The text ended in a dot, so the name is absolute.
        room[label_at] = 0;
        return if length > NAME_OCTETS_MAX { Err(NameError::NameTooLong) } else { Ok(length) };
    }
    close_label(room, label_at, length)?;
    append(origin, length, room).ok_or(NameError::NameTooLong)
}

/// Writes the length of the label whose length octet is at `label_at` and whose text ends at `end`.
fn close_label(room: &mut [u8; NAME_ROOM], label_at: usize, end: usize) -> Result<(), NameError> {
    match end - label_at - 1 {
        0 => Err(NameError::EmptyLabel),
        length @ 1..=LABEL_OCTETS_MAX => {
            room[label_at] = length as u8;
            if end >= NAME_OCTETS_MAX { Err(NameError::NameTooLong) } else { Ok(()) }
        }
        _ => Err(NameError::LabelTooLong),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::NameBuf;

    /// Whatever the text, the fast way gives the name that the general way gives, or none; and the general way
    /// gives what [`NameBuf`] reads.
    fn check(text: &[u8], origin: &Name) {
        let origin = Origin::new(origin);
        let mut octets = b"before ".to_vec();
        let start = octets.len();
        octets.extend_from_slice(text);
        let end = octets.len();
        octets.extend_from_slice(&[b'.'; 64]);
        let (mut fast, mut slow) = ([0xaa; NAME_ROOM], [0x55; NAME_ROOM]);
        let expected = general(text, &origin, &mut slow);
        if !text.is_empty() {
            let reference = NameBuf::from_text_at(text, Some(origin.name()));
            let found = expected.map(|length| slow[..length].to_vec());
            assert_eq!(found.is_ok(), reference.is_ok(), "{}", text.escape_ascii());
            assert_eq!(
                found.ok(),
                reference.ok().map(|name| name.octets().to_vec()),
                "{}",
                text.escape_ascii()
            );
        }
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
            for text in ["\\", "\\2", "\\256", "a\\.", "a\\..", "\\@", "\\000.\\255"] {
                check(text.as_bytes(), origin);
            }
            for count in 248..258 {
                let long = "\\097bcd.".repeat(60);
                check(&long.as_bytes()[..long.len().min(count * 8 / 5)], origin);
                check(("\\097.".repeat(count / 2) + "b").as_bytes(), origin);
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
