//! Numbers, texts and names of frames, and runs of items one behind the other. All that is read is borrowed.

use std::fmt;
use std::marker::PhantomData;

use wire::Name;

/// What of some octets is not read yet. Nothing is taken of what is too short.
#[derive(Clone, Copy)]
pub(super) struct Rest<'r>(pub(super) &'r [u8]);

impl<'r> Rest<'r> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'r [u8]> {
        let (first, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(first)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_be_bytes)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// An octet that is 0 or 1.
    pub(super) fn flag(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub(super) fn name(&mut self) -> Option<&'r Name> {
        let (name, rest) = Name::split_from(self.0).ok()?;
        self.0 = rest;
        Some(name)
    }

    /// Octets behind their number, u8.
    pub(super) fn short(&mut self) -> Option<&'r [u8]> {
        let count = self.u8()?;
        self.take(count.into())
    }

    /// The same as text, of so many octets at most.
    pub(super) fn short_text(&mut self, octets_max: usize) -> Option<&'r str> {
        let octets = self.short().filter(|octets| octets.len() <= octets_max)?;
        std::str::from_utf8(octets).ok()
    }

    /// Text behind the number of its octets, u16.
    pub(super) fn text(&mut self, octets_max: usize) -> Option<&'r str> {
        let count = usize::from(self.u16()?);
        let octets = self.take(count).filter(|octets| octets.len() <= octets_max)?;
        std::str::from_utf8(octets).ok()
    }

    /// What is there behind an octet of 1; of 0: nothing is.
    pub(super) fn any<T>(&mut self, read: impl FnOnce(&mut Rest<'r>) -> Option<T>) -> Option<Option<T>> {
        if self.flag()? { read(self).map(Some) } else { Some(None) }
    }
}

/// Writes an octet of 1 and what is there, or one of 0.
pub(super) fn put_any<T>(out: &mut Vec<u8>, value: Option<T>, write: impl FnOnce(&mut Vec<u8>, T)) {
    out.push(u8::from(value.is_some()));
    if let Some(value) = value {
        write(out, value);
    }
}

/// As many octets as their number has room for.
pub(super) fn put_short(out: &mut Vec<u8>, octets: &[u8]) {
    let octets = &octets[..octets.len().min(u8::MAX.into())];
    out.push(octets.len() as u8);
    out.extend_from_slice(octets);
}

/// As much of a text as there is room for in so many octets, behind their number, u8.
pub(super) fn put_short_text(out: &mut Vec<u8>, text: &str, octets_max: usize) {
    put_short(out, &text.as_bytes()[..text.floor_char_boundary(octets_max.min(u8::MAX.into()))]);
}

/// The same behind a u16.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str, octets_max: usize) {
    let text = &text.as_bytes()[..text.floor_char_boundary(octets_max.min(u16::MAX.into()))];
    out.extend_from_slice(&(text.len() as u16).to_be_bytes());
    out.extend_from_slice(text);
}

/// What stands in runs.
pub trait Item<'a>: Sized {
    /// Takes one from the beginning of octets; `None`: there is none.
    fn split_from(octets: &'a [u8]) -> Option<(Self, &'a [u8])>;

    /// Appends it.
    fn write(&self, out: &mut Vec<u8>);
}

/// Items one behind the other, each found to be one.
pub struct Run<'a, T> {
    octets: &'a [u8],
    items: PhantomData<T>,
}

/// Without what they are: there are secrets of sessions among them.
impl<T> fmt::Debug for Run<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Run({} octets)", self.octets.len())
    }
}

impl<T> Clone for Run<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Run<'_, T> {}

impl<T> PartialEq for Run<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.octets == other.octets
    }
}

impl<T> Eq for Run<'_, T> {}

impl<T> Default for Run<'_, T> {
    fn default() -> Self {
        Run { octets: &[], items: PhantomData }
    }
}

impl<'a, T: Item<'a>> Run<'a, T> {
    /// All of the octets, if they are so many items at most and nothing else.
    pub(super) fn of(octets: &'a [u8], items_max: usize) -> Option<Run<'a, T>> {
        let (mut rest, mut count) = (octets, 0);
        while !rest.is_empty() {
            rest = T::split_from(rest)?.1;
            count += 1;
            if count > items_max {
                return None;
            }
        }
        Some(Run { octets, items: PhantomData })
    }

    /// All of the octets, which were put together by [`Item::write`]; `None`: they are something else.
    #[must_use]
    pub fn read(octets: &'a [u8]) -> Option<Run<'a, T>> {
        Run::of(octets, octets.len())
    }

    /// The items, in their order.
    pub fn iter(&self) -> impl Iterator<Item = T> + use<'a, T> {
        let mut rest = self.octets;
        std::iter::from_fn(move || {
            let (item, after) = T::split_from(rest)?;
            rest = after;
            Some(item)
        })
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }

    /// As they are sent.
    #[must_use]
    pub fn octets(&self) -> &'a [u8] {
        self.octets
    }
}

/// RDATA: its octets behind their number, u16.
impl<'a> Item<'a> for &'a [u8] {
    fn split_from(octets: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let mut rest = Rest(octets);
        let count = usize::from(rest.u16()?);
        Some((rest.take(count)?, rest.0))
    }

    fn write(&self, out: &mut Vec<u8>) {
        let octets = &self[..self.len().min(u16::MAX.into())];
        out.extend_from_slice(&(octets.len() as u16).to_be_bytes());
        out.extend_from_slice(octets);
    }
}

impl<'a> Item<'a> for &'a Name {
    fn split_from(octets: &'a [u8]) -> Option<(Self, &'a [u8])> {
        Name::split_from(octets).ok()
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.octets());
    }
}
