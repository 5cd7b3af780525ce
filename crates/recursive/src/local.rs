//! Names that are answered from here, and nobody is asked about: the operator's records and zones, and names that are special.
//!
//! ```text
//! nodes: name -> { zone that begins here, sets }      every name between a zone and its records has a node: empty non-terminals
//! lookup: the name itself; then upwards to the first node with a zone, which decides
//! ```
//!
//! Records without a zone lie in a transparent one at their own name. A bit for each last label keeps names of others, nearly all, from being looked for.

mod compile;
mod find;
pub mod special;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use wire::rrset::{Rrset, RrsetListBuf};
use wire::{Name, NameBuf};

/// What is answered in a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Its records, and denials of all else.
    Static,
    /// Its records; names without any are resolved like others.
    Transparent,
    /// The same; other types of names with records are resolved too.
    TypeTransparent,
    /// The records of its own name, for all names below.
    Redirect,
    /// NXDOMAIN.
    NxDomain,
    /// No data.
    NoData,
    /// 0.0.0.0 and ::, no data of other types.
    Null,
    /// REFUSED.
    Refuse,
    /// Nothing at all.
    Drop,
}

/// A zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// The name from which on downwards it holds.
    pub name: NameBuf,
    /// What is answered.
    pub kind: Kind,
    /// Whoever asks for it is told to the log.
    pub is_told: bool,
}

impl Zone {
    /// A zone that nothing is told about.
    pub fn new(name: NameBuf, kind: Kind) -> Zone {
        Zone { name, kind, is_told: false }
    }
}

/// A record, of class IN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Whose it is.
    pub owner: NameBuf,
    /// Its type; no meta type, and no signature: local data are not signed.
    pub rtype: u16,
    /// Seconds.
    pub ttl: u32,
    /// Uncompressed.
    pub rdata: Box<[u8]>,
}

/// What [`Local`] is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Of two of one name the last counts.
    pub zones: Vec<Zone>,
    /// Their records.
    pub records: Vec<Record>,
    /// Names that are special by themselves ([`special`]) are answered here.
    pub has_special: bool,
    /// `ipv4only.arpa.` is one of them (RFC 8880).
    pub has_dns64: bool,
    /// Names that are not special, with all below: zones of ours, forwarded and stub zones, what operators lift.
    pub exceptions: Vec<NameBuf>,
}

impl Default for Source {
    /// The special names.
    fn default() -> Source {
        Source {
            zones: Vec::new(),
            records: Vec::new(),
            has_special: true,
            has_dns64: false,
            exceptions: Vec::new(),
        }
    }
}

/// All of it, compiled; see the module.
#[derive(Clone, Debug)]
pub struct Local {
    nodes: HashMap<Box<[u8]>, Node>,
    zones: Vec<Row>,
    /// A bit for each last label of a zone, by its hash.
    last_labels: u64,
}

#[derive(Clone, Debug, Default)]
struct Node {
    zone: Option<u32>,
    sets: RrsetListBuf,
}

/// A zone, and what its denials come with.
#[derive(Clone, Debug)]
struct Row {
    zone: Zone,
    is_built_in: bool,
    /// It is in the DNS as well, for its DS RRset: a proof that it is not signed there (RFC 8375 4, RFC 6303 7).
    has_parent: bool,
    soa: RrsetListBuf,
}

/// What is known of a name here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found<'l> {
    /// It is resolved like others.
    Nothing,
    /// The records; their owner is the name asked for.
    Data(Rrset<'l>),
    /// It is another name.
    Alias(Rrset<'l>, &'l Name),
    /// There is no such name (or, `has_name`, type); with the SOA RRset of the zone.
    Denied {
        has_name: bool,
        soa: Rrset<'l>,
        is_blocked: bool,
    },
    /// Addresses of nowhere, of the type asked for.
    Null,
    Refused,
    Dropped,
}

impl Default for Local {
    fn default() -> Local {
        Local::new(&Source::default())
    }
}

/// Of a zone at the root, which all names are in.
const ROOT_BIT: u64 = 1;

/// A bit for the last label of a name in lower case.
#[inline]
fn last_label_bit(name: &Name) -> u64 {
    let Some(label) = name.labels().last() else { return ROOT_BIT };
    let add = |hash: u32, octet: &u8| hash.wrapping_mul(31).wrapping_add(u32::from(*octet));
    // Never the bit of the root.
    1 << (1 + label.iter().fold(7, add) % 63)
}
