//! What a primary is asked: a probe of its SOA record, differences, or all of a zone.

use wire::edns::{OPT_OCTETS, OPTION_HEAD_OCTETS};
use wire::header::HEADER_OCTETS;
use wire::iana::{class, edns_option, rtype};
use wire::render::{Renderer, Section};
use wire::tsig::{Key, Mac};
use wire::{Name, NameBuf};

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The SOA record, to compare its serial.
    Soa,
    /// What has changed since our serial (RFC 1995).
    Ixfr,
    /// All of the zone (RFC 5936).
    Axfr,
}

impl Kind {
    /// The type in the question.
    pub fn qtype(self) -> u16 {
        match self {
            Kind::Soa => rtype::SOA,
            Kind::Ixfr => rtype::IXFR,
            Kind::Axfr => rtype::AXFR,
        }
    }
}

/// A question.
#[derive(Clone, Debug)]
pub struct Question {
    /// The zone.
    pub zone: NameBuf,
    /// What is asked for.
    pub kind: Kind,
    /// The serial that is held. Without one, or to take what the primary has whatever its serial: `None`, and then not IXFR.
    pub ours: Option<u32>,
    /// A random ID.
    pub id: u16,
    /// Whether it has an OPT record; some old servers answer FORMERR to it.
    pub has_edns: bool,
    /// Whether it goes over UDP.
    pub is_udp: bool,
}

/// Octets of UDP that we say we take: what goes over paths of any kind unfragmented (RFC 9715).
const UDP_PAYLOAD_OCTETS: u16 = 1232;
/// RDATA of the SOA record in a question for differences: two root names and five numbers, of which the first counts (RFC 1995 3).
const SOA_OCTETS: usize = 2 + 20;

/// A question as it is sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Octets in the buffer.
    pub octets: usize,
    /// The MAC of it, where it is signed.
    pub mac: Option<Mac>,
}

impl Question {
    /// Writes it to `buffer`, for which 1,024 octets are enough. `now`: seconds since 1970. `None` where there is no room.
    pub fn write(&self, buffer: &mut [u8], key: Option<&Key>, now: u64) -> Option<Sent> {
        let mut out = Renderer::new(buffer, u16::MAX.into(), 0)?;
        let mut header = [0; HEADER_OCTETS];
        header[..2].copy_from_slice(&self.id.to_be_bytes());
        out.copy_query(&header, HEADER_OCTETS).ok()?;
        let ([t, y], [c, l]) = (self.kind.qtype().to_be_bytes(), class::IN.to_be_bytes());
        out.octets(self.zone.octets()).ok()?;
        out.octets(&[t, y, c, l]).ok()?;
        if let (Kind::Ixfr, Some(ours)) = (self.kind, self.ours) {
            out.begin_section(Section::Authority);
            let [t, y] = rtype::SOA.to_be_bytes();
            let mut rdata = [0; SOA_OCTETS];
            rdata[2..6].copy_from_slice(&ours.to_be_bytes());
            // The name of the question stands behind the header.
            out.record(HEADER_OCTETS as u16, [t, y, c, l, 0, 0, 0, 0], &rdata).ok()?;
        }
        if self.has_edns {
            out.begin_section(Section::Additional);
            let ([t, y], [p, q]) = (rtype::OPT.to_be_bytes(), UDP_PAYLOAD_OCTETS.to_be_bytes());
            let [e, x] = edns_option::EXPIRE.to_be_bytes();
            let room = out.append(OPT_OCTETS + OPTION_HEAD_OCTETS, 1).ok()?;
            room.copy_from_slice(&[0, t, y, p, q, 0, 0, 0, 0, 0, OPTION_HEAD_OCTETS as u8, e, x, 0, 0]);
        }
        let octets = out.finish(0, 1);
        match key {
            None => Some(Sent { octets, mac: None }),
            Some(key) => {
                let (octets, mac) = key.sign(buffer, octets, now)?;
                Some(Sent { octets, mac: Some(mac) })
            }
        }
    }

    /// The zone's name.
    pub fn zone(&self) -> &Name {
        &self.zone
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use wire::Message;
    use wire::edns::Edns;
    use wire::tsig::{Algorithm, verify};
    use zone::change::soa_serial;

    fn question(kind: Kind, ours: Option<u32>) -> Question {
        Question {
            zone: NameBuf::from_text("a.example").unwrap(),
            kind,
            ours,
            id: 0x1234,
            has_edns: true,
            is_udp: false,
        }
    }

    #[test]
    fn differences_with_our_serial() {
        let mut buffer = [0; 1024];
        let sent = question(Kind::Ixfr, Some(77)).write(&mut buffer, None, 0).unwrap();
        let message = Message::read(&buffer[..sent.octets]).unwrap();
        assert_eq!((message.id(), message.flags(), message.counts()), (0x1234, 0, [0, 1, 1]));
        let records: Vec<_> = message.records().unwrap().map(Result::unwrap).collect();
        assert_eq!(records[0].section, Section::Authority);
        assert_eq!(soa_serial(records[0].view.rdata), Some(77));
        assert_eq!(records[0].owner_name(&mut [0; 255]).unwrap().to_string(), "a.example.");
        let (edns, is_whole) = Edns::read(message.octets(), &records[1].view);
        assert!(is_whole && edns.options.has(edns_option::EXPIRE) && edns.udp_payload_octets == 1232);
        assert_eq!(records[1].view.end(), sent.octets);
    }

    #[test]
    fn all_of_it_signed() {
        let key = Key::new(&NameBuf::from_text("key").unwrap(), Algorithm::HmacSha256, b"secret");
        let mut buffer = [0; 1024];
        let ask = Question { has_edns: false, ..question(Kind::Axfr, Some(77)) };
        let sent = ask.write(&mut buffer, Some(&key), 5).unwrap();
        let message = &buffer[..sent.octets];
        assert_eq!(Message::read(message).unwrap().counts(), [0, 0, 1]);
        assert!(sent.mac.is_some() && verify(message, &key, 5).is_ok());
        assert!(ask.write(&mut buffer[..40], Some(&key), 5).is_none());
    }
}
