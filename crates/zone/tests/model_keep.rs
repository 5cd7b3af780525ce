//! The rule by which answers are kept beside a writer that adds a zone, in all orders that memory allows.
//!
//! This is the protocol of `catalog` and `auth::sources` by itself: a table that is exchanged, a cell, and the version of the zone above. A kept answer
//! that does not know the new zone must be of the old version. Each rule that is left out must make that fail.
//!
//! The second protocol is that of zones that change by parts (`catalog::partition`): a kept answer of a state must not be older than the state says.
#![allow(clippy::unwrap_used)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering::Acquire, Ordering::Release};
use loom::thread;

const OLD: usize = 1;
const RAISED: usize = 2;

/// A rule that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// Answers are kept without asking a table taken anew.
    NoRepeat,
    /// The version of the zone above is raised before the new zone is in the table.
    RaisedTooEarly,
    /// The repeat asks the table that was asked before.
    SameTable,
    /// Additions are counted before the new zone is in the table.
    CountedTooEarly,
    /// The count is read after the table was loaded.
    CountReadTooLate,
}

struct Catalog {
    /// Which of the tables is published.
    table: AtomicUsize,
    /// In each of them the cell of the new zone: 0 without.
    cells: [AtomicUsize; 2],
    version: AtomicUsize,
    additions: AtomicUsize,
}

impl Catalog {
    fn add(&self, fault: Fault) {
        if fault == Fault::RaisedTooEarly {
            self.version.store(RAISED, Release);
        }
        if fault == Fault::CountedTooEarly {
            self.additions.store(1, Release);
        }
        self.table.store(1, Release);
        self.cells[1].store(1, Release);
        if fault != Fault::CountedTooEarly {
            self.additions.store(1, Release);
        }
        if fault != Fault::RaisedTooEarly {
            self.version.store(RAISED, Release);
        }
    }

    /// Version of the zone above, then whether the new zone is found.
    fn find(&self, table: usize) -> (usize, usize) {
        let version = self.version.load(Acquire);
        (version, self.cells[table].load(Acquire))
    }
}

fn model(fault: Fault) {
    loom::model(move || {
        let catalog = Arc::new(Catalog {
            table: AtomicUsize::new(0),
            cells: [AtomicUsize::new(0), AtomicUsize::new(0)],
            version: AtomicUsize::new(OLD),
            additions: AtomicUsize::new(0),
        });
        let writer = Arc::clone(&catalog);
        let writer = thread::spawn(move || writer.add(fault));
        let mut counted = catalog.additions.load(Acquire);
        let table = catalog.table.load(Acquire);
        if fault == Fault::CountReadTooLate {
            counted = catalog.additions.load(Acquire);
        }
        let first = catalog.find(table);
        // Without additions since the table was loaded there is nothing to be asked again.
        let again = match fault {
            Fault::NoRepeat => first,
            _ if catalog.additions.load(Acquire) == counted => first,
            Fault::SameTable => catalog.find(table),
            _ => catalog.find(catalog.table.load(Acquire)),
        };
        let kept = (first == again).then_some(first);
        writer.join().unwrap();
        assert!(kept != Some((RAISED, 0)), "an answer of the new version does not know the new zone");
    });
}

#[test]
fn what_is_kept_knows_what_its_version_says() {
    model(Fault::None);
}

#[test]
fn every_rule_is_needed() {
    let faults = [
        Fault::NoRepeat,
        Fault::RaisedTooEarly,
        Fault::SameTable,
        Fault::CountedTooEarly,
        Fault::CountReadTooLate,
    ];
    for fault in faults {
        assert!(std::panic::catch_unwind(|| model(fault)).is_err(), "{fault:?}");
    }
}

/// A zone that changes by parts: what its view shows, the version of one of its parts, and the state of the whole.
struct Parted {
    view: AtomicUsize,
    part: AtomicUsize,
    state: AtomicUsize,
}

/// A rule that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartedFault {
    None,
    /// The view is stored after the state.
    ViewTooLate,
    /// The view is loaded before the state.
    StateReadTooLate,
    /// The state that is kept is the one when the answer is kept.
    StateOfKeeping,
    /// The part is not raised.
    PartLeftOut,
}

impl Parted {
    fn publish(&self, fault: PartedFault) {
        if fault != PartedFault::ViewTooLate {
            self.view.store(RAISED, Release);
        }
        if fault != PartedFault::PartLeftOut {
            self.part.store(RAISED, Release);
        }
        self.state.store(RAISED, Release);
        if fault == PartedFault::ViewTooLate {
            self.view.store(RAISED, Release);
        }
    }

    /// The state that an answer is kept with, and what it was made from.
    fn answer(&self, fault: PartedFault) -> (usize, usize) {
        if fault == PartedFault::StateReadTooLate {
            let view = self.view.load(Acquire);
            return (self.state.load(Acquire), view);
        }
        let state = self.state.load(Acquire);
        let view = self.view.load(Acquire);
        match fault {
            PartedFault::StateOfKeeping => (self.state.load(Acquire), view),
            _ => (state, view),
        }
    }
}

fn parted_model(fault: PartedFault) {
    loom::model(move || {
        let [view, part, state] = [OLD; 3].map(AtomicUsize::new);
        let zone = Arc::new(Parted { view, part, state });
        let writer = Arc::clone(&zone);
        let writer = thread::spawn(move || writer.publish(fault));
        let (state, view) = zone.answer(fault);
        writer.join().unwrap();
        let is_given = zone.part.load(Acquire) <= state;
        assert!(!is_given || view == RAISED, "an old answer is given after a publication");
    });
}

#[test]
fn what_is_kept_of_a_part_is_no_older_than_its_state() {
    parted_model(PartedFault::None);
}

#[test]
fn every_rule_of_parts_is_needed() {
    let faults = [
        PartedFault::ViewTooLate,
        PartedFault::StateReadTooLate,
        PartedFault::StateOfKeeping,
        PartedFault::PartLeftOut,
    ];
    for fault in faults {
        assert!(std::panic::catch_unwind(|| parted_model(fault)).is_err(), "{fault:?}");
    }
}
