//! What was read of a response: what it says, who may remember what of it, and for how long.

use wire::Name;
use wire::iana::rtype;
use wire::rrset::{Rrset, RrsetListBuf};

use super::{Asked, Kind, Source, limits};

/// What there is in a response, scrubbed. Made to be read into again and again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// What it is.
    pub kind: Kind,
    /// The response code with the upper bits of EDNS.
    pub rcode: u16,
    /// Whether it repeats the question. What comes without, as errors may, is easier to forge (no letters to guess): nothing is to be remembered of
    /// the server for it.
    pub has_question: bool,
    /// The AA bit.
    pub is_authoritative: bool,
    /// The RA bit.
    pub has_recursion: bool,
    /// The AD bit: of worth only from a forwarder that is trusted with validation.
    pub is_authentic: bool,
    /// The UDP payload size of its OPT record, if it has one.
    pub udp_payload_octets: Option<u16>,
    /// Its first extended error (RFC 8914).
    pub ede: Option<u16>,
    /// The chain of aliases from QNAME on, in order, and the data asked for. A DNAME stands before the CNAME made from it, which has no
    /// signatures.
    pub answer: RrsetListBuf,
    /// SOA of a denial, its TTL that of the denial (RFC 2308 5). NSEC and NSEC3 of a denial, an answer made from a wildcard, an
    /// unsigned referral.
    pub authority: RrsetListBuf,
    /// NS of the zone referred to, first; DS of it, if there is.
    pub referral: RrsetListBuf,
    /// Addresses of servers of the referral.
    pub glue: RrsetListBuf,
    /// A bit for each of the first sets of the answer: made from a DNAME.
    pub(super) made: u64,
    pub(super) name: Vec<u8>,
    pub(super) cookie: [u8; SERVER_COOKIE_OCTETS_MAX],
    pub(super) cookie_octets: u8,
}

/// Octets of the longest server cookie (RFC 7873 4.2).
pub(super) const SERVER_COOKIE_OCTETS_MAX: usize = 32;

impl Reply {
    /// Room for a response.
    pub fn new() -> Reply {
        Reply::default()
    }

    /// What the kind is about; the root where it is about nothing.
    pub fn name(&self) -> &Name {
        if self.name.is_empty() { Name::root() } else { Name::trusted(&self.name) }
    }

    /// The server's cookie, if it sent one.
    pub fn server_cookie(&self) -> Option<&[u8]> {
        (self.cookie_octets > 0).then(|| &self.cookie[..usize::from(self.cookie_octets)])
    }

    /// Whether the set of this number in the answer is a CNAME that was made from the DNAME before it: answered, but not kept, as the DNAME is.
    pub fn is_made(&self, number: usize) -> bool {
        number < 64 && self.made >> number & 1 != 0
    }

    /// Whether a server of a zone says what it has from others (RA, not AA): to be believed only where no other server of the zone says
    /// more.
    pub fn is_second_hand(&self, asked: &Asked<'_>) -> bool {
        let is_of_kind =
            matches!(self.kind, Kind::Answer | Kind::Alias | Kind::NoData | Kind::NameError | Kind::Exists);
        is_of_kind && asked.source == Source::Authority && self.has_recursion && !self.is_authoritative
    }

    /// Whether the response came with an OPT record.
    pub fn has_edns(&self) -> bool {
        self.udp_payload_octets.is_some()
    }

    pub(super) fn clear(&mut self) {
        self.clear_records();
        self.name.clear();
        let Reply { answer, authority, referral, glue, name, .. } = std::mem::take(self);
        *self = Reply { answer, authority, referral, glue, name, ..Reply::default() };
    }

    /// Gives sets the TTLs with which the cache keeps them: who gets the response itself shall not keep it for longer than who gets it from there, and operators who
    /// lengthen TTLs mean first answers as well. Signatures stay good, as a TTL may always be less than what was signed (RFC 4035 5.3.3).
    pub fn cap(&mut self, limits: &cache::Limits) {
        let is_denial = matches!(self.kind, Kind::NoData | Kind::NameError);
        let of_authority =
            if is_denial { limits.negative_ttl_max.min(limits.ttl_max) } else { limits.ttl_max };
        // What is signed ends as its owner says, in the cache, too.
        let is_lengthened = |set: &Rrset<'_>| set.rtype != rtype::DS && set.signatures.is_empty();
        let of_answer = |set: &Rrset<'_>| {
            (if is_lengthened(set) { set.ttl.max(limits.ttl_min) } else { set.ttl }).min(limits.ttl_max)
        };
        let of_authority = |set: &Rrset<'_>| set.ttl.min(of_authority);
        hold(&mut self.answer, of_answer);
        hold(&mut self.authority, of_authority);
    }

    /// Octets of memory that its records hold: room that a longer response left, which whoever keeps this one keeps, too.
    pub fn octets(&self) -> usize {
        [&self.answer, &self.authority, &self.referral, &self.glue]
            .map(RrsetListBuf::room_octets)
            .iter()
            .sum()
    }

    pub(super) fn clear_records(&mut self) {
        for list in [&mut self.answer, &mut self.authority, &mut self.referral, &mut self.glue] {
            if list.list().octets().len() > limits::ROOM_OCTETS_MAX {
                *list = RrsetListBuf::new();
            }
            list.clear();
        }
    }

    pub(super) fn set_name(&mut self, name: &Name) {
        self.name.clear();
        self.name.extend(name.octets().iter().map(u8::to_ascii_lowercase));
    }
}

/// Gives the sets of a list other TTLs, where they differ.
fn hold(list: &mut RrsetListBuf, held: impl Fn(&Rrset<'_>) -> u32) {
    if list.list().iter().any(|set| held(&set) != set.ttl) {
        *list = list.list().iter().map(|set| Rrset { ttl: held(&set), ..set }).collect();
    }
}
