//! All records of a zone, one RRset after the other.

use super::Broken;
use super::page::{Page, Stop};
use wire::iana::rtype;
use wire::name::NAME_OCTETS_MAX;
use wire::{Name, NameBuf};
use zone::lookup::{Owner, Step};
use zone::{Crawl, RRset, ZoneView};

/// Where the crawl is.
#[derive(Default)]
pub(super) struct WholePlace {
    at: At,
}

#[derive(Clone, Copy, Default)]
enum At {
    /// Before the SOA record that a transfer begins with.
    #[default]
    First,
    /// Before the RRset that comes next.
    Next(Crawl),
    /// Within the RRset that comes next, which no message has room for as a whole: records that were sent.
    Within(Crawl, usize),
    /// Before the SOA record that it ends with.
    Last,
}

impl WholePlace {
    pub(super) fn fill(
        &mut self,
        page: &mut Page<'_, '_>,
        view: &ZoneView<'_>,
        soa: &RRset<'_>,
    ) -> Result<(), Stop> {
        loop {
            self.at = match self.at {
                At::First => {
                    page.rrset(&[], soa, true)?;
                    At::Next(Crawl::default())
                }
                At::Next(crawl) => self.crawl(crawl, page, view)?,
                At::Within(crawl, sent) => within(crawl, sent, page, view)?,
                At::Last => return page.rrset(&[], soa, false),
            };
            if matches!(self.at, At::Within(..)) {
                return Err(Stop::Full);
            }
        }
    }

    /// Writes RRsets until nothing more fits, or there are no more.
    fn crawl(&mut self, mut crawl: Crawl, page: &mut Page<'_, '_>, view: &ZoneView<'_>) -> Result<At, Stop> {
        let mut labels = [0; NAME_OCTETS_MAX];
        let (mut length, mut owner) = (0, None);
        loop {
            let before = crawl;
            let Some(step) = crawl.next(view).map_err(|_| Stop::Broken(Broken::Damaged))? else {
                return Ok(At::Last);
            };
            // The RRsets of a name follow each other.
            let number = match &step.owner {
                Owner::Name(node) => Some(node.number()),
                Owner::Hash(_) => None,
            };
            if number.is_none() || number != owner {
                length = step.owner.write_labels(&mut labels).ok_or(Stop::Broken(Broken::Damaged))?;
                owner = number;
            }
            if length == 0 && step.rrset.rtype() == rtype::SOA {
                continue;
            }
            match page.rrset(&labels[..length], &step.rrset, true) {
                Ok(()) => {}
                Err(Stop::Full) if page.is_empty() && page.is_large() => {
                    return within(before, 0, page, view);
                }
                Err(stop) => {
                    self.at = At::Next(before);
                    return Err(stop);
                }
            }
        }
    }
}

/// Writes records of an RRset that does not fit as a whole, each by itself and its names in full; how it goes on.
fn within(mut crawl: Crawl, sent: usize, page: &mut Page<'_, '_>, view: &ZoneView<'_>) -> Result<At, Stop> {
    let before = crawl;
    let damaged = || Stop::Broken(Broken::Damaged);
    let Step { owner, rrset } = crawl.next(view).map_err(|_| damaged())?.ok_or_else(damaged)?;
    let mut labels = [0; NAME_OCTETS_MAX];
    let length = owner.write_labels(&mut labels).ok_or_else(damaged)?;
    let labels = &labels[..length];
    let name = name_of(labels, view.apex()).ok_or_else(damaged)?;
    let rdata = rrset.rdata(&name, view.apex()).ok_or_else(damaged)?;
    let signatures = rrset.signature_rdata();
    let all = rdata.iter().map(|rdata| (rrset.rtype(), rdata));
    let all = all.chain(signatures.iter().map(|rdata| (rtype::RRSIG, rdata)));
    let mut done = sent;
    for (rtype, rdata) in all.skip(sent) {
        match page.record(labels, rtype, rrset.ttl(), rdata) {
            Ok(()) => done += 1,
            // What no message has room for is told by a page that stays empty.
            Err(Stop::Full) if done > sent => return Ok(At::Within(before, done)),
            Err(stop) => return Err(stop),
        }
    }
    Ok(At::Next(crawl))
}

/// The name of these labels below the apex.
fn name_of(labels: &[u8], apex: &Name) -> Option<NameBuf> {
    Name::from_wire(&[labels, apex.octets()].concat()).ok().map(Name::to_owned)
}
