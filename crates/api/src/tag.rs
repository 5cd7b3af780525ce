//! Tags of versions of zones, and conditions on them: `ETag` and `If-Match` (RFC 9110 8.8.3, 13.1.1).
//!
//! ```text
//! tag   "SERIAL-MARK"      a decimal number, 16 hexadecimal digits, in quotes; never weak
//! ```

use std::fmt;

/// A version of a zone: its serial, and what no other state of any zone has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    /// Its serial.
    pub serial: u32,
    /// What tells it from others of that serial.
    pub mark: u64,
}

/// Tags of one condition: a client knows one version, one of those that it saw last at the most.
pub const TAGS_MAX: usize = 4;

/// Digits of a mark.
const MARK_DIGITS: usize = 16;

impl Tag {
    /// As [`Tag`] is displayed, with its quotes. `None`: it is none of ours.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Tag> {
        let inside = text.strip_prefix('"')?.strip_suffix('"')?;
        let (serial, mark) = inside.split_once('-')?;
        let is_number = !serial.is_empty() && serial.bytes().all(|digit| digit.is_ascii_digit());
        let is_mark = mark.len() == MARK_DIGITS && mark.bytes().all(|digit| digit.is_ascii_hexdigit());
        if !is_number || !is_mark {
            return None;
        }
        Some(Tag { serial: serial.parse().ok()?, mark: u64::from_str_radix(mark, 16).ok()? })
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}-{:016x}\"", self.serial, self.mark)
    }
}

/// What must be before a change is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Condition {
    /// Nothing.
    #[default]
    None,
    /// There is such a zone: `*`.
    Any,
    /// Its version is one of these; without any, of which none is one of ours, nothing fits.
    OneOf(Tags),
}

/// Tags, in the order in which they are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tags {
    tags: [Tag; TAGS_MAX],
    count: usize,
}

impl Tags {
    /// Adds one; `false`: there is no room.
    pub fn push(&mut self, tag: Tag) -> bool {
        let Some(place) = self.tags.get_mut(self.count) else { return false };
        *place = tag;
        self.count += 1;
        true
    }

    /// All.
    #[must_use]
    pub fn as_slice(&self) -> &[Tag] {
        &self.tags[..self.count]
    }
}

impl Condition {
    /// Of the value of `If-Match`. What is no tag of ours, as a weak one or one of another server, fits no version. `None`: more than [`TAGS_MAX`].
    #[must_use]
    pub fn from_text(text: &str) -> Option<Condition> {
        let text = text.trim_matches([' ', '\t']);
        if text == "*" {
            return Some(Condition::Any);
        }
        let mut tags = Tags::default();
        for tag in text.split(',').filter_map(|tag| Tag::from_text(tag.trim_matches([' ', '\t']))) {
            if !tags.push(tag) {
                return None;
            }
        }
        Some(Condition::OneOf(tags))
    }

    /// Whether it is one on the version, or on there being a zone.
    #[must_use]
    pub fn is_some(&self) -> bool {
        *self != Condition::None
    }

    /// Whether a zone in this version fulfils it.
    #[must_use]
    pub fn holds(&self, tag: Tag) -> bool {
        match self {
            Condition::None | Condition::Any => true,
            Condition::OneOf(tags) => tags.as_slice().contains(&tag),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const TAG: Tag = Tag { serial: 2_026_112_901, mark: 0xab_cdef };

    #[test]
    fn text_and_tag() {
        assert_eq!(TAG.to_string(), "\"2026112901-0000000000abcdef\"");
        assert_eq!(Tag::from_text(&TAG.to_string()), Some(TAG));
        for text in [
            "",
            "\"",
            "\"\"",
            "1-0000000000abcdef",
            "\"1-abcdef\"",
            "\"4294967296-0000000000abcdef\"",
            "\"+1-0000000000abcdef\"",
            "\"1-+000000000abcdef\"",
            "W/\"1-0000000000abcdef\"",
        ] {
            assert_eq!(Tag::from_text(text), None, "{text}");
        }
    }

    #[test]
    fn conditions() {
        let other = Tag { serial: 1, mark: 1 };
        let of = |text: &str| Condition::from_text(text).unwrap();
        let holds = |condition: Condition| (condition.holds(TAG), condition.holds(other));
        assert_eq!(holds(Condition::None), (true, true));
        assert_eq!(holds(of(" * ")), (true, true));
        assert_eq!(holds(of(&TAG.to_string())), (true, false));
        assert_eq!(holds(of(&format!("\"theirs\" ,{other},\t{TAG}"))), (true, true));
        // Weak ones never fit (RFC 9110 13.1.1), nor do those of others.
        for text in [format!("W/{TAG}"), "\"theirs\"".into(), String::new()] {
            assert_eq!(holds(of(&text)), (false, false), "{text}");
        }
        assert!(Condition::from_text(&format!("{TAG},").repeat(TAGS_MAX)).is_some());
        assert!(Condition::from_text(&format!("{TAG},").repeat(TAGS_MAX + 1)).is_none());
        assert!(of("*").is_some() && !Condition::None.is_some());
    }
}
