//! Answers that were not given before: from local names, and from the cache along the aliases.

use super::here::{LocalEnd, local};
use super::{IsOfOurs, Responder, Served};
use crate::answer::{self, Asked, End, Parts};
use crate::counters::Words;
use crate::policy::Policy;
use crate::rebinding::Rebinding;
use crate::rendered::Wanted;
use crate::verdict;
use crate::wishes::{Stage, Wishes};
use crate::writer::Writer;
use cache::{Cache, Moment, Security};
use wire::Name;
use wire::header;
use wire::iana::{class, rcode};

impl Responder {
    /// The same without answers of before.
    pub(super) fn find(
        &mut self,
        wanted: &Wanted,
        (policy, cache, ours): (&Policy, &Cache, Option<IsOfOurs<'_>>),
        (now, turn): (Moment, u32),
        room: &mut [u8],
    ) -> Served {
        let Responder { buffers, question, wishes, suffixes, marks, counters, missed, rendered, .. } = self;
        let counters = counters.words();
        buffers.name.set(missed.name());
        let asked_for = (&*wishes, Some((question.name(), class::IN)));
        let tables = (&mut **suffixes, marks);
        let Some(mut writer) = Writer::new(room, tables, asked_for, wishes.opt(policy), (now, turn)) else {
            return Served::Drop;
        };
        let start = writer.mark();
        let filter = filter_for(policy, wishes, buffers.name.name());
        let local = local(policy, wishes, &mut buffers.name, now, &mut writer);
        (self.is_aliased, self.is_told) = (local.is_aliased, local.is_told);
        counters.told.add(u64::from(local.is_told));
        let verdict = match local.end {
            Some(LocalEnd::Drop) => {
                counters.dropped.add(1);
                return Served::Drop;
            }
            Some(LocalEnd::Verdict(verdict)) => {
                counters.local.add(1);
                verdict
            }
            None => {
                let asked = Asked { wishes, policy, cache, now, filter, ours, stale: None };
                let mut parts = Parts::new();
                if local.is_aliased {
                    // Local data are not signed.
                    parts.security = Security::Insecure;
                    missed.set(buffers.name.name());
                }
                let hash = match local.is_aliased {
                    true => cache.name_hash(missed.name()),
                    false => wanted.name,
                };
                let is_at_ours = local.is_aliased && asked.is_of_ours(missed.name());
                let end = match is_at_ours {
                    true => End::Miss(wishes.qtype, Stage::Asked),
                    false => answer::answer(&asked, hash, buffers, &mut parts, &mut writer),
                };
                match end {
                    End::Miss(..) if wishes.flags & header::RD == 0 => {
                        return match self.refuse(policy, now, room) {
                            0 => Served::Drop,
                            octets => Served::Octets(octets),
                        };
                    }
                    End::Miss(rtype, stage) => {
                        (self.missed_type, self.stage) = (rtype, stage);
                        self.is_unknown = !parts.is_known && stage == Stage::Asked;
                        return Served::Miss;
                    }
                    End::Answer(verdict) => {
                        self.is_due = parts.is_due && self.dues.is_said(wanted.hash(), now);
                        counters.hits.add(1);
                        count(counters, &parts);
                        // The name may be another's tomorrow, and be filtered then.
                        let is_unfiltered = wishes.is_of_ours && policy.rebinding.is_some();
                        if !local.is_aliased
                            && !is_unfiltered
                            && !verdict.has_no_records()
                            && !writer.is_truncated()
                        {
                            rendered.note((missed.name(), wanted), writer.written(), (&verdict, &parts), now);
                        }
                        verdict
                    }
                }
            }
        };
        if verdict.has_no_records() {
            writer.back_to(start);
        }
        counters.failures.add(u64::from(verdict.rcode == rcode::SERVFAIL));
        counters.truncated.add(u64::from(writer.is_truncated()));
        match verdict::finish(counters, verdict, (wishes, true), policy, writer, None) {
            Some(octets) => Served::Octets(octets),
            None => Served::Drop,
        }
    }
}

/// What is kept back of an answer to a question for this name.
pub(super) fn filter_for<'p>(policy: &'p Policy, wishes: &Wishes, qname: &Name) -> Option<&'p Rebinding> {
    policy.rebinding.as_ref().filter(|filter| !wishes.is_of_ours && filter.concerns(qname))
}

pub(super) fn count(counters: &Words, parts: &Parts) {
    counters.secure.add(u64::from(parts.security == Security::Secure));
    counters.dns64.add(u64::from(parts.made));
    counters.filtered.add(u64::from(parts.is_filtered));
    counters.stale.add(u64::from(parts.is_stale));
}
