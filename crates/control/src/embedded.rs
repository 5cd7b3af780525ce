//! Zones that come with the program: they were current when it was made, and nobody renews their signatures.

use std::time::{SystemTime, UNIX_EPOCH};

use wire::Name;
use wire::iana::rtype;
use zone::catalog::View;

use crate::controller::Controller;
use crate::text::count;
use crate::wanted::{Source, Wanted};

const SECONDS_A_DAY: u64 = 86_400;

/// Octets before the end of its period in an RRSIG record: type, algorithm, labels, original TTL (RFC 4034 3.1).
const EXPIRATION_AT: usize = 8;

/// Says of those among `given` whose signatures have run out that they have, and how to get today's zone: whoever validates gets nothing
/// from it.
pub(crate) fn say_what_has_expired(controller: &Controller, given: &[Wanted]) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    for Wanted { name, source } in given {
        let Source::Embedded(embedded) = source else { continue };
        if let Some(age) = signature_end(controller, name).and_then(|end| now.checked_sub(end)) {
            let days = count((age / SECONDS_A_DAY) as usize, "day");
            let renewal = embedded.renewal;
            tracing::warn!(
                zone = %name,
                "the signatures of zone {name}, which came with the program, ran out {days} ago: \
                 validating resolvers refuse its answers; {renewal}"
            );
        }
    }
}

/// When the last signature of the SOA record of a zone ends, in seconds since 1970, of which it has the lower 32 bits: good until 2106.
fn signature_end(controller: &Controller, name: &Name) -> Option<u64> {
    controller.catalog.reader().with(|view| {
        let View::Zone(zone) = view.view_of(view.slot_named(name)?)? else { return None };
        let soa = zone.apex_node()?.rrset(rtype::SOA)?;
        let end = |rdata: &Vec<u8>| Some(u32::from_be_bytes(*rdata.get(EXPIRATION_AT..)?.first_chunk()?));
        soa.signature_rdata().iter().filter_map(end).max().map(u64::from)
    })
}
