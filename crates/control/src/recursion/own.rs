//! Zones of this process as the resolver asks them: as if they were on a server of their own.

use auth::{Client, Responder, Server, Style};
use resolve::Held;
use wire::header::{HEADER_OCTETS, u16_at};
use wire::iana::rtype;
use wire::{Name, Places, SortKey, Transport};
use zone::CatalogView;
use zone::catalog::Hit;

/// Whether what is asked at a name is for a zone of ours to say, and not for the resolver to find out: one with data, no mirror, and not for some clients only. No
/// allocation, no lock; for a name of a few labels some hundred instructions.
pub(super) fn is_of_ours(zones: &CatalogView<'_>, name: &Name) -> bool {
    let hit = zones.find(&SortKey::of(name), usize::MAX);
    if hit.found.is_nothing() || hit.zone().is_none() {
        return false;
    }
    let group = zones.group_of(hit.found.version().slot);
    !group.is_mirror() && !group.is_for_some()
}

/// What asks them, of one worker.
pub(super) struct OwnZones {
    responder: Responder,
    server: Server,
    places: Places,
    key: SortKey,
}

impl Default for OwnZones {
    fn default() -> OwnZones {
        // Answers of zones of ours are not kept by the resolver, and all may be as long as they are. An alias from a mirror into another zone is followed by the
        // resolver: what is validated is of one zone.
        let server = Server { udp_payload_octets: u16::MAX, style: Style::WITHIN_ZONE, ..Server::default() };
        OwnZones { responder: Responder::new(), server, places: Places::new(), key: SortKey::new() }
    }
}

impl OwnZones {
    /// Has a query answered from the zone that its name is in. Not where it has no data, nor where it is for some clients only and no mirror: what is found out is for all that may recurse.
    pub(super) fn answer(&mut self, zones: &CatalogView<'_>, query: &[u8], response: &mut Vec<u8>) -> Held {
        let Ok(end) = self.places.read_plain(query, HEADER_OCTETS) else { return Held::Nothing };
        self.key.clear();
        self.key.set_places(query, self.places.labels());
        let group = |hit: &Hit<'_>| zones.group_of(hit.found.version().slot);
        let mut hit = zones.find(&self.key, usize::MAX);
        let labels = self.places.label_count();
        let is_of_apex = hit.found.labels as usize == labels && group(&hit).is_mirror();
        if is_of_apex && labels > 0 && u16_at(query, end) == rtype::DS {
            // Of its own zone the parent knows that.
            hit = zones.find(&self.key, labels - 1);
        }
        if hit.found.is_nothing() || hit.zone().is_none() {
            return Held::Nothing;
        }
        let held = match group(&hit) {
            group if group.is_mirror() => Held::Mirror { labels: hit.found.labels as usize },
            group if group.is_for_some() => return Held::Nothing,
            _ => Held::Ours,
        };
        response.resize(usize::from(u16::MAX), 0);
        let client = Client::unknown(Transport::Tcp);
        let octets = self.responder.answer(query, zones, &self.server, &client, response);
        response.truncate(octets);
        if octets > 0 { held } else { Held::Nothing }
    }

    /// Forgets what was kept of answers: something that is mapped was lost.
    pub(super) fn forget(&mut self) {
        self.responder.forget();
    }
}
