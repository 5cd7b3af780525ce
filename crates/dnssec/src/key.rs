//! DNSKEY and DS records (RFC 4034 2 and 5), key tags (RFC 4034 Appendix B), what is known of algorithms.

use wire::iana::algorithm::{
    DSA, DSANSEC3SHA1, ECCGOST, ECDSAP256SHA256, ECDSAP384SHA384, ED25519, RSAMD5, RSASHA1, RSASHA1NSEC3SHA1,
    RSASHA256, RSASHA512,
};

/// Whether signatures of this algorithm can be verified here.
pub fn is_supported(algorithm: u8) -> bool {
    matches!(algorithm, RSASHA1 | RSASHA1NSEC3SHA1 | RSASHA256 | RSASHA512)
        || matches!(algorithm, ECDSAP256SHA256 | ECDSAP384SHA384 | ED25519)
}

/// Whether keys of this size can be used with the algorithm, where it is one that is supported: RSA with a modulus of 1,024 to 8,192 bits. A key
/// that has no size at all, as it does not have the form of its algorithm, counts as one: it is bad rather than not supported.
pub fn is_size_supported(algorithm: u8, public_key: &[u8]) -> bool {
    !matches!(algorithm, RSASHA1 | RSASHA1NSEC3SHA1 | RSASHA256 | RSASHA512)
        || crate::crypto::is_rsa_size_supported(public_key)
}

/// Whether new signatures should not be made with it (RFC 9904: broken or weak digests, DSA, GOST).
pub fn is_deprecated(algorithm: u8) -> bool {
    matches!(algorithm, RSAMD5 | DSA | RSASHA1 | DSANSEC3SHA1 | RSASHA1NSEC3SHA1 | ECCGOST)
}

/// Whether the algorithm was assigned before NSEC3, so that its zones must use NSEC (RFC 5155 2).
pub fn is_nsec_only(algorithm: u8) -> bool {
    matches!(algorithm, RSAMD5 | DSA | RSASHA1)
}

/// The key may sign records of the zone (RFC 4034 2.1.1).
pub const FLAG_ZONE: u16 = 0x0100;
/// The key is revoked (RFC 5011 3).
pub const FLAG_REVOKE: u16 = 0x0080;
/// A parent is meant to point at this key (RFC 4034 2.1.1).
pub const FLAG_SEP: u16 = 0x0001;
/// The only value of the protocol field (RFC 4034 2.1.2).
pub const PROTOCOL_DNSSEC: u8 = 3;

/// The fields of a DNSKEY or CDNSKEY record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dnskey<'a> {
    /// See [`FLAG_ZONE`], [`FLAG_REVOKE`] and [`FLAG_SEP`].
    pub flags: u16,
    /// [`PROTOCOL_DNSSEC`] in every valid key.
    pub protocol: u8,
    /// See [`wire::iana::algorithm`].
    pub algorithm: u8,
    /// In the form of the algorithm.
    pub public_key: &'a [u8],
    /// Computed from all of the above.
    pub tag: u16,
}

impl<'a> Dnskey<'a> {
    /// Reads RDATA; `None` when it is shorter than the fixed fields and one octet of key.
    pub fn parse(rdata: &'a [u8]) -> Option<Dnskey<'a>> {
        let &[high, low, protocol, algorithm, ref public_key @ ..] = rdata else { return None };
        let flags = u16::from_be_bytes([high, low]);
        if public_key.is_empty() {
            return None;
        }
        Some(Dnskey { flags, protocol, algorithm, public_key, tag: key_tag(rdata) })
    }

    /// Whether the key may sign the zone's records: zone flag, protocol 3, not revoked (RFC 4035 5.3.1, RFC
    /// 5011 2.1).
    ///
    /// A revoked key still signs the DNSKEY RRset; who checks that asks for the flags.
    pub fn is_zone_key(&self) -> bool {
        self.flags & FLAG_ZONE != 0 && self.flags & FLAG_REVOKE == 0 && self.protocol == PROTOCOL_DNSSEC
    }

    /// Whether the key is revoked.
    pub fn is_revoked(&self) -> bool {
        self.flags & FLAG_REVOKE != 0
    }
}

/// The key tag of a DNSKEY's RDATA (RFC 4034 Appendix B).
pub fn key_tag(rdata: &[u8]) -> u16 {
    if let &[_, _, _, RSAMD5, .., high, low, _] = rdata {
        return u16::from_be_bytes([high, low]); // B.1: part of the modulus
    }
    let sum = rdata.iter().enumerate().fold(0u32, |sum, (at, &octet)| {
        sum.wrapping_add(if at.is_multiple_of(2) { (octet as u32) << 8 } else { octet as u32 })
    });
    (sum.wrapping_add(sum >> 16 & 0xffff) & 0xffff) as u16
}

/// The fields of a DS or CDS record (RFC 4034 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ds<'a> {
    /// Tag of the child's key.
    pub key_tag: u16,
    /// Algorithm of the child's key.
    pub algorithm: u8,
    /// How the digest was made; see [`crate::digest`].
    pub digest_type: u8,
    /// Digest of owner and RDATA of the child's key.
    pub digest: &'a [u8],
}

impl<'a> Ds<'a> {
    /// Reads RDATA; `None` when it is shorter than the fixed fields and one octet of digest.
    pub fn parse(rdata: &'a [u8]) -> Option<Ds<'a>> {
        let &[high, low, algorithm, digest_type, ref digest @ ..] = rdata else { return None };
        let key_tag = u16::from_be_bytes([high, low]);
        (!digest.is_empty()).then_some(Ds { key_tag, algorithm, digest_type, digest })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        let key = Dnskey::parse(&[1, 1, 3, 13, 9, 9]).unwrap();
        assert!(key.is_zone_key() && key.flags & FLAG_SEP != 0 && !key.is_revoked());
        assert!(!Dnskey::parse(&[1, 0x81, 3, 13, 9]).unwrap().is_zone_key());
        assert!(!Dnskey::parse(&[1, 1, 2, 13, 9]).unwrap().is_zone_key());
        assert!(!Dnskey::parse(&[0, 1, 3, 13, 9]).unwrap().is_zone_key());
        assert_eq!(Dnskey::parse(&[1, 1, 3, 13]), None);
        let ds = Ds { key_tag: 258, algorithm: 8, digest_type: 2, digest: &[7] };
        assert_eq!(Ds::parse(&[1, 2, 8, 2, 7]), Some(ds));
        assert_eq!(Ds::parse(&[1, 2, 8, 2]), None);
    }

    #[test]
    fn tags_of_odd_shapes() {
        assert_eq!(key_tag(&[]), 0);
        assert_eq!(key_tag(&[1, 0, 3, 1, 0xaa, 0xbb, 0xcc]), 0xaabb, "RSA/MD5");
        assert_eq!(key_tag(&[0xff; 65535]), 0xff00, "the longest RDATA does not overflow");
        assert_eq!(key_tag(&[1, 1, 3, 8, 5]), 0x0101 + 0x0308 + 0x0500);
    }
}
