//! Pins are cut where what they keep of packs and deltas that nobody serves any more has too many octets: a transfer may be so slow that it lasts for days, and zones are replaced meanwhile.
//!
//! ```text
//! pins, the oldest first:   pack A, replaced | pack B, in use | states of a delta, replaced, over pack A | pack C, replaced
//! cut, until the rest is within the bound:  ^                   ^                                          the youngest never
//! ```
//!
//! What is cut shows nothing any more, and is let go by who has it once he asks: with the next message of a transfer, at the latest when its connection is closed as too slow.

use super::pins::{Keeps, Live};
use super::{Catalog, CatalogView, SlotNumber};
use std::collections::{HashMap, HashSet};

/// Something that pins keep and that no slot shows, by its number among its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Piece {
    Pack(u64),
    Delta(u64),
    States(u64),
}

/// What a pin keeps alive, with octets.
type Pieces = Vec<(Piece, u64)>;

impl Catalog {
    /// Cuts the oldest pins of what no slot shows any more, until what the others keep of that has `octets_max` at most. What the youngest of them keeps stays, however much
    /// it is: a zone that is larger could else not be transferred to anybody while it changes. Returns how many were cut. Not for a worker: what only a pin
    /// keeps may be freed here.
    pub fn cut_pins(&self, octets_max: u64) -> usize {
        let pins = self.inner.pins.live();
        if pins.is_empty() {
            self.inner.pins.note_octets(0);
            return 0;
        }
        let packs = self.inner.pack_list.ids();
        let pieces: Vec<Pieces> =
            self.reader().with(|view| pins.iter().map(|pin| pieces(view, &packs, pin)).collect());
        let (cut, octets) = chosen(&pieces, octets_max);
        cut.iter().for_each(|at| pins[*at].cut());
        self.inner.pins.note_cut(cut.len());
        self.inner.pins.note_octets(octets);
        cut.len()
    }
}

/// What a pin keeps that no slot shows. `packs`: those that slots may show.
fn pieces(view: &CatalogView<'_>, packs: &HashSet<u64>, pin: &Live) -> Pieces {
    let octets = |octets: usize| octets as u64;
    match &pin.keeps {
        Keeps::Pack(pack) => {
            let pack = pack.upgrade().filter(|pack| !packs.contains(&pack.id()));
            pack.iter().map(|pack| (Piece::Pack(pack.id()), octets(pack.octets().len()))).collect()
        }
        Keeps::States(states, number) => {
            let (_, _, list, _) = view.pinning();
            let Some(states) = states.upgrade() else { return Vec::new() };
            if list.get(*number).is_some_and(|listed| listed.id() == states.id()) {
                return Vec::new();
            }
            let newest = states.newest();
            // Tables of cells are made anew twice as large: those of before are as much again.
            let tables = newest.map_or(0, |newest| 2 * newest.cells_octets());
            let mut pieces = vec![(Piece::States(states.id()), octets(states.octets() + tables))];
            if let Some(newest) = newest {
                let pack = newest.pack();
                if delta_shown(view, pin.slot) != Some(newest.id()) {
                    pieces.push((Piece::Delta(newest.id()), octets(newest.delta().octets())));
                }
                if !packs.contains(&pack.id()) {
                    pieces.push((Piece::Pack(pack.id()), octets(pack.octets().len())));
                }
            }
            pieces
        }
    }
}

/// The delta that a slot shows states of.
fn delta_shown(view: &CatalogView<'_>, slot: SlotNumber) -> Option<u64> {
    let (number, _) = view.seen_in(slot)?.0.states()?;
    let states = view.pinning().2.get(number.0)?;
    Some(states.newest()?.id())
}

/// Which pins to cut, by their places, and how many octets the others keep.
fn chosen(pins: &[Pieces], octets_max: u64) -> (Vec<usize>, u64) {
    let mut uses: HashMap<Piece, (usize, u64)> = HashMap::new();
    for (piece, octets) in pins.iter().flatten() {
        uses.entry(*piece).or_insert((0, *octets)).0 += 1;
    }
    let mut octets: u64 = uses.values().map(|(_, octets)| octets).sum();
    let youngest: Vec<Piece> = pins
        .iter()
        .rev()
        .find(|pieces| !pieces.is_empty())
        .into_iter()
        .flatten()
        .map(|each| each.0)
        .collect();
    let mut cut = Vec::new();
    for (at, pieces) in pins.iter().enumerate() {
        if octets <= octets_max {
            break;
        }
        // Cut in vain: what it keeps stays.
        if pieces.iter().all(|(piece, _)| youngest.contains(piece)) {
            continue;
        }
        cut.push(at);
        for (piece, _) in pieces {
            if let Some((count, own)) = uses.get_mut(piece) {
                *count -= 1;
                if *count == 0 {
                    octets -= *own;
                }
            }
        }
    }
    (cut, octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pins: &[&[(Piece, u64)]], octets_max: u64, expected: &[usize], left: u64) {
        let pins: Vec<Pieces> = pins.iter().map(|pieces| pieces.to_vec()).collect();
        assert_eq!(chosen(&pins, octets_max), (expected.to_vec(), left), "{pins:?}, {octets_max}");
    }

    #[test]
    fn the_oldest_are_cut_and_the_youngest_stays() {
        let (a, b, c) = ((Piece::Pack(1), 10), (Piece::Pack(2), 20), (Piece::Delta(2), 5));
        let pins: [&[_]; 5] = [&[a], &[], &[a], &[b, c], &[c]];
        check(&pins, 35, &[], 35);
        // Both that keep it.
        check(&pins, 34, &[0, 2], 25);
        check(&pins, 25, &[0, 2], 25);
        check(&pins, 24, &[0, 2, 3], 5);
        check(&pins, 0, &[0, 2, 3], 5);
        // What the youngest keeps is kept by others too, and cutting these gains nothing.
        check(&[&[a], &[b], &[b]], 0, &[0], 20);
        check(&[&[], &[]], 0, &[], 0);
        check(&[], 0, &[], 0);
    }
}
