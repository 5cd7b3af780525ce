//! The walk over the fields of RDATA, from name to name.

use super::{Field, NameUse, has_names, layout};
use crate::header::u16_at;
use crate::record::skip;

/// RDATA leaves the form of its type at this offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadRdata(pub usize);

/// A name in RDATA, as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameField {
    /// Offset of its first octet, counted as the walk was given its octets.
    pub at: usize,
    /// Offset of what follows it in its own place.
    pub end: usize,
    /// Whether its last two octets are a compression pointer.
    pub has_pointer: bool,
    /// What is done with it.
    pub uses: NameUse,
}

/// The names of one RDATA, from left to right, and last whether the rest has the form of the type too: its fields whole and
/// nothing after them. What stands in other fields than names is not looked at.
///
/// A pointer is not followed; what it points at is not checked here.
#[derive(Clone, Debug)]
pub struct Names<'o> {
    octets: &'o [u8],
    walk: Walk,
}

impl<'o> Names<'o> {
    /// Of RDATA without compression, offsets counted from its begin.
    #[inline]
    pub fn of(rtype: u16, rdata: &'o [u8]) -> Names<'o> {
        Names { octets: rdata, walk: Walk::new(rtype, 0, rdata.len(), false) }
    }

    /// Of the RDATA at `at..end` of a message, offsets counted from the begin of the message. `end` is at most its length.
    #[inline]
    pub fn in_message(rtype: u16, message: &'o [u8], at: usize, end: usize) -> Names<'o> {
        Names { octets: message, walk: Walk::new(rtype, at, end.min(message.len()), true) }
    }
}

impl Iterator for Names<'_> {
    type Item = Result<NameField, BadRdata>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.walk.next(self.octets)
    }
}

/// See [`super::fold`].
pub(super) fn fold(rtype: u16, rdata: &mut [u8]) {
    let mut walk = Walk::new(rtype, 0, rdata.len(), false);
    while let Some(Ok(name)) = walk.next(rdata) {
        if name.uses.fold {
            // Length octets of labels are below any letter, so folding leaves them alone.
            rdata[name.at..name.end].make_ascii_lowercase();
        }
    }
}

/// Where a walk is. The octets are given at each step, so that they can be changed between two.
#[derive(Clone, Debug)]
struct Walk {
    fields: &'static [Field],
    start: usize,
    at: usize,
    end: usize,
    may_expand: bool,
}

impl Walk {
    #[inline]
    fn new(rtype: u16, start: usize, end: usize, may_expand: bool) -> Walk {
        if !has_names(rtype) {
            return Walk { fields: &[], start: end, at: end, end, may_expand };
        }
        Walk { fields: layout(rtype), start, at: start, end, may_expand }
    }

    fn next(&mut self, octets: &[u8]) -> Option<Result<NameField, BadRdata>> {
        // A pointer may lead out of the RDATA, but nothing of a name stands beyond it.
        let octets = octets.get(..self.end)?;
        while let Some((&field, later)) = self.fields.split_first() {
            let at = self.at;
            let is_list = matches!(field, Field::Names(_));
            if is_list && at == self.end {
                self.fields = later;
                continue;
            }
            // A list of names goes on until the RDATA ends.
            if !is_list {
                self.fields = later;
            }
            let step = match field {
                Field::Name(uses) | Field::Names(uses) => self.name(octets, at, uses),
                field => self.other(octets, field),
            };
            match step {
                Some(Step::Name(name)) => {
                    self.at = name.end;
                    return Some(Ok(name));
                }
                Some(Step::To(end)) if end <= self.end => self.at = end,
                _ => return Some(Err(self.bad(at))),
            }
        }
        if self.at == self.end { None } else { Some(Err(self.bad(self.at))) }
    }

    /// Ends the walk.
    fn bad(&mut self, at: usize) -> BadRdata {
        (self.fields, self.at) = (&[], self.end);
        BadRdata(at)
    }

    /// A field that is no name, or may be one. `None` where it is cut off.
    fn other(&self, octets: &[u8], field: Field) -> Option<Step> {
        let at = self.at;
        let octet = |at: usize| octets.get(at).map(|&octet| usize::from(octet));
        Some(Step::To(match field {
            Field::Octets(count) => at + usize::from(count),
            Field::CharacterStringOptional if at == self.end => at,
            Field::CharacterString | Field::CharacterStringOptional => at + 1 + octet(at)?,
            Field::Sized16 => at + 2 + usize::from(u16_at(octets.get(..at + 2)?, at)),
            Field::A6 => {
                let prefix = octet(at)?;
                let name = at + 1 + 128usize.checked_sub(prefix)?.div_ceil(8);
                if prefix == 0 { name } else { return self.name(octets, name, NameUse::FOLDED) }
            }
            Field::Gateway => return self.gateway(octets, octet(self.start + 1)?, at),
            Field::Relay => return self.gateway(octets, octet(at)? & 0x7f, at + 1),
            Field::Host => {
                let (tag, key) = (octet(at)?, u16_at(octets.get(..at + 4)?, at + 2));
                at + 4 + tag + usize::from(key)
            }
            // What stands in them is the concern of the check of zone data.
            Field::Rest
            | Field::CharacterStrings
            | Field::Bitmap
            | Field::Prefixes
            | Field::Parameters
            | Field::Name(_)
            | Field::Names(_) => self.end,
        }))
    }

    /// Nothing, an address or a name.
    fn gateway(&self, octets: &[u8], form: usize, at: usize) -> Option<Step> {
        match form {
            0 => Some(Step::To(at)),
            1 => Some(Step::To(at + 4)),
            2 => Some(Step::To(at + 16)),
            3 => self.name(octets, at, NameUse::PLAIN),
            _ => None,
        }
    }

    fn name(&self, octets: &[u8], at: usize, uses: NameUse) -> Option<Step> {
        let (end, has_pointer) = skip(octets, at)?;
        (!has_pointer || (uses.expand && self.may_expand)).then_some(Step::Name(NameField {
            at,
            end,
            has_pointer,
            uses,
        }))
    }
}

enum Step {
    Name(NameField),
    /// The next field begins here, if that is not beyond the end.
    To(usize),
}
