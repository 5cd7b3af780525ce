//! The list of zones under its lock, and its numbers, which are known without that.
//!
//! Whoever has changed the list stores its numbers as words before the lock is let go. So who looks from moment to moment waits neither for a reload that enters its zones nor for
//! anybody who reads a pack while the list is held, and sees the list as the last change has left it.

use std::ops::{Deref, DerefMut};

use sync::RwLock;
use sync::counters::Number;
use sync::rwlock::{ReadGuard, WriteGuard};

use super::tallied::ZoneNumbers;
use super::zones::Zones;

/// See the module.
pub(crate) struct ZoneList {
    zones: RwLock<Zones>,
    words: Words,
}

/// The list for who changes it.
pub(crate) struct Writing<'l> {
    zones: WriteGuard<'l, Zones>,
    words: &'l Words,
}

/// [`ZoneNumbers`], each as a word that belongs to who has the lock.
struct Words([Number; 7]);

impl ZoneList {
    #[track_caller]
    pub(super) fn new(zones: Zones) -> ZoneList {
        let words = Words([const { Number::new() }; 7]);
        words.write(zones.numbers());
        ZoneList { zones: RwLock::named("zones", zones), words }
    }

    #[track_caller]
    pub(crate) fn read(&self) -> ReadGuard<'_, Zones> {
        self.zones.read()
    }

    #[track_caller]
    pub(crate) fn write(&self) -> Writing<'_> {
        Writing { zones: self.zones.write(), words: &self.words }
    }

    /// Whether nobody has the list.
    #[cfg(test)]
    pub(crate) fn is_free(&self) -> bool {
        self.zones.try_write().is_some()
    }

    /// How many zones are in which state. Takes no lock.
    pub(crate) fn numbers(&self) -> ZoneNumbers {
        self.words.read()
    }
}

impl Words {
    fn read(&self) -> ZoneNumbers {
        let [served, absent, broken, stale, packs, pack_octets, kept_octets] =
            self.0.each_ref().map(Number::read);
        ZoneNumbers { served, absent, broken, stale, packs, pack_octets, kept_octets }
    }

    fn write(&self, numbers: ZoneNumbers) {
        let ZoneNumbers { served, absent, broken, stale, packs, pack_octets, kept_octets } = numbers;
        let values = [served, absent, broken, stale, packs, pack_octets, kept_octets];
        self.0.iter().zip(values).for_each(|(word, value)| word.write(value));
    }
}

impl Deref for Writing<'_> {
    type Target = Zones;

    fn deref(&self) -> &Zones {
        &self.zones
    }
}

impl DerefMut for Writing<'_> {
    fn deref_mut(&mut self) -> &mut Zones {
        &mut self.zones
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.words.write(self.zones.numbers());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told is the list as the last change left it, also to who asks while it is being changed.
    #[test]
    fn numbers_are_those_of_the_list() {
        let list = ZoneList::new(Zones::default());
        assert_eq!(list.numbers(), ZoneNumbers::default());
        let mut zones = list.write();
        (zones.loaded, zones.shown) = (3, 4);
        assert_eq!(list.numbers(), ZoneNumbers::default());
        drop(zones);
        assert_eq!((list.numbers().served, list.numbers().absent), (3, 1));
        assert_eq!(list.numbers(), list.read().numbers());
    }
}
