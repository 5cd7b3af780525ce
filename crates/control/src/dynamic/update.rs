//! A request for an update, from the worker that received it to its reply.

use std::borrow::Cow;

use change::Failure;

use crate::requests::Handed;
use crate::stores::StoreName;

/// A request for an update.
pub(crate) type Update = Handed;

/// What is said to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) rcode: u16,
    pub(crate) ede: Option<u16>,
    /// What the extended error says to people.
    pub(crate) words: Words,
}

/// Why a request is not done, for who sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    /// Nothing but the code.
    None,
    /// This.
    Text(&'static str),
    /// What is wrong with it.
    Failure(Failure),
    /// The zone is of this store.
    OfStore(StoreName),
}

impl Said {
    pub(crate) const DONE: Said = Said::rcode(wire::iana::rcode::NOERROR);
    pub(crate) const FAILED: Said = Said::rcode(wire::iana::rcode::SERVFAIL);

    pub(crate) const fn rcode(rcode: u16) -> Said {
        Said { rcode, ede: None, words: Words::None }
    }

    /// With an extended error that has no words.
    pub(crate) const fn with_ede(rcode: u16, ede: u16) -> Said {
        Said { rcode, ede: Some(ede), words: Words::None }
    }

    /// With these words, where there is an extended error.
    pub(crate) const fn because(self, text: &'static str) -> Said {
        Said { words: Words::Text(text), ..self }
    }

    /// SERVFAIL, which is a matter of this server for now.
    pub(crate) const fn not_now() -> Said {
        Said::with_ede(wire::iana::rcode::SERVFAIL, wire::iana::ede::OTHER)
    }
}

impl From<&Failure> for Said {
    fn from(failure: &Failure) -> Said {
        Said { rcode: failure.rcode(), ede: failure.ede(), words: Words::Failure(*failure) }
    }
}

impl Update {
    /// Replies. `now`: seconds since 1970.
    pub(crate) fn reply(self, said: Said, now: u64) {
        self.reply_as_one_of(said, now, false);
    }

    /// The same; `is_few`: sooner for one reply and dearer for many, see [`net::Ticket::reply_at_once`].
    pub(crate) fn reply_as_one_of(self, said: Said, now: u64, is_few: bool) {
        let words = match said.words {
            Words::None => Cow::Borrowed(""),
            Words::Text(text) => Cow::Borrowed(text),
            Words::Failure(failure) => Cow::Owned(failure.to_string()),
            Words::OfStore(store) => Cow::Owned(format!("this zone is of store {store}: change it there")),
        };
        self.reply_words((said.rcode, said.ede, &words), now, is_few);
    }
}
