//! Transaction signatures (TSIG, RFC 8945): messages signed and checked with keys that both ends know.
//!
//! ```text
//! owner: name of the key | type 250 | class ANY | TTL 0 | RDLENGTH | RDATA
//! RDATA: algorithm | time signed u48 | fudge u16 | length u16, MAC | original ID u16 | error u16 | length u16, other data
//!
//! MAC over:  length and MAC of the request (in responses) | message without this record, with its original ID
//!            | name, class, TTL, algorithm, time signed, fudge, error, length, other data     "variables"
//! in streams, from the second signature on: length and MAC before | messages since | time signed, fudge
//! ```
//!
//! * A server: [`verify`] a request; [`Reply`] signs what is said to it, [`Outgoing`] a stream of messages; [`Rejected`] says
//!   what is wrong, signed where that is allowed.
//! * A client: [`Key::sign`] a request; [`Key::check`] the response to it, or [`Incoming`] a stream of messages.
//!
//! Messages are octets in a caller's buffer, complete but for the TSIG record; the time is an argument, in seconds since 1970
//! and below 2^48.

mod algorithm;
mod check;
mod key;
mod mac;
mod record;
mod reply;
mod stream;

pub use algorithm::Algorithm;
pub use check::{Checked, Rejected, Verified, verify};
pub use key::{Key, Keys, NoKeys};
pub use mac::Mac;
pub use record::{RECORD_OCTETS_MAX, Signature};
pub use reply::{Detached, Reply};
pub use stream::{Incoming, Outgoing, Progress, Signatures};

use crate::iana::rcode;
use std::fmt;

/// TSIG error of a MAC that is not right; as a response code the number is BADVERS (RFC 8945 3).
pub const BADSIG: u16 = 16;
/// How far clocks may be apart, as we say it (RFC 8945 10).
pub const FUDGE_SECONDS: u16 = 300;
/// Most messages of a stream without signature between two with (RFC 8945 5.3.1).
pub const UNSIGNED_MAX: u32 = 99;

/// Why a message does not count as signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// No signature.
    Unsigned,
    /// The message or its TSIG record cannot be read, the record is not the last octets of the message, there are two, or the
    /// MAC has a length that it must not have.
    Malformed,
    /// Signed by SIG(0) (RFC 2931), which is no matter of keys that both ends know.
    Sig0,
    /// A key that is not known, or one of another algorithm.
    Key,
    /// The MAC is not that of the message.
    Mac,
    /// Signed at another time.
    Time,
    /// The MAC is cut shorter than the key allows.
    Truncated,
    /// The server says so in this TSIG error, unsigned: BADKEY or BADSIG. It may be anybody who says it.
    Refused(u16),
}

impl Fault {
    /// The response code that tells a client (RFC 8945 5.2).
    pub fn rcode(self) -> u16 {
        match self {
            Fault::Malformed => rcode::FORMERR,
            Fault::Unsigned | Fault::Sig0 => rcode::REFUSED,
            _ => rcode::NOTAUTH,
        }
    }

    /// The error of the response's TSIG record; 0 where it has none.
    pub fn error(self) -> u16 {
        match self {
            Fault::Key => rcode::BADKEY,
            Fault::Mac => BADSIG,
            Fault::Time => rcode::BADTIME,
            Fault::Truncated => rcode::BADTRUNC,
            Fault::Unsigned | Fault::Malformed | Fault::Sig0 | Fault::Refused(_) => 0,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Unsigned => "not signed",
            Fault::Malformed => "with a signature that cannot be read",
            Fault::Sig0 => "signed with SIG(0)",
            Fault::Key => "signed with another key",
            Fault::Mac => "with a wrong signature",
            Fault::Time => "signed at another time: compare the clocks",
            Fault::Truncated => "with a signature that is too short",
            Fault::Refused(_) => "refused without signature",
        })
    }
}

impl std::error::Error for Fault {}
