//! RRsets to the sections of a response: whole or not at all (RFC 2181 9), each time beginning with another record, with signatures or without.
//!
//! The records of a set stand together, so where each set ends and when it expires is all that is noted for whoever keeps the octets:
//!
//! ```text
//! question | set: record record RRSIG | set: record | ...        marks: (end of the set, moment at which it expires), ...
//! ```

use crate::wishes::Wishes;
use cache::Moment;
use wire::Name;
use wire::builder::{Builder, Case, Mark, Suffixes};
use wire::edns::ResponseOpt;
use wire::header::HEADER_OCTETS;
use wire::iana::{class, rtype};
use wire::render::{Full, Renderer, Section};
use wire::rrset::{RdataList, Rrset, RrsetList};

/// Most sets that are noted: an alias chain and what ends it. An answer with more is not kept.
pub(crate) const MARKS_MAX: usize = 16;

/// A set that was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SetMark {
    /// Where what follows it begins.
    pub end: u16,
    /// When it expires.
    pub expires: Moment,
}

/// Records that are given in another order each time: the last set of more than one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Where the first begins, and the last ends.
    pub span: (u16, u16),
    /// How many.
    pub count: u16,
    /// Which of those of the set is the first.
    pub first: u16,
}

/// What was noted of the sets written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    sets: [SetMark; MARKS_MAX],
    count: usize,
    /// Of sets that turn.
    pub turn: Option<Turn>,
    /// More than one set turns.
    pub turns_many: bool,
}

impl Marks {
    /// The sets in their order; `None` where there were too many.
    pub(crate) fn sets(&self) -> Option<&[SetMark]> {
        self.sets.get(..self.count)
    }

    fn push(&mut self, mark: SetMark) {
        if let Some(to) = self.sets.get_mut(self.count) {
            *to = mark;
        }
        self.count = self.count.saturating_add(1);
    }
}

/// A response being written; see the module.
pub(crate) struct Writer<'b> {
    out: Builder<'b>,
    marks: &'b mut Marks,
    dnssec_ok: bool,
    qtype: u16,
    now: Moment,
    /// Which record of a set comes first, counted on and on; 0: the first.
    turn: u32,
    is_truncated: bool,
    has_question: bool,
    /// Where the records begin.
    start: usize,
}

/// For how long a set is good: what is left of a TTL from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lasts {
    /// Seconds, as they are said.
    pub ttl: u32,
    /// When they are over.
    pub until: Moment,
}

impl Lasts {
    /// `ttl` seconds from `stored` on.
    #[inline(always)]
    pub(crate) fn from(stored: Moment, ttl: u32, now: Moment) -> Lasts {
        let until = stored.plus_seconds(ttl);
        Lasts { ttl: seconds_left(until, now), until }
    }
}

/// Seconds from `now` to `until`, rounded up, as the cache counts them.
#[inline(always)]
pub(crate) fn seconds_left(until: Moment, now: Moment) -> u32 {
    u32::try_from(until.ms_since(now).div_ceil(1000)).unwrap_or(u32::MAX)
}

impl<'b> Writer<'b> {
    /// Begins a response: header and question. `question`: the name as the client wrote it; `None`: the query has none. `turn`: see the module.
    /// `None` where not even that and OPT have room.
    pub(crate) fn new(
        room: &'b mut [u8],
        (suffixes, marks): (&'b mut Suffixes, &'b mut Marks),
        (wishes, question): (&Wishes, Option<(&Name, u16)>),
        opt: Option<ResponseOpt<'_>>,
        (now, turn): (Moment, u32),
    ) -> Option<Writer<'b>> {
        let reserve = opt.as_ref().map_or(0, ResponseOpt::octets);
        let limit = usize::from(wishes.octets_max);
        let mut out = Builder::new(room, (limit, reserve), suffixes, Case::Ignored, wishes.id)?;
        if let Some((name, class)) = question {
            out.question(name, wishes.qtype, class).ok()?;
        }
        let start = out.message().len();
        (marks.count, marks.turn, marks.turns_many) = (0, None, false);
        Some(Writer {
            out,
            marks,
            dnssec_ok: wishes.dnssec_ok,
            qtype: wishes.qtype,
            now,
            turn,
            is_truncated: false,
            has_question: question.is_some(),
            start,
        })
    }

    /// Says where the next sets go.
    pub(crate) fn begin_section(&mut self, section: Section) {
        self.out.begin_section(section);
    }

    /// Whether something did not fit: nothing is written after that.
    pub(crate) fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// Whether the question stands in the response.
    pub(crate) fn has_question(&self) -> bool {
        self.has_question
    }

    /// Whether sets of a type are for this client where they are not what was asked for.
    fn shows(&self, rtype: u16) -> bool {
        self.dnssec_ok || rtype == self.qtype || !matches!(rtype, rtype::RRSIG | rtype::NSEC | rtype::NSEC3)
    }

    /// Writes a set, or truncates the response. Sets of proofs are passed over where they are not for this client.
    pub(crate) fn set(
        &mut self,
        owner: &Name,
        rtype: u16,
        lasts: Lasts,
        lists: (RdataList<'_>, RdataList<'_>),
    ) {
        self.records(owner, rtype, lasts, lists.0.count(), |at| lists.0.iter().nth(at), lists.1);
    }

    /// Writes a set of `count` records, that with number `n` being what `record` says, or nothing.
    pub(crate) fn records<'r>(
        &mut self,
        owner: &Name,
        rtype: u16,
        lasts: Lasts,
        count: usize,
        record: impl Fn(usize) -> Option<&'r [u8]>,
        signatures: RdataList<'_>,
    ) {
        if self.is_truncated || count == 0 || !self.shows(rtype) {
            return;
        }
        let mark = self.out.mark();
        if self.try_records(owner, rtype, lasts, count, record, signatures).is_err() {
            self.out.rollback(mark);
            self.is_truncated = true;
        }
    }

    fn try_records<'r>(
        &mut self,
        owner: &Name,
        rtype: u16,
        lasts: Lasts,
        count: usize,
        record: impl Fn(usize) -> Option<&'r [u8]>,
        signatures: RdataList<'_>,
    ) -> Result<(), Full> {
        let begin = self.out.message().len();
        let first = self.turn as usize % count;
        // Where the owner stands, from the second record on at least.
        let mut place = self.is_question(owner).then_some(HEADER_OCTETS as u16);
        for at in (first..count).chain(0..first) {
            let Some(rdata) = record(at) else { continue };
            self.record(owner, &mut place, (rtype, lasts.ttl), rdata)?;
        }
        if count > 1 {
            let span = (begin as u16, self.out.message().len() as u16);
            self.marks.turns_many |= self.marks.turn.is_some();
            self.marks.turn = Some(Turn { span, count: count as u16, first: first as u16 });
        }
        if self.dnssec_ok {
            for signature in signatures {
                self.record(owner, &mut place, (rtype::RRSIG, lasts.ttl), signature)?;
            }
        }
        self.marks.push(SetMark { end: self.out.message().len() as u16, expires: lasts.until });
        Ok(())
    }

    /// Writes a record; `place`: where its owner stands, if it was written before.
    fn record(
        &mut self,
        owner: &Name,
        place: &mut Option<u16>,
        (rtype, ttl): (u16, u32),
        rdata: &[u8],
    ) -> Result<(), Full> {
        let head = (rtype, class::IN, ttl);
        match *place {
            Some(place) => self.out.record_at(place, head, rdata),
            None => {
                let begin = self.out.message().len();
                self.out.record(owner, head, rdata)?;
                *place = self.out.owner_at(begin);
                Ok(())
            }
        }
    }

    /// Whether a name is the one that was asked for, which most answers begin with.
    fn is_question(&self, owner: &Name) -> bool {
        // Type and class follow it.
        let end = self.start - 4;
        self.has_question
            && !owner.is_root()
            && self.out.message()[HEADER_OCTETS..end].eq_ignore_ascii_case(owner.octets())
    }

    /// Writes sets that stand beside an entry of `ttl` seconds from `stored` on: none lasts longer than that.
    pub(crate) fn sets(&mut self, sets: RrsetList<'_>, stored: Moment, ttl: u32) {
        for set in sets {
            let lasts = Lasts::from(stored, ttl.min(set.ttl), self.now);
            self.rrset(&set, lasts);
        }
    }

    /// Writes a set.
    pub(crate) fn rrset(&mut self, set: &Rrset<'_>, lasts: Lasts) {
        self.set(set.owner, set.rtype, lasts, (set.rdatas, set.signatures));
    }

    /// What was written so far, where the records begin in it, how many each section has, and what was noted of the sets.
    pub(crate) fn written(&self) -> (&[u8], usize, [u16; 3], &Marks) {
        let counts = [Section::Answer, Section::Authority, Section::Additional];
        (self.out.message(), self.start, counts.map(|section| self.out.count(section)), self.marks)
    }

    /// Takes back what was written since a mark; what was noted of it is of no use any more.
    pub(crate) fn back_to(&mut self, mark: Mark) {
        self.out.rollback(mark);
        self.is_truncated = false;
        self.marks.count = usize::MAX;
    }

    /// A point for [`Writer::back_to`].
    pub(crate) fn mark(&self) -> Mark {
        self.out.mark()
    }

    /// Ends the sections: what is left is OPT and the header.
    pub(crate) fn release(self) -> Renderer<'b> {
        self.out.release()
    }
}
