//! What counts of a message: kind, question, response code, EDNS; and the query in it, or that it answers.

use wire::{
    Name,
    edns::{DO, Options},
    header::{CD, HEADER_OCTETS, QR, RD, opcode, u16_at},
    iana::{class, edns_option, opcode as code, rtype},
    record::{RecordView, skip_name},
};

use super::Message;
use crate::query::{Edns, PAYLOAD_OCTETS, Query};

/// A message taken apart as far as it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts<'m> {
    /// Second pair of octets of the header.
    pub flags: u16,
    /// What it asks or answers.
    pub question: Asked<'m>,
    /// Questions, as the header says.
    pub questions: u16,
    /// Answer and authority records, as the header says.
    records: u32,
    /// The OPT record, if there is one.
    pub edns: Option<Opt>,
    /// A part that the header promises is not there or has no known form. Of messages that the capture cut, never.
    pub is_damaged: bool,
}

/// What a message asks or answers: its first question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Asked<'m> {
    Question {
        name: &'m Name,
        rtype: u16,
        class: u16,
    },
    /// The header says that there is none.
    Nothing,
    /// There is no question where one should be, or its name has no plain form.
    Unreadable,
}

/// What an OPT record says (RFC 6891 6.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opt {
    /// Payload size.
    pub payload_octets: u16,
    /// DO.
    pub dnssec_ok: bool,
    /// A COOKIE option (RFC 7873), whatever it holds.
    pub has_cookie: bool,
    /// Upper octet of the response code.
    upper_rcode: u8,
}

impl<'m> Parts<'m> {
    /// Takes a message apart; `None` where not even its header is there.
    pub fn read(message: &Message<'m>) -> Option<Parts<'m>> {
        let octets = message.octets;
        if octets.len() < HEADER_OCTETS {
            return None;
        }
        let [questions, answers, authorities, additional] = [4, 6, 8, 10].map(|at| u16_at(octets, at));
        let mut parts = Parts {
            flags: u16_at(octets, 2),
            question: asked(octets, questions),
            questions,
            records: u32::from(answers) + u32::from(authorities),
            edns: None,
            is_damaged: false,
        };
        let is_read = parts.read_records(octets, parts.records + u32::from(additional)).is_some();
        parts.is_damaged = !is_read && message.is_whole;
        Some(parts)
    }

    /// Goes through questions and records for OPT; `None` at the first that cannot be read.
    fn read_records(&mut self, octets: &[u8], count: u32) -> Option<()> {
        let mut at = HEADER_OCTETS;
        for _ in 0..self.questions {
            at = skip_name(octets, at)? + 4;
        }
        if at > octets.len() || self.question == Asked::Unreadable {
            return None;
        }
        for number in 0..count {
            let record = RecordView::read(octets, at)?;
            if record.rtype == rtype::OPT && number >= self.records {
                self.edns = Some(Opt {
                    payload_octets: record.class,
                    dnssec_ok: record.ttl as u16 & DO != 0,
                    has_cookie: Options::read(octets, record.rdata_at, record.rdata.len())
                        .is_some_and(|options| options.has(edns_option::COOKIE)),
                    upper_rcode: (record.ttl >> 24) as u8,
                });
            }
            at = record.end();
        }
        Some(())
    }

    /// QR is set.
    pub fn is_response(&self) -> bool {
        self.flags & QR != 0
    }

    /// Operation code.
    pub fn opcode(&self) -> u8 {
        opcode(self.flags)
    }

    /// Response code, its upper bits from OPT (RFC 6891 6.1.3).
    pub fn rcode(&self) -> u16 {
        u16::from(self.edns.map_or(0, |opt| opt.upper_rcode)) << 4 | self.flags & 15
    }

    /// The ordinary query that this is: opcode QUERY, class IN, one question, no records before the additional ones.
    pub fn query(&self) -> Option<Query> {
        (!self.is_response() && self.records == 0).then(|| self.asking(None))?
    }

    /// The ordinary query that this response answers. RD, CD and DO are copied into a response (RFC 1035 4.1.1,
    /// RFC 4035 3.1.6, RFC 3225 3), and who answers a cookie was sent one (RFC 7873 5.2); the payload size in it is the server's, so that of the query is taken as usual.
    pub fn rebuilt_query(&self) -> Option<Query> {
        self.is_response().then(|| self.asking(Some(PAYLOAD_OCTETS)))?
    }

    fn asking(&self, payload_octets: Option<u16>) -> Option<Query> {
        let Asked::Question { name, rtype, class: class::IN } = self.question else { return None };
        if self.opcode() != code::QUERY || self.questions != 1 {
            return None;
        }
        let edns = self.edns.map(|opt| Edns {
            payload_octets: payload_octets.unwrap_or(opt.payload_octets),
            dnssec_ok: opt.dnssec_ok,
            has_cookie: opt.has_cookie,
        });
        let (rd, cd) = (self.flags & RD != 0, self.flags & CD != 0);
        Some(Query { name: name.to_owned(), rtype, edns, rd, cd })
    }
}

/// The first question of a message.
fn asked(octets: &[u8], questions: u16) -> Asked<'_> {
    if questions == 0 {
        return Asked::Nothing;
    }
    match Name::split_from(&octets[HEADER_OCTETS..]) {
        Ok((name, rest)) if rest.len() >= 4 => {
            Asked::Question { name, rtype: u16_at(rest, 0), class: u16_at(rest, 2) }
        }
        _ => Asked::Unreadable,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::net::SocketAddr;

    use super::*;
    use crate::trace::Source;

    fn parts(octets: &[u8], is_whole: bool) -> Option<Parts<'_>> {
        let end: SocketAddr = "192.0.2.1:53".parse().unwrap();
        Parts::read(&Message {
            start: 0,
            time: 0,
            source: Source::Udp { from: end, to: end },
            octets,
            is_whole,
        })
    }

    fn packet(line: &str) -> Vec<u8> {
        let mut packet = Vec::new();
        Query::from_line(line.as_bytes()).unwrap().unwrap().write(&mut packet);
        packet
    }

    #[test]
    fn queries() {
        for line in ["Www.example. A", ". NS do=4096 rd", "x. TYPE999 edns=512 cd", "y. A do cookie"] {
            let mut octets = packet(line);
            assert_eq!(parts(&octets, true).unwrap().query().unwrap().to_string(), line);
            assert_eq!(parts(&octets, true).unwrap().rebuilt_query(), None);
            octets[2] |= 0x80;
            assert_eq!(parts(&octets, true).unwrap().query(), None);
            let rebuilt = parts(&octets, true).unwrap().rebuilt_query().unwrap();
            assert_eq!(rebuilt.to_string(), line.replace("=4096", "").replace("=512", ""));
            octets[2] = 5 << 3;
            assert_eq!(parts(&octets, true).unwrap().query(), None, "UPDATE");
        }
        let mut class = packet("a. A");
        class[18] = 3;
        assert_eq!(parts(&class, true).unwrap().query(), None);
    }

    #[test]
    fn response_codes() {
        let mut octets = packet("a. A edns");
        octets[2..4].copy_from_slice(&[0x80, 7]);
        let at = octets.len() - 6;
        octets[at] = 1;
        assert_eq!(parts(&octets, true).unwrap().rcode(), 23);
        // An OPT among the answers is none.
        octets[6..12].copy_from_slice(&[0, 1, 0, 0, 0, 0]);
        assert_eq!(parts(&octets, true).unwrap().rcode(), 7);
    }

    #[test]
    fn damage() {
        let octets = packet("www.example. AAAA do");
        for length in 0..octets.len() {
            let read = parts(&octets[..length], true);
            assert_eq!(read.is_some(), length >= 12);
            let Some(read) = read else { continue };
            assert!(read.is_damaged && !parts(&octets[..length], false).unwrap().is_damaged);
            assert_eq!(read.question == Asked::Unreadable, length < 29, "{length}");
        }
        let mut none = octets.clone();
        none[5] = 0;
        assert_eq!(parts(&none[..12], true).unwrap().question, Asked::Nothing);
        let pointer = [&octets[..12], &[0xc0, 12, 0, 1, 0, 1]].concat();
        assert_eq!(parts(&pointer, true).unwrap().question, Asked::Unreadable);
    }
}
