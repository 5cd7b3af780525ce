//! Type bitmaps (RFC 4034 4.1.2): blocks of window number, length and up to 32 octets of bits.

use crate::octets::{Full, Octets};

/// Bits of the two lowest windows, which hold every type in common use; others go the long way.
pub(crate) struct Builder {
    low: [u8; 64],
    /// Types of the windows from 2 on, in order of appearance. Empty, so without allocation, for almost all.
    high: Vec<u16>,
}

impl Builder {
    pub fn new() -> Builder {
        Builder { low: [0; 64], high: Vec::new() }
    }

    #[inline]
    pub fn add(&mut self, rtype: u16) {
        match self.low.get_mut(rtype as usize / 8) {
            Some(octet) => *octet |= 0x80 >> (rtype % 8),
            None => self.high.push(rtype),
        }
    }

    pub fn finish(mut self, out: &mut Octets) -> Result<(), Full> {
        for (window, bits) in self.low.chunks_exact(32).enumerate() {
            push_block(window as u8, bits, out)?;
        }
        self.high.sort_unstable();
        for types in self.high.chunk_by(|a, b| a >> 8 == b >> 8) {
            let mut bits = [0; 32];
            for rtype in types {
                bits[*rtype as usize % 256 / 8] |= 0x80 >> (rtype % 8);
            }
            push_block((types[0] >> 8) as u8, &bits, out)?;
        }
        Ok(())
    }
}

/// Writes a block without its trailing octets of zero, or nothing when no bit is set.
fn push_block(window: u8, bits: &[u8], out: &mut Octets) -> Result<(), Full> {
    let Some(last) = bits.iter().rposition(|&octet| octet != 0) else { return Ok(()) };
    out.push(&[window, last as u8 + 1])?;
    out.push(&bits[..=last])
}

/// Whether `bitmap` is well-formed: windows ascend, lengths are 1 to 32, no octet of zero at a block's end.
pub(crate) fn is_valid(mut bitmap: &[u8]) -> bool {
    let mut window_before = -1;
    while let [window, length, rest @ ..] = bitmap {
        let length = *length as usize;
        let ascends = (*window as i32) > window_before;
        if !ascends || !(1..=32).contains(&length) || rest.len() < length || rest[length - 1] == 0 {
            return false;
        }
        window_before = *window as i32;
        bitmap = &rest[length..];
    }
    bitmap.is_empty()
}

/// The types of a valid bitmap, ascending.
pub(crate) fn types(mut bitmap: &[u8]) -> impl Iterator<Item = u16> {
    let blocks = std::iter::from_fn(move || {
        let [window, length, rest @ ..] = bitmap else { return None };
        let (bits, rest) = rest.split_at_checked(*length as usize)?;
        bitmap = rest;
        Some((*window, bits))
    });
    blocks.flat_map(|(window, bits)| {
        (0..bits.len() * 8)
            .filter(|bit| bits[bit / 8] & (0x80 >> (bit % 8)) != 0)
            .map(move |bit| (window as u16) << 8 | bit as u16)
    })
}

/// Appends a type after a blank.
pub(crate) fn print_type(rtype: u16, out: &mut Vec<u8>) {
    out.push(b' ');
    match wire::iana::rtype::mnemonic(rtype) {
        Some(text) => out.extend_from_slice(text.as_bytes()),
        None => out.extend_from_slice(format!("TYPE{rtype}").as_bytes()),
    }
}
