//! The algorithms by name (RFC 8945 6).

use crate::Name;

/// How a MAC is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// HMAC-MD5, which must not be used for anything new.
    HmacMd5,
    /// HMAC-SHA-1.
    HmacSha1,
    /// HMAC-SHA-224.
    HmacSha224,
    /// HMAC-SHA-256, which everybody has.
    HmacSha256,
    /// HMAC-SHA-384.
    HmacSha384,
    /// HMAC-SHA-512.
    HmacSha512,
    /// HMAC-SHA-256, always cut to 128 bits.
    HmacSha256To128,
    /// HMAC-SHA-384, always cut to 192 bits.
    HmacSha384To192,
    /// HMAC-SHA-512, always cut to 256 bits.
    HmacSha512To256,
}

/// Least octets of a MAC, whatever the algorithm (RFC 8945 5.2.2.1).
const MAC_OCTETS_MIN: usize = 10;

impl Algorithm {
    /// All of them.
    pub const ALL: [Algorithm; 9] = [
        Algorithm::HmacMd5,
        Algorithm::HmacSha1,
        Algorithm::HmacSha224,
        Algorithm::HmacSha256,
        Algorithm::HmacSha384,
        Algorithm::HmacSha512,
        Algorithm::HmacSha256To128,
        Algorithm::HmacSha384To192,
        Algorithm::HmacSha512To256,
    ];

    /// Name on the wire, octets of the hash and of the MAC.
    fn facts(self) -> (&'static [u8], usize, usize) {
        match self {
            Algorithm::HmacMd5 => (b"\x08hmac-md5\x07sig-alg\x03reg\x03int\0", 16, 16),
            Algorithm::HmacSha1 => (b"\x09hmac-sha1\0", 20, 20),
            Algorithm::HmacSha224 => (b"\x0bhmac-sha224\0", 28, 28),
            Algorithm::HmacSha256 => (b"\x0bhmac-sha256\0", 32, 32),
            Algorithm::HmacSha384 => (b"\x0bhmac-sha384\0", 48, 48),
            Algorithm::HmacSha512 => (b"\x0bhmac-sha512\0", 64, 64),
            Algorithm::HmacSha256To128 => (b"\x0fhmac-sha256-128\0", 32, 16),
            Algorithm::HmacSha384To192 => (b"\x0fhmac-sha384-192\0", 48, 24),
            Algorithm::HmacSha512To256 => (b"\x0fhmac-sha512-256\0", 64, 32),
        }
    }

    /// The name, in lower case as it is digested.
    pub fn name(self) -> &'static Name {
        Name::trusted(self.facts().0)
    }

    /// The name's first label, as settings have it: `hmac-sha256`.
    pub fn mnemonic(self) -> &'static str {
        let label = self.name().labels().next().unwrap_or_default();
        std::str::from_utf8(label).unwrap_or_default()
    }

    /// Octets of a whole MAC.
    pub fn mac_octets(self) -> usize {
        self.facts().2
    }

    /// The fewest octets that a MAC can be cut to (RFC 8945 5.2.2.1): ten, or half of what the hash gives.
    pub fn mac_octets_min(self) -> usize {
        MAC_OCTETS_MIN.max(self.facts().1 / 2)
    }

    /// The algorithm of a name, in any case.
    pub fn from_name(name: &Name) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.name().eq_ignore_case(name))
    }

    /// The algorithm of a text, in any case: its name or the first label of it.
    pub fn from_text(text: &str) -> Option<Algorithm> {
        let text = text.strip_suffix('.').unwrap_or(text);
        let is_whole = |algorithm: Algorithm| {
            let name = algorithm.name().to_string();
            name.strip_suffix('.').is_some_and(|name| name.eq_ignore_ascii_case(text))
        };
        let is_meant =
            |&algorithm: &Algorithm| algorithm.mnemonic().eq_ignore_ascii_case(text) || is_whole(algorithm);
        Algorithm::ALL.into_iter().find(is_meant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_lengths() {
        for algorithm in Algorithm::ALL {
            let name = algorithm.name();
            assert!(
                Name::from_wire(name.octets())
                    .is_ok_and(|found| Algorithm::from_name(found) == Some(algorithm))
            );
            assert_eq!(Algorithm::from_text(&name.to_string().to_uppercase()), Some(algorithm));
            assert_eq!(Algorithm::from_text(algorithm.mnemonic()), Some(algorithm));
            assert!(algorithm.mac_octets_min() <= algorithm.mac_octets());
        }
        let least = Algorithm::ALL.map(Algorithm::mac_octets_min);
        assert_eq!(least, [10, 10, 14, 16, 24, 32, 16, 24, 32]);
        assert_eq!(Algorithm::from_text("hmac-md5.sig-alg.reg.int"), Some(Algorithm::HmacMd5));
        for text in ["", "hmac", "hmac-sha256-80", "gss-tsig", "hmac-sha1.."] {
            assert_eq!(Algorithm::from_text(text), None, "{text}");
        }
    }
}
