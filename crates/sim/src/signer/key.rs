//! Keys of test zones: the same for the same seed, zone, role and algorithm.
//!
//! Ed25519 keys are made from the seed. Keys of the other algorithms are taken from tables that were made once for tests: the
//! library can derive none from a seed. What no library signs with (SHA-1, GOST, Ed448, numbers that nobody has) gets octets of
//! the right length, as most validators must not need them to be right.
//!
//! ```text
//! keys/p256, keys/p384   private scalar | 4 | x | y   one after the other
//! keys/rsa2048-N.der     RSAPrivateKey (RFC 8017 A.1.2)
//! ```

use dnssec::key::{FLAG_REVOKE, FLAG_SEP, FLAG_ZONE, PROTOCOL_DNSSEC, key_tag};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
    Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA512, RsaEncoding, RsaKeyPair,
};
use sync::random::Random;
use wire::Name;
use wire::iana::algorithm;

const P256: &[u8] = include_bytes!("keys/p256");
const P384: &[u8] = include_bytes!("keys/p384");
const RSA: [&[u8]; 4] = [
    include_bytes!("keys/rsa2048-0.der"),
    include_bytes!("keys/rsa2048-1.der"),
    include_bytes!("keys/rsa2048-2.der"),
    include_bytes!("keys/rsa2048-3.der"),
];

/// What a key is for. Keys of one zone and algorithm with different roles differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Signs the DNSKEY RRset; the DS record is of it.
    Ksk,
    /// Signs all else.
    Zsk,
    /// Published, signs nothing yet; has a DS record too.
    Standby,
    /// Revoked (RFC 5011 2.1); signs the DNSKEY RRset beside the KSK.
    Revoked,
}

/// A key of a zone.
pub struct Key {
    /// What it is for.
    pub role: Role,
    /// See [`wire::iana::algorithm`].
    pub algorithm: u8,
    /// The RDATA of its DNSKEY record.
    pub dnskey: Vec<u8>,
    /// Its key tag.
    pub tag: u16,
    secret: Secret,
}

enum Secret {
    Ed25519(Ed25519KeyPair),
    Ecdsa(EcdsaKeyPair),
    Rsa(RsaKeyPair, &'static dyn RsaEncoding),
    /// Octets of a signature that nothing verifies.
    None(usize),
}

impl Key {
    /// The key of `apex` with this role.
    pub fn new(seed: u64, apex: &Name, role: Role, algorithm: u8) -> Key {
        let mut random = Random::part(seed, hash_of(apex));
        let number = random.next_u64() as usize + role as usize;
        let mut octets = [0; 32];
        let mut of_role = Random::part(random.next_u64(), (role as u64) << 8 | u64::from(algorithm));
        for chunk in octets.as_chunks_mut::<8>().0 {
            *chunk = of_role.next_u64().to_be_bytes();
        }
        let (secret, public) = match algorithm {
            algorithm::ED25519 => {
                let pair = Ed25519KeyPair::from_seed_unchecked(&octets).expect("a seed of 32 octets");
                let public = pair.public_key().as_ref().to_vec();
                (Secret::Ed25519(pair), public)
            }
            algorithm::ECDSAP256SHA256 => ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING, P256, 32, number),
            algorithm::ECDSAP384SHA384 => ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING, P384, 48, number),
            algorithm::RSASHA256 => rsa(&RSA_PKCS1_SHA256, number),
            algorithm::RSASHA512 => rsa(&RSA_PKCS1_SHA512, number),
            algorithm::RSASHA1 | algorithm::RSASHA1NSEC3SHA1 => {
                let (_, public) = rsa(&RSA_PKCS1_SHA256, number);
                (Secret::None(256), public)
            }
            algorithm::ED448 => (Secret::None(114), octets.iter().copied().cycle().take(57).collect()),
            _ => (Secret::None(64), octets.to_vec()),
        };
        let flags = match role {
            Role::Ksk | Role::Standby => FLAG_ZONE | FLAG_SEP,
            Role::Zsk => FLAG_ZONE,
            Role::Revoked => FLAG_ZONE | FLAG_SEP | FLAG_REVOKE,
        };
        let [high, low] = flags.to_be_bytes();
        let mut dnskey = vec![high, low, PROTOCOL_DNSSEC, algorithm];
        dnskey.extend(public);
        Key { role, algorithm, tag: key_tag(&dnskey), dnskey, secret }
    }

    /// The signature of `message`, in the form of the algorithm.
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        let system = SystemRandom::new();
        match &self.secret {
            Secret::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
            Secret::Ecdsa(pair) => {
                pair.sign(&system, message).expect("the system's numbers").as_ref().to_vec()
            }
            Secret::Rsa(pair, padding) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(*padding, &system, message, &mut signature).expect("a modulus of 2048 bits");
                signature
            }
            Secret::None(octets) => vec![self.tag as u8; *octets],
        }
    }

    /// The RDATA of a DNSKEY that is no key, with the tag of this one: `number` makes it another than others (KeyTrap,
    /// CVE-2023-50387).
    pub fn colliding(&self, number: u16) -> Vec<u8> {
        let mut rdata = self.dnskey.clone();
        // Before the right one in canonical order, so that who tries them in their order has to try all.
        let (first, value) = match self.algorithm {
            algorithm::RSASHA256 | algorithm::RSASHA512 => (8, 0x80),
            _ => (4, 0),
        };
        rdata[first] = value;
        // Away from the begin, where the exponent of an RSA key stands, and from the end, which makes it odd.
        let at = (rdata.len() / 2) & !1;
        let [high, low] = number.to_be_bytes();
        (rdata[at], rdata[at + 1]) = (rdata[at] ^ high ^ 0x55, rdata[at + 1] ^ low);
        // The tag is a sum of words with its carries added: one word more or less brings it where it was.
        let word = at + 2;
        for value in 0..=u16::MAX {
            [rdata[word], rdata[word + 1]] = value.to_be_bytes();
            if key_tag(&rdata) == self.tag {
                break;
            }
        }
        rdata
    }
}

fn ecdsa(
    algorithm: &'static EcdsaSigningAlgorithm,
    table: &[u8],
    coordinate_octets: usize,
    number: usize,
) -> (Secret, Vec<u8>) {
    let row_octets = 1 + 3 * coordinate_octets;
    let row = &table[number % (table.len() / row_octets) * row_octets..][..row_octets];
    let (private, public) = row.split_at(coordinate_octets);
    let pair =
        EcdsaKeyPair::from_private_key_and_public_key(algorithm, private, public, &SystemRandom::new())
            .expect("a key of the table");
    (Secret::Ecdsa(pair), public[1..].to_vec())
}

fn rsa(padding: &'static dyn RsaEncoding, number: usize) -> (Secret, Vec<u8>) {
    let pair = RsaKeyPair::from_der(RSA[number % RSA.len()]).expect("a key of the table");
    let parts = ring::rsa::PublicKeyComponents::<Vec<u8>>::from(pair.public());
    // RFC 3110 2: length of the exponent, exponent, modulus.
    let mut public = vec![parts.e.len() as u8];
    public.extend(&parts.e);
    public.extend(&parts.n);
    (Secret::Rsa(pair, padding), public)
}

/// FNV-1a of the name in lower case.
fn hash_of(apex: &Name) -> u64 {
    let fold =
        |hash: u64, octet: &u8| (hash ^ u64::from(octet.to_ascii_lowercase())).wrapping_mul(0x100_0000_01b3);
    apex.octets().iter().fold(0xcbf2_9ce4_8422_2325, fold)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use wire::NameBuf;

    #[test]
    fn keys_are_of_their_seed() {
        let [a, b] = ["a.example.", "A.Example."].map(|text| NameBuf::from_text(text).unwrap());
        for algorithm in [5, 8, 10, 13, 14, 15, 16, 200] {
            let key = |seed, name: &Name, role| Key::new(seed, name, role, algorithm);
            assert_eq!(key(1, &a, Role::Ksk).dnskey, key(1, &b, Role::Ksk).dnskey);
            let roles = [Role::Ksk, Role::Zsk, Role::Standby, Role::Revoked];
            let different: HashSet<_> = roles.map(|role| key(1, &a, role).dnskey[4..].to_vec()).into();
            assert_eq!(different.len(), 4, "{algorithm}");
        }
        let key = |seed| Key::new(seed, &a, Role::Ksk, 15).dnskey;
        assert_ne!(key(1), key(2));
    }

    #[test]
    fn collisions() {
        let apex = NameBuf::from_text("example.").unwrap();
        for algorithm in [8, 13, 15] {
            let key = Key::new(7, &apex, Role::Zsk, algorithm);
            let others: HashSet<_> = (0..20).map(|number| key.colliding(number)).collect();
            assert_eq!(others.len(), 20);
            assert!(others.iter().all(|other| key_tag(other) == key.tag && *other != key.dnskey));
        }
    }
}
