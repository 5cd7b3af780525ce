//! The one place that calls the cryptographic library to verify a signature, so that it can be exchanged.

use ring::signature::{
    self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

use wire::iana::algorithm;

use crate::verify::Fault;

/// Smallest RSA modulus the library verifies: 1024 bits. Keys may be as small as 512 (RFC 3110 2), but those
/// can be factored on a desk.
const RSA_MODULUS_OCTETS_MIN: usize = 128;
/// Largest: 8192 bits by the library, 4096 by RFC 3110 2; work grows with the square.
const RSA_MODULUS_OCTETS_MAX: usize = 1024;

/// Verifies `signature` over `message` with a key in the form that DNSKEY records have.
pub(crate) fn verify_octets(
    algorithm: u8,
    public_key: &[u8],
    message: &[u8],
    signature: &[u8],
) -> Result<(), Fault> {
    match algorithm {
        algorithm::RSASHA1 | algorithm::RSASHA1NSEC3SHA1 => {
            rsa(&signature::RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY, public_key, message, signature)
        }
        algorithm::RSASHA256 => {
            rsa(&signature::RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY, public_key, message, signature)
        }
        algorithm::RSASHA512 => {
            rsa(&signature::RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY, public_key, message, signature)
        }
        algorithm::ECDSAP256SHA256 => {
            ecdsa::<64>(&signature::ECDSA_P256_SHA256_FIXED, public_key, message, signature)
        }
        algorithm::ECDSAP384SHA384 => {
            ecdsa::<96>(&signature::ECDSA_P384_SHA384_FIXED, public_key, message, signature)
        }
        algorithm::ED25519 => {
            let key: &[u8; 32] = public_key.try_into().map_err(|_| Fault::MalformedKey)?;
            verify(&signature::ED25519, key, message, signature)
        }
        _ => Err(Fault::Unsupported),
    }
}

/// RFC 6605 4: the two coordinates of `OCTETS` octets in all, without the octet 4 the library wants before
/// them.
fn ecdsa<const OCTETS: usize>(
    algorithm: &'static dyn VerificationAlgorithm,
    public_key: &[u8],
    message: &[u8],
    signature: &[u8],
) -> Result<(), Fault> {
    let coordinates: &[u8; OCTETS] = public_key.try_into().map_err(|_| Fault::MalformedKey)?;
    let mut point = [4; 1 + 96];
    point[1..1 + OCTETS].copy_from_slice(coordinates);
    verify(algorithm, &point[..1 + OCTETS], message, signature)
}

fn verify(
    algorithm: &'static dyn VerificationAlgorithm,
    public_key: &[u8],
    message: &[u8],
    signature: &[u8],
) -> Result<(), Fault> {
    UnparsedPublicKey::new(algorithm, public_key).verify(message, signature).map_err(|_| Fault::BadSignature)
}

fn rsa(
    parameters: &'static RsaParameters,
    public_key: &[u8],
    message: &[u8],
    signature: &[u8],
) -> Result<(), Fault> {
    let (e, n) = split_rsa_key(public_key).ok_or(Fault::MalformedKey)?;
    if !(RSA_MODULUS_OCTETS_MIN..=RSA_MODULUS_OCTETS_MAX).contains(&n.len()) {
        return Err(Fault::Unsupported);
    }
    RsaPublicKeyComponents { n, e }.verify(parameters, message, signature).map_err(|_| Fault::BadSignature)
}

/// Whether the library verifies signatures with a modulus of this key's size; keys without form have any size.
pub(crate) fn is_rsa_size_supported(public_key: &[u8]) -> bool {
    split_rsa_key(public_key)
        .is_none_or(|(_, n)| (RSA_MODULUS_OCTETS_MIN..=RSA_MODULUS_OCTETS_MAX).contains(&n.len()))
}

/// Exponent and modulus of an RSA key (RFC 3110 2), without leading zeros, which RFC 3110 forbids and keys
/// have.
fn split_rsa_key(public_key: &[u8]) -> Option<(&[u8], &[u8])> {
    let (exponent_octets, rest) = match public_key {
        [0, high, low, rest @ ..] => (u16::from_be_bytes([*high, *low]) as usize, rest),
        [octets @ 1..=255, rest @ ..] => (*octets as usize, rest),
        _ => return None,
    };
    let (e, n) = rest.split_at_checked(exponent_octets)?;
    let (e, n) = (without_zeros(e), without_zeros(n));
    (!e.is_empty() && !n.is_empty()).then_some((e, n))
}

fn without_zeros(octets: &[u8]) -> &[u8] {
    let zeros = octets.iter().take_while(|&&octet| octet == 0).count();
    &octets[zeros..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rsa_keys() {
        assert_eq!(split_rsa_key(&[1, 3, 9, 8]), Some((&[3u8][..], &[9u8, 8][..])));
        assert_eq!(split_rsa_key(&[0, 0, 2, 0, 3, 0, 8]), Some((&[3u8][..], &[8u8][..])));
        for key in [&[][..], &[0], &[0, 1], &[1], &[1, 3], &[2, 3], &[1, 0, 9], &[1, 3, 0]] {
            assert_eq!(split_rsa_key(key), None, "{key:?}");
        }
        let small = [&[1, 3][..], &[0xff; 64]].concat();
        assert_eq!(verify_octets(algorithm::RSASHA256, &small, b"", &[0; 64]), Err(Fault::Unsupported));
        let large = [&[1, 3][..], &[0xff; 128]].concat();
        assert!(
            !is_rsa_size_supported(&small) && is_rsa_size_supported(&large) && is_rsa_size_supported(&[])
        );
    }

    #[test]
    fn keys_of_wrong_length() {
        for algorithm in [algorithm::ECDSAP256SHA256, algorithm::ECDSAP384SHA384, algorithm::ED25519] {
            assert_eq!(verify_octets(algorithm, &[1; 33], b"", &[]), Err(Fault::MalformedKey));
        }
        assert_eq!(verify_octets(algorithm::ED448, &[1; 57], b"", &[]), Err(Fault::Unsupported));
    }
}
