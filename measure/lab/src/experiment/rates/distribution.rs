//! How latencies are distributed: their percentiles as lines, over how many queries one is slower.

use serde_json::Value;

use super::super::{Mark, Values, validity};
use crate::record::{Chart, Role, Series};

/// Percentiles as the generator writes them, and of how many queries one is slower.
const PERCENTILES: [(&str, f64); 5] =
    [("p50", 2.0), ("p90", 10.0), ("p99", 100.0), ("p99.9", 1000.0), ("p99.99", 10_000.0)];
/// So many queries have to be slower for a percentile to be drawn: of fewer it is luck.
const SLOWER_MIN: f64 = 5.0;

/// Loads that are shares of each one's own rate, from trials that offer more and more: those below the rate.
const OWN_SHARES: [(f64, &str); 2] = [(0.5, "half"), (0.8, "four fifths")];

/// Charts from the raw results of a place that count, with contenders in that order: one for each load that is the same for all, and for each that is a share of each one's own
/// rate. Percentiles of runs with losses are at least so much, as what was lost would have come later than all else.
pub fn charts(raw: &[Value], at: &str, order: &[&str]) -> Vec<Chart> {
    let of = |key: &str| -> Vec<&Value> {
        let is_of =
            |result: &&Value| result[key].is_string() && result["at"] == at && result["counts"] != false;
        raw.iter().filter(is_of).collect()
    };
    let (equal, own) = (of("latency_of"), of("beyond_of"));
    let mut rates: Vec<f64> = equal.iter().filter_map(|run| run["rate"].as_f64()).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    let of_rate = |&rate: &f64| {
        let runs = equal.iter().copied().filter(|run| run["rate"] == rate);
        chart(runs, "latency_of", &format!("{rate:.0}/s"), (at, order))
    };
    let of_share = |&(share, words): &(f64, &str)| {
        let runs = own.iter().copied().filter(|run| run["share"] == share);
        chart(runs, "beyond_of", &format!("{words} of each one's own rate"), (at, order))
    };
    let charts = rates.iter().map(of_rate).chain(OWN_SHARES.iter().map(of_share));
    charts.filter(|chart| !chart.series.is_empty()).collect()
}

/// `key`: what says whose run it was; `load`: in words.
fn chart<'a>(
    runs: impl Iterator<Item = &'a Value>,
    key: &str,
    load: &str,
    (at, order): (&str, &[&str]),
) -> Chart {
    let mut values = Values::default();
    for run in runs {
        let (who, outcome) = (run[key].as_str().unwrap_or(""), &run["outcome"]);
        let received = outcome["received"].as_f64().unwrap_or(0.0);
        let known = validity::known_of_latency(outcome);
        for (percentile, one_of) in PERCENTILES {
            let latency = outcome["latency_us"][percentile].as_f64();
            if let Some(latency) = latency.filter(|&latency| latency > 0.0 && received / one_of >= SLOWER_MIN)
            {
                let round = values.of(who, percentile).len();
                values.push_marked(who, percentile, latency, Mark::in_round(round).known(known));
            }
        }
    }
    let series = |name: &str| Series {
        name: name.to_owned(),
        role: Role::Measured,
        points: PERCENTILES
            .iter()
            .filter_map(|(percentile, one_of)| values.point(*one_of, name, percentile))
            .collect(),
    };
    let place = if at.is_empty() { String::new() } else { format!(", {at}") };
    let labels = ["one query of so many is slower: p50 at 2, p99.99 at 10,000", "microseconds"];
    let series = order.iter().copied().map(series).filter(|series| !series.points.is_empty());
    Chart::lines(format!("Distribution of latency at {load}{place}"), labels, series.collect()).log(true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::known::Known;

    fn raw_outcome() -> Value {
        json!({ "received": 50, "latency_us": { "p50": 10.0 } })
    }

    #[test]
    fn percentiles_that_so_many_queries_tell() {
        let run = |who: &str, rate: f64, received: u64, slow: f64| {
            let latency = json!({ "p50": 10.0, "p90": 20.0, "p99": 30.0, "p99.9": 40.0, "p99.99": slow });
            json!({ "latency_of": who, "at": "x", "rate": rate, "outcome": { "received": received, "latency_us": latency } })
        };
        let raw = [
            run("a", 500.0, 100_000, 50.0),
            run("a", 500.0, 100_000, 70.0),
            run("b", 500.0, 4_999, 90.0),
            run("a", 800.0, 100_000, 60.0),
            json!({ "beyond_of": "a", "at": "x", "share": 2.0, "outcome": raw_outcome() }),
            json!({ "beyond_of": "a", "at": "x", "share": 0.8, "outcome": raw_outcome() }),
        ];
        let charts = charts(&raw, "x", &["a", "b"]);
        let titles: Vec<&str> = charts.iter().map(|chart| chart.title.as_str()).collect();
        assert_eq!(titles.len(), 3, "{titles:?}");
        assert!(titles[2].ends_with("at four fifths of each one's own rate, x"), "{titles:?}");
        let [a, b] = &charts[0].series[..] else { panic!("{charts:?}") };
        assert_eq!((a.points.len(), a.points[4].x, a.points[4].y), (5, 10_000.0, 3500f64.sqrt()));
        assert_eq!((b.points.len(), b.points.last().map(|point| point.x)), (3, Some(100.0)));
        assert!(super::charts(&raw, "y", &["a"]).is_empty());
    }

    #[test]
    fn what_was_discarded_or_lost() {
        let run = |counts: bool, received: u64, slow: f64| {
            let latency = json!({ "p50": 10.0, "p90": slow });
            let outcome =
                json!({ "sent": 1000, "received": received, "lost": 1000 - received, "latency_us": latency });
            json!({ "latency_of": "a", "at": "", "rate": 500.0, "counts": counts, "outcome": outcome })
        };
        let points = |raw: &[Value]| charts(raw, "", &["a"])[0].series[0].points.clone();
        let all = points(&[run(true, 1000, 20.0), run(false, 1000, 900.0)]);
        assert_eq!((all[1].y, all[1].known), (20.0, Known::Exactly));
        let lost = points(&[run(true, 1000, 20.0), run(true, 1000, 20.0), run(true, 900, 20.0)]);
        assert_eq!((lost[1].y, lost[1].known), (20.0, Known::AtLeast));
        assert!(charts(&[run(false, 1000, 20.0)], "", &["a"]).is_empty());
    }
}
