//! The buffer in which the RDATA of one record grows: fixed, used again for record after record.

use crate::limits::RDATA_OCTETS_MAX;

/// Room beyond the longest RDATA, so that a name or a block may be written before its length is checked.
pub(crate) const SLACK: usize = 320;

const CAPACITY: usize = RDATA_OCTETS_MAX + SLACK;

/// RDATA has no room for what was to be appended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Full;

pub(crate) struct Octets {
    octets: Box<[u8; CAPACITY]>,
    length: usize,
}

impl Octets {
    pub fn new() -> Octets {
        let octets = vec![0; CAPACITY].into_boxed_slice().try_into().expect("a slice of this length");
        Octets { octets, length: 0 }
    }

    pub fn clear(&mut self) {
        self.length = 0;
    }

    pub fn len(&self) -> usize {
        self.length
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.octets[..self.length]
    }

    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.octets[..self.length]
    }

    /// The next `N` octets to write, of which [`Octets::advance`] keeps some.
    #[inline]
    pub fn room<const N: usize>(&mut self) -> Result<&mut [u8; N], Full> {
        self.octets.get_mut(self.length..).and_then(|rest| rest.first_chunk_mut()).ok_or(Full)
    }

    /// Keeps `count` octets of the room.
    #[inline]
    pub fn advance(&mut self, count: usize) {
        self.length += count;
        debug_assert!(self.length <= CAPACITY);
    }

    /// Drops what was appended after the first `length` octets.
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    #[inline]
    pub fn push(&mut self, octets: &[u8]) -> Result<(), Full> {
        let room = self.octets.get_mut(self.length..self.length + octets.len()).ok_or(Full)?;
        room.copy_from_slice(octets);
        self.length += octets.len();
        Ok(())
    }

    #[inline]
    pub fn push_u8(&mut self, value: u8) -> Result<(), Full> {
        self.push(&[value])
    }

    #[inline]
    pub fn push_u16(&mut self, value: u16) -> Result<(), Full> {
        self.push(&value.to_be_bytes())
    }

    #[inline]
    pub fn push_u32(&mut self, value: u32) -> Result<(), Full> {
        self.push(&value.to_be_bytes())
    }
}
