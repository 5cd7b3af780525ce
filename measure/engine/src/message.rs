//! Queries read and responses written (RFC 1035 4.1), with no compression but of owners that end the query name.

use wire::Name;

use crate::{database::Answer, rrset::RRset};
use std::ops::Deref;

/// Octets of a header.
const HEADER_OCTETS: usize = 12;
/// What a client without EDNS takes (RFC 1035 4.2.1).
const PLAIN_OCTETS: usize = 512;
/// What the engine sends at most (RFC 9715).
pub const RESPONSE_OCTETS_MAX: usize = 1232;
/// Type and fixed octets of an OPT record (RFC 6891 6.1.2).
const OPT: u16 = 41;
const OPT_OCTETS: usize = 11;

/// A query as read.
pub struct Query<'p> {
    packet: &'p [u8],
    /// Its name as sent.
    pub name: &'p Name,
    /// Its type.
    pub qtype: u16,
    /// End of the question.
    end: usize,
    /// What the client takes, where it says so.
    payload: Option<usize>,
}

impl<'p> Query<'p> {
    /// Of a packet; nothing where it is not a query of one question that this engine answers.
    pub fn read(packet: &'p [u8]) -> Option<Query<'p>> {
        let header = packet.first_chunk::<HEADER_OCTETS>()?;
        // QR and opcode 0, one question, nothing but OPT after it.
        if header[2] & 0xf8 != 0 || header[4..6] != [0, 1] || header[6..10] != [0; 4] || header[10] != 0 {
            return None;
        }
        let (name, rest) = Name::split_from(&packet[HEADER_OCTETS..]).ok()?;
        let (question, rest) = rest.split_first_chunk::<4>()?;
        if question[2..] != [0, 1] {
            return None;
        }
        let payload = match (header[11], rest) {
            (0, _) => None,
            (_, [0, high, low, octets_high, octets_low, ..])
                if u16::from_be_bytes([*high, *low]) == OPT && rest.len() >= OPT_OCTETS =>
            {
                Some(usize::from(u16::from_be_bytes([*octets_high, *octets_low])))
            }
            _ => return None,
        };
        let end = HEADER_OCTETS + name.octets().len() + 4;
        let qtype = u16::from_be_bytes([question[0], question[1]]);
        Some(Query { packet, name, qtype, end, payload })
    }

    /// Most octets of a response.
    pub fn limit(&self) -> usize {
        self.payload.map_or(PLAIN_OCTETS, |octets| octets.clamp(PLAIN_OCTETS, RESPONSE_OCTETS_MAX))
    }

    /// Writes a response into `out`, which is at least [`Query::limit`] long; returns its octets.
    pub fn respond<S: Deref<Target = RRset>>(&self, answer: &Answer<S>, out: &mut [u8]) -> usize {
        let limit = self.limit().min(out.len());
        let mut writer = Writer { out: &mut out[..limit], used: 0, name: self.name.octets() };
        let opt_octets = if self.payload.is_some() { OPT_OCTETS } else { 0 };
        writer.put(&self.packet[..self.end]);
        let mut counts = [0u16; 3];
        let mut is_cut_short = false;
        let room = limit - opt_octets;
        for (number, set) in answer.sets.iter().enumerate() {
            let section = answer.ends.iter().filter(|&&end| number >= end).count();
            match writer.set(set, room) {
                Some(count) => counts[section] += count,
                None => {
                    // Of a referral the addresses matter too (RFC 9471).
                    is_cut_short |= section < 2 || answer.is_referral;
                    break;
                }
            }
        }
        if self.payload.is_some() {
            writer.put(&[
                0,
                0,
                OPT as u8,
                (RESPONSE_OCTETS_MAX >> 8) as u8,
                RESPONSE_OCTETS_MAX as u8,
                0,
                0,
                0,
                0,
                0,
                0,
            ]);
            counts[2] += 1;
        }
        let used = writer.used;
        let header = &mut out[..HEADER_OCTETS];
        header[2] = 0x80
            | header[2] & 1
            | u8::from(is_cut_short) << 1
            | u8::from(!answer.is_referral && answer.rcode != 5) << 2;
        header[3] = answer.rcode;
        for (section, count) in counts.into_iter().enumerate() {
            header[6 + 2 * section..8 + 2 * section].copy_from_slice(&count.to_be_bytes());
        }
        used
    }
}

struct Writer<'o> {
    out: &'o mut [u8],
    used: usize,
    /// Of the question.
    name: &'o [u8],
}

impl Writer<'_> {
    fn put(&mut self, octets: &[u8]) {
        self.out[self.used..self.used + octets.len()].copy_from_slice(octets);
        self.used += octets.len();
    }

    /// Writes a whole set, or nothing of it where it does not end before `room`.
    fn set(&mut self, set: &RRset, room: usize) -> Option<u16> {
        let pointer;
        let above = self.name.len().checked_sub(set.owner.len());
        let owner = match above.filter(|&at| self.name[at..].eq_ignore_ascii_case(&set.owner)) {
            // The root is shorter than a pointer to it.
            Some(at) if set.owner.len() > 1 => {
                pointer = (0xc000 | (HEADER_OCTETS + at) as u16).to_be_bytes();
                &pointer[..]
            }
            _ => &set.owner,
        };
        let start = self.used;
        let mut count = 0;
        for record in set.records() {
            if self.used + owner.len() + record.len() > room {
                self.used = start;
                return None;
            }
            self.put(owner);
            self.put(record);
            count += 1;
        }
        Some(count)
    }
}

/// A query as a packet, with EDNS.
pub fn query_packet(name: &Name, qtype: u16) -> Vec<u8> {
    let mut packet = vec![0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1];
    packet.extend_from_slice(name.octets());
    packet.extend_from_slice(&qtype.to_be_bytes());
    packet.extend_from_slice(&[0, 1]);
    packet.extend_from_slice(&[
        0,
        0,
        OPT as u8,
        (RESPONSE_OCTETS_MAX >> 8) as u8,
        RESPONSE_OCTETS_MAX as u8,
        0,
        0,
        0,
        0,
        0,
        0,
    ]);
    packet
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::few::Few;

    fn name(text: &str) -> wire::NameBuf {
        text.parse().unwrap()
    }

    #[test]
    fn reads_queries_and_nothing_else() {
        let packet = query_packet(&name("a.example."), 28);
        let query = Query::read(&packet).unwrap();
        assert_eq!((query.name.to_string().as_str(), query.qtype, query.limit()), ("a.example.", 28, 1232));
        for end in 0..packet.len() {
            assert!(Query::read(&packet[..end]).is_none(), "{end}");
        }
        let mut response = packet.clone();
        response[2] = 0x80;
        assert!(Query::read(&response).is_none());
        let mut plain = packet[..packet.len() - OPT_OCTETS].to_vec();
        plain[11] = 0;
        assert_eq!(Query::read(&plain).unwrap().limit(), 512);
    }

    #[test]
    fn writes_sections_and_says_what_does_not_fit() {
        let packet = query_packet(&name("a.example."), 2);
        let query = Query::read(&packet).unwrap();
        let servers = RRset::new(b"\x07example\0", 2, 5, [&b"\x02ns\x07example\0"[..]]);
        let address = RRset::new(b"\x02ns\x07example\0", 1, 5, [&[192u8, 0, 2, 1][..]]);
        let mut sets = Few::new();
        sets.push(&servers);
        sets.push(&address);
        let mut answer = Answer { rcode: 0, is_referral: true, sets, ends: [0, 1] };
        let mut out = [0; 1232];
        let octets = query.respond(&answer, &mut out);
        assert_eq!(out[2..12], [0x80, 0, 0, 1, 0, 0, 0, 1, 0, 2]);
        assert_eq!(out[query.end..query.end + 2], [0xc0, 14], "a pointer to example");
        assert_eq!(octets, query.end + 2 + 10 + 12 + 12 + 10 + 4 + OPT_OCTETS);
        let many = RRset::new(b"\0", 1, 5, vec![&[1u8, 2, 3, 4][..]; 100]);
        answer.sets.push(&many);
        let octets_cut = query.respond(&answer, &mut out);
        assert_eq!((octets_cut, out[2]), (octets, 0x82));
    }
}
