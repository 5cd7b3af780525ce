//! Aliases: CNAME (RFC 1034 3.6.2) and DNAME with its synthesized CNAME (RFC 6672 3).

use crate::answer::{Next, Outcome, Session, Stop};
use crate::limits::{CHAIN_MAX, PROOFS_OF_A_DENIAL};
use crate::rrset::{self, head_of, rdata_at};
use wire::Places;
use wire::iana::rtype;
use wire::name::NAME_OCTETS_MAX;
use wire::places::{is_same_label, same_name, shared_labels};
use wire::record::RecordView;
use wire::render::{POINTER_MAX, Section};
use zone::{Match, Node, ZoneView};

impl<'c> Session<'_, '_, 'c> {
    /// Writes the CNAME record of the name and goes on to its target.
    pub(crate) fn follow_cname(&mut self, zone: &ZoneView<'c>, node: &Node<'c>) -> Result<Next, Stop> {
        let set = node.rrset(rtype::CNAME).ok_or(Stop::Damaged)?;
        let start = self.out.at();
        self.put_rrset(zone, &set)?;
        let (target, _) = rdata_at(self.out.message(), start).ok_or(Stop::Damaged)?;
        Ok(Next::Follow(target))
    }

    /// Writes the DNAME record above the name and the CNAME record that follows from it, and goes on to where that
    /// leads (RFC 6672 3.2). `asked`: places of the names before; DNAME records alone led on from those with number `redirected`
    /// and above.
    #[cold]
    pub(crate) fn follow_dname(
        &mut self,
        zone: &ZoneView<'c>,
        found: &Match<'c>,
        asked: &[u16],
        redirected: usize,
    ) -> Result<Next, Stop> {
        let set = found.node.rrset(rtype::DNAME).ok_or(Stop::Damaged)?;
        let owner = self.buffers.places.of_ancestor(found.labels);
        if self.grows(asked.get(redirected..).unwrap_or_default(), found.labels) {
            return self.end(Outcome::Alias).map(Next::End);
        }
        let target = match self.dname_written(owner) {
            Some(target) => target,
            None => {
                let start = self.out.at();
                let apex = self.buffers.places.of_ancestor(zone.apex_labels());
                rrset::put(self.out, set.head(), set.data(), owner, apex, self.dnssec_ok)?;
                rdata_at(self.out.message(), start).ok_or(Stop::Damaged)?.0
            }
        };
        self.buffers.other_places.follow(self.out.message(), target).map_err(|_| Stop::Damaged)?;
        // The labels below the owner, then the target's.
        let labels = self.buffers.places.label_count();
        let mut length = 0;
        for index in 0..labels - found.labels {
            let place = self.buffers.places.labels()[index] as usize;
            let message = self.out.message();
            let label = &message[place..=place + message[place] as usize];
            self.buffers.name[length..length + label.len()].copy_from_slice(label);
            length += label.len();
        }
        if length + self.buffers.other_places.name_octets() > NAME_OCTETS_MAX {
            return self.end(Outcome::TooLong).map(Next::End);
        }
        let start = self.out.at();
        let written = self.written_end(asked, labels - found.labels);
        self.put_synthesized(set.ttl(), length, target as u16, written)?;
        if matches!(self.qtype, rtype::CNAME | rtype::ANY | rtype::RRSIG) {
            return self.end(Outcome::Answer).map(Next::End);
        }
        let (target, _) = rdata_at(self.out.message(), start).ok_or(Stop::Damaged)?;
        Ok(Next::Follow(target))
    }

    /// Writes the CNAME record of the name: `length` octets of labels in the buffers, then the name at `target`, which the other
    /// places are of. Its TTL is that of the DNAME record, and it has no signature (RFC 6672 3.1, 5.3.1). `written`: see
    /// [`Session::written_end`].
    fn put_synthesized(
        &mut self,
        ttl: u32,
        length: usize,
        target: u16,
        written: Option<(usize, u16)>,
    ) -> Result<(), Stop> {
        let mut rdata = [0; NAME_OCTETS_MAX];
        rdata[..length].copy_from_slice(&self.buffers.name[..length]);
        let message = self.out.message();
        let octets = if let Some((length, place)) = written {
            rdata[length..length + 2].copy_from_slice(&(0xc000 | place).to_be_bytes());
            length + 2
        } else if message[target as usize] == 0 {
            // The root: its label is there already.
            length + 1
        } else if target <= POINTER_MAX {
            rdata[length..length + 2].copy_from_slice(&(0xc000 | target).to_be_bytes());
            length + 2
        } else {
            let places = &self.buffers.other_places;
            let name = places.copy_ancestor(message, places.label_count(), &mut self.buffers.name);
            rdata[length..length + name.octets().len()].copy_from_slice(name.octets());
            length + name.octets().len()
        };
        let owner = self.buffers.places.of_ancestor(self.buffers.places.label_count());
        let mark = self.out.mark();
        let written = rrset::write_name(self.out, owner)
            .and_then(|()| self.out.body(head_of(rtype::CNAME, ttl), &rdata[..octets]));
        if written.is_err() {
            self.out.rollback(mark);
        }
        Ok(written?)
    }

    /// Whether one of the names at these places, from which DNAME records alone led to the present one, is the present one without
    /// some of the labels right before its last `labels`, those of a DNAME's owner: then the same records lead on for ever, to a
    /// longer name each time, and the answer would grow with the square of the steps. The client has the last name and can go on.
    fn grows(&mut self, before: &[u16], labels: usize) -> bool {
        let (message, places) = (self.out.message(), &self.buffers.places);
        let mut then = Places::new();
        before.iter().any(|&name| {
            let is_read = then.follow(message, name as usize).is_ok();
            let below = then.label_count().saturating_sub(labels);
            is_read
                && below > 0
                && places.label_count() > then.label_count()
                && shared_labels(message, &then, places) >= labels
                && then.labels()[..below]
                    .iter()
                    .zip(places.labels())
                    .all(|(&a, &b)| is_same_label(message, a, b))
        })
    }

    /// What is written already of the name that a DNAME makes of the present one: how many octets come before that, and where it
    /// stands. `None` where that is no more than the DNAME's target, which the other places are of. `asked`: places of the names
    /// before; `below`: how many labels the present name keeps.
    fn written_end(&self, asked: &[u16], below: usize) -> Option<(usize, u16)> {
        let message = self.out.message();
        let (kept, target) = (&self.buffers.places.labels()[..below], &self.buffers.other_places);
        let mut name = Places::new();
        let mut longest = (0, 0);
        for &before in asked {
            if name.follow(message, before as usize).is_err() {
                continue;
            }
            let shared = shared_labels(message, &name, target);
            if shared < target.label_count() {
                continue;
            }
            let rest = &name.labels()[..name.label_count() - shared];
            let pairs = kept.iter().rev().zip(rest.iter().rev());
            let more = pairs.take_while(|&(&a, &b)| is_same_label(message, a, b)).count();
            let place = name.of_ancestor(shared + more);
            if more > longest.0 && place <= POINTER_MAX {
                longest = (more, place);
            }
        }
        let (more, place) = longest;
        let octets = kept[..below - more].iter().map(|&label| 1 + message[label as usize] as usize).sum();
        (more > 0).then_some((octets, place))
    }

    /// Where the target of the DNAME record of the name at `owner` stands, if a step before wrote it.
    fn dname_written(&mut self, owner: u16) -> Option<usize> {
        let message = self.out.message();
        let count = self.out.count(Section::Answer);
        if count == 0 {
            return None;
        }
        self.buffers.other_places.follow(message, owner as usize).ok()?;
        let mut at = wire::record::skip_name(message, wire::header::HEADER_OCTETS)? + 4;
        for _ in 0..count {
            let record = RecordView::read(message, at)?;
            if record.rtype == rtype::DNAME && same_name(message, &self.buffers.other_places, record.owner) {
                return Some(record.rdata_at);
            }
            at = record.end();
        }
        None
    }

    /// Makes the name at `target` of the message the one that is looked up next. False when the chain ends instead:
    /// it is long, it leads back to a name that it came through, or proofs have no room left.
    pub(crate) fn goes_on(&mut self, asked: &[u16], target: usize) -> Result<bool, Stop> {
        let message = self.out.message();
        let places = &mut self.buffers.places;
        places.follow(message, target).map_err(|_| Stop::Damaged)?;
        let is_loop = asked.iter().any(|&before| same_name(message, places, before as usize));
        // Proofs that are still to be written look at the key.
        self.buffers.key.set_places(message, places.labels());
        Ok(!is_loop && asked.len() < CHAIN_MAX && self.proofs.room() >= PROOFS_OF_A_DENIAL)
    }
}
