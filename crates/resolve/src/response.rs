//! What a server's response means: read once, scrubbed to what is believed, and of one kind.
//!
//! ```text
//! octets -> is it the answer to what was asked? no: Mismatch
//!   -> Sets: RRsets at or below the zone asked -> chain: from the QNAME along aliases -> kind: answer, denial, referral, ...
//!   -> Reply: answer | authority | referral | glue
//! ```
//!
//! Nothing gets into a [`Reply`] that the zone's servers may not say: `docs/design/responses.md`. Room is used again and again; reading a
//! response allocates nothing once it is there.

mod address;
mod chain;
#[doc(hidden)]
pub mod fuzz;
mod head;
mod kind;
mod limits;
mod reply;
mod sets;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests;

pub use address::{NEVER_SERVERS, Prefix, is_server};
pub use reply::Reply;

use wire::message::Message;
use wire::name::NAME_OCTETS_MAX;
use wire::{Name, header};

use head::Head;
use sets::{Fault, Sets};

/// Who was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A server that a referral, or a stub zone of the settings, names for the zone.
    Authority,
    /// A resolver that the settings name for all at and below the zone.
    Forwarder,
}

/// The COOKIE option (RFC 7873) of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientCookie {
    /// Our half: it must come back.
    pub client: [u8; 8],
    /// Whether a response without is not of this server, as it has sent cookies before.
    pub is_required: bool,
}

/// What was asked, and of whom.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The apex of the zone whose server was asked, or the name that is forwarded; in lower case.
    pub zone: &'a Name,
    /// The name asked for, as it was sent. At or below the zone.
    pub qname: &'a Name,
    /// The type asked for.
    pub qtype: u16,
    /// The name that is to be found out, of which `qname` may be an ancestor (RFC 9156); in lower case.
    pub full: &'a Name,
    /// ID of the query.
    pub id: u16,
    /// Who was asked.
    pub source: Source,
    /// Whether the query had an OPT record.
    pub has_edns: bool,
    /// The cookie, if one was sent.
    pub cookie: Option<ClientCookie>,
    /// Whether letters have to come back in the case in which they were sent.
    pub is_case_random: bool,
    /// Whether it was asked over a stream: then nothing is truncated.
    pub is_stream: bool,
    /// Addresses that no server has: [`NEVER_SERVERS`], unless settings say otherwise. Glue with such is left out.
    pub not_servers: &'a [Prefix],
}

impl Asked<'_> {
    /// Whether an ancestor was asked for in place of the name itself (RFC 9156).
    pub fn is_minimised(&self) -> bool {
        self.qname.octets().len() != self.full.octets().len()
    }
}

/// Why octets are not the answer to what was asked. From the address and on the path that it should come from: perhaps a guess of
/// somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// Not a response of operation QUERY with a question that can be read.
    Malformed,
    /// Another ID.
    Id,
    /// Another question.
    Question,
    /// The question, with letters of other case.
    Case,
    /// Our cookie did not come back, or no cookie where one must.
    Cookie,
}

/// What a response is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// The RRset asked for, or more of them (ANY), perhaps at the end of a chain of aliases. [`Reply::name`]: the name that has it.
    Answer,
    /// A chain of aliases that ends at a name that is to be asked for anew: [`Reply::name`].
    Alias,
    /// [`Reply::name`], QNAME or an alias's target, has no RRset of the type.
    NoData,
    /// [`Reply::name`], QNAME or an alias's target, does not exist (NXDOMAIN).
    NameError,
    /// To a question for an ancestor of the name that is to be found out (RFC 9156): it is there, with an address or as an alias, which says
    /// nothing of the name itself. The answer, which is true of the ancestor, is in the reply.
    Exists,
    /// The zone [`Reply::name`], below the one asked, has the name: NS in [`Reply::referral`].
    Referral,
    /// A DNAME leads to a name that is longer than names can be (YXDOMAIN, RFC 6672 2.2).
    TooLong,
    /// Cut to what a datagram holds: ask over a stream. Nothing was read.
    Truncated,
    /// Not what a server of the zone says.
    Lame(Lame),
    /// A response code says that there is none: [`Reply::rcode`].
    Failed,
    /// The server does not know EDNS: FORMERR or NOTIMP without OPT, or with our own.
    NoEdns,
    /// The server wants another version of EDNS than the first.
    BadVersion,
    /// The server did not like our server cookie, and sent another one.
    BadCookie,
    /// Nothing was read yet.
    #[default]
    Unread,
}

impl Kind {
    /// Whether it is what a server of the zone says of the name, for whoever asks.
    pub(crate) fn is_of_zone(self) -> bool {
        matches!(
            self,
            Kind::Answer
                | Kind::Alias
                | Kind::NoData
                | Kind::NameError
                | Kind::Referral
                | Kind::Exists
                | Kind::TooLong
        )
    }
}

/// How a response is not what a server of the zone says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lame {
    /// It cannot be read beyond its question, or is truncated on a stream.
    Malformed,
    /// It has more than we look at.
    Excess,
    /// Neither data nor denial nor referral, and not authoritative.
    Empty,
    /// It refers to a zone above the one asked: mostly the root.
    Upward,
    /// It refers to the zone asked itself.
    Itself,
    /// It refers to a zone that the name is not in; or, as a forwarder, to any.
    Sideways,
    /// It answers something else.
    Other,
    /// It denies DS in the name of the child's zone.
    Child,
    /// It refers to more servers than any zone has: an attack on them (NXNSAttack).
    Crowd,
}

impl Lame {
    /// Whether it says something of the server and not only of the question, which anybody may have chosen: only then it may be remembered.
    pub fn is_of_server(self) -> bool {
        matches!(self, Lame::Upward | Lame::Itself)
    }
}

/// Reads responses: the room for that. One for each worker is enough.
pub struct Reader {
    /// A copy of the message, its question in lower case.
    message: Vec<u8>,
    sets: Sets,
}

/// With a key of its own.
impl Default for Reader {
    fn default() -> Reader {
        use std::hash::BuildHasher;
        Reader::new(std::hash::RandomState::new().hash_one(()))
    }
}

impl Reader {
    /// Room for reading. `key`: any random number; what is read is the same with all, it only keeps others from choosing what is slow.
    pub fn new(key: u64) -> Reader {
        Reader { message: Vec::new(), sets: Sets::new(key) }
    }

    /// Reads a response into `into`, whatever that had before.
    ///
    /// `Err`: it is not the answer to what was asked; `into` is then of kind [`Kind::Unread`].
    pub fn read(&mut self, asked: &Asked<'_>, octets: &[u8], into: &mut Reply) -> Result<(), Mismatch> {
        into.clear();
        let head = Head::read(asked, octets)?;
        into.has_question = head.qname_octets > 0;
        into.is_authoritative = head.flags & header::AA != 0;
        into.has_recursion = head.flags & header::RA != 0;
        into.is_authentic = head.flags & header::AD != 0;
        into.rcode = head.flags & 0xf;
        if head.flags & header::TC != 0 {
            into.kind = if asked.is_stream { Kind::Lame(Lame::Malformed) } else { Kind::Truncated };
            return Ok(());
        }
        self.copy(octets, &head);
        let read = Message::read(&self.message).map_err(Fault::from);
        let asks_signatures = asked.qtype == wire::iana::rtype::RRSIG;
        let gathered = read.and_then(|message| self.sets.gather(&message, asked, asks_signatures));
        let is_without_cookie = asked.cookie.is_some_and(|cookie| cookie.is_required);
        match gathered {
            Err(_) if is_without_cookie => return Err(Mismatch::Cookie),
            Err(Fault::Malformed) => into.kind = Kind::Lame(Lame::Malformed),
            Err(Fault::Excess) => into.kind = Kind::Lame(Lame::Excess),
            Ok(()) => {
                head::edns(asked, &self.message, &self.sets.seen, into)?;
                kind::judge(asked, &head, &self.message, &mut self.sets, into);
            }
        }
        Ok(())
    }

    /// Copies the message, the letters of the question in lower case: those that we have mixed would come back through pointers in
    /// owners and targets.
    fn copy(&mut self, octets: &[u8], head: &Head) {
        self.message.clear();
        self.message.extend_from_slice(&octets[..octets.len().min(usize::from(u16::MAX))]);
        let end = header::HEADER_OCTETS + head.qname_octets;
        self.message[header::HEADER_OCTETS..end].make_ascii_lowercase();
    }
}

/// Room for a name on the stack.
type NameRoom = [u8; NAME_OCTETS_MAX];
