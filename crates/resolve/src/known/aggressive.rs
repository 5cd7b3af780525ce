//! Answers for names that nobody has asked for yet, from NSEC and NSEC3 records that were validated for others (RFC 8198).
//!
//! ```text
//! proved response -> SOA, NSEC, NSEC3 -> cache::Denials      of a wildcard: its RRset at `*` too (`store`)
//! name -> deepest zone cut -> what may deny it -> validate's proof -> NXDOMAIN, NODATA
//!                          -> `*` of an ancestor is kept, the next closer name is denied, proved -> its RRset or alias for the name (RFC 8198 5.3)
//! ```
//!
//! A flood of random names in a signed zone so costs its servers nothing.

use cache::{Kind, Security, Subject};
use validate::anchors::Start;
use validate::denial::{Evidence, Proof};
use validate::limits::Meter;
use validate::verdict::{RrsetVerdict, Security as Validated};
use wire::iana::{rcode, rtype};
use wire::rrset::{Rrset, RrsetBuf, RrsetList, RrsetListBuf};
use wire::{Name, NameBuf};

use crate::known::lookup::Lookup;
use crate::known::start::{above, whole};
use crate::resolver::{Flow, Resolver};
use crate::task::Task;
use crate::world::World;

/// Ancestors of a name whose wildcards are looked for: each costs two look-ups, and wildcards are nearly always one or two labels above.
const ENCLOSERS_MAX: usize = 4;
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
        let is_proof_wanted =
            self.settings.is_validating && self.settings.is_aggressive && !task.is_unchecked;
        if !is_proof_wanted
            || !matches!(self.settings.anchors.start(&task.qname, self.time.wall), Start::Anchor { .. })
        {
            return None;
        }
        let lookup = Lookup { floor, ..Lookup::new(world.cache(), self.time.now) };
        let zone = lookup.deepest_cut(above(task), &mut self.scratch.copied, &mut self.scratch.cuts)?;
        let zone = self.rooms.copy(zone);
        let denied = self.denied_in(&zone, task, world);
        let denied = denied.or_else(|| self.made_from_wildcard(&zone, task, world));
        self.rooms.put(zone);
        denied
    }

    /// What denies the name, or its type, in a zone.
    fn denied_in(&mut self, zone: &Name, task: &mut Task, world: &mut dyn World) -> Option<Flow> {
        let mut sets = std::mem::take(&mut self.scratch.kept.authority);
        let is_known = world.cache().denials().collect(zone, &task.qname, self.time.now, &mut sets);
        let iterations_max = self.settings.policy.nsec3_iterations_max;
        let rcode =
            is_known.then(|| proved(zone, &task.qname, task.rtype, sets.list(), iterations_max)).flatten();
        let denied = rcode.map(|rcode| {
            self.counters.denied.add(1);
            let mut whole = whole(task, rcode, (RrsetList::EMPTY, RrsetList::EMPTY), Security::Secure);
            // One record may cover both the name and the wildcard.
            for set in sets.list().iter() {
                let is_same =
                    |known: Rrset<'_>| known.rtype == set.rtype && known.owner.eq_ignore_case(set.owner);
                if !whole.authority.list().iter().any(is_same) {
                    whole.authority.push(&set);
                }
            }
            Flow::End(whole)
        });
        self.scratch.kept.authority = sets;
        denied
    }

    /// What a wildcard of a zone gives for the name, where both it and that nothing is nearer to the name are proved.
    fn made_from_wildcard(&mut self, zone: &Name, task: &mut Task, world: &mut dyn World) -> Option<Flow> {
        // Never made from wildcards (RFC 4592 4).
        if matches!(
            task.rtype,
            rtype::DS | rtype::NS | rtype::SOA | rtype::DNAME | rtype::DNSKEY | rtype::ANY
        ) {
            return None;
        }
        let labels = task.qname.label_count();
        let fewest = zone.label_count().max(labels.saturating_sub(ENCLOSERS_MAX));
        let (mut sets, mut closer) = (RrsetListBuf::new(), &*task.qname);
        let mut found = None;
        // From the deepest encloser that there may be: what is kept of a wildcard shows that its parent exists.
        for _ in fewest..labels {
            let encloser = closer.parent()?;
            found = self.wildcard_at(encloser, task.rtype, world);
            if found.is_some() {
                break;
            }
            closer = encloser;
        }
        let (set, target) = found?;
        if !world.cache().denials().cover(zone, closer, self.time.now, &mut sets) {
            return None;
        }
        let mut evidence = Evidence::new(zone, self.settings.policy.nsec3_iterations_max);
        sets.list().iter().try_for_each(|set| evidence.add(&set)).ok()?;
        let encloser_labels = closer.label_count() - 1;
        let proof = evidence.no_closer(&task.qname, encloser_labels, &mut Meter::default());
        if proof != Ok(Proof::Proved) {
            return None;
        }
        self.counters.denied.add(1);
        let ttl = sets.list().iter().map(|proof| proof.ttl).fold(set.ttl, u32::min);
        let answer: RrsetListBuf =
            [Rrset { owner: &task.qname.to_owned(), ttl, ..set.rrset() }].into_iter().collect();
        let lists = (answer.list(), sets.list());
        Some(match target {
            Some(target) => self.follow_alias(task, lists, Security::Secure, Some(&target)),
            None => Flow::End(whole(task, rcode::NOERROR, lists, Security::Secure)),
        })
    }

    /// The RRset of a type, or the alias with its target, that is kept of `*` below `encloser`.
    fn wildcard_at(
        &mut self,
        encloser: &Name,
        rtype: u16,
        world: &mut dyn World,
    ) -> Option<(RrsetBuf, Option<NameBuf>)> {
        let octets = self.scratch.work.slice(2 + encloser.octets().len(), 0);
        octets[..2].copy_from_slice(b"\x01*");
        octets[2..].copy_from_slice(encloser.octets());
        let owner = Name::from_wire(octets).ok()?;
        let named = world.cache().named(owner);
        for of_type in [rtype, rtype::CNAME] {
            if let Some(entry) = named.get(Subject::Rrset(of_type), &mut self.scratch.copied)
                && entry.kind == Kind::Data
                && entry.security == Security::Secure
                && let Some(ttl) = entry.ttl_left(self.time.now)
            {
                let set =
                    Rrset { owner, rtype: of_type, ttl, rdatas: entry.rdatas, signatures: entry.signatures };
                let target = entry.rdatas.iter().next().and_then(|rdata| Name::from_wire(rdata).ok());
                let is_alias = of_type != rtype;
                return Some((set.to_buf(), target.filter(|_| is_alias).map(Name::to_lowercase)));
            }
        }
        None
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
