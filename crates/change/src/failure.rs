//! Why an update is not done: its response code, its extended error, and words for the client and for the log.

use std::fmt;
use wire::iana::{ede, rcode, rtype};
use wire::message;

/// A section of an update message (RFC 2136 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What must hold (2.4).
    Prerequisites,
    /// What changes (2.5).
    Updates,
}

/// Why, and which record shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Why.
    pub why: Why,
    /// Section and number, from 1 on, of the record.
    pub at: Option<(Part, u16)>,
}

/// Why an update is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The message cannot be read.
    Malformed(message::Error),
    /// Not a request to update: another operation code, a response, or truncated.
    NoUpdate,
    /// Not one zone of type SOA.
    ZoneSection,
    /// A zone of a class other than IN.
    ZoneClass,
    /// A TTL, class, type or length that its section does not have (RFC 2136 3.2.5, 3.4.1.3).
    Form,
    /// RDATA is not of the type's form.
    Rdata(zonefile::rdata::Fault),
    /// The name is outside the zone.
    NotZone,
    /// The name is not in use and should be.
    NameMissing,
    /// The name is in use and should not be.
    NameThere,
    /// The RRset is not there, or has other records.
    RRsetMissing,
    /// The RRset is there and should not be.
    RRsetThere,
    /// No rule of the policy grants anything to this sender.
    Nobody,
    /// The policy does not grant a type at the name: by the rule with this number, from 1 on, or as none fits.
    Denied(u16, Option<u16>),
    /// The RRset would have more records than is set.
    RRsetFull(u32),
    /// The name would have more records than is set.
    NameFull(u32),
    /// What proves absence in all of the zone is not changed by updates: a record of this type.
    NotByUpdate(u16),
    /// The RRset would have more octets than a message.
    RRsetTooLarge,
    /// The zone is signed, and what the update leaves is not.
    Signed(Unsigned),
}

/// What a signed zone misses after an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsigned {
    /// A new SOA record.
    Soa,
    /// A signature over an RRset of this type.
    Missing(u16),
    /// A signature over this type that verifies.
    Invalid(u16),
    /// A signature over this type stands where there should be none.
    Stray(u16),
    /// A zone key went.
    KeyGone,
    /// A key that signed the keys of the zone signs them no more.
    SignerGone,
    /// The proof of the types at a name is missing, or tells other types.
    Types,
    /// A name has a proof of types, and should have none.
    StrayProof,
    /// What proves that there is nothing between two names does not lead from the one to the other.
    Chain,
    /// More than is checked: signatures, or names that come to light.
    TooMuch,
}

impl From<Why> for Failure {
    fn from(why: Why) -> Failure {
        Failure { why, at: None }
    }
}

impl Failure {
    /// The response code.
    pub fn rcode(&self) -> u16 {
        match self.why {
            Why::Malformed(_) | Why::NoUpdate | Why::ZoneSection | Why::Form | Why::Rdata(_) => {
                rcode::FORMERR
            }
            Why::ZoneClass => rcode::NOTAUTH,
            Why::NotZone => rcode::NOTZONE,
            Why::NameMissing => rcode::NXDOMAIN,
            Why::NameThere => rcode::YXDOMAIN,
            Why::RRsetMissing => rcode::NXRRSET,
            Why::RRsetThere => rcode::YXRRSET,
            Why::Nobody | Why::Denied(..) | Why::RRsetFull(_) | Why::NameFull(_) | Why::RRsetTooLarge => {
                rcode::REFUSED
            }
            Why::NotByUpdate(_) | Why::Signed(_) => rcode::REFUSED,
        }
    }

    /// The extended error (RFC 8914), where it says more than the response code.
    pub fn ede(&self) -> Option<u16> {
        match self.why {
            Why::Nobody | Why::Denied(..) => Some(ede::PROHIBITED),
            Why::NotByUpdate(_) => Some(ede::NOT_SUPPORTED),
            Why::Signed(Unsigned::Invalid(_)) => Some(ede::DNSSEC_BOGUS),
            Why::Signed(Unsigned::Types | Unsigned::Chain | Unsigned::StrayProof) => Some(ede::NSEC_MISSING),
            Why::Signed(Unsigned::KeyGone | Unsigned::SignerGone) => Some(ede::NOT_SUPPORTED),
            Why::Signed(_) => Some(ede::RRSIGS_MISSING),
            Why::RRsetFull(_) | Why::NameFull(_) | Why::RRsetTooLarge => Some(ede::OTHER),
            Why::Form | Why::Rdata(_) | Why::ZoneSection | Why::Malformed(_) => Some(ede::OTHER),
            _ => None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some((Part::Prerequisites, number)) => write!(f, "prerequisite {number}: ")?,
            Some((Part::Updates, number)) => write!(f, "update {number}: ")?,
            None => {}
        }
        self.why.fmt(f)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Malformed(error) => return error.fmt(f),
            Why::NoUpdate => "not a request to update",
            Why::ZoneSection => "zone section is not one name of type SOA",
            Why::ZoneClass => "no zones of that class here",
            Why::Form => "class, type, TTL and length do not go together",
            Why::Rdata(fault) => return fault.fmt(f),
            Why::NotZone => "name outside the zone",
            Why::NameMissing => "name not in use",
            Why::NameThere => "name in use",
            Why::RRsetMissing => "no such RRset",
            Why::RRsetThere => "RRset exists",
            Why::Nobody => "no rule of the policy grants anything to the sender",
            Why::Denied(rtype, Some(rule)) => {
                return write!(f, "{} denied by rule {rule} of the policy", rtype::Text(*rtype));
            }
            Why::Denied(rtype, None) => {
                return write!(f, "no rule of the policy grants {}", rtype::Text(*rtype));
            }
            Why::RRsetFull(most) => return write!(f, "RRset would have more than {most} records"),
            Why::NameFull(most) => return write!(f, "name would have more than {most} records"),
            Why::RRsetTooLarge => "RRset would not fit into a message",
            Why::NotByUpdate(rtype) => {
                return write!(
                    f,
                    "{} not changed by update: reload or transfer the zone",
                    rtype::Text(*rtype)
                );
            }
            Why::Signed(what) => return what.fmt(f),
        })
    }
}

impl fmt::Display for Unsigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("zone is signed and the server has no keys: ")?;
        f.write_str(match self {
            Unsigned::Soa => "update must bring a new SOA",
            Unsigned::Missing(rtype) => return write!(f, "no signature over {}", rtype::Text(*rtype)),
            Unsigned::Invalid(rtype) => {
                return write!(f, "signature over {} does not verify", rtype::Text(*rtype));
            }
            Unsigned::Stray(rtype) => return write!(f, "{} must not be signed here", rtype::Text(*rtype)),
            Unsigned::KeyGone => "keys are not removed by update",
            Unsigned::SignerGone => "a key that signed the keys of the zone signs them no more",
            Unsigned::Types => "NSEC or NSEC3 missing or not of the types at the name",
            Unsigned::StrayProof => "NSEC or NSEC3 of nothing",
            Unsigned::Chain => "NSEC or NSEC3 does not lead to the next",
            Unsigned::TooMuch => "more changes than are checked in one update",
        })
    }
}
