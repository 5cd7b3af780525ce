//! Message authentication codes: HMAC (RFC 2104) with the hashes that TSIG has names for.

use super::Algorithm;
use hmac::{Hmac, KeyInit, Mac as _};
use md5::Md5;
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};

/// Octets of the longest MAC.
pub const MAC_OCTETS_MAX: usize = 64;

/// A MAC as it stands in a message, whole or cut.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Mac {
    octets: [u8; MAC_OCTETS_MAX],
    length: u8,
}

impl Mac {
    /// The MAC of a request that had none.
    pub const NONE: Mac = Mac { octets: [0; MAC_OCTETS_MAX], length: 0 };

    /// The first octets of one, 64 at most.
    pub(super) fn of(octets: &[u8]) -> Mac {
        let length = octets.len().min(MAC_OCTETS_MAX);
        let mut mac = Mac { length: length as u8, ..Mac::NONE };
        mac.octets[..length].copy_from_slice(&octets[..length]);
        mac
    }

    /// Its octets.
    pub fn octets(&self) -> &[u8] {
        &self.octets[..usize::from(self.length)]
    }

    /// The first `octets` of it, or all that there are.
    pub(super) fn cut(self, octets: usize) -> Mac {
        Mac { length: self.length.min(octets as u8), ..self }
    }
}

impl Default for Mac {
    fn default() -> Mac {
        Mac::NONE
    }
}

impl std::fmt::Debug for Mac {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mac({:02x?})", self.octets())
    }
}

/// An HMAC that is being made.
#[derive(Clone)]
pub(super) enum Context {
    Md5(Hmac<Md5>),
    Sha1(Hmac<Sha1>),
    Sha224(Hmac<Sha224>),
    Sha256(Hmac<Sha256>),
    Sha384(Hmac<Sha384>),
    Sha512(Hmac<Sha512>),
}

/// The same expression for each kind of context.
macro_rules! each {
    ($context:expr, $inner:ident => $value:expr) => {
        match $context {
            Context::Md5($inner) => $value,
            Context::Sha1($inner) => $value,
            Context::Sha224($inner) => $value,
            Context::Sha256($inner) => $value,
            Context::Sha384($inner) => $value,
            Context::Sha512($inner) => $value,
        }
    };
}

impl Context {
    /// Begins with a secret of any length.
    pub(super) fn new(algorithm: Algorithm, secret: &[u8]) -> Context {
        fn keyed<M: KeyInit>(secret: &[u8]) -> M {
            M::new_from_slice(secret).expect("HMAC takes keys of any length (RFC 2104 2)")
        }
        match algorithm {
            Algorithm::HmacMd5 => Context::Md5(keyed(secret)),
            Algorithm::HmacSha1 => Context::Sha1(keyed(secret)),
            Algorithm::HmacSha224 => Context::Sha224(keyed(secret)),
            Algorithm::HmacSha256 | Algorithm::HmacSha256To128 => Context::Sha256(keyed(secret)),
            Algorithm::HmacSha384 | Algorithm::HmacSha384To192 => Context::Sha384(keyed(secret)),
            Algorithm::HmacSha512 | Algorithm::HmacSha512To256 => Context::Sha512(keyed(secret)),
        }
    }

    /// Goes on with octets.
    pub(super) fn update(&mut self, octets: &[u8]) {
        each!(self, context => context.update(octets));
    }

    /// The whole output of the hash.
    pub(super) fn finish(self) -> Mac {
        each!(self, context => Mac::of(&context.finalize().into_bytes()))
    }

    /// Whether the output begins with these octets, one at least; in a time that says nothing of where they differ.
    pub(super) fn verify(self, mac: &[u8]) -> bool {
        each!(self, context => context.verify_truncated_left(mac).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(octets: &[u8]) -> String {
        octets.iter().map(|octet| format!("{octet:02x}")).collect()
    }

    #[track_caller]
    fn check(algorithm: Algorithm, secret: &[u8], data: &[u8], expected: &str) {
        let mut context = Context::new(algorithm, secret);
        data.chunks(7).for_each(|part| context.update(part));
        let mac = context.clone().finish();
        assert_eq!(hex(mac.octets()), expected);
        let octets = mac.octets();
        assert!(context.clone().verify(octets) && context.clone().verify(&octets[..10]));
        assert!(!context.clone().verify(b"") && !context.clone().verify(&[octets, b"x"].concat()));
        for at in 0..octets.len() {
            let mut wrong = octets.to_vec();
            wrong[at] ^= 1;
            assert!(!context.clone().verify(&wrong));
        }
    }

    /// RFC 2202 2 and 3 (MD5, SHA-1) and RFC 4231 4.3 and 4.7 (the others): a short key, and one longer than a block.
    #[test]
    fn vectors() {
        let data = b"what do ya want for nothing?";
        for (algorithm, expected) in [
            (Algorithm::HmacMd5, "750c783e6ab0b503eaa86e310a5db738"),
            (Algorithm::HmacSha1, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
            (Algorithm::HmacSha224, "a30e01098bc6dbbf45690f3a7e9e6d0f8bbea2a39e6148008fd05e44"),
            (Algorithm::HmacSha256, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
            (
                Algorithm::HmacSha384,
                "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649",
            ),
            (
                Algorithm::HmacSha512,
                "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fd\
                 caeab1a34d4a6b4b636e070a38bce737",
            ),
        ] {
            check(algorithm, b"Jefe", data, expected);
        }
        let data = b"Test Using Larger Than Block-Size Key - Hash Key First";
        check(Algorithm::HmacMd5, &[0xaa; 80], data, "6b1ab7fe4bd7bf8f0b62e6ce61b9d0cd");
        check(Algorithm::HmacSha1, &[0xaa; 80], data, "aa4ae5e15272d00e95705637ce8a3b55ed402112");
        for (algorithm, expected) in [
            (Algorithm::HmacSha224, "95e9a0db962095adaebe9b2d6f0dbce2d499f112f2d2b7273fa6870e"),
            (Algorithm::HmacSha256, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"),
            (
                Algorithm::HmacSha384,
                "4ece084485813e9088d2c63a041bc5b44f9ef1012a2b588f3cd11f05033ac4c60c2ef6ab4030fe8296248df163f44952",
            ),
            (
                Algorithm::HmacSha512,
                "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f3526b56d037e05f2598bd0fd2215d6a1e52\
                 95e64f73f63f0aec8b915a985d786598",
            ),
        ] {
            check(algorithm, &[0xaa; 131], data, expected);
        }
    }
}
