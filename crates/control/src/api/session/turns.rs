//! Asks that are told piece by piece, each in its turn, and those that take too long.

use std::sync::Arc;
use std::time::Instant;

use api::frame::{Cursor, Done};

use super::{Around, CHANGE_WAIT, Entry, OUT_OCTETS_MAX, PIECE_WAIT, Session, State, not_now};
use crate::api::inbox::Of;
use crate::api::judge::No;
use crate::api::look::Look;
use crate::api::reading::Next;
use crate::api::search::Cut;

/// What is said of a change that is undecided for too long.
const UNKNOWN: &str = "it is not known whether this is kept: the log of changes cannot be written";

/// What becomes of an ask in its turn.
enum Turn {
    Piece(Vec<u8>),
    Later,
    End(Done<'static>),
    Cut,
}

/// The end of what was told as a whole; where a list goes on.
fn end(status: u16, next: Option<Cursor>) -> Turn {
    Turn::End(Done { status, retry_after: 0, is_cut: false, next, words: "" })
}

impl Session {
    /// Makes one piece of what is told, if there is room and credit for one: each in its turn. Says whether there is more to do at once.
    pub(in crate::api) fn tell_one(&mut self, around: &Around) -> bool {
        if self.output.len() >= OUT_OCTETS_MAX {
            return false;
        }
        for _ in 0..self.turns.len() {
            let Some(number) = self.turns.pop_front() else { return false };
            let Some(entry) = self.asks.get_mut(&number) else { continue };
            let turn = match &mut entry.state {
                State::Ready(pieces, status) if pieces.is_empty() => end(*status, None),
                State::Listing(listing) if !listing.has_piece() => match listing.from {
                    None => end(200, listing.cursor(around.start)),
                    Some(_) if listing.is_looking => continue,
                    Some(from) => {
                        listing.is_looking = true;
                        let of = Of { session: self.number, ask: number };
                        let (key, which) = &listing.of;
                        let of_whom = (Arc::clone(key), which.clone());
                        let look = Look::List(of, from, listing.name.clone(), of_whom);
                        self.look(around, number, look);
                        return true;
                    }
                },
                State::Seeking(seeking) if !seeking.has_piece() => match seeking.end() {
                    Some(done) => Turn::End(done),
                    None => continue,
                },
                _ if entry.credit == 0 => {
                    self.turns.push_back(number);
                    continue;
                }
                State::Ready(pieces, _) => pieces.pop_front().map_or(Turn::Later, Turn::Piece),
                State::Listing(listing) => listing.next().map_or(Turn::Later, Turn::Piece),
                State::Seeking(seeking) => seeking.next().map_or(Turn::Later, Turn::Piece),
                State::Explaining(explaining) => {
                    explaining.next().map_or_else(|| end(200, None), Turn::Piece)
                }
                State::Reading(reading) => match reading.next() {
                    Next::Piece(frame) => Turn::Piece(frame),
                    Next::Later => Turn::Later,
                    Next::End => end(200, None),
                    Next::Cut => Turn::Cut,
                },
                _ => continue,
            };
            match turn {
                Turn::Piece(frame) => {
                    (entry.credit, entry.since) = (entry.credit - 1, Instant::now());
                    if !entry.is_silent {
                        self.output.extend_from_slice(&frame);
                    }
                    self.turns.push_back(number);
                }
                Turn::Later => self.turns.push_back(number),
                Turn::End(done) => self.done(around, number, &done),
                Turn::Cut => self.refuse(around, number, &not_now()),
            }
            return true;
        }
        false
    }

    /// Ends what takes too long.
    pub(in crate::api) fn look_at_time(&mut self, around: &Around) {
        let late = |entry: &Entry| match &entry.state {
            State::Changing { .. } => entry.since.elapsed() > CHANGE_WAIT && !entry.is_silent,
            State::Listing(listing) if listing.is_looking => false,
            State::Acting | State::Pinning(..) => false,
            State::Seeking(seeking) => seeking.is_late(entry.since) && !entry.is_silent,
            _ => entry.since.elapsed() > PIECE_WAIT,
        };
        let late: Vec<u32> =
            self.asks.iter().filter(|(_, entry)| late(entry)).map(|(number, _)| *number).collect();
        for number in late {
            let done = self.asks.get(&number).and_then(|entry| match &entry.state {
                State::Changing { .. } => {
                    Some(Done { status: 504, retry_after: 0, is_cut: false, next: None, words: UNKNOWN })
                }
                State::Seeking(seeking) if seeking.is_under_way() => Some(Cut::done(Some(Cut::Time))),
                _ => None,
            });
            match done {
                Some(done) => {
                    self.say(around, number, &done);
                    // It has its place until whoever has it is done with it.
                    self.stop(around, number);
                }
                None => self.refuse(around, number, &No::new(408, "too slow")),
            }
        }
    }
}
