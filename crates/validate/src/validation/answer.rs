//! One RRset: whose signature it has, where that zone stands, whether it is genuine (RFC 4035 5.3).

use wire::iana::rtype;
use wire::{Name, Rrset};

use super::{Judged, Outcome, Validation, begin, subject};
use crate::chain::{From, Tools, Walked, signers};
use crate::facts::Need;
use crate::fault::{Fault, Insecurity};
use crate::limits::SIGNERS_OF_RRSET_MAX;
use crate::response::{Response, dname_above, substitute};
use crate::signature::{Verified, may_sign};
use crate::verdict::{Break, Finding, Reason};

impl Validation {
    pub(super) fn judge_answer(
        &mut self,
        response: &Response<'_>,
        tools: &mut Tools<'_, '_>,
    ) -> Result<(), Need> {
        let is_made = |rrset: &Rrset<'_>| {
            rrset.rtype == rtype::CNAME
                && rrset.signatures.is_empty()
                && dname_above(rrset.owner, response).is_some()
        };
        for (place, rrset) in response.answer.iter().enumerate() {
            if !is_made(&rrset) {
                self.judge(place, &rrset, tools)?;
            }
        }
        for (place, rrset) in response.answer.iter().enumerate() {
            if is_made(&rrset) && self.judged[place].is_none() {
                self.judged[place] = Some(self.judge_made(&rrset, response));
            }
        }
        Ok(())
    }

    /// A CNAME that a DNAME of the same answer makes: as good as that one (RFC 6672 5.3.1).
    pub(super) fn judge_made(&mut self, rrset: &Rrset<'_>, response: &Response<'_>) -> Judged {
        let dname = dname_above(rrset.owner, response);
        let place = dname.and_then(|dname| response.answer.iter().position(|set| set == dname));
        let by_dname = place.and_then(|place| self.judged[place].clone());
        let (Some(dname), Some(by_dname)) = (dname, by_dname) else {
            return self.bogus(rrset, Fault::SignatureMissing);
        };
        let made = substitute(rrset.owner, &dname);
        let mut targets = rrset.rdatas.iter();
        let is_same = match (targets.next().map(Name::from_wire), targets.next(), made) {
            (Some(Ok(target)), None, Some(made)) => target.eq_ignore_case(&made),
            _ => false,
        };
        match by_dname.outcome {
            Outcome::Secure { .. } if !is_same => self.bogus(rrset, Fault::AliasMismatch),
            outcome => Judged { ttl_max: rrset.ttl.min(by_dname.ttl_max), outcome },
        }
    }

    pub(super) fn bogus(&mut self, rrset: &Rrset<'_>, fault: Fault) -> Judged {
        self.chain.note(rrset.owner, rrset.rtype, Finding::Bogus(fault));
        let broken = Break { name: rrset.owner.to_owned(), rtype: rrset.rtype, fault, is_in_chain: false };
        Judged { ttl_max: 0, outcome: Outcome::Not(Reason::Bogus(broken)) }
    }

    pub(super) fn judge(
        &mut self,
        place: usize,
        rrset: &Rrset<'_>,
        tools: &mut Tools<'_, '_>,
    ) -> Result<(), Need> {
        if self.judged[place].is_none() {
            self.judged[place] = Some(self.judge_rrset(rrset, tools)?);
        }
        Ok(())
    }

    pub(super) fn judge_rrset(
        &mut self,
        rrset: &Rrset<'_>,
        tools: &mut Tools<'_, '_>,
    ) -> Result<Judged, Need> {
        let not = |reason| Judged { ttl_max: rrset.ttl, outcome: Outcome::Not(reason) };
        if rrset.rtype == rtype::RRSIG {
            return Ok(not(Reason::Insecure(Insecurity::Unsignable)));
        }
        let subject = subject(rrset.owner, rrset.rtype);
        let from = match begin(subject, tools.context) {
            Ok(from) => from,
            Err(reason) => return Ok(not(reason)),
        };
        if rrset.rtype == rtype::DNSKEY {
            self.chain.enter_anew(rrset.owner);
        }
        let mut fault = None;
        for signer in likely_signers(rrset, from.labels) {
            let walked = match self.chain.walk(signer, from, tools)? {
                Walked::Secure(zone) => self.says_who(zone, signer, rrset, from, tools)?,
                walked => Err(walked),
            };
            let found = match walked {
                Ok(zone) => match self.chain.verify(rrset, zone, tools) {
                    Ok(verified) => {
                        let mut judged = self.signed(rrset, signer, &verified);
                        if rrset.rtype == rtype::DNSKEY {
                            let left = self.chain.seconds_left(zone, tools.context.now);
                            judged.ttl_max = judged.ttl_max.min(left.unwrap_or(0));
                        }
                        return Ok(judged);
                    }
                    Err(found) => found,
                },
                Err(Walked::Secure(_)) => Fault::WrongSigner,
                // Above the owner, so that the owner is insecure too.
                Err(Walked::Insecure(insecurity)) => return Ok(not(Reason::Insecure(insecurity))),
                Err(Walked::Bogus(broken)) => return Ok(not(Reason::Bogus(broken))),
            };
            fault = Some(found.or_graver(fault));
        }
        if let Some(fault) = fault {
            return Ok(self.bogus(rrset, fault));
        }
        let fault = match rrset.signatures.is_empty() {
            true => Fault::SignatureMissing,
            false => Fault::WrongSigner,
        };
        Ok(match self.chain.walk(subject, from, tools)? {
            Walked::Secure(_) => self.bogus(rrset, fault),
            Walked::Insecure(insecurity) => not(Reason::Insecure(insecurity)),
            Walked::Bogus(broken) => not(Reason::Bogus(broken)),
        })
    }

    /// An RRset with a signature by `signer` that is genuine.
    pub(super) fn signed(&mut self, rrset: &Rrset<'_>, signer: &Name, verified: &Verified) -> Judged {
        let zone_labels = signer.label_count();
        let Verified { ttl_max, source, key_tag, algorithm } = *verified;
        let finding = Finding::Signed { signer_labels: zone_labels, key_tag, algorithm };
        self.chain.note(rrset.owner, rrset.rtype, finding);
        Judged { ttl_max, outcome: Outcome::Secure { zone_labels, source } }
    }

    /// Whether the zone at a place of the memo is the signer's, and no zone cut between it and the RRset is known of; else what is there. NSEC records of
    /// the parent stand at the cut itself, and say so.
    pub(super) fn says_who(
        &mut self,
        zone: usize,
        signer: &Name,
        rrset: &Rrset<'_>,
        from: From<'_>,
        tools: &mut Tools<'_, '_>,
    ) -> Result<Result<usize, Walked>, Need> {
        if !self.chain.zone(zone).0.eq_ignore_case(signer) {
            return Ok(Err(Walked::Secure(zone)));
        }
        if rrset.rtype == rtype::NSEC {
            return Ok(Ok(zone));
        }
        let below = self.chain.below(zone, subject(rrset.owner, rrset.rtype), from, tools)?;
        Ok(below.map_or(Ok(zone), Err))
    }
}

/// The names that may have signed an RRset, at or below the start: deepest first, each once, no more than are tried.
fn likely_signers<'a>(rrset: &Rrset<'a>, start_labels: usize) -> impl Iterator<Item = &'a Name> {
    let mut likely: [Option<&Name>; SIGNERS_OF_RRSET_MAX] = [None; SIGNERS_OF_RRSET_MAX];
    for signer in signers(rrset) {
        let is_likely = may_sign(signer, rrset) && signer.label_count() >= start_labels;
        if !is_likely || likely.iter().flatten().any(|known| known.eq_ignore_case(signer)) {
            continue;
        }
        // The deepest first; of equals the one that came first.
        let mut next = Some(signer);
        for place in &mut likely {
            if place.map(Name::label_count) < next.map(Name::label_count) {
                std::mem::swap(place, &mut next);
            }
        }
    }
    likely.into_iter().flatten()
}
