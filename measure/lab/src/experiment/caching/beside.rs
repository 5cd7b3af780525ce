//! Rates beside those that the paper published, row by row; and how both fall with the hits.

use super::{super::table, Found, RELAY, Spot, report::workers_of};
use crate::{known::Known, number, published, recipe::Skew, record::Table, statistics};

/// The row that the others are divided by: the first that the paper has.
const FIRST: &str = "90 %";

/// Rates and falls.
pub fn tables(recipe: &str, spots: &[Spot], found: &Found) -> Vec<Table> {
    let theirs = published::of(recipe).into_iter().flat_map(|published| published.tables).next();
    let grid = Grid::new(spots, found, theirs.as_ref());
    grid.rates().into_iter().chain(grid.falls()).collect()
}

/// Rates by row and column; those that there are none of are missing.
struct Grid {
    columns: Vec<String>,
    /// Share of hits, and rates.
    rows: Vec<(String, Vec<Option<Rate>>)>,
}

/// A rate, and what is known of it.
type Rate = (f64, Known);

impl Grid {
    fn new(spots: &[Spot], found: &Found, theirs: Option<&Table>) -> Grid {
        let counts = workers_of(spots);
        let names = found.rated.rates.contenders();
        let who: Vec<(&str, usize)> =
            names.into_iter().flat_map(|name| counts.iter().map(move |&workers| (name, workers))).collect();
        let ours = who.iter().map(|&(name, workers)| match counts.len() {
            1 => name.to_owned(),
            _ => format!("{name}, {workers}"),
        });
        let columns = theirs.map_or(&[][..], |theirs| theirs.columns.get(1..).unwrap_or(&[]));
        let columns = ours.chain(columns.iter().map(|column| format!("2006: {column}"))).collect();
        let first = spots.first().map_or(0, |spot| spot.workers);
        let meant = spots.iter().filter(|spot| spot.workers == first && spot.case.skew == Skew::Uniform);
        let row = |of: &Spot| {
            let hits = format!("{:.0} %", of.hits * 100.0);
            let rate = |&(name, workers): &(&str, usize)| {
                let spot =
                    spots.iter().find(|spot| spot.case.name == of.case.name && spot.workers == workers)?;
                let values = if name == RELAY { &found.limits } else { &found.rated.rates };
                let median = statistics::median(values.of(name, &spot.at));
                (median > 0.0).then(|| (median, values.known(name, &spot.at)))
            };
            let mut row: Vec<Option<Rate>> = who.iter().map(rate).collect();
            if let Some(theirs) = theirs {
                let same = theirs.rows.iter().find(|row| row[0] == hits);
                row.extend((1..theirs.columns.len()).map(|at| Some((parsed(&same?[at])?, Known::Exactly))));
            }
            (hits, row)
        };
        Grid { columns, rows: meant.map(row).collect() }
    }

    fn table(&self, title: &str, note: &str, text: impl Fn(usize, Rate) -> String) -> Option<Table> {
        let columns: Vec<&str> =
            ["hits"].into_iter().chain(self.columns.iter().map(String::as_str)).collect();
        let cell =
            |(at, rate): (usize, &Option<Rate>)| rate.map_or_else(|| "-".to_owned(), |rate| text(at, rate));
        let row = |(hits, rates): &(String, Vec<Option<Rate>>)| {
            [hits.clone()].into_iter().chain(rates.iter().enumerate().map(cell)).collect()
        };
        let rows: Vec<Vec<String>> = self.rows.iter().map(row).collect();
        (!rows.is_empty()).then(|| table(title, &columns, rows, note))
    }

    fn rates(&self) -> Option<Table> {
        let note = "The published rates are those of machines of 2006: how they fall from row to row compares, the numbers do not.";
        self.table("Queries a second by hits, beside the paper's", note, |_, (rate, known)| {
            format!("{}{}", known.sign(), number::long(rate))
        })
    }

    /// The same over the row of the first published rates; nothing without that row, or where it is alone.
    fn falls(&self) -> Option<Table> {
        let (_, first) = self.rows.iter().find(|(hits, _)| hits == FIRST)?;
        let note = "A resolver to which a miss costs no more than a hit would have 1.00 in all rows.";
        let share = |at: usize, (rate, known): Rate| {
            first[at].map_or_else(
                || "-".to_owned(),
                |(first, of_first)| format!("{}{:.2}", known.over(of_first).sign(), rate / first),
            )
        };
        (self.rows.len() > 1)
            .then(|| self.table("The same, as share of the rate with 90 % hits", note, share))?
    }
}

/// A number with commas.
fn parsed(text: &str) -> Option<f64> {
    text.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_falls() {
        let row = |hits: &str, known, rates: [Option<f64>; 2]| {
            let of = [known, Known::Exactly];
            let rates = rates.into_iter().zip(of).map(|(rate, known)| Some((rate?, known)));
            (hits.to_owned(), rates.collect())
        };
        let rows = vec![
            row("100 %", Known::AtLeast, [Some(200_000.0), None]),
            row("90 %", Known::Exactly, [Some(100_000.0), parsed("20,569")]),
            row("50 %", Known::Exactly, [Some(50_000.0), parsed("9,641")]),
        ];
        let grid = Grid { columns: ["zonda", "2006: one"].map(str::to_owned).to_vec(), rows };
        let cells = |table: Option<Table>| table.map(|table| table.rows.concat().join(" "));
        assert_eq!(
            cells(grid.rates()).as_deref(),
            Some("100 % ≥ 200,000 - 90 % 100,000 20,569 50 % 50,000 9,641")
        );
        assert_eq!(cells(grid.falls()).as_deref(), Some("100 % ≥ 2.00 - 90 % 1.00 1.00 50 % 0.50 0.47"));
        assert!(Grid { columns: Vec::new(), rows: Vec::new() }.falls().is_none());
    }
}
