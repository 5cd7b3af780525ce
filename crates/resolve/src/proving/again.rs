//! What to do where a response, or the chain of trust to it, is bogus: that may be one server's fault, or of somebody between (RFC 4035 4.7).
//!
//! ```text
//! DS or DNSKEY breaks the chain -> fetched anew, of another server, if nobody did that just now -> once more of a third -> broken
//! the response itself           -> another server of the zone, three in all (after a mirror: all of them)               -> bogus
//! ```

use cache::{Key, Subject};
use validate::verdict::Break;
use validate::{Fault, Need, Verdict};
use wire::Name;
use wire::iana::rtype;

use super::Proof;
use crate::known::links::BogusZone;
use crate::known::lookup::Lookup;
use crate::limits::BOGUS_TRIES;
use crate::proving::facts::Fact;
use crate::resolver::Resolver;
use crate::task::mesh::TaskId;
use crate::task::{MIRROR, Source, Task};
use crate::world::World;

/// How a proof goes on that failed.
pub(super) enum Again {
    /// With a part of the chain that is being fetched anew.
    Chain,
    /// With another server's response.
    Server,
}

impl Resolver {
    /// What is bogus may be one server's fault, or of somebody between: DS or DNSKEY that is blamed is fetched anew, and once more where there are other
    /// servers; else other servers of the zone are asked. `None`: it was tried.
    pub(super) fn prove_again(
        &mut self,
        id: TaskId,
        task: &mut Task,
        proof: &mut Proof,
        verdict: &Verdict,
        world: &mut dyn World,
    ) -> Option<Again> {
        let broken = super::blamed(verdict)?;
        if matches!(broken.fault, Fault::TooMuchWork(_)) {
            return None;
        }
        if broken.is_in_chain
            && let Some(again) = self.mend_link((id, task), proof, broken, world)
        {
            return Some(again);
        }
        if task.place.source == Source::Mirror {
            // Its servers may have another version, which does not count among those that they get.
            return (!broken.is_in_chain).then_some(Again::Server);
        }
        task.bogus += 1;
        if broken.is_in_chain || task.bogus >= BOGUS_TRIES || matches!(task.place.source, Source::Forward(_))
        {
            return None;
        }
        task.candidates.leave_out(&proof.exchange.server);
        task.candidates.has_more().then_some(Again::Server)
    }

    /// Where a link of the chain is broken, whoever was asked for it, all below it is bogus for a while.
    pub(super) fn keep_bogus_zone(&mut self, verdict: &Verdict, world: &mut dyn World) {
        let Some(broken) = super::blamed(verdict) else { return };
        // What could not be fetched may be there any moment.
        if !broken.is_in_chain || broken.fault == Fault::Unreachable {
            return;
        }
        let name = broken.name.to_lowercase();
        if broken.rtype == rtype::DS && !self.is_cut(&name, world) {
            return;
        }
        let zone = BogusZone { ede: broken.fault.ede(), reason: super::words(broken) };
        self.broken.keep_bogus(&name, zone, self.time.now);
    }

    /// Whether a name was heard of as a zone cut. Where none is, a denial of its DS that proves nothing says nothing of what is signed at the name and below it: that needs
    /// no link there. Else one question for a type that is not there, in a zone whose denials are broken, would take the name itself from everybody.
    fn is_cut(&mut self, name: &Name, world: &mut dyn World) -> bool {
        let now = self.time.now;
        let entry = world.cache().get(&Key::cut(name), &mut self.scratch.copied);
        entry.is_some_and(|entry| entry.ttl_left(now).is_some())
    }

    /// Has a DS or DNSKEY RRset that breaks a chain fetched anew, if that was not done a short while ago; then what came of it is in the cache. `None`: it is
    /// broken for now.
    fn mend_link(
        &mut self,
        (id, task): (TaskId, &mut Task),
        proof: &mut Proof,
        broken: &Break,
        world: &mut dyn World,
    ) -> Option<Again> {
        let (name, rtype) = (broken.name.to_lowercase(), broken.rtype);
        let is_it = |fact: &Fact| fact.rtype == rtype && fact.name == name;
        let has_others =
            proof.again > 0 && proof.again < BOGUS_TRIES - 1 && self.has_several_servers(&name, rtype, world);
        let is_on_its_way = self.mesh.find(&name, rtype, true).is_some();
        let may_be_fetched = match proof.again {
            0 => is_on_its_way || self.broken.may_be_fetched(&name, rtype, self.time.now),
            _ => has_others,
        };
        if !may_be_fetched {
            // Of what was fetched for this proof the cache may have another version since.
            let is_own = proof.again == 0 && proof.facts.iter().any(is_it);
            proof.again = BOGUS_TRIES;
            if !is_own {
                return None;
            }
            proof.facts.retain(|fact| !is_it(fact));
            proof.validation.retry();
            return Some(Again::Chain);
        }
        proof.again += 1;
        if !is_on_its_way {
            self.broken.fetched(&name, rtype, self.time.now);
            self.forget_link(broken, world);
        }
        proof.avoided.extend(proof.facts.iter().filter(|fact| is_it(fact)).filter_map(|fact| fact.from));
        // From the servers themselves, that is.
        proof.avoided.push(MIRROR);
        proof.facts.retain(|fact| !is_it(fact));
        proof.validation.retry();
        self.fetch(id, task, proof, Need { name, rtype }, world);
        Some(Again::Chain)
    }

    /// Whether the zone that has DS or DNSKEY of a name has more than one server.
    fn has_several_servers(&mut self, name: &Name, rtype: u16, world: &mut dyn World) -> bool {
        let lookup = Lookup { is_unchecked: true, ..Lookup::new(world.cache(), self.time.now) };
        let name = name.to_lowercase();
        let owner = if rtype == rtype::DS { name.parent().unwrap_or(&name) } else { &name };
        let scratch = &mut self.scratch;
        lookup
            .cut(owner, &mut scratch.copied, &mut scratch.cuts)
            .is_some_and(|(_, cut)| cut.rdatas.count() > 1)
    }

    /// A DS or DNSKEY RRset that broke a chain is not used again.
    fn forget_link(&mut self, broken: &Break, world: &mut dyn World) {
        let name = broken.name.to_lowercase();
        for subject in [Subject::Unchecked(broken.rtype), Subject::Rrset(broken.rtype)] {
            world.cache().remove(&Key { name: &name, subject });
        }
        self.standings.forget(&name);
    }
}
