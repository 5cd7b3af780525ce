//! What comes of a validation.

use std::fmt;

use wire::NameBuf;
use wire::iana::{algorithm, rtype};

use crate::fault::{Fault, Insecurity};
use crate::limits::{Limit, Work};
use crate::response::Ending;

/// How far something can be relied on, from best to worst (RFC 4035 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Security {
    /// It is what the owner of the zone signed.
    Secure,
    /// The owner did not sign it, which is proved or said by the operator.
    Insecure,
    /// There is no trust anchor at or above it.
    Indeterminate,
    /// Nothing depends on it, so that it was not looked at: not to be given out as authentic.
    Unchecked,
    /// The owner signs, and this is not what was signed, or cannot be seen to be.
    Bogus,
}

/// What was found of one RRset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RrsetVerdict {
    /// How far it can be relied on.
    pub security: Security,
    /// How long it may be kept at most, in seconds (RFC 4035 5.3.3).
    pub ttl_max: u32,
}

/// Where a chain of trust breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    /// Whose records.
    pub name: NameBuf,
    /// Their type.
    pub rtype: u16,
    /// Why.
    pub fault: Fault,
    /// Whether it is a DS or DNSKEY RRset that was fetched for the chain, not a part of the response.
    pub is_in_chain: bool,
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.name, rtype::Text(self.rtype), self.fault)
    }
}

/// Why a response is not secure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Not signed, or counted as that.
    Insecure(Insecurity),
    /// No trust anchor.
    NoAnchor,
    /// Bogus.
    Bogus(Break),
}

impl Reason {
    /// The code of RFC 8914 for clients, where there is one.
    pub fn ede(&self) -> Option<u16> {
        match self {
            Reason::Insecure(insecurity) => insecurity.ede(),
            Reason::NoAnchor => None,
            Reason::Bogus(broken) => Some(broken.fault.ede()),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Insecure(insecurity) => insecurity.fmt(f),
            Reason::NoAnchor => f.write_str("no trust anchor at or above the name"),
            Reason::Bogus(broken) => broken.fmt(f),
        }
    }
}

/// What comes of the validation of a response.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The worst of its parts; never [`Security::Unchecked`].
    pub security: Security,
    /// Why not secure.
    pub reason: Option<Reason>,
    /// What is said about the last name of the chain. Where it is secure and differs from the RCODE of the response, this is proved.
    pub ending: Ending,
    /// The last name of the chain.
    pub last: NameBuf,
    /// How long the response may be kept at most, in seconds: the least of its RRsets.
    pub ttl_max: u32,
    /// Of each RRset of the answer section, then of each of the authority section.
    pub rrsets: Vec<RrsetVerdict>,
    /// What it took, with the responses before. For the next one of the same question.
    pub work: Work,
}

impl Verdict {
    /// Whether it says something about the response: not that there was no work left for the question that it was wanted for. Others may have more.
    pub fn is_fact(&self) -> bool {
        !matches!(self.reason, Some(Reason::Bogus(Break { fault: Fault::TooMuchWork(Limit::Question), .. })))
    }
}

/// One thing that was looked at, for `explain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Whose.
    pub name: NameBuf,
    /// Type of the RRset; of a denial, DS where that is denied, else the type asked for.
    pub rtype: u16,
    /// What was found.
    pub finding: Finding,
}

/// What was found of one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A signature is genuine.
    Signed {
        /// Labels of the signer.
        signer_labels: usize,
        /// Tag of the key.
        key_tag: u16,
        /// Its algorithm.
        algorithm: u8,
    },
    /// The zone was found secure earlier.
    Kept,
    /// The name is no zone cut.
    NoCut,
    /// It is proved not to exist.
    Denied,
    /// Not signed, or counted as that.
    Insecure(Insecurity),
    /// Bogus.
    Bogus(Fault),
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: ", self.name, rtype::Text(self.rtype))?;
        match self.finding {
            Finding::Signed { signer_labels, key_tag, algorithm } => {
                let signer = crate::names::ancestor(&self.name, signer_labels);
                match algorithm::mnemonic(algorithm) {
                    Some(mnemonic) => write!(f, "signed by {signer} with key {key_tag} ({mnemonic})"),
                    None => write!(f, "signed by {signer} with key {key_tag} (algorithm {algorithm})"),
                }
            }
            Finding::Kept => f.write_str("validated before"),
            Finding::NoCut => f.write_str("no zone begins here"),
            Finding::Denied => f.write_str("proved not to exist"),
            Finding::Insecure(insecurity) => write!(f, "insecure: {insecurity}"),
            Finding::Bogus(fault) => write!(f, "bogus: {fault}"),
        }
    }
}
