//! What view words name by number: packs and states, held by whom adds them and by each slot that shows one.

use super::ViewSource;
use crate::catalog::numbered::{Numbers, PackNumber, StatesNumber};
use crate::catalog::slots::{Absent, Named, word_of, word_of_state};
use crate::catalog::states::States;
use crate::catalog::{Inner, Parts};
use crate::lookup::ZoneView;
use crate::pack::Pack;
use std::sync::Arc;
use sync::epoch::Held;
use wire::Name;

/// What view words name by number.
pub(super) struct Shown {
    pub(super) packs: Numbers<Pack>,
    pub(super) states: Numbers<States>,
}

impl Shown {
    /// One more view word that shows this: the word.
    pub(super) fn use_of(&mut self, source: ViewSource, apex: &Name, key: &[u8]) -> Held<Box<Absent>> {
        match source {
            ViewSource::Pack(number, zone) => {
                let pack = self.packs.get(number.0);
                // One that was lost since it was looked at shows as lost.
                let is_it = ZoneView::key_in(pack, zone) == Some(key) || pack.is_damaged();
                assert!(is_it, "a pack has another zone");
                self.packs.use_again(number.0);
                Held::Number(word_of(number, zone))
            }
            ViewSource::States(number, state) => {
                let states = self.states.get(number.0);
                assert!(states.apex_key() == key, "states of another zone");
                assert!(states.get(state).is_some(), "a zone has no such state");
                self.states.use_again(number.0);
                Held::Number(word_of_state(number, state))
            }
            ViewSource::Absent(why) => Held::Value(Box::new(Absent::new(apex, why))),
        }
    }

    /// One view word less names this.
    pub(super) fn let_go(&mut self, named: Option<Named>, parts: &Parts, inner: &Arc<Inner>) {
        match named {
            Some(Named::Pack(number)) => self.packs.let_go(number.0, &parts.packs, inner),
            Some(Named::States(number)) => self.states.let_go(number.0, &parts.states, inner),
            None => {}
        }
    }
}

/// A pack that was added, which stays as long as this does or a slot shows a zone of it.
pub struct PackHold {
    pub(super) inner: Arc<Inner>,
    pub(super) number: PackNumber,
}

impl PackHold {
    /// Its number.
    pub fn number(&self) -> PackNumber {
        self.number
    }
}

impl Drop for PackHold {
    fn drop(&mut self) {
        let directory = self.inner.parts.current();
        self.inner.lock().shown.packs.let_go(self.number.0, &directory.packs, &self.inner);
    }
}

/// States that were added, which stay as long as this does or a slot shows one of them.
pub struct StatesHold {
    pub(super) inner: Arc<Inner>,
    pub(super) number: StatesNumber,
}

impl StatesHold {
    /// Their number.
    pub fn number(&self) -> StatesNumber {
        self.number
    }
}

impl Drop for StatesHold {
    fn drop(&mut self) {
        let directory = self.inner.parts.current();
        self.inner.lock().shown.states.let_go(self.number.0, &directory.states, &self.inner);
    }
}
