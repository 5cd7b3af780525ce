//! Deterministic randomness and damage to messages.

/// A small generator (xorshift64*): the same seed gives the same run everywhere.
pub struct Random(u64);

impl Random {
    /// Starts from a seed; zero is as good as any.
    pub fn new(seed: u64) -> Random {
        Random((seed ^ 0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`, which is above zero.
    pub fn below(&mut self, limit: usize) -> usize {
        (((self.bits() >> 32) * limit as u64) >> 32) as usize
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// The message with one bit turned.
pub fn flip(message: &[u8], bit: usize) -> Vec<u8> {
    let mut changed = message.to_vec();
    changed[bit / 8] ^= 1 << (bit % 8);
    changed
}

/// One random change: an octet set, a run removed, a run doubled, a length field made large.
pub fn damage(message: &[u8], random: &mut Random) -> Vec<u8> {
    let mut changed = message.to_vec();
    if changed.is_empty() {
        return vec![random.bits() as u8];
    }
    let at = random.below(changed.len());
    match random.below(5) {
        0 => changed[at] = random.bits() as u8,
        1 => drop(changed.drain(at..(at + 1 + random.below(8)).min(message.len()))),
        2 => {
            let run = changed[at..(at + 1 + random.below(16)).min(message.len())].to_vec();
            changed.splice(at..at, run);
        }
        3 => changed[at] = [0x00, 0x3f, 0x40, 0x80, 0xc0, 0xff][random.below(6)],
        _ => changed.truncate(at),
    }
    changed
}
