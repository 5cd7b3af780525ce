//! What asks for something else than an answer: transfers, updates, notices that a zone has changed. The responder reads and verifies them; whoever
//! carries them out has streams, tickets and disks, which are not known here.

use crate::access::{Asker, Kind};
use std::sync::Arc;
use wire::cookie;
use wire::edns::ResponseOpt;
use wire::header::{self, HEADER_OCTETS};
use wire::query::Query;
use wire::render::{Renderer, Section};
use wire::tsig::{Detached, Key, Signatures};

/// A request that can be read, and whose signature, if it has one, is right.
#[derive(Clone)]
pub struct Request<'m, 's> {
    /// The message as received.
    pub message: &'m [u8],
    /// Octets of the message before its TSIG record, whose additional count still has that.
    pub octets: usize,
    /// What it asks for.
    pub kind: Kind,
    /// The type asked for: AXFR or IXFR, else mostly SOA.
    pub qtype: u16,
    /// The class.
    pub qclass: u16,
    /// The key that signed it.
    pub key: Option<&'s Arc<Key>>,
    /// It has a SIG(0) record (RFC 2931), which was not looked at: an update.
    pub is_sig0: bool,
    /// Who asks, for access lists.
    pub asker: Asker<'s>,
    /// What a reply needs.
    pub envelope: Envelope,
}

/// What a reply needs of its request; it may be written later, and by another thread.
#[derive(Clone, Debug)]
pub struct Envelope {
    id: [u8; 2],
    /// The operation and RD.
    flags: u16,
    /// As it was asked, case and all; empty where there was none.
    question: Box<[u8]>,
    /// Most octets of the reply: what the transport and the client take.
    pub limit: usize,
    /// There was an OPT record: this is in that of the reply.
    pub opt: Option<Opt>,
    /// What signs the reply.
    pub signer: Option<Signer>,
}

/// Of the OPT record of a reply.
#[derive(Clone, Copy, Debug)]
pub struct Opt {
    /// Largest datagram that we take.
    pub udp_payload_octets: u16,
    /// The request wants DNSSEC records.
    pub dnssec_ok: bool,
    /// What is said to its cookie.
    pub cookie: Option<cookie::Reply>,
}

/// What signs a reply: the key of the request, and its MAC.
#[derive(Clone, Debug)]
pub struct Signer {
    /// The key.
    pub key: Arc<Key>,
    /// What else it needs.
    pub reply: Detached,
}

impl Signer {
    /// What signs the messages of a stream.
    #[must_use]
    pub fn stream(&self) -> Signatures {
        self.reply.stream()
    }
}

impl Envelope {
    pub(crate) fn of(query: &Query<'_>, limit: usize) -> Envelope {
        let end = query.question.map_or(HEADER_OCTETS, |question| question.end);
        let id = query.message.first_chunk().copied().unwrap_or_default();
        Envelope {
            id,
            flags: query.flags & (header::OPCODE_MASK | header::RD),
            question: query.message.get(HEADER_OCTETS..end).unwrap_or_default().into(),
            limit,
            opt: None,
            signer: None,
        }
    }

    /// The question section.
    #[must_use]
    pub fn question(&self) -> &[u8] {
        &self.question
    }

    /// Octets of the question section.
    #[must_use]
    pub fn question_octets(&self) -> usize {
        self.question.len()
    }

    /// The identifier of the request.
    #[must_use]
    pub fn id(&self) -> [u8; 2] {
        self.id
    }

    /// The flags of the reply beside its own: QR, the operation, RD.
    #[must_use]
    pub fn flags(&self) -> u16 {
        header::QR | self.flags
    }

    /// The OPT record of a reply; `None` where there is none.
    #[must_use]
    pub fn response_opt(&self, rcode: u16, ede: Option<u16>) -> Option<ResponseOpt<'_>> {
        let opt = self.opt.as_ref()?;
        Some(ResponseOpt {
            udp_payload_octets: opt.udp_payload_octets,
            dnssec_ok: opt.dnssec_ok,
            cookie: opt.cookie.as_ref(),
            rcode,
            ede,
            ..ResponseOpt::default()
        })
    }

    /// Writes a reply without records to `room`, signed if the request was; `now`: seconds since 1970. Returns its octets, 0 where it does not fit.
    #[must_use]
    pub fn write(&self, room: &mut [u8], rcode: u16, ede: Option<u16>, now: u64) -> usize {
        self.write_with(room, (rcode, ede, 0), now, |_| true)
    }

    /// The same with records, which `add` writes from the answer section on, and with flags of its own. Where `add` says that they do not fit, TC is set in their place.
    #[must_use]
    pub fn write_with(
        &self,
        room: &mut [u8],
        (rcode, ede, flags): (u16, Option<u16>, u16),
        now: u64,
        add: impl FnOnce(&mut Renderer<'_>) -> bool,
    ) -> usize {
        self.try_write(room, (rcode, ede, flags), now, add).unwrap_or(0)
    }

    fn try_write(
        &self,
        room: &mut [u8],
        (rcode, ede, mut flags): (u16, Option<u16>, u16),
        now: u64,
        add: impl FnOnce(&mut Renderer<'_>) -> bool,
    ) -> Option<usize> {
        let limit = self.limit.min(room.len());
        let room = &mut room[..limit];
        let opt = self.response_opt(rcode, ede);
        let signature = self.signer.as_ref().map_or(0, |signer| signer.key.octets());
        let reserve = opt.as_ref().map_or(0, ResponseOpt::octets) + signature;
        let mut head = [0; HEADER_OCTETS];
        head[..2].copy_from_slice(&self.id);
        // A request with a long name in little room: what does not fit is left out at the end.
        let reserve = reserve.min(limit.checked_sub(HEADER_OCTETS + self.question.len())?);
        let mut out = Renderer::new(room, limit, reserve)?;
        out.copy_query(&head, HEADER_OCTETS).ok()?;
        out.octets(&self.question).ok()?;
        let mark = out.mark();
        if !add(&mut out) {
            out.rollback(mark);
            flags |= header::TC;
        }
        out.release();
        out.begin_section(Section::Additional);
        if let Some(opt) = opt {
            opt.write(&mut out).ok()?;
        }
        let octets = out.finish(self.flags() | flags | (rcode & 15), u16::from(!self.question.is_empty()));
        match &self.signer {
            None => Some(octets),
            Some(signer) => signer.reply.with(&signer.key).append(room, octets, now),
        }
    }
}
