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
use crate::header::HEADER_OCTETS;
use crate::name::{LABEL_OCTETS_MAX, LABELS_MAX, NAME_OCTETS_MAX, NameError, POINTERS_MAX};

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
    /// Pointers must point backwards, before the run of labels they end, and not into the header, whose ID and counts change;
    /// there are at most [`POINTERS_MAX`](crate::name::POINTERS_MAX).
    #[inline]
    pub fn follow(&mut self, message: &[u8], start: usize) -> Result<usize, NameError> {
        self.follow_counted(message, start).map(|walked| walked.end)
    }

    /// The same, with what was met on the way.
    #[inline(always)]
    pub(crate) fn follow_counted(&mut self, message: &[u8], start: usize) -> Result<Walked, NameError> {
        let at = &mut self.at;
        // A name of at most 255 octets has at most 127 labels, so the index stays in the table.
        let walked = walk(message, start, |label, place| at[label] = place as u16, |_, _| {})?;
        self.labels = walked.labels as u8;
        self.octets = walked.octets as u8;
        Ok(walked)
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

/// What a walk along a name met.
#[derive(Clone, Copy)]
pub(crate) struct Walked {
    /// Where the name ends in its own place.
    pub end: usize,
    /// Labels, root excluded.
    pub labels: usize,
    /// Octets without compression.
    pub octets: usize,
    /// Pointers.
    pub pointers: usize,
}

/// Walks along the name at `start`: the rules of compression, here only. `label` gets the number of each label and where its
/// length octet is, the root label's last; whether its octets are all there is known only when the walk goes on. `run_of_labels` gets
/// where each run of labels begins and ends, the last with the root label.
#[inline(always)]
pub(crate) fn walk(
    message: &[u8],
    start: usize,
    mut label: impl FnMut(usize, usize),
    mut run_of_labels: impl FnMut(usize, usize),
) -> Result<Walked, NameError> {
    let (mut at, mut run, mut end) = (start, start, 0);
    let (mut labels, mut pointers) = (0, 0);
    // Where the name would have begun if its labels stood in one run that ends here.
    let mut begin = start;
    loop {
        let Some(&length) = message.get(at) else { return Err(NameError::Truncated) };
        if length != 0 && usize::from(length) <= LABEL_OCTETS_MAX {
            // Octets are counted at the end: until then, the count of labels bounds the work.
            if labels == LABELS_MAX {
                return Err(NameError::NameTooLong);
            }
            label(labels, at);
            labels += 1;
            at += 1 + usize::from(length);
            continue;
        }
        if length == 0 {
            let octets = at.wrapping_sub(begin) + 1;
            if octets > NAME_OCTETS_MAX {
                return Err(NameError::NameTooLong);
            }
            label(labels, at);
            run_of_labels(run, at + 1);
            let end = if pointers == 0 { at + 1 } else { end };
            return Ok(Walked { end, labels, octets, pointers });
        }
        if length < 0xc0 {
            return Err(NameError::BadLabelKind);
        }
        let Some(&low) = message.get(at + 1) else { return Err(NameError::Truncated) };
        let target = usize::from(length & 0x3f) << 8 | usize::from(low);
        if target >= run || target < HEADER_OCTETS || pointers == POINTERS_MAX {
            return Err(NameError::BadPointer);
        }
        run_of_labels(run, at);
        if pointers == 0 {
            end = at + 2;
        }
        pointers += 1;
        begin = begin.wrapping_add(target).wrapping_sub(at);
        (at, run) = (target, target);
    }
}

/// Whether the names at two places of a message are equal, ignoring case (RFC 4343).
pub fn same_name(message: &[u8], first: &Places, second: usize) -> bool {
    let mut other = Places::new();
    if other.follow(message, second).is_err() || other.labels != first.labels {
        return false;
    }
    first.labels().iter().zip(other.labels()).all(|(&a, &b)| is_same_label(message, a, b))
}

/// Whether the labels at two places of a message are equal, ignoring case.
pub fn is_same_label(message: &[u8], first: u16, second: u16) -> bool {
    let label = |place: u16| message.get(place as usize..)?.get(..=message[place as usize] as usize);
    match (label(first), label(second)) {
        (Some(a), Some(b)) => a.eq_ignore_ascii_case(b),
        _ => false,
    }
}

/// How many labels two names of a message have in common at their ends, the root excluded, ignoring case.
pub fn shared_labels(message: &[u8], first: &Places, second: &Places) -> usize {
    let pairs = first.labels().iter().rev().zip(second.labels().iter().rev());
    pairs.take_while(|&(&a, &b)| is_same_label(message, a, b)).count()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{NameBuf, SortKey};

    const MESSAGE: &[u8] = b"............\x03www\x07Example\0\x04mail\xc0\x10\x03WWW\xc0\x10";

    #[test]
    fn labels_are_found_through_pointers() {
        let mut places = Places::new();
        assert_eq!(places.read_plain(MESSAGE, 12), Ok(25));
        assert_eq!((places.labels(), places.of_ancestor(0)), (&[12, 16][..], 24));
        assert_eq!(places.follow(MESSAGE, 25), Ok(32));
        assert_eq!((places.labels(), places.of_ancestor(1)), (&[25, 16][..], 16));
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
        places.follow(MESSAGE, 32).unwrap();
        assert!(same_name(MESSAGE, &places, 12) && !same_name(MESSAGE, &places, 25));
        assert!(!same_name(MESSAGE, &places, 16) && !same_name(MESSAGE, &places, 99));
    }

    #[test]
    fn common_ends() {
        let places_at = |at: usize| {
            let mut places = Places::new();
            places.follow(MESSAGE, at).unwrap();
            places
        };
        let shared = |first, second| shared_labels(MESSAGE, &places_at(first), &places_at(second));
        assert_eq!((shared(12, 25), shared(12, 32), shared(12, 16), shared(12, 24)), (1, 2, 1, 0));
        assert!(is_same_label(MESSAGE, 12, 32) && !is_same_label(MESSAGE, 12, 25));
        assert!(!is_same_label(MESSAGE, 12, 99));
    }

    #[test]
    fn hostile_names() {
        // After a header: a root label, so that something can be pointed at.
        let follow = |name: &[u8]| Places::new().follow(&[&[0; 13], name].concat(), 13);
        assert_eq!(follow(b"\xc0\x0c"), Ok(15));
        assert_eq!(follow(b"\xc0\x0d"), Err(NameError::BadPointer));
        assert_eq!(follow(b"\x01a\xc0\x0d"), Err(NameError::BadPointer));
        assert_eq!(follow(b"\xc0\x0f\0"), Err(NameError::BadPointer));
        assert_eq!(follow(b"\x40"), Err(NameError::BadLabelKind));
        assert_eq!(follow(b"\xc0"), Err(NameError::Truncated));
        let mut places = Places::new();
        assert_eq!(places.read_plain(b"\x01a\xc0\0", 0), Err(NameError::BadLabelKind));
        assert_eq!(places.read_plain(b"\x05a", 0), Err(NameError::Truncated));
        let long = NameBuf::from_text(&"a.".repeat(127)).unwrap();
        assert_eq!(places.read_plain(long.octets(), 0), Ok(255));
        assert_eq!(places.label_count(), 127);
        let too_long = [&b"\x01b"[..], long.octets()].concat();
        assert_eq!(places.read_plain(&too_long, 0), Err(NameError::NameTooLong));
        assert_eq!(places.follow(&too_long, 0), Err(NameError::NameTooLong));
    }

    /// ID and counts are no part of a name, though their octets may look like one.
    #[test]
    fn no_pointer_leads_into_the_header() {
        for target in 0..12 {
            let message = [&[0; 12][..], &[0xc0, target]].concat();
            assert_eq!(Places::new().follow(&message, 12), Err(NameError::BadPointer), "{target}");
        }
    }

    /// A ladder of pointers, each to the one before, is climbed as far as a name may be deep.
    #[test]
    fn pointers_are_counted() {
        let mut message = vec![0; 13];
        for step in 0..200_u16 {
            let target = if step == 0 { 12 } else { 13 + 2 * (step - 1) };
            message.extend((0xc000 | target).to_be_bytes());
        }
        let follow = |step: usize| Places::new().follow(&message, 13 + 2 * step);
        assert_eq!(follow(POINTERS_MAX - 1), Ok(13 + 2 * POINTERS_MAX));
        assert_eq!(follow(POINTERS_MAX), Err(NameError::BadPointer));
    }
}
