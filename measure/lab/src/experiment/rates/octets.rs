//! How long queries and replies are: the length that rates are rates of, beside that of others.

use std::path::Path;

use bench::query;

use super::super::{Lab, Prepared, Values, table};
use crate::{Error, record::Table};

/// Means, octets of a message, by case: of what all are asked, and of what the first contender replies.
#[derive(Default)]
pub struct Octets {
    queries: Values,
    replies: Values,
}

impl Octets {
    /// Adds those of a case.
    pub fn add(&mut self, at: &str, queries: &Path, prepared: &Prepared) -> Result<(), Error> {
        let Some((first, _)) = prepared.running.first() else { return Ok(()) };
        let (mut octets, mut count, mut packet) = (0, 0, Vec::new());
        query::each_query(queries, |query| {
            packet.clear();
            query.write(&mut packet);
            (octets, count) = (octets + packet.len(), count + 1);
            true
        })?;
        self.queries.push(&first.label, at, octets as f64 / f64::from(count.max(1)));
        self.replies.push(&first.label, at, prepared.octets_a_reply);
        Ok(())
    }

    /// Adds figures and a table to the record.
    pub fn report(&self, lab: &mut Lab) {
        let figures = [(&self.queries, "octets a query"), (&self.replies, "octets a reply")]
            .map(|(values, metric)| values.figures(metric, "octets", false));
        let cases: Vec<&str> = lab.recipe.cases.iter().map(|case| case.name.as_str()).collect();
        lab.record.tables.push(self.table(&cases));
        lab.record.figures.extend(figures.into_iter().flatten());
    }

    fn table(&self, cases: &[&str]) -> Table {
        let mut rows = Vec::new();
        for &case in cases {
            let at = if cases.len() > 1 { case } else { "" };
            for who in self.replies.contenders() {
                let mean = |values: &Values| values.of(who, at).first().map(|octets| format!("{octets:.0}"));
                if let (Some(query), Some(reply)) = (mean(&self.queries), mean(&self.replies)) {
                    rows.push(vec![case.to_owned(), who.to_owned(), query, reply]);
                }
            }
        }
        let columns = ["zone", "who replies", "a query", "a reply"];
        table("Octets of a message", &columns, rows, "Means; the echo server replies with the same lengths.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_a_case_that_was_measured() {
        let mut octets = Octets::default();
        for (at, reply) in [("signed", 346.2), ("unsigned", 125.0)] {
            octets.queries.push("zonda", at, 63.4);
            octets.replies.push("zonda", at, reply);
        }
        let table = octets.table(&["signed", "stripped", "unsigned"]);
        assert_eq!(table.rows, [["signed", "zonda", "63", "346"], ["unsigned", "zonda", "63", "125"]]);
        let mut one = Octets::default();
        one.queries.push("nsd", "", 40.0);
        one.replies.push("nsd", "", 41.0);
        assert_eq!(one.table(&["root"]).rows, [["root", "nsd", "40", "41"]]);
    }
}
