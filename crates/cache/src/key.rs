//! What an entry is about.

use wire::Name;

/// A name, and what of it. Class IN: nothing else is resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key<'a> {
    /// In lower case.
    pub name: &'a Name,
    /// What is known of it.
    pub subject: Subject,
}

/// Of what about a name something is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// Its RRset of a type: the records, or that there are none (NODATA); validated, or known to be insecure.
    Rrset(u16),
    /// The same as it came for a client with CD, not validated or bogus. Apart, so that it is never seen by others and never takes the place of anything.
    Unchecked(u16),
    /// That an RRset could not be found out just now (RFC 9520). Apart, so that what has expired stays beside it, to be served stale.
    Failure(u16),
    /// The name itself: that it does not exist (NXDOMAIN, RFC 2308 5); where that is proved, nothing below it does (RFC 8020).
    Existence,
    /// The zone cut at it as the parent zone has it: the name servers of its delegation with their glue. Beside the NS RRset that the
    /// zone itself has, which is data like other data and never says whom to ask: so a delegation ends when the parent's TTL does, whatever the child says
    /// (ghost domains).
    Cut,
}

impl<'a> Key<'a> {
    /// An RRset.
    pub fn rrset(name: &'a Name, rtype: u16) -> Key<'a> {
        Key { name, subject: Subject::Rrset(rtype) }
    }

    /// Whether the name exists.
    pub fn existence(name: &'a Name) -> Key<'a> {
        Key { name, subject: Subject::Existence }
    }

    /// An RRset as it came for a client with CD.
    pub fn unchecked(name: &'a Name, rtype: u16) -> Key<'a> {
        Key { name, subject: Subject::Unchecked(rtype) }
    }

    /// That an RRset could not be found out.
    pub fn failure(name: &'a Name, rtype: u16) -> Key<'a> {
        Key { name, subject: Subject::Failure(rtype) }
    }

    /// A zone cut.
    pub fn cut(name: &'a Name) -> Key<'a> {
        Key { name, subject: Subject::Cut }
    }
}

impl Subject {
    /// As three bits, and the type; 0 where there is none.
    #[inline(always)]
    pub(crate) fn code(self) -> (u8, u16) {
        match self {
            Subject::Rrset(rtype) => (0, rtype),
            Subject::Unchecked(rtype) => (1, rtype),
            Subject::Failure(rtype) => (2, rtype),
            Subject::Existence => (3, 0),
            Subject::Cut => (4, 0),
        }
    }

    pub(crate) fn from_code(code: u8, rtype: u16) -> Option<Subject> {
        Some(match (code, rtype) {
            (0, rtype) => Subject::Rrset(rtype),
            (1, rtype) => Subject::Unchecked(rtype),
            (2, rtype) => Subject::Failure(rtype),
            (3, 0) => Subject::Existence,
            (4, 0) => Subject::Cut,
            _ => return None,
        })
    }
}
