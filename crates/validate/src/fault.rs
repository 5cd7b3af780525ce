//! Why something is bogus or insecure, with the code that says so to clients (RFC 8914) and a sentence for people.

use std::fmt;

use wire::iana::ede;

use crate::limits::Limit;

/// Why something is bogus. Where several signatures fail for several reasons, the later one in this list is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The zone is signed, and the RRset has no signature.
    SignatureMissing,
    /// The signatures are by names that may not sign it, or that are no zone.
    WrongSigner,
    /// The Labels field says more than the owner or less than the signer has.
    WrongLabels,
    /// A type that is never made from a wildcard is signed as if it were.
    WildcardExpanded,
    /// The algorithms of the signatures are none that are verified here.
    UnsupportedAlgorithm,
    /// No key of the zone has tag and algorithm of a signature.
    KeyMissing,
    /// The key that a DS record points at does not have the zone flag, or another protocol than 3.
    NoZoneKey,
    /// The key that a DS record points at is revoked.
    KeyRevoked,
    /// A signature ends before it begins.
    EndsBeforeBegin,
    /// A signature is not valid yet.
    NotYetValid,
    /// A signature has expired.
    Expired,
    /// A signature or its key do not have the form of their algorithm.
    Malformed,
    /// A signature is not one of this key over this RRset.
    BadSignature,
    /// No key matches any DS record or anchor.
    NoMatchingKey,
    /// DS or DNSKEY could not be fetched.
    Unreachable,
    /// There are no records that could prove that there is no such name or type, or no DS.
    DenialMissing,
    /// There are such records, and they do not prove it.
    DenialWrong,
    /// The RRset was made from a wildcard, and nothing proves that there is no name closer to the question.
    WildcardUnproved,
    /// A CNAME that is not the one that the DNAME makes.
    AliasMismatch,
    /// A bound of [`crate::limits`] was reached.
    TooMuchWork(Limit),
}

impl Fault {
    /// The code of RFC 8914.
    pub fn ede(self) -> u16 {
        match self {
            Fault::SignatureMissing => ede::RRSIGS_MISSING,
            Fault::UnsupportedAlgorithm => ede::UNSUPPORTED_DNSKEY_ALGORITHM,
            Fault::KeyMissing | Fault::KeyRevoked | Fault::NoMatchingKey | Fault::Unreachable => {
                ede::DNSKEY_MISSING
            }
            Fault::NoZoneKey => ede::NO_ZONE_KEY_BIT_SET,
            Fault::EndsBeforeBegin => ede::SIGNATURE_EXPIRED_BEFORE_VALID,
            Fault::NotYetValid => ede::SIGNATURE_NOT_YET_VALID,
            Fault::Expired => ede::SIGNATURE_EXPIRED,
            Fault::DenialMissing | Fault::DenialWrong | Fault::WildcardUnproved => ede::NSEC_MISSING,
            Fault::TooMuchWork(_) => ede::OTHER,
            Fault::WrongSigner | Fault::WrongLabels | Fault::WildcardExpanded => ede::DNSSEC_BOGUS,
            Fault::Malformed | Fault::BadSignature | Fault::AliasMismatch => ede::DNSSEC_BOGUS,
        }
    }

    /// The later in the list of the two.
    pub(crate) fn or_graver(self, other: Option<Fault>) -> Fault {
        match other {
            Some(other) if other.rank() > self.rank() => other,
            _ => self,
        }
    }

    fn rank(self) -> u8 {
        match self {
            Fault::SignatureMissing => 0,
            Fault::WrongSigner => 1,
            Fault::WrongLabels => 2,
            Fault::WildcardExpanded => 3,
            Fault::UnsupportedAlgorithm => 4,
            Fault::KeyMissing => 5,
            Fault::NoZoneKey => 6,
            Fault::KeyRevoked => 7,
            Fault::EndsBeforeBegin => 8,
            Fault::NotYetValid => 9,
            Fault::Expired => 10,
            Fault::Malformed => 11,
            Fault::BadSignature => 12,
            Fault::NoMatchingKey => 13,
            Fault::Unreachable => 14,
            Fault::DenialMissing => 15,
            Fault::DenialWrong => 16,
            Fault::WildcardUnproved => 17,
            Fault::AliasMismatch => 18,
            Fault::TooMuchWork(_) => 19,
        }
    }
}

impl From<Limit> for Fault {
    fn from(limit: Limit) -> Fault {
        Fault::TooMuchWork(limit)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::SignatureMissing => "no signature, and the zone is signed",
            Fault::WrongSigner => "signed by a name that may not sign it",
            Fault::WrongLabels => "the number of labels in the signature fits neither owner nor signer",
            Fault::WildcardExpanded => "signed as made from a wildcard, which this type never is",
            Fault::UnsupportedAlgorithm => "signed with algorithms that are not verified here only",
            Fault::KeyMissing => "no key of the zone has the tag of the signature",
            Fault::NoZoneKey => "the key that the parent points at is not one that signs a zone",
            Fault::KeyRevoked => "the key that the parent points at is revoked",
            Fault::EndsBeforeBegin => "the signature ends before it begins",
            Fault::NotYetValid => "the signature is not valid yet: it, or the clock here, is wrong",
            Fault::Expired => "the signature has expired",
            Fault::Malformed => "key or signature do not have the form of their algorithm",
            Fault::BadSignature => "the signature is not one of this key over these records",
            Fault::NoMatchingKey => "no key of the zone is one that the parent or the trust anchor points at",
            Fault::Unreachable => "could not be fetched",
            Fault::DenialMissing => "no NSEC or NSEC3 records say that there is nothing",
            Fault::DenialWrong => "the NSEC or NSEC3 records do not prove that there is nothing",
            Fault::WildcardUnproved => {
                "made from a wildcard, and nothing proves that there is no closer name"
            }
            Fault::AliasMismatch => "the CNAME is not the one that the DNAME makes",
            Fault::TooMuchWork(Limit::Signatures) => "too many signatures to verify",
            Fault::TooMuchWork(Limit::Failures) => "too many signatures failed",
            Fault::TooMuchWork(Limit::Digests) => "too many digests of keys to compute",
            Fault::TooMuchWork(Limit::HashRounds) => "too many hashes of NSEC3 to compute",
            Fault::TooMuchWork(Limit::Denials) => "too many NSEC or NSEC3 records",
            Fault::TooMuchWork(Limit::Fetches) => "too many DS and DNSKEY RRsets to fetch",
            Fault::TooMuchWork(Limit::Question) => "no work left for this question",
            Fault::TooMuchWork(Limit::Rrsets) => "too many RRsets or aliases in one response",
        })
    }
}

/// Why something is not validated, and is given out all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insecurity {
    /// The parent proved that the delegation has no DS.
    NoDs,
    /// The parent leaves out delegations without DS, and this may be one (RFC 5155 6).
    OptOut,
    /// All DS records are of algorithms that are not verified here, or switched off (RFC 4035 5.2, RFC 9905).
    UnsupportedAlgorithm,
    /// All DS records have digests that are not computed here (RFC 6840 5.2).
    UnsupportedDigest,
    /// The keys that DS records point at have sizes that are not verified here.
    UnsupportedKeySize,
    /// The proof has more NSEC3 iterations than are computed (RFC 9276 3.2).
    Nsec3Iterations,
    /// A negative trust anchor of the operator (RFC 7646).
    NegativeAnchor,
    /// A zone that the operator has said is not signed.
    InsecurePoint,
    /// RRSIG records as an answer, which nothing signs (RFC 4035 2.2).
    Unsignable,
}

impl Insecurity {
    /// All of them, each at the place of its code.
    const ALL: [Insecurity; 9] = [
        Insecurity::NoDs,
        Insecurity::OptOut,
        Insecurity::UnsupportedAlgorithm,
        Insecurity::UnsupportedDigest,
        Insecurity::UnsupportedKeySize,
        Insecurity::Nsec3Iterations,
        Insecurity::NegativeAnchor,
        Insecurity::InsecurePoint,
        Insecurity::Unsignable,
    ];

    /// A number for it, to be kept.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// What [`Insecurity::code`] gave the number of.
    pub fn from_code(code: u8) -> Option<Insecurity> {
        Insecurity::ALL.get(usize::from(code)).copied()
    }

    /// The code of RFC 8914, where there is one.
    pub fn ede(self) -> Option<u16> {
        match self {
            Insecurity::UnsupportedAlgorithm | Insecurity::UnsupportedKeySize => {
                Some(ede::UNSUPPORTED_DNSKEY_ALGORITHM)
            }
            Insecurity::UnsupportedDigest => Some(ede::UNSUPPORTED_DS_DIGEST_TYPE),
            Insecurity::Nsec3Iterations => Some(ede::UNSUPPORTED_NSEC3_ITERATIONS),
            Insecurity::NegativeAnchor => Some(ede::NEGATIVE_TRUST_ANCHOR),
            Insecurity::NoDs | Insecurity::OptOut => None,
            Insecurity::InsecurePoint | Insecurity::Unsignable => None,
        }
    }
}

impl fmt::Display for Insecurity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Insecurity::NoDs => "the parent proves that the zone is not signed",
            Insecurity::OptOut => "the parent leaves out zones that are not signed, and this may be one",
            Insecurity::UnsupportedAlgorithm => "signed with algorithms that are not verified here",
            Insecurity::UnsupportedDigest => {
                "the parent points at keys with digests that are not computed here"
            }
            Insecurity::UnsupportedKeySize => "signed with keys of a size that is not verified here",
            Insecurity::Nsec3Iterations => "the proof has too many NSEC3 iterations",
            Insecurity::NegativeAnchor => "a negative trust anchor is set",
            Insecurity::InsecurePoint => "the settings say that the zone is not signed",
            Insecurity::Unsignable => "RRSIG records are not signed themselves",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes() {
        for (code, insecurity) in (0..).zip(Insecurity::ALL) {
            assert_eq!((insecurity.code(), Insecurity::from_code(code)), (code, Some(insecurity)));
        }
        assert_eq!(Insecurity::from_code(9), None);
    }
}
