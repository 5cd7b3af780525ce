//! Who is measured where no name server is: echo servers, and generators.

use serde::Deserialize;

/// Echo servers that differ in their number of processes or in their cores.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EchoGroup {
    /// Name of the line or bars.
    pub name: String,
    /// How packets are waited for and moved, as `zonda-bench echo --model` takes it.
    #[serde(default = "fast_model")]
    pub model: String,
    /// Whether it takes and sends trains of packets (`--trains`), with the model `mmsg`.
    #[serde(default)]
    pub trains: bool,
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
    /// Which core receives the packets.
    #[serde(default)]
    pub receive: Receive,
    /// With one process, the rate shall be so many times that of the model `blocking`.
    pub over_blocking: Option<f64>,
}

/// Which core receives what comes to the servers, as that of the interrupts does of a network card.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Receive {
    /// As the bed has it.
    #[default]
    Bed,
    /// The last core of the machine.
    Last,
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
    /// Each three cores in turn.
    EachTriple,
}

/// Cores of which all pairs and triples are measured, as many as the machine of the source had: 28 and 56. Of more, so many that are
/// spread evenly over all.
pub const COMBINED_CORES_MAX: usize = 8;

impl Placement {
    /// Sets of so many cores, each of which is a place.
    pub fn sets(self, cores: &[usize]) -> Vec<Vec<usize>> {
        let count = cores.len().min(COMBINED_CORES_MAX);
        let spread: Vec<usize> = (0..count).map(|at| cores[at * cores.len() / count]).collect();
        match self {
            Placement::Server => Vec::new(),
            Placement::EachCore => cores.iter().map(|&core| vec![core]).collect(),
            Placement::EachPair => combinations(&spread, 2),
            Placement::EachTriple => combinations(&spread, 3),
        }
    }
}

/// All choices of so many.
fn combinations(of: &[usize], count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let with = |(at, &first): (usize, &usize)| {
        let rest = combinations(&of[at + 1..], count - 1);
        rest.into_iter().map(move |rest| [vec![first], rest].concat())
    };
    of.iter().enumerate().flat_map(with).collect()
}

/// Settings of the generator.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Generator {
    /// Name in the table.
    pub name: String,
    /// Which program.
    #[serde(default)]
    pub program: GeneratorProgram,
    /// Its options.
    pub options: Vec<String>,
    /// Our best rate shall be so many times that of this one, which is there to be compared with.
    pub best_over: Option<f64>,
}

/// Load generators.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum GeneratorProgram {
    /// `zonda-bench load`.
    #[default]
    Load,
    /// dnsperf of DNS-OARC.
    Dnsperf,
}

fn one() -> usize {
    1
}

fn fast_model() -> String {
    "mmsg".to_owned()
}
