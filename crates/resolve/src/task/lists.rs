//! Tasks by what they are counted under, zone or client, the oldest first: to find whom to give up when there is no room.
//!
//! ```text
//! heads:  [ count | first, last ]  of 1,024, by keyed hash         links: by slot of the task [ list | before, after ]
//! ```
//!
//! To find the longest 1,024 counters are looked through, about a quarter of a microsecond, only when there is no room.

use crate::limits::LISTS;

/// No slot, or no list.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Head {
    count: u32,
    first: u32,
    last: u32,
}

#[derive(Clone, Copy)]
pub(crate) struct Link {
    list: u32,
    before: u32,
    after: u32,
}

impl Link {
    /// Whether its slot is in a list.
    pub(crate) fn is_in_list(&self) -> bool {
        self.list != NONE
    }
}

const OUT: Link = Link { list: NONE, before: NONE, after: NONE };

/// Tasks in lists by zone or client, the oldest of each first.
pub(crate) struct Lists {
    heads: Box<[Head]>,
    pub(crate) links: Vec<Link>,
}

impl Lists {
    pub(crate) fn new() -> Lists {
        Lists { heads: vec![Head { count: 0, first: NONE, last: NONE }; LISTS].into(), links: Vec::new() }
    }

    /// Puts a slot at the end of the list of this hash, out of any other.
    pub(crate) fn append(&mut self, slot: u32, hash: u64) {
        self.remove(slot);
        if self.links.len() <= slot as usize {
            self.links.resize(slot as usize + 1, OUT);
        }
        let list = (hash % LISTS as u64) as u32;
        let head = &mut self.heads[list as usize];
        let last = std::mem::replace(&mut head.last, slot);
        head.count += 1;
        match last {
            NONE => head.first = slot,
            last => self.links[last as usize].after = slot,
        }
        self.links[slot as usize] = Link { list, before: last, after: NONE };
    }

    /// Takes a slot out, if it is in one.
    pub(crate) fn remove(&mut self, slot: u32) {
        let Some(link) = self.links.get_mut(slot as usize) else { return };
        let Link { list, before, after } = std::mem::replace(link, OUT);
        let Some(head) = self.heads.get_mut(list as usize) else { return };
        head.count -= 1;
        match before {
            NONE => head.first = after,
            before => self.links[before as usize].after = after,
        }
        match after {
            NONE => self.heads[list as usize].last = before,
            after => self.links[after as usize].before = before,
        }
    }

    /// The longest list: how many are in it, and the slot of its oldest.
    pub(crate) fn fullest(&self) -> Option<(u32, u32)> {
        let head = self.heads.iter().max_by_key(|head| head.count)?;
        (head.count > 0).then_some((head.count, head.first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_the_longest() {
        let mut lists = Lists::new();
        assert_eq!(lists.fullest(), None);
        (0..3).for_each(|slot| lists.append(slot, 7));
        (3..5).for_each(|slot| lists.append(slot, 8));
        assert_eq!(lists.fullest(), Some((3, 0)));
        lists.append(0, 7);
        assert_eq!(lists.fullest(), Some((3, 1)), "what goes on becomes the youngest");
        lists.remove(2);
        lists.remove(2);
        lists.append(1, 8);
        assert_eq!(lists.fullest(), Some((3, 3)));
        (0..5).for_each(|slot| lists.remove(slot));
        assert_eq!(lists.fullest(), None);
    }
}
