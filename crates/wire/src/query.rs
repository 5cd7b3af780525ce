//! A query as a server reads it: one question, perhaps OPT, perhaps TSIG, or the reason why not.
//!
//! Nearly all queries are a header, a question, and nothing or one OPT record at the end: those are recognised by a few
//! comparisons and a look at the heads of the options, [`PlainQuery`]. All others take the way through every record, [`Query`].

use crate::edns::{self, Edns, OPT_OCTETS, Options};
use crate::header::{self, HEADER_OCTETS, u16_at};
use crate::iana::{class, opcode, rtype};
use crate::places::Places;
use crate::question::Question;
use crate::record::RecordView;

/// What is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Several questions (RFC 9619), or one that cannot be read.
    Question,
    /// No question; records were read all the same (RFC 7873 5.4 has such queries).
    NoQuestion,
    /// A record after the question cannot be read.
    Record,
    /// An OPT record that is not the only one, not in the additional section, not at the root or malformed (RFC 6891 6.1.1).
    Opt,
    /// A TSIG record that is not the last one (RFC 8945 5.1).
    Tsig,
}

/// A query of the kind that nearly all are: operation QUERY, one question of class IN for a type that data has, and nothing else or one
/// OPT record of version 0 with any options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainQuery {
    /// Its flags.
    pub flags: u16,
    /// The type asked for.
    pub qtype: u16,
    /// Where the question ends.
    pub end: usize,
    /// Its OPT record, if there is one.
    pub edns: Option<Edns>,
}

impl PlainQuery {
    /// Reads a message; `None` when it is of another kind, and then [`Query::read`] says of which.
    #[inline(always)]
    pub fn read(message: &[u8], places: &mut Places) -> Option<PlainQuery> {
        let (&[_, _, f, g, counts @ ..], _) = message.split_first_chunk::<HEADER_OCTETS>()?;
        let flags = u16::from_be_bytes([f, g]);
        let counts = u64::from_be_bytes(counts);
        if flags & (header::QR | header::OPCODE_MASK) != 0 || counts & !1 != 1 << 48 {
            return None;
        }
        let question = Question::read(message, places).ok()?;
        if question.qclass != class::IN || rtype::is_meta(question.qtype) {
            return None;
        }
        let edns = match counts & 1 {
            0 => None,
            _ => match message.get(question.end..)?.first_chunk::<OPT_OCTETS>()? {
                &[0, 0, 41, p, q, _, edns::VERSION, flags, _, l, m] => Some(Edns {
                    udp_payload_octets: u16::from_be_bytes([p, q]),
                    version: edns::VERSION,
                    dnssec_ok: flags & 0x80 != 0,
                    options: match u16::from_be_bytes([l, m]) {
                        0 => Options::NONE,
                        octets => Options::read(message, question.end + OPT_OCTETS, octets.into())?,
                    },
                }),
                _ => return None,
            },
        };
        Some(PlainQuery { flags, qtype: question.qtype, end: question.end, edns })
    }

    /// The same as a [`Query`]; `message` is the one that was read.
    #[inline(always)]
    pub fn query<'q>(&self, message: &'q [u8]) -> Query<'q> {
        let PlainQuery { flags, qtype, end, edns } = *self;
        let question = Some(Question { qtype, qclass: class::IN, end });
        Query { message, flags, question, edns, tsig: None, fault: None }
    }
}

/// A query, read.
#[derive(Clone, Copy, Debug)]
pub struct Query<'q> {
    /// The message.
    pub message: &'q [u8],
    /// Its flags.
    pub flags: u16,
    /// Its question, if it could be read; the name is in the caller's [`Places`].
    pub question: Option<Question>,
    /// Its OPT record, if there is one.
    pub edns: Option<Edns>,
    /// Its TSIG record, if there is one (RFC 8945).
    pub tsig: Option<RecordView<'q>>,
    /// What is wrong with it. The fields above then hold what was read before.
    pub fault: Option<Fault>,
}

impl<'q> Query<'q> {
    /// Reads a message; `None` for what must not be answered: less than a header, and responses.
    ///
    /// Other operations than QUERY may have other contents than a question, so there only a question that can be
    /// read is taken note of, and only OPT and TSIG out of place are faults. Octets after the last record are ignored, as others do.
    #[cold]
    pub fn read(message: &'q [u8], places: &mut Places) -> Option<Query<'q>> {
        if message.len() < HEADER_OCTETS {
            return None;
        }
        let flags = u16_at(message, 2);
        if flags & header::QR != 0 {
            return None;
        }
        let mut query = Query { message, flags, question: None, edns: None, tsig: None, fault: None };
        // Answer, authority and additional counts.
        let counts = [u16_at(message, 6), u16_at(message, 8), u16_at(message, 10)];
        let is_query = header::opcode(flags) == opcode::QUERY;
        match u16_at(message, 4) {
            1 => query.question = Question::read(message, places).ok(),
            0 if is_query => {
                query.read_records(HEADER_OCTETS, counts);
                query.fault = query.fault.or(Some(Fault::NoQuestion));
                return Some(query);
            }
            _ => {}
        }
        let Some(question) = query.question else {
            query.fault = is_query.then_some(Fault::Question);
            return Some(query);
        };
        query.read_records(question.end, counts);
        if !is_query {
            // What else is in the message is not known here, where OPT and TSIG stand is the same for all.
            query.fault = query.fault.filter(|fault| matches!(fault, Fault::Opt | Fault::Tsig));
        }
        Some(query)
    }

    /// Reads all records. Each takes at least eleven octets, which bounds the work.
    fn read_records(&mut self, start: usize, counts: [u16; 3]) {
        let mut at = start;
        for (section, count) in counts.into_iter().enumerate() {
            for left in (0..count).rev() {
                let Some(record) = RecordView::read(self.message, at) else {
                    self.fault = Some(Fault::Record);
                    return;
                };
                at = record.end();
                self.fault = match record.rtype {
                    rtype::OPT => self.read_opt(&record, section),
                    rtype::TSIG if section != 2 || left > 0 => Some(Fault::Tsig),
                    rtype::TSIG => {
                        self.tsig = Some(record);
                        None
                    }
                    _ => None,
                };
                if self.fault.is_some() {
                    return;
                }
            }
        }
    }

    fn read_opt(&mut self, record: &RecordView<'_>, section: usize) -> Option<Fault> {
        let is_first = self.edns.is_none();
        let (edns, is_whole) = Edns::read(self.message, record);
        if is_first {
            self.edns = Some(edns);
        }
        let is_root = self.message.get(record.owner) == Some(&0);
        (!is_first || !is_whole || !is_root || section != 2).then_some(Fault::Opt)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const OPT: &[u8] = b"\0\0\x29\x10\0\0\0\x80\0\0\0";
    const NSID: &[u8] = b"\0\0\x29\x02\0\0\x01\0\0\0\x04\0\x03\0\0";
    const TSIG: &[u8] = b"\x01k\0\0\xfa\0\xff\0\0\0\0\0\x02xx";
    const A: &[u8] = b"\xc0\x0c\0\x01\0\x01\0\0\0\0\0\x04abcd";

    fn message(flags: u16, counts: [u16; 4], records: &[&[u8]]) -> Vec<u8> {
        let mut octets = vec![0xab, 0xcd];
        octets.extend(flags.to_be_bytes());
        counts.iter().for_each(|count| octets.extend(count.to_be_bytes()));
        octets.extend(b"\x03www\x02Ex\0\0\x1c\0\x01");
        octets.extend(records.concat());
        octets
    }

    #[track_caller]
    fn check(counts: [u16; 4], records: &[&[u8]], fault: Option<Fault>) {
        let message = message(0x0100, counts, records);
        let query = Query::read(&message, &mut Places::new()).unwrap();
        assert_eq!(query.fault, fault);
    }

    #[test]
    fn plain_and_edns() {
        let octets = message(0x0110, [1, 0, 0, 1], &[OPT]);
        let mut places = Places::new();
        let query = Query::read(&octets, &mut places).unwrap();
        assert_eq!(query.question, Some(Question { qtype: 28, qclass: 1, end: 24 }));
        assert_eq!(places.labels(), [12, 16]);
        let edns = query.edns.unwrap();
        assert!(edns.dnssec_ok && edns.udp_payload_octets == 4096 && edns.version == 0);
        let octets = message(0, [1, 0, 0, 1], &[NSID]);
        let edns = Query::read(&octets, &mut places).unwrap().edns.unwrap();
        assert!(edns.wants_nsid() && !edns.dnssec_ok && edns.version == 1);
    }

    /// What is plain is read the same both ways, and what is not is not.
    #[test]
    fn plain_is_what_it_seems() {
        let mut places = Places::new();
        let version = [&OPT[..6], b"\x01", &OPT[7..]].concat();
        let options = [&OPT[..10], b"\x0e\0\x0a\0\x01c\xff\xff\0\x01x\0\x03\0\0"].concat();
        let cut = [&OPT[..10], b"\x05\0\x03\0\0\xff"].concat();
        let beyond = [&OPT[..10], b"\x04\0\x03\0\x01\xff"].concat();
        for (flags, counts, records, is_plain) in [
            (0x0100, [1, 0, 0, 0], &[][..], true),
            (0x07ff, [1, 0, 0, 1], &[OPT][..], true),
            (0, [1, 0, 0, 1], &[&options[..], b"trailing"][..], true),
            (0, [1, 0, 0, 1], &[&cut[..]][..], false),
            (0, [1, 0, 0, 1], &[&beyond[..]][..], false),
            (0, [1, 0, 0, 1], &[&options[..options.len() - 1]][..], false),
            (0, [1, 0, 0, 2], &[OPT, TSIG][..], false),
            (0, [1, 0, 0, 0], &[&b"trailing"[..]][..], true),
            (0x8000, [1, 0, 0, 0], &[][..], false),
            (0x2000, [1, 0, 0, 0], &[][..], false),
            (0, [1, 0, 0, 1], &[NSID][..], false),
            (0, [1, 0, 0, 1], &[&version[..]][..], false),
            (0, [1, 0, 0, 1], &[&OPT[..10]][..], false),
            (0, [1, 0, 1, 0], &[OPT][..], false),
            (0, [0, 0, 0, 0], &[][..], false),
            (0, [2, 0, 0, 0], &[][..], false),
        ] {
            let message = message(flags, counts, records);
            let plain = PlainQuery::read(&message, &mut places);
            assert_eq!(plain.is_some(), is_plain, "{flags:x} {counts:?}");
            let Some(plain) = plain else { continue };
            let (plain, whole) = (plain.query(&message), Query::read(&message, &mut places).unwrap());
            assert_eq!((plain.flags, plain.question, plain.edns), (whole.flags, whole.question, whole.edns));
            assert!(whole.tsig.is_none() && whole.fault.is_none());
        }
        let mut other_class = message(0, [1, 0, 0, 0], &[]);
        other_class[23] = 3;
        assert!(PlainQuery::read(&other_class, &mut places).is_none());
    }

    #[test]
    fn faults() {
        check([1, 0, 0, 0], &[b"trailing"], None);
        check([1, 1, 1, 2], &[A, A, OPT, TSIG], None);
        check([0, 0, 0, 0], &[], Some(Fault::NoQuestion));
        check([2, 0, 0, 0], &[], Some(Fault::Question));
        check([1, 0, 0, 1], &[], Some(Fault::Record));
        check([1, 0, 0, 2], &[OPT, NSID], Some(Fault::Opt));
        check([1, 1, 0, 0], &[OPT], Some(Fault::Opt));
        check([1, 0, 0, 1], &[&[b"\x01x", OPT].concat()], Some(Fault::Opt));
        check([1, 0, 0, 1], &[&NSID[..13]], Some(Fault::Record));
        check([1, 0, 0, 1], &[b"\0\0\x29\x02\0\0\0\0\0\0\x02\0\x03"], Some(Fault::Opt));
        check([1, 0, 0, 2], &[TSIG, OPT], Some(Fault::Tsig));
        check([1, 0xffff, 0, 0], &[A, A], Some(Fault::Record));
    }

    #[test]
    fn what_is_not_answered() {
        let mut places = Places::new();
        assert!(Query::read(&message(0x8000, [1, 0, 0, 0], &[]), &mut places).is_none());
        assert!(Query::read(&[0; 11], &mut places).is_none());
        let update = Query::read(&message(0x2800, [1, 9, 9, 9], &[]), &mut places).unwrap().fault;
        assert_eq!(update, None);
    }
}
