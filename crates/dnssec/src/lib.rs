//! Canonical forms, digests, NSEC3 hashes and signature checks.
