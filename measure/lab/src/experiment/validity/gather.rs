//! What a run found, kept apart until it counts.

use std::collections::BTreeMap;

use super::super::{Mark, Values};

/// What a run fills for itself, and what is added to that of all runs once it counts.
pub trait Gather: Default {
    /// Adds what a run found that counts. `mark`: what is known of the run.
    fn gather(&mut self, run: Self, mark: Mark);
}

impl Gather for Values {
    fn gather(&mut self, run: Values, mark: Mark) {
        self.take_over(&run, mark);
    }
}

/// A count of all runs.
impl Gather for u64 {
    fn gather(&mut self, run: u64, _mark: Mark) {
        *self += run;
    }
}

impl<K: Ord, T: Gather> Gather for BTreeMap<K, T> {
    fn gather(&mut self, run: BTreeMap<K, T>, mark: Mark) {
        for (key, found) in run {
            self.entry(key).or_default().gather(found, mark);
        }
    }
}

/// Gathers a struct field by field, all of which are to be named.
macro_rules! gather_fields {
    ($found:ident: $($field:ident),+ $(,)?) => {
        impl $crate::experiment::validity::Gather for $found {
            fn gather(&mut self, run: $found, mark: $crate::experiment::Mark) {
                let $found { $($field),+ } = run;
                $($crate::experiment::validity::Gather::gather(&mut self.$field, $field, mark);)+
            }
        }
    };
}
pub(in crate::experiment) use gather_fields;

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Found {
        rates: Values,
        failed: BTreeMap<String, u64>,
    }

    gather_fields!(Found: rates, failed);

    #[test]
    fn a_run_is_added_whole_with_its_mark() {
        let mut all = Found::default();
        for (round, rate) in [(1, 10.0), (4, 20.0)] {
            let mut run = Found::default();
            run.rates.push("zonda", "here", rate);
            run.failed.insert("zonda".to_owned(), 2);
            all.gather(run, Mark { round, shares: Some((0.01, 0.0)), ..Mark::default() });
        }
        let marks = all.rates.marks("zonda", "here");
        let marks: Vec<_> = marks.iter().map(|mark| (mark.round, mark.shares)).collect();
        assert_eq!((all.rates.of("zonda", "here"), all.failed["zonda"]), (&[10.0, 20.0][..], 4));
        assert_eq!(marks, [(1, Some((0.01, 0.0))), (4, Some((0.01, 0.0)))]);
    }
}
