//! Names above a name.

use wire::Name;
use wire::name::NAME_OCTETS_MAX;

/// The ancestor-or-self of `name` with so many labels; `name` itself where it has no more.
pub(crate) fn ancestor(name: &Name, labels: usize) -> &Name {
    let above = name.label_count().saturating_sub(labels);
    (0..above).fold(name, |name, _| name.parent().unwrap_or(name))
}

/// The wildcard below the ancestor of `name` with so many labels, fewer than `name` has: so it is no longer than a name may be.
pub(crate) struct Wildcard {
    octets: [u8; NAME_OCTETS_MAX + 2],
    length: usize,
}

impl Wildcard {
    pub fn below(name: &Name, labels: usize) -> Wildcard {
        let encloser = ancestor(name, labels).octets();
        let mut octets = [0; NAME_OCTETS_MAX + 2];
        octets[..2].copy_from_slice(b"\x01*");
        octets[2..][..encloser.len()].copy_from_slice(encloser);
        Wildcard { octets, length: 2 + encloser.len() }
    }

    pub fn name(&self) -> &Name {
        Name::trusted(&self.octets[..self.length])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use wire::NameBuf;

    #[test]
    fn above() {
        let name = NameBuf::from_text("a.b.c.").unwrap();
        let texts = [0, 1, 2, 3, 4].map(|labels| ancestor(&name, labels).to_string());
        assert_eq!(texts, [".", "c.", "b.c.", "a.b.c.", "a.b.c."]);
        assert_eq!(Wildcard::below(&name, 1).name().to_string(), "*.c.");
        assert_eq!(Wildcard::below(&name, 0).name().to_string(), "*.");
    }
}
