//! Numbers in octets that may be anything: little-endian, and none where the octets end.

/// Reads from the front of octets.
pub(crate) struct Reader<'o> {
    rest: &'o [u8],
}

impl<'o> Reader<'o> {
    pub(crate) fn new(octets: &'o [u8]) -> Reader<'o> {
        Reader { rest: octets }
    }

    pub(crate) fn take(&mut self, octets: usize) -> Option<&'o [u8]> {
        let (taken, rest) = self.rest.split_at_checked(octets)?;
        self.rest = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(|[octet]| octet)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn rest(&self) -> &'o [u8] {
        self.rest
    }
}

/// Overwrites octets at a place that is there.
pub(crate) fn put(octets: &mut [u8], at: usize, new: &[u8]) {
    octets[at..at + new.len()].copy_from_slice(new);
}
