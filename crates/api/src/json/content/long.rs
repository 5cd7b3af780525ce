//! Strings that are longer than strings of DNS are: clients leave it to PowerDNS to part them.

use wire::iana::rtype;

/// Octets of a character-string (RFC 1035 3.3).
const STRING_OCTETS_MAX: usize = u8::MAX as usize;

/// Appends a content. Of text a quoted string of more than 255 octets becomes several, each as long as may be: octoDNS and DNSControl send keys of DKIM as one.
pub(super) fn put(rtype: u16, content: &str, out: &mut Vec<u8>) {
    let mut rest = content.as_bytes();
    if !matches!(rtype, rtype::TXT | rtype::SPF) || rest.len() <= STRING_OCTETS_MAX {
        out.extend_from_slice(rest);
        return;
    }
    let (mut is_quoted, mut octets) = (false, 0);
    while !rest.is_empty() {
        let (one, after) = rest.split_at(letters(rest));
        if one == b"\"" {
            (is_quoted, octets) = (!is_quoted, 0);
        } else if is_quoted && octets == STRING_OCTETS_MAX {
            out.extend_from_slice(b"\" \"");
            octets = 1;
        } else {
            octets += 1;
        }
        out.extend_from_slice(one);
        rest = after;
    }
}

/// How many letters stand for the first octet.
fn letters(text: &[u8]) -> usize {
    match text {
        [b'\\', a, b, c, ..] if [a, b, c].iter().all(|digit| digit.is_ascii_digit()) => 4,
        [b'\\', _, ..] => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content: &str, expected: &str) {
        let mut out = Vec::new();
        put(rtype::TXT, content, &mut out);
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    #[test]
    fn strings_are_parted_where_they_are_too_long() {
        let x = |count: usize| "x".repeat(count);
        check(&format!("\"{}\"", x(255)), &format!("\"{}\"", x(255)));
        check(&format!("\"{}\"", x(256)), &format!("\"{}\" \"x\"", x(255)));
        check(&format!("\"{}\"", x(510)), &format!("\"{0}\" \"{0}\"", x(255)));
        check(&format!("\"{0}\" \"{0}\"", x(200)), &format!("\"{0}\" \"{0}\"", x(200)));
        // What stands for one octet is not parted.
        check(&format!("\"{}\\\"\\032y\"", x(254)), &format!("\"{}\\\"\" \"\\032y\"", x(254)));
        // Without quotes, and of other types, it is as it was.
        check(&x(300), &x(300));
        let mut out = Vec::new();
        let long = format!("0 issue \"{}\"", x(300));
        put(rtype::CAA, &long, &mut out);
        assert_eq!(out, long.as_bytes());
    }
}
