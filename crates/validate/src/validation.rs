//! One response, from its sections to a verdict: `docs/design/validation.md` 3.
//!
//! ```text
//! new -> step -> Need (a DS or DNSKEY RRset) -> fetched by the caller -> step -> ... -> Done (the verdict)
//! ```
//!
//! What was found is kept from step to step, so that nothing is verified twice; the caller gives the same response each time.

mod answer;
mod proof;

use dnssec::verify::Source;
use wire::iana::rtype;
use wire::{Name, NameBuf, Rrset};

use crate::anchors::Start;
use crate::chain::{Chain, Context, From, Tools, has_too_many_denials, is_denial, signers};
use crate::denial::Proof;
use crate::facts::{Facts, Need};
use crate::limits::{Limit, RRSETS_MAX, Work};
use crate::response::{Ending, Response};
use crate::signature::Verifier;
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

    /// The same, with the memory of one that has ended.
    #[must_use]
    pub fn again(mut self, before: Work) -> Validation {
        self.chain.again(before);
        self.judged.clear();
        self
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
        match self.run(response, &mut Tools { facts, verifier, context, response }) {
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
        if has_too_many_denials(response) {
            return Ok(self.refused(response, Limit::Denials));
        }
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

fn security_of(reason: &Reason) -> Security {
    match reason {
        Reason::Insecure(_) => Security::Insecure,
        Reason::NoAnchor => Security::Indeterminate,
        Reason::Bogus(_) => Security::Bogus,
    }
}
