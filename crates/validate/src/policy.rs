//! What the operator lets be verified.

use wire::iana::algorithm::{RSASHA1, RSASHA1NSEC3SHA1};

use wire::RdataList;

use crate::keys::usable_ds;
use crate::limits::NSEC3_ITERATIONS_MAX;

/// What is verified, and what counts as not signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether RSASHA1 and RSASHA1-NSEC3-SHA1 are verified. Off by default: RFC 9905 2 has operators treat them as not supported, so that zones
    /// with no other algorithm are insecure, and has implementations keep them.
    pub sha1_signatures: bool,
    /// Most NSEC3 iterations that are computed; more is insecure (RFC 9276 3.2).
    pub nsec3_iterations_max: u16,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy { sha1_signatures: false, nsec3_iterations_max: NSEC3_ITERATIONS_MAX }
    }
}

impl Policy {
    /// Whether a zone with these DS records is signed in a way that is verified: else it is insecure (RFC 4035 5.2).
    pub fn has_usable_ds(&self, ds: RdataList<'_>) -> bool {
        usable_ds(ds, self).is_ok()
    }

    /// Whether signatures of this algorithm are verified.
    pub fn is_supported(&self, algorithm: u8) -> bool {
        let is_sha1 = matches!(algorithm, RSASHA1 | RSASHA1NSEC3SHA1);
        dnssec::key::is_supported(algorithm) && (self.sha1_signatures || !is_sha1)
    }
}
