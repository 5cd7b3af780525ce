//! Hexadecimal (RFC 4648 8), in both cases.

use super::NONE;
use crate::octets::{Full, Octets};

const DIGITS: [u8; 256] = super::digits(b"0123456789ABCDEF", true);

/// The digits of fields that follow each other, as in a digest that is split by blanks.
#[derive(Default)]
pub(crate) struct Decoder {
    /// The upper digit of a pair whose lower one comes with the next field.
    upper: Option<u8>,
}

/// Why digits could not be taken.
pub(crate) enum Error {
    NotHex,
    Full,
}

impl From<Full> for Error {
    fn from(_: Full) -> Error {
        Error::Full
    }
}

impl Decoder {
    #[inline]
    pub fn push(&mut self, mut text: &[u8], out: &mut Octets) -> Result<(), Error> {
        if let (Some(upper), [lower, rest @ ..]) = (self.upper, text) {
            self.upper = None;
            out.push_u8(pair(upper, *lower)?)?;
            text = rest;
        }
        let (pairs, odd) = text.as_chunks::<2>();
        for pieces in pairs.chunks(16) {
            let room: &mut [u8; 16] = out.room()?;
            let mut bad = 0;
            for (octet, &[upper, lower]) in room.iter_mut().zip(pieces) {
                let (upper, lower) = (DIGITS[upper as usize], DIGITS[lower as usize]);
                bad |= upper | lower;
                *octet = upper << 4 | lower & 0xf;
            }
            if bad == NONE {
                return Err(Error::NotHex);
            }
            out.advance(pieces.len());
        }
        self.upper = odd.first().copied();
        Ok(())
    }

    /// Whether all digits came in pairs.
    pub fn is_whole(&self) -> bool {
        self.upper.is_none()
    }
}

fn pair(upper: u8, lower: u8) -> Result<u8, Error> {
    let (upper, lower) = (DIGITS[upper as usize], DIGITS[lower as usize]);
    if upper | lower == NONE { Err(Error::NotHex) } else { Ok(upper << 4 | lower) }
}

/// The value of one digit.
pub(crate) fn digit(octet: u8) -> Option<u8> {
    Some(DIGITS[octet as usize]).filter(|&value| value != NONE)
}

/// Appends the digits of `octets`, in upper case.
pub(crate) fn encode(octets: &[u8], out: &mut Vec<u8>) {
    const UPPER: &[u8; 16] = b"0123456789ABCDEF";
    out.extend(octets.iter().flat_map(|&octet| [UPPER[octet as usize >> 4], UPPER[octet as usize & 15]]));
}
