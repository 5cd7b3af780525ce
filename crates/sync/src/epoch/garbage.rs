//! What waits to be freed: pieces, and groups of pieces with the readers that may still use them.

use std::{any::Any, sync::Arc as Value, vec};

use super::{COLLECT_AT, Line, Shared, bell::Bell, bell::Reason, lock};
use crate::primitives::{Arc, Ordering};

/// What is freed.
pub(super) enum Thing {
    /// By doing something.
    Act(Box<dyn FnOnce() + Send>),
    /// By dropping it.
    Owned(Box<dyn Any + Send>),
    /// By dropping one of those that own it.
    Shared(Value<dyn Any + Send + Sync>),
}

/// One thing and the octets of memory that it gives back.
pub(super) struct Piece {
    pub(super) thing: Thing,
    pub(super) octets: usize,
}

impl Piece {
    fn free(self) {
        match self.thing {
            Thing::Act(act) => act(),
            Thing::Owned(value) => drop(value),
            Thing::Shared(value) => drop(value),
        }
    }
}

/// What was retired since the last collection, and how much is not freed yet.
pub(super) struct Garbage {
    waiting: Vec<Piece>,
    /// Of all that is not freed, in groups and being freed too.
    pieces: usize,
    octets: usize,
    pieces_max: usize,
    octets_max: usize,
    /// Of the collector that serves the domain.
    bell: Option<Arc<Bell>>,
}

impl Garbage {
    pub(super) fn new(pieces_max: usize, octets_max: usize) -> Garbage {
        Garbage { waiting: Vec::new(), pieces: 0, octets: 0, pieces_max, octets_max, bell: None }
    }

    /// Adds a piece; returns what to ring, and why, if the collector is to know.
    pub(super) fn push(&mut self, piece: Piece) -> Option<(Arc<Bell>, Reason)> {
        self.pieces += 1;
        self.octets = self.octets.saturating_add(piece.octets);
        self.waiting.push(piece);
        let reason = match self.waiting.len() {
            1 => Reason::Garbage,
            COLLECT_AT => Reason::Full,
            _ => return None,
        };
        Some((Arc::clone(self.bell.as_ref()?), reason))
    }

    /// Takes what waits for a collection.
    pub(super) fn take(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.waiting)
    }

    /// Pieces and octets that are not freed.
    pub(super) fn left(&self) -> (usize, usize) {
        (self.pieces, self.octets)
    }

    pub(super) fn has_room(&self) -> bool {
        self.pieces < self.pieces_max && self.octets < self.octets_max
    }

    pub(super) fn set_bell(&mut self, bell: Arc<Bell>) {
        self.bell = Some(bell);
    }

    /// Takes `bell` away, unless another is there by now.
    pub(super) fn forget_bell(&mut self, bell: &Arc<Bell>) {
        self.bell.take_if(|own| Arc::ptr_eq(own, bell));
    }
}

/// Pieces that were unpublished before the lines of their readers were noted.
pub(super) struct Group {
    pub(super) pieces: Vec<Piece>,
    /// Lines that were odd, and their values then.
    pub(super) waits_for: Vec<(Arc<Line>, u64)>,
}

/// Adds a group. When `groups_max` are there the last takes the pieces of the new one and waits for what that waits for: who of
/// its own readers has not moved on is still in the same batch, and so among those too.
pub(super) fn add(groups: &mut Vec<Group>, mut new: Group, groups_max: usize) {
    let is_full = groups.len() >= groups_max;
    match groups.last_mut() {
        Some(last) if is_full => {
            last.pieces.append(&mut new.pieces);
            last.waits_for = new.waits_for;
        }
        _ => groups.push(new),
    }
}

/// Takes out the pieces of all groups whose readers have moved on.
pub(super) fn take_unused(groups: &mut Vec<Group>) -> Vec<Piece> {
    let mut unused = Vec::new();
    groups.retain_mut(|group| {
        // Acquire: what the reader did before it ended the batch is over before anything is freed.
        group.waits_for.retain(|(line, turn)| line.0.load(Ordering::Acquire) == *turn);
        let is_used = !group.waits_for.is_empty();
        if !is_used {
            unused.append(&mut group.pieces);
        }
        is_used
    });
    unused
}

/// Pieces on their way out; those that are left when one of them panics are freed all the same, and all are counted.
pub(super) struct Freeing<'d> {
    domain: &'d Shared,
    pieces: vec::IntoIter<Piece>,
    freed: usize,
    octets: usize,
}

impl Freeing<'_> {
    pub(super) fn new(domain: &Shared, pieces: Vec<Piece>) -> Freeing<'_> {
        Freeing { domain, pieces: pieces.into_iter(), freed: 0, octets: 0 }
    }

    pub(super) fn run(&mut self) {
        for piece in self.pieces.by_ref() {
            self.freed += 1;
            self.octets = self.octets.saturating_add(piece.octets);
            piece.free();
        }
    }
}

impl Drop for Freeing<'_> {
    fn drop(&mut self) {
        self.run();
        if self.freed > 0 {
            let mut garbage = lock(&self.domain.garbage);
            garbage.pieces = garbage.pieces.saturating_sub(self.freed);
            garbage.octets = garbage.octets.saturating_sub(self.octets);
            drop(garbage);
            self.domain.room.notify_all();
        }
    }
}
