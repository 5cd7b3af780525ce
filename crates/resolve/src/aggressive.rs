//! Denials of names that nobody has asked for yet, from NSEC and NSEC3 records that were validated for others (RFC 8198).
//!
//! ```text
//! proved response -> SOA, NSEC, NSEC3 -> cache::Denials      name -> deepest zone cut -> what may deny it -> validate's proof -> outcome
//! ```
//!
//! A flood of random names in a signed zone so costs its servers nothing. What a wildcard would give (RFC 8198 5.3) is not made here.

use cache::Security;
use validate::anchors::Start;
use validate::denial::{Evidence, Proof};
use validate::limits::Meter;
use validate::verdict::{RrsetVerdict, Security as Validated};
use wire::Name;
use wire::iana::{rcode, rtype};
use wire::rrset::{Rrset, RrsetList, RrsetListBuf};

use crate::lookup::Lookup;
use crate::resolver::{Flow, Resolver};
use crate::start::{above, whole};
use crate::task::Task;
use crate::world::World;

/// Octets of the RDATA of an RRSIG before the signer's name (RFC 4034 3.1).
const SIGNER_AT: usize = 18;

impl Resolver {
    /// Keeps what denies more than was asked for.
    pub(crate) fn keep_denials(
        &mut self,
        authority: RrsetList<'_>,
        verdicts: &[RrsetVerdict],
        world: &mut dyn World,
    ) {
        for (set, verdict) in authority.iter().zip(verdicts) {
            if verdict.security == Validated::Secure
                && matches!(set.rtype, rtype::SOA | rtype::NSEC | rtype::NSEC3)
                && let Some(zone) = signer(&set)
            {
                world.cache().denials().put(&zone.to_lowercase(), &set, self.time.now);
            }
        }
    }

    /// What is proved of the name of now by what others were told.
    pub(crate) fn denied(&mut self, task: &mut Task, floor: usize, world: &mut dyn World) -> Option<Flow> {
        let is_proof_wanted = self.settings.is_validating && !task.is_unchecked;
        if !is_proof_wanted
            || !matches!(self.settings.anchors.start(&task.qname, self.time.wall), Start::Anchor { .. })
        {
            return None;
        }
        let lookup = Lookup {
            cache: world.cache(),
            now: self.time.now,
            is_unchecked: false,
            is_stale: false,
            is_for_proof: false,
            floor,
        };
        let zone = lookup.cut(above(task), &mut self.scratch.copied)?.0;
        let mut sets = RrsetListBuf::new();
        if !world.cache().denials().collect(zone, &task.qname, self.time.now, &mut sets) {
            return None;
        }
        let rcode =
            proved(zone, &task.qname, task.rtype, sets.list(), self.settings.policy.nsec3_iterations_max)?;
        self.counters.denied += 1;
        // One record may cover both the name and the wildcard.
        let mut once = RrsetListBuf::new();
        for set in sets.list().iter() {
            let is_same = |known: Rrset<'_>| known.rtype == set.rtype && known.owner.eq_ignore_case(set.owner);
            if !once.list().iter().any(is_same) {
                once.push(&set);
            }
        }
        let lists = (RrsetList::EMPTY, once.list());
        Some(Flow::End(Box::new(whole(task, rcode, lists, Security::Secure))))
    }
}

/// What the sets prove, if they do: that there is no such name, or no data of the type.
fn proved(zone: &Name, name: &Name, rtype: u16, sets: RrsetList<'_>, iterations_max: u16) -> Option<u16> {
    let mut evidence = Evidence::new(zone, iterations_max);
    for set in sets.iter() {
        evidence.add(&set).ok()?;
    }
    let mut meter = Meter::default();
    if evidence.name_error(name, &mut meter) == Ok(Proof::Proved) {
        return Some(rcode::NXDOMAIN);
    }
    (evidence.no_data(name, rtype, &mut meter) == Ok(Proof::Proved)).then_some(rcode::NOERROR)
}

/// Who signed a set.
fn signer<'a>(set: &Rrset<'a>) -> Option<&'a Name> {
    let rdata = set.signatures.iter().next()?;
    Name::split_from(rdata.get(SIGNER_AT..)?).ok().map(|(name, _)| name)
}
