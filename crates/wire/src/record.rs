//! A record in a message (RFC 1035 4.1.3): owner, type, class, TTL, RDATA.

use crate::header::{u16_at, u32_at};
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

    /// Offset of what follows the record.
    pub fn end(&self) -> usize {
        self.rdata_at + self.rdata.len()
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
}
