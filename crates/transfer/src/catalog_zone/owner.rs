//! What the names of a catalog are for, by their labels below the apex (RFC 9432 4).

/// What a name is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place<'o> {
    /// `version`: which schema.
    Version,
    /// `LABEL.zones`: a member.
    Member(&'o [u8]),
    /// `group.LABEL.zones`: its groups.
    Group(&'o [u8]),
    /// `coo.LABEL.zones`: who may take it over.
    Coo(&'o [u8]),
    /// Nothing that is known.
    Other,
}

/// What a name is for; `labels`: its labels above the apex in wire form, without a root label, of any case.
pub(super) fn place(labels: &[u8]) -> Place<'_> {
    let mut found: [&[u8]; 3] = [&[]; 3];
    let (mut count, mut rest) = (0, labels);
    while let Some((&length, more)) = rest.split_first() {
        let (Some(place), Some((label, more))) = (found.get_mut(count), more.split_at_checked(length.into()))
        else {
            return Place::Other;
        };
        (*place, rest, count) = (label, more, count + 1);
    }
    let is = |label: &[u8], text: &str| label.eq_ignore_ascii_case(text.as_bytes());
    match found[..count] {
        [version] if is(version, "version") => Place::Version,
        [label, zones] if is(zones, "zones") => Place::Member(label),
        [group, label, zones] if is(zones, "zones") && is(group, "group") => Place::Group(label),
        [coo, label, zones] if is(zones, "zones") && is(coo, "coo") => Place::Coo(label),
        _ => Place::Other,
    }
}

impl<'o> Place<'o> {
    /// The label of the member that it belongs to.
    pub(super) fn label(self) -> Option<&'o [u8]> {
        match self {
            Place::Member(label) | Place::Group(label) | Place::Coo(label) => Some(label),
            Place::Version | Place::Other => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        assert_eq!(place(b"\x07VERSION"), Place::Version);
        assert_eq!(place(b"\x01a\x05Zones"), Place::Member(b"a"));
        assert_eq!(place(b"\x05group\x01a\x05zones"), Place::Group(b"a"));
        assert_eq!(place(b"\x03COO\x01A\x05zones"), Place::Coo(b"A"));
        assert_eq!(place(b"\x05group\x05zones"), Place::Member(b"group"));
        for other in [
            &b""[..],
            b"\x05zones",
            b"\x01a\x07version",
            b"\x03ext\x01a\x05zones",
            b"\x01x\x03coo\x01a\x05zones",
            b"\x01a\x04zone",
            b"\x03coo\x01a\x03ext",
            b"\x09a",
        ] {
            assert_eq!(place(other), Place::Other, "{other:?}");
        }
    }
}
