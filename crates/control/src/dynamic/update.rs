//! A request for an update, from the worker that received it to its reply.

use change::Failure;

use crate::requests::Handed;

/// A request for an update.
pub(crate) type Update = Handed;

/// What is said to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) rcode: u16,
    pub(crate) ede: Option<u16>,
}

impl Said {
    pub(crate) const DONE: Said = Said::rcode(wire::iana::rcode::NOERROR);
    pub(crate) const FAILED: Said = Said::rcode(wire::iana::rcode::SERVFAIL);

    pub(crate) const fn rcode(rcode: u16) -> Said {
        Said { rcode, ede: None }
    }

    /// SERVFAIL, which is a matter of this server for now.
    pub(crate) const fn not_now() -> Said {
        Said { rcode: wire::iana::rcode::SERVFAIL, ede: Some(wire::iana::ede::OTHER) }
    }
}

impl From<&Failure> for Said {
    fn from(failure: &Failure) -> Said {
        Said { rcode: failure.rcode(), ede: failure.ede() }
    }
}

impl Update {
    /// Replies. `now`: seconds since 1970.
    pub(crate) fn reply(self, said: Said, now: u64) {
        self.reply_with((said.rcode, said.ede, 0), now);
    }
}
