//! RRsets whose names are written out: those far into a message, where compression pointers do not reach (RFC 1035 4.1.4), which only responses over TCP
//! have; and those that are stored without the apex though it has to leave in full (RFC 3597 4).
//!
//! The RDATA of a fragment is expanded record by record; a pointer inside the
//! fragment is resolved in the fragment, since what it points at no longer stands where it counts on.

use crate::answer::Stop;
use crate::rrset::{name_at, write_name};
use wire::header::u16_at;
use wire::name::NAME_OCTETS_MAX;
use wire::render::Renderer;
use zone::fragment::{Fragment, RECORD_HEAD_OCTETS, TO_APEX, TO_OWNER};

/// Most octets of RDATA with names that may be compressed: SOA, two names and five numbers.
const EXPANDED_OCTETS_MAX: usize = 2 * NAME_OCTETS_MAX + 20;
/// Most pointers on the way through a name: builders make one, to the longest name before; more are a pack's that was made to cost
/// time, as each is a search for its record.
const PARTS_MAX: usize = 16;
/// Where the RDATA of the first record begins, counted as places are.
const FIRST_RDATA_AT: usize = RECORD_HEAD_OCTETS - 2;

/// See [`crate::rrset::put_body`].
#[cold]
pub(crate) fn put_body(
    out: &mut Renderer<'_>,
    head: [u8; 8],
    fragment: &Fragment<'_>,
    owner: u16,
    apex: u16,
    with_signatures: bool,
) -> Result<(), Stop> {
    if fragment.apex_follows() {
        return put_with_apex(out, head, fragment, owner, apex, with_signatures);
    }
    let (mut owner_name, mut apex_name) = ([0; NAME_OCTETS_MAX], [0; NAME_OCTETS_MAX]);
    let names = Names {
        fragment,
        owner: name_at(out.message(), owner, &mut owner_name).ok_or(Stop::Damaged)?.octets(),
        apex: name_at(out.message(), apex, &mut apex_name).ok_or(Stop::Damaged)?.octets(),
    };
    let mut records = fragment.records();
    let mut rdata_at = FIRST_RDATA_AT;
    let mut is_first = true;
    for rdata in &mut records {
        if !is_first {
            write_name(out, owner)?;
        }
        let range = rdata_at..rdata_at + rdata.len();
        if fragment.places().any(|place| range.contains(&place)) {
            let mut buffer = Buffer { octets: [0; EXPANDED_OCTETS_MAX], length: 0 };
            names.expand(rdata, rdata_at, &mut buffer).ok_or(Stop::Damaged)?;
            out.body(head, &buffer.octets[..buffer.length])?;
        } else {
            out.body(head, rdata)?;
        }
        rdata_at = range.end + RECORD_HEAD_OCTETS;
        is_first = false;
    }
    if with_signatures && fragment.is_signed() {
        for rdata in records.signatures() {
            write_name(out, owner)?;
            out.signature(head, rdata)?;
        }
    }
    Ok(())
}

/// The same of a fragment that the apex follows.
fn put_with_apex(
    out: &mut Renderer<'_>,
    head: [u8; 8],
    fragment: &Fragment<'_>,
    owner: u16,
    apex: u16,
    with_signatures: bool,
) -> Result<(), Stop> {
    let (mut name, mut lower) = ([0; NAME_OCTETS_MAX], [0; NAME_OCTETS_MAX]);
    let name = name_at(out.message(), apex, &mut name).ok_or(Stop::Damaged)?.octets();
    // It may stand in the message as a client wrote it, and the answer is kept for others too.
    let apex = &mut lower[..name.len()];
    apex.copy_from_slice(name);
    apex.make_ascii_lowercase();
    let mut records = fragment.records();
    if records.clone().next().is_none() {
        return Err(Stop::Damaged);
    }
    for (number, rdata) in records.by_ref().enumerate() {
        if number > 0 {
            write_name(out, owner)?;
        }
        out.body_of(head, [rdata, apex])?;
    }
    if with_signatures && fragment.is_signed() {
        for rdata in records.signatures() {
            write_name(out, owner)?;
            out.signature(head, rdata)?;
        }
    }
    Ok(())
}

/// Expanded RDATA.
struct Buffer {
    octets: [u8; EXPANDED_OCTETS_MAX],
    length: usize,
}

impl Buffer {
    fn push(&mut self, octets: &[u8]) -> Option<()> {
        self.octets.get_mut(self.length..self.length + octets.len())?.copy_from_slice(octets);
        self.length += octets.len();
        Some(())
    }
}

/// What pointers of a fragment can point at.
struct Names<'f> {
    fragment: &'f Fragment<'f>,
    owner: &'f [u8],
    apex: &'f [u8],
}

impl Names<'_> {
    /// Expands the RDATA that begins at `start`.
    fn expand(&self, rdata: &[u8], start: usize, to: &mut Buffer) -> Option<()> {
        let mut done = 0;
        for place in self.fragment.places().filter(|place| (start..start + rdata.len()).contains(place)) {
            let at = place - start;
            to.push(rdata.get(done..at)?)?;
            self.resolve(u16_at(rdata, at), place, to)?;
            done = at + 2;
        }
        to.push(rdata.get(done..)?)
    }

    /// Appends the name that a pointer at `place` with this value means. Values inside the fragment decrease from
    /// pointer to pointer, and no name is made of more parts than it has labels.
    fn resolve(&self, value: u16, place: usize, to: &mut Buffer) -> Option<()> {
        let (mut value, mut bound) = (value, place);
        for _ in 0..=PARTS_MAX {
            match value {
                TO_OWNER => return to.push(self.owner),
                TO_APEX => return to.push(self.apex),
                _ => {}
            }
            let mut at = value as usize;
            if at >= bound {
                return None;
            }
            bound = at;
            let (rdata, start) = self.record_with(at)?;
            loop {
                if self.fragment.places().any(|place| place == at) {
                    value = u16_at(rdata, at - start);
                    break;
                }
                let length = *rdata.get(at - start)? as usize;
                let end = at + 1 + length;
                to.push(rdata.get(at - start..end - start)?)?;
                if length == 0 {
                    return Some(());
                }
                at = end;
            }
        }
        None
    }

    /// The RDATA that has the octet at `at`, and where it begins.
    fn record_with(&self, at: usize) -> Option<(&[u8], usize)> {
        let mut start = FIRST_RDATA_AT;
        for rdata in self.fragment.records() {
            if (start..start + rdata.len()).contains(&at) {
                return Some((rdata, start));
            }
            start += rdata.len() + RECORD_HEAD_OCTETS;
        }
        None
    }
}
