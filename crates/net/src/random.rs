//! Randomness of a worker: ChaCha20 (RFC 8439 2.3), seeded by the system. Nothing weaker decides an ID or a port.

use std::io;

const WORDS: usize = 16;

/// A stream of random octets that nobody can foretell who does not know the seed.
pub(crate) struct Random {
    /// Constants, key, counter, nonce.
    state: [u32; WORDS],
    block: [u32; WORDS],
    /// Words of `block` that are used.
    used: usize,
}

impl Random {
    /// One with a seed of the system's.
    pub(crate) fn new() -> io::Result<Self> {
        let mut seed = [0; 32];
        let mut filled = 0;
        while filled < seed.len() {
            filled += rustix::rand::getrandom(&mut seed[filled..], rustix::rand::GetRandomFlags::empty())?;
        }
        Ok(Self::seeded(seed))
    }

    /// One that always gives the same, for simulators.
    pub(crate) fn seeded(seed: [u8; 32]) -> Self {
        // "expand 32-byte k"
        let mut state =
            [0x6170_7865, 0x3320_646E, 0x7962_2D32, 0x6B20_6574, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        for (word, octets) in state[4..12].iter_mut().zip(seed.chunks_exact(4)) {
            *word = u32::from_le_bytes([octets[0], octets[1], octets[2], octets[3]]);
        }
        Self { state, block: [0; WORDS], used: WORDS }
    }

    /// 64 random bits.
    pub(crate) fn next(&mut self) -> u64 {
        if self.used + 2 > WORDS {
            self.block = block(&self.state);
            // A counter of 64 bits, as the cipher had it before the RFC took half of it for the nonce.
            let (low, carry) = self.state[12].overflowing_add(1);
            self.state[12] = low;
            self.state[13] = self.state[13].wrapping_add(u32::from(carry));
            self.used = 0;
        }
        let (high, low) = (self.block[self.used], self.block[self.used + 1]);
        self.used += 2;
        u64::from(high) << 32 | u64::from(low)
    }
}

fn block(state: &[u32; WORDS]) -> [u32; WORDS] {
    let mut words = *state;
    for _ in 0..10 {
        for [a, b, c, d] in [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]] {
            quarter(&mut words, a, b, c, d);
        }
        for [a, b, c, d] in [[0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]] {
            quarter(&mut words, a, b, c, d);
        }
    }
    std::array::from_fn(|index| words[index].wrapping_add(state[index]))
}

/// RFC 8439 2.1.
fn quarter(words: &mut [u32; WORDS], a: usize, b: usize, c: usize, d: usize) {
    for (to, from, turned, bits) in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)] {
        words[to] = words[to].wrapping_add(words[from]);
        words[turned] = (words[turned] ^ words[to]).rotate_left(bits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_of_the_rfc() {
        // RFC 8439 2.3.2.
        let seed: [u8; 32] = std::array::from_fn(|index| index as u8);
        let mut random = Random::seeded(seed);
        random.state[12..].copy_from_slice(&[1, 0x0900_0000, 0x4A00_0000, 0]);
        assert_eq!(random.next(), 0xE4E7_F110_1559_3BD1);
        for _ in 0..6 {
            random.next();
        }
        assert_eq!(random.next(), 0xE883_D0CB_4E3C_50A2);
        // The next block is another one.
        assert_eq!(random.state[12], 2);
        assert_ne!(random.next(), 0xE4E7_F110_1559_3BD1);
    }

    #[test]
    fn two_seeds_differ() {
        let (mut one, mut other) = (Random::new().unwrap(), Random::new().unwrap());
        assert_ne!(one.next(), other.next());
    }
}
