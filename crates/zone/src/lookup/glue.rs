//! Glue of zone cuts, looked up where the list in the pack may say something else than the zone does now (RFC 9471).

use super::{Data, Node, RRset, Standing, ZoneView};
use crate::contents::Flags;
use crate::fragment::{Fragment, RECORD_HEAD_OCTETS, TO_APEX, TO_OWNER};
use crate::pack::server_hash;
use wire::iana::rtype;
use wire::name::{LABELS_MAX, NAME_OCTETS_MAX};
use wire::sort_key::{KEY_OCTETS_MAX, write_labels};
use wire::{Name, SortKey};

/// Servers of a cut whose addresses are looked up at most: each costs a walk, and few cuts have more than 13.
const SERVERS_MAX: usize = 128;

/// Addresses of one kind of one server.
#[derive(Clone, Copy)]
pub struct LiveGroup<'p> {
    /// Which record of the NS RRset names the server.
    pub server: usize,
    /// Below this very cut (RFC 9471 2.1, in-domain): TC when it does not fit.
    pub in_domain: bool,
    /// Not glue but data of the zone itself, signatures of which belong to it when there are any (RFC 4035 3.1.1).
    pub authoritative: bool,
    /// The addresses.
    pub set: RRset<'p>,
}

/// The glue of a cut: what must not be left out without TC first, then by server, A before AAAA.
pub struct LiveGlue<'p> {
    zone: ZoneView<'p>,
    cut: Node<'p>,
    servers: Fragment<'p>,
    servers_max: usize,
    /// The server that comes next, and whether it is the turn of those that are in-domain.
    server: usize,
    is_in_domain: bool,
    /// The server of the AAAA RRset that comes next.
    held: Option<LiveGroup<'p>>,
}

impl<'p> ZoneView<'p> {
    /// The glue of a cut where it has to be looked up; `None` where [`Node::glue`] says it.
    #[inline(always)]
    pub fn live_glue(&self, cut: &Node<'p>) -> Option<LiveGlue<'p>> {
        let changed = self.changed?;
        let is_stale = changed.glue_may_differ() || cut.is_own() || cut.shape.flags() != cut.flags;
        if is_stale { self.looked_up(cut) } else { None }
    }

    /// The same, of however many servers.
    pub(crate) fn whole_glue(&self, cut: &Node<'p>) -> Option<LiveGlue<'p>> {
        let live = self.live_glue(cut)?;
        Some(LiveGlue { servers_max: usize::MAX, ..live })
    }

    #[cold]
    fn looked_up(&self, cut: &Node<'p>) -> Option<LiveGlue<'p>> {
        let Data::Fragment(servers) = cut.rrset(rtype::NS)?.data() else { return None };
        Some(LiveGlue {
            zone: *self,
            cut: *cut,
            servers,
            servers_max: SERVERS_MAX,
            server: 0,
            is_in_domain: true,
            held: None,
        })
    }

    /// The node that answers for a server's name: its own, or the wildcard's that stands in for it (RFC 4592 3.3.1). At and below zone
    /// cuts that is glue, which is taken from wildcards too: it is what this zone knows of the server.
    fn server(&self, key: &SortKey) -> Option<Node<'p>> {
        let start = self.apex_key.len();
        if let Some(node) = self.find(key.octets().get(start..)?) {
            return (!node.flags.has(Flags::REDIRECTED)).then_some(node);
        }
        let above = |labels: usize| self.find(&key.ancestor(labels)[start..]);
        // Owners of NSEC3 records are no names (RFC 5155 7.2.8).
        let is_name = |node: &Node<'p>| !node.flags.has(Flags::NSEC3);
        let encloser = (self.apex_labels..key.label_count()).rev().filter_map(above).find(is_name)?;
        // Where names below the encloser are led elsewhere, nothing is synthesized.
        let is_led_elsewhere = Standing::below(encloser.flags).is_redirected();
        if is_led_elsewhere || !encloser.flags.has(Flags::WILDCARD_CHILD) {
            return None;
        }
        let mut wildcard = [0; KEY_OCTETS_MAX + 2];
        let length = encloser.copy_key(&mut wildcard);
        wildcard.get_mut(length..length + 2)?.copy_from_slice(b"*\0");
        self.find(&wildcard[..length + 2]).filter(|wildcard| !wildcard.flags.has(Flags::CUT))
    }
}

impl<'p> LiveGlue<'p> {
    /// Addresses of the server that is next; AAAA is held back for the next step.
    fn next_server(&mut self) -> Option<LiveGroup<'p>> {
        let (number, zone) = (self.server, self.zone);
        self.server += 1;
        let mut name = [0; NAME_OCTETS_MAX];
        let name = server_name(&zone, &self.cut, &self.servers, number, &mut name)?;
        if !name.is_at_or_below(zone.apex) {
            return None;
        }
        let key = SortKey::of(name);
        let mut below = key.octets().get(zone.apex_key.len()..)?.iter();
        let (prefix, suffix) = self.cut.key_parts();
        let in_domain = prefix.iter().chain(suffix).all(|octet| below.next() == Some(octet));
        if in_domain != self.is_in_domain {
            return None;
        }
        let node = zone.server(&key)?;
        let authoritative = !node.flags.has_any(Flags(Flags::OCCLUDED.0 | Flags::CUT.0));
        let group = |set| LiveGroup { server: number, in_domain, authoritative, set };
        let [a, aaaa] = [rtype::A, rtype::AAAA].map(|rtype| node.rrset(rtype).map(group));
        if a.is_some() {
            self.held = aaaa;
        }
        a.or(aaaa)
    }
}

impl<'p> Iterator for LiveGlue<'p> {
    type Item = LiveGroup<'p>;

    fn next(&mut self) -> Option<LiveGroup<'p>> {
        if let Some(held) = self.held.take() {
            return Some(held);
        }
        loop {
            if self.server >= self.servers.len().min(self.servers_max) {
                if !self.is_in_domain {
                    return None;
                }
                (self.server, self.is_in_domain) = (0, false);
            }
            if let Some(group) = self.next_server() {
                return Some(group);
            }
        }
    }
}

/// The hash of a name server of `cut` that is in the zone, but not below the cut.
pub(crate) fn server_beside(zone: &ZoneView<'_>, cut: &Node<'_>, server: &Name) -> Option<u32> {
    if !server.is_at_or_below(zone.apex) {
        return None;
    }
    let key = SortKey::of(server);
    let (prefix, suffix) = cut.key_parts();
    let mut below = key.octets().get(zone.apex_key.len()..)?.iter();
    let in_domain = prefix.iter().chain(suffix).all(|octet| below.next() == Some(octet));
    (!in_domain).then(|| server_hash(key.octets()))
}

/// The name that record `number` of an NS RRset of `cut` says, uncompressed.
pub(crate) fn server_name<'n>(
    zone: &ZoneView<'_>,
    cut: &Node<'_>,
    servers: &Fragment<'_>,
    number: usize,
    name: &'n mut [u8; NAME_OCTETS_MAX],
) -> Option<&'n Name> {
    let (mut octets, mut at) = place_of(servers, |_, count| count == number)?;
    let mut length = 0;
    // Each step but the last of a sound name yields a label.
    for _ in 0..2 * LABELS_MAX {
        if servers.places().any(|place| place == at) {
            let pointer = u16::from_be_bytes(*octets.first_chunk()?);
            if pointer == TO_OWNER || pointer == TO_APEX {
                if pointer == TO_OWNER {
                    let mut key = [0; KEY_OCTETS_MAX];
                    let key_octets = cut.copy_key(&mut key);
                    length += write_labels(&key[..key_octets], name.get_mut(length..)?)?;
                }
                let apex = zone.apex.octets();
                name.get_mut(length..length + apex.len())?.copy_from_slice(apex);
                return Name::from_wire(&name[..length + apex.len()]).ok();
            }
            at = usize::from(pointer);
            let (record, start) = place_of(servers, |range, _| range.contains(&at))?;
            octets = record.get(at - start..)?;
            continue;
        }
        let label = octets.get(..1 + usize::from(*octets.first()?))?;
        name.get_mut(length..length + label.len())?.copy_from_slice(label);
        length += label.len();
        if label.len() == 1 {
            return Name::from_wire(&name[..length]).ok();
        }
        at += label.len();
        octets = &octets[label.len()..];
    }
    None
}

/// The first record of which `is_it` says so, given its place and number; and where it begins. Places count from the end of the first owner.
fn place_of<'p>(
    servers: &Fragment<'p>,
    is_it: impl Fn(std::ops::Range<usize>, usize) -> bool,
) -> Option<(&'p [u8], usize)> {
    let mut at = RECORD_HEAD_OCTETS - 2;
    for (number, record) in servers.records().enumerate() {
        if is_it(at..at + record.len(), number) {
            return Some((record, at));
        }
        at += record.len() + RECORD_HEAD_OCTETS;
    }
    None
}
