//! Options of `zonda-bench load`, and the bounds of their values.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use bench::{
    Error,
    cores::Cores,
    load::{Settings, THREADS_MAX, flows::FLOWS_MAX},
    mmsg,
    search::Limits,
};
use clap::Args;

/// Options of the load generator.
#[derive(Args)]
#[command(after_help = "\
Examples:
  zonda-bench load --server 127.0.0.1:5300 --queries root.txt --rate 50000 --seconds 10
  zonda-bench load --server 127.0.0.1:5300 --queries root.txt --closed 100 --json
  zonda-bench load --server 127.0.0.1:5300 --queries root.txt --record-sizes root.sizes
  zonda-bench load --server 10.0.0.1:53 --queries root.txt --find-maximum --cpu 1
  zonda-bench load --server 10.0.0.1:53 --queries root.txt --rate 1000000 --cpus 4-7
A query file has one query a line: NAME TYPE, then any of edns, do, edns=SIZE, do=SIZE, rd, cd.")]
pub struct Arguments {
    /// Address and port of the server.
    #[arg(long, value_name = "ADDR:PORT")]
    pub server: SocketAddr,
    /// Query file.
    #[arg(long, value_name = "FILE")]
    pub queries: PathBuf,
    /// Open loop: so many queries a second whatever the server does.
    #[arg(long, value_name = "PER_SECOND", group = "pace")]
    pub rate: Option<f64>,
    /// Closed loop: so many queries outstanding.
    #[arg(long, value_name = "WINDOW", group = "pace")]
    pub closed: Option<u64>,
    /// Search the highest rate at which no query is lost and none piles up.
    #[arg(long, group = "pace")]
    pub find_maximum: bool,
    /// Search the rate that half of all trials hold: go up after each that does, down after each that does not. For a
    /// machine that is not quiet, where the highest rate that ever held is a matter of luck.
    #[arg(long, value_name = "TRIALS", group = "pace")]
    pub staircase: Option<usize>,
    /// Ask every query once and record how large each answer is, for `echo --sizes`.
    #[arg(long, value_name = "FILE", group = "pace")]
    pub record_sizes: Option<PathBuf>,
    /// Length of the run.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    pub seconds: f64,
    /// End after so many queries.
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,
    /// Source ports.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub flows: usize,
    /// Queries a system call sends at most.
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub burst: usize,
    /// Let the kernel cut bursts into packets as late as it can (UDP_SEGMENT): far less work for this end, the same
    /// packets for the server. Queries are reordered into runs of equal length.
    #[arg(long)]
    pub trains: bool,
    /// With --rate and --find-maximum: send what is due so often and sleep in between, for a machine whose host stops
    /// it when all its cores are busy. Latencies are then too long by up to this; 0 sends each query at its time.
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 0)]
    pub gather_us: u64,
    /// A reply later than this is lost.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 1000)]
    pub timeout_ms: u64,
    /// How late the latest hundredth of the queries may leave before this program counts as the limit; raise it on
    /// a machine that is busy with other things.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 1.0)]
    pub lateness_ms: f64,
    /// Core to run on.
    #[arg(long, value_name = "CORE", conflicts_with = "cpus")]
    pub cpu: Option<usize>,
    /// Cores to run on, such as 1,2 or 4-7: one thread each, unless --threads says how many.
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<Cores>,
    /// Threads; each sends its part of the queries from its part of the flows.
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Result as JSON on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub search: SearchArguments,
}

/// Options of the search.
#[derive(Args)]
#[command(next_help_heading = "Search (--find-maximum, --staircase)")]
pub struct SearchArguments {
    /// Length of the doubling bursts.
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    pub burst_seconds: f64,
    /// Length of the trials of the bisection.
    #[arg(long, value_name = "SECONDS", default_value_t = 8.0)]
    pub trial_seconds: f64,
    /// Length of the confirming trials.
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0)]
    pub confirm_seconds: f64,
    /// Confirming trials; 0 for none.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub confirm_trials: usize,
    /// Precision, or step of the staircase, as share of the rate.
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    pub width: f64,
    /// Trials at a rate, of which one must lose nothing: more of them where other guests of the machine disturb.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub attempts: usize,
    /// Share of lost queries that is accepted.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub lost_share: f64,
    /// How long after the last query was due the last reply may come, as share of the trial's length: more means that
    /// queries piled up in the server's buffers.
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    pub overtime_share: f64,
    /// Share of the machine's processor time that a hypervisor may take during a failed trial for it to count.
    #[arg(long, value_name = "SHARE", default_value_t = 0.005)]
    pub stolen_share: f64,
    /// First rate tried.
    #[arg(long, value_name = "PER_SECOND", default_value_t = 1000.0)]
    pub rate_start: f64,
    /// Wait for a line on standard input before each trial, so that a script can have several searches take turns.
    #[arg(long)]
    pub take_turns: bool,
    /// Then offer 1.5 times the maximum, to see whether answers hold up under overload.
    #[arg(long)]
    pub overload: bool,
}

/// Longest run or trial: a day. Times of a query are counted in 64-bit nanoseconds, so longer would work too, but
/// is a slip of the finger.
pub const SECONDS_MAX: f64 = 86_400.0;
/// Most queries outstanding: what the flows have places for.
const WINDOW_MAX: u64 = 1 << 20;

/// Refuses values out of bounds.
pub fn check(arguments: &Arguments) -> Result<(), Error> {
    let search = &arguments.search;
    let seconds = [arguments.seconds, search.burst_seconds, search.trial_seconds, search.confirm_seconds];
    let rules = [
        (
            "--rate",
            arguments.rate.is_none_or(|rate| (0.001..=1e8).contains(&rate)),
            "must be from 0.001 to 100000000",
        ),
        ("--rate-start", (1.0..=1e8).contains(&search.rate_start), "must be from 1 to 100000000"),
        (
            "--closed",
            arguments.closed.is_none_or(|window| (1..=WINDOW_MAX).contains(&window)),
            "must be from 1 to 1048576",
        ),
        (
            "--seconds",
            seconds.iter().all(|seconds| (0.001..=SECONDS_MAX).contains(seconds)),
            "must be from 0.001 to 86400",
        ),
        ("--count", arguments.count != Some(0), "must be at least 1"),
        ("--flows", (1..=FLOWS_MAX).contains(&arguments.flows), "must be from 1 to 28000"),
        (
            "--threads",
            arguments.threads.is_none_or(|threads| (1..=THREADS_MAX).contains(&threads)),
            "must be from 1 to 1024",
        ),
        ("--burst", (1..=mmsg::BATCH_MAX).contains(&arguments.burst), "must be from 1 to 1024"),
        ("--timeout-ms", (1..=60_000).contains(&arguments.timeout_ms), "must be from 1 to 60000"),
        ("--gather-us", arguments.gather_us <= 100_000, "must be at most 100000"),
        ("--lateness-ms", (0.001..=60_000.0).contains(&arguments.lateness_ms), "must be from 0.001 to 60000"),
        ("--width", (0.0001..=1.0).contains(&search.width), "must be from 0.0001 to 1"),
        ("--lost-share", (0.0..1.0).contains(&search.lost_share), "must be from 0 to below 1"),
        ("--overtime-share", (0.0..=1.0).contains(&search.overtime_share), "must be from 0 to 1"),
        ("--stolen-share", (0.0..=1.0).contains(&search.stolen_share), "must be from 0 to 1"),
        (
            "--staircase",
            arguments.staircase.is_none_or(|trials| (1..=10_000).contains(&trials)),
            "must be from 1 to 10000",
        ),
        ("--attempts", (1..=100).contains(&search.attempts), "must be from 1 to 100"),
        ("--confirm-trials", search.confirm_trials <= 100, "must be at most 100"),
        (
            "--rate",
            arguments.has_pace(),
            "or --closed, --find-maximum, --staircase or --record-sizes is needed",
        ),
    ];
    match rules.into_iter().find(|&(_, kept, _)| !kept) {
        Some((option, _, rule)) => Err(Error::Option { option, rule }),
        None => Ok(()),
    }
}

impl SearchArguments {
    /// What trials must keep.
    pub fn limits(&self) -> Limits {
        let SearchArguments { lost_share, overtime_share, stolen_share, .. } = *self;
        Limits { lost_share, overtime_share, stolen_share }
    }
}

impl Arguments {
    /// What the generator is made with.
    pub fn settings(&self) -> Settings {
        Settings {
            flows: self.flows,
            burst: self.burst,
            trains: self.trains,
            gather: Duration::from_micros(self.gather_us),
            timeout: Duration::from_millis(self.timeout_ms),
            lateness_max: Duration::from_secs_f64(self.lateness_ms / 1000.0),
            threads: self.threads.or(self.cpus.as_ref().map(Cores::count)).unwrap_or(1),
            cores: self.cpus.clone(),
            ..Settings::new(self.server)
        }
    }

    fn has_pace(&self) -> bool {
        self.rate.is_some()
            || self.closed.is_some()
            || self.find_maximum
            || self.staircase.is_some()
            || self.record_sizes.is_some()
    }
}
