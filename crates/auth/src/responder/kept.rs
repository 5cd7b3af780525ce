//! Answers given again as they were kept, looked for under each number of labels that can decide.

use super::{Responder, bare_opt, leads_elsewhere, response_opt};
use crate::cache::Asked;
use crate::server::Server;
use wire::header::{self, HEADER_OCTETS};
use wire::query::PlainQuery;
use zone::CatalogView;
use zone::catalog::KeyLabels;

impl Responder {
    /// Gives an answer again, if there is one. `rooms`: see [`crate::cache::Cache::paste`].
    #[inline(always)]
    pub(super) fn repeat(
        &mut self,
        message: &[u8],
        asked: &Asked,
        query: &PlainQuery,
        (catalog, server): (&CatalogView<'_>, &Server),
        rooms: (usize, usize),
        response: &mut [u8],
    ) -> Option<usize> {
        let pasted = self.cache.paste(asked, query, &self.buffers.places, catalog, rooms, response);
        let (end, flags, outcome) = pasted?;
        if server.recurses && leads_elsewhere(outcome, query.flags & header::RD != 0) {
            return None;
        }
        if let Some(edns) = &query.edns {
            let room = &mut response[end..end + rooms.1];
            match edns.options.is_empty() {
                true => bare_opt(edns, server).write_to(room),
                false => response_opt(edns, server, self.cookie()).write_to(room),
            }
        }
        self.count_edns(query.edns.as_ref());
        response[..2].copy_from_slice(&message[..2]);
        response[HEADER_OCTETS..query.end].copy_from_slice(&message[HEADER_OCTETS..query.end]);
        self.repeated += 1;
        let verdict = self.count(outcome);
        self.counters.response(flags, verdict.rcode);
        Some(end + rooms.1)
    }

    /// The same for fewer labels than `before`.
    #[inline(never)]
    pub(super) fn repeat_shorter(
        &mut self,
        message: &[u8],
        query: &PlainQuery,
        (catalog, server): (&CatalogView<'_>, &Server),
        (mut others, mut before): (KeyLabels, usize),
        rooms: (usize, usize),
        response: &mut [u8],
    ) -> Option<usize> {
        let labels = self.buffers.places.label_count();
        while !others.is_empty() {
            let decisive = others.take(labels);
            if decisive == before {
                continue;
            }
            before = decisive;
            let asked = self.cache.asked(message, query, &self.buffers.places, decisive);
            if let Some(asked) = &asked
                && let Some(octets) = self.repeat(message, asked, query, (catalog, server), rooms, response)
            {
                return Some(octets);
            }
        }
        None
    }

    /// The question under the labels that decided about it, if kept answers can be under so many. Mostly that is the one that was looked for first.
    #[inline(never)]
    pub(super) fn asked_again(
        &mut self,
        message: &[u8],
        query: &PlainQuery,
        catalog: &CatalogView<'_>,
        labels: usize,
    ) -> Option<Asked> {
        let places = &mut self.buffers.other_places;
        places.read_plain(message, HEADER_OCTETS).ok()?;
        let is_tried = catalog.key_labels().each().any(|wanted| wanted.min(places.label_count()) == labels);
        self.cache.asked(message, query, places, labels).filter(|_| is_tried)
    }
}
