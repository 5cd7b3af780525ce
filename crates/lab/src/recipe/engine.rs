//! What recipes of `measure = "engine"` are made of: variants of `zonda-bench engine`, panels that let one thing vary, and
//! what is expected of them.

use serde::Deserialize;

use super::Recipe;

/// Which locks and counters the engine has.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum Protection {
    /// No locks at all, for one thread.
    Unshared,
    /// As BIND 9.3 had it: a reader-writer lock made of a mutex and conditions, counters under mutexes.
    Bind9,
    /// Mutexes for all.
    Mutex,
    /// The system's reader-writer lock, counters under mutexes.
    SystemOrdinary,
    /// The system's reader-writer lock, atomic counters.
    SystemAtomic,
    /// The paper's reader-writer lock, atomic counters.
    Paper,
    /// The same with sleepers that need no system call of their own.
    PaperPortable,
    /// Snapshots.
    Snapshot,
}

impl Protection {
    /// All there are.
    pub const ALL: [Protection; 8] = [
        Protection::Unshared,
        Protection::Bind9,
        Protection::Mutex,
        Protection::SystemOrdinary,
        Protection::SystemAtomic,
        Protection::Paper,
        Protection::PaperPortable,
        Protection::Snapshot,
    ];

    /// As `--protection` takes it.
    pub fn text(self) -> &'static str {
        match self {
            Protection::Unshared => "unshared",
            Protection::Bind9 => "bind9",
            Protection::Mutex => "mutex",
            Protection::SystemOrdinary => "system-ordinary",
            Protection::SystemAtomic => "system-atomic",
            Protection::Paper => "paper",
            Protection::PaperPortable => "paper-portable",
            Protection::Snapshot => "snapshot",
        }
    }
}

/// Where memory for building answers comes from.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    /// Pools of blocks, as the paper has them.
    Areas,
    /// One pool under one mutex.
    Shared,
    /// The system's allocator.
    System,
    /// mimalloc.
    Mimalloc,
    /// jemalloc.
    Jemalloc,
    /// snmalloc.
    Snmalloc,
    /// Nothing is allocated while queries are answered.
    None,
}

impl Memory {
    /// As `--memory` takes it.
    pub fn text(self) -> &'static str {
        match self {
            Memory::Areas => "areas",
            Memory::Shared => "shared",
            Memory::System => "system",
            Memory::Mimalloc => "mimalloc",
            Memory::Jemalloc => "jemalloc",
            Memory::Snmalloc => "snmalloc",
            Memory::None => "none",
        }
    }
}

/// What the engine holds.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum EngineData {
    /// The root zone.
    Root,
    /// A cache.
    Cache,
}

/// How often each name is asked for.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Names {
    /// All alike.
    Uniform,
    /// As the paper saw them at a root server.
    Skewed,
}

/// Options of `zonda-bench engine`; what is not said is its default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EngineOptions {
    /// `--protection`.
    pub protection: Option<Protection>,
    /// `--memory`.
    pub memory: Option<Memory>,
    /// `--own`.
    #[serde(default)]
    pub own: bool,
    /// `--data`.
    pub data: Option<EngineData>,
    /// `--names`.
    pub names: Option<Names>,
    /// `--nxdomain`.
    pub nxdomain: Option<f64>,
    /// `--hits`.
    pub hits: Option<f64>,
    /// `--writes`.
    pub writes: Option<u64>,
    /// `--quota`.
    pub quota: Option<u64>,
    /// `--buckets`.
    pub buckets: Option<u64>,
    /// `--threads`; 0 is a program without threads, which only `unshared` can be.
    pub threads: Option<Count>,
    /// `--waits`.
    #[serde(default)]
    pub waits: bool,
    /// `--profile-locks`.
    #[serde(default)]
    pub profile_locks: bool,
}

/// A number, or what stands for some on the machine at hand.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
pub enum Count {
    /// This number.
    Number(u64),
    /// So many as a word says.
    Word(CountWord),
}

/// Numbers that differ with the machine.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum CountWord {
    /// The number of cores.
    Cores,
    /// 1, 2, 3, … up to the number of cores; on large machines 1, 2, 3, 4, 6, 8, 12, 16, ….
    ToCores,
}

impl Count {
    /// The numbers it stands for.
    pub fn numbers(self, cores: usize) -> Vec<u64> {
        let cores = cores as u64;
        match self {
            Count::Number(number) => vec![number],
            Count::Word(CountWord::Cores) => vec![cores],
            Count::Word(CountWord::ToCores) => {
                // Each up to four, then two of each doubling: enough to see the shape of a line.
                let doublings = (1..u64::BITS).flat_map(|power| [1u64 << power, (1u64 << power) / 2 * 3]);
                let mut all: Vec<u64> = [1].into_iter().chain(doublings).filter(|&n| n < cores).collect();
                all.push(cores);
                all.sort_unstable();
                all.dedup();
                all
            }
        }
    }

    /// The one number it stands for; of several the last.
    pub fn number(self, cores: usize) -> u64 {
        self.numbers(cores).last().copied().unwrap_or(1)
    }
}

/// A way to run the engine: a line or bar of a chart.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Variant {
    /// Its name in tables and charts.
    pub name: String,
    /// How it differs.
    #[serde(default)]
    pub options: EngineOptions,
}

/// What varies within a panel.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// Threads that answer.
    #[default]
    Threads,
    /// Changes a second.
    Writes,
    /// Writers in a row before readers are let in.
    Quota,
    /// Locks of a zone or cache.
    Buckets,
}

/// What of a run is shown.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// Answers a second.
    Rate,
    /// The rate over the baseline's in the same round.
    Ratio,
    /// Processor time of the threads by query.
    Cpu,
    /// 99.9 % of the queries wait no longer for locks.
    Wait,
    /// 99.9 % of the queries take no longer.
    Query,
    /// 99 % of the changes take no longer.
    Write,
    /// Changes a second that were made.
    Written,
    /// Share of the threads' time that they waited for locks; from the profiler.
    Waited,
    /// The profiler's lines, in BIND's layout.
    Lines,
}

/// Variants side by side over something that varies: one measurement of a recipe, with its charts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Panel {
    /// Heading of its charts.
    pub name: String,
    /// First words of its places: `root`, for `root, 2 threads`.
    pub at: String,
    /// Options of all its variants; what a variant says itself counts.
    #[serde(default)]
    pub options: EngineOptions,
    /// Names of its variants; all without.
    #[serde(default)]
    pub variants: Vec<String>,
    /// What varies.
    #[serde(default)]
    pub axis: Axis,
    /// Its values.
    pub values: Vec<Count>,
    /// Its values in the quick form and the self-check, which may be none.
    pub quick_values: Option<Vec<Count>>,
    /// What is shown.
    pub shows: Vec<Shown>,
    /// The variant that ratios are over.
    pub baseline: Option<String>,
    /// Rounds at most, where fewer will do.
    pub runs: Option<usize>,
    /// Whether to warn where more threads answer less than one.
    #[serde(default)]
    pub alarm: bool,
}

/// What is expected of the rates of two variants.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Expected {
    /// The first answers more.
    Faster,
    /// The first answers at least as much.
    NotSlower,
    /// Hardly any difference.
    Alike,
}

/// An order that somebody found and that is looked for here.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Order {
    /// The panel's `at`.
    pub panel: String,
    /// Where on its axis; the number of cores without.
    pub value: Option<Count>,
    /// The first variant.
    pub one: String,
    /// The other.
    pub other: String,
    /// What was found of them.
    pub expected: Expected,
    /// In whose words.
    pub said: String,
    /// The panel with the profiles of both.
    pub profile: Option<String>,
}

/// A ratio of two rates of a panel that shall be at least so much.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EngineTarget {
    /// The panel's `at`.
    pub panel: String,
    /// Variant and place on the axis.
    pub of: (String, Count),
    /// Those that it is divided by.
    pub over: (String, Count),
    /// What it shall be at least.
    pub least: f64,
}

impl EngineOptions {
    /// These, and where they say nothing what `others` say.
    pub fn or(&self, others: &EngineOptions) -> EngineOptions {
        EngineOptions {
            protection: self.protection.or(others.protection),
            memory: self.memory.or(others.memory),
            own: self.own || others.own,
            data: self.data.or(others.data),
            names: self.names.or(others.names),
            nxdomain: self.nxdomain.or(others.nxdomain),
            hits: self.hits.or(others.hits),
            writes: self.writes.or(others.writes),
            quota: self.quota.or(others.quota),
            buckets: self.buckets.or(others.buckets),
            threads: self.threads.or(others.threads),
            waits: self.waits || others.waits,
            profile_locks: self.profile_locks || others.profile_locks,
        }
    }
}

impl Axis {
    /// Options with this value of what varies.
    fn set(self, options: &mut EngineOptions, value: u64) {
        match self {
            Axis::Threads => options.threads = Some(Count::Number(value)),
            Axis::Writes => options.writes = Some(value),
            Axis::Quota => options.quota = Some(value),
            Axis::Buckets => options.buckets = Some(value),
        }
    }

    /// What its values are, with their unit.
    pub fn label(self) -> &'static str {
        match self {
            Axis::Threads => "threads",
            Axis::Writes => "writes a second",
            Axis::Quota => "writers in a row (Q)",
            Axis::Buckets => "lock buckets",
        }
    }

    /// One of its values in words.
    pub fn place(self, value: u64) -> String {
        match (self, value) {
            (Axis::Threads, 0) => "no threads".to_owned(),
            (Axis::Threads, 1) => "1 thread".to_owned(),
            (Axis::Threads, _) => format!("{value} threads"),
            // From 100 on that has no decimals.
            (Axis::Writes, 100..) => format!("{} writes/s", crate::number::long(value as f64)),
            (Axis::Writes, _) => format!("{value} writes/s"),
            (Axis::Quota, _) => format!("Q = {value}"),
            (Axis::Buckets, _) => format!("{value} buckets"),
        }
    }
}

impl Panel {
    /// The values of its axis, in rising order.
    pub fn numbers(&self, is_quick: bool, cores: usize) -> Vec<u64> {
        let values = self.quick_values.as_ref().filter(|_| is_quick).unwrap_or(&self.values);
        let mut all: Vec<u64> = values.iter().flat_map(|value| value.numbers(cores)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The place of a value.
    pub fn place(&self, value: u64) -> String {
        format!("{}, {}", self.at, self.axis.place(value))
    }
}

/// One way to run the engine: a variant at one value of a panel.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Index of the panel.
    pub panel: usize,
    /// The variant's name.
    pub variant: String,
    /// Value on the panel's axis.
    pub value: u64,
    /// All options.
    pub options: EngineOptions,
}

/// What a recipe runs on a machine with so many cores.
pub fn cells(recipe: &Recipe, is_quick: bool, cores: usize) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (place, panel) in recipe.panels.iter().enumerate() {
        let is_in = |variant: &&Variant| panel.variants.is_empty() || panel.variants.contains(&variant.name);
        for value in panel.numbers(is_quick, cores) {
            for variant in recipe.variants.iter().filter(is_in) {
                let mut options = variant.options.or(&panel.options);
                panel.axis.set(&mut options, value);
                let threads = options.threads.map_or(1, |threads| threads.number(cores));
                options.threads = Some(Count::Number(threads));
                // What shares nothing is a program without threads, and the only one.
                if (options.protection == Some(Protection::Unshared)) == (threads == 0) {
                    cells.push(Cell { panel: place, variant: variant.name.clone(), value, options });
                }
            }
        }
    }
    cells
}

/// What names something that is not there, or cannot be measured.
pub fn fault(recipe: &Recipe) -> Option<String> {
    if recipe.panels.is_empty() || recipe.variants.is_empty() {
        return Some("a [[variant]] and a [[panel]] are needed".to_owned());
    }
    let has_variant = |name: &String| recipe.variants.iter().any(|variant| variant.name == *name);
    let panel = |at: &str| recipe.panels.iter().find(|panel| panel.at == at);
    for (place, panel) in recipe.panels.iter().enumerate() {
        let mut named = panel.variants.iter().chain(&panel.baseline);
        if let Some(unknown) = named.find(|name| !has_variant(name)) {
            return Some(format!("panel {}: no variant {unknown}", panel.at));
        }
        if recipe.panels[..place].iter().any(|other| other.at == panel.at) {
            return Some(format!("panel {}: another one has the same `at`", panel.at));
        }
        if panel.values.is_empty() || panel.shows.is_empty() {
            return Some(format!("panel {}: values and shows are needed", panel.at));
        }
        if panel.shows.contains(&Shown::Ratio) && panel.baseline.is_none() {
            return Some(format!("panel {}: a ratio needs a baseline", panel.at));
        }
    }
    let orders = recipe.orders.iter().map(|order| (&order.panel, &order.one, &order.other));
    let targets = recipe.targets.iter().map(|target| (&target.panel, &target.of.0, &target.over.0));
    for (at, one, other) in orders.chain(targets) {
        if panel(at).is_none() {
            return Some(format!("an order or target of {one} and {other}: no panel {at}"));
        }
        if let Some(unknown) = [one, other].into_iter().find(|name| !has_variant(name)) {
            return Some(format!("an order or target in panel {at}: no variant {unknown}"));
        }
    }
    let mut profiles = recipe.orders.iter().filter_map(|order| order.profile.as_deref());
    profiles.find(|at| panel(at).is_none()).map(|at| format!("an order: no panel {at} with profiles"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_cores() {
        let numbers = |word, cores| Count::Word(word).numbers(cores);
        assert_eq!(numbers(CountWord::ToCores, 1), [1]);
        assert_eq!(numbers(CountWord::ToCores, 2), [1, 2]);
        assert_eq!(numbers(CountWord::ToCores, 5), [1, 2, 3, 4, 5]);
        assert_eq!(numbers(CountWord::ToCores, 16), [1, 2, 3, 4, 6, 8, 12, 16]);
        assert_eq!(numbers(CountWord::Cores, 16), [16]);
        assert_eq!(Count::Number(8).number(2), 8);
        assert_eq!(Count::Word(CountWord::ToCores).number(6), 6);
    }

    const RECIPE: &str = r#"
title = ""
method = ""
measure = "engine"
[[variant]]
name = "none"
options = { protection = "unshared" }
[[variant]]
name = "paper"
options = { protection = "paper", quota = 16 }
[[panel]]
name = "Root"
at = "root"
options = { data = "root", quota = 1 }
values = [0, "to-cores", 4, 2]
quick-values = ["cores"]
shows = ["rate"]
[[panel]]
name = "Writes"
at = "writes"
options = { threads = "cores" }
variants = ["paper"]
axis = "writes"
values = [10, 1000]
quick-values = []
shows = ["rate"]
"#;

    #[test]
    fn cells_of_panels() {
        let recipe = Recipe::from_text("own", "own", RECIPE).expect("it is right");
        let places = |is_quick, cores| {
            let cell = |cell: Cell| {
                let threads = cell.options.threads.map(|threads| threads.number(cores));
                assert_eq!(cell.options.quota, Some(if cell.variant == "paper" { 16 } else { 1 }));
                (cell.variant, recipe.panels[cell.panel].place(cell.value), threads)
            };
            cells(&recipe, is_quick, cores).into_iter().map(cell).collect::<Vec<_>>()
        };
        let expected = [
            ("none", "root, no threads", 0),
            ("paper", "root, 1 thread", 1),
            ("paper", "root, 2 threads", 2),
            ("paper", "root, 3 threads", 3),
            ("paper", "root, 4 threads", 4),
            ("paper", "writes, 10 writes/s", 3),
            ("paper", "writes, 1,000 writes/s", 3),
        ];
        let expected =
            expected.map(|(variant, at, threads)| (variant.to_owned(), at.to_owned(), Some(threads)));
        assert_eq!(places(false, 3), expected);
        assert_eq!(places(true, 2), [("paper".to_owned(), "root, 2 threads".to_owned(), Some(2))]);
    }

    /// The manual's example is one.
    #[test]
    fn the_manuals_recipe() {
        let manual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/manual/src/lab-locks.md");
        let manual = std::fs::read_to_string(manual).expect("the manual is in the repository");
        let text = manual.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
        let recipe = Recipe::from_text("own", "lab-locks.md", text.expect("it has an example"));
        let recipe = recipe.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((cells(&recipe, false, 2).len(), cells(&recipe, true, 2).len()), (2, 1));
    }

    #[test]
    fn what_is_not_there_is_named() {
        for (from, to, said) in [
            ("variants = [\"paper\"]", "variants = [\"papr\"]", "panel writes: no variant papr"),
            ("at = \"writes\"", "at = \"root\"", "another one has the same `at`"),
            ("shows = [\"rate\"]", "shows = [\"ratio\"]", "a ratio needs a baseline"),
            ("values = [10, 1000]", "values = []", "values and shows are needed"),
            ("threads = \"cores\"", "threads = \"kores\"", "own:"),
            ("axis = \"writes\"", "axis = \"rites\"", "unknown variant `rites`"),
        ] {
            let text = RECIPE.replacen(from, to, 1);
            let error = Recipe::from_text("own", "own", &text).expect_err(to).to_string();
            assert!(error.contains(said), "{error}");
        }
        let order = "[[order]]\npanel = \"root\"\none = \"paper\"\nother = \"mutex\"\nexpected = \"faster\"\nsaid = \"\"";
        let error =
            Recipe::from_text("own", "own", &(RECIPE.to_owned() + order)).expect_err(order).to_string();
        assert!(error.contains("in panel root: no variant mutex"), "{error}");
    }
}
