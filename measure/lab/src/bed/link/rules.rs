//! Names whose servers are dead or slow.

use std::time::Duration;

use wire::{Name, NameBuf};

/// What happens to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// No answer ever comes.
    Lost,
    /// The answer comes so much later than the round trip.
    Late(Duration),
}

/// Questions that something happens to.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Those for this name and all below it.
    pub below: NameBuf,
    /// Those asked of this way alone; without, of all.
    pub way: Option<usize>,
    /// What happens.
    pub fate: Fate,
}

impl Rule {
    /// Whether a question of a way is one of them.
    pub(super) fn fits(&self, name: &Name, way: usize) -> bool {
        self.way.is_none_or(|of| of == way) && name.is_at_or_below(&self.below)
    }
}
