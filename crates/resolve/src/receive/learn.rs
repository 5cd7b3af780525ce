//! What an answer says of the server that sent it: its time, EDNS, letters, cookie; and that there is a network.

use cache::{Case, Cookie, Edns, Quality};

use crate::ask::exchange::{Exchange, Way};
use crate::resolver::Resolver;
use crate::response::{Kind, Reply};
use crate::world::World;

impl Resolver {
    /// What an answer says of the server.
    pub(crate) fn learn(&mut self, exchange: &Exchange, reply: &Reply, world: &mut dyn World) {
        let now = self.time.now;
        let servers = world.servers();
        let is_back = self.network.heard(&exchange.server, now, |silent, zone| {
            servers.update(silent, now, |quality| quality.timed_out(zone, now));
        });
        if is_back {
            // What failed meanwhile, with whatever worker, failed for the network.
            world.cache().outage_ended(now);
            servers.outage_ended(now);
        }
        let rtt_us = now.ms_since(exchange.sent).saturating_mul(1000).min(u64::from(u32::MAX)) as u32;
        let cookie = exchange.cookie.as_ref().and_then(|cookie| cookie.octets().first_chunk::<8>().copied());
        servers.update(&exchange.server, now, |quality| {
            match exchange.way {
                Way::Datagram(_) => quality.answered(rtt_us),
                Way::Stream(_) => quality.is_there(),
            }
            note_edns(quality, exchange, reply);
            if exchange.has_case {
                quality.case = Case::Kept;
            }
            if let (Some(client), Some(server)) = (cookie, reply.server_cookie()) {
                quality.cookie = joined(client, server).unwrap_or(quality.cookie);
            }
            if reply.kind == Kind::Truncated {
                quality.truncates = true;
            }
        });
    }
}

/// What is known of a server's EDNS after an answer. It is left out only for those that refuse it and say nothing of it (RFC 6891 7): never for
/// silence.
fn note_edns(quality: &mut Quality, exchange: &Exchange, reply: &Reply) {
    // BADVERS to the first version there is (RFC 6891 6.1.3) is no better.
    if !reply.has_question && reply.kind != Kind::NoEdns {
        return;
    }
    let is_refused = matches!(reply.kind, Kind::NoEdns | Kind::BadVersion) && exchange.has_edns;
    quality.edns = match (quality.edns, reply.has_edns()) {
        _ if is_refused => Edns::None,
        (_, true) => Edns::Works(reply.udp_payload_octets.unwrap_or(0)),
        (known, false) => known,
    };
}

/// The whole of a cookie.
fn joined(client: [u8; 8], server: &[u8]) -> Option<Cookie> {
    let mut octets = [0; Cookie::OCTETS_MAX];
    let length = 8 + server.len();
    octets[..8].copy_from_slice(&client);
    octets.get_mut(8..length)?.copy_from_slice(server);
    Cookie::from_octets(&octets[..length])
}
