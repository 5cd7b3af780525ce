//! Where trust begins, and where it ends by the operator's word: trust anchors (RFC 4033 2), negative trust anchors (RFC 7646), zones that are
//! known not to be signed.
//!
//! ```text
//! name of a zone, lower case -> Point: DS and keys of an anchor | negative until | insecure
//! ```
//!
//! The deepest point at or above a name decides; at one name the negative wins over insecure, and both over an anchor.

use std::collections::HashMap;

use wire::name::NAME_OCTETS_MAX;
use wire::rrset::RdataListBuf;
use wire::{Name, NameBuf, RdataList};

use crate::fault::Insecurity;

/// The trust anchors of the root zone, as DS RDATA: key signing keys 20326 (2017) and 38696 (2024). Published by IANA in `root-anchors.xml`
/// (RFC 9718); both sign or stand in the root zone that is among the tests' data.
pub const ROOT_ANCHORS: [&[u8]; 2] = [
    b"\x4f\x66\x08\x02\xe0\x6d\x44\xb8\x0b\x8f\x1d\x39\xa9\x5c\x0b\x0d\x7c\x65\xd0\x84\x58\xe8\x80\x40\x9b\xbc\x68\x34\x57\x10\x42\x37\xc7\xf8\xec\x8d",
    b"\x97\x28\x08\x02\x68\x3d\x2d\x0a\xcb\x8c\x9b\x71\x2a\x19\x48\xb2\x7f\x74\x12\x19\x29\x8d\x0a\x45\x0d\x61\x2c\x48\x3a\xf4\x44\xa4\xc0\xfb\x2b\x16",
];

/// The points where trust begins or ends.
#[derive(Clone, Debug, Default)]
pub struct Anchors {
    points: HashMap<Box<[u8]>, Point>,
    /// Labels of the longest name of a point.
    labels_max: usize,
}

#[derive(Clone, Debug, Default)]
struct Point {
    ds: RdataListBuf,
    keys: RdataListBuf,
    /// Seconds since 1970 at which a negative trust anchor ends.
    negative_until: Option<u64>,
    is_insecure: bool,
}

/// What decides about a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start<'a> {
    /// A trust anchor at the ancestor-or-self with so many labels: any of these suffices.
    Anchor {
        /// Labels of the zone.
        labels: usize,
        /// DS RDATA.
        ds: RdataList<'a>,
        /// DNSKEY RDATA.
        keys: RdataList<'a>,
    },
    /// Nothing is to be validated.
    Insecure(Insecurity),
    /// No anchor at or above.
    Nowhere,
}

impl Anchors {
    /// No points: everything is indeterminate.
    pub fn new() -> Anchors {
        Anchors::default()
    }

    /// The anchors of the root that are built in.
    pub fn built_in() -> Anchors {
        let mut anchors = Anchors::new();
        for ds in ROOT_ANCHORS {
            anchors.add_ds(Name::root(), ds);
        }
        anchors
    }

    /// Adds the RDATA of a DS record to the anchor of `zone`.
    pub fn add_ds(&mut self, zone: &Name, rdata: &[u8]) {
        self.point(zone).ds.push(rdata);
    }

    /// Adds the RDATA of a DNSKEY record to the anchor of `zone`.
    pub fn add_key(&mut self, zone: &Name, rdata: &[u8]) {
        self.point(zone).keys.push(rdata);
    }

    /// Replaces the anchor of `zone` by the RDATA of DS and DNSKEY records: what follows a change of [`crate::rfc5011`].
    pub fn set<'r>(
        &mut self,
        zone: &Name,
        ds: impl IntoIterator<Item = &'r [u8]>,
        keys: impl IntoIterator<Item = &'r [u8]>,
    ) {
        let point = self.point(zone);
        point.ds = ds.into_iter().collect();
        point.keys = keys.into_iter().collect();
    }

    /// The zones that have an anchor, in no order, with the RDATA of its DS and DNSKEY records.
    pub fn zones(&self) -> impl Iterator<Item = (NameBuf, RdataList<'_>, RdataList<'_>)> {
        let zones = self.points.iter().map(|(zone, point)| (zone, point.ds.list(), point.keys.list()));
        zones
            .filter(|(_, ds, keys)| !ds.is_empty() || !keys.is_empty())
            .map(|(zone, ds, keys)| (Name::trusted(zone).to_owned(), ds, keys))
    }

    /// The anchor of a zone itself, as RDATA of DS and DNSKEY records, if it counts at `now`.
    pub fn of_zone(&self, zone: &Name, now: u64) -> Option<(RdataList<'_>, RdataList<'_>)> {
        match self.start(zone, now) {
            Start::Anchor { labels, ds, keys } if labels == zone.label_count() => Some((ds, keys)),
            _ => None,
        }
    }

    /// Takes `zone` and all below it as not signed until a time in seconds since 1970; `None` ends that now (RFC 7646).
    pub fn set_negative(&mut self, zone: &Name, until: Option<u64>) {
        self.point(zone).negative_until = until;
    }

    /// Takes `zone` and all below it as not signed, for ever: private and forwarded zones.
    pub fn add_insecure(&mut self, zone: &Name) {
        self.point(zone).is_insecure = true;
    }

    /// The negative trust anchors that have not ended at `now`, with their ends.
    pub fn negatives(&self, now: u64) -> impl Iterator<Item = (NameBuf, u64)> {
        self.points.iter().filter_map(move |(zone, point)| {
            let until = point.negative_until.filter(|until| *until > now)?;
            Some((Name::trusted(zone).to_owned(), until))
        })
    }

    /// What decides about `name` at `now`, in seconds since 1970.
    pub fn start(&self, name: &Name, now: u64) -> Start<'_> {
        let mut room = [0; NAME_OCTETS_MAX];
        let lower = &mut room[..name.octets().len()];
        lower.copy_from_slice(name.octets());
        lower.make_ascii_lowercase();
        let mut next = Some(Name::trusted(lower));
        for _ in self.labels_max..name.label_count() {
            next = next.and_then(Name::parent);
        }
        while let Some(zone) = next {
            if let Some(point) = self.points.get(zone.octets()) {
                if point.negative_until.is_some_and(|until| until > now) {
                    return Start::Insecure(Insecurity::NegativeAnchor);
                }
                if point.is_insecure {
                    return Start::Insecure(Insecurity::InsecurePoint);
                }
                let (ds, keys) = (point.ds.list(), point.keys.list());
                if !ds.is_empty() || !keys.is_empty() {
                    return Start::Anchor { labels: zone.label_count(), ds, keys };
                }
            }
            next = zone.parent();
        }
        Start::Nowhere
    }

    fn point(&mut self, zone: &Name) -> &mut Point {
        self.labels_max = self.labels_max.max(zone.label_count());
        self.points.entry(zone.octets().to_ascii_lowercase().into()).or_default()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_decides() {
        let name = |text: &str| NameBuf::from_text(text).unwrap();
        let mut anchors = Anchors::built_in();
        anchors.add_insecure(&name("Corp.example."));
        anchors.add_ds(&name("signed.corp.example."), b"anchor");
        anchors.set_negative(&name("broken.test."), Some(100));
        #[track_caller]
        fn check(anchors: &Anchors, text: &str, now: u64, expected: Result<usize, Option<Insecurity>>) {
            let start = match anchors.start(&NameBuf::from_text(text).unwrap(), now) {
                Start::Anchor { labels, .. } => Ok(labels),
                Start::Insecure(insecurity) => Err(Some(insecurity)),
                Start::Nowhere => Err(None),
            };
            assert_eq!(start, expected, "{text} at {now}");
        }
        check(&anchors, ".", 0, Ok(0));
        check(&anchors, "www.example.", 0, Ok(0));
        check(&anchors, "www.CORP.example.", 0, Err(Some(Insecurity::InsecurePoint)));
        check(&anchors, "a.signed.corp.example.", 0, Ok(3));
        check(&anchors, "www.broken.test.", 99, Err(Some(Insecurity::NegativeAnchor)));
        check(&anchors, "www.broken.test.", 100, Ok(0));
        anchors.set_negative(Name::root(), Some(7));
        check(&anchors, "www.example.", 6, Err(Some(Insecurity::NegativeAnchor)));
        check(&Anchors::new(), "www.example.", 0, Err(None));
        let has_own = |text: &str, now| anchors.of_zone(&name(text), now).is_some();
        assert_eq!([has_own(".", 6), has_own(".", 7), has_own("org.", 7)], [false, true, false]);
        let mut zones: Vec<String> = anchors.zones().map(|(zone, ..)| zone.to_string()).collect();
        zones.sort();
        assert_eq!(zones, [".", "signed.corp.example."]);
        assert_eq!(
            anchors.negatives(50).map(|(zone, until)| (zone.to_string(), until)).collect::<Vec<_>>(),
            [("broken.test.".to_owned(), 100)]
        );
        anchors.set_negative(&name("broken.test."), None);
        check(&anchors, "www.broken.test.", 9, Ok(0));
    }
}
