//! Recipes: what runs, what varies and what is measured, as a file.
//!
//! Those that ship with the program are in it ([`names`], [`text`]); a user's own are files. Both are read by the same
//! code, and a key that does not exist is an error with its line.

mod case;
mod changes;
mod effort;
mod engine;
mod estimate;
mod generators;
mod kinds;
mod row;

use std::{fs, path::Path};

use ::engine::ProtectionKind;
use bench::{flood::Sources, update::stream::WINDOW_MAX};
pub use case::{Case, Dnssec, DnssecOk, EdnsWish, Skew, Watched, ZoneKind};
pub use changes::{ChangeTarget, Changes, Flood, HistoryFiles, SourceNetworks, VICTIMS_MAX, Victims};
use effort::EffortText;
pub use effort::{Effort, Form, Restart};
pub use engine::{
    Axis, Cell, Count, CountWord, EngineOptions, EngineTarget, Expected, Order, Panel, Shown, Variant, cells,
};
pub use generators::{
    COMBINED_CORES_MAX, EchoGroup, Generator, GeneratorProgram, Placement, Processes, Receive, Sockets,
};
pub use kinds::{Measure, Name};
pub use row::{CONNECTIONS, Row};
use serde::Deserialize;

use crate::{Error, error};

/// The recipes of the program: name and text.
const BUILT_IN: [(&str, &str); 46] = [
    ("root", include_str!("../../recipes/root.toml")),
    ("net", include_str!("../../recipes/net.toml")),
    ("many", include_str!("../../recipes/many.toml")),
    ("signed", include_str!("../../recipes/signed.toml")),
    ("threads", include_str!("../../recipes/threads.toml")),
    ("threads-zones", include_str!("../../recipes/threads-zones.toml")),
    ("memory", include_str!("../../recipes/memory.toml")),
    ("start", include_str!("../../recipes/start.toml")),
    ("start-zones", include_str!("../../recipes/start-zones.toml")),
    ("start-store", include_str!("../../recipes/start-store.toml")),
    ("store-load", include_str!("../../recipes/store-load.toml")),
    ("start-panel", include_str!("../../recipes/start-panel.toml")),
    ("rate-limit", include_str!("../../recipes/rate-limit.toml")),
    ("reload", include_str!("../../recipes/reload.toml")),
    ("reload-large", include_str!("../../recipes/reload-large.toml")),
    ("instructions", include_str!("../../recipes/instructions.toml")),
    ("instructions-kinds", include_str!("../../recipes/instructions-kinds.toml")),
    ("instructions-watched", include_str!("../../recipes/instructions-watched.toml")),
    ("allocations", include_str!("../../recipes/allocations.toml")),
    ("scaling", include_str!("../../recipes/scaling.toml")),
    ("echo-sweep", include_str!("../../recipes/echo-sweep.toml")),
    ("echo-pin", include_str!("../../recipes/echo-pin.toml")),
    ("client-limit", include_str!("../../recipes/client-limit.toml")),
    ("locks", include_str!("../../recipes/locks.toml")),
    ("figure-3", include_str!("../../recipes/figure-3.toml")),
    ("cache-hits", include_str!("../../recipes/cache-hits.toml")),
    ("locks-net", include_str!("../../recipes/locks-net.toml")),
    ("lock-profile", include_str!("../../recipes/lock-profile.toml")),
    ("smp-2004", include_str!("../../recipes/smp-2004.toml")),
    ("allocators", include_str!("../../recipes/allocators.toml")),
    ("ddns-rate", include_str!("../../recipes/ddns-rate.toml")),
    ("api-commits", include_str!("../../recipes/api-commits.toml")),
    ("dynamic", include_str!("../../recipes/dynamic.toml")),
    ("transfer", include_str!("../../recipes/transfer.toml")),
    ("ixfr-secondary", include_str!("../../recipes/ixfr-secondary.toml")),
    ("delta", include_str!("../../recipes/delta.toml")),
    ("week", include_str!("../../recipes/week.toml")),
    ("root-history", include_str!("../../recipes/root-history.toml")),
    ("gov-history", include_str!("../../recipes/gov-history.toml")),
    ("caching", include_str!("../../recipes/caching.toml")),
    ("caching-threads", include_str!("../../recipes/caching-threads.toml")),
    ("restart", include_str!("../../recipes/restart.toml")),
    ("flood", include_str!("../../recipes/flood.toml")),
    ("stale", include_str!("../../recipes/stale.toml")),
    ("caching-signed", include_str!("../../recipes/caching-signed.toml")),
    ("cold-cache", include_str!("../../recipes/cold-cache.toml")),
];

/// Most changes a second that the generator takes.
const RATE_MAX: u32 = 100_000;
/// Most queries a second beside reloads: more than any server answers on a core.
const QUERY_RATE_MAX: u32 = 10_000_000;
/// Longest rest between reloads: a run is no longer than an hour.
const REST_MS_MAX: u32 = 60_000;

/// A recipe.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Recipe {
    /// Name: of the file without `.toml`.
    #[serde(skip)]
    pub name: String,
    /// What it is, in a line.
    pub title: String,
    /// What is done and how to read it, in a paragraph or two.
    pub method: String,
    /// What is measured.
    pub measure: Measure,
    /// Who takes part; the echo server is always there where rates are measured.
    #[serde(default)]
    pub contenders: Vec<Name>,
    /// Workers of each contender; more than the machine has cores are left out.
    #[serde(default = "one_worker")]
    pub workers: Vec<usize>,
    /// Zones and queries, one after the other.
    #[serde(default, rename = "case")]
    pub cases: Vec<Case>,
    /// Ways of asking beside the usual one, for `measure = "rates"`.
    #[serde(default, rename = "row")]
    pub rows: Vec<Row>,
    /// Whose loss-free rate is searched, for `measure = "rates"`; that of all where empty.
    #[serde(default)]
    pub loss_free: Vec<Name>,
    /// What changes, for measures of zones that do.
    #[serde(default)]
    pub changes: Changes,
    /// Versions of a zone, for `measure = "history"`.
    pub history: Option<HistoryFiles>,
    /// Floods, for `measure = "flood"`.
    #[serde(default, rename = "flood")]
    pub floods: Vec<Flood>,
    /// Networks that floods seem to come from, for `measure = "rate-limit"`.
    #[serde(default)]
    pub sources: Vec<SourceNetworks>,
    /// Echo servers, for `measure = "echo"`.
    #[serde(default, rename = "echo")]
    pub echoes: Vec<EchoGroup>,
    /// Settings of the generator, for `measure = "generator"`.
    #[serde(default, rename = "generator")]
    pub generators: Vec<Generator>,
    /// Ways to run the engine, for `measure = "engine"`.
    #[serde(default, rename = "variant")]
    pub variants: Vec<Variant>,
    /// What varies with them.
    #[serde(default, rename = "panel")]
    pub panels: Vec<Panel>,
    /// Orders of variants that others found.
    #[serde(default, rename = "order")]
    pub orders: Vec<Order>,
    /// Ratios of variants that shall be at least so much.
    #[serde(default, rename = "target")]
    pub targets: Vec<EngineTarget>,
    /// Lengths and sizes of a full run.
    #[serde(default)]
    full: EffortText,
    /// What differs from it in a quick one.
    #[serde(default)]
    quick: EffortText,
    /// What differs from that in a self-check.
    #[serde(default)]
    check: EffortText,
}

fn one_worker() -> Vec<usize> {
    vec![1]
}

/// Names of the recipes that ship with the program.
pub fn names() -> Vec<&'static str> {
    BUILT_IN.iter().map(|&(name, _)| name).collect()
}

/// The text of a recipe that ships with the program.
pub fn text(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|&&(known, _)| known == name).map(|&(_, text)| text)
}

/// Finds a recipe by name, or by the path of its file.
pub fn find(name: &str) -> Result<Recipe, Error> {
    if let Some(text) = text(name) {
        return Recipe::from_text(name, name, text);
    }
    let path = Path::new(name);
    if !path.exists() && path.extension().is_none() {
        return Err(Error::NoRecipe { name: name.to_owned() });
    }
    let text = fs::read_to_string(path).map_err(error::file(path, "read"))?;
    let stem = path.file_stem().map_or_else(|| name.into(), |stem| stem.to_string_lossy());
    Recipe::from_text(&stem, name, &text)
}

impl Recipe {
    /// Reads a recipe; `file` is what complaints begin with.
    pub fn from_text(name: &str, file: &str, text: &str) -> Result<Recipe, Error> {
        let fault = |place, problem| Error::Recipe { file: file.to_owned(), place, problem };
        let mut recipe: Recipe = toml::from_str(text).map_err(|error| {
            let place = error.span().map(|span| line_and_column(text, span.start));
            fault(place, error.message().trim().to_owned())
        })?;
        name.clone_into(&mut recipe.name);
        match recipe.fault() {
            Some(problem) => Err(fault(None, problem)),
            None => Ok(recipe),
        }
    }

    /// Lengths and sizes of a form.
    pub fn effort(&self, form: Form) -> Effort {
        let all = [&self.check, &effort::CHECK, &self.quick, &self.full];
        Effort::of(match form {
            Form::Full => &all[3..],
            Form::Quick => &all[2..],
            Form::Check => &all,
        })
    }

    /// Whether servers may have all cores: where threads vary, or nobody generates load beside them.
    pub fn uses_all_cores(&self) -> bool {
        self.workers.len() > 1 || self.measure.is_in_process()
    }

    /// Updates outstanding, and whether they are signed, in all ways asked for.
    pub fn windows(&self) -> impl Iterator<Item = (bool, u64)> {
        let unsigned = self.changes.unsigned_windows.iter().map(|&window| (false, window));
        self.changes.windows.iter().map(|&window| (true, window)).chain(unsigned)
    }

    /// Whether a target is about a contender, or holds another one against it.
    pub fn is_in_targets(&self, name: Name) -> bool {
        self.changes.targets.iter().any(|target| target.of == name || target.over.contains(&name))
    }

    fn rows_have_names(&self) -> bool {
        let is_named = |(place, row): (usize, &Row)| {
            !row.name.is_empty() && self.rows[..place].iter().all(|other| other.name != row.name)
        };
        self.rows.iter().enumerate().all(is_named)
    }

    /// What is missing or out of range.
    fn fault(&self) -> Option<String> {
        let needed = match self.measure {
            Measure::History if self.history.is_none() => "[history] is needed",
            measure if measure.has_cases() && self.cases.is_empty() => "a [[case]] is needed",
            measure if measure.has_contenders() && self.contenders.is_empty() => "contenders are needed",
            Measure::UpdateRate | Measure::Commits if self.windows().next().is_none() => {
                "[changes] windows are needed"
            }
            Measure::Dynamic | Measure::Secondary if self.changes.rates.is_empty() => {
                "[changes] rates are needed"
            }
            Measure::Endless if self.changes.history_octets.is_none() => {
                "[changes] history-octets are needed"
            }
            Measure::Delta if self.changes.records == 0 => "[changes] records are needed",
            Measure::Delta if self.cases.iter().any(|case| case.zone != ZoneKind::Flat) => {
                "cases: only zones of the kind flat, whose records can all change"
            }
            _ if self.windows().any(|(_, window)| !(1..=WINDOW_MAX).contains(&window)) => {
                "[changes] windows: expected numbers from 1 to 32768"
            }
            _ if self.changes.rates.iter().any(|rate| !(1..=RATE_MAX).contains(rate)) => {
                "[changes] rates: expected numbers from 1 to 100000"
            }
            _ if self.changes.query_rate.is_some_and(|rate| !(1..=QUERY_RATE_MAX).contains(&rate)) => {
                "[changes] query-rate: expected a number from 1 to 10000000"
            }
            _ if self.changes.rest_ms > REST_MS_MAX => "[changes] rest-ms: expected a number from 0 to 60000",
            measure
                if measure != Measure::Reload
                    && (self.changes.query_rate.is_some() || self.changes.rest_ms > 0) =>
            {
                "[changes] query-rate and rest-ms are for measure = \"reload\""
            }
            _ if self
                .changes
                .targets
                .iter()
                .any(|target| target.least.is_some() == target.most.is_some()) =>
            {
                "[[changes.target]] needs one of least and most"
            }
            Measure::Instructions
                if self.cases.iter().any(|case| case.watched.is_some())
                    && self.cases.iter().any(|case| case.watched.is_none()) =>
            {
                "cases: watched in all of them or in none, as it counts workers alone"
            }
            measure
                if measure != Measure::Instructions
                    && self.cases.iter().any(|case| case.watched.is_some()) =>
            {
                "cases: watched is for measure = \"instructions\""
            }
            Measure::Caching
                if !self.cases.iter().all(is_of_resolvers)
                    || self.cases.windows(2).any(|pair| bed(&pair[0]) != bed(&pair[1])) =>
            {
                "cases: only zones of the kind caching, all of one size and signed alike, with hits from 0 to 1"
            }
            measure if measure != Measure::Caching && self.cases.iter().any(|case| case.hits.is_some()) => {
                "cases: hits are for measure = \"caching\""
            }
            Measure::ColdCache if self.cases.iter().any(|case| case.zone != ZoneKind::Internet) => {
                "cases: only zones of the kind internet"
            }
            _ if self.cases.iter().any(|case| case.signed > 100) => "cases: signed: expected from 0 to 100",
            _ if self
                .cases
                .iter()
                .any(|case| case.zone.is_of_resolvers() && !self.measure.is_of_resolvers()) =>
            {
                "cases: zones of the kinds caching and internet are for resolvers"
            }
            Measure::Flood if self.floods.is_empty() => "a [[flood]] is needed",
            Measure::Flood if self.floods.iter().any(|flood| !(1..=VICTIMS_MAX).contains(&flood.victims)) => {
                "[[flood]] victims: expected numbers from 1 to 100"
            }
            Measure::RateLimit if self.sources.is_empty() => "[[sources]] are needed",
            Measure::RateLimit if self.sources.iter().any(|sources| !is_possible(sources)) => {
                "[[sources]] networks, apart: expected at least 1, and no more networks than there are"
            }
            Measure::RateLimit if self.cases.len() != 1 || self.cases[0].zone != ZoneKind::Root => {
                "cases: one, of the kind root"
            }
            measure if measure != Measure::Rates && !self.rows.is_empty() => {
                "a [[row]] is for measure = \"rates\""
            }
            _ if !self.rows_have_names() => "[[row]] name: each needs one of its own",
            _ if !self.rows.iter().all(Row::is_sound) => {
                "[[row]]: expected longer from 1 to 100, trials from 1 to 10000, overtime-share from 0 to 1"
            }
            Measure::Echo if self.echoes.is_empty() => "an [[echo]] is needed",
            Measure::Generator if self.generators.is_empty() => "a [[generator]] is needed",
            _ if self.workers.is_empty() || self.workers.contains(&0) => "workers: expected numbers from 1",
            _ if self.contenders.contains(&Name::Engine(ProtectionKind::Unshared)) => {
                "contenders: unshared data is for one thread without locks, and no server"
            }
            _ if self.contenders.contains(&Name::Echo) => "contenders: the echo server takes part by itself",
            _ => "",
        };
        if let Some(fault) = Some(self).filter(|_| self.measure == Measure::Engine).and_then(engine::fault) {
            return Some(fault);
        }
        let unsized_case = self.cases.iter().find(|case| case.zone != ZoneKind::Root && case.size == 0);
        if !needed.is_empty() {
            return Some(needed.to_owned());
        }
        if let Some(case) = unsized_case {
            return Some(format!("case {}: size is needed", case.name));
        }
        [Form::Full, Form::Quick, Form::Check].into_iter().find_map(|form| self.effort(form).fault())
    }
}

/// What cases that are measured beside each other must have in common.
fn bed(case: &Case) -> (usize, u8, bool) {
    (case.size, case.signed, case.validate)
}

/// Whether there are so many networks.
fn is_possible(sources: &SourceNetworks) -> bool {
    Sources { networks: sources.networks, apart: sources.apart }.is_possible()
}

/// Whether a case is one for resolvers.
fn is_of_resolvers(case: &Case) -> bool {
    case.zone == ZoneKind::Caching && case.hits.is_some_and(|share| (0.0..=1.0).contains(&share))
}

/// Line and column of an offset, counted from 1.
fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset.min(text.len()))];
    let line = before.matches('\n').count() + 1;
    (line, before.chars().rev().take_while(|&letter| letter != '\n').count() + 1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn all_that_ship_are_read() {
        for name in names() {
            let recipe = find(name).unwrap_or_else(|error| panic!("{error}"));
            assert!(recipe.title.len() < 80 && recipe.method.len() > 100, "{name}");
            let scales = [Form::Full, Form::Quick, Form::Check].map(|form| recipe.effort(form).scale);
            assert!(scales[0] >= scales[1] && scales[1] >= scales[2], "{name}: {scales:?}");
        }
    }

    #[track_caller]
    fn complains(text: &str, expected: &str) {
        let said = Recipe::from_text("own", "own.toml", text).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn faults_have_a_place() {
        let good = text("root").unwrap();
        complains(&good.replace("measure = ", "mesure = "), "own.toml:");
        let line = good.lines().position(|line| line.starts_with("[full]")).unwrap() + 2;
        let bad = good.replace("[full]\n", "[full]\nblock = 3\n");
        complains(&bad, &format!("own.toml:{line}:1: unknown field `block`"));
        complains(
            &good.replace("[full]\n", "[full]\nrun-seconds = -1.0\n"),
            "run-seconds = -1: expected from",
        );
        complains(&good.replace("\"nsd\"", "\"bind4\""), "unknown variant `bind4`");
        complains(&good.replace("[full]\n", "[[row]]\ntcp = true\n[full]\n"), "[[row]] name");
        complains(&good.replace("[full]\n", "[[row]]\nudp = true\n[full]\n"), "unknown field `udp`");
        complains(&good.replace("longer = 8.0", "longer = 0.5"), "expected longer from 1 to 100");
        let good = text("reload").unwrap();
        complains(&good.replace("rate = 20000", "rate = 0"), "query-rate: expected a number from 1");
        complains(&good.replace("rest-ms = 200", "rest-ms = 60001"), "rest-ms: expected a number from 0");
        complains(
            &good.replace("measure = \"reload\"", "measure = \"memory\""),
            "are for measure = \"reload\"",
        );
        complains("title = ", "own.toml:1:");
        complains("title = \"\"\nmethod = \"\"\nmeasure = \"rates\"", "[[case]]");
    }

    #[test]
    fn forms_build_on_each_other() {
        let text = "title = \"\"\nmethod = \"\"\nmeasure = \"echo\"\n[[echo]]\nname = \"a\"\n\
                    [full]\nblocks = 7\nruns = 5\n[quick]\nruns = 2\n[check]\nrun-seconds = 0.3";
        let recipe = Recipe::from_text("own", "own", text).unwrap();
        let effort = recipe.effort(Form::Check);
        assert_eq!((effort.run_seconds, effort.window), (0.3, 500), "what it says, and what nobody says");
        assert_eq!((effort.blocks, effort.trials), (1, 1), "short where it says nothing");
        let [full, quick] = [Form::Full, Form::Quick].map(|form| recipe.effort(form));
        assert_eq!((full.blocks, full.runs, quick.blocks, quick.runs), (7, 5, 7, 2));
    }
}
