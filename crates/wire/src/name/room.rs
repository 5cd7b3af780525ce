//! Room for one name, used again for name after name, on the heap and no larger than such names need.
//!
//! ```text
//! none                                            the root
//! | name | not used ... | octets of the name |    32, 64, 128 or 256 octets: what the longest so far needed
//! ```

use super::{NAME_OCTETS_MAX, Name};
use std::{fmt, mem, ops::Deref};

/// The smallest room: what most names of hosts need, with the octet that says how long they are.
const ROOM_OCTETS_MIN: usize = 32;

/// A name of its own that becomes others: it allocates only where one is longer than all before. Where many wait for use they are no larger than a pointer and a length.
#[derive(Default)]
pub struct NameRoom {
    octets: Box<[u8]>,
}

impl NameRoom {
    /// The root, without memory.
    pub fn new() -> NameRoom {
        NameRoom::default()
    }

    /// Becomes another name.
    #[inline]
    pub fn set(&mut self, name: &Name) {
        let octets = name.octets();
        let length = octets.len().min(NAME_OCTETS_MAX);
        if self.octets.len() <= length {
            self.octets = vec![0; (length + 1).next_power_of_two().max(ROOM_OCTETS_MIN)].into();
        }
        self.octets[..length].copy_from_slice(&octets[..length]);
        if let Some(last) = self.octets.last_mut() {
            *last = length as u8;
        }
    }

    /// The same in lower case.
    #[inline]
    pub fn set_lower(&mut self, name: &Name) {
        self.set(name);
        let length = self.length();
        // Length octets are below any letter.
        self.octets[..length].make_ascii_lowercase();
    }

    /// The room, to become another name with; the root is left.
    pub fn take(&mut self) -> NameRoom {
        mem::take(self)
    }

    /// Octets of memory, in use or not.
    pub fn room_octets(&self) -> usize {
        self.octets.len()
    }

    #[inline]
    fn length(&self) -> usize {
        self.octets.last().map_or(0, |last| usize::from(*last))
    }
}

impl Deref for NameRoom {
    type Target = Name;

    #[inline]
    fn deref(&self) -> &Name {
        match self.length() {
            0 => Name::root(),
            length => Name::trusted(&self.octets[..length]),
        }
    }
}

impl From<&Name> for NameRoom {
    fn from(name: &Name) -> NameRoom {
        let mut room = NameRoom::new();
        room.set(name);
        room
    }
}

impl Clone for NameRoom {
    fn clone(&self) -> NameRoom {
        NameRoom::from(&**self)
    }

    fn clone_from(&mut self, other: &NameRoom) {
        self.set(other);
    }
}

impl PartialEq for NameRoom {
    fn eq(&self, other: &NameRoom) -> bool {
        **self == **other
    }
}

impl Eq for NameRoom {}

impl fmt::Display for NameRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl fmt::Debug for NameRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

/// Rooms that are kept: as many names as end and begin within a turn or two of a worker.
const ROOMS_MAX: usize = 128;

/// Rooms of names that nobody needs any more, for those that come.
#[derive(Default)]
pub struct NameRooms {
    rooms: Vec<NameRoom>,
}

impl NameRooms {
    /// A copy of a name.
    pub fn copy(&mut self, name: &Name) -> NameRoom {
        let mut room = self.rooms.pop().unwrap_or_default();
        room.set(name);
        room
    }

    /// The same in lower case.
    pub fn lower(&mut self, name: &Name) -> NameRoom {
        let mut room = self.rooms.pop().unwrap_or_default();
        room.set_lower(name);
        room
    }

    /// Takes a room.
    pub fn put(&mut self, room: NameRoom) {
        if self.rooms.len() < ROOMS_MAX && room.room_octets() > 0 {
            self.rooms.push(room);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::NameBuf;

    #[track_caller]
    fn check(room: &mut NameRoom, text: &str, octets: usize) {
        let name = NameBuf::from_text(text).unwrap();
        room.set(&name);
        assert_eq!((&**room, room.room_octets()), (&*name, octets), "{text}");
        room.set_lower(&name);
        assert_eq!((&**room, room.room_octets()), (&*name.to_lowercase(), octets), "{text}");
    }

    #[test]
    fn grows_and_stays() {
        let mut room = NameRoom::new();
        assert!(room.is_root() && room.room_octets() == 0);
        check(&mut room, ".", 32);
        check(&mut room, "Www.Example.com.", 32);
        check(&mut room, &("x".repeat(28) + "."), 32);
        check(&mut room, &("x".repeat(30) + "."), 64);
        check(&mut room, "a.", 64);
        check(&mut room, &"A.".repeat(127), 256);
        check(&mut room, ".", 256);
        check(&mut room, "b.c.", 256);
        let other = room.clone();
        assert_eq!((other.to_string(), other.room_octets(), other == room), ("b.c.".into(), 32, true));
        let taken = room.take();
        assert!(room.is_root() && *taken == *other);
    }

    #[test]
    fn rooms_are_used_again() {
        let [long, short] = ["A".repeat(60), "B.c".into()].map(|text| NameBuf::from_text(&text).unwrap());
        let mut rooms = NameRooms::default();
        let room = rooms.copy(&long);
        assert_eq!((&*room, room.room_octets()), (&*long, 64));
        rooms.put(room);
        rooms.put(NameRoom::new());
        let [again, other] = [rooms.lower(&short), rooms.lower(&short)];
        assert_eq!((&*again, again.room_octets()), (&*short.to_lowercase(), 64));
        assert_eq!((&*other, other.room_octets()), (&*short.to_lowercase(), 32));
        (0..2 * ROOMS_MAX).for_each(|_| rooms.put(other.clone()));
        assert_eq!(rooms.rooms.len(), ROOMS_MAX);
    }
}
