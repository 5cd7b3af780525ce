//! The keyed hash of names and addresses: where they lie in tables that strangers fill.
//!
//! ```text
//! octets -> coefficients of 7 octets, then the length -> polynomial at a secret point of GF(2^61 - 1) -> multiply, shift: spread over 64 bits
//! ```
//!
//! Two inputs of at most 255 octets that were chosen without the secret have the same hash with a probability of at most 38 / 2^61: their difference is a polynomial of
//! that degree at most, which has as many roots. What spreads is a bijection, so it adds no collisions.

use std::hash::{BuildHasher, Hasher};

/// 2^61 - 1.
const PRIME: u64 = (1 << 61) - 1;

/// Octets of a coefficient: more do not fit below the prime.
const COEFFICIENT_OCTETS: usize = 7;

/// What makes hashes those of one cache; drawn by the program from the system's random numbers. It leaves the process in dumps alone.
#[derive(Clone)]
pub struct Secret {
    /// Where the polynomial is evaluated: 1 to [`PRIME`] - 1.
    point: u64,
    /// Odd.
    spread: [u64; 2],
}

impl Secret {
    /// From random numbers. They are mixed first, so that small numbers, as in tests, make good secrets too.
    pub fn new(random: [u64; 3]) -> Secret {
        let [point, first, second] = random.map(mix);
        Secret { point: point % (PRIME - 1) + 1, spread: [first | 1, second | 1] }
    }

    /// What it is made of, for who can keep it secret too.
    pub(crate) fn words(&self) -> [u64; 3] {
        [self.point, self.spread[0], self.spread[1]]
    }

    /// From such words; `None`: no secret is made of these.
    pub(crate) fn of_words([point, first, second]: [u64; 3]) -> Option<Secret> {
        let is_one = (1..PRIME).contains(&point) && first & second & 1 == 1;
        is_one.then_some(Secret { point, spread: [first, second] })
    }

    /// The hash of `octets`.
    #[inline(always)]
    pub(crate) fn hash(&self, octets: &[u8]) -> u64 {
        let sum = self.steps(0, octets);
        self.finish(self.step(sum, octets.len() as u64))
    }

    /// One step for each coefficient of `octets`.
    #[inline(always)]
    fn steps(&self, mut sum: u64, octets: &[u8]) -> u64 {
        let mut rest = octets;
        while let Some(word) = rest.first_chunk::<8>() {
            sum = self.step(sum, u64::from_le_bytes(*word) & ((1 << 56) - 1));
            rest = &rest[COEFFICIENT_OCTETS..];
        }
        // At most seven octets: none, or the last coefficient.
        let last = match octets.last_chunk::<8>() {
            // The upper octets of the last eight.
            Some(word) => (u64::from_le_bytes(*word) >> 8) >> (8 * (COEFFICIENT_OCTETS - rest.len())),
            None => rest.iter().rev().fold(0, |word, octet| word << 8 | u64::from(*octet)),
        };
        self.step(sum, last)
    }

    /// The residue, spread.
    #[inline(always)]
    fn finish(&self, sum: u64) -> u64 {
        self.spread(if sum >= PRIME { sum - PRIME } else { sum })
    }

    /// `(sum + coefficient) * point`, below 2^61 + 8.
    #[inline(always)]
    fn step(&self, sum: u64, coefficient: u64) -> u64 {
        let product = u128::from(sum + coefficient) * u128::from(self.point);
        let folded = (product as u64 & PRIME) + (product >> 61) as u64;
        (folded & PRIME) + (folded >> 61)
    }

    #[inline(always)]
    fn spread(&self, sum: u64) -> u64 {
        let mut hash = (sum ^ sum >> 32).wrapping_mul(self.spread[0]);
        hash = (hash ^ hash >> 29).wrapping_mul(self.spread[1]);
        hash ^ hash >> 32
    }
}

/// Another for each, from the random numbers of the standard library: for tables of one worker, whose hashes nobody else has to know.
impl Default for Secret {
    fn default() -> Secret {
        let state = std::hash::RandomState::new();
        Secret::new(std::array::from_fn(|number| state.hash_one(number)))
    }
}

/// For tables whose keys strangers choose, in place of SipHash: a quarter of its instructions for keys of a few numbers.
impl BuildHasher for Secret {
    type Hasher = Digest;

    #[inline]
    fn build_hasher(&self) -> Digest {
        Digest { secret: self.clone(), sum: 0, count: 0 }
    }
}

/// A hash in the making: the same polynomial, of which each number is a coefficient of its own, or two. Keys of one table are of one type, so that coefficients of two keys
/// stand for the same parts; lists say their length.
#[derive(Clone, Debug)]
pub struct Digest {
    secret: Secret,
    sum: u64,
    /// Numbers, and octets of lists.
    count: u64,
}

impl Digest {
    #[inline(always)]
    fn add(&mut self, coefficient: u64) {
        self.sum = self.secret.step(self.sum, coefficient);
        self.count += 1;
    }
}

impl Hasher for Digest {
    #[inline]
    fn write(&mut self, octets: &[u8]) {
        self.sum = self.secret.steps(self.sum, octets);
        // Keeps octets of zero apart from none, together with the coefficients.
        self.count += octets.len() as u64;
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.add(number.into());
    }

    #[inline]
    fn write_u16(&mut self, number: u16) {
        self.add(number.into());
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.add(number.into());
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.add(number >> 32);
        self.add(number & u64::from(u32::MAX));
    }

    #[inline]
    fn write_u128(&mut self, number: u128) {
        self.write_u64((number >> 64) as u64);
        self.write_u64(number as u64);
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        // Lengths and numbers of variants: far below the prime.
        self.add(number as u64 & PRIME);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.secret.finish(self.secret.step(self.sum, self.count))
    }
}

/// For tables whose keys are hashes by a [`Secret`] already: they are taken as they are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hashed;

impl BuildHasher for Hashed {
    type Hasher = AsIs;

    #[inline]
    fn build_hasher(&self) -> AsIs {
        AsIs(0)
    }
}

/// See [`Hashed`].
#[derive(Debug)]
pub struct AsIs(u64);

impl Hasher for AsIs {
    /// No such key is made of octets; if one were, it would be slow and right.
    fn write(&mut self, octets: &[u8]) {
        octets.iter().for_each(|octet| self.0 = self.0.rotate_left(8) ^ u64::from(*octet));
    }

    #[inline]
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

/// A bijection (the finish of splitmix64).
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// The polynomial as its definition says, with arithmetic that cannot overflow.
    fn naive(secret: &Secret, octets: &[u8]) -> u64 {
        let mut coefficients = Vec::new();
        let mut rest = octets;
        while rest.len() >= 8 {
            coefficients.push(&rest[..7]);
            rest = &rest[7..];
        }
        coefficients.push(rest);
        let length = (octets.len() as u64).to_le_bytes();
        coefficients.push(&length[..7]);
        let sum = coefficients.iter().fold(0, |sum: u128, coefficient| {
            let value =
                coefficient.iter().rev().fold(0, |value: u128, octet| value * 256 + u128::from(*octet));
            (sum + value) * u128::from(secret.point) % u128::from(PRIME)
        });
        secret.spread(sum as u64)
    }

    #[test]
    fn is_the_polynomial() {
        for random in [[3, 5, 7], [u64::MAX; 3], [0; 3], [0x0123_4567_89ab_cdef; 3]] {
            let secret = Secret::new(random);
            for length in 0..=255 {
                for fill in [0, 1, 0x80, 0xff] {
                    let octets = vec![fill; length];
                    assert_eq!(secret.hash(&octets), naive(&secret, &octets), "{length} of {fill}");
                }
            }
        }
    }

    #[test]
    fn lengths_and_places_count() {
        let secret = Secret::new([11, 12, 13]);
        let mut seen = HashSet::new();
        for length in 0..=64 {
            assert!(seen.insert(secret.hash(&vec![0; length])), "{length} zeros");
            for at in 0..length {
                let mut octets = vec![0; length];
                octets[at] = 1;
                assert!(seen.insert(secret.hash(&octets)), "{length}, 1 at {at}");
            }
        }
    }

    /// Equal keys have equal hashes, others do not, whatever kind of parts they have.
    #[test]
    fn keys_of_tables() {
        let secret = Secret::default();
        let mut seen = HashSet::new();
        for length in 0..40 {
            for last in 0..3_u8 {
                let mut octets = vec![0_u8; length];
                octets.push(last);
                for number in [0_u64, 1, 1 << 32, u64::MAX] {
                    let key = (&octets[..], number, last, u16::from(last));
                    assert_eq!(secret.hash_one(key), secret.hash_one(key));
                    assert!(seen.insert(secret.hash_one(key)), "{key:?}");
                }
            }
        }
        let mut boxes = [0_u32; 64];
        for number in 0..64_000_u64 {
            let address = std::net::SocketAddr::from((
                [192, 0, (number >> 8) as u8, number as u8],
                (number >> 16) as u16,
            ));
            boxes[(secret.hash_one(address) >> 57) as usize / 2] += 1;
        }
        let chi_square: f64 = boxes.iter().map(|count| (f64::from(*count) - 1000.0).powi(2) / 1000.0).sum();
        assert!(
            chi_square < 130.0,
            "the bits that tables of the standard library tell keys by: {chi_square}"
        );
    }

    /// All parts of the hash that tables use are even: 64 boxes by the upper, the middle and the lower bits.
    #[test]
    fn spreads() {
        let secret = Secret::new([0x1234_5678_9abc, 0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9]);
        for shift in [0, 16, 32, 58] {
            let mut boxes = [0_u32; 64];
            for number in 0..64_000_u32 {
                let name = format!("\x07{number:07}\x07example\0");
                boxes[(secret.hash(name.as_bytes()) >> shift) as usize % 64] += 1;
            }
            let chi_square: f64 =
                boxes.iter().map(|count| (f64::from(*count) - 1000.0).powi(2) / 1000.0).sum();
            assert!(chi_square < 120.0, "bits from {shift}: {chi_square}");
        }
    }
}
