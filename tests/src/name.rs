//! Domain names as the tests see them: uncompressed wire octets with the case they came in.

use std::fmt;

/// A domain name in uncompressed wire form, root label included, case kept.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Vec<u8>);

impl Name {
    /// The root.
    pub fn root() -> Name {
        Name(vec![0])
    }

    /// Takes wire octets that are known to be one whole name.
    pub fn from_wire(octets: Vec<u8>) -> Name {
        debug_assert_eq!(octets.last(), Some(&0));
        Name(octets)
    }

    /// Reads presentation form: labels between dots, `\.` and `\DDD` escapes; always taken as absolute.
    ///
    /// Panics on text that is no name: the text stands in a test.
    pub fn parse(text: &str) -> Name {
        if text == "." {
            return Name::root();
        }
        let mut wire = Vec::new();
        let mut label = Vec::new();
        let mut rest = text.as_bytes().iter().copied();
        while let Some(octet) = rest.next() {
            match octet {
                b'.' => {
                    push_label(&mut wire, &label, text);
                    label.clear();
                }
                b'\\' => label.push(unescape(&mut rest, text)),
                other => label.push(other),
            }
        }
        if !label.is_empty() {
            push_label(&mut wire, &label, text);
        }
        wire.push(0);
        assert!(wire.len() <= 255, "name of more than 255 octets in a test: {text}");
        Name(wire)
    }

    /// The wire octets.
    pub fn wire(&self) -> &[u8] {
        &self.0
    }

    /// The same name in lower case (RFC 4343: ASCII letters only).
    pub fn lower(&self) -> Name {
        Name(self.0.to_ascii_lowercase())
    }

    /// The labels, leftmost first, root label left out.
    pub fn labels(&self) -> Vec<&[u8]> {
        let mut labels = Vec::new();
        let mut at = 0;
        while self.0[at] != 0 {
            let end = at + 1 + self.0[at] as usize;
            labels.push(&self.0[at + 1..end]);
            at = end;
        }
        labels
    }

    /// The name without its first label; `None` at the root.
    pub fn parent(&self) -> Option<Name> {
        match self.0[0] {
            0 => None,
            length => Some(Name(self.0[1 + length as usize..].to_vec())),
        }
    }

    /// The name with one more label in front; `None` where that is too long.
    pub fn child(&self, label: &[u8]) -> Option<Name> {
        if label.is_empty() || label.len() > 63 || self.0.len() + 1 + label.len() > 255 {
            return None;
        }
        let mut wire = vec![label.len() as u8];
        wire.extend_from_slice(label);
        wire.extend_from_slice(&self.0);
        Some(Name(wire))
    }

    /// Whether the name is `other` or below it, case left aside.
    pub fn is_at_or_below(&self, other: &Name) -> bool {
        let mut name = Some(self.lower());
        let other = other.lower();
        while let Some(candidate) = name {
            if candidate == other {
                return true;
            }
            name = candidate.parent();
        }
        false
    }
}

/// Appends one label; panics with the text on an empty or overlong one.
fn push_label(wire: &mut Vec<u8>, label: &[u8], text: &str) {
    assert!(!label.is_empty() && label.len() <= 63, "bad label in a test: {text}");
    wire.push(label.len() as u8);
    wire.extend_from_slice(label);
}

/// Reads what follows a backslash: three digits or the character itself.
fn unescape(rest: &mut impl Iterator<Item = u8>, text: &str) -> u8 {
    let mut next = || rest.next().unwrap_or_else(|| panic!("unfinished escape in a test: {text}"));
    let first = next();
    if !first.is_ascii_digit() {
        return first;
    }
    let digits = [first, next(), next()];
    let value = digits.iter().fold(0u32, |sum, digit| sum * 10 + u32::from(digit - b'0'));
    u8::try_from(value).unwrap_or_else(|_| panic!("bad escape in a test: {text}"))
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == [0] {
            return out.write_str(".");
        }
        for label in self.labels() {
            for &octet in label {
                match octet {
                    b'.' | b'\\' | b'"' | b'(' | b')' | b';' | b'@' | b'$' => {
                        write!(out, "\\{}", octet as char)?
                    }
                    0x21..=0x7e => write!(out, "{}", octet as char)?,
                    _ => write!(out, "\\{octet:03}")?,
                }
            }
            out.write_str(".")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

#[cfg(test)]
mod tests {
    use super::Name;

    #[test]
    fn text_and_wire_agree() {
        for text in [".", "a.", "www.example.com.", "a\\.b.c.", "\\000\\255.x.", "*.x."] {
            assert_eq!(Name::parse(text).to_string(), text);
        }
        assert_eq!(Name::parse("A.b").wire(), b"\x01A\x01b\x00");
    }

    #[test]
    fn ancestry() {
        let name = Name::parse("A.b.example.");
        assert!(name.is_at_or_below(&Name::parse("B.example.")));
        assert!(!name.is_at_or_below(&Name::parse("a.example.")));
        assert_eq!(name.parent(), Some(Name::parse("b.example.")));
        assert_eq!(Name::parse("b.").child(b"a"), Some(Name::parse("a.b.")));
        assert_eq!(name.labels(), [&b"A"[..], b"b", b"example"]);
    }
}
