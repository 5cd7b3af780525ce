//! Answers given again as they were kept.

use super::Responder;
use crate::policy::Policy;
use crate::rendered::{Wanted, header_of};
use cache::{Cache, Moment};
use wire::edns::ResponseOpt;
use wire::header::HEADER_OCTETS;
use wire::iana::class;

impl Responder {
    /// Gives an answer again, if there is one that holds and has room.
    #[inline(always)]
    pub(super) fn repeat(
        &mut self,
        wanted: &Wanted,
        (policy, cache): (&Policy, &Cache),
        (now, turn): (Moment, u32),
        room: &mut [u8],
    ) -> Option<usize> {
        let name = self.question.name().octets();
        let start = HEADER_OCTETS + name.len() + 4;
        let opt = self.wishes.opt(policy);
        let opt_octets = opt.as_ref().map_or(0, ResponseOpt::octets);
        let limit = usize::from(self.wishes.octets_max).min(room.len());
        let left = limit.checked_sub(start + opt_octets)?;
        let key = (self.missed.name(), wanted);
        let pasted = self.rendered.paste(key, (cache, now, turn), (start, left), room)?;
        let mut end = pasted.end;
        if let Some(mut opt) = opt {
            opt.rcode = pasted.verdict.rcode;
            [opt.ede, opt.ede_beside] = pasted.verdict.edes;
            let octets = opt.octets();
            if end + octets > limit {
                // Which errors are left out is for the longer way to say.
                return None;
            }
            opt.write_to(&mut room[end..end + octets]);
            end += octets;
        }
        header_of(&pasted, &self.wishes, self.wishes.has_edns, room)?;
        let [i, d] = self.wishes.id.to_be_bytes();
        let ([t, y], [c, l]) = (self.wishes.qtype.to_be_bytes(), class::IN.to_be_bytes());
        room[..2].copy_from_slice(&[i, d]);
        room[HEADER_OCTETS..start - 4].copy_from_slice(name);
        room[start - 4..start].copy_from_slice(&[t, y, c, l]);
        self.is_due = pasted.is_due && self.dues.is_said(wanted.hash(), now);
        let words = self.counters.words();
        words.rendered.add(1);
        words.secure.add(u64::from(pasted.is_secure));
        words.response(pasted.verdict.rcode);
        Some(end)
    }
}
