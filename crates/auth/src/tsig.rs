//! Signed queries (RFC 8945). No keys are known here, so each gets the answer to an unknown key: NOTAUTH, with a TSIG record
//! without signature that says BADKEY (RFC 8945 5.2.1, 5.3.2).

use wire::header::u16_at;
use wire::iana::rcode;
use wire::query::Query;
use wire::record::RecordView;
use wire::render::Renderer;
use wire::tsig::{RECORD_OCTETS_MAX, Signature};

/// Whether a TSIG record has the shape of RFC 8945 4.2 and ends the message.
pub(crate) fn is_whole(message: &[u8], record: &RecordView<'_>) -> bool {
    Signature::read(message, record).is_some()
}

/// Appends the TSIG record of the refusal; left out where it does not fit beside the question.
#[cold]
pub(crate) fn refuse(query: &Query<'_>, record: &RecordView<'_>, out: &mut Renderer<'_>) {
    let Some(signature) = Signature::read(query.message, record) else { return };
    let mut room = [0; RECORD_OCTETS_MAX];
    let record = signature.refusal(u16_at(query.message, 0), rcode::BADKEY, &mut room);
    if let Ok(to) = out.append(record.len(), 1) {
        to.copy_from_slice(record);
    }
}
