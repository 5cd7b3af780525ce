//! What a message says of itself: its head, its question, its EDNS. Messages are those of strangers, and may be none.

use wire::Name;
use wire::header::{self, HEADER_OCTETS};
use wire::iana::rtype;
use wire::record::Records;

/// The question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question<'m> {
    /// There is none (RFC 7873 5.4).
    None,
    /// What is asked.
    Asks { name: &'m Name, qtype: u16, qclass: u16 },
    /// There are several, or what is there is none.
    Malformed,
}

/// The head of a message, and its question.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'m> {
    message: &'m [u8],
    pub(crate) flags: u16,
    pub(crate) question: Question<'m>,
}

impl<'m> Seen<'m> {
    /// `None`: too short for a message.
    pub(crate) fn of(message: &'m [u8]) -> Option<Seen<'m>> {
        let rest = message.get(HEADER_OCTETS..)?;
        let question = match header::u16_at(message, 4) {
            0 => Question::None,
            1 => match Name::split_from(rest) {
                Ok((name, rest)) if rest.len() >= 4 => {
                    Question::Asks { name, qtype: header::u16_at(rest, 0), qclass: header::u16_at(rest, 2) }
                }
                _ => Question::Malformed,
            },
            _ => Question::Malformed,
        };
        Some(Seen { message, flags: header::u16_at(message, 2), question })
    }

    /// The TTL of the OPT record (RFC 6891 6.1.3): the upper bits of the code, the version, flags. All records before it are passed over, which are as many as
    /// the message has octets for.
    fn opt(&self) -> Option<u32> {
        // A response without additional records has none.
        (header::u16_at(self.message, 10) > 0).then_some(())?;
        let records = Records::of(self.message)?.map_while(|placed| placed);
        records.map(|placed| placed.record).find(|record| record.rtype == rtype::OPT).map(|record| record.ttl)
    }

    /// The whole code of a response, and whether DO is set.
    pub(crate) fn extended(&self) -> (u16, bool) {
        let ttl = self.opt().unwrap_or(0);
        (self.flags & 0xf | (ttl >> 20) as u16 & 0xff0, ttl & DO != 0)
    }
}

/// DNSSEC OK, in the TTL of an OPT record (RFC 3225 3).
const DO: u32 = 0x8000;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_is_not_read() {
        assert!(Seen::of(&[0; 11]).is_none());
        let mut message = [0; 12];
        assert_eq!(Seen::of(&message).unwrap().question, Question::None);
        message[5] = 1;
        assert_eq!(Seen::of(&message).unwrap().question, Question::Malformed, "a question is missing");
        message[5] = 2;
        assert_eq!(Seen::of(&message).unwrap().question, Question::Malformed, "two");
        let pointer = [&message[..5], &[1], &message[6..], b"\xc0\x0c\0\x01\0\x01"].concat();
        assert_eq!(Seen::of(&pointer).unwrap().question, Question::Malformed, "a name that points at itself");
    }

    #[test]
    fn codes_have_upper_bits() {
        let head = b"\0\0\x81\x03\0\x01\0\0\0\0\0\x01";
        let message = [&head[..], b"\x01a\0\0\x01\0\x01", b"\0\0\x29\x04\xd0\x01\0\x80\0\0\0"].concat();
        let seen = Seen::of(&message).unwrap();
        assert_eq!(seen.extended(), (0x13, true));
        assert!(matches!(seen.question, Question::Asks { qtype: 1, qclass: 1, .. }));
        assert_eq!(Seen::of(&message[..message.len() - 1]).unwrap().extended(), (3, false), "cut off");
    }
}
