//! Values by contender and place, and what becomes of them: figures, charts, tables.

use std::collections::BTreeMap;

use super::validity::{Conditions, quietness};
use crate::{
    known::Known,
    record::{Chart, Figure, Point, Role, Series, Table},
    statistics,
};

/// What is known of a value beside it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark {
    /// In which round it was measured: values of one round compare.
    pub round: usize,
    /// From which sides it is known.
    pub known: Known,
    /// Shares of time stolen, and taken by others, where they were watched.
    pub shares: Option<(f64, f64)>,
}

impl Mark {
    /// Of a run in a round under these conditions, of whatever the generator does not limit.
    pub fn of(round: usize, conditions: &Conditions) -> Mark {
        Mark { shares: Some((conditions.stolen, conditions.others)), ..Mark::in_round(round) }
    }

    /// Of a run in a round that was not watched by itself.
    pub fn in_round(round: usize) -> Mark {
        Mark { round, ..Mark::default() }
    }

    /// The same, of a value of which less is known.
    #[must_use]
    pub fn known(self, known: Known) -> Mark {
        Mark { known, ..self }
    }
}

/// A value with what is known of it.
pub type Marked = (f64, Mark);

/// Values of one metric, by contender and by place in what varies.
#[derive(Default)]
pub struct Values {
    by: BTreeMap<(String, String), Vec<f64>>,
    /// Of each value.
    marks: BTreeMap<(String, String), Vec<Mark>>,
    order: Vec<(String, String)>,
}

impl Values {
    /// Adds a value, of which only its place in the order of values is known: it compares with no other.
    pub fn push(&mut self, contender: &str, at: &str, value: f64) {
        let round = self.of(contender, at).len();
        self.push_at(contender, at, round, value);
    }

    /// Adds the value of a round.
    pub fn push_at(&mut self, contender: &str, at: &str, round: usize, value: f64) {
        self.push_marked(contender, at, value, Mark::in_round(round));
    }

    /// Adds a value. A round has one: of what comes twice in a row, as a limit program does that brackets its block, it is the mean. As two values
    /// they would have an interval say that there were twice as many rounds.
    pub fn push_marked(&mut self, contender: &str, at: &str, value: f64, mark: Mark) {
        let key = (contender.to_owned(), at.to_owned());
        if let (Some(before), Some(last)) = (
            self.marks.get_mut(&key).and_then(|marks| marks.last_mut()),
            self.by.get_mut(&key).and_then(|values| values.last_mut()),
        ) && before.round == mark.round
        {
            before.known = before.known.and(mark.known);
            *last = f64::midpoint(*last, value);
            return;
        }
        self.marks.entry(key.clone()).or_default().push(mark);
        if !self.order.contains(&key) {
            self.order.push(key.clone());
        }
        self.by.entry(key).or_default().push(value);
    }

    /// Adds the values of a run, which has one at most of each contender at a place. What is known of the run is known of each of them.
    pub fn take_over(&mut self, run: &Values, mark: Mark) {
        for (contender, at) in &run.order {
            for (value, own) in run.of(contender, at).iter().zip(run.marks(contender, at)) {
                self.push_marked(
                    contender,
                    at,
                    *value,
                    Mark { round: mark.round, shares: mark.shares, ..*own },
                );
            }
        }
    }

    /// Puts contenders into this order; they came in that of the first round.
    pub fn arrange(&mut self, contenders: &[String]) {
        self.order.sort_by_key(|(name, _)| contenders.iter().position(|known| known == name));
    }

    /// Puts places into this order, within that of the contenders.
    pub fn arrange_places(&mut self, places: &[&str]) {
        let contenders: Vec<String> = self.contenders().into_iter().map(str::to_owned).collect();
        self.order.sort_by_key(|(_, at)| places.iter().position(|known| known == at));
        self.arrange(&contenders);
    }

    /// The values of a contender at a place.
    pub fn of(&self, contender: &str, at: &str) -> &[f64] {
        self.by.get(&(contender.to_owned(), at.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// Whether anybody has a value at a place.
    pub fn is_at(&self, at: &str) -> bool {
        self.order.iter().any(|(_, place)| place == at)
    }

    /// What is known of each of them.
    pub fn marks(&self, contender: &str, at: &str) -> &[Mark] {
        self.marks.get(&(contender.to_owned(), at.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// The values with what is known of them.
    pub fn marked(&self, contender: &str, at: &str) -> Vec<Marked> {
        self.of(contender, at).iter().copied().zip(self.marks(contender, at).iter().copied()).collect()
    }

    /// What is known of their median.
    pub fn known(&self, contender: &str, at: &str) -> Known {
        let (at_least, at_most) = one_sided(self.marks(contender, at));
        Known::of(at_least, at_most)
    }

    /// Contenders in the order in which they came.
    pub fn contenders(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in &self.order {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// Figures of all, in the order in which they came.
    pub fn figures(&self, metric: &str, unit: &str, more_is_better: bool) -> Vec<Figure> {
        let figure = |key: &(String, String)| {
            let values = self.by[key].clone();
            let (at_least, at_most) = one_sided(&self.marks[key]);
            Figure {
                contender: key.0.clone(),
                at: key.1.clone(),
                metric: metric.to_owned(),
                unit: unit.to_owned(),
                more_is_better,
                median: statistics::median(&values),
                interval: statistics::interval(&values),
                coverage: statistics::coverage(values.len()),
                at_least,
                at_most,
                quietness: quietness(
                    &self.marks[key].iter().filter_map(|mark| mark.shares).collect::<Vec<_>>(),
                ),
                values,
            }
        };
        self.order.iter().map(figure).collect()
    }

    /// Their median as a point, with its ends and what is known of it; `None` without values.
    pub fn point(&self, x: f64, contender: &str, at: &str) -> Option<Point> {
        let point = point(x, self.of(contender, at))?;
        Some(Point { known: self.known(contender, at), ..point })
    }

    /// Bars: groups along `places`, a bar for each contender.
    pub fn bars(&self, title: &str, y_label: &str, places: &[String], y_log: bool) -> Chart {
        let series = self.contenders().into_iter().map(|name| Series {
            name: name.to_owned(),
            role: Role::Measured,
            points: places.iter().enumerate().filter_map(|(x, at)| self.point(x as f64, name, at)).collect(),
        });
        Chart::bars(title, y_label, places.to_vec(), series.collect()).log(y_log)
    }
}

/// Of how many values it is known only that they are at least so much, and at most; what is not known at all is both.
pub fn one_sided(marks: &[Mark]) -> (usize, usize) {
    let count = |is_it: fn(Known) -> bool| marks.iter().filter(|mark| is_it(mark.known)).count();
    (count(|known| !known.is_from_above()), count(|known| !known.is_from_below()))
}

/// A point with median and ends; `None` without values.
pub fn point(x: f64, values: &[f64]) -> Option<Point> {
    let (low, high) = statistics::ends(values);
    let spread = |end| (values.len() > 1).then_some(end);
    (!values.is_empty()).then(|| Point {
        low: spread(low),
        high: spread(high),
        ..Point::at(x, statistics::median(values))
    })
}

/// A table from text.
pub fn table(title: &str, columns: &[&str], rows: Vec<Vec<String>>, note: &str) -> Table {
    let columns = columns.iter().map(|&column| column.to_owned()).collect();
    Table { title: title.to_owned(), columns, rows, note: note.to_owned() }
}

/// `3.2 to 3.4`, or nothing.
pub fn interval_text(figure: &Figure, digits: usize) -> String {
    figure.interval.map_or_else(String::new, |(low, high)| format!("{low:.digits$} to {high:.digits$}"))
}

/// Seconds for people.
pub fn duration(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    if seconds < 90 { format!("{seconds} s") } else { format!("{} min", (seconds + 30) / 60) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_has_one_value() {
        let mut values = Values::default();
        let (exactly, least, most) = (Known::Exactly, Known::AtLeast, Known::AtMost);
        for (round, value, known) in [
            (1, 10.0, exactly),
            (1, 12.0, least),
            (2, 20.0, exactly),
            (2, 20.0, exactly),
            (3, 30.0, least),
            (3, 32.0, most),
        ] {
            values.push_marked("echo", "", value, Mark::in_round(round).known(known));
        }
        values.push_at("echo", "elsewhere", 2, 1.0);
        assert_eq!(values.of("echo", ""), [11.0, 20.0, 31.0]);
        assert_eq!(values.of("echo", "elsewhere"), [1.0]);
        let figure = &values.figures("rate", "/s", true)[0];
        // The mean of two of which one is known from below and the other from above is not known at all.
        assert_eq!((figure.values.len(), figure.at_least, figure.at_most), (3, 2, 1));
        assert_eq!((figure.known(), values.known("echo", "elsewhere")), (Known::NotAtAll, exactly));
    }
}
