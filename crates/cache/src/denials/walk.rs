//! All that is kept, in steps, for who writes it down.

use std::ops::Bound;

use wire::Name;
use wire::rrset::Rrset;

use super::Denials;
use super::span::Span;
use super::zone::Zone;
use crate::Moment;

/// Spans that are shown under one taking of a lock: about 20 us, for which a writer may have to wait.
const STEP_SPANS: usize = 128;

/// How far a walk through a group is: what was shown last.
#[derive(Default)]
pub(crate) struct Cursor {
    zone: Option<Box<[u8]>>,
    at: At,
}

#[derive(Default)]
enum At {
    /// The zone is new: its SOA is next.
    #[default]
    Soa,
    /// NSEC records after this sort key.
    Nsec(Option<Box<[u8]>>),
    /// NSEC3 records after this hash.
    Nsec3(Option<dnssec::nsec3::Hash>),
    /// The next zone.
    End,
}

impl Denials {
    /// Shows `each` some more spans of a group, with the zone and when they end. What comes or goes meanwhile may be among them or not. `false`: those were the last.
    pub(crate) fn walk(
        &self,
        group: usize,
        cursor: &mut Cursor,
        mut each: impl FnMut(&Name, &Rrset<'_>, Moment),
    ) -> bool {
        let group = self.read(group);
        let mut shown = 0;
        while shown < STEP_SPANS {
            let next = match (&cursor.zone, &cursor.at) {
                (Some(zone), At::End) => {
                    group.zones.range::<[u8], _>((Bound::Excluded(&**zone), Bound::Unbounded)).next()
                }
                (Some(zone), _) => group.zones.get_key_value(zone).or_else(|| {
                    group.zones.range::<[u8], _>((Bound::Excluded(&**zone), Bound::Unbounded)).next()
                }),
                (None, _) => group.zones.iter().next(),
            };
            let Some((zone, known)) = next else { return false };
            if cursor.zone.as_ref() != Some(zone) {
                (cursor.zone, cursor.at) = (Some(zone.clone()), At::Soa);
            }
            let mut show = |span: &Span| {
                if let Some(set) = span.rrset() {
                    each(Name::trusted(zone), &set, span.end);
                }
            };
            shown += cursor.at.step(known, STEP_SPANS - shown, &mut show);
        }
        true
    }
}

impl At {
    /// Shows so many at most of one kind, and goes on to the next where there are no more: how many, and one.
    fn step(&mut self, zone: &Zone, most: usize, show: &mut dyn FnMut(&Span)) -> usize {
        match self {
            At::Soa => {
                zone.soa.iter().for_each(show);
                *self = At::Nsec(None);
                1
            }
            At::Nsec(last) => {
                let from = last.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
                let some: Vec<_> = zone.nsec.range::<[u8], _>((from, Bound::Unbounded)).take(most).collect();
                some.iter().for_each(|(_, span)| show(span));
                let count = some.len();
                *self = match some.last() {
                    Some((key, _)) if count == most => At::Nsec(Some((*key).clone())),
                    _ => At::Nsec3(None),
                };
                1 + count
            }
            At::Nsec3(last) => {
                let from = last.map_or(Bound::Unbounded, Bound::Excluded);
                let some: Vec<_> = zone.nsec3.range((from, Bound::Unbounded)).take(most).collect();
                some.iter().for_each(|(_, span)| show(span));
                let count = some.len();
                *self = match some.last() {
                    Some((key, _)) if count == most => At::Nsec3(Some(**key)),
                    _ => At::End,
                };
                1 + count
            }
            At::End => 1,
        }
    }
}
