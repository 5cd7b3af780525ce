//! Domain names in wire form, uncompressed (RFC 1035 3.1), and their text form (RFC 1035 5.1).
//!
//! A [`Name`] is a run of labels, each a length octet and that many octets, ended by the root label:
//! at most 255 octets, labels of at most 63. Case is kept; comparison ignores it (RFC 4343).
#![allow(unsafe_code)] // one cast between a slice and its transparent wrapper, see `Name::trusted`

mod room;

pub use room::{NameRoom, NameRooms};
use std::fmt::{self, Write};

/// Longest name on the wire, root label included (RFC 1035 2.3.4).
pub const NAME_OCTETS_MAX: usize = 255;
/// Longest label (RFC 1035 2.3.4): the two upper bits of a length octet mean something else.
pub const LABEL_OCTETS_MAX: usize = 63;
/// Most labels a name can have, root excluded: 127 labels of one octet fill 255 octets.
pub const LABELS_MAX: usize = 127;

/// Most pointers on the way through a name in a message: senders may make one a label (BIND's transfers do).
pub const POINTERS_MAX: usize = LABELS_MAX;

/// Why octets or text are not a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameError {
    /// More than 255 octets.
    NameTooLong,
    /// A label of more than 63 octets.
    LabelTooLong,
    /// An empty label inside the name, as in `a..b`.
    EmptyLabel,
    /// The octets end before the root label.
    Truncated,
    /// A length octet with one of its two upper bits set: an unassigned kind, or a pointer where none may be.
    BadLabelKind,
    /// A pointer that does not lead backwards, leads into the header, or is one too many.
    BadPointer,
    /// Octets follow the root label.
    TrailingOctets,
    /// `\` followed by neither an octet nor three digits up to 255.
    BadEscape,
    /// A relative name where no origin is known.
    NoOrigin,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NameError::NameTooLong => "name longer than 255 octets",
            NameError::LabelTooLong => "label longer than 63 octets",
            NameError::EmptyLabel => "empty label",
            NameError::Truncated => "name ends before its root label",
            NameError::BadLabelKind => "label of unknown kind",
            NameError::BadPointer => "compression pointer to nowhere",
            NameError::TrailingOctets => "octets after the root label",
            NameError::BadEscape => "bad escape: `\\` needs an octet or three digits up to 255",
            NameError::NoOrigin => "relative name without an origin",
        })
    }
}

impl std::error::Error for NameError {}

/// An uncompressed absolute name in wire form; see the module for its shape.
#[derive(PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Name {
    octets: [u8],
}

impl Name {
    /// The root name, one octet of zero.
    pub fn root() -> &'static Name {
        Name::trusted(&[0])
    }

    /// Checks that `octets` are exactly one uncompressed name.
    pub fn from_wire(octets: &[u8]) -> Result<&Name, NameError> {
        let (name, rest) = Name::split_from(octets)?;
        if rest.is_empty() { Ok(name) } else { Err(NameError::TrailingOctets) }
    }

    /// Takes the uncompressed name at the start of `octets`; returns it and what follows.
    pub fn split_from(octets: &[u8]) -> Result<(&Name, &[u8]), NameError> {
        let mut at = 0;
        loop {
            let Some(&length) = octets.get(at) else { return Err(NameError::Truncated) };
            at += 1 + length as usize;
            if length as usize > LABEL_OCTETS_MAX {
                return Err(NameError::BadLabelKind);
            }
            if at > NAME_OCTETS_MAX {
                return Err(NameError::NameTooLong);
            }
            if length == 0 {
                return Ok((Name::trusted(&octets[..at]), &octets[at..]));
            }
        }
    }

    /// Wraps octets that some earlier check found to be one name.
    ///
    /// Not `unsafe`: the wrapper's methods are bounds-checked, so octets that are no name give wrong
    /// answers or a panic in this type's methods, never undefined behaviour.
    pub fn trusted(octets: &[u8]) -> &Name {
        // SAFETY: `Name` is `repr(transparent)` over `[u8]`, so the two references have the same layout.
        unsafe { &*(octets as *const [u8] as *const Name) }
    }

    /// The wire form, root label included.
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// Whether this is the root.
    pub fn is_root(&self) -> bool {
        self.octets.len() <= 1
    }

    /// The labels from left to right, root label excluded.
    pub fn labels(&self) -> Labels<'_> {
        Labels { rest: &self.octets }
    }

    /// How many labels, root excluded.
    pub fn label_count(&self) -> usize {
        self.labels().count()
    }

    /// The name without its first label; `None` for the root.
    pub fn parent(&self) -> Option<&Name> {
        if self.is_root() {
            return None;
        }
        Some(Name::trusted(&self.octets[1 + self.octets[0] as usize..]))
    }

    /// Whether this name is `ancestor` or below it, ignoring case.
    pub fn is_at_or_below(&self, ancestor: &Name) -> bool {
        let mut name = self;
        loop {
            if name.octets.len() == ancestor.octets.len() {
                return name.eq_ignore_case(ancestor);
            }
            match name.parent() {
                Some(parent) if parent.octets.len() >= ancestor.octets.len() => name = parent,
                _ => return false,
            }
        }
    }

    /// Equality as the DNS sees it (RFC 4343).
    pub fn eq_ignore_case(&self, other: &Name) -> bool {
        // Length octets are at most 63, below any letter, so folding case leaves them alone.
        self.octets.eq_ignore_ascii_case(&other.octets)
    }

    /// Whether the first label is a single `*` (RFC 4592 2.1.1).
    pub fn is_wildcard(&self) -> bool {
        self.octets.starts_with(b"\x01*")
    }

    /// The name with upper-case ASCII letters folded: the canonical form of RFC 4034 6.2.
    pub fn to_lowercase(&self) -> NameBuf {
        NameBuf { octets: self.octets.to_ascii_lowercase().into() }
    }
}

impl ToOwned for Name {
    type Owned = NameBuf;
    fn to_owned(&self) -> NameBuf {
        NameBuf { octets: self.octets.into() }
    }
}

/// Text form: labels and dots, the root as `.`, always absolute; octets outside printable ASCII as
/// `\DDD`, and `. \ " ( ) ; @ $` and blanks escaped so that a zone file reads them back.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str(".");
        }
        for label in self.labels() {
            for &octet in label {
                match octet {
                    b'.' | b'\\' | b'"' | b'(' | b')' | b';' | b'@' | b'$' => {
                        f.write_char('\\')?;
                        f.write_char(octet as char)?;
                    }
                    0x21..=0x7e => f.write_char(octet as char)?,
                    _ => write!(f, "\\{octet:03}")?,
                }
            }
            f.write_str(".")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Iterator over the labels of a name from left to right, root label excluded.
#[derive(Clone)]
pub struct Labels<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Labels<'a> {
    type Item = &'a [u8];
    fn next(&mut self) -> Option<&'a [u8]> {
        let (&length, rest) = self.rest.split_first()?;
        if length == 0 || length as usize > rest.len() {
            return None;
        }
        let (label, rest) = rest.split_at(length as usize);
        self.rest = rest;
        Some(label)
    }
}

/// An owned [`Name`].
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct NameBuf {
    octets: Box<[u8]>,
}

impl NameBuf {
    /// The root.
    pub fn root() -> NameBuf {
        Name::root().to_owned()
    }

    /// Reads text such as `www.example.com.`; a name without final dot is taken as absolute too, as
    /// operators write it in settings and on command lines. `.` and the empty text are the root.
    pub fn from_text(text: &str) -> Result<NameBuf, NameError> {
        NameBuf::from_text_at(text.as_bytes(), Some(Name::root()))
    }

    /// Reads text relative to `origin`: a name without final dot gets the origin appended, `@` is the
    /// origin. Escapes are `\DDD` and `\X` (RFC 1035 5.1).
    pub fn from_text_at(text: &[u8], origin: Option<&Name>) -> Result<NameBuf, NameError> {
        if text == b"@" {
            return origin.map(Name::to_owned).ok_or(NameError::NoOrigin);
        }
        if text == b"." || text.is_empty() {
            return Ok(NameBuf::root());
        }
        let mut octets = Vec::with_capacity(text.len() + 2);
        octets.push(0);
        let mut start = 0; // where the length octet of the open label is
        let mut at = 0;
        let mut absolute = false;
        while at < text.len() {
            let octet = match text[at] {
                b'.' => {
                    close_label(&mut octets, start)?;
                    start = octets.len();
                    octets.push(0);
                    at += 1;
                    absolute = at == text.len();
                    continue;
                }
                b'\\' => {
                    let (octet, used) = escape(&text[at..])?;
                    at += used;
                    octet
                }
                octet => {
                    at += 1;
                    octet
                }
            };
            octets.push(octet);
        }
        if !absolute {
            close_label(&mut octets, start)?;
            octets.extend_from_slice(origin.ok_or(NameError::NoOrigin)?.octets());
        }
        if octets.len() > NAME_OCTETS_MAX {
            return Err(NameError::NameTooLong);
        }
        Ok(NameBuf { octets: octets.into() })
    }
}

/// Writes the length of the label that began at `start`.
fn close_label(octets: &mut [u8], start: usize) -> Result<(), NameError> {
    match octets.len() - start - 1 {
        0 => Err(NameError::EmptyLabel),
        length @ 1..=LABEL_OCTETS_MAX => {
            octets[start] = length as u8;
            Ok(())
        }
        _ => Err(NameError::LabelTooLong),
    }
}

/// Reads the escape at the start of `text`; returns its octet and how many octets of text it takes.
fn escape(text: &[u8]) -> Result<(u8, usize), NameError> {
    match text {
        [_, d @ b'0'..=b'9', e @ b'0'..=b'9', g @ b'0'..=b'9', ..] => {
            let value = (d - b'0') as u16 * 100 + (e - b'0') as u16 * 10 + (g - b'0') as u16;
            u8::try_from(value).map(|octet| (octet, 4)).map_err(|_| NameError::BadEscape)
        }
        [_, b'0'..=b'9', ..] | [_] => Err(NameError::BadEscape),
        [_, octet, ..] => Ok((*octet, 2)),
        [] => Err(NameError::BadEscape),
    }
}

impl std::ops::Deref for NameBuf {
    type Target = Name;
    fn deref(&self) -> &Name {
        Name::trusted(&self.octets)
    }
}

impl std::borrow::Borrow<Name> for NameBuf {
    fn borrow(&self) -> &Name {
        self
    }
}

impl fmt::Display for NameBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl fmt::Debug for NameBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl std::str::FromStr for NameBuf {
    type Err = NameError;
    fn from_str(text: &str) -> Result<NameBuf, NameError> {
        NameBuf::from_text(text)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, wire: &[u8], printed: &str) {
        let name = NameBuf::from_text(text).unwrap();
        assert_eq!(name.octets(), wire);
        assert_eq!(name.to_string(), printed);
        assert_eq!(NameBuf::from_text(printed).unwrap(), name);
    }

    #[test]
    fn text_and_wire() {
        check(".", b"\0", ".");
        check("Example.COM", b"\x07Example\x03COM\0", "Example.COM.");
        check("a\\.b.c.", b"\x03a.b\x01c\0", "a\\.b.c.");
        check("\\000\\255 .", b"\x03\0\xff \0", "\\000\\255\\032.");
        check("*.x", b"\x01*\x01x\0", "*.x.");
    }

    #[test]
    fn bad_text() {
        for (text, error) in [
            ("a..b", NameError::EmptyLabel),
            (".a", NameError::EmptyLabel),
            ("a\\", NameError::BadEscape),
            ("a\\256", NameError::BadEscape),
            ("a\\25", NameError::BadEscape),
        ] {
            assert_eq!(NameBuf::from_text(text), Err(error), "{text}");
        }
        assert_eq!(NameBuf::from_text(&"a".repeat(64)), Err(NameError::LabelTooLong));
        let long = "a.".repeat(127);
        assert_eq!(NameBuf::from_text(&long).unwrap().octets().len(), 255);
        assert_eq!(NameBuf::from_text(&(long + "a.")), Err(NameError::NameTooLong));
        assert_eq!(NameBuf::from_text_at(b"a", None), Err(NameError::NoOrigin));
    }

    #[test]
    fn bad_wire() {
        assert_eq!(Name::from_wire(b"\x01a"), Err(NameError::Truncated));
        assert_eq!(Name::from_wire(b"\xc0\x0c"), Err(NameError::BadLabelKind));
        assert_eq!(Name::from_wire(b"\0\0"), Err(NameError::TrailingOctets));
    }

    #[test]
    fn ancestors() {
        let name = |text| NameBuf::from_text(text).unwrap();
        assert!(name("a.B.c").is_at_or_below(&name("b.C")));
        assert!(name("a").is_at_or_below(Name::root()));
        assert!(!name("ab.c").is_at_or_below(&name("b.c")));
        assert_eq!(name("a.b").parent().unwrap().to_string(), "b.");
    }
}
