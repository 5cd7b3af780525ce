//! Space for one name, used again for name after name.

use wire::Name;
use wire::name::NAME_OCTETS_MAX;

/// A name of its own, without memory of the heap.
#[derive(Clone)]
pub(crate) struct NameSpace {
    octets: [u8; NAME_OCTETS_MAX],
    length: u8,
}

impl NameSpace {
    /// The root.
    pub(crate) fn new() -> NameSpace {
        NameSpace { octets: [0; NAME_OCTETS_MAX], length: 1 }
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
        // Length octets are below any letter.
        self.octets[..usize::from(self.length)].make_ascii_lowercase();
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
