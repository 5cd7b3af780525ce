//! Hashed denial of existence (RFC 5155): the hash of a name, owner labels, the fields of NSEC3 and
//! NSEC3PARAM.
//!
//! ```text
//! IH(0)  = SHA-1(name in canonical wire form || salt)
//! IH(k)  = SHA-1(IH(k-1) || salt)
//! H(name) = IH(iterations), 20 octets; as a label: 32 characters of base32hex without padding
//! ```
//!
//! [`Nsec3Params::hash`] runs once or a few times for a query that is answered by NSEC3 records, so it
//! touches no heap and calls the compression function of SHA-1 directly. In instructions a hash of a 17-octet
//! name with a 4-octet salt costs (callgrind, x86-64 without SHA extensions): `ring` 1 961, the `sha1` crate
//! 1 506, a fully unrolled one of our own 1 478. The crate won: it also uses the SHA instructions of x86-64
//! and AArch64 where the processor has them, which is not possible in this crate without `unsafe`.

use wire::Name;

use crate::TypeBitmap;
use crate::base32hex;

/// Octets of a hash: the only algorithm ever assigned is SHA-1.
pub const HASH_OCTETS: usize = 20;

/// Characters of a hash as owner label: base32hex of 20 octets, no padding (RFC 5155 1.3).
pub const LABEL_OCTETS: usize = 32;

/// The only hash algorithm (RFC 5155 11).
pub const ALGORITHM_SHA1: u8 = 1;

/// Flag bit of an NSEC3 record that may skip insecure delegations (RFC 5155 3.1.2.1).
pub const FLAG_OPT_OUT: u8 = 1;

/// Most extra iterations that are computed.
///
/// RFC 5155 10.3 allows up to 2 500, for keys of 4 096 bits; more was never valid. A lower bound, such as the
/// 150 or 50 above which validators take a zone as insecure, would be wrong here: a validator needs a genuine
/// proof even to find out that the zone counts as insecure (RFC 9276 3.2). A higher one would let a zone make
/// every negative answer cost more than a millisecond.
pub const ITERATIONS_MAX: u16 = 2500;

/// Hash of a name.
pub type Hash = [u8; HASH_OCTETS];

/// Why RDATA of NSEC3 or NSEC3PARAM cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nsec3Error {
    /// The octets do not have the shape of RFC 5155 3.2 or 4.2.
    Malformed,
    /// A hash algorithm other than SHA-1.
    UnknownAlgorithm(u8),
    /// More than [`ITERATIONS_MAX`] iterations.
    TooManyIterations(u16),
}

/// The parameters a zone's names are hashed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nsec3Params<'a> {
    /// Hash rounds after the first, at most [`ITERATIONS_MAX`].
    iterations: u16,
    /// 0..=255 octets appended before each round.
    salt: &'a [u8],
}

impl<'a> Nsec3Params<'a> {
    /// Parameters with SHA-1; `salt` of at most 255 octets.
    pub fn new(iterations: u16, salt: &'a [u8]) -> Result<Nsec3Params<'a>, Nsec3Error> {
        if iterations > ITERATIONS_MAX {
            return Err(Nsec3Error::TooManyIterations(iterations));
        }
        if salt.len() > 255 {
            return Err(Nsec3Error::Malformed);
        }
        Ok(Nsec3Params { iterations, salt })
    }

    /// Reads the RDATA of an NSEC3PARAM record; returns the parameters and the flags.
    ///
    /// A record with flags other than zero is to be ignored by a server (RFC 5155 4.1.2).
    pub fn parse(rdata: &'a [u8]) -> Result<(Nsec3Params<'a>, u8), Nsec3Error> {
        let (params, flags, rest) = split_params(rdata)?;
        if rest.is_empty() { Ok((params, flags)) } else { Err(Nsec3Error::Malformed) }
    }

    /// Hash rounds after the first.
    pub fn iterations(&self) -> u16 {
        self.iterations
    }

    /// The salt.
    pub fn salt(&self) -> &'a [u8] {
        self.salt
    }

    /// The hash of `name`, whose letters may be of either case. `iterations` + 1 rounds of SHA-1, each one
    /// block of 64 octets unless name or salt are long.
    pub fn hash(&self, name: &Name) -> Hash {
        let mut hash = digest(name.octets(), self.salt);
        if self.iterations > 0 {
            self.iterate(&mut hash);
        }
        hash
    }

    fn iterate(&self, hash: &mut Hash) {
        if HASH_OCTETS + self.salt.len() > BLOCK_DATA_OCTETS_MAX {
            for _ in 0..self.iterations {
                *hash = digest_exact(hash, self.salt);
            }
            return;
        }
        // All rounds hash one block that differs in its first 20 octets only.
        let mut block = [0u8; BLOCK_OCTETS];
        let end = HASH_OCTETS + self.salt.len();
        block[HASH_OCTETS..end].copy_from_slice(self.salt);
        block[end] = END_MARK;
        block[BLOCK_OCTETS - 2..].copy_from_slice(&(8 * end as u16).to_be_bytes());
        for _ in 0..self.iterations {
            block[..HASH_OCTETS].copy_from_slice(hash);
            let mut state = INITIAL_STATE;
            compress(&mut state, &block);
            *hash = state_octets(&state);
        }
    }
}

/// The fields of an NSEC3 record (RFC 5155 3.2).
#[derive(Clone, Copy, Debug)]
pub struct Nsec3<'a> {
    /// How names were hashed.
    pub params: Nsec3Params<'a>,
    /// Flags; see [`Nsec3::is_opt_out`].
    pub flags: u8,
    /// The hash of the next owner in hash order.
    pub next: &'a Hash,
    /// Types at the name that was hashed.
    pub types: TypeBitmap<'a>,
}

impl<'a> Nsec3<'a> {
    /// Reads the RDATA of an NSEC3 record.
    pub fn parse(rdata: &'a [u8]) -> Result<Nsec3<'a>, Nsec3Error> {
        let (params, flags, rest) = split_params(rdata)?;
        let (&length, rest) = rest.split_first().ok_or(Nsec3Error::Malformed)?;
        if length as usize != HASH_OCTETS {
            return Err(Nsec3Error::Malformed);
        }
        let (next, types) = rest.split_first_chunk().ok_or(Nsec3Error::Malformed)?;
        let types = TypeBitmap::parse(types).map_err(|_| Nsec3Error::Malformed)?;
        Ok(Nsec3 { params, flags, next, types })
    }

    /// Whether insecure delegations may lie between this hash and the next (RFC 5155 6).
    pub fn is_opt_out(&self) -> bool {
        self.flags & FLAG_OPT_OUT != 0
    }
}

/// Reads what NSEC3 and NSEC3PARAM share: algorithm, flags, iterations, salt; returns what follows too.
fn split_params(rdata: &[u8]) -> Result<(Nsec3Params<'_>, u8, &[u8]), Nsec3Error> {
    let &[algorithm, flags, high, low, salt_octets, ref rest @ ..] = rdata else {
        return Err(Nsec3Error::Malformed);
    };
    if algorithm != ALGORITHM_SHA1 {
        return Err(Nsec3Error::UnknownAlgorithm(algorithm));
    }
    let (salt, rest) = rest.split_at_checked(salt_octets as usize).ok_or(Nsec3Error::Malformed)?;
    Ok((Nsec3Params::new(u16::from_be_bytes([high, low]), salt)?, flags, rest))
}

/// The first label of the NSEC3 owner of `hash`, in lower case.
pub fn owner_label(hash: &Hash) -> [u8; LABEL_OCTETS] {
    let mut label = [0; LABEL_OCTETS];
    base32hex::encode(hash, &mut label);
    label
}

/// The hash that a first label of an NSEC3 owner stands for, in either case; `None` when it is no such label.
pub fn hash_of_label(label: &[u8]) -> Option<Hash> {
    let mut hash = [0; HASH_OCTETS];
    base32hex::decode(label, &mut hash).then_some(hash)
}

/// Whether `hash` lies strictly between `owner` and `next` in the circle of hashes (RFC 5155 1.3, "cover").
/// A chain of one record covers everything but its own hash.
pub fn covers(owner: &Hash, next: &Hash, hash: &Hash) -> bool {
    if owner < next { owner < hash && hash < next } else { hash > owner || hash < next }
}

const BLOCK_OCTETS: usize = 64;
/// What fits in a last block beside the end mark and the length of eight octets (FIPS 180-4 5.1.1).
const BLOCK_DATA_OCTETS_MAX: usize = BLOCK_OCTETS - 9;
/// The bit 1 that ends the data.
const END_MARK: u8 = 0x80;
/// FIPS 180-4 5.3.1.
const INITIAL_STATE: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];

/// SHA-1 of `name`, its letters folded to lower case, and `salt`.
fn digest(name: &[u8], salt: &[u8]) -> Hash {
    let mut sponge = Sha1 { state: INITIAL_STATE, block: [0; BLOCK_OCTETS], used: 0, total: 0 };
    // Length octets of labels are at most 63, below any letter, so folding leaves them alone.
    sponge.update(name, |block| block.make_ascii_lowercase());
    sponge.update(salt, |_| ());
    sponge.finish()
}

/// SHA-1 of `data` and `salt` as they are.
fn digest_exact(data: &[u8], salt: &[u8]) -> Hash {
    let mut sponge = Sha1 { state: INITIAL_STATE, block: [0; BLOCK_OCTETS], used: 0, total: 0 };
    sponge.update(data, |_| ());
    sponge.update(salt, |_| ());
    sponge.finish()
}

/// SHA-1 over parts (FIPS 180-4 6.1).
struct Sha1 {
    state: [u32; 5],
    block: [u8; BLOCK_OCTETS],
    /// Octets of `block` that are filled, below 64 between calls.
    used: usize,
    /// Octets hashed so far: a name and a salt, never near the limit.
    total: usize,
}

impl Sha1 {
    fn update(&mut self, mut data: &[u8], fold: impl Fn(&mut [u8])) {
        self.total += data.len();
        while !data.is_empty() {
            let (now, later) = data.split_at(data.len().min(BLOCK_OCTETS - self.used));
            let room = &mut self.block[self.used..self.used + now.len()];
            room.copy_from_slice(now);
            fold(room);
            self.used += now.len();
            data = later;
            if self.used == BLOCK_OCTETS {
                compress(&mut self.state, &self.block);
                self.used = 0;
            }
        }
    }

    fn finish(mut self) -> Hash {
        self.block[self.used] = END_MARK;
        self.block[self.used + 1..].fill(0);
        if self.used > BLOCK_DATA_OCTETS_MAX {
            compress(&mut self.state, &self.block);
            self.block.fill(0);
        }
        self.block[BLOCK_OCTETS - 8..].copy_from_slice(&(8 * self.total as u64).to_be_bytes());
        compress(&mut self.state, &self.block);
        state_octets(&self.state)
    }
}

fn compress(state: &mut [u32; 5], block: &[u8; BLOCK_OCTETS]) {
    sha1::block_api::compress(state, std::slice::from_ref(block));
}

fn state_octets(state: &[u32; 5]) -> Hash {
    let mut octets = [0; HASH_OCTETS];
    for (to, word) in octets.chunks_exact_mut(4).zip(state) {
        to.copy_from_slice(&word.to_be_bytes());
    }
    octets
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use wire::NameBuf;

    /// RFC 5155 Appendix A: SHA-1, 12 iterations, salt aabbccdd.
    #[test]
    fn example_of_the_rfc() {
        let params = Nsec3Params::new(12, &[0xaa, 0xbb, 0xcc, 0xdd]).unwrap();
        for (name, label) in [
            ("example", "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom"),
            ("a.example", "35mthgpgcu1qg68fab165klnsnk3dpvl"),
            ("ai.example", "gjeqe526plbf1g8mklp59enfd789njgi"),
            ("NS1.Example", "2t7b4g4vsa5smi47k61mv5bv1a22bojr"),
            ("ns2.example", "q04jkcevqvmu85r014c7dkba38o0ji5r"),
            ("w.example", "k8udemvp1j2f7eg6jebps17vp3n8i58h"),
            ("*.w.example", "r53bq7cc2uvmubfu5ocmm6pers9tk9en"),
            ("x.w.example", "b4um86eghhds6nea196smvmlo4ors995"),
            ("y.w.example", "ji6neoaepv8b5o6k4ev33abha8ht9fgc"),
            ("x.y.w.example", "2vptu5timamqttgl4luu9kg21e0aor3s"),
            ("xx.example", "t644ebqk9bibcna874givr6joj62mlhv"),
            ("2t7b4g4vsa5smi47k61mv5bv1a22bojr.example", "kohar7mbb8dc2ce8a9qvl8hon4k53uhi"),
        ] {
            let hash = params.hash(&NameBuf::from_text(name).unwrap());
            assert_eq!(std::str::from_utf8(&owner_label(&hash)).unwrap(), label, "{name}");
            assert_eq!(hash_of_label(label.to_uppercase().as_bytes()), Some(hash), "{name}");
        }
    }

    /// Every length around the block boundaries agrees with another implementation.
    #[test]
    fn lengths_agree_with_ring() {
        let octets: Vec<u8> = (0..=255u16).map(|i| (i as u8).wrapping_mul(37)).collect();
        for salt_octets in [0, 1, 8, 34, 35, 36, 44, 45, 255] {
            let salt = &octets[..salt_octets];
            for name_octets in 2..=255 {
                let Some(name) = name_of_octets(name_octets) else { continue };
                for iterations in [0, 2] {
                    let mut expected = sha1(&[name.to_lowercase().octets(), salt].concat());
                    for _ in 0..iterations {
                        expected = sha1(&[&expected[..], salt].concat());
                    }
                    let hash = Nsec3Params::new(iterations, salt).unwrap().hash(&name);
                    assert_eq!(hash[..], expected[..], "{name_octets} {salt_octets}");
                }
            }
        }
    }

    /// A name of `octets` octets with upper-case letters; `None` where no labels add up to it.
    fn name_of_octets(octets: usize) -> Option<NameBuf> {
        let mut wire = Vec::new();
        while wire.len() + 1 < octets {
            let mut label = (octets - wire.len() - 2).min(63);
            if octets - wire.len() - 2 - label == 1 {
                label -= 1; // one octet left holds no label
            }
            wire.push(label as u8);
            wire.extend((0..label).map(|i| b'A' + (i % 60) as u8));
        }
        wire.push(0);
        Name::from_wire(&wire).ok().filter(|name| name.octets().len() == octets).map(Name::to_owned)
    }

    fn sha1(data: &[u8]) -> Vec<u8> {
        ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, data).as_ref().to_vec()
    }

    #[test]
    fn records() {
        let param = [1, 0, 0, 12, 2, 0xab, 0xcd];
        let (params, flags) = Nsec3Params::parse(&param).unwrap();
        assert_eq!((params.iterations(), params.salt(), flags), (12, &[0xab, 0xcd][..], 0));
        let mut nsec3 = param.to_vec();
        nsec3[1] = FLAG_OPT_OUT;
        nsec3.push(20);
        nsec3.extend([7; 20]);
        nsec3.extend([0, 1, 0x40]);
        let record = Nsec3::parse(&nsec3).unwrap();
        assert!(record.is_opt_out() && record.types.contains(1) && !record.types.contains(2));
        assert_eq!(record.next, &[7; 20]);
        for length in 0..nsec3.len() {
            let whole = length == nsec3.len() - 3; // an empty bitmap is one too
            assert_eq!(Nsec3::parse(&nsec3[..length]).is_ok(), whole, "{length}");
        }
        assert_eq!(Nsec3Params::parse(&[2, 0, 0, 0, 0]), Err(Nsec3Error::UnknownAlgorithm(2)));
        assert_eq!(Nsec3Params::parse(&[1, 0, 9, 0xc5, 0]), Err(Nsec3Error::TooManyIterations(2501)));
        assert_eq!(Nsec3Params::parse(&[1, 0, 0, 0, 1]), Err(Nsec3Error::Malformed));
        assert_eq!(Nsec3Params::parse(&[1, 0, 0, 0, 0, 1]), Err(Nsec3Error::Malformed));
    }

    #[test]
    fn cover() {
        let [a, b, c] = [[1; 20], [5; 20], [9; 20]];
        assert!(covers(&a, &c, &b) && !covers(&a, &b, &c) && !covers(&a, &c, &a) && !covers(&a, &c, &c));
        assert!(covers(&b, &a, &c) && covers(&c, &b, &a) && !covers(&c, &a, &b));
        assert!(covers(&a, &a, &b) && !covers(&a, &a, &a));
    }
}
