//! One update against a draft: the order of what is checked, and all or nothing.

use crate::draft::{Damaged, Draft, Mark};
use crate::effect::permit_sender;
use crate::failure::{Failure, Why};
use crate::policy::{Asker, Policy};
use crate::request::Request;
use wire::iana::rtype;

/// How many records updates may make; what a zone has already may be more, and then only shrink (CVE-2024-1737: what large sets cost who asks for
/// them, and who changes them).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Of an RRset.
    pub records_per_rrset: u32,
    /// Of a name, signatures not counted.
    pub records_per_name: u32,
}

impl Default for Limits {
    /// Host names have a handful of each; BIND has 100 of each type, too.
    fn default() -> Limits {
        Limits { records_per_rrset: 100, records_per_name: 1_000 }
    }
}

/// What holds for updates of a zone.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'p> {
    /// Who may change what. `None`: whoever came past the access lists may change all.
    pub policy: Option<&'p Policy>,
    /// How many records.
    pub limits: Limits,
    /// Seconds since 1970, for what signatures must be valid at.
    pub now: u64,
    /// Who looks at signatures and proofs of signed zones, which may take a tenth of a second.
    pub proof: Proof,
}

/// What is done about the signatures that an update of a signed zone brings, and about its proofs of absence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proof {
    /// They are looked at here.
    #[default]
    Here,
    /// Somebody else is to look at them: [`Applied::Unproved`].
    Elsewhere,
    /// Somebody has: of this update and this state of the zone, and all is right.
    Given,
}

/// What became of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// Its prerequisites hold and its effects are in the draft. NOERROR, when the commit is durable.
    Done,
    /// Nothing of it is in the draft. What it says is true of the draft, so it too is said when that is durable.
    Failed(Failure),
    /// Nothing of it is in the draft. What is left to look at are signatures and proofs, with [`Proof::Here`] and this state of the zone: nothing is done yet in this draft.
    Unproved,
    /// It was not looked at: this draft has to be committed, and the update comes to the next one.
    CommitFirst,
}

impl Draft<'_> {
    /// Applies an update, as a whole or not at all (RFC 2136 3.7). The zone of `request` is that of the draft, which the caller has seen to.
    pub fn update(
        &mut self,
        request: &Request,
        asker: &Asker<'_>,
        terms: &Terms<'_>,
    ) -> Result<Applied, Damaged> {
        if self.must_commit_before(request) {
            return Ok(Applied::CommitFirst);
        }
        let mark = self.mark();
        match self.update_whole(request, asker, terms, mark) {
            Ok(()) => Ok(Applied::Done),
            Err(Stop::Failure(failure)) => {
                self.rollback(mark);
                Ok(Applied::Failed(failure))
            }
            Err(Stop::Unproved) => {
                self.rollback(mark);
                Ok(Applied::Unproved)
            }
            Err(Stop::Damaged) => {
                self.rollback(mark);
                Err(Damaged)
            }
        }
    }

    /// Whether this draft takes no such update any more: a version with an SOA record that was brought has this update alone.
    fn must_commit_before(&self, request: &Request) -> bool {
        let brings_soa = || request.updates().any(|entry| entry.rtype == rtype::SOA);
        self.is_full() || self.has_own_soa() || (!self.is_unchanged() && brings_soa())
    }

    fn update_whole(
        &mut self,
        request: &Request,
        asker: &Asker<'_>,
        terms: &Terms<'_>,
        mark: Mark,
    ) -> Result<(), Stop> {
        let permission = terms.policy.map(|policy| policy.of(asker));
        let permission = permission.as_ref();
        permit_sender(permission)?;
        self.prescan(request)?;
        self.permit(request, permission)?;
        self.check_prerequisites(request)?;
        self.permit_cleansing(request, permission)?;
        self.take_effect(request, &terms.limits)?;
        self.settle(mark)?;
        self.check_signed(mark, terms)
    }
}

/// Why an update ends before its end.
pub(crate) enum Stop {
    Failure(Failure),
    /// See [`Applied::Unproved`].
    Unproved,
    Damaged,
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Failure(failure)
    }
}

impl From<Why> for Stop {
    fn from(why: Why) -> Stop {
        Stop::Failure(why.into())
    }
}

impl From<Damaged> for Stop {
    fn from(_: Damaged) -> Stop {
        Stop::Damaged
    }
}
