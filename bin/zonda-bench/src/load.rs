//! `zonda-bench load`.

use std::{net::SocketAddr, path::PathBuf, process::ExitCode, time::Duration};

use bench::{
    Error,
    load::{Generator, Outcome, Pace, Settings, Trial, flows::FLOWS_MAX},
    machine, mmsg,
    query::QuerySet,
    search::{
        self, Limits, Step, Verdict,
        maximum::{self, Maximum, Plan},
        staircase,
    },
    sizes::{Sizes, query_hash},
};
use clap::Args;
use serde_json::json;

/// Options of the load generator.
#[derive(Args)]
#[command(after_help = "\
Examples:
  zonda-bench load --server 127.0.0.1:5300 --queries root.txt --rate 50000 --seconds 10
  zonda-bench load --server 127.0.0.1:5300 --queries root.txt --closed 100 --json
  zonda-bench load --server 127.0.0.1:5300 --queries root.txt --record-sizes root.sizes
  zonda-bench load --server 10.0.0.1:53 --queries root.txt --find-maximum --cpu 1
A query file has one query a line: NAME TYPE, then any of edns, do, edns=SIZE, do=SIZE, rd, cd.")]
pub struct Arguments {
    /// Address and port of the server.
    #[arg(long, value_name = "ADDR:PORT")]
    server: SocketAddr,
    /// Query file.
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
    /// Open loop: so many queries a second whatever the server does.
    #[arg(long, value_name = "PER_SECOND", group = "pace")]
    rate: Option<f64>,
    /// Closed loop: so many queries outstanding.
    #[arg(long, value_name = "WINDOW", group = "pace")]
    closed: Option<u64>,
    /// Search the highest rate at which no query is lost and none piles up.
    #[arg(long, group = "pace")]
    find_maximum: bool,
    /// Search the rate that half of all trials hold: go up after each that does, down after each that does not. For a
    /// machine that is not quiet, where the highest rate that ever held is a matter of luck.
    #[arg(long, value_name = "TRIALS", group = "pace")]
    staircase: Option<usize>,
    /// Ask every query once and record how large each answer is, for `echo --sizes`.
    #[arg(long, value_name = "FILE", group = "pace")]
    record_sizes: Option<PathBuf>,
    /// Length of the run.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    seconds: f64,
    /// End after so many queries.
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Source ports.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    flows: usize,
    /// Queries a system call sends at most.
    #[arg(long, value_name = "N", default_value_t = 64)]
    burst: usize,
    /// Let the kernel cut bursts into packets as late as it can (UDP_SEGMENT): far less work for this end, the same
    /// packets for the server. Queries are reordered into runs of equal length.
    #[arg(long)]
    trains: bool,
    /// With --rate and --find-maximum: send what is due so often and sleep in between, for a machine whose host stops
    /// it when all its cores are busy. Latencies are then too long by up to this; 0 sends each query at its time.
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 0)]
    gather_us: u64,
    /// A reply later than this is lost.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 1000)]
    timeout_ms: u64,
    /// How late the latest hundredth of the queries may leave before this program counts as the limit; raise it on
    /// a machine that is busy with other things.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 1.0)]
    lateness_ms: f64,
    /// Core to run on.
    #[arg(long, value_name = "CORE")]
    cpu: Option<usize>,
    /// Result as JSON on standard output.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    search: SearchArguments,
}

/// Options of the search.
#[derive(Args)]
#[command(next_help_heading = "Search (--find-maximum, --staircase)")]
struct SearchArguments {
    /// Length of the doubling bursts.
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    burst_seconds: f64,
    /// Length of the trials of the bisection.
    #[arg(long, value_name = "SECONDS", default_value_t = 8.0)]
    trial_seconds: f64,
    /// Length of the confirming trials.
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0)]
    confirm_seconds: f64,
    /// Confirming trials; 0 for none.
    #[arg(long, value_name = "N", default_value_t = 3)]
    confirm_trials: usize,
    /// Precision, or step of the staircase, as share of the rate.
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    width: f64,
    /// Trials at a rate, of which one must lose nothing: more of them where other guests of the machine disturb.
    #[arg(long, value_name = "N", default_value_t = 2)]
    attempts: usize,
    /// Share of lost queries that is accepted.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    lost_share: f64,
    /// How long after the last query was due the last reply may come, as share of the trial's length: more means that
    /// queries piled up in the server's buffers.
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    overtime_share: f64,
    /// Share of the machine's processor time that a hypervisor may take during a failed trial for it to count.
    #[arg(long, value_name = "SHARE", default_value_t = 0.005)]
    stolen_share: f64,
    /// First rate tried.
    #[arg(long, value_name = "PER_SECOND", default_value_t = 1000.0)]
    rate_start: f64,
    /// Wait for a line on standard input before each trial, so that a script can have several searches take turns.
    #[arg(long)]
    take_turns: bool,
    /// Then offer 1.5 times the maximum, to see whether answers hold up under overload.
    #[arg(long)]
    overload: bool,
}

/// How far beyond the maximum the overload trial goes.
const OVERLOAD: f64 = 1.5;
/// Longest run or trial: a day. Times of a query are counted in 64-bit nanoseconds, so longer would work too, but
/// is a slip of the finger.
const SECONDS_MAX: f64 = 86_400.0;
/// Most queries outstanding: what the flows have places for.
const WINDOW_MAX: u64 = 1 << 20;
/// Order of the runs of equal length: any fixed one, so that all contenders get the same.
const RUNS_SEED: u64 = 1;
/// Queries outstanding while sizes are recorded: few enough for any server's buffers.
const RECORD_WINDOW: u64 = 100;

pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    check(&arguments)?;
    let mut queries = QuerySet::read(&arguments.queries)?;
    if arguments.trains {
        queries = queries.in_runs(arguments.burst.min(mmsg::TRAIN_MAX), RUNS_SEED);
    }
    pin(arguments.cpu)?;
    let settings = Settings {
        server: arguments.server,
        flows: arguments.flows,
        burst: arguments.burst,
        trains: arguments.trains,
        gather: Duration::from_micros(arguments.gather_us),
        timeout: Duration::from_millis(arguments.timeout_ms),
        lateness_max: Duration::from_secs_f64(arguments.lateness_ms / 1000.0),
    };
    let mut generator = Generator::new(settings, &queries)?;
    if arguments.find_maximum {
        return find_maximum(&arguments, &mut generator);
    }
    if let Some(trials) = arguments.staircase {
        return walk_staircase(&arguments, trials, &mut generator);
    }
    let mut trial = Trial {
        pace: Pace::Closed { window: arguments.closed.unwrap_or(RECORD_WINDOW) },
        seconds: arguments.seconds,
        queries_max: arguments.count.unwrap_or(u64::MAX),
    };
    if let Some(rate) = arguments.rate {
        trial.pace = Pace::Open { rate };
    }
    if arguments.record_sizes.is_some() {
        (trial.seconds, trial.queries_max) = (SECONDS_MAX, queries.count() as u64);
    }
    let outcome = generator.run(trial)?;
    if let Some(path) = &arguments.record_sizes {
        let sizes = generator.sizes().iter().enumerate().filter(|&(_, &size)| size > 0);
        let pairs: Vec<_> = sizes.map(|(index, &size)| (query_hash(queries.packet(index)), size)).collect();
        Sizes::write(path, &pairs)?;
    }
    show(&outcome, arguments.json);
    Ok(if outcome.received > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn check(arguments: &Arguments) -> Result<(), Error> {
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
    fn limits(&self) -> Limits {
        let SearchArguments { lost_share, overtime_share, stolen_share, .. } = *self;
        Limits { lost_share, overtime_share, stolen_share }
    }
}

impl Arguments {
    fn has_pace(&self) -> bool {
        self.rate.is_some()
            || self.closed.is_some()
            || self.find_maximum
            || self.staircase.is_some()
            || self.record_sizes.is_some()
    }
}

fn find_maximum(arguments: &Arguments, generator: &mut Generator) -> Result<ExitCode, Error> {
    let search = &arguments.search;
    let plan = Plan {
        burst_seconds: search.burst_seconds,
        trial_seconds: search.trial_seconds,
        confirm_seconds: search.confirm_seconds,
        confirm_trials: search.confirm_trials,
        width: search.width,
        attempts: search.attempts,
        limits: search.limits(),
        rate_start: search.rate_start,
    };
    let mut last = None;
    let mut offer = |rate, seconds| {
        let outcome = offer(arguments, generator, rate, seconds)?;
        last = Some(outcome.clone());
        Ok(outcome)
    };
    let maximum = maximum::find_maximum(&plan, &mut offer, tell)?;
    let overload = match search.overload && maximum.rate > 0.0 {
        true => Some(offer(maximum.rate * OVERLOAD, search.trial_seconds)?),
        false => None,
    };
    if arguments.json {
        let mut value = json!({ "machine": machine::describe(), "maximum": maximum.to_json() });
        value["last_trial"] = last.map(|outcome| outcome.to_json()).into();
        value["overload"] = overload.map(|outcome| outcome.to_json()).into();
        println!("{value}");
    } else {
        show_maximum(&maximum, overload);
    }
    Ok(if maximum.rate > 0.0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn walk_staircase(
    arguments: &Arguments,
    trials: usize,
    generator: &mut Generator,
) -> Result<ExitCode, Error> {
    let search = &arguments.search;
    let plan = staircase::Plan {
        trial_seconds: search.trial_seconds,
        trials,
        step: search.width,
        rate_start: search.rate_start,
        limits: search.limits(),
    };
    let found = staircase::walk(&plan, |rate, seconds| offer(arguments, generator, rate, seconds), tell)?;
    if arguments.json {
        println!("{}", json!({ "machine": machine::describe(), "staircase": found.to_json() }));
    } else {
        let (rate, spread) = (found.rate, found.spread * 100.0);
        println!("half of all trials hold {rate:.0}/s (spread of a trial {spread:.1} %)");
        println!("{} of {trials} held; the others: {}", found.held, search::verdict_text(found.limit));
        warn_of(found.limit);
    }
    Ok(if found.rate > 0.0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One trial of a search; waits for its turn where asked to.
fn offer(
    arguments: &Arguments,
    generator: &mut Generator,
    rate: f64,
    seconds: f64,
) -> Result<Outcome, Error> {
    if arguments.search.take_turns {
        let action = "wait for a line on standard input for";
        let read = std::io::stdin().read_line(&mut String::new());
        if read.map_err(|cause| Error::System { action, cause })? == 0 {
            let cause = std::io::ErrorKind::UnexpectedEof.into();
            return Err(Error::System { action, cause });
        }
    }
    let queries_max = arguments.count.unwrap_or(u64::MAX);
    generator.run(Trial { pace: Pace::Open { rate }, seconds, queries_max })
}

fn tell(step: &Step) {
    eprintln!("{step}");
}

fn show_maximum(maximum: &Maximum, overload: Option<Outcome>) {
    let confirmed = if maximum.confirmed { "confirmed" } else { "not confirmed" };
    println!(
        "loss-free maximum {:.0}/s ({confirmed}); beyond it: {}",
        maximum.rate,
        search::verdict_text(maximum.limit)
    );
    println!("up to {} % lost: {:.0}/s", maximum::NEARLY_SHARE * 100.0, maximum.rate_nearly);
    if let Some(outcome) = overload {
        println!("offered {OVERLOAD} times that: {:.0} answers/s", outcome.answers_per_second());
    }
    warn_of(maximum.limit);
}

/// Says so where it was not the server that ended a search.
fn warn_of(limit: Verdict) {
    match limit {
        Verdict::Behind => println!("warning: the generator was the limit, the server may do more"),
        Verdict::Disturbed => println!("warning: the machine was never undisturbed, the server may do more"),
        Verdict::Good | Verdict::Lost | Verdict::Slow => {}
    }
}

fn show(outcome: &Outcome, as_json: bool) {
    if as_json {
        println!("{}", json!({ "machine": machine::describe(), "outcome": outcome.to_json() }));
    } else {
        print!("{outcome}");
    }
}

/// Keeps this process on one core where asked to.
pub fn pin(core: Option<usize>) -> Result<(), Error> {
    match core {
        Some(core) => {
            mmsg::pin(core).map_err(|cause| Error::System { action: "run on the core of --cpu", cause })
        }
        None => Ok(()),
    }
}
