//! The options of a query's OPT record (RFC 6891 6.1.2): which there are, found in one pass; what they hold is read by whom it
//! concerns.

use crate::edns::OPTION_HEAD_OCTETS;
use crate::header::u16_at;
use crate::iana::edns_option;

/// Options with codes below this have a bit: all that are assigned, and room for more.
const CODES: u16 = 32;
const _: () = assert!(edns_option::ZONEVERSION < CODES);

/// Which options an OPT record has, and where. Small, as it goes along with every query.
///
/// Of an option that comes more than once the first counts; codes that nobody knows are passed over (RFC 6891 6.1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// A bit for each code that is there.
    codes: u32,
    /// Offset of the RDATA in the message, its length before it; 0 where there are no options.
    at: u16,
    /// Offset of the first COOKIE option's data; 0 where there is none: there the header stands.
    cookie: u16,
}

impl Options {
    /// No options.
    pub const NONE: Options = Options { codes: 0, at: 0, cookie: 0 };

    /// Reads the heads of the options in the RDATA at `at` of a message, `octets` long, as the two octets before it say; `None` when
    /// the last is cut off. Each takes at least four octets, which bounds the work.
    pub fn read(message: &[u8], at: usize, octets: usize) -> Option<Options> {
        let rdata = message.get(at..at + octets)?;
        let (mut codes, mut cookie) = (0, 0);
        let mut rest = rdata;
        while let Some((&[c, d, l, m], data)) = rest.split_first_chunk::<OPTION_HEAD_OCTETS>() {
            let code = u16::from_be_bytes([c, d]);
            if code < CODES {
                if code == edns_option::COOKIE && cookie == 0 {
                    cookie = at + octets - data.len();
                }
                codes |= 1 << code;
            }
            rest = data.get(u16::from_be_bytes([l, m]) as usize..)?;
        }
        // Messages have at most 65,535 octets, so the offsets fit.
        let [at, cookie] = [at, cookie].map(|number| number as u16);
        match rest {
            [] if rdata.is_empty() => Some(Options::NONE),
            [] => Some(Options { codes, at, cookie }),
            _ => None,
        }
    }

    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.at == 0
    }

    /// Whether an option is there; false for codes that are not assigned.
    #[inline(always)]
    pub fn has(&self, code: u16) -> bool {
        code < CODES && self.codes & 1 << code != 0
    }

    /// What the first option with this code holds. `message`: the one that was read.
    #[inline]
    pub fn data<'m>(&self, message: &'m [u8], code: u16) -> Option<&'m [u8]> {
        if code < CODES && !self.has(code) {
            return None;
        }
        let mut at = self.at as usize;
        let end = at + u16_at(message, at.checked_sub(2)?) as usize;
        while at < end {
            let data = at + OPTION_HEAD_OCTETS;
            let length = u16_at(message, at + 2) as usize;
            if u16_at(message, at) == code {
                return message.get(data..data + length);
            }
            at = data + length;
        }
        None
    }

    /// What the first COOKIE option holds (RFC 7873 4), without a search.
    #[inline(always)]
    pub fn cookie<'m>(&self, message: &'m [u8]) -> Option<&'m [u8]> {
        if self.cookie == 0 {
            return None;
        }
        let at = self.cookie as usize;
        message.get(at..at + u16_at(message, at - 2) as usize)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const MESSAGE: &[u8] =
        b"----------\0\x1b\0\x0a\0\x02ab\xff\xff\0\x01u\0\x03\0\0\0\x0a\0\x02cd\0\x0f\0\x02\0\x14";

    #[test]
    fn what_is_there() {
        let options = Options::read(MESSAGE, 12, MESSAGE.len() - 12).unwrap();
        assert!(options.has(edns_option::NSID) && options.has(edns_option::COOKIE) && !options.is_empty());
        assert!(!options.has(edns_option::EXPIRE) && !options.has(0xffff) && !options.has(33));
        assert_eq!(options.data(MESSAGE, edns_option::COOKIE), Some(&b"ab"[..]));
        assert_eq!(options.cookie(MESSAGE), Some(&b"ab"[..]));
        assert_eq!(options.data(MESSAGE, edns_option::NSID), Some(&b""[..]));
        assert_eq!(options.data(MESSAGE, edns_option::EDE), Some(&b"\0\x14"[..]));
        assert_eq!(options.data(MESSAGE, 0xffff), Some(&b"u"[..]));
        assert_eq!(options.data(MESSAGE, edns_option::EXPIRE), None);
        assert_eq!(options.data(MESSAGE, 40), None);
        assert_eq!(MESSAGE.len() - 12, 0x1b);
        let none = Options::read(MESSAGE, 12, 0).unwrap();
        assert!(none.is_empty() && none.cookie(MESSAGE).is_none());
        assert_eq!(Options::NONE.data(MESSAGE, edns_option::NSID), None);
    }

    #[test]
    fn what_is_cut_off() {
        let whole = [12, 18, 23, 27, 33, MESSAGE.len()];
        for end in 12..=MESSAGE.len() {
            let options = Options::read(&MESSAGE[..end], 12, end - 12);
            assert_eq!(options.is_some(), whole.contains(&end), "{end}");
        }
        assert_eq!(Options::read(MESSAGE, 12, MESSAGE.len() - 11), None);
    }

    /// As many as a message can hold: they are passed over once, and nothing is kept of each.
    #[test]
    fn a_list_as_long_as_a_message() {
        let mut message = vec![0; 23];
        (0..16_378).for_each(|_| message.extend([0xff, 0xff, 0, 0]));
        assert!(message.len() + 4 + 8 > 65_535 && message.len() <= 65_535);
        message.truncate(65_535 - 12);
        message.truncate(23 + (message.len() - 23) / 4 * 4);
        message.extend([0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8]);
        let options = Options::read(&message, 23, message.len() - 23).unwrap();
        assert_eq!(options.cookie(&message), Some(&[1, 2, 3, 4, 5, 6, 7, 8][..]));
        assert_eq!(size_of::<Options>(), 8);
    }
}
