//! One message of a transfer while it is written: owners are pointed at as far as they have something in common with the one before, RDATA is copied.

use super::{Broken, LARGE_OCTETS, MESSAGE_OCTETS};
use wire::Name;
use wire::header::HEADER_OCTETS;
use wire::iana::class;
use wire::name::{LABELS_MAX, NAME_OCTETS_MAX};
use wire::render::{Full, POINTER_MAX, Renderer, Section};
use zone::fragment::{Fragment, REACH_MAX, TO_APEX, TO_OWNER};
use zone::{Data, RRset};

/// Why nothing more is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// There is no room for what comes next, of which nothing is there.
    Full,
    Broken(Broken),
}

impl From<Full> for Stop {
    fn from(_: Full) -> Stop {
        Stop::Full
    }
}

/// No place of a message.
const NOWHERE: u16 = u16::MAX;

/// A message that is written.
pub(super) struct Page<'r, 'a> {
    out: Renderer<'r>,
    apex: &'a Name,
    /// Where the apex stands; [`NOWHERE`] before it does.
    apex_at: u16,
    before: OwnerBefore,
}

/// The owner before, above which nothing is remembered: in the order of a zone it has nearly all that the next one can share.
struct OwnerBefore {
    /// Its labels above the apex.
    labels: [u8; NAME_OCTETS_MAX],
    /// Where each begins there, that of the name's own first.
    starts: Starts,
    count: usize,
    /// Where its ancestor of so many labels stands in the message, counted from the apex, which is 0 and stands elsewhere.
    places: [u16; LABELS_MAX + 1],
}

type Starts = [u8; LABELS_MAX + 1];

impl<'r, 'a> Page<'r, 'a> {
    /// A message that has its question, `question`, and nothing else.
    pub(super) fn new(out: Renderer<'r>, apex: &'a Name, question: &[u8]) -> Page<'r, 'a> {
        // In other case it is not the name that the zone has.
        let is_apex = question.get(..apex.octets().len()) == Some(apex.octets()) && !apex.is_root();
        let before = OwnerBefore {
            labels: [0; NAME_OCTETS_MAX],
            starts: [0; LABELS_MAX + 1],
            count: 0,
            places: [NOWHERE; LABELS_MAX + 1],
        };
        Page { out, apex, apex_at: if is_apex { HEADER_OCTETS as u16 } else { NOWHERE }, before }
    }

    /// Whether it has no records.
    pub(super) fn is_empty(&self) -> bool {
        self.records() == 0
    }

    /// Whether it has room for more than pointers reach.
    pub(super) fn is_large(&self) -> bool {
        self.out.limit() > MESSAGE_OCTETS
    }

    /// How many records it has.
    pub(super) fn records(&self) -> u16 {
        self.out.count(Section::Answer)
    }

    pub(super) fn into_inner(self) -> Renderer<'r> {
        self.out
    }

    /// Writes an RRset of the owner with these labels above the apex, with its signatures if `with_signatures`; all or nothing.
    #[inline]
    pub(super) fn rrset(
        &mut self,
        labels: &[u8],
        rrset: &RRset<'_>,
        with_signatures: bool,
    ) -> Result<(), Stop> {
        let mark = self.out.mark();
        let result = self.put_rrset(labels, rrset, with_signatures);
        if result.is_err() {
            self.out.rollback(mark);
            self.forget();
        }
        result
    }

    #[inline]
    fn put_rrset(&mut self, labels: &[u8], rrset: &RRset<'_>, with_signatures: bool) -> Result<(), Stop> {
        let owner = self.owner(labels)?;
        let head = rrset.head();
        let fragment = match rrset.data() {
            Data::Inline(rdata) => return Ok(self.out.body(head, rdata)?),
            Data::Fragment(fragment) => fragment,
        };
        if fragment.apex_follows() {
            return self.put_with_apex(owner, head, &fragment, with_signatures);
        }
        let base = self.out.at();
        let out = &mut self.out;
        // Whatever points into it must be reached.
        if base + fragment.rendered_octets() > usize::from(POINTER_MAX) {
            return Err(Stop::Full);
        }
        let mut records = fragment.records();
        out.body(head, records.next().ok_or(Stop::Broken(Broken::Damaged))?)?;
        for rdata in &mut records {
            out.record(owner, head, rdata)?;
        }
        for place in fragment.places() {
            let at = base + place;
            if at + 2 > out.at() {
                return Err(Stop::Broken(Broken::Damaged));
            }
            let target = match out.u16_at(at) {
                TO_OWNER => owner,
                TO_APEX if self.apex_at != NOWHERE => self.apex_at,
                inner if usize::from(inner) < place && usize::from(inner) <= REACH_MAX => base as u16 + inner,
                _ => return Err(Stop::Broken(Broken::Damaged)),
            };
            out.set_pointer(at, target);
        }
        if with_signatures && fragment.is_signed() {
            for rdata in records.signatures() {
                out.pointer(owner)?;
                out.signature(head, rdata)?;
            }
        }
        Ok(())
    }

    /// The same after the first owner, where the apex follows the RDATA.
    #[cold]
    fn put_with_apex(
        &mut self,
        owner: u16,
        head: [u8; 8],
        fragment: &Fragment<'_>,
        with_signatures: bool,
    ) -> Result<(), Stop> {
        let out = &mut self.out;
        let mut records = fragment.records();
        if records.clone().next().is_none() {
            return Err(Stop::Broken(Broken::Damaged));
        }
        for (number, rdata) in records.by_ref().enumerate() {
            if number > 0 {
                out.pointer(owner)?;
            }
            out.body_of(head, [rdata, self.apex.octets()])?;
        }
        if with_signatures && fragment.is_signed() {
            for rdata in records.signatures() {
                out.pointer(owner)?;
                out.signature(head, rdata)?;
            }
        }
        Ok(())
    }

    /// Writes one record whose RDATA has its names in full; all or nothing.
    pub(super) fn record(&mut self, labels: &[u8], rtype: u16, ttl: u32, rdata: &[u8]) -> Result<(), Stop> {
        let mark = self.out.mark();
        let result = self.owner(labels).and_then(|_| Ok(self.out.body(head_of(rtype, ttl), rdata)?));
        if result.is_err() {
            self.out.rollback(mark);
            self.forget();
        }
        result
    }

    /// The same for an owner with its whole name, which may be in other case than the apex, or elsewhere.
    pub(super) fn record_of(&mut self, owner: &Name, rtype: u16, ttl: u32, rdata: &[u8]) -> Result<(), Stop> {
        if let Some(labels) = owner.octets().strip_suffix(self.apex.octets())
            && owner.is_at_or_below(self.apex)
        {
            return self.record(labels, rtype, ttl, rdata);
        }
        let mark = self.out.mark();
        let result = self.out.octets(owner.octets()).and_then(|()| self.out.body(head_of(rtype, ttl), rdata));
        if result.is_err() {
            self.out.rollback(mark);
        }
        Ok(result?)
    }

    /// Writes an owner name, and says where it stands.
    #[inline]
    fn owner(&mut self, labels: &[u8]) -> Result<u16, Stop> {
        let mut starts: Starts = [0; LABELS_MAX + 1];
        let count = starts_of(labels, &mut starts).ok_or(Stop::Broken(Broken::Damaged))?;
        let before = &mut self.before;
        let mut shared = 0;
        while shared < count.min(before.count)
            && is_same(
                label(labels, &starts, count - 1 - shared),
                label(&before.labels, &before.starts, before.count - 1 - shared),
            )
            && before.places[shared + 1] <= POINTER_MAX
        {
            shared += 1;
        }
        let own = match count - shared {
            0 => 0,
            _ if shared == 0 => labels.len(),
            own => usize::from(starts[own]),
        };
        let at = self.out.at();
        let out = &mut self.out;
        out.octets(&labels[..own])?;
        let ancestor = if shared == 0 { self.apex_at } else { before.places[shared] };
        let mut apex_at = self.apex_at;
        if ancestor <= POINTER_MAX {
            out.pointer(ancestor)?;
        } else {
            apex_at = out.at() as u16;
            out.octets(self.apex.octets())?;
        }
        // The root is one octet, which nothing is gained by pointing at; records after the first point at their owner all the same.
        if !self.apex.is_root() && self.apex_at > POINTER_MAX {
            self.apex_at = apex_at;
        }
        for more in shared..count {
            before.places[more + 1] = (at + usize::from(starts[count - 1 - more])) as u16;
        }
        if own > 0 || before.count != count {
            before.labels[..labels.len()].copy_from_slice(labels);
            (before.starts, before.count) = (starts, count);
        }
        let place = if count == 0 { apex_at } else { before.places[count] };
        // A message of one large RRset has its owner at its beginning.
        if place <= POINTER_MAX { Ok(place) } else { Err(Stop::Full) }
    }

    /// Forgets names that were taken back.
    fn forget(&mut self) {
        if usize::from(self.apex_at) >= self.out.at() {
            self.apex_at = NOWHERE;
        }
        self.before.count = 0;
    }
}

/// Where labels begin, and how many there are; `None` if they are none.
#[inline]
fn starts_of(labels: &[u8], starts: &mut Starts) -> Option<usize> {
    let (mut at, mut count) = (0, 0);
    while let Some(&length) = labels.get(at) {
        *starts.get_mut(count)? = at as u8;
        at += 1 + usize::from(length);
        count += 1;
    }
    (at == labels.len() && count <= LABELS_MAX).then_some(count)
}

#[inline]
fn label<'l>(labels: &'l [u8], starts: &Starts, number: usize) -> &'l [u8] {
    let start = usize::from(starts[number]);
    let length = usize::from(labels[start]);
    labels.get(start..=start + length).unwrap_or_default()
}

/// Whether two labels, with their lengths before them, are the same. Neighbours mostly have the same beginning: their ends tell at once.
#[inline]
fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.last() == b.last() && a == b
}

/// Type, class and TTL of a record.
fn head_of(rtype: u16, ttl: u32) -> [u8; 8] {
    let [a, b] = rtype.to_be_bytes();
    let [c, d] = class::IN.to_be_bytes();
    let [e, f, g, h] = ttl.to_be_bytes();
    [a, b, c, d, e, f, g, h]
}

const _: () = assert!(MESSAGE_OCTETS <= POINTER_MAX as usize + 1 && LARGE_OCTETS <= u16::MAX as usize);
