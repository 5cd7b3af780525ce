//! The walk from a trust anchor down to a zone (RFC 4035 5.2): `docs/design/validation.md` 2.
//!
//! ```text
//! start           zone            at                     target
//!   |---- ... -----|--------------|----------------------|      labels, one more to the right
//!   anchor         secure, keys   known to be in `zone`  the signer, or the name that should be signed
//! ```
//!
//! `zone` and `at` only ever move to the right. What was found is in the memo, so that a walk that has to wait for a fetch goes on from there.

mod ds;

pub(crate) use ds::{has_too_many_denials, is_denial, signers};

use wire::iana::rtype;
use wire::rrset::RdataListBuf;
use wire::{Name, NameBuf, RdataList, Rrset};

use self::ds::{DsFound, find_set, judge_ds};
use crate::anchors::Anchors;
use crate::denial::Cut;
use crate::facts::{Facts, Fetched, Need, Standing};
use crate::fault::{Fault, Insecurity};
use crate::keys::{self, Entry};
use crate::limits::{INSECURE_SECONDS, LABEL_STEPS_MAX, Limit, Meter, STEPS_MAX, Work};
use crate::names::ancestor;
use crate::policy::Policy;
use crate::response::Response;
use crate::signature::{self, Bench, Verified, Verifier};
use crate::verdict::{Break, Finding, Link};

/// What validation goes by beside the facts.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Where trust begins and ends.
    pub anchors: &'a Anchors,
    /// What is verified.
    pub policy: &'a Policy,
    /// Seconds since 1970.
    pub now: u64,
}

/// Where a walk begins.
#[derive(Clone, Copy)]
pub(crate) struct From<'a> {
    pub labels: usize,
    pub ds: RdataList<'a>,
    pub keys: RdataList<'a>,
}

/// Where a walk leads.
#[derive(Clone)]
pub(crate) enum Walked {
    /// The target is in, or is, this zone: its place in the memo.
    Secure(usize),
    Insecure(Insecurity),
    Bogus(Break),
}

/// What this validation knows of a name.
struct Known {
    name: NameBuf,
    held: Held,
}

enum Held {
    /// `until` in seconds since 1970; none where the caller has kept it.
    Secure {
        keys: RdataListBuf,
        until: Option<u64>,
    },
    Insecure(Insecurity),
    Bogus(Break),
    /// In the zone above; with `true` everything below it too.
    Within(bool),
    /// Its DS RRset is validated, its keys are not there yet; `until` in seconds since 1970.
    Delegation {
        ds: RdataListBuf,
        until: u64,
    },
}

/// What one step of a walk finds at a name.
enum Step {
    Zone(usize),
    Within,
    WithinAllBelow,
    /// Signed by the name with so many labels, of which nothing is known yet.
    Between(usize),
    Unproved(Fault),
    End(Walked),
}

/// What a step of a validation goes by, and works with.
pub(crate) struct Tools<'t, 'c> {
    pub facts: &'t mut dyn Facts,
    pub verifier: &'t mut Verifier,
    pub context: &'t Context<'c>,
    /// What is being validated.
    pub response: &'t Response<'c>,
}

/// The memo of one validation, and what it has cost.
#[derive(Default)]
pub(crate) struct Chain {
    known: Vec<Known>,
    pub meter: Meter,
    /// What was looked at, where somebody wants to know.
    pub trail: Option<Vec<Link>>,
    /// The zone whose keys are not taken over as the caller has kept them; see [`Chain::enter_anew`].
    entered_anew: Option<NameBuf>,
}

impl Chain {
    /// One that goes on with work counted before.
    pub fn continued(before: Work) -> Chain {
        Chain { meter: Meter::continued(before), ..Chain::default() }
    }

    /// The same, with the memory of one that has ended.
    pub fn again(&mut self, before: Work) {
        let mut known = std::mem::take(&mut self.known);
        known.clear();
        *self = Chain { known, ..Chain::continued(before) };
    }

    /// Has the keys of `zone` proved from above, whatever was kept: its DNSKEY RRset is signed by its own keys, so that keys which were kept could
    /// prolong themselves for ever after the DS record that led to them is gone.
    pub fn enter_anew(&mut self, zone: &Name) {
        if self.entered_anew.as_ref().is_some_and(|entered| entered.eq_ignore_case(zone)) {
            return;
        }
        let is_kept = |held: &Held| matches!(held, Held::Secure { until: None, .. });
        self.known.retain(|known| !(is_kept(&known.held) && known.name.eq_ignore_case(zone)));
        self.entered_anew = Some(zone.to_owned());
    }

    /// How long what is proved by the zone at a place of the memo lasts, in seconds, where it was found out just now.
    pub fn seconds_left(&self, place: usize, now: u64) -> Option<u32> {
        match self.known[place].held {
            Held::Secure { until: Some(until), .. } => {
                Some(u32::try_from(until.saturating_sub(now)).unwrap_or(u32::MAX))
            }
            _ => None,
        }
    }

    /// Forgets what is bogus, so that it is fetched and looked at anew.
    pub fn forget_bogus(&mut self) {
        self.known.retain(|known| !matches!(known.held, Held::Bogus(_) | Held::Delegation { .. }));
    }

    /// The zone at a place of the memo, and its keys.
    pub fn zone(&self, place: usize) -> (&Name, RdataList<'_>) {
        let known = &self.known[place];
        let keys = match &known.held {
            Held::Secure { keys, .. } => keys.list(),
            _ => RdataList::EMPTY,
        };
        (&known.name, keys)
    }

    /// Verifies an RRset with the keys of a zone of the memo.
    pub fn verify(
        &mut self,
        rrset: &Rrset<'_>,
        place: usize,
        tools: &mut Tools<'_, '_>,
    ) -> Result<Verified, Fault> {
        let Known { name, held: Held::Secure { keys, .. } } = &self.known[place] else {
            return Err(Fault::KeyMissing);
        };
        let mut bench = Bench {
            policy: tools.context.policy,
            now: tools.context.now,
            meter: &mut self.meter,
            verifier: tools.verifier,
        };
        signature::verify(rrset, name, keys.list(), &mut bench)
    }

    /// Writes down what was found of one link.
    pub fn note(&mut self, name: &Name, rtype: u16, finding: Finding) {
        if let Some(trail) = &mut self.trail {
            let link = Link { name: name.to_owned(), rtype, finding };
            if !trail.contains(&link) {
                trail.push(link);
            }
        }
    }

    /// Walks down to `target`, a name at or below the start: to the zone that it is in.
    ///
    /// Asks for DS at the next zone cut that was heard of, else at the target itself: whose signature that answer has tells how far down the zone
    /// reaches, or which cut nobody has seen. Label by label where neither helps.
    pub fn walk(&mut self, target: &Name, from: From<'_>, tools: &mut Tools<'_, '_>) -> Result<Walked, Need> {
        let target_labels = target.label_count();
        let (mut zone, mut at) = match self.begin(target, from, tools)? {
            Ok(begin) => begin,
            Err(walked) => return Ok(walked),
        };
        let (mut forced, mut label_steps) = (None, 0);
        for _ in 0..STEPS_MAX {
            if at >= target_labels {
                return Ok(Walked::Secure(zone));
            }
            let labels = match forced.take() {
                Some(labels) => labels,
                None => {
                    let heard = tools.facts.next_cut(&self.known[zone].name, target);
                    let heard = heard.filter(|labels| (at + 1..target_labels).contains(labels));
                    heard.unwrap_or(target_labels)
                }
            };
            let next = ancestor(target, labels);
            match self.step(next, zone, at, tools)? {
                Step::Zone(place) => (zone, at) = (place, labels),
                Step::Within => at = labels,
                Step::WithinAllBelow => at = target_labels,
                Step::Between(labels) => forced = Some(labels),
                Step::Unproved(fault) if labels == at + 1 => {
                    return Ok(self.bogus(next, rtype::DS, fault));
                }
                Step::Unproved(_) if label_steps < LABEL_STEPS_MAX => {
                    forced = Some(at + 1);
                    label_steps += 1;
                }
                Step::Unproved(_) => break,
                Step::End(walked) => return Ok(walked),
            }
        }
        Ok(self.bogus(target, rtype::DS, Limit::Fetches.into()))
    }

    /// Where the walk leads to a zone cut below the zone at a place of the memo and at or above `subject`, if one is known or was heard of: then
    /// that zone says nothing about `subject`, though it may have before (signatures outlive what they sign).
    pub fn below(
        &mut self,
        place: usize,
        subject: &Name,
        from: From<'_>,
        tools: &mut Tools<'_, '_>,
    ) -> Result<Option<Walked>, Need> {
        let (labels, subject_labels) = (self.known[place].name.label_count(), subject.label_count());
        for deeper in (labels + 1..=subject_labels).rev() {
            let name = ancestor(subject, deeper);
            let Some(found) = self.find(name).or_else(|| self.recall(name, tools)) else { continue };
            match &self.known[found].held {
                Held::Secure { .. } => return Ok(Some(Walked::Secure(found))),
                Held::Insecure(insecurity) => return Ok(Some(Walked::Insecure(*insecurity))),
                Held::Bogus(broken) => return Ok(Some(Walked::Bogus(broken.clone()))),
                Held::Within(_) => return Ok(None),
                Held::Delegation { .. } => {}
            }
        }
        let heard = tools.facts.next_cut(&self.known[place].name, subject);
        let Some(heard) = heard.filter(|heard| (labels + 1..=subject_labels).contains(heard)) else {
            return Ok(None);
        };
        Ok(match self.walk(ancestor(subject, heard), from, tools)? {
            Walked::Secure(zone) if zone == place => None,
            walked => Some(walked),
        })
    }

    /// The deepest zone between start and target of which something is known, and the deepest name known to be in it.
    fn begin(
        &mut self,
        target: &Name,
        from: From<'_>,
        tools: &mut Tools<'_, '_>,
    ) -> Result<Result<(usize, usize), Walked>, Need> {
        let target_labels = target.label_count();
        let mut at = None;
        for labels in (from.labels..=target_labels).rev() {
            let name = ancestor(target, labels);
            let Some(place) = self.find(name).or_else(|| self.recall(name, tools)) else { continue };
            match &self.known[place].held {
                Held::Secure { .. } => return Ok(Ok((place, at.unwrap_or(labels)))),
                Held::Insecure(insecurity) => return Ok(Err(Walked::Insecure(*insecurity))),
                Held::Bogus(broken) => return Ok(Err(Walked::Bogus(broken.clone()))),
                Held::Within(false) => at = at.or(Some(labels)),
                Held::Within(true) => at = Some(target_labels),
                Held::Delegation { .. } => {}
            }
        }
        let apex = ancestor(target, from.labels);
        let entries = [Entry::Ds(from.ds), Entry::Keys(from.keys)];
        Ok(match self.keys(apex, &entries, u64::MAX, tools)? {
            Walked::Secure(place) => Ok((place, from.labels)),
            walked => Err(walked),
        })
    }

    /// Place of a name in the memo.
    pub fn find(&self, name: &Name) -> Option<usize> {
        self.known.iter().position(|known| known.name.eq_ignore_case(name))
    }

    /// Takes over what the caller has kept of a zone.
    fn recall(&mut self, name: &Name, tools: &mut Tools<'_, '_>) -> Option<usize> {
        let is_entered_anew = self.entered_anew.as_ref().is_some_and(|zone| zone.eq_ignore_case(name));
        if is_entered_anew {
            return None;
        }
        let (held, finding) = match tools.facts.standing(name)? {
            Standing::Secure { keys } => (Held::Secure { keys: keys.to_buf(), until: None }, Finding::Kept),
            Standing::Insecure(insecurity) => (Held::Insecure(insecurity), Finding::Insecure(insecurity)),
            Standing::Bogus { rtype, fault } => {
                let broken = Break { name: name.to_owned(), rtype, fault, is_in_chain: true };
                (Held::Bogus(broken), Finding::Bogus(fault))
            }
        };
        self.note(name, rtype::DNSKEY, finding);
        Some(self.hold(name, held))
    }

    fn hold(&mut self, name: &Name, held: Held) -> usize {
        match self.find(name) {
            Some(place) => {
                self.known[place].held = held;
                place
            }
            None => {
                self.known.push(Known { name: name.to_owned(), held });
                self.known.len() - 1
            }
        }
    }

    /// What is at `next`, a name below `at`.
    fn step(&mut self, next: &Name, zone: usize, at: usize, tools: &mut Tools<'_, '_>) -> Result<Step, Need> {
        if self.find(next).is_none() {
            let Tools { facts, verifier, context, .. } = tools;
            let found = match facts.fetched(next, rtype::DS) {
                Fetched::Missing => return Err(Need { name: next.to_owned(), rtype: rtype::DS }),
                Fetched::Failed => DsFound::Unproved(Fault::Unreachable),
                Fetched::Response(response) => {
                    let bench =
                        Bench { policy: context.policy, now: context.now, meter: &mut self.meter, verifier };
                    judge_ds(&response, next, &self.known[zone], at, bench)
                }
            };
            match found {
                DsFound::Ds { ds, verified } => {
                    self.note_signed(next, rtype::DS, zone, &verified);
                    let until = tools.context.now + u64::from(verified.ttl_max);
                    self.hold(next, Held::Delegation { ds, until });
                }
                DsFound::None { cut: Cut::Insecure(insecurity), ttl_max } => {
                    let until = tools.context.now + u64::from(ttl_max);
                    return Ok(Step::End(self.insecure(next, rtype::DS, insecurity, until, tools)));
                }
                DsFound::None { cut, .. } => {
                    self.note(next, rtype::DS, Finding::NoCut);
                    let all_below = cut == Cut::WithinAllBelow;
                    self.hold(next, Held::Within(all_below));
                    return Ok(if all_below { Step::WithinAllBelow } else { Step::Within });
                }
                DsFound::Between(labels) => return Ok(Step::Between(labels)),
                DsFound::Unproved(fault) => return Ok(Step::Unproved(fault)),
                DsFound::Bogus(fault) => {
                    return Ok(Step::End(self.bogus(next, rtype::DS, fault)));
                }
            }
        }
        let Some(Known { held: Held::Delegation { ds, until }, .. }) =
            self.find(next).map(|place| &self.known[place])
        else {
            // Known names at or below the start were found before the walk began.
            return Ok(Step::Unproved(Fault::DenialMissing));
        };
        let (ds, until) = (ds.clone(), *until);
        if let Err(insecurity) = keys::usable_ds(ds.list(), tools.context.policy) {
            return Ok(Step::End(self.insecure(next, rtype::DS, insecurity, until, tools)));
        }
        Ok(match self.keys(next, &[Entry::Ds(ds.list())], until, tools)? {
            Walked::Secure(place) => Step::Zone(place),
            walked => Step::End(walked),
        })
    }

    /// Validates the keys of `apex`; what they are entered by holds until `until`.
    fn keys(
        &mut self,
        apex: &Name,
        entries: &[Entry<'_>],
        until: u64,
        tools: &mut Tools<'_, '_>,
    ) -> Result<Walked, Need> {
        let Tools { facts, verifier, context, response: own } = &mut *tools;
        let fetched = match facts.fetched(apex, rtype::DNSKEY) {
            // The answer that is being validated is what would be fetched.
            Fetched::Missing if find_set(own, apex, rtype::DNSKEY).is_some() => Fetched::Response(**own),
            fetched => fetched,
        };
        let outcome = match fetched {
            Fetched::Missing => return Err(Need { name: apex.to_owned(), rtype: rtype::DNSKEY }),
            Fetched::Failed => Err(Fault::Unreachable),
            Fetched::Response(response) => {
                let (policy, now) = (context.policy, context.now);
                let mut bench = Bench { policy, now, meter: &mut self.meter, verifier };
                match find_set(&response, apex, rtype::DNSKEY) {
                    Some(rrset) => keys::validate(&rrset, entries, &mut bench),
                    None => Err(Fault::NoMatchingKey),
                }
            }
        };
        Ok(match outcome {
            Ok(Ok(validated)) => {
                let until = until.min(tools.context.now + u64::from(validated.signature.ttl_max));
                tools.facts.keep(apex, Standing::Secure { keys: validated.keys.list() }, until);
                let place = self.hold(apex, Held::Secure { keys: validated.keys, until: Some(until) });
                self.note_signed(apex, rtype::DNSKEY, place, &validated.signature);
                Walked::Secure(place)
            }
            Ok(Err(insecurity)) => {
                let until = until.min(tools.context.now + u64::from(INSECURE_SECONDS));
                self.insecure(apex, rtype::DNSKEY, insecurity, until, tools)
            }
            Err(fault) => self.bogus(apex, rtype::DNSKEY, fault),
        })
    }

    fn note_signed(&mut self, name: &Name, rtype: u16, zone: usize, verified: &Verified) {
        let signer_labels = self.known[zone].name.label_count();
        let Verified { key_tag, algorithm, .. } = *verified;
        self.note(name, rtype, Finding::Signed { signer_labels, key_tag, algorithm });
    }

    fn insecure(
        &mut self,
        name: &Name,
        rtype: u16,
        insecurity: Insecurity,
        until: u64,
        tools: &mut Tools<'_, '_>,
    ) -> Walked {
        tools.facts.keep(name, Standing::Insecure(insecurity), until);
        self.note(name, rtype, Finding::Insecure(insecurity));
        self.hold(name, Held::Insecure(insecurity));
        Walked::Insecure(insecurity)
    }

    /// Not kept by itself: another server may have what is not bogus, and only the caller knows whether one is left.
    fn bogus(&mut self, name: &Name, rtype: u16, fault: Fault) -> Walked {
        self.note(name, rtype, Finding::Bogus(fault));
        let broken = Break { name: name.to_owned(), rtype, fault, is_in_chain: true };
        self.hold(name, Held::Bogus(broken.clone()));
        Walked::Bogus(broken)
    }
}
