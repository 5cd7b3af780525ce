//! What is wrong with a content whatever the form of its type: its length, control characters, comments, and what the reader of zone files would lose of text.

use wire::iana::rtype;
use wire::rdata;

use super::{CONTENT_OCTETS_MAX, Fault};

/// How much of a type is text, which blanks, quotes and parentheses outside of quotes part, or are lost from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prose {
    /// All: strings, of which one that is alone may stand without quotes.
    All,
    /// Some fields, or words that each are a string as they stand (RFC 9606 4).
    Some,
    None,
}

impl Prose {
    fn of(rtype: u16) -> Prose {
        match rtype {
            rtype::TXT | rtype::SPF | rtype::NINFO | rtype::AVC | rtype::WALLET | rtype::CLA => Prose::All,
            rtype::RESINFO | rtype::HINFO | rtype::ISDN | rtype::NAPTR | rtype::URI | rtype::CAA => {
                Prose::Some
            }
            _ => Prose::None,
        }
    }
}

pub(super) fn check(rtype: u16, content: &str) -> Result<(), Fault> {
    if content.len() > CONTENT_OCTETS_MAX {
        return Err(Fault::TooLong);
    }
    if !content.is_ascii() && rdata::has_names(rtype) {
        return Err(Fault::NotAscii);
    }
    let content = content.trim_matches([' ', '\t']);
    let (mut is_quoted, mut is_escaped) = (false, false);
    let (mut has_words, mut is_parted, mut has_parenthesis) = (false, false, false);
    for octet in content.bytes() {
        match octet {
            0..=8 | 10..=31 | 127 => return Err(Fault::Control),
            _ if is_escaped => has_words |= !is_quoted,
            b'"' => (is_quoted, is_parted) = (!is_quoted, true),
            _ if is_quoted => {}
            b';' => return Err(Fault::Comment),
            b' ' | b'\t' => is_parted = true,
            b'(' | b')' => has_parenthesis = true,
            _ => has_words = true,
        }
        is_escaped = octet == b'\\' && !is_escaped;
    }
    let is_lost = match Prose::of(rtype) {
        // What `\#` begins are octets.
        _ if content.split([' ', '\t']).next() == Some("\\#") => false,
        Prose::All => has_words && (is_parted || has_parenthesis),
        Prose::Some => has_parenthesis,
        Prose::None => false,
    };
    if is_lost { Err(Fault::BareWords) } else { Ok(()) }
}
