//! What a hit and a miss cost a resolver: the line by least squares through what an answer cost with more hits and with fewer.
//!
//! ```text
//! cost of an answer = hits x cost of a hit + (1 - hits) x cost of a miss
//! ```
//!
//! One line for each block, through the cases whose names are drawn evenly. That it is a line is an assumption, as a resolver with fewer hits also takes fewer
//! queries at a time; how far the rows are from it is shown.

use super::{
    super::{Values, table},
    Found, Spot,
};
use crate::{recipe::Skew, record::Table, statistics};

/// Where figures of it are.
pub const AT: &str = "hits and misses";
/// Names of the figures: of the program, and of the kernel on its behalf.
pub const METRICS: [&str; 4] = ["user CPU a hit", "user CPU a miss", "system CPU a hit", "system CPU a miss"];

/// A line.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    hit: f64,
    miss: f64,
    /// The greatest distance of a row from it, as share of the mean of all rows.
    off: f64,
}

/// The line through shares of hits with their costs; none where the shares do not differ.
fn line(rows: &[(f64, f64)]) -> Option<Line> {
    let sum = |of: &dyn Fn(f64, f64) -> f64| rows.iter().map(|&(hits, cost)| of(hits, cost)).sum::<f64>();
    let (hh, mm) = (sum(&|hits, _| hits * hits), sum(&|hits, _| (1.0 - hits).powi(2)));
    let hm = sum(&|hits, _| hits * (1.0 - hits));
    let (hc, mc) = (sum(&|hits, cost| hits * cost), sum(&|hits, cost| (1.0 - hits) * cost));
    let determinant = hh * mm - hm * hm;
    if determinant < 1e-6 {
        return None;
    }
    let (hit, miss) = ((mm * hc - hm * mc) / determinant, (hh * mc - hm * hc) / determinant);
    let off = rows.iter().map(|&(hits, cost)| (hits * hit + (1.0 - hits) * miss - cost).abs());
    let mean = rows.iter().map(|&(_, cost)| cost).sum::<f64>() / rows.len() as f64;
    Some(Line { hit, miss, off: off.fold(0.0, f64::max) / mean.max(f64::MIN_POSITIVE) })
}

/// Costs of hits and misses by resolver, in the order of [`METRICS`], one value a block.
#[derive(Default)]
pub struct Costs {
    pub of: [Values; 4],
    off: Values,
}

/// Fits all that was found with the least number of workers.
pub fn costs(spots: &[Spot], found: &Found) -> Costs {
    let meant: Vec<&Spot> = spots
        .iter()
        .filter(|spot| spot.workers == spots[0].workers && spot.case.skew == Skew::Uniform)
        .collect();
    let mut costs = Costs::default();
    for who in found.rated.user.contenders() {
        // Blocks of which all places count.
        let in_block = |values: &Values, at: &str, block: usize| {
            let mut marked = values.marked(who, at).into_iter();
            marked.find_map(|(value, mark)| (mark.round == block).then_some(value))
        };
        let first = meant.first().map_or(&[][..], |spot| found.rated.user.marks(who, &spot.at));
        for block in first.iter().map(|mark| mark.round) {
            for (part, values) in [&found.rated.user, &found.rated.system].into_iter().enumerate() {
                let row = |spot: &&Spot| {
                    let hits = in_block(&found.hits, &spot.at, block)?;
                    Some((hits / 100.0, in_block(values, &spot.at, block)?))
                };
                let rows = meant.iter().map(row).collect::<Option<Vec<_>>>();
                if let Some(line) = rows.and_then(|rows| line(&rows)) {
                    costs.of[part * 2].push_at(who, AT, block, line.hit);
                    costs.of[part * 2 + 1].push_at(who, AT, block, line.miss);
                    costs.off.push(who, if part == 0 { "user" } else { "system" }, line.off * 100.0);
                }
            }
        }
    }
    costs
}

/// All costs as a table; none where hits do not vary.
pub fn cost_table(costs: &Costs) -> Option<Table> {
    let row = |who: &str| {
        let mut row = vec![who.to_owned()];
        row.extend(costs.of.iter().map(|values| format!("{:.2}", statistics::median(values.of(who, AT)))));
        row.extend(
            ["user", "system"].map(|part| format!("{:.0}", statistics::median(costs.off.of(who, part)))),
        );
        row
    };
    let rows: Vec<Vec<String>> = costs.of[0].contenders().into_iter().map(row).collect();
    let columns =
        ["resolver", "user, hit", "user, miss", "system, hit", "system, miss", "user off %", "system off %"];
    let note = "Microseconds, by least squares over the cases of each block, medians over blocks. Off: how far the case is from the line that fits it least, of the mean cost. What the relays \
                show is the kernel's part alone: a miss has two datagrams more.";
    (!rows.is_empty()).then(|| table("Processor time of a hit and of a miss", &columns, rows, note))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found() {
        let rows: Vec<(f64, f64)> =
            [1.0, 0.9, 0.5].into_iter().map(|hits| (hits, hits * 0.5 + (1.0 - hits) * 8.0)).collect();
        let found = line(&rows).map(|line| (line.hit, line.miss, line.off));
        let (hit, miss, off) = found.unwrap_or_default();
        assert!((hit - 0.5).abs() < 1e-9 && (miss - 8.0).abs() < 1e-9 && off < 1e-9, "{found:?}");
        let bent =
            line(&[(1.0, 1.0), (0.5, 6.0), (0.0, 9.0)]).unwrap_or(Line { hit: 0.0, miss: 0.0, off: 0.0 });
        assert!(bent.off > 0.05 && bent.hit > 1.0 && bent.miss > 9.0, "{bent:?}");
        assert_eq!(line(&[(0.8, 2.0), (0.8, 3.0)]), None);
        assert_eq!(line(&[]), None);
    }
}
