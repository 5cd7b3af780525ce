//! What rates without loss have in common, of servers with zones and of resolvers: figures, rows of tables, charts of processor time.

use super::{Values, interval_text};
use crate::{
    record::{Chart, Figure},
    statistics,
};

/// Column heads of [`Rated::rows`], after that of the first column.
pub const COLUMNS: [&str; 5] = ["rate/s", "of limit", "95 %", "user us", "system us"];

/// Values of all blocks.
#[derive(Default)]
pub struct Rated {
    pub rates: Values,
    /// Of the limit program's rate in the same block.
    pub shares: Values,
    /// Processor time by answer, microseconds.
    pub user: Values,
    pub system: Values,
    /// Proportional set size at the end of a block, octets.
    pub pss: Values,
}

impl Rated {
    /// Figures; `limit`: what the limit program is called.
    pub fn figures(&self, limit: &str) -> Vec<Figure> {
        let share = format!("share of {limit}");
        let all = [
            (&self.rates, "rate", "/s", true),
            (&self.shares, &share, "", true),
            (&self.user, "user CPU", "us", false),
            (&self.system, "system CPU", "us", false),
            (&self.pss, "PSS", "octets", false),
        ];
        all.into_iter().flat_map(|(values, metric, unit, more)| values.figures(metric, unit, more)).collect()
    }

    /// Rows of a table at a place: who, then [`COLUMNS`], then what `more` says of who.
    pub fn rows(&self, at: &str, more: impl Fn(&str) -> Vec<String>) -> Vec<Vec<String>> {
        let (rates, shares) = (self.rates.figures("", "", true), self.shares.figures("", "", true));
        let median = |values: &Values, who: &str| statistics::median(values.of(who, at));
        let row = |figure: &Figure| {
            let who = figure.contender.as_str();
            let share = shares.iter().find(|share| share.contender == who && share.at == at);
            let mut row = vec![
                who.to_owned(),
                format!("{}{:.0}", figure.known().sign(), figure.median),
                share.map_or_else(
                    || "1".to_owned(),
                    |share| format!("{}{:.3}", share.known().sign(), share.median),
                ),
                share.map_or_else(String::new, |share| interval_text(share, 3)),
                format!("{:.2}", median(&self.user, who)),
                format!("{:.2}", median(&self.system, who)),
            ];
            row.extend(more(who));
            row
        };
        rates.iter().filter(|figure| figure.at == at).map(row).collect()
    }

    /// Processor time an answer, of the program and of the kernel.
    pub fn cpu_charts(&self, places: &[String]) -> [Chart; 2] {
        [(&self.user, "in the program (user)"), (&self.system, "in the kernel (system)")].map(
            |(values, part)| {
                values.bars(&format!("Processor time an answer, {part}"), "microseconds", places, false)
            },
        )
    }

    /// Memory in MiB, as a cell.
    pub fn mib(&self, who: &str, at: &str) -> String {
        format!("{:.1}", statistics::median(self.pss.of(who, at)) / f64::from(1 << 20))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_share_where_there_is_one() {
        let mut rated = Rated::default();
        rated.rates.push("zonda", "a", 80.0);
        rated.rates.push("echo", "a", 100.0);
        rated.rates.push("zonda", "b", 70.0);
        rated.shares.push("zonda", "a", 0.8);
        let rows = rated.rows("a", |who| vec![who.len().to_string()]);
        assert_eq!(rows[0], ["zonda", "80", "0.800", "", "0.00", "0.00", "5"]);
        assert_eq!((rows.len(), rows[1][2].as_str(), rows[0].len()), (2, "1", COLUMNS.len() + 2));
        let metrics: Vec<String> = rated.figures("relay").into_iter().map(|figure| figure.metric).collect();
        assert_eq!(metrics, ["rate", "rate", "rate", "share of relay"]);
    }
}
