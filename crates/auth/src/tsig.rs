//! Signed queries (RFC 8945). No keys are known here, so each gets the answer to an unknown key: NOTAUTH, with a TSIG record
//! without signature that says BADKEY (RFC 8945 5.2.1, 5.3.2).

use crate::answer::Buffers;
use wire::Places;
use wire::iana::{class, rcode, rtype};
use wire::query::Query;
use wire::record::RecordView;
use wire::render::{Full, Renderer};

/// Time signed (48 bits) and fudge.
const TIMES_OCTETS: usize = 8;

/// What of a query's TSIG record goes back.
struct Parts<'q> {
    times: &'q [u8],
    original_id: &'q [u8],
}

/// Whether a TSIG record has the shape of RFC 8945 4.2.
pub(crate) fn is_whole(message: &[u8], record: &RecordView<'_>, places: &mut Places) -> bool {
    places.follow(message, record.owner).is_ok() && parts(message, record, places).is_some()
}

/// Reads the RDATA; the algorithm's name is left in `places`.
fn parts<'q>(message: &'q [u8], record: &RecordView<'q>, places: &mut Places) -> Option<Parts<'q>> {
    let end = places.follow(message, record.rdata_at).ok()?;
    let rest = record.rdata.get(end - record.rdata_at..)?;
    let (times, rest) = rest.split_at_checked(TIMES_OCTETS)?;
    let (&size, rest) = rest.split_first_chunk::<2>()?;
    let (_mac, rest) = rest.split_at_checked(u16::from_be_bytes(size) as usize)?;
    let (original_id, rest) = rest.split_at_checked(2)?;
    let (_error, rest) = rest.split_at_checked(2)?;
    let (&size, rest) = rest.split_first_chunk::<2>()?;
    (rest.len() == u16::from_be_bytes(size) as usize).then_some(Parts { times, original_id })
}

/// Appends the TSIG record of the refusal; left out where it does not fit beside the question.
#[cold]
pub(crate) fn refuse(
    query: &Query<'_>,
    record: &RecordView<'_>,
    buffers: &mut Buffers,
    out: &mut Renderer<'_>,
) {
    let mark = out.mark();
    if put(query, record, buffers, out).is_err() {
        out.rollback(mark);
    }
}

fn put(
    query: &Query<'_>,
    record: &RecordView<'_>,
    buffers: &mut Buffers,
    out: &mut Renderer<'_>,
) -> Result<(), Full> {
    let places = &mut buffers.other_places;
    places.follow(query.message, record.owner).map_err(|_| Full)?;
    let key = places.copy_ancestor(query.message, places.label_count(), &mut buffers.name);
    out.octets(key.octets())?;
    let parts = parts(query.message, record, places).ok_or(Full)?;
    let algorithm = places.copy_ancestor(query.message, places.label_count(), &mut buffers.name);
    let [t, y] = rtype::TSIG.to_be_bytes();
    let [c, l] = class::ANY.to_be_bytes();
    let length = (algorithm.octets().len() + TIMES_OCTETS + 8) as u16;
    out.octets(&[t, y, c, l, 0, 0, 0, 0])?;
    out.octets(&length.to_be_bytes())?;
    out.octets(algorithm.octets())?;
    out.octets(parts.times)?;
    out.octets(&[0, 0])?;
    out.octets(parts.original_id)?;
    out.octets(&rcode::BADKEY.to_be_bytes())?;
    out.octets(&[0, 0])?;
    out.count_one();
    Ok(())
}
