//! Base64 with padding (RFC 4648 4), which may be split by blanks into any pieces.

use super::NONE;
use crate::octets::{Full, Octets};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const DIGITS: [u8; 256] = super::digits(ALPHABET, false);

/// For each place in a group of four, an octet's six bits where they end up; all ones for no digit.
static PLACED: [[u32; 256]; 4] = {
    let mut placed = [[u32::MAX; 256]; 4];
    let mut at = 0;
    while at < 4 {
        let mut octet = 0;
        while octet < 256 {
            if DIGITS[octet] != NONE {
                placed[at][octet] = (DIGITS[octet] as u32) << (26 - 6 * at);
            }
            octet += 1;
        }
        at += 1;
    }
    placed
};

/// Why text could not be taken.
pub(crate) enum Error {
    NotBase64,
    Full,
}

impl From<Full> for Error {
    fn from(_: Full) -> Error {
        Error::Full
    }
}

/// The digits of fields that follow each other.
#[derive(Default)]
pub(crate) struct Decoder {
    /// Digits of a group that the next field completes.
    pending: [u8; 4],
    count: usize,
    /// A group ended in padding, after which nothing may follow.
    padded: bool,
}

impl Decoder {
    #[inline]
    pub fn push(&mut self, mut text: &[u8], out: &mut Octets) -> Result<(), Error> {
        if self.count == 0 && !self.padded {
            text = &text[whole_groups(text, out)?..];
        }
        // What is left: a group with padding or in two pieces, or an error.
        for &octet in text {
            if self.padded {
                return Err(Error::NotBase64);
            }
            self.pending[self.count] = octet;
            self.count += 1;
            if self.count == 4 {
                self.count = 0;
                self.group(out)?;
                // The rest of a field that a group began in is worth the fast way again; pieces of keys
                // are short, so it is not taken.
            }
        }
        Ok(())
    }

    /// Whether the text was made of whole groups.
    pub fn is_whole(&self) -> bool {
        self.count == 0
    }

    fn group(&mut self, out: &mut Octets) -> Result<(), Error> {
        let padding = self.pending.iter().rev().take_while(|&&octet| octet == b'=').count();
        let mut bits = 0u32;
        for &octet in &self.pending[..4 - padding.min(2)] {
            let digit = DIGITS[octet as usize];
            if digit == NONE {
                return Err(Error::NotBase64);
            }
            bits = bits << 6 | digit as u32;
        }
        bits <<= 6 * padding.min(2);
        let [_, octets @ ..] = bits.to_be_bytes();
        self.padded = padding > 0;
        // Bits under the padding must be zero, or two texts would mean the same octets.
        if padding > 2 || octets[3 - padding..].iter().any(|&octet| octet != 0) {
            return Err(Error::NotBase64);
        }
        Ok(out.push(&octets[..3 - padding])?)
    }
}

/// Decodes groups of four digits as long as there are any; returns how much text that was.
#[inline]
fn whole_groups(text: &[u8], out: &mut Octets) -> Result<usize, Error> {
    const STEP: usize = 16;
    let mut done = 0;
    let (groups, _) = text.as_chunks::<4>();
    for some in groups.chunks(STEP) {
        let room: &mut [u8; 3 * STEP + 1] = out.room()?;
        let mut at = 0;
        for &[a, b, c, d] in some {
            let [first, second, third, fourth] = &PLACED;
            let bits = first[a as usize] | second[b as usize] | third[c as usize] | fourth[d as usize];
            // Six bits in each of four places leave the lowest eight clear.
            if bits & 0xff != 0 {
                out.advance(at);
                return Ok(done);
            }
            room[at..at + 4].copy_from_slice(&bits.to_be_bytes());
            at += 3;
            done += 4;
        }
        out.advance(at);
    }
    Ok(done)
}

/// Appends the base64 of `octets`, with padding.
pub(crate) fn encode(octets: &[u8], out: &mut Vec<u8>) {
    let digit = |bits: u32, shift: u32| ALPHABET[(bits >> shift & 63) as usize];
    let (groups, rest) = octets.as_chunks::<3>();
    for &[a, b, c] in groups {
        let bits = u32::from_be_bytes([0, a, b, c]);
        out.extend_from_slice(&[digit(bits, 18), digit(bits, 12), digit(bits, 6), digit(bits, 0)]);
    }
    match *rest {
        [a] => out.extend_from_slice(&[digit((a as u32) << 16, 18), digit((a as u32) << 16, 12), b'=', b'=']),
        [a, b] => {
            let bits = u32::from_be_bytes([0, a, b, 0]);
            out.extend_from_slice(&[digit(bits, 18), digit(bits, 12), digit(bits, 6), b'=']);
        }
        _ => {}
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn decode(pieces: &[&str]) -> Option<Vec<u8>> {
        let mut out = Octets::new();
        let mut decoder = Decoder::default();
        for piece in pieces {
            decoder.push(piece.as_bytes(), &mut out).ok()?;
        }
        decoder.is_whole().then(|| out.as_slice().to_vec())
    }

    #[test]
    fn both_ways() {
        let octets: Vec<u8> = (0..=255).collect();
        for length in 0..=octets.len() {
            let mut text = Vec::new();
            encode(&octets[..length], &mut text);
            let text = String::from_utf8(text).unwrap();
            assert_eq!(decode(&[&text]).as_deref(), Some(&octets[..length]));
            let (left, right) = text.split_at(text.len() / 3);
            assert_eq!(decode(&[left, right]).as_deref(), Some(&octets[..length]));
        }
        // RFC 4648 10.
        assert_eq!(decode(&["Zm9v", "Y", "mFy"]).as_deref(), Some(&b"foobar"[..]));
    }

    #[test]
    fn refused() {
        for text in
            ["Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Zg==Zg==", "Zm9v!", "Z===", "====", "Zm=v", "_-_-"]
        {
            assert_eq!(decode(&[text]), None, "{text}");
        }
    }
}
