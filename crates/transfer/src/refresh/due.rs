//! Which zone is due next: a heap with four children a place, in which every zone knows where it is.
//!
//! ```text
//! place p: (due, zone)        children 4 p + 1 ..= 4 p + 4, none due earlier        place of each zone: kept with the zone
//! ```

/// No place.
pub(super) const NOWHERE: u32 = u32::MAX;

const CHILDREN: usize = 4;

/// The heap. Places of zones are in a table of the caller's, which is given to each change.
#[derive(Default)]
pub(super) struct Heap {
    rows: Vec<(u32, u32)>,
}

impl Heap {
    /// What is due first, and when.
    pub(super) fn first(&self) -> Option<(u32, u32)> {
        self.rows.first().copied()
    }

    /// Says when a zone is due; `u32::MAX`: not at all. `places`: the place of each zone, [`NOWHERE`] where it has none.
    pub(super) fn set(&mut self, places: &mut impl Places, zone: u32, due: u32) {
        let place = places.place(zone);
        match (place, due) {
            (NOWHERE, u32::MAX) => {}
            (NOWHERE, _) => {
                self.rows.push((due, zone));
                places.put(zone, self.rows.len() as u32 - 1);
                self.up(places, self.rows.len() - 1);
            }
            (place, u32::MAX) => self.take(places, place as usize),
            (place, _) => {
                self.rows[place as usize].0 = due;
                self.mend(places, place as usize);
            }
        }
    }

    /// Removes the row at a place: the last one takes it.
    fn take(&mut self, places: &mut impl Places, place: usize) {
        let (_, zone) = self.rows.swap_remove(place);
        places.put(zone, NOWHERE);
        if place < self.rows.len() {
            places.put(self.rows[place].1, place as u32);
            self.mend(places, place);
        }
    }

    fn mend(&mut self, places: &mut impl Places, place: usize) {
        let place = self.up(places, place);
        self.down(places, place);
    }

    fn up(&mut self, places: &mut impl Places, mut place: usize) -> usize {
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if self.rows[parent].0 <= self.rows[place].0 {
                break;
            }
            self.swap(places, place, parent);
            place = parent;
        }
        place
    }

    fn down(&mut self, places: &mut impl Places, mut place: usize) {
        loop {
            let first = CHILDREN * place + 1;
            let end = (first + CHILDREN).min(self.rows.len());
            let Some(least) = (first..end).min_by_key(|&child| self.rows[child].0) else { return };
            if self.rows[place].0 <= self.rows[least].0 {
                return;
            }
            self.swap(places, place, least);
            place = least;
        }
    }

    fn swap(&mut self, places: &mut impl Places, a: usize, b: usize) {
        self.rows.swap(a, b);
        places.put(self.rows[a].1, a as u32);
        places.put(self.rows[b].1, b as u32);
    }
}

/// Where zones know their places.
pub(super) trait Places {
    fn place(&self, zone: u32) -> u32;
    fn put(&mut self, zone: u32, place: u32);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl Places for Vec<u32> {
        fn place(&self, zone: u32) -> u32 {
            self[zone as usize]
        }

        fn put(&mut self, zone: u32, place: u32) {
            self[zone as usize] = place;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// As a list that is searched from end to end.
        #[test]
        fn as_a_list(changes in proptest::collection::vec((0..20u32, prop_oneof![0..30u32, Just(u32::MAX)]), 0..200)) {
            let (mut heap, mut places, mut list) = (Heap::default(), vec![NOWHERE; 20], vec![u32::MAX; 20]);
            for (zone, due) in changes {
                heap.set(&mut places, zone, due);
                list[zone as usize] = due;
                let first = list.iter().min().copied().filter(|due| *due != u32::MAX);
                prop_assert_eq!(heap.first().map(|(due, _)| due), first);
                for (zone, &place) in places.iter().enumerate() {
                    match place {
                        NOWHERE => prop_assert_eq!(list[zone], u32::MAX),
                        place => prop_assert_eq!(heap.rows[place as usize], (list[zone], zone as u32)),
                    }
                }
            }
        }
    }
}
