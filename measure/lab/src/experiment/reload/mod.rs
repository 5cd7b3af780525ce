//! Reloads: zones that are read again while queries are answered.
//!
//! ```text
//! start | as much as is answered | without reloads, run-seconds | with reloads, run-seconds and the last reload | end
//!                                  asked for the serial of a zone every millisecond ...
//! ```
//!
//! In a round each server has such a turn, with copies of its own of the zones. The run with reloads compares with the one without them
//! directly before it: queries lost, percentiles, and how long the threads that answer waited for a processor.
//!
//! * `turn`: the two runs. * `change`: zones that are told to be read again. * `report`: what the record says.

mod change;
mod report;
mod turn;

use bench::random::Random;

use super::{
    Lab, Mark, Values, runs,
    validity::{self, Judged},
};
use crate::{
    Error,
    contender::{COPIES, Role},
    data::{Set, serial},
    recipe::{Case, Name},
};
use turn::{Run, Turn};

/// Order in which zones are read again.
const SEED: u64 = 5;

/// Names of metrics, those that summaries show.
const NEW: &str = "time to new serial";
const LOST: &str = "queries lost";
const OVER_NONE: &str = "p99 over that without reloads";
const WAITED: &str = "waited with reloads";

/// What is measured in both runs of a turn.
#[derive(Default)]
struct Sides {
    p99: Values,
    longest: Values,
    lost: Values,
    answered: Values,
    waited: Values,
}

/// What was found. Values are one a round.
#[derive(Default)]
struct Found {
    new: Values,
    longest: Values,
    count: Values,
    rate: Values,
    over_none: Values,
    without: Sides,
    with: Sides,
}

/// Measures all contenders in all cases.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let names = lab.able(Role::Reloaded, "");
    if names.is_empty() {
        return Err(Error::Nobody);
    }
    let mut found = Found::default();
    let cases = lab.recipe.cases.clone();
    for case in &cases {
        let set = lab.set(case)?;
        let labels: Vec<String> =
            names.iter().map(|name| format!("{}, {}", name.text(), case.name)).collect();
        let takes_part = |lab: &Lab, which: usize, round| lab.takes_part(names[which], round);
        runs::alternate_some(lab, &labels, takes_part, |lab, which, round| {
            measure(lab, case, &set, names[which], round, &mut found)
        })?;
    }
    found.arrange(&names);
    report::report(lab, &cases, &found);
    runs::change_targets(lab, NEW, |metric, who, at| {
        found.of(metric).map_or_else(Vec::new, |values| values.marked(who, at))
    });
    Ok(())
}

/// A turn of a server, with a new start.
fn measure(
    lab: &mut Lab,
    case: &Case,
    set: &Set,
    name: Name,
    round: usize,
    found: &mut Found,
) -> Result<(), Error> {
    let subject = lab.subject_as(name, 1, Role::Reloaded);
    let mut server = lab.start(&subject, &set.zones)?;
    let copies = server.folder.join(COPIES);
    let rate = turn::rate(lab, &mut server, &set.queries)?;
    let mut order: Vec<usize> = (0..set.zones.list.len()).collect();
    Random::part(SEED, round as u64).shuffle(&mut order);
    let mut turn = Turn { server: &mut server, set, rate, order, next: 0 };
    let label = format!("{}, {}, round {round}", name.text(), case.name);
    let judged = validity::judged(lab, &label, |lab| turn.make(lab, &case.name, round));
    server.end();
    serial::remove(&copies)?;
    if let Some(Judged { value: (without, with), conditions }) = judged? {
        found.take(name.text(), &case.name, rate, (&without, &with), Mark::of(round, &conditions));
    }
    Ok(())
}

impl Sides {
    fn take(&mut self, who: &str, at: &str, run: &Run, mark: Mark) {
        let of_answered = mark.known(run.known_latency());
        for (values, value, mark) in [
            (&mut self.p99, Some(run.latency_us("p99")), of_answered),
            (&mut self.longest, Some(run.latency_us("max")), of_answered),
            (&mut self.lost, Some(run.lost()), mark),
            (&mut self.answered, Some(run.answered()), mark),
            (&mut self.waited, run.waited, mark),
        ] {
            value.into_iter().for_each(|value| values.push_marked(who, at, value, mark));
        }
    }

    fn all(&mut self) -> [&mut Values; 5] {
        [&mut self.p99, &mut self.longest, &mut self.lost, &mut self.answered, &mut self.waited]
    }
}

impl Found {
    fn take(&mut self, who: &str, at: &str, rate: f64, (without, with): (&Run, &Run), mark: Mark) {
        self.without.take(who, at, without, mark);
        self.with.take(who, at, with, mark);
        let p99 = without.latency_us("p99");
        let ratio = (p99 > 0.0).then(|| with.latency_us("p99") / p99);
        let of_answered = mark.known(with.known_latency().over(without.known_latency()));
        for (values, value, mark) in [
            (&mut self.new, Some(crate::statistics::median(&with.reloads_ms)), mark),
            (&mut self.longest, with.reloads_ms.iter().copied().reduce(f64::max), mark),
            (&mut self.count, Some(with.reloads_ms.len() as f64), mark),
            (&mut self.rate, Some(rate), mark),
            (&mut self.over_none, ratio, of_answered),
        ] {
            value.into_iter().for_each(|value| values.push_marked(who, at, value, mark));
        }
    }

    /// Puts contenders into the order of the recipe: rounds have a random one.
    fn arrange(&mut self, names: &[Name]) {
        let order: Vec<String> = names.iter().map(|name| name.text().to_owned()).collect();
        let Found { new, longest, count, rate, over_none, without, with } = self;
        let own = [new, longest, count, rate, over_none].into_iter();
        own.chain(without.all()).chain(with.all()).for_each(|values| values.arrange(&order));
    }

    /// Values of a metric that a target may be about.
    fn of(&self, metric: &str) -> Option<&Values> {
        let all = self.metrics().into_iter();
        all.filter(|(_, name, _)| *name == metric).map(|(values, _, _)| values).next()
    }

    /// What is recorded: values, name, unit. Less is better of all.
    fn metrics(&self) -> [(&Values, &'static str, &'static str); 11] {
        [
            (&self.new, NEW, "ms"),
            (&self.with.lost, LOST, ""),
            (&self.over_none, OVER_NONE, ""),
            (&self.with.waited, WAITED, ""),
            (&self.longest, "longest time to new serial", "ms"),
            (&self.without.lost, "queries lost without reloads", ""),
            (&self.with.p99, "p99 with reloads", "us"),
            (&self.without.p99, "p99 without reloads", "us"),
            (&self.with.longest, "longest answer with reloads", "us"),
            (&self.without.longest, "longest answer without reloads", "us"),
            (&self.without.waited, "waited without reloads", ""),
        ]
    }
}
