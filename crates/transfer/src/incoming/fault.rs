//! What is wrong with a response, and where.

use std::fmt;

use wire::iana::{class, rcode, rtype};
use wire::{message, tsig};
use zone::check::Check;
use zonefile::rdata;

/// Why a transfer ended without result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No connection, or no answer at all.
    Unreachable(Unreachable),
    /// The connection ended before the transfer did.
    Ended,
    /// A message cannot be read.
    Message(message::Error),
    /// Another ID than the question's.
    Id,
    /// Not a response, or one of another operation.
    NotResponse,
    /// TC, which a transfer over TCP cannot have (RFC 5936 2.2).
    Truncated,
    /// The first message has no question (RFC 5936 2.2.1).
    NoQuestion,
    /// The question of a message is not ours.
    OtherQuestion,
    /// The server says so.
    Rcode(u16),
    /// The signature; the response code beside it.
    Tsig(tsig::Fault, u16),
    /// A message without records, the first or one of many.
    Empty,
    /// The answer to a probe is not authoritative: the server does not have the zone.
    NotAuthoritative,
    /// No SOA record of the zone where one must be: at the begin, or at all.
    NoSoa,
    /// An SOA record of another name than the zone's.
    SoaOwner,
    /// An SOA record other than the first where only that one may be: the zone changed meanwhile, or it stands in the midst.
    OtherSoa {
        /// The serial that it has.
        found: u32,
        /// The serial of the first.
        first: u32,
    },
    /// Differences begin at, or go on from, another serial than the one that they should.
    Chain {
        /// The serial that they have.
        found: u32,
        /// The one that would follow.
        expected: u32,
    },
    /// A difference that leads to a serial that is not newer.
    Backwards {
        /// Before it.
        before: u32,
        /// After it.
        after: u32,
    },
    /// A record of another class than IN.
    Class(u16),
    /// RDATA that is not of its type's form, or a type that no zone has.
    Rdata(u16, rdata::Fault),
    /// Records after the end.
    AfterEnd,
    /// Octets after the last record.
    TrailingOctets,
    /// One of the limits.
    Limit(Limit),
    /// Whoever takes the records has no room for more, or cannot store them.
    Full,
    /// What was transferred does not fit the zone that is held: something is removed that is not there.
    Mismatch,
    /// The differences cannot be put into what is held now, whatever they are: that is damaged, or no change of it can be kept.
    NotNow,
    /// Differences lead to what cannot be served, as this was found in it.
    Misleading(Check),
    /// What was transferred is no zone that can be served.
    NoZone,
    /// The same, as this was found in it.
    Unservable(Check),
}

/// How a server was not reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// No answer in time.
    Silent,
    /// The connection, or the port, is refused.
    Refused,
    /// There is no way to it.
    NoRoute,
}

/// Limits of a transfer; see [`super::Limits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Octets of all messages.
    Octets,
    /// Octets of differences, which are held until the end.
    Differences,
    /// Records.
    Records,
    /// Time without a message.
    Idle,
    /// Time in all.
    Time,
    /// Octets a minute.
    Rate,
}

/// Where that shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Number of the message, the first is 1; 0 before it.
    pub message: u32,
    /// Offset of the record in it; 0: the whole message.
    pub octet: u16,
}

/// A fault and its place: a transfer that came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// What is wrong.
    pub fault: Fault,
    /// Where.
    pub place: Place,
}

/// What may help after a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Another primary, or later.
    Elsewhere,
    /// The same primary, all of the zone.
    Whole,
    /// The same primary, without EDNS or without IXFR: it may not know them.
    Plainer,
}

impl Fault {
    /// What may help.
    pub fn remedy(self) -> Remedy {
        match self {
            Fault::Rcode(rcode::FORMERR | rcode::NOTIMP | rcode::BADVERS) => Remedy::Plainer,
            Fault::Chain { .. } | Fault::Backwards { .. } | Fault::Mismatch | Fault::NotNow => Remedy::Whole,
            Fault::Misleading(_) | Fault::Limit(Limit::Differences) => Remedy::Whole,
            _ => Remedy::Elsewhere,
        }
    }

    /// Where an operator may look, as far as that is told by the fault.
    pub fn advice(self) -> Option<&'static str> {
        Some(match self {
            Fault::Unreachable(Unreachable::Refused) => {
                "nothing listens at that address and port, or a filter says so"
            }
            Fault::Unreachable(_) | Fault::Limit(Limit::Idle) => {
                "is the address right, is it running, does a filter drop what is sent, over UDP or TCP"
            }
            Fault::Rcode(rcode::REFUSED) => {
                "it does not let this server have the zone: who may transfer there, by which address and key"
            }
            Fault::Rcode(rcode::NOTAUTH) | Fault::NotAuthoritative => {
                "it does not serve the zone by that name"
            }
            Fault::Rcode(rcode::SERVFAIL) => "it has no data of the zone: not loaded, or expired",
            Fault::Tsig(tsig::Fault::Refused(rcode::BADKEY), _) => "it has no key of that name and algorithm",
            Fault::Tsig(tsig::Fault::Refused(_) | tsig::Fault::Mac, _) => "the secrets of the key differ",
            Fault::Tsig(tsig::Fault::Time, _) => "the clocks differ by more than five minutes",
            Fault::Tsig(tsig::Fault::Unsigned, rcode::REFUSED | rcode::NOTAUTH) => {
                "it does not know the key, or does not let it have the zone"
            }
            Fault::Tsig(..) => "the key of the remote must be the one that it signs with",
            Fault::Limit(Limit::Octets) => "`transfer-octets-max` in [secondary]",
            Fault::Full => "`transfer-memory-octets` and `transfer-disk-octets` in [secondary], and the disk",
            Fault::OtherSoa { .. } => "the zone changed while it was sent; it is tried again",
            _ => return None,
        })
    }

    /// Whether the server was not there, or lost on the way.
    pub fn is_unreachable(self) -> bool {
        matches!(self, Fault::Unreachable(_) | Fault::Limit(Limit::Idle))
    }
}

/// Completes "the server …".
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Fault::Unreachable(Unreachable::Silent) => f.write_str("does not answer"),
            Fault::Unreachable(Unreachable::Refused) => f.write_str("refuses the connection"),
            Fault::Unreachable(Unreachable::NoRoute) => f.write_str("cannot be reached: no route to it"),
            Fault::Ended => f.write_str("ended the connection before the zone was complete"),
            Fault::Message(error) => write!(f, "sent a message that cannot be read: {error}"),
            Fault::Id => f.write_str("answered with another ID"),
            Fault::NotResponse => f.write_str("sent a message that is no response to a query"),
            Fault::Truncated => f.write_str("sent a truncated message"),
            Fault::NoQuestion => f.write_str("answered without the question"),
            Fault::OtherQuestion => f.write_str("answered another question"),
            Fault::Rcode(code) => write!(f, "says {}", Code(code)),
            Fault::Tsig(fault, 0) => write!(f, "sent an answer {fault}"),
            Fault::Tsig(fault, code) => write!(f, "says {}, in an answer {fault}", Code(code)),
            Fault::Empty => f.write_str("sent messages without records"),
            Fault::NotAuthoritative => f.write_str("is not authoritative for the zone"),
            Fault::NoSoa => f.write_str("sent no SOA record of the zone where one must be"),
            Fault::SoaOwner => f.write_str("sent an SOA record of another name than the zone's"),
            Fault::OtherSoa { found, first } => {
                write!(f, "began with serial {first} and has an SOA record of serial {found} later")
            }
            Fault::Chain { found, expected } => {
                write!(f, "sent a difference from serial {found} where one from {expected} belongs")
            }
            Fault::Backwards { before, after } => {
                write!(f, "sent a difference from serial {before} to {after}, which is not newer")
            }
            Fault::Class(code) => match class::mnemonic(code) {
                Some(mnemonic) => write!(f, "sent a record of class {mnemonic}"),
                None => write!(f, "sent a record of class {code}"),
            },
            Fault::Rdata(code, fault) => {
                write!(f, "sent a record of type {} with wrong data: {fault}", rtype::Text(code))
            }
            Fault::AfterEnd => f.write_str("sent records after the end of the zone"),
            Fault::TrailingOctets => f.write_str("sent octets after the last record of a message"),
            Fault::Limit(Limit::Octets) => f.write_str("sent more octets than are allowed"),
            Fault::Limit(Limit::Differences) => f.write_str("sent more differences than are allowed"),
            Fault::Limit(Limit::Records) => f.write_str("sent more records than are allowed"),
            Fault::Limit(Limit::Idle) => f.write_str("sent nothing for too long"),
            Fault::Limit(Limit::Time) => f.write_str("took too long"),
            Fault::Limit(Limit::Rate) => f.write_str("is too slow"),
            Fault::Full => f.write_str("sent more than there is room for"),
            Fault::Mismatch => f.write_str("sent differences that do not fit what is held"),
            Fault::NotNow => f.write_str("sent differences that cannot be put into what is held now"),
            Fault::Misleading(check) => {
                write!(f, "sent differences that lead to what cannot be served: {}", check.text())
            }
            Fault::NoZone => f.write_str("sent what cannot be served"),
            Fault::Unservable(check) => write!(f, "sent what cannot be served: {}", check.text()),
        }
    }
}

impl std::error::Error for Fault {}

/// A response code in words.
struct Code(u16);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match rcode::mnemonic(self.0) {
            Some(mnemonic) => f.write_str(mnemonic),
            None => write!(f, "response code {}", self.0),
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.fault)?;
        match self.place {
            Place { message: 0 | 1, octet: 0 } => Ok(()),
            Place { message, octet: 0 } => write!(f, " (message {message})"),
            Place { message, octet } => write!(f, " (message {message}, octet {octet})"),
        }
    }
}

impl std::error::Error for Stop {}
