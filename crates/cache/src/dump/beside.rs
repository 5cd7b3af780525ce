//! What is dumped beside entries: spans that deny names, and how servers behave.
//!
//! ```text
//! span     octets of all of it 4 | end, by the clock of ages 8 | labels of the zone 1 | 0, 3 | a list of one RRset
//! server   address and port 24 | round trip, its variation, us 4, 4 | told last 8 | EDNS 1, its octets 2 | TCP only 1 | truncates 1 | case 1 | 0, 2
//! ```
//!
//! Not kept of servers: cookies, which are secrets of the process that asked for them, and would let who finds the file forge answers to those that come after (the first question gets another);
//! time-outs and back-offs, which are over in a minute; who is lame, of which only a hash is known, for minutes.

use std::io;

use wire::rrset::{Rrset, RrsetList, RrsetListBuf};
use wire::{Name, NameBuf};

use super::read::Dump;
use super::write::Parts;
use super::{Loaded, SERVERS_PART, half, long};
use crate::denials::{self, Cursor};
use crate::store::Cache;
use crate::{Case, Edns, Moment, Quality, servers};

/// Octets of a group of these, about: what a damaged one costs, some hundreds of them.
const GROUP_OCTETS: usize = 64 << 10;
/// Octets of a span before its RRset.
const SPAN_FIXED: usize = 16;
/// Octets of a server.
const SERVER_OCTETS: usize = 48;
/// What servers did so long ago is not kept: the way to them may be another. Most are asked again within a day.
const SERVER_SECONDS_MAX: u64 = 86_400;

/// Octets by groups.
struct Groups(Vec<Vec<u8>>);

impl Groups {
    fn new() -> Groups {
        Groups(vec![Vec::new()])
    }

    /// The group that is written to.
    fn last(&mut self) -> &mut Vec<u8> {
        if self.0.last().is_none_or(|last| last.len() >= GROUP_OCTETS) {
            self.0.push(Vec::new());
        }
        self.0.last_mut().expect("there is one")
    }
}

impl Cache {
    /// Writes the parts before those of shards.
    pub(super) fn write_beside(&self, parts: &mut Parts<'_>, now: Moment) -> io::Result<()> {
        for number in 0..denials::GROUPS {
            let (mut groups, mut cursor) = (Groups::new(), Cursor::default());
            while self.denials().walk(number, &mut cursor, |zone, set, end| {
                if end > now {
                    write_span(zone, set, end, groups.last());
                }
            }) {}
            parts.whole(number, &groups.0)?;
        }
        let mut groups = Groups::new();
        self.core.layout().servers().each(|address, quality| {
            if now.ms_since(quality.updated) < SERVER_SECONDS_MAX * 1000 {
                write_server(address, quality, groups.last());
            }
        });
        parts.whole(SERVERS_PART, &groups.0)
    }

    /// Takes in a group of such a part.
    pub(super) fn take_in_beside(&self, dump: &Dump, part: usize, octets: &[u8], loaded: &mut Loaded) {
        let mut rest = octets;
        while !rest.is_empty() {
            let item = if part == SERVERS_PART { SERVER_OCTETS } else { half(rest, 0) as usize };
            let Some((item, after)) =
                rest.split_at_checked(item).filter(|(item, _)| item.len() >= SPAN_FIXED)
            else {
                loaded.wrong += 1;
                return;
            };
            rest = after;
            let taken = match part == SERVERS_PART {
                true => self.take_in_server(dump, item).map(|is_taken| (is_taken, &mut loaded.servers)),
                false => self.take_in_span(dump, item).map(|is_taken| (is_taken, &mut loaded.spans)),
            };
            match taken {
                None => loaded.wrong += 1,
                Some((true, count)) => *count += 1,
                Some((false, _)) => loaded.passed_over += 1,
            }
        }
    }

    /// Whether a span is there now; `None`: it is none.
    fn take_in_span(&self, dump: &Dump, octets: &[u8]) -> Option<bool> {
        let (end, zone_labels) = (Moment(long(octets, 4)), usize::from(*octets.get(12)?));
        let list = RrsetList::from_octets(&octets[SPAN_FIXED..])?;
        let set = list.iter().next()?;
        let zone = zone_of(set.owner, zone_labels)?;
        // As in `put`, never longer than today's limits say. What is left of a second is not enough.
        let left_ms = end.ms_since(dump.then).saturating_sub(dump.since_ms);
        let limits = self.core.shared.limits();
        let most = limits.negative_ttl_max.min(limits.ttl_max);
        let ttl = u32::try_from(left_ms / 1000).unwrap_or(u32::MAX).min(set.ttl).min(most);
        let is_flushed = self.core.shared.marks.refuse_zone(&zone, dump.opened);
        Some(!is_flushed && self.denials().restore(&zone, &Rrset { ttl, ..set }, dump.opened))
    }

    /// The same of a server.
    fn take_in_server(&self, dump: &Dump, octets: &[u8]) -> Option<bool> {
        let key = [0, 8, 16].map(|at| long(octets, at));
        let address = servers::address_of(&key)?;
        let [edns, low, high, is_tcp_only, truncates, case, ..] = *octets.get(40..)? else { return None };
        let age_ms = dump.then.ms_since(Moment(long(octets, 32))).saturating_add(dump.since_ms);
        let quality = Quality {
            rtt_us: half(octets, 24),
            variation_us: half(octets, 28),
            edns: match edns {
                0 => Edns::Unknown,
                1 => Edns::Works(u16::from_le_bytes([low, high])),
                2 => Edns::None,
                _ => return None,
            },
            is_tcp_only: is_tcp_only == 1,
            truncates: truncates == 1,
            case: match case {
                0 => Case::Unknown,
                1 => Case::Kept,
                2 => Case::Lost,
                _ => return None,
            },
            updated: Moment(dump.opened.0.saturating_sub(age_ms)),
            ..Quality::default()
        };
        let is_of_use = quality.is_sound() && age_ms < SERVER_SECONDS_MAX * 1000;
        Some(is_of_use && self.core.layout().servers().restore(&address, &quality, dump.opened))
    }
}

fn write_span(zone: &Name, set: &Rrset<'_>, end: Moment, to: &mut Vec<u8>) {
    let list: RrsetListBuf = [*set].into_iter().collect();
    let octets = SPAN_FIXED + list.list().octets().len();
    to.extend((octets as u32).to_le_bytes());
    to.extend(end.0.to_le_bytes());
    to.extend([zone.label_count() as u8, 0, 0, 0]);
    to.extend_from_slice(list.list().octets());
}

fn write_server(key: &[u64; 3], quality: &Quality, to: &mut Vec<u8>) {
    key.iter().for_each(|word| to.extend(word.to_le_bytes()));
    to.extend(quality.rtt_us.to_le_bytes());
    to.extend(quality.variation_us.to_le_bytes());
    to.extend(quality.updated.0.to_le_bytes());
    let (edns, size) = match quality.edns {
        Edns::Unknown => (0, 0),
        Edns::Works(size) => (1, size),
        Edns::None => (2, 0),
    };
    let case = match quality.case {
        Case::Unknown => 0,
        Case::Kept => 1,
        Case::Lost => 2,
    };
    let [low, high] = size.to_le_bytes();
    to.extend([edns, low, high, quality.is_tcp_only.into(), quality.truncates.into(), case, 0, 0]);
}

/// The ancestor of a name, or the name, with so many labels, in lower case.
fn zone_of(owner: &Name, labels: usize) -> Option<NameBuf> {
    let mut zone = Name::from_wire(owner.octets()).ok()?;
    while zone.label_count() > labels {
        zone = zone.parent()?;
    }
    (zone.label_count() == labels).then(|| zone.to_lowercase())
}
