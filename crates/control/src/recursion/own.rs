//! Zones of this process as the resolver asks them: as if they were on a server of their own.

use auth::{Client, Responder, Server};
use wire::header::HEADER_OCTETS;
use wire::{Places, SortKey, Transport};
use zone::CatalogView;

/// What asks them, of one worker.
pub(super) struct OwnZones {
    responder: Responder,
    server: Server,
    places: Places,
    key: SortKey,
}

impl Default for OwnZones {
    fn default() -> OwnZones {
        // Answers are not kept by the resolver, and may be as long as they are.
        let server = Server { udp_payload_octets: u16::MAX, ..Server::default() };
        OwnZones { responder: Responder::new(), server, places: Places::new(), key: SortKey::new() }
    }
}

impl OwnZones {
    /// Has a query answered from the zone that its name is in; `false` where there is none, where it has no data, and where it is for some clients only: what is
    /// found out is for all that may recurse.
    pub(super) fn answer(&mut self, zones: &CatalogView<'_>, query: &[u8], response: &mut Vec<u8>) -> bool {
        if self.places.read_plain(query, HEADER_OCTETS).is_err() {
            return false;
        }
        self.key.clear();
        self.key.set_places(query, self.places.labels());
        let hit = zones.find(&self.key, usize::MAX);
        let version = hit.found.version();
        if hit.found.is_nothing() || hit.zone().is_none() || zones.group_of(version.slot).is_for_some() {
            return false;
        }
        response.resize(usize::from(u16::MAX), 0);
        let client = Client::unknown(Transport::Tcp);
        let octets = self.responder.answer(query, zones, &self.server, &client, response);
        response.truncate(octets);
        octets > 0
    }

    /// Forgets what was kept of answers: something that is mapped was lost.
    pub(super) fn forget(&mut self) {
        self.responder.forget();
    }
}
