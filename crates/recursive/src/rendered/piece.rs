//! The octets of a piece: how an answer that is kept is laid down. The layout is in the head of `rendered`.

use super::{NO_EDE, SECURE, Wanted};
use crate::answer::Parts;
use crate::verdict::Verdict;
use crate::writer::Marks;
use cache::Security;
use wire::Name;
use wire::header::u16_at;
use wire::iana::rtype;
use wire::record::RecordView;

/// Most octets of a piece: four answers of UDP's size. Who asks over TCP for long ones only would otherwise empty the ring.
pub(super) const PIECE_OCTETS_MAX: usize = 4096;
/// Octets of a record whose owner is a pointer, its RDATA apart.
const POINTED_OCTETS: usize = 12;

/// What is written at the begin of a piece.
pub(super) struct Fixed<'f> {
    pub verdict: &'f Verdict,
    pub parts: &'f Parts,
    pub counts: [u16; 3],
    pub stamps: usize,
}

/// Writes a piece; `None` where it has no room, or is none that can be kept. Returns its octets.
pub(super) fn write(
    (name, wanted): (&Name, &Wanted),
    fixed: &Fixed<'_>,
    marks: &Marks,
    (message, start): (&[u8], usize),
    room: &mut [u8; PIECE_OCTETS_MAX],
) -> Option<usize> {
    let sets = marks.sets()?;
    let records = message.get(start..)?;
    let turned = turned(marks, message, start)?;
    let mut out = Room { octets: room, at: 0 };
    let name = name.octets();
    let secure = if fixed.parts.security == Security::Secure { SECURE } else { 0 };
    out.put(&[name.len() as u8, wanted.wishes | secure])?;
    out.put(&wanted.qtype.to_le_bytes())?;
    out.put(&(fixed.verdict.flags | fixed.verdict.rcode).to_le_bytes())?;
    for count in fixed.counts {
        out.put(&count.to_le_bytes())?;
    }
    for ede in fixed.verdict.edes {
        out.put(&ede.unwrap_or(NO_EDE).to_le_bytes())?;
    }
    out.put(&fixed.parts.until.0.to_le_bytes())?;
    out.put(&fixed.parts.due.0.to_le_bytes())?;
    out.put(&(records.len() as u16).to_le_bytes())?;
    out.put(&[sets.len() as u8, fixed.stamps as u8])?;
    for number in turned {
        out.put(&number.to_le_bytes())?;
    }
    out.put(name)?;
    let mut at = start;
    for set in sets {
        let mut count = 0_u16;
        at = each_ttl(message, (at, set.end.into()), |_| {
            count += 1;
            Some(())
        })?;
        out.put(&set.expires.0.to_le_bytes())?;
        out.put(&count.to_le_bytes())?;
    }
    // What is in no set that was noted cannot be counted down.
    if at != message.len() {
        return None;
    }
    let mut at = start;
    for set in sets {
        let end = set.end.into();
        at = each_ttl(message, (at, end), |place| out.put(&((place - start) as u16).to_le_bytes()))?;
    }
    out.put(records)?;
    Some(out.at)
}

/// Octets being written from the front.
struct Room<'r> {
    octets: &'r mut [u8],
    at: usize,
}

impl Room<'_> {
    fn put(&mut self, octets: &[u8]) -> Option<()> {
        let end = self.at + octets.len();
        self.octets.get_mut(self.at..end)?.copy_from_slice(octets);
        self.at = end;
        Some(())
    }
}

/// Tells where the TTL of each record from `at` to `end` stands; `None` where there are no whole records. Returns `end`.
fn each_ttl(
    message: &[u8],
    (mut at, end): (usize, usize),
    mut tell: impl FnMut(usize) -> Option<()>,
) -> Option<usize> {
    while at < end {
        let record = RecordView::read(message, at)?;
        // TTL, RDLENGTH, RDATA.
        tell(record.rdata_at - 6)?;
        at = record.end();
    }
    (at == end).then_some(end)
}

/// Where the set that turns begins, octets of each record, how many, and which is the first. `None`: it turns, and cannot be turned by copying: only addresses whose
/// owners are pointers are alike in any order. Other sets keep the order in which they were.
fn turned(marks: &Marks, message: &[u8], start: usize) -> Option<[u16; 4]> {
    let Some(turn) = marks.turn else { return Some([0; 4]) };
    if marks.turns_many {
        return None;
    }
    let (begin, end) = (usize::from(turn.span.0), usize::from(turn.span.1));
    let each = (end - begin) / usize::from(turn.count);
    let fixed = message.get(begin..begin + 4)?;
    let is_pointed = fixed[0] >= 0xc0;
    match u16_at(fixed, 2) {
        rtype::A if is_pointed && each == POINTED_OCTETS + 4 => {}
        rtype::AAAA if is_pointed && each == POINTED_OCTETS + 16 => {}
        rtype::A | rtype::AAAA => return None,
        _ => return Some([0; 4]),
    }
    Some([(begin - start) as u16, each as u16, turn.count, turn.first])
}
