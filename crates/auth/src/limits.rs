//! The bounds of the work on one query, each with its reason.

/// Most names of an alias chain. BIND stops after 11 or 16 restarts, Knot DNS after 20; what is left of a longer
/// chain the resolver asks for itself. Fewer would break chains in use, more only help amplification.
pub const CHAIN_MAX: usize = 16;

/// Most NSEC or NSEC3 records of a response: a denial takes at most three, each wildcard that a chain passed
/// one. A chain ends early when there is no room for a denial left.
pub const PROOFS_MAX: usize = 8;

/// Most proofs that the end of a chain takes.
pub const PROOFS_OF_A_DENIAL: usize = 4;

/// Most records of an answer whose targets get their addresses added: the thirteen root servers, and the
/// largest sets of name servers, mail exchangers or services that real zones have.
pub const TARGETS_MAX: usize = 24;

/// Most octets of our name that NSID carries (RFC 5001): what is longer would squeeze answers of 512 octets.
pub const NSID_OCTETS_MAX: usize = 128;

/// Least UDP payload that any client must take (RFC 1035 4.2.1).
pub const UDP_OCTETS_MIN: usize = 512;
