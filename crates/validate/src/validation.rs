//! One response, from its sections to a verdict: `docs/design/validation.md` 3.
//!
//! ```text
//! new -> step -> Need (a DS or DNSKEY RRset) -> fetched by the caller -> step -> ... -> Done (the verdict)
//! ```
//!
//! What was found is kept from step to step, so that nothing is verified twice; the caller gives the same response each time.

use dnssec::verify::Source;
use wire::iana::rtype;
use wire::{Name, NameBuf, Rrset};

use crate::anchors::Start;
use crate::chain::{Chain, Context, From, Tools, Walked, is_denial, signers};
use crate::denial::{Evidence, Proof};
use crate::facts::{Facts, Need};
use crate::fault::{Fault, Insecurity};
use crate::limits::{Limit, RRSETS_MAX, SIGNERS_OF_RRSET_MAX, Work};
use crate::names::ancestor;
use crate::response::{Ending, Response, dname_above, substitute};
use crate::signature::{Verifier, may_sign};
use crate::verdict::{Break, Finding, Link, Reason, RrsetVerdict, Security, Verdict};

/// What follows a step.
#[derive(Clone, Debug)]
pub enum Step {
    /// This has to be fetched first.
    Need(Need),
    /// The verdict; the validation is over.
    Done(Verdict),
}

/// The validation of one response.
#[derive(Default)]
pub struct Validation {
    chain: Chain,
    /// Of the RRsets of the answer section, then of those of the authority section.
    judged: Vec<Option<Judged>>,
}

/// What was found of one RRset.
#[derive(Clone)]
struct Judged {
    ttl_max: u32,
    outcome: Outcome,
}

#[derive(Clone)]
enum Outcome {
    Secure {
        /// Labels of the signer.
        zone_labels: usize,
        source: Source,
    },
    Not(Reason),
    Unchecked,
}

impl Judged {
    fn verdict(&self) -> RrsetVerdict {
        let security = match &self.outcome {
            Outcome::Secure { .. } => Security::Secure,
            Outcome::Not(reason) => security_of(reason),
            Outcome::Unchecked => Security::Unchecked,
        };
        RrsetVerdict { security, ttl_max: self.ttl_max }
    }
}

impl Validation {
    /// A validation that has done nothing yet.
    pub fn new() -> Validation {
        Validation::default()
    }

    /// A validation that goes on with the work that was counted for others of the same query.
    pub fn continued(before: Work) -> Validation {
        Validation { chain: Chain::continued(before), judged: Vec::new() }
    }

    /// Has all that is looked at written down; see [`Validation::trail`].
    pub fn explained(mut self) -> Validation {
        self.chain.trail = Some(Vec::new());
        self
    }

    /// What was looked at, in order; empty unless [`Validation::explained`].
    pub fn trail(&self) -> &[Link] {
        self.chain.trail.as_deref().unwrap_or_default()
    }

    /// What was done so far, for the responses before it too.
    pub fn work(&self) -> Work {
        self.chain.meter.total()
    }

    /// Goes on as far as `facts` let it. `response` is the same at each call.
    pub fn step(
        &mut self,
        response: &Response<'_>,
        facts: &mut dyn Facts,
        verifier: &mut Verifier,
        context: &Context<'_>,
    ) -> Step {
        match self.run(response, &mut Tools { facts, verifier, context }) {
            Ok(verdict) => Step::Done(verdict),
            Err(need) => match self.chain.meter.count_fetch() {
                Ok(()) => Step::Need(need),
                Err(limit) => Step::Done(self.refused(response, limit)),
            },
        }
    }

    /// Forgets what it found to be bogus, but none of the work: for when the DS or DNSKEY RRset that a verdict blames was fetched anew.
    pub fn retry(&mut self) {
        self.chain.forget_bogus();
        self.judged.iter_mut().for_each(|judged| *judged = None);
    }

    /// The verdict where a bound was reached.
    fn refused(&self, response: &Response<'_>, limit: Limit) -> Verdict {
        let (name, rtype) = (response.qname.to_owned(), response.qtype);
        let broken = Break { name, rtype, fault: limit.into(), is_in_chain: false };
        let count = response.answer.iter().count() + response.authority.iter().count();
        Verdict {
            security: Security::Bogus,
            reason: Some(Reason::Bogus(broken)),
            ending: Ending::Elsewhere,
            last: response.qname.to_owned(),
            ttl_max: 0,
            rrsets: vec![RrsetVerdict { security: Security::Bogus, ttl_max: 0 }; count],
            work: self.chain.meter.total(),
        }
    }

    fn run(&mut self, response: &Response<'_>, tools: &mut Tools<'_, '_>) -> Result<Verdict, Need> {
        let answers = response.answer.iter().count();
        let count = answers + response.authority.iter().count();
        let (last, ending) = match response.follow() {
            Ok(followed) if count <= RRSETS_MAX => followed,
            _ => return Ok(self.refused(response, Limit::Rrsets)),
        };
        self.judged.resize(count, None);
        self.judge_answer(response, tools)?;
        let is_negative = matches!(ending, Ending::NameError | Ending::NoData);
        let has_wildcard = self.judged[..answers]
            .iter()
            .flatten()
            .any(|judged| matches!(judged.outcome, Outcome::Secure { source: Source::Wildcard { .. }, .. }));
        let denied = subject(&last, response.qtype);
        for (place, rrset) in (answers..).zip(response.authority) {
            // Records of other zones say nothing here: those of the child where DS is denied, by servers of both.
            let is_part = match rrset.rtype {
                rtype::SOA => is_negative && denied.is_at_or_below(rrset.owner),
                _ => is_denial(&rrset) && (has_wildcard || is_negative && may_deny(&rrset, denied)),
            };
            if is_part {
                self.judge(place, &rrset, tools)?;
            } else {
                self.judged[place] = Some(Judged { ttl_max: rrset.ttl, outcome: Outcome::Unchecked });
            }
        }
        let denied =
            if is_negative { Some(self.evidence_for(response, answers, &last, tools)?) } else { None };
        // Nothing is fetched from here on: the hashes are computed once.
        if has_wildcard {
            self.prove_wildcards(response, answers, tools);
        }
        Ok(self.conclude(response, (last, ending), denied, tools))
    }

    fn judge_answer(&mut self, response: &Response<'_>, tools: &mut Tools<'_, '_>) -> Result<(), Need> {
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
    fn judge_made(&mut self, rrset: &Rrset<'_>, response: &Response<'_>) -> Judged {
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

    fn bogus(&mut self, rrset: &Rrset<'_>, fault: Fault) -> Judged {
        self.chain.note(rrset.owner, rrset.rtype, Finding::Bogus(fault));
        let broken = Break { name: rrset.owner.to_owned(), rtype: rrset.rtype, fault, is_in_chain: false };
        Judged { ttl_max: 0, outcome: Outcome::Not(Reason::Bogus(broken)) }
    }

    fn judge(&mut self, place: usize, rrset: &Rrset<'_>, tools: &mut Tools<'_, '_>) -> Result<(), Need> {
        if self.judged[place].is_none() {
            self.judged[place] = Some(self.judge_rrset(rrset, tools)?);
        }
        Ok(())
    }

    fn judge_rrset(&mut self, rrset: &Rrset<'_>, tools: &mut Tools<'_, '_>) -> Result<Judged, Need> {
        let not = |reason| Judged { ttl_max: rrset.ttl, outcome: Outcome::Not(reason) };
        if rrset.rtype == rtype::RRSIG {
            return Ok(not(Reason::Insecure(Insecurity::Unsignable)));
        }
        let subject = subject(rrset.owner, rrset.rtype);
        let from = match begin(subject, tools.context) {
            Ok(from) => from,
            Err(reason) => return Ok(not(reason)),
        };
        let mut fault = None;
        for signer in likely_signers(rrset, from.labels) {
            match self.chain.walk(signer, from, tools)? {
                Walked::Secure(zone) => {
                    let verified = match self.says_who(zone, signer, rrset, from, tools)? {
                        Ok(()) => self.chain.verify(rrset, zone, tools),
                        Err(Walked::Secure(_)) => Err(Fault::WrongSigner),
                        Err(Walked::Insecure(insecurity)) => {
                            return Ok(not(Reason::Insecure(insecurity)));
                        }
                        Err(Walked::Bogus(broken)) => return Ok(not(Reason::Bogus(broken))),
                    };
                    match verified {
                        Ok(verified) => {
                            let zone_labels = signer.label_count();
                            self.chain.note(
                                rrset.owner,
                                rrset.rtype,
                                Finding::Signed {
                                    signer_labels: zone_labels,
                                    key_tag: verified.key_tag,
                                    algorithm: verified.algorithm,
                                },
                            );
                            let outcome = Outcome::Secure { zone_labels, source: verified.source };
                            return Ok(Judged { ttl_max: verified.ttl_max, outcome });
                        }
                        Err(found) => fault = Some(found.or_graver(fault)),
                    }
                }
                // Above the owner, so that the owner is insecure too.
                Walked::Insecure(insecurity) => return Ok(not(Reason::Insecure(insecurity))),
                Walked::Bogus(broken) => return Ok(not(Reason::Bogus(broken))),
            }
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

    /// Whether the zone at a place of the memo is the signer's, and no zone cut between it and the RRset is known of; else what is there. NSEC records of
    /// the parent stand at the cut itself, and say so.
    fn says_who(
        &mut self,
        zone: usize,
        signer: &Name,
        rrset: &Rrset<'_>,
        from: From<'_>,
        tools: &mut Tools<'_, '_>,
    ) -> Result<Result<(), Walked>, Need> {
        if !self.chain.zone(zone).0.eq_ignore_case(signer) {
            return Ok(Err(Walked::Secure(zone)));
        }
        if rrset.rtype == rtype::NSEC {
            return Ok(Ok(()));
        }
        let below = self.chain.below(zone, subject(rrset.owner, rrset.rtype), from, tools)?;
        Ok(below.map_or(Ok(()), Err))
    }

    /// By which zone's records the last name of the chain is denied: its labels. Where there are none, why not.
    fn evidence_for(
        &mut self,
        response: &Response<'_>,
        answers: usize,
        last: &Name,
        tools: &mut Tools<'_, '_>,
    ) -> Result<Result<usize, Reason>, Need> {
        let subject = subject(last, response.qtype);
        let from = match begin(subject, tools.context) {
            Ok(from) => from,
            Err(reason) => return Ok(Err(reason)),
        };
        let zones = (answers..).zip(response.authority).filter(|(_, rrset)| is_denial(rrset));
        let zones = zones.filter_map(|(place, rrset)| self.zone_of(place, &rrset));
        let deepest = zones.filter(|zone| subject.is_at_or_below(zone)).map(Name::label_count).max();
        if deepest.is_none()
            && let Some(reason) = self.bogus_denial(response, answers)
        {
            return Ok(Err(reason));
        }
        let walked = match deepest.and_then(|labels| self.chain.find(ancestor(subject, labels)).zip(deepest))
        {
            Some((zone, labels)) => match self.chain.below(zone, subject, from, tools)? {
                None => return Ok(Ok(labels)),
                Some(walked) => walked,
            },
            None => self.chain.walk(subject, from, tools)?,
        };
        Ok(Err(match walked {
            Walked::Secure(_) => Reason::Bogus(Break {
                name: last.to_owned(),
                rtype: response.qtype,
                fault: Fault::DenialMissing,
                is_in_chain: false,
            }),
            Walked::Insecure(insecurity) => Reason::Insecure(insecurity),
            Walked::Bogus(broken) => Reason::Bogus(broken),
        }))
    }

    /// Why NSEC or NSEC3 records of the authority section are bogus, if some are.
    fn bogus_denial(&self, response: &Response<'_>, answers: usize) -> Option<Reason> {
        let denials = (answers..).zip(response.authority).filter(|(_, rrset)| is_denial(rrset));
        let mut reasons = denials.filter_map(|(place, _)| match &self.judged[place].as_ref()?.outcome {
            Outcome::Not(reason @ Reason::Bogus(_)) => Some(reason.clone()),
            _ => None,
        });
        reasons.next()
    }

    /// The apex of the zone that signed an RRset of the response; none where it is not secure.
    fn zone_of<'n>(&self, place: usize, rrset: &Rrset<'n>) -> Option<&'n Name> {
        match self.judged[place].as_ref()?.outcome {
            Outcome::Secure { zone_labels, .. } => Some(ancestor(rrset.owner, zone_labels)),
            _ => None,
        }
    }

    /// The validated NSEC and NSEC3 records of the zone `apex` in the authority section.
    fn evidence<'a>(
        &self,
        response: &Response<'a>,
        answers: usize,
        apex: &'a Name,
        tools: &Tools<'_, '_>,
    ) -> Result<Evidence<'a>, Limit> {
        let mut evidence = Evidence::new(apex, tools.context.policy.nsec3_iterations_max);
        for (place, rrset) in (answers..).zip(response.authority) {
            if is_denial(&rrset) && self.zone_of(place, &rrset).is_some_and(|zone| zone.eq_ignore_case(apex))
            {
                evidence.add(&rrset)?;
            }
        }
        Ok(evidence)
    }

    /// Proves of each RRset of the answer that was made from a wildcard that there is no closer name.
    fn prove_wildcards(&mut self, response: &Response<'_>, answers: usize, tools: &Tools<'_, '_>) {
        for (place, rrset) in response.answer.iter().enumerate() {
            let Some(Judged { outcome: Outcome::Secure { zone_labels, source }, .. }) = &self.judged[place]
            else {
                continue;
            };
            let Source::Wildcard { encloser_labels } = *source else { continue };
            let apex = ancestor(rrset.owner, *zone_labels);
            let proof = match self.evidence(response, answers, apex, tools) {
                Ok(evidence) => {
                    evidence.no_closer(rrset.owner, usize::from(encloser_labels), &mut self.chain.meter)
                }
                Err(limit) => Err(limit.into()),
            };
            match proof {
                Ok(Proof::Proved) => {}
                Ok(Proof::Insecure(insecurity)) => {
                    let outcome = Outcome::Not(Reason::Insecure(insecurity));
                    self.judged[place] = Some(Judged { ttl_max: rrset.ttl, outcome });
                }
                Err(fault) => self.judged[place] = Some(self.bogus(&rrset, fault)),
            }
        }
    }

    /// Puts the verdict together. `denied`: for negative responses, labels of the zone whose records deny, or why there are none.
    fn conclude(
        &mut self,
        response: &Response<'_>,
        (last, mut ending): (NameBuf, Ending),
        denied: Option<Result<usize, Reason>>,
        tools: &Tools<'_, '_>,
    ) -> Verdict {
        let mut worst: Option<Reason> = None;
        let mut take = |reason: Reason| {
            if worst.as_ref().is_none_or(|worst| security_of(worst) < security_of(&reason)) {
                worst = Some(reason);
            }
        };
        let answers = response.answer.iter().count();
        match denied {
            Some(Ok(labels)) => match self.denial(response, answers, labels, &last, &mut ending, tools) {
                Ok(Proof::Proved) => self.chain.note(&last, response.qtype, Finding::Denied),
                Ok(Proof::Insecure(insecurity)) => {
                    self.chain.note(&last, response.qtype, Finding::Insecure(insecurity));
                    take(Reason::Insecure(insecurity));
                }
                Err(fault) => {
                    self.chain.note(&last, response.qtype, Finding::Bogus(fault));
                    let (name, rtype) = (last.clone(), response.qtype);
                    take(Reason::Bogus(Break { name, rtype, fault, is_in_chain: false }));
                }
            },
            Some(Err(reason)) => take(reason),
            None => {}
        }
        let mut ttl_max = u32::MAX;
        for judged in self.judged.iter().flatten() {
            match &judged.outcome {
                Outcome::Not(reason) => take(reason.clone()),
                Outcome::Secure { .. } => {}
                Outcome::Unchecked => continue,
            }
            ttl_max = ttl_max.min(judged.ttl_max);
        }
        let unchecked = Judged { ttl_max: 0, outcome: Outcome::Unchecked };
        Verdict {
            security: worst.as_ref().map_or(Security::Secure, security_of),
            reason: worst,
            ending,
            last,
            ttl_max,
            rrsets: self
                .judged
                .iter()
                .map(|judged| judged.as_ref().unwrap_or(&unchecked).verdict())
                .collect(),
            work: self.chain.meter.total(),
        }
    }

    /// Proves the ending of a negative response. A server that says that a name does not exist where it has no data is corrected.
    fn denial(
        &mut self,
        response: &Response<'_>,
        answers: usize,
        zone_labels: usize,
        last: &Name,
        ending: &mut Ending,
        tools: &Tools<'_, '_>,
    ) -> Result<Proof, Fault> {
        let place = (answers..).zip(response.authority).find_map(|(place, rrset)| {
            let zone = self.zone_of(place, &rrset)?;
            (is_denial(&rrset) && zone.label_count() == zone_labels && last.is_at_or_below(zone))
                .then_some(zone)
        });
        let apex = place.ok_or(Fault::DenialMissing)?;
        let evidence = self.evidence(response, answers, apex, tools)?;
        let meter = &mut self.chain.meter;
        if *ending == Ending::NoData {
            return evidence.no_data(last, response.qtype, meter);
        }
        match evidence.name_error(last, meter) {
            Err(Fault::DenialWrong) => {
                let proof = evidence.no_data(last, response.qtype, meter)?;
                *ending = Ending::NoData;
                Ok(proof)
            }
            proof => proof,
        }
    }
}

/// The name whose zone says whether records of `owner` are signed: for DS the zone above.
fn subject(owner: &Name, rtype: u16) -> &Name {
    match owner.parent() {
        Some(parent) if rtype == rtype::DS => parent,
        _ => owner,
    }
}

/// Whether NSEC or NSEC3 records may be of a zone at or above `subject`.
fn may_deny(rrset: &Rrset<'_>, subject: &Name) -> bool {
    rrset.signatures.is_empty() || signers(rrset).any(|signer| subject.is_at_or_below(signer))
}

/// Where the walk to a name begins; else why there is none.
fn begin<'a>(subject: &Name, context: &Context<'a>) -> Result<From<'a>, Reason> {
    match context.anchors.start(subject, context.now) {
        Start::Anchor { labels, ds, keys } => Ok(From { labels, ds, keys }),
        Start::Insecure(insecurity) => Err(Reason::Insecure(insecurity)),
        Start::Nowhere => Err(Reason::NoAnchor),
    }
}

/// The names that may have signed an RRset, at or below the start: deepest first, each once, no more than are tried.
fn likely_signers<'a>(rrset: &Rrset<'a>, start_labels: usize) -> Vec<&'a Name> {
    let mut likely: Vec<&Name> = Vec::new();
    for signer in signers(rrset) {
        let is_likely = may_sign(signer, rrset) && signer.label_count() >= start_labels;
        if is_likely && !likely.iter().any(|known| known.eq_ignore_case(signer)) {
            likely.push(signer);
        }
    }
    likely.sort_by_key(|signer| std::cmp::Reverse(signer.label_count()));
    likely.truncate(SIGNERS_OF_RRSET_MAX);
    likely
}

fn security_of(reason: &Reason) -> Security {
    match reason {
        Reason::Insecure(_) => Security::Insecure,
        Reason::NoAnchor => Security::Indeterminate,
        Reason::Bogus(_) => Security::Bogus,
    }
}

#[cfg(test)]
mod tests;
