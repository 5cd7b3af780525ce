//! Why a catalog is not processed (RFC 9432 4, 5.1): its members stay as they are.

use std::fmt;

use wire::{Name, NameBuf};

/// What is wrong with a catalog, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// What.
    pub fault: Fault,
    /// The name in the catalog at which that shows.
    pub at: NameBuf,
    /// The zone that is meant, where it is one.
    pub zone: Option<NameBuf>,
}

/// What is wrong with a catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No TXT record `version` (4.2.1).
    NoVersion,
    /// More than one.
    Versions,
    /// Another one than `2`.
    OtherVersion,
    /// More than one PTR record at a member node (4.1).
    Members,
    /// A zone at two member nodes (4.1).
    Twice,
    /// More than one PTR record at `coo` (4.3.1).
    Coos,
    /// A PTR record whose RDATA is no name.
    NotName,
    /// More members in all catalogs than [`super::MEMBERS_MAX`], or more octets of names than there is room for.
    TooMany,
    /// The zone is damaged where it is stored.
    Damaged,
}

impl Broken {
    pub(super) fn new(fault: Fault, at: &Name) -> Broken {
        Broken { fault, at: at.to_owned(), zone: None }
    }

    pub(super) fn of_zone(fault: Fault, at: &Name, zone: &Name) -> Broken {
        Broken { zone: Some(zone.to_owned()), ..Broken::new(fault, at) }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = &self.at;
        match self.fault {
            Fault::NoVersion => write!(f, "{at} has no TXT record: expected one that says \"2\"")?,
            Fault::Versions => write!(f, "{at} has several TXT records: expected one that says \"2\"")?,
            Fault::OtherVersion => {
                write!(f, "{at} says another version of catalogs: expected \"2\" (RFC 9432)")?
            }
            Fault::Members => write!(f, "{at} has several PTR records: expected one a member")?,
            Fault::Twice => write!(f, "{at} lists a zone that is listed already")?,
            Fault::Coos => write!(f, "{at} has several PTR records: expected one catalog")?,
            Fault::NotName => write!(f, "{at} has a PTR record without a name")?,
            Fault::TooMany => write!(f, "more members than there is room for, from {at} on")?,
            Fault::Damaged => write!(f, "{at} cannot be read: its zone is damaged where it is stored")?,
        }
        match &self.zone {
            Some(zone) => write!(f, ": {zone}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Broken {}
