//! The fields of one entry, taken from left to right.

use crate::error::{Cause, Fault, Found};
use crate::token::QUOTED;

/// One field: where it stands in the window, without quotes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'w> {
    pub text: &'w [u8],
    pub start: usize,
    pub quoted: bool,
}

impl Field<'_> {
    /// The text as a number, its first octet lowest, for quick comparison: `None` when it is longer than
    /// eight octets. `octets` is the window it stands in.
    #[inline]
    pub fn word(&self, octets: &[u8]) -> Option<u64> {
        let length = self.text.len();
        if length == 0 || length > 8 {
            return None;
        }
        let word = u64::from_le_bytes(*octets.get(self.start..)?.first_chunk()?);
        Some(word & u64::MAX >> (64 - 8 * length))
    }

    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// A problem with the whole field.
    #[cold]
    pub fn fault(&self, cause: Cause) -> Fault {
        Fault::at(self.start, self.end(), cause)
    }
}

/// The text of the type among the fields after an owner: the first that is neither TTL nor class.
pub(crate) fn type_of<'t>(mut fields: impl Iterator<Item = &'t [u8]>) -> Option<&'t [u8]> {
    fields.find(|text| {
        let is_class = text.eq_ignore_ascii_case(b"IN") || text.eq_ignore_ascii_case(b"CLASS1");
        !is_class && !text.first().is_some_and(u8::is_ascii_digit)
    })
}

/// What [`Field::word`] gives for this text, at most eight octets.
pub(crate) const fn word(text: &[u8]) -> u64 {
    let mut word = 0;
    let mut at = text.len();
    while at > 0 {
        at -= 1;
        word = word << 8 | text[at] as u64;
    }
    word
}

/// What is left of an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'w> {
    /// The whole window, for loads beyond a field's end.
    pub octets: &'w [u8],
    edges: &'w [u32],
    /// The first octet of the entry.
    start: usize,
    /// One past the newline of the entry.
    end: usize,
    /// Whether fields may hold backslashes: not in a plain entry.
    pub may_escape: bool,
}

impl<'w> Fields<'w> {
    /// The fields that `edges` lists of the plain entry at `start..end`, its newline included.
    #[inline]
    pub fn plain(octets: &'w [u8], edges: &'w [u32], start: usize, end: usize) -> Fields<'w> {
        Fields { octets, edges, start, end, may_escape: false }
    }

    /// The same for any entry.
    pub fn new(octets: &'w [u8], edges: &'w [u32], start: usize, end: usize) -> Fields<'w> {
        let may_escape = octets[start..end].contains(&b'\\');
        Fields { octets, edges, start, end, may_escape }
    }

    /// Where the entry begins.
    pub fn entry_start(&self) -> usize {
        self.start
    }

    pub fn is_empty(&self) -> bool {
        self.edges.len() < 2
    }

    /// The next field, left in place.
    #[inline]
    pub fn peek(&self) -> Option<Field<'w>> {
        let &[start, end, ..] = self.edges else { return None };
        let quoted = start & QUOTED != 0;
        let start = (start & !QUOTED) as usize;
        Some(Field { text: &self.octets[start..end as usize], start, quoted })
    }

    /// Drops the next field, if there is one.
    #[inline]
    pub fn skip(&mut self) {
        self.edges = self.edges.get(2..).unwrap_or(&[]);
    }

    /// Takes the next field, which the entry must have; `what` it would be.
    #[inline]
    pub fn take(&mut self, what: &'static str) -> Result<Field<'w>, Fault> {
        let Some(field) = self.peek() else { return Err(self.missing(what)) };
        self.skip();
        Ok(field)
    }

    /// Takes the next field, if any.
    #[inline]
    pub fn take_any(&mut self) -> Option<Field<'w>> {
        let field = self.peek()?;
        self.skip();
        Some(field)
    }

    /// A field that should be there and is not.
    #[cold]
    pub fn missing(&self, what: &'static str) -> Fault {
        Fault::saying(self.end_at(), Cause::Missing(what), Found::EndOfEntry)
    }

    /// Where the entry ends: its newline.
    pub fn end_at(&self) -> usize {
        self.end.saturating_sub(1)
    }

    /// Whether several of the fields that are left stand without quotes.
    pub fn are_bare_words(&self) -> bool {
        self.edges.iter().step_by(2).filter(|&&start| start & QUOTED == 0).nth(1).is_some()
    }

    /// Requires that no field is left.
    #[inline]
    pub fn finish(&self) -> Result<(), Fault> {
        match self.peek() {
            None => Ok(()),
            Some(field) => Err(field.fault(Cause::End)),
        }
    }
}
