//! What the caller knows and fetches.

use wire::{Name, NameBuf, RdataList};

use crate::fault::{Fault, Insecurity};
use crate::response::Response;

/// What is known of a zone; see `docs/design/validation.md` 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing<'a> {
    /// Its DNSKEY RRset is validated.
    Secure {
        /// RDATA of its keys. Given to [`Facts::keep`] are those that may sign; given back may be all of the validated RRset.
        keys: RdataList<'a>,
    },
    /// Nothing at or below it is validated.
    Insecure(Insecurity),
    /// What should prove it does not, at any server that was asked. Given by the caller alone: never to [`Facts::keep`].
    Bogus {
        /// Whether it is the DS or the DNSKEY RRset that does not.
        rtype: u16,
        /// Why not.
        fault: Fault,
    },
}

/// An RRset that has to be fetched: DS or DNSKEY, of class IN, from servers that have it (DS: of the parent), with DO and CD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// Whose.
    pub name: NameBuf,
    /// DS or DNSKEY.
    pub rtype: u16,
}

/// What has become of a fetch.
#[derive(Clone, Copy, Debug)]
pub enum Fetched<'a> {
    /// Nothing yet: it is to be asked for.
    Missing,
    /// It failed: no server gave an answer that could be used.
    Failed,
    /// A response, with TTLs from now. A referral counts for DS: its DS RRset as the answer, or its NSEC or NSEC3 RRsets as authority.
    Response(Response<'a>),
}

/// The caller's cache as the validator sees it. Everything is bounded in time by its TTL, and nothing is given back after that.
pub trait Facts {
    /// What was kept of a zone by [`Facts::keep`], until its time is over; and that it is bogus, where the caller has found that no server has what is
    /// not.
    fn standing(&mut self, zone: &Name) -> Option<Standing<'_>>;

    /// The response to a question for DS or DNSKEY, as it came: not validated.
    fn fetched(&mut self, name: &Name, rtype: u16) -> Fetched<'_>;

    /// Labels of the next zone cut that was seen below `zone` on the way down to `towards`, by what delegations say. Only spares fetches.
    fn next_cut(&mut self, zone: &Name, towards: &Name) -> Option<usize> {
        let _ = (zone, towards);
        None
    }

    /// Keeps what was found out about a zone until a time in seconds since 1970. To do nothing costs work, no correctness.
    fn keep(&mut self, zone: &Name, standing: Standing<'_>, until: u64);
}
