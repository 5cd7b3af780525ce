//! Where the labels of a name stand in a message.
//!
//! A name in a message may be compressed (RFC 1035 4.1.4): its labels then stand in several runs. [`Places`]
//! lists where each label's length octet is, from left to right, and last where the root label is:
//!
//! ```text
//! offset  12: 3 w w w 7 e x a m p l e 0      40: 4 m a i l c0 10
//! places of the name at 12: 12 16 24          places of the name at 40: 40 16 24
//! ```
//!
//! A place of an ancestor is what a compression pointer to it must hold, if it is below 2^14.

use crate::Name;
use crate::name::{LABELS_MAX, NAME_OCTETS_MAX, NameError};

/// The places of one name, in a buffer made to be used again for name after name.
pub struct Places {
    /// Label by label, then the root.
    at: [u16; LABELS_MAX + 1],
    labels: u8,
    octets: u8,
}

impl Default for Places {
    fn default() -> Places {
        Places::new()
    }
}

impl Places {
    /// Places of nothing: a root at offset 0.
    pub fn new() -> Places {
        Places { at: [0; LABELS_MAX + 1], labels: 0, octets: 1 }
    }

    /// Reads the uncompressed name at `start`, as the name of a question must be: nothing stands before it
    /// that a pointer could point at. Returns where it ends.
    #[inline(always)]
    pub fn read_plain(&mut self, message: &[u8], start: usize) -> Result<usize, NameError> {
        let mut at = start;
        let mut labels = 0;
        loop {
            let Some(&length) = message.get(at) else { return Err(NameError::Truncated) };
            // A name of at most 255 octets has at most 127 labels, so the index stays in the table.
            self.at[labels] = at as u16;
            at += 1 + length as usize;
            if length == 0 {
                break;
            }
            if length > 63 {
                return Err(NameError::BadLabelKind);
            }
            labels += 1;
            // The root label is still to come.
            if at - start >= NAME_OCTETS_MAX {
                return Err(NameError::NameTooLong);
            }
        }
        self.labels = labels as u8;
        self.octets = (at - start) as u8;
        Ok(at)
    }

    /// Reads the name at `start`, which may be compressed. Returns where it ends in its own place.
    ///
    /// Pointers must point backwards, before the run of labels they end, so the work is bounded by the message.
    pub fn follow(&mut self, message: &[u8], start: usize) -> Result<usize, NameError> {
        let (mut at, mut run, mut end) = (start, start, None);
        let (mut labels, mut octets) = (0, 1);
        loop {
            let Some(&length) = message.get(at) else { return Err(NameError::Truncated) };
            match length {
                0 => {
                    self.at[labels] = at as u16;
                    self.labels = labels as u8;
                    self.octets = octets as u8;
                    return Ok(end.unwrap_or(at + 1));
                }
                1..=63 => {
                    octets += 1 + length as usize;
                    if octets > NAME_OCTETS_MAX {
                        return Err(NameError::NameTooLong);
                    }
                    self.at[labels] = at as u16;
                    labels += 1;
                    at += 1 + length as usize;
                }
                0xc0..=0xff => {
                    let Some(&low) = message.get(at + 1) else { return Err(NameError::Truncated) };
                    let target = usize::from(length & 0x3f) << 8 | usize::from(low);
                    if target >= run {
                        return Err(NameError::BadLabelKind);
                    }
                    end = end.or(Some(at + 2));
                    (at, run) = (target, target);
                }
                _ => return Err(NameError::BadLabelKind),
            }
        }
    }

    /// How many labels, root excluded.
    #[inline(always)]
    pub fn label_count(&self) -> usize {
        self.labels as usize
    }

    /// Octets of the name when it is not compressed, 1..=255.
    pub fn name_octets(&self) -> usize {
        self.octets as usize
    }

    /// The places of the labels from left to right, the root excluded.
    #[inline(always)]
    pub fn labels(&self) -> &[u16] {
        &self.at[..self.labels as usize]
    }

    /// The place of the ancestor-or-self with `labels` labels, at most [`Places::label_count`].
    #[inline(always)]
    pub fn of_ancestor(&self, labels: usize) -> u16 {
        debug_assert!(labels <= self.labels as usize);
        self.at[(self.labels as usize).saturating_sub(labels)]
    }

    /// The ancestor-or-self with `labels` labels, uncompressed in `to`. `message`: the one that was read.
    pub fn copy_ancestor<'b>(
        &self,
        message: &[u8],
        labels: usize,
        to: &'b mut [u8; NAME_OCTETS_MAX],
    ) -> &'b Name {
        let mut length = 0;
        let first = self.labels().len().saturating_sub(labels);
        for &place in &self.labels()[first..] {
            let octets = 1 + message[place as usize] as usize;
            to[length..length + octets].copy_from_slice(&message[place as usize..place as usize + octets]);
            length += octets;
        }
        to[length] = 0;
        Name::trusted(&to[..length + 1])
    }
}

/// Whether the names at two places of a message are equal, ignoring case (RFC 4343).
pub fn same_name(message: &[u8], first: &Places, second: usize) -> bool {
    let mut other = Places::new();
    if other.follow(message, second).is_err() || other.labels != first.labels {
        return false;
    }
    let label = |&place: &u16| message.get(place as usize..)?.get(..=message[place as usize] as usize);
    first.labels().iter().zip(other.labels()).all(|(a, b)| match (label(a), label(b)) {
        (Some(a), Some(b)) => a.eq_ignore_ascii_case(b),
        _ => false,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{NameBuf, SortKey};

    const MESSAGE: &[u8] = b"\x03www\x07Example\0\x04mail\xc0\x04\x03WWW\xc0\x04";

    #[test]
    fn labels_are_found_through_pointers() {
        let mut places = Places::new();
        assert_eq!(places.read_plain(MESSAGE, 0), Ok(13));
        assert_eq!((places.labels(), places.of_ancestor(0)), (&[0, 4][..], 12));
        assert_eq!(places.follow(MESSAGE, 13), Ok(20));
        assert_eq!((places.labels(), places.of_ancestor(1)), (&[13, 4][..], 4));
        assert_eq!(places.name_octets(), 14);
        let mut key = SortKey::new();
        key.set_places(MESSAGE, places.labels());
        assert_eq!(key.octets(), b"example\0mail\0");
        let mut buffer = [0; 255];
        assert_eq!(places.copy_ancestor(MESSAGE, 2, &mut buffer).to_string(), "mail.Example.");
        assert_eq!(places.copy_ancestor(MESSAGE, 0, &mut buffer).to_string(), ".");
    }

    #[test]
    fn equal_names() {
        let mut places = Places::new();
        places.follow(MESSAGE, 20).unwrap();
        assert!(same_name(MESSAGE, &places, 0) && !same_name(MESSAGE, &places, 13));
        assert!(!same_name(MESSAGE, &places, 4) && !same_name(MESSAGE, &places, 99));
    }

    #[test]
    fn hostile_names() {
        let mut places = Places::new();
        assert_eq!(places.follow(b"\xc0\0", 0), Err(NameError::BadLabelKind));
        assert_eq!(places.follow(b"\x01a\xc0\0", 0), Err(NameError::BadLabelKind));
        assert_eq!(places.follow(b"\xc0\x02\0", 0), Err(NameError::BadLabelKind));
        assert_eq!(places.follow(b"\x40", 0), Err(NameError::BadLabelKind));
        assert_eq!(places.follow(b"\0\xc0", 1), Err(NameError::Truncated));
        assert_eq!(places.read_plain(b"\x01a\xc0\0", 0), Err(NameError::BadLabelKind));
        assert_eq!(places.read_plain(b"\x05a", 0), Err(NameError::Truncated));
        let long = NameBuf::from_text(&"a.".repeat(127)).unwrap();
        assert_eq!(places.read_plain(long.octets(), 0), Ok(255));
        assert_eq!(places.label_count(), 127);
        let too_long = [&b"\x01b"[..], long.octets()].concat();
        assert_eq!(places.read_plain(&too_long, 0), Err(NameError::NameTooLong));
        assert_eq!(places.follow(&too_long, 0), Err(NameError::NameTooLong));
    }
}
