//! What is said not to exist: by which zone, and whether its records prove it (RFC 4035 5.4, RFC 5155 8).

use dnssec::verify::Source;
use wire::{Name, Rrset};

use super::{Judged, Outcome, Validation, begin, subject};
use crate::chain::{Tools, Walked, is_denial};
use crate::denial::{Evidence, Proof};
use crate::facts::Need;
use crate::fault::Fault;
use crate::limits::Limit;
use crate::names::ancestor;
use crate::response::{Ending, Response};
use crate::verdict::{Break, Reason};

impl Validation {
    /// By which zone's records the last name of the chain is denied: its labels. Where there are none, why not.
    pub(super) fn evidence_for(
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
    pub(super) fn bogus_denial(&self, response: &Response<'_>, answers: usize) -> Option<Reason> {
        let denials = (answers..).zip(response.authority).filter(|(_, rrset)| is_denial(rrset));
        let mut reasons = denials.filter_map(|(place, _)| match &self.judged[place].as_ref()?.outcome {
            Outcome::Not(reason @ Reason::Bogus(_)) => Some(reason.clone()),
            _ => None,
        });
        reasons.next()
    }

    /// The apex of the zone that signed an RRset of the response; none where it is not secure.
    pub(super) fn zone_of<'n>(&self, place: usize, rrset: &Rrset<'n>) -> Option<&'n Name> {
        match self.judged[place].as_ref()?.outcome {
            Outcome::Secure { zone_labels, .. } => Some(ancestor(rrset.owner, zone_labels)),
            _ => None,
        }
    }

    /// The validated NSEC and NSEC3 records of the zone `apex` in the authority section.
    pub(super) fn evidence<'a>(
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
    pub(super) fn prove_wildcards(&mut self, response: &Response<'_>, answers: usize, tools: &Tools<'_, '_>) {
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

    /// Proves the ending of a negative response. A server that says that a name does not exist where it has no data is corrected.
    pub(super) fn denial(
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
