//! Space for one name, used again for name after name.

use wire::Name;
use wire::name::NAME_OCTETS_MAX;

/// A name of its own, without memory of the heap.
#[derive(Clone)]
pub(crate) struct NameSpace {
    octets: [u8; ROOM_OCTETS],
    length: u8,
}

/// Octets of a name that become lower case together.
const CHUNK_OCTETS: usize = 32;
/// Room for the longest name, in whole chunks.
const ROOM_OCTETS: usize = NAME_OCTETS_MAX.next_multiple_of(CHUNK_OCTETS);

/// Chunks that have a name of so many octets.
#[inline(always)]
fn chunks(length: u8) -> usize {
    usize::from(length).div_ceil(CHUNK_OCTETS)
}

impl NameSpace {
    /// The root.
    pub(crate) fn new() -> NameSpace {
        NameSpace { octets: [0; ROOM_OCTETS], length: 1 }
    }

    /// The name.
    #[inline(always)]
    pub(crate) fn name(&self) -> &Name {
        Name::trusted(&self.octets[..usize::from(self.length)])
    }

    /// Takes another name, in lower case.
    #[inline(always)]
    pub(crate) fn set_lower(&mut self, name: &Name) {
        self.set(name);
        // Length octets are below any letter; what is after the name is nobody's. Whole chunks are a few vector instructions each.
        for chunk in self.octets.as_chunks_mut::<CHUNK_OCTETS>().0.iter_mut().take(chunks(self.length)) {
            chunk.iter_mut().for_each(|octet| *octet |= u8::from(octet.is_ascii_uppercase()) << 5);
        }
    }

    /// Takes another name.
    #[inline(always)]
    pub(crate) fn set(&mut self, name: &Name) {
        let octets = name.octets();
        let length = octets.len().min(NAME_OCTETS_MAX);
        self.octets[..length].copy_from_slice(&octets[..length]);
        self.length = length as u8;
    }

    /// Takes the first `octets` octets of `name`, whole labels, and after them those of `end`. `false` where that is no name: it is too long (RFC 6672 2.2).
    pub(crate) fn join(&mut self, name: &Name, octets: usize, end: &Name) -> bool {
        let (first, end) = (&name.octets()[..octets], end.octets());
        if first.len() + end.len() > NAME_OCTETS_MAX {
            return false;
        }
        self.octets[..first.len()].copy_from_slice(first);
        self.octets[first.len()..first.len() + end.len()].copy_from_slice(end);
        self.length = (first.len() + end.len()) as u8;
        true
    }
}
