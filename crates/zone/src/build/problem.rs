//! Why a zone does not fit into a pack.

use crate::block::NAMES_MAX;
use wire::NameBuf;
use wire::iana::rtype;
use wire::sort_key::KEY_OCTETS_MAX;

/// How many problems of one zone are reported.
pub const PROBLEMS_MAX: usize = 100;

/// Most octets of the references of one name: 16 names of this size with the longest keys have ends of 16 bits.
pub(crate) const REFERENCES_OCTETS_MAX: usize = 3500;
const _: () = assert!(NAMES_MAX * (REFERENCES_OCTETS_MAX + KEY_OCTETS_MAX + 4) <= u16::MAX as usize);

/// Why a zone does not fit into a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// An RRset with its signatures fits no message (RFC 1035 4.2.2: 65,535 octets).
    RRsetTooLarge {
        /// Owner of the RRset.
        owner: NameBuf,
        /// Its type.
        rtype: u16,
    },
    /// The zone has no SOA record at its apex, or one too short: nothing could be answered.
    NoSoa,
    /// An NSEC3PARAM record whose iterations pass the bound (RFC 9276 3.2), or of an unknown algorithm.
    Nsec3Parameters,
    /// A name has more types than a block has room for.
    TooManyTypes {
        /// The name.
        owner: NameBuf,
    },
    /// The pack would pass the reach of its references (16 GiB of names or of data, 2^27 blocks of names).
    PackFull,
    /// The pack that the zone is copied from is not sound.
    Damaged,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Problem::RRsetTooLarge { owner, rtype } => {
                match rtype::mnemonic(*rtype) {
                    Some(mnemonic) => write!(f, "RRset {owner} {mnemonic}")?,
                    None => write!(f, "RRset {owner} TYPE{rtype}")?,
                }
                f.write_str(": more than 65,535 octets with its signatures, fits no message")
            }
            Problem::NoSoa => f.write_str("no SOA record at the apex"),
            Problem::Nsec3Parameters => {
                f.write_str("NSEC3 chain of unknown algorithm or of too many iterations")
            }
            Problem::TooManyTypes { owner } => {
                write!(f, "{owner}: too many types at one name, about {} fit", REFERENCES_OCTETS_MAX / 4)
            }
            Problem::PackFull => f.write_str("zone too large for one pack"),
            Problem::Damaged => f.write_str("damaged in the pack that it is in"),
        }
    }
}
