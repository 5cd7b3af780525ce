//! From values to places along an axis, and where an axis has its marks.

/// Marks on an axis, about: more would not be read.
const MARKS: f64 = 5.0;
/// Powers of ten on a logarithmic axis up to which 2 and 5 have marks too.
const FINE_POWERS: i32 = 2;

/// An axis: its ends, its marks, and whether it is logarithmic.
#[derive(Clone, Debug)]
pub struct Scale {
    from: f64,
    to: f64,
    is_log: bool,
    /// Where marks stand, in rising order.
    pub marks: Vec<f64>,
}

impl Scale {
    /// An axis that holds zero and all of `values`, which are finite and not beyond
    /// [`VALUE_MAX`](super::data::VALUE_MAX).
    pub fn from_zero(values: impl Iterator<Item = f64>) -> Scale {
        let (low, high) =
            values.fold((0.0f64, 0.0f64), |(low, high), value| (low.min(value), high.max(value)));
        Scale::linear(low, high)
    }

    /// An axis from `low` to `high`, widened to marks at round numbers.
    pub fn linear(low: f64, high: f64) -> Scale {
        let high = if high > low { high } else { low + 1.0 };
        let step = nice_step((high - low) / MARKS);
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        let count = (last - first).clamp(1.0, 4.0 * MARKS) as usize;
        let marks = (0..=count).map(|place| (first + place as f64) * step).collect();
        Scale { from: first * step, to: last * step, is_log: false, marks }
    }

    /// A logarithmic axis that holds `values`, which are all greater than zero.
    pub fn log(values: impl Iterator<Item = f64>) -> Scale {
        let (low, high) =
            values.fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if low <= high { (low, high) } else { (1.0, 10.0) };
        let first = low.log10().floor() as i32;
        let last = (high.log10().ceil() as i32).max(first + 1);
        let all = (first..=last).step_by(((last - first) / 6 + 1) as usize);
        let is_fine = last - first <= FINE_POWERS;
        let factors: &[f64] = if is_fine { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let all: Vec<f64> =
            all.flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power))).collect();
        // No more room below and above than to the next marks.
        let from = all.iter().rev().find(|&&mark| mark <= low * (1.0 + 1e-9)).copied();
        let to = all.iter().find(|&&mark| mark >= high * (1.0 - 1e-9)).copied();
        let from = from.unwrap_or(10f64.powi(first));
        let to = to.filter(|&to| to > from).unwrap_or(10f64.powi(last)).max(from * 2.0);
        let marks = all.into_iter().filter(|mark| (from..=to).contains(mark)).collect();
        Scale { from, to, is_log: true, marks }
    }

    /// An axis that ends where its values do, for what varies; marks are the caller's.
    pub fn tight(low: f64, high: f64, is_log: bool) -> Scale {
        Scale { from: low, to: high, is_log, marks: Vec::new() }
    }

    /// Where `value` is, from 0 at the axis's beginning to 1 at its end; never outside.
    pub fn place(&self, value: f64) -> f64 {
        let share = match self.is_log {
            true => (value.max(self.from) / self.from).log10() / (self.to / self.from).log10(),
            false => (value - self.from) / (self.to - self.from),
        };
        // A range of nothing has its one value in the middle.
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.5 }
    }
}

/// 1, 2 or 5 times a power of ten, at least `least`, which is greater than zero.
fn nice_step(least: f64) -> f64 {
    let power = 10f64.powi(least.log10().floor() as i32);
    [1.0, 2.0, 5.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|&step| step >= least)
        .unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round() {
        let scale = Scale::from_zero([37_000.0, 93_000.0].into_iter());
        assert_eq!(scale.marks, [0.0, 20_000.0, 40_000.0, 60_000.0, 80_000.0, 100_000.0]);
        assert_eq!(scale.place(50_000.0), 0.5);
        assert_eq!(Scale::from_zero([-3.0, 4.0].into_iter()).marks, [-4.0, -2.0, 0.0, 2.0, 4.0]);
        assert_eq!(Scale::from_zero(std::iter::empty()).marks.first(), Some(&0.0));
        assert_eq!(Scale::log([3.0, 700.0].into_iter()).marks, [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(Scale::log([30.0, 70.0].into_iter()).marks, [20.0, 50.0, 100.0]);
        assert_eq!(Scale::log([1e-9, 1e9].into_iter()).marks.len(), 5);
        assert_eq!(Scale::log(std::iter::empty()).marks, [1.0, 2.0, 5.0, 10.0]);
    }

    #[test]
    fn nothing_leaves_the_axis() {
        let scales = [
            Scale::linear(5.0, 5.0),
            Scale::linear(1e99, 1e100),
            Scale::log([1e-99, 1e99].into_iter()),
            Scale::tight(3.0, 3.0, false),
            Scale::tight(3.0, 3.0, true),
        ];
        for scale in &scales {
            for value in [-1e100, -1.0, 0.0, 1.0, 5.0, 1e100] {
                assert!((0.0..=1.0).contains(&scale.place(value)), "{scale:?} {value}");
            }
            assert!(scale.marks.len() < 30 && scale.marks.is_sorted(), "{scale:?}");
        }
    }
}
