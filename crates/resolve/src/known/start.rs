//! The begin of a name: what is known of it, and whose servers are to be asked.
//!
//! ```text
//! own zones -> answer | alias: the next name          special, at the end of an alias -> denial
//! deepest configured point at or above the name (for DS: above it)
//!   cache, what lies above that point left out -> answer, denial | alias: the next name
//!   failed just now -> the end                 own zones -> referral; mirrors
//!   forwarders or stub servers | deepest zone cut below the point | root
//! ```

use cache::{Security, Subject};
use wire::Name;
use wire::iana::{ede, rcode, rtype};
use wire::rrset::{RrsetList, RrsetListBuf};

use crate::known::lookup::{Found, Kept, Lookup};
use crate::known::stale::Before;
use crate::limits::{ALIASES_MAX, CHAIN_OCTETS_MAX};
use crate::outcome::Outcome;
use crate::resolver::{Flow, Resolver};
use crate::task::mesh::TaskId;
use crate::task::state::State;
use crate::task::{Purpose, Task};
use crate::world::World;

impl Resolver {
    /// Begins the name that a task is at: from what is known, else at the servers of the deepest zone that is.
    pub(crate) fn start(&mut self, id: TaskId, task: &mut Task, world: &mut dyn World) -> Flow {
        if let Some(flow) = self.ask_ours(id, task, world) {
            return flow;
        }
        // Clients who ask for such a name itself are answered before, or want the DS RRset of it.
        if task.aliases > 0 && world.keeps_inside(&task.qname) {
            // What a zone of ours refers to.
            if let Some(flow) = self.ask_own(id, task, world) {
                return flow;
            }
            let nothing = (RrsetList::EMPTY, RrsetList::EMPTY);
            return Flow::End(whole(task, rcode::NXDOMAIN, nothing, Security::Insecure));
        }
        let configured = self.configured(task);
        let floor = configured.map_or(0, |number| self.settings.zones[number].name.label_count());
        let is_passed_over = task.is_refresh && (task.aliases == 0 || task.story.is_some());
        let is_missed = std::mem::take(&mut task.is_missed);
        if !is_passed_over && !is_missed {
            let mut kept = std::mem::take(&mut self.scratch.kept);
            let flow = self.look_up(task, floor, &mut kept, world);
            self.scratch.kept = kept;
            if let Some(flow) = flow {
                task.note(|| "from the cache".into());
                return flow;
            }
        }
        if !is_passed_over && let Some(flow) = self.denied(task, floor, world) {
            return flow;
        }
        if let Some(number) = configured.filter(|number| !self.settings.zones[*number].servers.is_empty()) {
            return self.enter_configured(id, task, number, world);
        }
        if let Some(flow) = self.ask_own(id, task, world) {
            return flow;
        }
        self.enter_cut(id, task, floor, world)
    }

    /// The deepest zone of the settings that counts for the name of now. DS belongs to the zone above.
    fn configured(&self, task: &Task) -> Option<usize> {
        let zones = self.settings.zones.iter().enumerate();
        let is_above = |name: &Name| {
            task.qname.is_at_or_below(name)
                && !(task.rtype == rtype::DS && task.qname.eq_ignore_case(name) && !name.is_root())
        };
        let now = self.time.now;
        let is_unheard = |number| self.unheard.iter().any(|(zone, until)| *zone == number && *until > now);
        let counts = |(number, _): &(usize, _)| {
            task.passed_over != Some(*number as u16) && !is_unheard(*number as u16)
        };
        let of_name = zones.filter(|(_, zone)| is_above(&zone.name)).filter(counts);
        of_name.max_by_key(|(_, zone)| zone.name.label_count()).map(|(number, _)| number)
    }

    /// What the cache has of the name of now. `None`: nothing that helps.
    fn look_up(
        &mut self,
        task: &mut Task,
        floor: usize,
        kept: &mut Kept,
        world: &mut dyn World,
    ) -> Option<Flow> {
        let now = self.time.now;
        let lookup = Lookup { is_unchecked: task.is_unchecked, floor, ..Lookup::new(world.cache(), now) };
        kept.clear();
        let named = lookup.cache.named(&task.qname);
        let found = lookup.find_named(&named, task.rtype, &mut self.scratch.copied, kept);
        if found == Found::Nothing {
            let failure = named.get(Subject::Failure(task.rtype), &mut self.scratch.copied)?;
            let before = Before::of(&failure, now);
            return self.failed_before(task, &before, world);
        }
        Some(self.found(task, found, kept))
    }

    /// What a failure that is kept of the name of now leads to. `None`: nothing, as it is over, or no reason for this task.
    fn failed_before(&mut self, task: &mut Task, before: &Before, world: &mut dyn World) -> Option<Flow> {
        // That it is bogus is nothing to who wants it all the same (CD).
        let is_bogus = before.ede.is_some_and(|ede| BOGUS_EDES.contains(&ede));
        if task.purpose == Purpose::Prefetch || task.is_unchecked && is_bogus {
            return None;
        }
        if !is_bogus && let Some(stale) = self.stale_at_once(task, before, world) {
            return Some(Flow::End(Box::new(stale)));
        }
        if before.is_over || !before.is_fact {
            return None;
        }
        let edes = [before.ede, Some(ede::CACHED_ERROR)];
        Some(Flow::End(Box::new(Outcome { is_fact: true, edes, ..Outcome::failed() })))
    }

    /// Takes what was found to be so: an alias leads on, all else is the end.
    fn found(&mut self, task: &mut Task, found: Found, kept: &mut Kept) -> Flow {
        task.unsigned_ede = task.unsigned_ede.or(kept.ede);
        match found {
            Found::Alias(security) => {
                let target = kept.target.take();
                let lists = (kept.answer.list(), kept.authority.list());
                self.follow_alias(task, lists, security, target.as_deref())
            }
            Found::Data(security) => conclude(task, rcode::NOERROR, kept, security),
            Found::NoData(security) => conclude(task, rcode::NOERROR, kept, security),
            Found::NameError(security) => conclude(task, rcode::NXDOMAIN, kept, security),
            Found::TooLong(security) => conclude(task, rcode::YXDOMAIN, kept, security),
            Found::Nothing => Flow::Go,
        }
    }

    /// Goes on with the target of an alias.
    pub(crate) fn follow_alias(
        &mut self,
        task: &mut Task,
        (answer, proofs): (RrsetList<'_>, RrsetList<'_>),
        security: Security,
        target: Option<&Name>,
    ) -> Flow {
        self.counters.aliases.add(1);
        task.chain_octets += answer.octets().len() + proofs.octets().len();
        task.aliases += 1;
        let is_known = |name: &Name| {
            task.qname.eq_ignore_case(name)
                || task.chain.list().iter().any(|set| set.owner.eq_ignore_case(name))
        };
        let Some(target) = target.filter(|name| {
            task.aliases <= ALIASES_MAX && task.chain_octets <= CHAIN_OCTETS_MAX && !is_known(name)
        }) else {
            // As all resolvers do: a loop has no answer, nor has a chain that is too long.
            let edes = [Some(ede::OTHER), None];
            let reason = Some("a loop of aliases, or too many of them");
            return Flow::End(Box::new(Outcome { is_fact: true, edes, reason, ..Outcome::failed() }));
        };
        answer.iter().for_each(|set| task.chain.push(&set));
        proofs.iter().for_each(|set| task.chain_proofs.push(&set));
        task.chain_security = Some(task.chain_security.map_or(security, |known| known.worst(security)));
        task.minimiser = task.minimiser.of_target(&task.qname, target);
        task.qname.set_lower(target);
        task.state = State::Start;
        (task.passed_over, task.forwarded_at) = (None, None);
        task.referrals = 0;
        task.questions = 0;
        Flow::Go
    }
}

/// Extended errors that say that validation failed.
const BOGUS_EDES: [u16; 10] = [
    ede::UNSUPPORTED_DNSKEY_ALGORITHM,
    ede::UNSUPPORTED_DS_DIGEST_TYPE,
    ede::DNSSEC_BOGUS,
    ede::SIGNATURE_EXPIRED,
    ede::SIGNATURE_NOT_YET_VALID,
    ede::DNSKEY_MISSING,
    ede::RRSIGS_MISSING,
    ede::NO_ZONE_KEY_BIT_SET,
    ede::NSEC_MISSING,
    ede::SIGNATURE_EXPIRED_BEFORE_VALID,
];

/// The deepest name whose servers can be asked: DS is on the upper side of a cut.
pub(crate) fn above(task: &Task) -> &Name {
    match task.rtype {
        rtype::DS => task.qname.parent().unwrap_or(&task.qname),
        _ => &task.qname,
    }
}

/// The end, with what was found, after the aliases that led there.
fn conclude(task: &mut Task, rcode: u16, kept: &Kept, security: Security) -> Flow {
    let lists = (kept.answer.list(), kept.authority.list());
    Flow::End(whole(task, rcode, lists, security))
}

/// The outcome of a chain of aliases and what is at its end.
pub(crate) fn whole(
    task: &mut Task,
    rcode: u16,
    (answer, authority): (RrsetList<'_>, RrsetList<'_>),
    security: Security,
) -> Box<Outcome> {
    let mut whole = task.outcome.take().unwrap_or_default();
    let (mut before, mut proofs) = (std::mem::take(&mut whole.answer), std::mem::take(&mut whole.authority));
    before.clear();
    proofs.clear();
    // The chain, where there is one; else the room of before.
    let chained = |chain: &mut RrsetListBuf, room| match chain.list().octets() {
        [] => room,
        _ => std::mem::take(chain),
    };
    let security = task.chain_security.map_or(security, |known| known.worst(security));
    *whole = Outcome {
        rcode,
        is_fact: true,
        security: Some(security),
        edes: [task.unsigned_ede.filter(|_| security == Security::Insecure), None],
        answer: chained(&mut task.chain, before),
        authority: chained(&mut task.chain_proofs, proofs),
        ..Outcome::default()
    };
    let append = |sets: RrsetList<'_>, to: &mut RrsetListBuf| sets.iter().for_each(|set| to.push(&set));
    append(answer, &mut whole.answer);
    append(authority, &mut whole.authority);
    whole
}
