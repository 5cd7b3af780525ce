//! What is searched for: a pattern in which `*` stands for any octets and `?` for one, compared with names and contents as they are told.
//!
//! All of a text has to fit; case does not matter, nor does a dot at the end of either, as of what PowerDNS compares. A text is gone through once: kept are all places of the pattern
//! to which the octets so far lead, a bit each. So no pattern makes a text dear, as one that tries each star's lengths in turn would.

use wire::Name;

use crate::frame::PATTERN_OCTETS_MAX;
use crate::json::content;
use crate::path::id;

/// Words of a state: the longest pattern has a place more than it has octets.
const WORDS_MAX: usize = (PATTERN_OCTETS_MAX + 1).div_ceil(u64::BITS as usize);

/// See the module.
pub struct Pattern {
    /// In lower case, without a dot at its end.
    text: Box<[u8]>,
    /// Its octets but for stars: so many have to come, each in its turn.
    length: usize,
    /// Words that a state has, of bit `n`: the octets so far may be the first `n` of these.
    words: usize,
    /// For each octet the places from which it leads to the next one.
    steps: Box<[u64]>,
    /// Places at which any octet may come: there is a star.
    stays: [u64; WORDS_MAX],
}

impl Pattern {
    /// A pattern. `None`: it is longer than [`PATTERN_OCTETS_MAX`].
    #[must_use]
    pub fn new(pattern: &str) -> Option<Pattern> {
        if pattern.len() > PATTERN_OCTETS_MAX {
            return None;
        }
        let text = without_dot(pattern.as_bytes()).to_ascii_lowercase();
        let length = text.iter().filter(|octet| **octet != b'*').count();
        let words = length / u64::BITS as usize + 1;
        let (mut steps, mut stays) = (vec![0; 256 * words], [0; WORDS_MAX]);
        let mut place = 0;
        for octet in &text {
            let (word, bit) = bit_of(place);
            match octet {
                b'*' => {
                    stays[word] |= bit;
                    continue;
                }
                b'?' => steps.chunks_mut(words).for_each(|row| row[word] |= bit),
                octet => steps[usize::from(*octet) * words + word] |= bit,
            }
            place += 1;
        }
        Some(Pattern { text: text.into(), length, words, steps: steps.into(), stays })
    }

    /// Whether a name fits. `room`: for its text.
    pub fn fits_name(&self, name: &Name, room: &mut Vec<u8>) -> bool {
        self.fits(text_of(name, room))
    }

    /// Whether the content of a record does, as clients are told it.
    pub fn fits_content(&self, rtype: u16, rdata: &[u8], room: &mut Vec<u8>) -> bool {
        room.clear();
        content::print(rtype, rdata, room);
        self.fits(without_dot(room))
    }

    /// Whether names that fit may be in this zone because of how the pattern ends: of `a*.example.com` these are `example.com` and those above it.
    pub fn ends_in(&self, zone: &Name, room: &mut Vec<u8>) -> bool {
        if zone.is_root() {
            return true;
        }
        let before = self.text.strip_suffix(text_of(zone, room));
        before.is_some_and(|before| matches!(before.last(), None | Some(b'.' | b'*' | b'?')))
    }

    fn fits(&self, text: &[u8]) -> bool {
        let mut state = [0; WORDS_MAX];
        state[0] = 1;
        for octet in text {
            let from = usize::from(octet.to_ascii_lowercase()) * self.words;
            let (mut carry, mut any) = (0, 0);
            for (at, step) in self.steps[from..from + self.words].iter().enumerate() {
                let moved = state[at] & step;
                state[at] = moved << 1 | carry | (state[at] & self.stays[at]);
                carry = moved >> (u64::BITS - 1);
                any |= state[at];
            }
            if any == 0 {
                return false;
            }
        }
        let (word, bit) = bit_of(self.length);
        state[word] & bit != 0
    }
}

/// Where a place is in a state.
fn bit_of(place: usize) -> (usize, u64) {
    (place / u64::BITS as usize, 1 << (place % u64::BITS as usize))
}

/// The text of a name, without the dot at its end.
fn text_of<'r>(name: &Name, room: &'r mut Vec<u8>) -> &'r [u8] {
    room.clear();
    id::put_name(name, room);
    without_dot(room)
}

/// A text without a dot at its end that is not escaped; the root is its dot.
fn without_dot(text: &[u8]) -> &[u8] {
    match text.strip_suffix(b".") {
        Some(rest) if !rest.is_empty() && !rest.ends_with(b"\\") => rest,
        _ => text,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::NameBuf;
    use wire::iana::rtype;

    fn name(text: &str) -> NameBuf {
        NameBuf::from_text(text).unwrap()
    }

    #[test]
    fn names() {
        let fits = |pattern: &str, text: &str| {
            Pattern::new(pattern).unwrap().fits_name(&name(text), &mut Vec::new())
        };
        for (pattern, text) in [
            ("www.example.com", "www.example.com."),
            ("WWW.example.com.", "www.Example.COM."),
            ("*", "a.b."),
            ("*", "."),
            (".", "."),
            ("*.example.com", "a.b.example.com."),
            ("*example*", "an-example.org."),
            ("ex?mple.*", "example.com."),
            ("**a***", "xax."),
            ("a\\.b.x", "a\\.b.x."),
            ("\\000.x.", "\\000.x."),
        ] {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("example.com", "www.example.com."),
            ("www", "www.example.com."),
            ("*.example.com", "example.com."),
            ("a?", "a."),
            ("?", "ab."),
            ("a*b", "abc."),
            ("", "a."),
            ("a\\.", "a."),
        ] {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
        let longest = "a.".repeat(127);
        assert!(fits(&longest, &longest) && fits(&"?".repeat(253), &longest) && !fits("a.a", &longest));
        assert!(
            Pattern::new(&"*".repeat(PATTERN_OCTETS_MAX)).is_some()
                && Pattern::new(&"*".repeat(PATTERN_OCTETS_MAX + 1)).is_none()
        );
    }

    #[test]
    fn contents() {
        let fits = |pattern, rtype, rdata| {
            Pattern::new(pattern).unwrap().fits_content(rtype, rdata, &mut Vec::new())
        };
        let mx = b"\x00\x0a\x04mail\x01x\x00";
        assert!(
            fits("192.0.2.1", rtype::A, &[192, 0, 2, 1]) && !fits("192.0.2.1", rtype::A, &[192, 0, 2, 11])
        );
        assert!(
            fits("10 mail.x.", rtype::MX, mx)
                && fits("*MAIL.x", rtype::MX, mx)
                && !fits("mail.x", rtype::MX, mx)
        );
        assert!(fits("\"V=spf1*", rtype::TXT, b"\x06v=spf1") && fits("*spf?\"", rtype::TXT, b"\x06v=spf1"));
        // What is not of its type's form is told, and found, as octets.
        assert!(fits("\\# 1 ab", rtype::A, &[0xab]));
    }

    #[test]
    fn where_names_that_fit_may_be() {
        let ends_in = |pattern, zone| Pattern::new(pattern).unwrap().ends_in(&name(zone), &mut Vec::new());
        for zone in [".", "com.", "example.com.", "www.example.com."] {
            assert!(ends_in("www.Example.com.", zone), "{zone}");
        }
        assert!(ends_in("*.example.com", "example.com.") && ends_in("*example.com", "example.com."));
        for (pattern, zone) in [
            ("www.example.com", "ample.com."),
            ("www.example.com", "example."),
            ("*.example.*", "example.com."),
        ] {
            assert!(!ends_in(pattern, zone), "{pattern} {zone}");
        }
    }

    /// Whether the first `i` octets of a pattern fit the first `j` of a text, for all of them.
    fn naive(pattern: &[u8], text: &[u8]) -> bool {
        let mut fits = vec![vec![false; text.len() + 1]; pattern.len() + 1];
        fits[0][0] = true;
        for (i, octet) in pattern.iter().enumerate() {
            for j in 0..=text.len() {
                fits[i + 1][j] = match octet {
                    b'*' => fits[i][j] || (j > 0 && fits[i + 1][j - 1]),
                    octet => j > 0 && fits[i][j - 1] && (*octet == b'?' || *octet == text[j - 1]),
                };
            }
        }
        fits[pattern.len()][text.len()]
    }

    proptest! {
        #[test]
        fn as_the_naive_way(pattern in "[ab*?]{0,9}|[ab*?]{60,70}|[a*]{120,200}", text in "[ab]{0,12}|[ab]{50,130}|a{60,200}") {
            let fits = Pattern::new(&pattern).unwrap().fits(text.as_bytes());
            prop_assert_eq!(fits, naive(pattern.as_bytes(), text.as_bytes()));
        }
    }
}
