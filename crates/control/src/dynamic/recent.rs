//! Requests that come again: a client that hears nothing sends the same octets once more, and its update must not be done twice.
//!
//! A request is known from when it is taken from the queue until all has been looked at that came before its reply left: that is what the next look into the
//! queue brings. So the same octets later are a request of their own, however soon, and nothing depends on a time.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;

use super::update::{Said, Update};

/// Who sent what: address, port, and a hash of the message, identifier included.
type Key = (SocketAddr, u64);

/// See the module. Bounded by what waits in the queue, twice.
#[derive(Default)]
pub(super) struct Recent {
    hasher: RandomState,
    /// `None`: it is being done.
    said: HashMap<Key, Option<Said>>,
    /// Those that were done since the last look into the queue.
    done: Vec<Key>,
}

/// What is known of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It is new; from now on it is being done.
    New,
    /// It is being done, and will be replied to.
    Waits,
    /// It was done, and this was said.
    Said(Said),
}

impl Recent {
    fn key(&self, client: SocketAddr, message: &[u8]) -> Key {
        (client, self.hasher.hash_one(message))
    }

    /// What is known of a request that was taken from the queue.
    pub(super) fn look(&mut self, update: &Update) -> Known {
        self.look_at(update.client, &update.message)
    }

    fn look_at(&mut self, client: SocketAddr, message: &[u8]) -> Known {
        let key = self.key(client, message);
        match self.said.get(&key) {
            Some(Some(said)) => Known::Said(*said),
            Some(None) => Known::Waits,
            None => {
                self.said.insert(key, None);
                Known::New
            }
        }
    }

    /// All that one look into the queue brought has been looked at.
    pub(super) fn end_look(&mut self) {
        for key in self.done.drain(..) {
            self.said.remove(&key);
        }
    }

    /// A request was done, and this is said.
    pub(super) fn done(&mut self, update: &Update, said: Said) {
        self.done_with(update.client, &update.message, said);
    }

    fn done_with(&mut self, client: SocketAddr, message: &[u8], said: Said) {
        let key = self.key(client, message);
        self.said.insert(key, Some(said));
        self.done.push(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_hears_what_the_first_heard() {
        let (client, other): (SocketAddr, SocketAddr) =
            (([127, 0, 0, 1], 1).into(), ([127, 0, 0, 1], 2).into());
        let mut recent = Recent::default();
        assert_eq!(recent.look_at(client, b"one"), Known::New);
        assert_eq!(recent.look_at(client, b"one"), Known::Waits);
        assert_eq!((recent.look_at(other, b"one"), recent.look_at(client, b"two")), (Known::New, Known::New));
        recent.end_look();
        recent.done_with(client, b"one", Said::DONE);
        // It came before the reply left.
        assert_eq!(
            (recent.look_at(client, b"one"), recent.look_at(client, b"two")),
            (Known::Said(Said::DONE), Known::Waits)
        );
        recent.end_look();
        assert_eq!(
            (recent.look_at(client, b"one"), recent.look_at(client, b"two")),
            (Known::New, Known::Waits)
        );
    }
}
