//! How zones are signed, and what is wrong with some.

use wire::NameBuf;
use wire::iana::{algorithm, rtype};

use super::zones::Generator;
use crate::signer::{Denial, FaultKind, Signing};

/// A number that no algorithm has.
const UNKNOWN_ALGORITHM: u8 = 200;

impl Generator {
    pub(super) fn signing(&self, algorithm: u8, denial: Denial) -> Option<Signing> {
        let now = self.wanted.now;
        let signing = Signing {
            algorithms: vec![algorithm],
            denial,
            inception: now - 86_400,
            expiration: now + 30 * 86_400,
            ..Signing::new(self.wanted.seed)
        };
        (self.wanted.signed_percent > 0).then_some(signing)
    }

    /// Whether nothing is left unsigned.
    pub(super) fn is_all_signed(&self) -> bool {
        self.wanted.signed_percent >= 100
    }

    /// How zones of hosters and CDNs are signed: mostly they are not.
    pub(super) fn common_signing(&self) -> Option<Signing> {
        self.signing(algorithm::ECDSAP256SHA256, Denial::Nsec).filter(|_| self.is_all_signed())
    }

    /// Algorithms and proofs as zones have them: mostly P-256, some RSA, few others, one of fifty an algorithm that nobody knows; NSEC and NSEC3 in halves;
    /// rolls that have begun.
    pub(super) fn zone_signing(&mut self) -> Option<Signing> {
        let algorithm = match self.random.below(50) {
            0..34 => algorithm::ECDSAP256SHA256,
            34..42 => algorithm::RSASHA256,
            42 => algorithm::RSASHA512,
            43 => algorithm::ECDSAP384SHA384,
            44..49 => algorithm::ED25519,
            _ => UNKNOWN_ALGORITHM,
        };
        let ds_digests = match self.random.below(10) {
            0 => vec![4],
            1 => vec![1, 2],
            _ => vec![2],
        };
        let (has_standby, has_revoked) = (self.random.chance(0.1), self.random.chance(0.05));
        let denial = match self.random.below(20) {
            0..10 => Denial::Nsec,
            10..18 => Denial::Nsec3 { iterations: 0, salt: Vec::new(), opt_out: false },
            18 => Denial::Nsec3 { iterations: 0, salt: Vec::new(), opt_out: true },
            // As zones were signed before RFC 9276, within what all validators do.
            _ => Denial::Nsec3 { iterations: 10, salt: vec![0xab, 0xcd], opt_out: false },
        };
        let has_single_key = self.random.chance(0.4);
        let signing = self.signing(algorithm, denial)?;
        let mut signing = Signing { has_single_key, has_standby, has_revoked, ds_digests, ..signing };
        if self.random.chance(0.05) {
            // A DS of no key beside the right one.
            signing.faults.push(FaultKind::StrangeDs(12_345, algorithm).everywhere());
        }
        Some(signing)
    }

    /// Makes a signed zone bogus: all of it mostly, else its mail server or its denials alone.
    pub(super) fn spoil(&mut self, zone: &str, signing: &mut Signing) {
        let kinds = [
            FaultKind::Expired,
            FaultKind::NotYetValid,
            FaultKind::Broken,
            FaultKind::Missing,
            FaultKind::UnknownKey,
            FaultKind::WrongDigest,
        ];
        let kind = kinds[self.random.index(kinds.len())].clone();
        let mail = format!("mail.{zone}").parse::<NameBuf>();
        // Digests are of the whole zone.
        let part = if kind == FaultKind::WrongDigest { 3 } else { self.random.below(4) };
        let fault = match (part, mail) {
            (0, Ok(mail)) => {
                self.ask(&format!("mail.{zone}"), rtype::A);
                self.ask(zone, rtype::MX);
                kind.at(&mail, rtype::A)
            }
            (1, _) => {
                self.ask(&format!("none.{zone}"), rtype::A);
                kind.at_type(if signing.denial == Denial::Nsec { rtype::NSEC } else { rtype::NSEC3 })
            }
            _ => {
                if is_supported(signing) {
                    self.bogus.insert(zone.to_owned());
                }
                kind.everywhere()
            }
        };
        signing.faults.push(fault);
    }
}

/// Whether validators know how a zone is signed; if not, it is insecure.
pub fn is_supported(signing: &Signing) -> bool {
    signing.algorithms.iter().any(|algorithm| *algorithm != UNKNOWN_ALGORITHM)
}
