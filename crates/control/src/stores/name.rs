//! The name of a store, as its section has it.

use std::fmt;

/// Octets of a name: one is copied with each reply that has it, and stands in lines of logs and files.
const NAME_OCTETS_MAX: usize = 32;

/// A name of letters, digits, `-`, `_` and `.`, so that it is one word of a line.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StoreName {
    octets: [u8; NAME_OCTETS_MAX],
    length: u8,
}

impl StoreName {
    /// What a name is, in words.
    pub const EXPECTED: &'static str = "1 to 32 letters, digits, `-`, `_` and `.`";

    /// The name that is written so; `None`: it is none.
    pub fn new(text: &str) -> Option<StoreName> {
        let is_letter = |octet: u8| octet.is_ascii_alphanumeric() || b"-_.".contains(&octet);
        let mut octets = [0; NAME_OCTETS_MAX];
        octets.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        let length = u8::try_from(text.len()).ok().filter(|length| *length > 0)?;
        text.bytes().all(is_letter).then_some(StoreName { octets, length })
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        // Made of such text.
        std::str::from_utf8(&self.octets[..usize::from(self.length)]).unwrap_or_default()
    }
}

impl fmt::Display for StoreName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for StoreName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words() {
        for text in ["a", "customers-2.old_ones", &"x".repeat(NAME_OCTETS_MAX)] {
            assert_eq!(StoreName::new(text).unwrap().to_string(), text);
        }
        for text in ["", "a b", "a\n", "ü", &"x".repeat(NAME_OCTETS_MAX + 1)] {
            assert_eq!(StoreName::new(text), None, "{text:?}");
        }
    }
}
