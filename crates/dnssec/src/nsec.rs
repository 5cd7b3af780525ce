//! NSEC records (RFC 4034 4): their fields, and which names one covers.

use wire::Name;

use crate::TypeBitmap;

/// The fields of an NSEC record.
#[derive(Clone, Copy, Debug)]
pub struct Nsec<'a> {
    /// The next owner in canonical order that is authoritative or a zone cut; the apex after the last.
    pub next: &'a Name,
    /// Types at the owner.
    pub types: TypeBitmap<'a>,
}

impl<'a> Nsec<'a> {
    /// Reads RDATA; `None` when it has another shape, or an empty bitmap: an NSEC lists at least itself
    /// (RFC 4034 4.1.2).
    pub fn parse(rdata: &'a [u8]) -> Option<Nsec<'a>> {
        let (next, types) = Name::split_from(rdata).ok()?;
        let types = TypeBitmap::parse(types).ok()?;
        (!types.octets().is_empty()).then_some(Nsec { next, types })
    }
}

/// Whether a record of `owner` that points at `next` denies that `name` exists. All three are keys (see
/// [`wire::sort_key`]), so comparing octets is canonical order; the last record points back at the apex, which
/// sorts before everything (RFC 4034 4.1.1).
pub fn covers(owner: &[u8], next: &[u8], name: &[u8]) -> bool {
    owner < name && (name < next || next <= owner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        let record = Nsec::parse(b"\x01b\0\0\x01\x40").unwrap();
        assert_eq!(record.next.to_string(), "b.");
        assert!(record.types.contains(1));
        assert!(Nsec::parse(b"\x01b\0").is_none());
        assert!(Nsec::parse(b"\x01b\0\0\x01\0").is_none());
        assert!(Nsec::parse(b"\x01b").is_none());
    }

    #[test]
    fn cover() {
        assert!(covers(b"a\0", b"c\0", b"b\0"));
        assert!(!covers(b"a\0", b"c\0", b"a\0") && !covers(b"a\0", b"c\0", b"c\0"));
        assert!(covers(b"c\0", b"", b"d\0") && !covers(b"c\0", b"", b"b\0"));
        assert!(covers(b"", b"", b"a\0"), "a zone of one name");
    }
}
