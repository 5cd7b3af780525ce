//! What generators of others found beside ours, as figures, tables, and notes where they differ.

use super::{Checked, Cross, Lab, Name, SHARE, Side, Spot, Values};
use crate::{
    experiment::{foreign::Foreign, table},
    record::{Figure, Table},
    statistics,
};

/// How far two generators may be apart until it is said.
const APART: f64 = 0.01;

/// Adds all of it to the record.
pub fn report(lab: &mut Lab, spots: &[Spot], cross: &Cross) {
    for (which, checked) in [(Foreign::Dnsperf, &cross.dnsperf), (Foreign::Kxdpgun, &cross.kxdpgun)] {
        let program = which.program();
        let version = lab.record.machine["generators"][program].as_str().unwrap_or_default().to_owned();
        lab.record.figures.extend(checked.figures(program));
        for spot in spots {
            lab.record.tables.extend(checked.table(&spot.at, which, &version));
            checked.apart(&spot.at, program).into_iter().for_each(|note| lab.note(note));
        }
    }
}

impl Checked {
    fn figures(&self, program: &str) -> Vec<Figure> {
        let Side { answered, latency } = &self.theirs;
        let all = [
            (&self.can, format!("rate that {program} can offer"), "/s", true),
            (&self.of_rate, format!("share of the rate that {program} offered"), "", true),
            (answered, format!("answered, as {program} counts"), "", true),
            (&self.ours.answered, format!("answered, beside {program}"), "", true),
            (latency, format!("mean latency, as {program} counts"), "us", false),
            (&self.ours.latency, format!("mean latency, beside {program}"), "us", false),
        ];
        all.into_iter().flat_map(|(values, metric, unit, more)| values.figures(&metric, unit, more)).collect()
    }

    /// A place; `None` where nothing was checked.
    fn table(&self, at: &str, which: Foreign, version: &str) -> Option<Table> {
        let median = |values: &Values, who: &str| statistics::median(values.of(who, at));
        let can = median(&self.can, Name::Echo.text());
        let latency = |side: &Side, who: &str| match side.latency.of(who, at) {
            [] => String::new(),
            values => format!("{:.0}", statistics::median(values)),
        };
        let ratio = |who: &str| match self.rate_ratio.of(who, at) {
            [] => String::new(),
            ratios => format!("{:.3}", statistics::median(ratios)),
        };
        let row = |who: &&str| {
            let shares = [&self.theirs, &self.ours].map(|side| percent(median(&side.answered, who)));
            let [theirs, ours] = shares;
            vec![
                (*who).to_owned(),
                format!("{:.0}", median(&self.offered, who)),
                format!("{:.0} %", median(&self.of_rate, who) * 100.0),
                theirs,
                ours,
                ratio(who),
                latency(&self.theirs, who),
                latency(&self.ours, who),
                if self.is_apart(who, at) { "yes" } else { "" }.to_owned(),
            ]
        };
        let names = self.offered.contenders();
        let names = names.iter().filter(|who| !self.offered.of(who, at).is_empty());
        let mut rows = vec![vec![format!("{} (its limit)", Name::Echo.text()), format!("{can:.0}")]];
        rows[0].resize(COLUMNS.len(), String::new());
        rows.extend(names.map(row));
        let place = if at.is_empty() { String::new() } else { format!(", {at}") };
        let together = match which {
            Foreign::Dnsperf => {
                "Both send single packets, which cost a server's core more than trains: who held the rate with these may lose some here, with both."
            }
            Foreign::Kxdpgun => {
                "It sends ten packets at a time, ours trains where the way of asking has them."
            }
        };
        let note = format!(
            "Offered: {:.0} % of the rate that the server held in that block, or what the program can offer on the generator's cores if that is less: that is what it \
             offered the echo server. Ours offered as much directly afterwards. {together} \
             Answers: a second, as it counts over as ours does. Latency: ours from the moment when a \
             query was due, the other's from when it left. Medians of all checks.",
            SHARE * 100.0
        );
        (rows.len() > 1).then(|| {
            table(&format!("Checked by {} {version}{place}", which.program()), &COLUMNS, rows, &note)
        })
    }

    /// Whether what both counted differs by more than that.
    fn is_apart(&self, who: &str, at: &str) -> bool {
        [&self.share_ratio, &self.rate_ratio].into_iter().any(|ratios| {
            let ratios = ratios.of(who, at);
            !ratios.is_empty() && (statistics::median(ratios) - 1.0).abs() > APART
        }) || self.is_silent(who, at)
    }

    /// Whether ours had no answer at all, so that there is no ratio, and the other one had some.
    fn is_silent(&self, who: &str, at: &str) -> bool {
        let of = |side: &Side| statistics::median(side.answered.of(who, at));
        of(&self.ours) <= 0.0 && of(&self.theirs) > 0.0
    }

    /// A note on each contender of a place of whom the two say different things.
    fn apart(&self, at: &str, program: &str) -> Vec<String> {
        let median = |values: &Values, who: &str| statistics::median(values.of(who, at));
        let note = |who: &&str| {
            let place = if at.is_empty() { String::new() } else { format!(", {at}") };
            let offered = median(&self.offered, who);
            let [theirs, ours] = [&self.theirs, &self.ours].map(|side| percent(median(&side.answered, who)));
            let ratio = median(&self.rate_ratio, who);
            format!(
                "{who}{place}: {program} and our generator are more than {:.0} % apart: of {offered:.0}/s it saw {theirs} % answered, ours {ours} %, \
                 answers a second {ratio:.3} times ours",
                APART * 100.0
            )
        };
        self.offered.contenders().iter().filter(|who| self.is_apart(who, at)).map(note).collect()
    }
}

const COLUMNS: [&str; 9] = [
    "server",
    "offered/s",
    "of its rate",
    "answered %",
    "ours %",
    "answers/s over ours",
    "mean us",
    "ours us",
    "more than 1 % apart",
];

/// Rounded down: what lost something did not answer 100 %.
fn percent(share: f64) -> String {
    format!("{:.2}", (share * 1e4).floor() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::super::{Counts, Mark};
    use super::*;

    fn counts(sent: f64, answered: f64) -> Counts {
        Counts { sent, answered, seconds: 1.0, latency_us: Some(100.0) }
    }

    #[test]
    fn says_who_is_apart() {
        let mut checked = Checked::default();
        let mark = Mark::in_round;
        checked.can.push_marked("echo", "x", 90_000.0, mark(1));
        for round in 1..=3 {
            let same = (counts(80_000.0, 80_000.0), counts(80_100.0, 80_100.0));
            checked.push(("alike", "x"), 100_000.0, &same.0, &same.1, mark(round));
            // It loses 2 % of the queries that the other one sends.
            let lossy = (counts(80_000.0, 78_400.0), counts(80_000.0, 80_000.0));
            checked.push(("lossy", "x"), 100_000.0, &lossy.0, &lossy.1, mark(round));
            // Ours did not offer as much.
            let slow = (counts(80_000.0, 80_000.0), counts(70_000.0, 70_000.0));
            checked.push(("slow", "x"), 100_000.0, &slow.0, &slow.1, mark(round));
            checked.push(("few", "x"), 1000.0, &counts(800.0, 500.0), &counts(800.0, 800.0), mark(round));
            checked.push(("deaf", "x"), 100_000.0, &same.0, &counts(80_000.0, 0.0), mark(round));
            checked.push(
                ("mute", "x"),
                100_000.0,
                &counts(80_000.0, 0.0),
                &counts(80_000.0, 0.0),
                mark(round),
            );
        }
        let notes = checked.apart("x", "dnsperf");
        let who: Vec<&str> = notes.iter().filter_map(|note| note.split(',').next()).collect();
        assert_eq!(who, ["lossy", "slow", "deaf"], "{notes:?}");
        assert!(notes[0].contains("of 80000/s it saw 98.00 % answered, ours 100.00 %"), "{notes:?}");
        assert!(notes[1].contains("1.143 times ours"), "{notes:?}");
        let table = checked.table("x", Foreign::Dnsperf, "2.10").map(|table| table.rows);
        let rows = table.unwrap_or_default();
        assert_eq!((rows.len(), &rows[0][1], &rows[1][2]), (7, &"90000".to_owned(), &"80 %".to_owned()));
        assert!(rows.iter().all(|row| row.len() == COLUMNS.len()));
        assert!(checked.table("y", Foreign::Dnsperf, "2.10").is_none());
        assert_eq!(percent(0.999_999), "99.99");
    }
}
