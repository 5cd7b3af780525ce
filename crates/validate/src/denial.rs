//! What NSEC and NSEC3 records prove: that a name or a type does not exist, that a zone is not signed (RFC 4035 5.4, RFC 5155 8).
//!
//! ```text
//! validated NSEC and NSEC3 RRsets of one zone -> Evidence -> shows(name): types | empty non-terminal | absent, closest encloser
//!                                                   |-> name_error, no_data, no_closer: proved, or insecure for a reason
//!                                                   `-> no_ds: what is at a name that may be a zone cut
//! ```
//!
//! Evidence is only as good as the signatures of its records: the caller verifies them first, and gives records of one zone only.

use dnssec::TypeBitmap;
use wire::iana::rtype;
use wire::{Name, Rrset, SortKey};

use crate::fault::{Fault, Insecurity};
use crate::limits::{DENIALS_MAX, Limit, Meter};
use crate::names::{Wildcard, ancestor};
use crate::nsec::{self, is_delegation};
use crate::nsec3::{self, Unusable};

/// What records show about a name.
#[derive(Clone, Copy, Debug)]
pub enum Shown<'a> {
    /// The name exists, with these types.
    Types(TypeBitmap<'a>),
    /// The name exists without records: others are below it.
    EmptyNonTerminal,
    /// The name does not exist.
    Absent {
        /// Labels of its closest encloser.
        encloser_labels: usize,
        /// It may be a delegation without DS all the same (RFC 5155 6).
        is_opt_out: bool,
    },
}

/// What is proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// What was asked for.
    Proved,
    /// Nothing that could be relied on, and that is not the records' fault.
    Insecure(Insecurity),
}

/// What is at a name that has no DS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// A delegation whose zone is not signed, or may be one.
    Insecure(Insecurity),
    /// No zone cut: the name is in the zone of the proof. There may be one below.
    Within,
    /// The name does not exist, so that no zone cut is at it or below.
    WithinAllBelow,
}

/// Validated NSEC and NSEC3 records of one zone.
#[derive(Debug)]
pub struct Evidence<'a> {
    apex: &'a Name,
    iterations_max: u16,
    nsec: Vec<nsec::Record<'a>>,
    nsec3: Vec<nsec3::Record<'a>>,
    /// Whether there were records with more iterations than are computed.
    has_iterations: bool,
}

impl<'a> Evidence<'a> {
    /// No evidence yet, of the zone `apex`.
    pub fn new(apex: &'a Name, iterations_max: u16) -> Evidence<'a> {
        Evidence { apex, iterations_max, nsec: vec![], nsec3: vec![], has_iterations: false }
    }

    /// Adds an RRset. Those that are no NSEC or NSEC3 of the zone, and NSEC3 with other parameters than the first (RFC 5155 8.2), are left out.
    pub fn add(&mut self, rrset: &Rrset<'a>) -> Result<(), Limit> {
        if self.nsec.len() + self.nsec3.len() >= DENIALS_MAX {
            return Err(Limit::Denials);
        }
        match rrset.rtype {
            rtype::NSEC => self.nsec.extend(nsec::Record::read(self.apex, rrset)),
            rtype::NSEC3 => match nsec3::Record::read(self.apex, rrset, self.iterations_max) {
                Ok(record) => {
                    if self.nsec3.first().is_none_or(|first| first.params() == record.params()) {
                        self.nsec3.push(record);
                    }
                }
                Err(Unusable::Iterations) => self.has_iterations = true,
                Err(Unusable::Unknown) => {}
            },
            _ => {}
        }
        Ok(())
    }

    /// Whether there is nothing that proves anything.
    pub fn is_empty(&self) -> bool {
        self.nsec.is_empty() && self.nsec3.is_empty() && !self.has_iterations
    }

    /// What the records show about `name`. None where they show nothing, and for names outside of the zone.
    pub fn shows(&self, name: &Name, meter: &mut Meter) -> Result<Option<Shown<'a>>, Limit> {
        if !name.is_at_or_below(self.apex) {
            return Ok(None);
        }
        match self.nsec_shows(name) {
            Some(shown) => Ok(Some(shown)),
            None => nsec3::shows(&self.nsec3, self.apex, name, meter),
        }
    }

    fn nsec_shows(&self, name: &Name) -> Option<Shown<'a>> {
        if self.nsec.is_empty() {
            return None;
        }
        let key = SortKey::of(name);
        self.nsec.iter().find_map(|record| record.shows(name, &key))
    }

    /// What they show about a name whose parent is known to exist.
    fn shows_child(&self, name: &Name, meter: &mut Meter) -> Result<Option<Shown<'a>>, Limit> {
        match self.nsec_shows(name) {
            Some(shown) => Ok(Some(shown)),
            None => nsec3::shows_child(&self.nsec3, name, meter),
        }
    }

    /// Whether `name` does not exist, nor a wildcard that would answer for it (RFC 4035 5.4, RFC 5155 8.4, RFC 9824 3.1).
    pub fn name_error(&self, name: &Name, meter: &mut Meter) -> Result<Proof, Fault> {
        match self.shows(name, meter)? {
            Some(Shown::Types(types)) if types.contains(rtype::NXNAME) => Ok(Proof::Proved),
            Some(Shown::Absent { encloser_labels, is_opt_out }) => {
                let wildcard = Wildcard::below(name, encloser_labels);
                match self.shows_child(wildcard.name(), meter)? {
                    Some(Shown::Absent { .. }) => Ok(proved_unless(is_opt_out)),
                    _ => self.nothing(),
                }
            }
            Some(_) => Err(Fault::DenialWrong),
            None => self.nothing(),
        }
    }

    /// Whether `name`, or the wildcard that answers for it, has no records of the type (RFC 4035 5.4, RFC 5155 8.5 to 8.7).
    pub fn no_data(&self, name: &Name, rtype: u16, meter: &mut Meter) -> Result<Proof, Fault> {
        match self.shows(name, meter)? {
            Some(Shown::Types(types)) => no_type(name, &types, rtype).map(|()| Proof::Proved),
            Some(Shown::EmptyNonTerminal) => Ok(Proof::Proved),
            Some(Shown::Absent { encloser_labels, is_opt_out }) => {
                let wildcard = Wildcard::below(name, encloser_labels);
                match self.shows_child(wildcard.name(), meter)? {
                    Some(Shown::Types(types)) => {
                        no_type(wildcard.name(), &types, rtype)?;
                        Ok(proved_unless(is_opt_out))
                    }
                    Some(Shown::EmptyNonTerminal) => Ok(proved_unless(is_opt_out)),
                    // The delegation that was left out, or an empty non-terminal above some (erratum 3441 of RFC 5155).
                    _ if is_opt_out => Ok(Proof::Insecure(Insecurity::OptOut)),
                    _ => self.nothing(),
                }
            }
            None => self.nothing(),
        }
    }

    /// Whether there is no name closer to `owner` than the ancestor with `encloser_labels` labels, so that the wildcard below that one answers
    /// for it (RFC 4035 5.3.4, RFC 5155 8.8).
    pub fn no_closer(&self, owner: &Name, encloser_labels: usize, meter: &mut Meter) -> Result<Proof, Fault> {
        let next_closer = ancestor(owner, encloser_labels + 1);
        if !next_closer.is_at_or_below(self.apex) {
            return Err(Fault::WildcardUnproved);
        }
        match self.shows_child(next_closer, meter)? {
            Some(Shown::Absent { is_opt_out, .. }) => Ok(proved_unless(is_opt_out)),
            Some(_) => Err(Fault::WildcardUnproved),
            None => self.nothing().map_err(|_| Fault::WildcardUnproved),
        }
    }

    /// What is at `name`, a name below the apex, that it has no DS (RFC 4035 5.2, RFC 5155 8.6 and 8.9).
    pub fn no_ds(&self, name: &Name, meter: &mut Meter) -> Result<Cut, Fault> {
        match self.shows(name, meter)? {
            Some(Shown::Types(types)) => {
                if types.contains(rtype::DS) || types.contains(rtype::SOA) {
                    Err(Fault::DenialWrong)
                } else if types.contains(rtype::NS) {
                    Ok(Cut::Insecure(Insecurity::NoDs))
                } else {
                    Ok(Cut::Within)
                }
            }
            Some(Shown::EmptyNonTerminal) => Ok(Cut::Within),
            Some(Shown::Absent { is_opt_out: true, .. }) => Ok(Cut::Insecure(Insecurity::OptOut)),
            Some(Shown::Absent { is_opt_out: false, .. }) => Ok(Cut::WithinAllBelow),
            None => match self.nothing()? {
                Proof::Insecure(insecurity) => Ok(Cut::Insecure(insecurity)),
                Proof::Proved => Err(Fault::DenialWrong),
            },
        }
    }

    /// What there is to say where the records show nothing.
    fn nothing(&self) -> Result<Proof, Fault> {
        if self.has_iterations {
            Ok(Proof::Insecure(Insecurity::Nsec3Iterations))
        } else if self.is_empty() {
            Err(Fault::DenialMissing)
        } else {
            Err(Fault::DenialWrong)
        }
    }
}

/// Whether types say that a name has no records of the type: neither it nor CNAME, but for types that stand beside one (RFC 4035 2.5), and said by the side
/// of a zone cut that knows.
fn no_type(name: &Name, types: &TypeBitmap<'_>, rtype: u16) -> Result<(), Fault> {
    let is_wrong_side = match rtype {
        rtype::DS => types.contains(rtype::SOA) && !name.is_root(),
        _ => is_delegation(types),
    };
    let stands_beside_alias = matches!(rtype, rtype::NSEC | rtype::RRSIG | rtype::KEY);
    let is_alias = types.contains(rtype::CNAME) && !stands_beside_alias;
    if is_wrong_side || types.contains(rtype) || is_alias {
        return Err(Fault::DenialWrong);
    }
    Ok(())
}

/// A response that relies on a span with opt-out is not authentic (RFC 5155 9.2).
fn proved_unless(is_opt_out: bool) -> Proof {
    if is_opt_out { Proof::Insecure(Insecurity::OptOut) } else { Proof::Proved }
}
