//! What is looked at before the records of a message: signature, header, question; and the OPT record.

use super::fault::Fault;
use super::{Incoming, Kind, Times};
use wire::edns::Edns;
use wire::header::{self, HEADER_OCTETS, u16_at};
use wire::iana::{class, edns_option, opcode, rcode};
use wire::message::Message;
use wire::record::RecordView;
use wire::{Name, Places};

impl Incoming<'_> {
    /// Checks all of a message but its records.
    pub(super) fn head<'m>(&mut self, octets: &'m [u8], at: Times) -> Result<Message<'m>, Fault> {
        let message = Message::read(octets).map_err(Fault::Message)?;
        let flags = message.flags();
        let code = flags & 0xf;
        if let Some(tsig) = &mut self.tsig {
            tsig.check(octets, at.unix).map_err(|fault| Fault::Tsig(fault, code))?;
        }
        if message.id() != self.question.id {
            return Err(Fault::Id);
        }
        if flags & header::QR == 0 || message.opcode() != opcode::QUERY {
            return Err(Fault::NotResponse);
        }
        if code != rcode::NOERROR {
            return Err(Fault::Rcode(code));
        }
        self.question_of(&message)?;
        let is_authoritative = flags & header::AA != 0;
        if self.question.kind == Kind::Soa && !is_authoritative {
            return Err(Fault::NotAuthoritative);
        }
        Ok(message)
    }

    /// Whether a datagram was cut, so that the question has to go over TCP; a fault where that cannot be. Whoever says so, signed or not,
    /// gains nothing by it. Looked at before all else, as what is cut has fewer records than its header says (RFC 2181 9).
    pub(super) fn is_cut(&self, octets: &[u8]) -> Result<bool, Fault> {
        let flags = u16_at(octets, 2);
        match (flags & header::QR != 0 && flags & header::TC != 0, self.question.is_udp) {
            (true, false) => Err(Fault::Truncated),
            (is_cut, _) => Ok(is_cut && u16_at(octets, 0) == self.question.id),
        }
    }

    /// Whether a datagram may be the answer: one with another ID or question comes from somebody else, or is late, and the right one
    /// is still waited for.
    pub fn may_be_answer(&self, octets: &[u8]) -> bool {
        let question = octets.get(HEADER_OCTETS..).and_then(|rest| Name::split_from(rest).ok());
        let is_ours = |(name, rest): (&Name, &[u8])| {
            name.eq_ignore_case(self.question.zone()) && u16_at(rest, 0) == self.question.kind.qtype()
        };
        u16_at(octets, 0) == self.question.id
            && u16_at(octets, 2) & header::QR != 0
            && (u16_at(octets, 4) == 0 || question.is_some_and(is_ours))
    }

    /// The first message must have the question, later ones may (RFC 5936 2.2.1).
    fn question_of(&mut self, message: &Message<'_>) -> Result<(), Fault> {
        let mut places = Places::new();
        let Some(found) = message.question(&mut places).map_err(Fault::Message)? else {
            return if self.counts.messages <= 1 { Err(Fault::NoQuestion) } else { Ok(()) };
        };
        // Its name is not compressed, and was just read.
        let name = message.octets().get(HEADER_OCTETS..found.end - 4).unwrap_or_default();
        let is_ours = Name::trusted(name).eq_ignore_case(self.question.zone())
            && (found.qtype, found.qclass) == (self.question.kind.qtype(), class::IN);
        if is_ours { Ok(()) } else { Err(Fault::OtherQuestion) }
    }

    /// Reads the OPT record of a message; returns the response code if that is more than the header says.
    pub(super) fn options(&mut self, octets: &[u8], record: &RecordView<'_>) -> u16 {
        let (edns, _) = Edns::read(octets, record);
        // RFC 7314 3: four octets, seconds.
        let expire = edns.options.data(octets, edns_option::EXPIRE);
        if let Some(&seconds) = expire.and_then(|data| <&[u8; 4]>::try_from(data).ok()) {
            self.expire.get_or_insert(u32::from_be_bytes(seconds));
        }
        match (record.ttl >> 24) as u16 {
            0 => 0,
            upper => upper << 4 | u16_at(octets, 2) & 0xf,
        }
    }
}
