//! Prerequisites: what must hold before anything is changed (RFC 2136 2.4, 3.2).

use crate::draft::Draft;
use crate::failure::{Failure, Part, Why};
use crate::request::{Entry, Request};
use crate::set::{Rdata, SetId};
use crate::update::Stop;
use std::collections::BTreeMap;
use wire::iana::{class, rtype};

/// RRsets that must be there with just these records: by relative key and type, the canonical RDATA.
type Values<'r> = BTreeMap<(&'r [u8], u16), Vec<Rdata>>;

impl Draft<'_> {
    /// Checks the prerequisites in the order of RFC 2136 3.2.5: each by itself, then the RRsets with values.
    pub(crate) fn check_prerequisites(&mut self, request: &Request) -> Result<(), Stop> {
        let mut values = Values::new();
        let apex_key = self.view().apex_key();
        for (entry, number) in request.prerequisites().zip(1..) {
            let fail = |why| Stop::Failure(Failure { why, at: Some((Part::Prerequisites, number)) });
            if entry.ttl != 0 {
                return Err(fail(Why::Form));
            }
            let relative = entry.key.strip_prefix(apex_key).ok_or_else(|| fail(Why::NotZone))?;
            if entry.class == class::IN {
                if rtype::is_meta(entry.rtype) {
                    return Err(fail(Why::Form));
                }
                let set = values.entry((relative, entry.rtype)).or_default();
                set.push(Rdata::new(entry.rtype, entry.rdata));
                continue;
            }
            if let Some(why) = self.violation(relative, &entry)? {
                return Err(fail(why));
            }
        }
        for ((relative, rtype), mut records) in values {
            records.sort_by(|a, b| a.folded().cmp(b.folded()));
            records.dedup_by(|a, b| a.folded() == b.folded());
            if !self.has_just(relative, rtype, &records)? {
                return Err(Why::RRsetMissing.into());
            }
        }
        Ok(())
    }

    /// What is wrong with a prerequisite without values.
    fn violation(&mut self, relative: &[u8], entry: &Entry<'_>) -> Result<Option<Why>, Stop> {
        let is_wanted = match entry.class {
            class::ANY => true,
            class::NONE => false,
            _ => return Ok(Some(Why::Form)),
        };
        let is_name = entry.rtype == rtype::ANY;
        if !entry.rdata.is_empty() || (!is_name && rtype::is_meta(entry.rtype)) {
            return Ok(Some(Why::Form));
        }
        let place = self.place(relative)?;
        let is_there = self.ids(place)?.iter().any(|id| is_name || id.rtype == entry.rtype);
        Ok(match (is_there, is_wanted, is_name) {
            (false, true, true) => Some(Why::NameMissing),
            (true, false, true) => Some(Why::NameThere),
            (false, true, false) => Some(Why::RRsetMissing),
            (true, false, false) => Some(Why::RRsetThere),
            (true, true, _) | (false, false, _) => None,
        })
    }

    /// Whether an RRset has just these records. `records`: in canonical order, each once.
    fn has_just(&mut self, relative: &[u8], rtype: u16, records: &[Rdata]) -> Result<bool, Stop> {
        let place = self.place(relative)?;
        if rtype != rtype::RRSIG {
            let set = self.set(place, SetId::of(rtype))?;
            return Ok(set.records.iter().map(Rdata::folded).eq(records.iter().map(Rdata::folded)));
        }
        // Signatures are by the type that they cover, which their RDATA begins with: so the order is that of all.
        let mut all = Vec::new();
        for id in self.ids(place)?.into_iter().filter(|id| id.rtype == rtype::RRSIG) {
            all.extend(self.set(place, id)?.records.iter().cloned());
        }
        Ok(all.iter().map(Rdata::folded).eq(records.iter().map(Rdata::folded)))
    }
}
