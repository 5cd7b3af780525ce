//! A record in a message (RFC 1035 4.1.3): owner, type, class, TTL, RDATA.

use crate::header::{HEADER_OCTETS, u16_at, u32_at};
use crate::iana::rtype;
use crate::name::{LABEL_OCTETS_MAX, NAME_OCTETS_MAX};

/// Octets of type, class, TTL and RDLENGTH.
pub const FIXED_OCTETS: usize = 10;

/// A record as it stands in a message; names in it are not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordView<'m> {
    /// Offset of the owner name.
    pub owner: usize,
    /// The type.
    pub rtype: u16,
    /// The class; of OPT the payload size (RFC 6891 6.1.2).
    pub class: u16,
    /// The TTL; of OPT the upper RCODE bits, version and flags.
    pub ttl: u32,
    /// Offset of the RDATA.
    pub rdata_at: usize,
    /// The RDATA.
    pub rdata: &'m [u8],
}

impl<'m> RecordView<'m> {
    /// Reads the record at `at`; `None` when it is cut off or its owner has no known form.
    pub fn read(message: &'m [u8], at: usize) -> Option<RecordView<'m>> {
        let fixed = skip_name(message, at)?;
        let rdata_at = fixed + FIXED_OCTETS;
        if rdata_at > message.len() {
            return None;
        }
        let rdata = message.get(rdata_at..rdata_at + u16_at(message, fixed + 8) as usize)?;
        Some(RecordView {
            owner: at,
            rtype: u16_at(message, fixed),
            class: u16_at(message, fixed + 2),
            ttl: u32_at(message, fixed + 4),
            rdata_at,
            rdata,
        })
    }

    /// Whether it is a SIG record of type 0: one that signs a message, not an RRset (RFC 2931 3).
    pub fn is_sig0(&self) -> bool {
        self.rtype == rtype::SIG && u16_at(self.rdata, 0) == 0
    }

    /// Offset of what follows the record.
    pub fn end(&self) -> usize {
        self.rdata_at + self.rdata.len()
    }
}

/// The records of a message from the first on, as far as they can be read. Each takes at least eleven octets, which bounds the work.
#[derive(Clone, Debug)]
pub struct Records<'m> {
    message: &'m [u8],
    /// Where the next begins.
    at: usize,
    /// How many are to come of the answer, authority and additional sections.
    left: [u16; 3],
}

/// A record, and where in the message it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed<'m> {
    /// The record.
    pub record: RecordView<'m>,
    /// Whether it is of the additional section.
    pub is_additional: bool,
    /// Whether it is the last of that: where what signs a message must be (RFC 8945 5.1, RFC 2931 3.1).
    pub is_last: bool,
}

impl<'m> Records<'m> {
    /// Those of a message; `None` where its header or questions are cut off.
    pub fn of(message: &'m [u8]) -> Option<Records<'m>> {
        if message.len() < HEADER_OCTETS {
            return None;
        }
        let mut at = HEADER_OCTETS;
        for _ in 0..u16_at(message, 4) {
            at = skip_name(message, at)? + 4;
        }
        Some(Records { message, at, left: [6, 8, 10].map(|at| u16_at(message, at)) })
    }
}

impl<'m> Iterator for Records<'m> {
    /// `None`: it cannot be read, and nothing after it.
    type Item = Option<Placed<'m>>;

    fn next(&mut self) -> Option<Option<Placed<'m>>> {
        let section = self.left.iter().position(|left| *left > 0)?;
        let Some(record) = RecordView::read(self.message, self.at) else {
            self.left = [0; 3];
            return Some(None);
        };
        self.at = record.end();
        self.left[section] -= 1;
        let is_additional = section == 2;
        Some(Some(Placed { record, is_additional, is_last: is_additional && self.left[section] == 0 }))
    }
}

/// Where the name at `at` ends in its own place. A pointer is not followed; only its two octets must be there.
#[inline]
pub fn skip_name(message: &[u8], at: usize) -> Option<usize> {
    skip(message, at).map(|(end, _)| end)
}

/// Where the name at `at` ends in its own place, and whether it does so in a pointer, which is not followed. `None` for what
/// is no name, or is longer than one can be.
#[inline]
pub fn skip(octets: &[u8], at: usize) -> Option<(usize, bool)> {
    let mut end = at;
    loop {
        match *octets.get(end)? {
            0 => return Some((end + 1, false)),
            length if usize::from(length) <= LABEL_OCTETS_MAX => end += 1 + usize::from(length),
            0xc0..=0xff => {
                octets.get(end + 1)?;
                return Some((end + 2, true));
            }
            _ => return None,
        }
        // The root label is still to come, or a pointer to it.
        if end - at >= NAME_OCTETS_MAX {
            return None;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn record() {
        let message = b"\x01a\xc0\x00\0\x01\0\x03\0\0\x01\0\0\x02xy-";
        let record = RecordView::read(message, 0).unwrap();
        assert_eq!((record.rtype, record.class, record.ttl, record.rdata), (1, 3, 256, &b"xy"[..]));
        assert_eq!((record.rdata_at, record.end()), (14, 16));
        for end in 0..16 {
            assert_eq!(RecordView::read(&message[..end], 0), None, "{end}");
        }
        assert_eq!(skip_name(b"\x80", 0), None);
        assert_eq!(skip_name(&[1; 300], 0), None);
        assert_eq!((skip(b"\x01a\0", 0), skip(b"\x01a\xc0\0", 0)), (Some((3, false)), Some((4, true))));
    }

    #[test]
    fn records_of_a_message() {
        let record = |rtype| [0, 0, rtype, 0, 1, 0, 0, 0, 0, 0, 0];
        let mut message = vec![0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 2];
        message.extend(b"\x01a\0\0\x01\0\x01");
        let first = message.len();
        [16, 41, 250].into_iter().for_each(|rtype| message.extend(record(rtype)));
        let types = |end: usize| {
            let placed = |one: Placed<'_>| (one.record.rtype, one.is_additional, one.is_last);
            Records::of(&message[..end]).map(|all| all.map(|one| one.map(placed)).collect::<Vec<_>>())
        };
        let all = [Some((16, false, false)), Some((41, true, false)), Some((250, true, true))];
        assert_eq!(types(message.len()).as_deref(), Some(&all[..]));
        assert_eq!(types(message.len() - 1).as_deref(), Some(&[all[0], all[1], None][..]));
        assert_eq!(types(first).as_deref(), Some(&[None][..]));
        assert_eq!((types(HEADER_OCTETS + 2), types(HEADER_OCTETS - 1)), (None, None));
    }
}
