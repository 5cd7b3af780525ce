//! Recipes: what runs, what varies and what is measured, as a file.
//!
//! Those that ship with the program are in it ([`names`], [`text`]); a user's own are files. Both are read by the same
//! code, and a key that does not exist is an error with its line.

use std::{fmt, fs, path::Path};

use serde::Deserialize;

use crate::{Error, error};

/// The recipes of the program: name and text.
const BUILT_IN: [(&str, &str); 10] = [
    ("root", include_str!("../recipes/root.toml")),
    ("net", include_str!("../recipes/net.toml")),
    ("many", include_str!("../recipes/many.toml")),
    ("signed", include_str!("../recipes/signed.toml")),
    ("threads", include_str!("../recipes/threads.toml")),
    ("memory", include_str!("../recipes/memory.toml")),
    ("start", include_str!("../recipes/start.toml")),
    ("echo-sweep", include_str!("../recipes/echo-sweep.toml")),
    ("echo-pin", include_str!("../recipes/echo-pin.toml")),
    ("client-limit", include_str!("../recipes/client-limit.toml")),
];

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
    /// Echo servers, for `measure = "echo"`.
    #[serde(default, rename = "echo")]
    pub echoes: Vec<EchoGroup>,
    /// Settings of the generator, for `measure = "generator"`.
    #[serde(default, rename = "generator")]
    pub generators: Vec<Generator>,
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

/// What a recipe measures.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Rates without loss, processor time, memory and latency.
    Rates,
    /// Memory after the load of the zones and after queries.
    Memory,
    /// Time from start to the first answer.
    Start,
    /// Echo servers: rates of many models, processes and cores.
    Echo,
    /// Settings of the generator against one echo server.
    Generator,
}

/// A contender's name.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum Name {
    /// The server of this project.
    Zonda,
    /// BIND 9.
    Named,
    /// NSD.
    Nsd,
    /// Knot DNS.
    Knot,
    /// PowerDNS.
    Pdns,
    /// Unbound, which serves zones it is given as its own.
    Unbound,
    /// The limit program.
    Echo,
}

/// Zones to serve, and queries for them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Case {
    /// What it is called in tables and charts.
    pub name: String,
    /// Kind of the zone or zones.
    pub zone: ZoneKind,
    /// Records (net), zones (many), hosts (flat), delegations (com) at scale 1; the root zone is as it is.
    #[serde(default)]
    pub size: usize,
    /// Records of each of many zones, SOA and NS included.
    #[serde(default = "records_each")]
    pub records_each: usize,
    /// Signatures.
    #[serde(default)]
    pub dnssec: Dnssec,
    /// Which queries have DO set.
    #[serde(default, rename = "do")]
    pub dnssec_ok: DnssecOk,
    /// Share of names that do not exist, of queries drawn from the zone.
    #[serde(default = "nxdomain")]
    pub nxdomain: f64,
    /// Share of queries for names below an owner, of queries drawn from the zone.
    #[serde(default)]
    pub below: f64,
}

/// Kinds of zones.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum ZoneKind {
    /// The root zone that ships with the project and recorded queries; made up where neither is at hand.
    Root,
    /// The net zone of the paper.
    Net,
    /// Many small zones.
    Many,
    /// One zone of many hosts with an address each.
    Flat,
    /// A com zone of today.
    Com,
}

/// What is done about signatures.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Dnssec {
    /// As the zone is.
    #[default]
    Keep,
    /// Everything of DNSSEC is taken out of it.
    Strip,
    /// Signed, with NSEC; a zone that is signed stays as it is.
    Nsec,
    /// Signed, with NSEC3.
    Nsec3,
}

/// What is done about DO.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum DnssecOk {
    /// As recorded or drawn.
    #[default]
    Keep,
    /// Set in all queries.
    All,
    /// Set in none.
    None,
}

/// Echo servers that differ in their number of processes or in their cores.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EchoGroup {
    /// Name of the line or bars.
    pub name: String,
    /// How packets are waited for and moved, as `zonda-bench echo --model` takes it.
    #[serde(default = "fast_model")]
    pub model: String,
    /// Numbers of processes, or `cores`: one to as many as the server has cores.
    #[serde(default)]
    pub processes: Processes,
    /// Threads of each process.
    #[serde(default = "one")]
    pub threads: usize,
    /// One socket for all, or one each.
    #[serde(default)]
    pub sockets: Sockets,
    /// Which cores they run on.
    #[serde(default)]
    pub cores: Placement,
}

/// How many processes.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Processes {
    /// One.
    #[default]
    One,
    /// One to as many as there are cores.
    EachToCores,
}

/// Sockets of an echo server.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Sockets {
    /// One for all.
    Shared,
    /// One each.
    #[default]
    Each,
}

/// Cores of an echo server.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// The server's, in order.
    #[default]
    Server,
    /// Each core of the machine in turn, one process.
    EachCore,
    /// Each pair of cores in turn, one process on each of the two.
    EachPair,
}

/// Settings of the generator.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Generator {
    /// Name in the table.
    pub name: String,
    /// Options of `zonda-bench load`.
    pub options: Vec<String>,
}

/// How often servers are started where rates are measured.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// In each block, so that no block inherits how memory was laid out in the one before.
    Block,
    /// Once for all blocks of a case, where loading takes long.
    Case,
}

impl fmt::Display for Restart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Restart::Block => "block",
            Restart::Case => "case",
        })
    }
}

/// Which form of a recipe runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For figures.
    Full,
    /// Short but complete: good to see that all works.
    Quick,
    /// A self-check of seconds.
    Check,
}

fn one_worker() -> Vec<usize> {
    vec![1]
}

fn one() -> usize {
    1
}

fn records_each() -> usize {
    103
}

fn nxdomain() -> f64 {
    0.05
}

fn fast_model() -> String {
    "mmsg".to_owned()
}

/// Declares the numbers of a recipe once: as they stand in a file (all optional), and with their defaults filled in.
macro_rules! effort {
    ($($(#[$doc:meta])* $field:ident: $kind:ty = $default:expr, $range:expr;)*) => {
        #[derive(Clone, Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        struct EffortText {
            $($field: Option<$kind>,)*
        }

        /// Lengths and sizes of a run.
        #[derive(Clone, Debug)]
        pub struct Effort {
            $($(#[$doc])* pub $field: $kind,)*
        }

        impl Effort {
            /// The first that says something counts.
            fn of(texts: &[&EffortText]) -> Effort {
                Effort { $($field: texts.iter().find_map(|text| text.$field).unwrap_or($default),)* }
            }

            /// The first number that is out of its range, and the range.
            fn fault(&self) -> Option<String> {
                $(if !$range.contains(&self.$field) {
                    let name = stringify!($field).replace('_', "-");
                    return Some(format!("{name} = {}: expected from {} to {}", self.$field, $range.start(), $range.end()));
                })*
                None
            }
        }
    };
}

effort! {
    /// Blocks: each measures every contender once.
    blocks: usize = 8, (1..=1000);
    /// Trials of a staircase that count.
    trials: usize = 100, (1..=10_000);
    /// Length of a trial: short, so that all have one before the machine changes its pace.
    trial_seconds: f64 = 0.3, (0.02..=60.0);
    /// Steps of a staircase, as share of the rate.
    width: f64 = 0.03, (0.001..=1.0);
    /// First rate tried.
    rate_start: f64 = 50_000.0, (1.0..=1e8);
    /// Most the echoes of a block may differ.
    echo_spread: f64 = 0.05, (0.0..=10.0);
    /// Most processor time that the hypervisor may take in a failed trial that counts.
    stolen_share: f64 = 0.005, (0.0..=1.0);
    /// How late the last reply of a trial may come, as share of its length.
    overtime_share: f64 = 0.01, (0.0..=1.0);
    /// How late the latest hundredth of the queries may leave.
    lateness_ms: f64 = 150.0, (0.001..=60_000.0);
    /// How often the generator sends what is due; it sleeps in between.
    gather_us: u64 = 250, (0..=100_000);
    /// When a reply counts as lost.
    timeout_ms: u64 = 500, (1..=60_000);
    /// Source ports.
    flows: usize = 1024, (1..=28_000);
    /// Warm-up of a server before its staircase.
    warm_seconds: f64 = 1.0, (0.01..=600.0);
    /// Runs at each of the loads that latency is measured at.
    latency_runs: usize = 5, (0..=1000);
    /// Length of each.
    latency_seconds: f64 = 8.0, (0.1..=3600.0);
    /// Scale of generated zones.
    scale: f64 = 1.0, (1e-6..=10.0);
    /// Queries drawn from a zone.
    queries: usize = 1_000_000, (100..=20_000_000);
    /// Questions that all contenders are asked before they are timed.
    agreement: usize = 500, (0..=100_000);
    /// Runs of each echo server, generator or start.
    runs: usize = 10, (1..=1000);
    /// Length of a run.
    run_seconds: f64 = 10.0, (0.05..=3600.0);
    /// Queries outstanding in closed loops.
    window: u64 = 500, (1..=1_048_576);
    /// How often servers are started.
    restart: Restart = Restart::Block, (Restart::Block..=Restart::Case);
    /// How long a server may take to load its zones.
    load_seconds: f64 = 900.0, (1.0..=86_400.0);
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
        let all = [&self.check, &self.quick, &self.full];
        Effort::of(match form {
            Form::Full => &all[2..],
            Form::Quick => &all[1..],
            Form::Check => &all,
        })
    }

    /// What is missing or out of range.
    fn fault(&self) -> Option<String> {
        let needed = match self.measure {
            Measure::Rates | Measure::Memory | Measure::Start if self.cases.is_empty() => {
                "a [[case]] is needed"
            }
            Measure::Rates | Measure::Memory | Measure::Start if self.contenders.is_empty() => {
                "contenders are needed"
            }
            Measure::Echo if self.echoes.is_empty() => "an [[echo]] is needed",
            Measure::Generator if self.generators.is_empty() => "a [[generator]] is needed",
            _ if self.workers.is_empty() || self.workers.contains(&0) => "workers: expected numbers from 1",
            _ if self.contenders.contains(&Name::Echo) => "contenders: the echo server takes part by itself",
            _ => "",
        };
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
        complains("title = ", "own.toml:1:");
        complains("title = \"\"\nmethod = \"\"\nmeasure = \"rates\"", "[[case]]");
    }

    #[test]
    fn forms_build_on_each_other() {
        let text = "title = \"\"\nmethod = \"\"\nmeasure = \"echo\"\n[[echo]]\nname = \"a\"\n\
                    [full]\nblocks = 7\nruns = 5\n[quick]\nruns = 2\n[check]\nrun-seconds = 0.1";
        let recipe = Recipe::from_text("own", "own", text).unwrap();
        let effort = recipe.effort(Form::Check);
        assert_eq!((effort.blocks, effort.runs, effort.run_seconds, effort.trials), (7, 2, 0.1, 100));
        assert_eq!(recipe.effort(Form::Full).runs, 5);
    }
}
