//! RRsets to octets: fragments are copied, their places become compression pointers (RFC 1035 4.1.4).
//!
//! ```text
//! owner | type class TTL | RDLENGTH RDATA | owner pointer | type class TTL | RDLENGTH RDATA ... | signatures
//!       ^ base: places of a fragment count from here
//! ```
//!
//! Everything here is for messages of less than [`NEAR_MAX`] octets before the RRset, where every pointer has its 14
//! bits; the few that grow larger, over TCP, are left to `uncompressed`, and so are those that the apex follows.

use crate::answer::{Outcome, Stop};
use crate::uncompressed;
use wire::header::u16_at;
use wire::iana::rtype;
use wire::name::NAME_OCTETS_MAX;
use wire::record::skip_name;
use wire::render::{Full, POINTER_MAX, Renderer};
use wire::{Name, Places};
use zone::Data;
use zone::fragment::{REACH_MAX, TO_APEX, TO_OWNER};

/// Where the first owner ends at most, so that no pointer of a fragment needs more than 14 bits.
pub(crate) const NEAR_MAX: usize = POINTER_MAX as usize - REACH_MAX;

/// Writes an RRset, with its signatures if `with_signatures` and it has any; whole, or not at all and `Full`.
///
/// `head`: type, class, TTL. `owner`, `apex`: offsets of those names in the message.
#[inline(always)]
pub(crate) fn put(
    out: &mut Renderer<'_>,
    head: [u8; 8],
    data: Data<'_>,
    owner: u16,
    apex: u16,
    with_signatures: bool,
) -> Result<(), Stop> {
    let mark = out.mark();
    let result = write_name(out, owner).map_err(Stop::from);
    let result = result.and_then(|()| put_body(out, head, data, owner, apex, with_signatures));
    if result.is_err() {
        out.rollback(mark);
    }
    result
}

/// The same after its first owner, which stands at `owner`, has been written. Leaves a part when it fails.
#[inline(always)]
pub(crate) fn put_body(
    out: &mut Renderer<'_>,
    head: [u8; 8],
    data: Data<'_>,
    owner: u16,
    apex: u16,
    with_signatures: bool,
) -> Result<(), Stop> {
    let base = out.at();
    let fragment = match data {
        Data::Inline(rdata) => return Ok(out.body(head, rdata)?),
        Data::Fragment(fragment) => fragment,
    };
    if base > NEAR_MAX || fragment.apex_follows() {
        return uncompressed::put_body(out, head, &fragment, owner, apex, with_signatures);
    }
    let mut records = fragment.records();
    out.body(head, records.next().ok_or(Stop::Damaged)?)?;
    for rdata in &mut records {
        out.record(owner, head, rdata)?;
    }
    for place in fragment.places() {
        let at = base + place;
        let target = match out.u16_at(at) {
            TO_OWNER => owner,
            TO_APEX => apex,
            inner if (inner as usize) < place && inner as usize <= REACH_MAX => base as u16 + inner,
            _ => return Err(Stop::Damaged),
        };
        out.set_pointer(at, target);
    }
    if with_signatures && fragment.is_signed() {
        for rdata in records.signatures() {
            write_name(out, owner)?;
            out.signature(head, rdata)?;
        }
    }
    Ok(())
}

/// Writes the signatures of an RRset alone; all of them, or none and `Full`.
pub(crate) fn put_signatures(
    out: &mut Renderer<'_>,
    head: [u8; 8],
    data: Data<'_>,
    owner: u16,
) -> Result<(), Stop> {
    let Data::Fragment(fragment) = data else { return Ok(()) };
    let mark = out.mark();
    for rdata in fragment.signatures() {
        if write_name(out, owner).and_then(|()| out.signature(head, rdata)).is_err() {
            out.rollback(mark);
            return Err(Stop::Full(Outcome::Answer));
        }
    }
    Ok(())
}

/// Writes the name that stands at `place`: the root as itself, others as a pointer, or literally where no pointer
/// reaches.
#[inline(always)]
pub(crate) fn write_name(out: &mut Renderer<'_>, place: u16) -> Result<(), Full> {
    if out.message().get(place as usize) == Some(&0) {
        out.octets(&[0])
    } else if place <= POINTER_MAX {
        out.pointer(place)
    } else {
        let mut buffer = [0; NAME_OCTETS_MAX];
        let name = name_at(out.message(), place, &mut buffer).ok_or(Full)?;
        out.octets(name.octets())
    }
}

/// The name that stands at `place`, uncompressed.
pub(crate) fn name_at<'b>(
    message: &[u8],
    place: u16,
    buffer: &'b mut [u8; NAME_OCTETS_MAX],
) -> Option<&'b Name> {
    let mut places = Places::new();
    places.follow(message, place as usize).ok()?;
    Some(places.copy_ancestor(message, places.label_count(), buffer))
}

/// Where the RDATA of the record at `start` begins, and where the record ends.
#[inline(always)]
pub(crate) fn rdata_at(message: &[u8], start: usize) -> Option<(usize, usize)> {
    let fixed = skip_name(message, start)?;
    let begin = fixed + wire::record::FIXED_OCTETS;
    Some((begin, begin + u16_at(message, begin - 2) as usize))
}

/// Type, class and TTL of a record of class IN.
#[inline(always)]
pub(crate) fn head_of(rtype: u16, ttl: u32) -> [u8; 8] {
    let [a, b] = rtype.to_be_bytes();
    let [e, f, g, h] = ttl.to_be_bytes();
    [a, b, 0, 1, e, f, g, h]
}

/// Whether an RRset of this type has addresses for additional data in its RDATA's names; see `additional`.
pub(crate) fn has_targets(rtype: u16) -> bool {
    matches!(rtype, rtype::NS | rtype::MX | rtype::SRV | rtype::NAPTR | rtype::SVCB | rtype::HTTPS)
}
