//! Searches, as the session has them: who may have one, what was found, and its end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use api::frame::{Done, Objects};
use api::pattern::Pattern;

use super::{Around, PIECE_WAIT, Session, State, full, not_now};
use crate::api::Key;
use crate::api::inbox::Of;
use crate::api::search::{Cut, SEARCH_TIME, Search, Sought};

/// Searches at a time: each has a large part of a millisecond in so many, and what all find is bounded.
const SEARCHES_MAX: usize = 8;

/// When one has had its time, whether or not the thread came to say so: it lets all others go before it.
const SEARCH_WAIT: Duration = SEARCH_TIME.saturating_add(Duration::from_secs(1));

/// A search.
pub(super) struct Seeking {
    pieces: VecDeque<Vec<u8>>,
    /// How it ended, once it has.
    end: Option<Option<Cut>>,
    since: Instant,
    is_given_up: Arc<AtomicBool>,
    /// It has no turn until there is something to tell.
    is_idle: bool,
}

impl Seeking {
    /// Whether the thread has it: its place is taken until that has said its end.
    pub(super) fn is_under_way(&self) -> bool {
        self.end.is_none()
    }

    /// Has the thread end it.
    pub(super) fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Relaxed);
    }

    /// The next piece that is to be told.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        self.pieces.pop_front()
    }

    /// Where there is no piece: the end, if it came. Else it has its turn again once there is one.
    pub(super) fn end(&mut self) -> Option<Done<'static>> {
        self.is_idle = self.end.is_none();
        self.end.map(Cut::done)
    }

    pub(super) fn has_piece(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// As if it had been asked for so long ago.
    #[cfg(test)]
    pub(super) fn began_before(&mut self, span: Duration) {
        self.since = Instant::now() - span;
    }

    /// Whether it took too long, or, once it is over, who reads it. `told`: when a piece left.
    pub(super) fn is_late(&self, told: Instant) -> bool {
        match self.is_under_way() {
            true => self.since.elapsed() > SEARCH_WAIT,
            false => told.elapsed() > PIECE_WAIT,
        }
    }
}

/// Whoever ends it without asking for its end.
impl Drop for Seeking {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl Session {
    /// Has something searched for, if there is a place: a key has fewer than are free, as of all asks.
    pub(super) fn search(
        &mut self,
        around: &Around,
        number: u32,
        key: Arc<Key>,
        (pattern, objects, limit): (&str, Objects, u32),
    ) {
        let (mut all, mut own) = (0, 0);
        for entry in self.asks.values().filter(|entry| matches!(entry.state, State::Seeking(_))) {
            all += 1;
            own += usize::from(entry.key.as_ref().is_some_and(|other| other.hash == key.hash));
        }
        let has_place = own < SEARCHES_MAX.saturating_sub(all);
        // As long as a pattern may be, as its frame was read.
        let pattern = has_place.then(|| Pattern::new(pattern)).flatten();
        let (Some(pattern), Some(entry)) = (pattern, self.asks.get_mut(&number)) else {
            return self.refuse(around, number, &full());
        };
        let (since, is_given_up) = (Instant::now(), Arc::new(AtomicBool::new(false)));
        let of = Of { session: self.number, ask: number };
        let search =
            Search { of, key, pattern, objects, limit, since, is_given_up: Arc::clone(&is_given_up) };
        entry.since = since;
        if around.searches.push(search, 0).is_err() {
            return self.refuse(around, number, &not_now());
        }
        entry.state =
            State::Seeking(Seeking { pieces: VecDeque::new(), end: None, since, is_given_up, is_idle: true });
    }

    /// Takes what the thread has to tell of a search. One that nobody reads is over once it has its end.
    pub(super) fn sought(&mut self, around: &Around, number: u32, sought: Sought) {
        let Some(entry) = self.asks.get_mut(&number) else { return };
        let State::Seeking(seeking) = &mut entry.state else { return };
        match sought {
            Sought::End(_) if entry.is_silent => return self.remove(around, number),
            Sought::Piece(_) if entry.is_silent => return,
            Sought::Piece(frame) => seeking.pieces.push_back(frame),
            Sought::End(cut) => seeking.end = Some(cut),
        }
        entry.since = Instant::now();
        if std::mem::take(&mut seeking.is_idle) {
            self.turns.push_back(number);
        }
    }
}
