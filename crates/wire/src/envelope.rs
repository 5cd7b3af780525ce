//! What a reply needs of its request, apart from that: replies of others than answers, which may be written later, by other threads, or as streams of messages.

use crate::Name;
use crate::cookie;
use crate::edns::ResponseOpt;
use crate::header::{self, HEADER_OCTETS};
use crate::name::NAME_OCTETS_MAX;
use crate::query::Query;
use crate::render::{Full, Renderer, Section};
use crate::tsig::{Detached, Key, Signatures};
use std::sync::Arc;

/// Octets of a question behind its name: type and class.
const QUESTION_FIXED_OCTETS: usize = 4;

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

impl Envelope {
    /// That of a query or another request. `limit`: see [`Envelope::limit`].
    #[must_use]
    pub fn of(query: &Query<'_>, limit: usize) -> Envelope {
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

    /// The name in the question; the root where there is none.
    #[must_use]
    pub fn name(&self) -> &Name {
        let end = self.question.len().saturating_sub(QUESTION_FIXED_OCTETS).min(NAME_OCTETS_MAX);
        Name::from_wire(&self.question[..end]).unwrap_or(Name::root())
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

    /// The same with words behind the extended error, for people, which are left out where they do not fit.
    #[must_use]
    pub fn write_words(
        &self,
        room: &mut [u8],
        (rcode, ede, words): (u16, Option<u16>, &str),
        now: u64,
    ) -> usize {
        self.try_write(room, (rcode, ede, 0), words, now, |_| true).unwrap_or(0)
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
        self.try_write(room, (rcode, ede, flags), "", now, add).unwrap_or(0)
    }

    /// Begins a message with the question, within `limit` octets of which the last `reserve` are kept.
    fn begin<'r>(&self, room: &'r mut [u8], limit: usize, reserve: usize) -> Option<Renderer<'r>> {
        let mut head = [0; HEADER_OCTETS];
        head[..2].copy_from_slice(&self.id);
        let mut out = Renderer::new(room, limit, reserve)?;
        out.copy_query(&head, HEADER_OCTETS).ok()?;
        out.octets(&self.question).ok()?;
        Some(out)
    }

    fn try_write(
        &self,
        room: &mut [u8],
        (rcode, ede, mut flags): (u16, Option<u16>, u16),
        words: &str,
        now: u64,
        add: impl FnOnce(&mut Renderer<'_>) -> bool,
    ) -> Option<usize> {
        let limit = self.limit.min(room.len());
        let room = &mut room[..limit];
        let opt = self.response_opt(rcode, ede);
        let signature = self.signer.as_ref().map_or(0, |signer| signer.key.octets());
        let reserve = opt.as_ref().map_or(0, ResponseOpt::octets) + signature;
        // A request with a long name in little room: what does not fit is left out at the end.
        let reserve = reserve.min(limit.checked_sub(HEADER_OCTETS + self.question.len())?);
        let mut out = self.begin(room, limit, reserve)?;
        let mark = out.mark();
        if !add(&mut out) {
            out.rollback(mark);
            flags |= header::TC;
        }
        out.release();
        out.begin_section(Section::Additional);
        if let Some(opt) = opt {
            // Nobody's signature is left out for words.
            let has_room = out.message().len() + opt.octets() + words.len() + signature <= limit;
            opt.write_with_words(if has_room { words } else { "" }, &mut out).ok()?;
        }
        let octets = out.finish(self.flags() | flags | (rcode & 15), u16::from(!self.question.is_empty()));
        match &self.signer {
            None => Some(octets),
            Some(signer) => signer.reply.with(&signer.key).append(room, octets, now),
        }
    }
}

/// The messages of a reply that is a stream of them (RFC 5936 2.2): each has the question, the first OPT, each is signed if the request was.
#[derive(Clone, Debug)]
pub struct EnvelopeStream {
    envelope: Envelope,
    signatures: Option<Signatures>,
    is_first: bool,
}

impl EnvelopeStream {
    /// Before the first message.
    #[must_use]
    pub fn new(envelope: Envelope) -> EnvelopeStream {
        let signatures = envelope.signer.as_ref().map(|signer| signer.reply.stream());
        EnvelopeStream { envelope, signatures, is_first: true }
    }

    /// What it is made of.
    #[must_use]
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// Octets of the next message that no record can have.
    #[must_use]
    pub fn overhead(&self) -> usize {
        HEADER_OCTETS + self.envelope.question.len() + self.reserve()
    }

    /// Octets that are kept for OPT and the signature.
    fn reserve(&self) -> usize {
        let opt = self.opt().as_ref().map_or(0, ResponseOpt::octets);
        opt + self.envelope.signer.as_ref().map_or(0, |signer| signer.key.octets())
    }

    fn opt(&self) -> Option<ResponseOpt<'_>> {
        self.envelope.response_opt(0, None).filter(|_| self.is_first)
    }

    /// Begins the next message, of at most `limit` octets, in its answer section. `None` where not even the question fits.
    pub fn begin<'r>(&self, room: &'r mut [u8], limit: usize) -> Option<Renderer<'r>> {
        self.envelope.begin(room, limit, self.reserve())
    }

    /// Ends what [`EnvelopeStream::begin`] began, with flags beside those of every reply. It still has to be [signed](EnvelopeStream::sign).
    pub fn end(&mut self, mut out: Renderer<'_>, flags: u16) -> Result<usize, Full> {
        out.release();
        out.begin_section(Section::Additional);
        if let Some(opt) = self.opt() {
            opt.write(&mut out)?;
        }
        self.is_first = false;
        let questions = u16::from(!self.envelope.question.is_empty());
        Ok(out.finish(self.envelope.flags() | flags, questions))
    }

    /// Signs the message in `room[..octets]` if that is to be. Returns its octets. `now`: seconds since 1970.
    pub fn sign(&mut self, room: &mut [u8], octets: usize, now: u64) -> Option<usize> {
        match (&mut self.signatures, &self.envelope.signer) {
            (Some(signatures), Some(signer)) => signatures.append(&signer.key, room, octets, now),
            _ => Some(octets),
        }
    }
}
