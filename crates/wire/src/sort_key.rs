//! The sort key of a name: octets whose plain comparison is the canonical order of RFC 4034 6.1.
//!
//! Labels from the top down, letters folded to lower case, each label ended by an octet of zero:
//!
//! ```text
//! www.Example.com.   ->   com 00 example 00 www 00
//! .                  ->   (empty)
//! ```
//!
//! Inside a label the octets 0 and 1 become `01 01` and `01 02`, so that the end mark stays below every
//! octet and the form stays reversible. Three facts make the form useful:
//!
//! * comparing two sort keys as octet strings compares the names in canonical order;
//! * the key of a name is a prefix of the keys of all names below it;
//! * a name relative to a zone's apex is the tail of its key.

use crate::name::{LABELS_MAX, NAME_OCTETS_MAX, Name, NameBuf, NameError};

/// Longest sort key: of the 254 octets before the root label each could double, and each length octet becomes
/// an end mark, which never does. The longest case is one label fewer than the octets allow.
pub const KEY_OCTETS_MAX: usize = 2 * (NAME_OCTETS_MAX - 1);

/// Room after the key so that loops over eight octets may write past its end.
const SLACK: usize = 8;

/// A sort key with the ends of its labels, in a buffer made to be used again for name after name.
pub struct SortKey {
    octets: [u8; KEY_OCTETS_MAX + SLACK],
    /// `ends[i]`: length of the key of the ancestor that has `i` labels; `ends[0]` is 0, the root's.
    ends: [u16; LABELS_MAX + 1],
    labels: u8,
}

impl Default for SortKey {
    fn default() -> SortKey {
        SortKey::new()
    }
}

impl SortKey {
    /// The sort key of the root.
    pub fn new() -> SortKey {
        SortKey { octets: [0; KEY_OCTETS_MAX + SLACK], ends: [0; LABELS_MAX + 1], labels: 0 }
    }

    /// The sort key of `name`.
    pub fn of(name: &Name) -> SortKey {
        let mut key = SortKey::new();
        key.set(name);
        key
    }

    /// Makes this the sort key of `name`.
    pub fn set(&mut self, name: &Name) {
        let mut starts = [0u8; LABELS_MAX];
        let mut count = 0;
        let mut at = 0;
        let octets = name.octets();
        while octets[at] != 0 {
            starts[count] = at as u8;
            count += 1;
            at += 1 + octets[at] as usize;
        }
        self.set_labels(octets, &starts[..count]);
    }

    /// Makes this the sort key of the name whose labels begin at `starts` (of their length octets, from left
    /// to right) in `octets`. Octets may follow the name: it is usually the question of a message.
    pub fn set_labels(&mut self, octets: &[u8], starts: &[u8]) {
        self.clear();
        for &start in starts.iter().rev() {
            let start = start as usize;
            let length = octets[start] as usize;
            self.push_label_from(octets, start + 1, length);
        }
    }

    /// Makes this the sort key of the name whose labels stand at `places` (of their length octets, from left to
    /// right) in `message`; they need not follow each other, see [`crate::Places`]. With fewer places than the name has
    /// labels, the last ones, it is the key of an ancestor.
    pub fn set_places(&mut self, message: &[u8], places: &[u16]) {
        self.clear();
        for &place in places.iter().rev() {
            let start = place as usize;
            let length = message[start] as usize;
            self.push_label_from(message, start + 1, length);
        }
    }

    /// Makes this the sort key of the root.
    pub fn clear(&mut self) {
        self.labels = 0;
    }

    /// Appends a label below the present name. The caller keeps the name within its limits.
    pub fn push_label(&mut self, label: &[u8]) {
        self.push_label_from(label, 0, label.len());
    }

    fn push_label_from(&mut self, octets: &[u8], start: usize, length: usize) {
        let mut to = self.ends[self.labels as usize] as usize;
        let mut from = start;
        let end = start + length;
        // Eight octets at a time; what is written past the label's end is overwritten by what follows.
        while from < end {
            let Some(word) = octets.get(from..from + 8) else { break };
            let word = u64::from_le_bytes(word.try_into().expect("eight octets"));
            let lower = fold_case(word);
            let used = (end - from).min(8);
            if has_octet_below_two(lower, used) {
                break;
            }
            self.octets[to..to + 8].copy_from_slice(&lower.to_le_bytes());
            to += used;
            from += used;
        }
        for &octet in &octets[from..end] {
            match octet {
                0 | 1 => {
                    self.octets[to] = 1;
                    self.octets[to + 1] = octet + 1;
                    to += 2;
                }
                octet => {
                    self.octets[to] = octet.to_ascii_lowercase();
                    to += 1;
                }
            }
        }
        self.octets[to] = 0;
        self.labels += 1;
        self.ends[self.labels as usize] = to as u16 + 1;
    }

    /// Removes the last, that is the leftmost, label; the root stays as it is.
    pub fn pop_label(&mut self) {
        self.labels = self.labels.saturating_sub(1);
    }

    /// The whole key.
    pub fn octets(&self) -> &[u8] {
        &self.octets[..self.ends[self.labels as usize] as usize]
    }

    /// The buffer, of which the key is the beginning: for loops that read past a label's end.
    #[inline(always)]
    pub fn padded(&self) -> &[u8] {
        &self.octets
    }

    /// How many labels, root excluded.
    #[inline(always)]
    pub fn label_count(&self) -> usize {
        self.labels as usize
    }

    /// The key of the ancestor-or-self that has `labels` labels.
    pub fn ancestor(&self, labels: usize) -> &[u8] {
        &self.octets[..self.end(labels)]
    }

    /// The length of [`SortKey::ancestor`]`(labels)`.
    pub fn end(&self, labels: usize) -> usize {
        debug_assert!(labels <= self.labels as usize);
        self.ends[labels] as usize
    }

    /// The octets of label number `index` counted from the top, end mark included.
    pub fn label(&self, index: usize) -> &[u8] {
        &self.octets[self.end(index)..self.end(index + 1)]
    }
}

/// Folds the upper-case ASCII letters among eight octets, without a branch.
#[inline(always)]
pub fn fold_case(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let seven = word & (0x7f * ONES);
    let above_z = seven + (0x7f - b'Z' as u64) * ONES;
    let from_a = seven + (0x80 - b'A' as u64) * ONES;
    let ascii = !word & (0x80 * ONES);
    word | ((ascii & from_a & !above_z) >> 2)
}

/// Whether one of the first `count` (1..=8) octets of `word` is 0 or 1.
fn has_octet_below_two(word: u64, count: usize) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let word = word & !ONES;
    // Exact for the lowest zero octet, which is all that is asked: a borrow only marks octets above it.
    let zero = word.wrapping_sub(ONES) & !word & (0x80 * ONES);
    zero.trailing_zeros() < 8 * count as u32
}

/// Appends to `name` the wire form, without root label, of the labels in `key` from left to right.
/// Fails when `key` is not made of whole labels as the module describes, or the name gets too long.
pub fn key_to_wire(key: &[u8], name: &mut Vec<u8>) -> Result<(), NameError> {
    let begin = name.len();
    let mut end = key.len();
    while end > 0 {
        if key[end - 1] != 0 {
            return Err(NameError::Truncated);
        }
        let start = key[..end - 1].iter().rposition(|&octet| octet == 0).map_or(0, |at| at + 1);
        let length_at = name.len();
        name.push(0);
        let mut label = key[start..end - 1].iter();
        while let Some(&octet) = label.next() {
            name.push(match octet {
                1 => match label.next() {
                    Some(&escaped @ 1..=2) => escaped - 1,
                    _ => return Err(NameError::BadEscape),
                },
                octet => octet,
            });
        }
        match name.len() - length_at - 1 {
            0 => return Err(NameError::EmptyLabel),
            length @ 1..=63 => name[length_at] = length as u8,
            _ => return Err(NameError::LabelTooLong),
        }
        end = start;
    }
    if name.len() - begin >= NAME_OCTETS_MAX { Err(NameError::NameTooLong) } else { Ok(()) }
}

/// Writes to `to` the wire form, without root label, of the labels in `key` from left to right; returns its
/// octets. `None` when `key` is not made of whole labels or they do not fit: the twin of [`key_to_wire`] for
/// callers that allocate nothing.
pub fn write_labels(key: &[u8], to: &mut [u8]) -> Option<usize> {
    // Mostly it is one label of plain octets.
    if let [label @ .., 0] = key
        && (1..=63).contains(&label.len())
        && label.iter().all(|&octet| octet > 1)
    {
        let (length, rest) = to.split_first_mut()?;
        *length = label.len() as u8;
        rest.get_mut(..label.len())?.copy_from_slice(label);
        return Some(key.len());
    }
    let (mut end, mut length_at) = (key.len(), 0);
    while end > 0 {
        if key[end - 1] != 0 {
            return None;
        }
        let start = key[..end - 1].iter().rposition(|&octet| octet == 0).map_or(0, |at| at + 1);
        let mut at = length_at + 1;
        let mut is_escaped = false;
        for &octet in &key[start..end - 1] {
            if octet == 1 && !is_escaped {
                is_escaped = true;
                continue;
            }
            *to.get_mut(at)? = if is_escaped { octet.wrapping_sub(1) } else { octet };
            is_escaped = false;
            at += 1;
        }
        *to.get_mut(length_at)? =
            u8::try_from(at - length_at - 1).ok().filter(|length| (1..=63).contains(length))?;
        (length_at, end) = (at, start);
    }
    Some(length_at)
}

/// The name whose key is `apex` followed by `relative`.
pub fn name_of(apex: &[u8], relative: &[u8]) -> Result<NameBuf, NameError> {
    let mut octets = Vec::with_capacity(apex.len() + relative.len() + 2);
    key_to_wire(relative, &mut octets)?;
    key_to_wire(apex, &mut octets)?;
    octets.push(0);
    Name::from_wire(&octets).map(Name::to_owned)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn key(text: &str) -> Vec<u8> {
        SortKey::of(&NameBuf::from_text(text).unwrap()).octets().to_vec()
    }

    #[test]
    fn shape() {
        assert_eq!(key("www.Example.com"), b"com\0example\0www\0");
        assert_eq!(key("."), b"");
        assert_eq!(key("a\\000\\001.b"), b"b\0a\x01\x01\x01\x02\0");
        assert_eq!(key("ABCDEFGHIJKLMNOPQRSTUVWXYZ[@\\193"), b"abcdefghijklmnopqrstuvwxyz[@\xc1\0");
    }

    /// The example of RFC 4034 6.1, in its order.
    #[test]
    fn canonical_order() {
        let names = [
            "example",
            "a.example",
            "yljkjljk.a.example",
            "Z.a.example",
            "zABC.a.EXAMPLE",
            "z.example",
            "\\001.z.example",
            "*.z.example",
            "\\200.z.example",
        ];
        for pair in names.windows(2) {
            assert!(key(pair[0]) < key(pair[1]), "{pair:?}");
        }
        assert!(key("a.b") < key("\\000.a.b") && key("\\000.a.b") < key("\\001.a.b"));
        assert!(key("a.b") < key("a\\000.b"));
    }

    #[test]
    fn ancestors_and_back() {
        let name = NameBuf::from_text("x\\000y.www.example.com").unwrap();
        let key = SortKey::of(&name);
        assert_eq!(key.label_count(), 4);
        assert_eq!(key.ancestor(2), b"com\0example\0");
        assert_eq!(key.label(1), b"example\0");
        assert_eq!(name_of(key.ancestor(2), &key.octets()[key.end(2)..]).unwrap(), name);
        let long = NameBuf::from_text("\\000".repeat(63).split_at(4 * 61).0).unwrap();
        assert_eq!(name_of(b"", SortKey::of(&long).octets()).unwrap(), long);
        let mut buffer = [0xee; 255];
        let written = write_labels(SortKey::of(&long).octets(), &mut buffer).unwrap();
        assert_eq!(buffer[..written], long.octets()[..written]);
        assert_eq!(written + 1, long.octets().len());
        assert_eq!(write_labels(SortKey::of(&long).octets(), &mut buffer[..50]), None);
        assert_eq!(write_labels(b"a\0b", &mut buffer), None);
        assert_eq!(write_labels(b"\0", &mut buffer), None);
        assert_eq!(write_labels(b"", &mut buffer), Some(0));
    }

    #[test]
    fn longest_name_of_escaped_octets() {
        let label = "\\001".repeat(63);
        let text = format!("{label}.{label}.{label}.{}", "\\001".repeat(61));
        let name = NameBuf::from_text(&text).unwrap();
        assert_eq!(name.octets().len(), 255);
        assert_eq!(name_of(b"", SortKey::of(&name).octets()).unwrap(), name);
    }
}
