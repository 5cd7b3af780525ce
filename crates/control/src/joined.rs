//! What came of zones from primaries and from stores, put together: zones as a whole into packs, several differences into one.

use zone::build::Problem;
use zone::change::Condenser;
use zone::{Change, Contents, Pack, PackBuilder, TextStamp};

use crate::findings::Findings;
use crate::load::SEEDS_MAX;
use crate::system::random;

/// Octets of several differences as one, at most: as of those that are sent. With more all of the zone is asked for.
const CONDENSED_OCTETS_MAX: usize = 8 << 20;

/// All of these as one. `None`: it would be too large, or they do not follow each other.
pub(crate) fn one(mut changes: Vec<Change>) -> Option<Change> {
    if changes.len() == 1 {
        return changes.pop();
    }
    let mut condenser = Condenser::new(CONDENSED_OCTETS_MAX);
    changes.iter().try_for_each(|change| condenser.add(change)).ok()?;
    condenser.into_change().ok()
}

/// Zones in one pack.
pub(crate) struct Packed {
    /// None where no zone can be served.
    pub(crate) pack: Option<Pack>,
    /// How many zones were looked at, at least one.
    pub(crate) taken: usize,
    /// The number of each there; none of one that cannot be served.
    pub(crate) numbers: Vec<Option<u32>>,
}

/// Makes a pack of the first zones: as many as it holds, until it has so many octets.
pub(crate) fn pack<'z>(
    zones: impl Iterator<Item = (&'z Contents, &'z Findings)> + Clone,
    octets_max: usize,
) -> Packed {
    let mut numbers = Vec::new();
    for _ in 0..SEEDS_MAX {
        let mut builder = PackBuilder::new(random());
        numbers.clear();
        for (contents, findings) in zones.clone() {
            let number = builder.zone_count();
            let Findings { errors, warnings, is_digested, .. } = *findings;
            let stamp = TextStamp { errors, warnings, is_digested, ..TextStamp::default() };
            match builder.add_zone(contents, stamp) {
                Ok(()) => numbers.push(Some(number)),
                Err(problems) if problems.contains(&Problem::PackFull) && number > 0 => break,
                Err(_) => numbers.push(None),
            }
            // A large one stays by itself, or nearly.
            if builder.octets() >= octets_max {
                break;
            }
        }
        let is_empty = builder.zone_count() == 0;
        if is_empty {
            break;
        }
        if let Ok(Ok(pack)) = builder.finish().map(Pack::open) {
            return Packed { pack: Some(pack), taken: numbers.len(), numbers };
        }
    }
    let taken = numbers.len().max(1);
    Packed { pack: None, taken, numbers: vec![None; taken] }
}
