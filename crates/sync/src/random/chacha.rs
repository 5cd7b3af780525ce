//! Numbers that cannot be foretold, from ChaCha20 (RFC 8439 2.3) with keys that erase themselves: each refill makes the next key
//! first, so that whoever reads the memory later learns nothing of what was given away before.

use super::fill_from_system;
use std::{fmt, io};

/// Octets of a block.
const BLOCK_OCTETS: usize = 64;
/// Octets of a refill: four blocks, of which the key takes an eighth.
const BUFFER_OCTETS: usize = 4 * BLOCK_OCTETS;
/// Octets of a key.
const KEY_OCTETS: usize = 32;

/// A stream of numbers that nobody foretells who has seen others of it.
pub struct Unguessable {
    key: [u8; KEY_OCTETS],
    buffer: [u8; BUFFER_OCTETS],
    /// What is before it was given away, and is zero.
    at: usize,
}

/// Leaves all of it away.
impl fmt::Debug for Unguessable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unguessable")
    }
}

impl Unguessable {
    /// A stream with a key from the system.
    pub fn from_system() -> io::Result<Unguessable> {
        let mut key = [0; KEY_OCTETS];
        fill_from_system(&mut key)?;
        Ok(Unguessable::seeded(key))
    }

    /// A stream that is the same each time, for simulators.
    pub fn seeded(key: [u8; KEY_OCTETS]) -> Unguessable {
        Unguessable { key, buffer: [0; BUFFER_OCTETS], at: BUFFER_OCTETS }
    }

    /// The next octets, at most 32 at a time.
    fn take<const N: usize>(&mut self) -> [u8; N] {
        const { assert!(N <= KEY_OCTETS) };
        if self.at + N > BUFFER_OCTETS {
            self.refill();
        }
        let from = &mut self.buffer[self.at..self.at + N];
        let mut octets = [0; N];
        octets.copy_from_slice(from);
        from.fill(0);
        self.at += N;
        octets
    }

    fn refill(&mut self) {
        for (counter, block) in self.buffer.chunks_exact_mut(BLOCK_OCTETS).enumerate() {
            block.copy_from_slice(&chacha20(&self.key, counter as u32, [0; 3]));
        }
        self.key.copy_from_slice(&self.buffer[..KEY_OCTETS]);
        self.buffer[..KEY_OCTETS].fill(0);
        self.at = KEY_OCTETS;
    }

    /// Any 16-bit number: the ID of a message.
    pub fn next_u16(&mut self) -> u16 {
        u16::from_ne_bytes(self.take())
    }

    /// Any 64-bit number.
    pub fn next_u64(&mut self) -> u64 {
        u64::from_ne_bytes(self.take())
    }

    /// A number in `0..bound`; 0 where `bound` is 0. The bias is at most `bound / 2^64`.
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u32
    }
}

/// A block of ChaCha20 (RFC 8439 2.3).
fn chacha20(key: &[u8; KEY_OCTETS], counter: u32, nonce: [u32; 3]) -> [u8; BLOCK_OCTETS] {
    let mut start = [0u32; 16];
    start[..4].copy_from_slice(&[0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]);
    for (word, octets) in start[4..12].iter_mut().zip(key.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*octets);
    }
    start[12] = counter;
    start[13..].copy_from_slice(&nonce);
    let mut s = start;
    for _ in 0..10 {
        for [a, b, c, d] in [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]] {
            quarter(&mut s, a, b, c, d);
        }
        for [a, b, c, d] in [[0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]] {
            quarter(&mut s, a, b, c, d);
        }
    }
    let mut block = [0; BLOCK_OCTETS];
    for (octets, (word, start)) in block.chunks_exact_mut(4).zip(s.iter().zip(start)) {
        octets.copy_from_slice(&word.wrapping_add(start).to_le_bytes());
    }
    block
}

/// A quarter round (RFC 8439 2.1).
fn quarter(s: &mut [u32; 16], a: usize, b: usize, c: usize, d: usize) {
    for (x, y, z, bits) in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)] {
        s[x] = s[x].wrapping_add(s[y]);
        s[z] = (s[z] ^ s[x]).rotate_left(bits);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// RFC 8439 2.3.2.
    #[test]
    fn vector() {
        let key = std::array::from_fn(|at| at as u8);
        let block = chacha20(&key, 1, [0x0900_0000, 0x4a00_0000, 0]);
        let hex: String = block.iter().map(|octet| format!("{octet:02x}")).collect();
        assert_eq!(
            hex,
            "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e\
             d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
        );
    }

    #[test]
    fn numbers_differ_and_are_erased() {
        let (mut one, mut other) = (Unguessable::from_system().unwrap(), Unguessable::from_system().unwrap());
        let mut seen = std::collections::HashSet::new();
        for _ in 0..1000 {
            assert!(seen.insert(one.next_u64()) && seen.insert(other.next_u64()));
            assert!(one.buffer[..one.at].iter().all(|octet| *octet == 0));
            assert!(one.below(10) < 10);
        }
        let ids: std::collections::HashSet<u16> = (0..200_000).map(|_| one.next_u16()).collect();
        assert!(ids.len() > 60_000, "{}", ids.len());
        assert_eq!(one.below(0), 0);
    }
}
