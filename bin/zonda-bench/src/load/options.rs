//! Options of `zonda-bench load`, and the bounds of their values.

use std::{
    io::IsTerminal,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use bench::{
    Error,
    cores::Cores,
    join::AGENTS_MAX,
    load::{
        Pace, Settings, THREADS_MAX, TcpSettings, Trial,
        expect::Expected,
        flows::{FLOWS_MAX, Ports},
        tcp::CONNECTIONS_MAX,
        window::WINDOW_MAX,
    },
    mmsg,
    query::QuerySet,
    search::Limits,
    source::Overrides,
};
use clap::Args;

use super::{join::JoinArguments, ports::SourcePorts, source::SourceArguments, updates::UpdateArguments};

/// Options of the load generator.
#[derive(Args)]
#[command(after_help = "\
Examples:
  zonda-bench load --server 127.0.0.1:5300 --queries root.txt --rate 50000 --seconds 10
  zonda-bench load --server 127.0.0.1:5300 --queries root.txt --closed 100 --json
  zonda-bench load --server 127.0.0.1:5300 --queries root.txt --record-sizes root.sizes
  zonda-bench load --server 10.0.0.1:53 --queries root.txt --find-maximum --cpu 1
  zonda-bench load --server 10.0.0.1:53 --queries root.txt --rate 1000000 --cpus 4-7
  zonda-bench load --server 10.0.0.1:53 --queries monday.pcap --replay --speed 2
  zonda-bench load --server 10.0.0.1:53 --queries root.txt --tcp --connections 100 --closed 500
  zonda-bench load --server 10.0.0.1:53 --queries root.txt --record-answers root.answers
  zonda-bench load --server 10.0.0.2:53 --queries root.txt --closed 100 --loops 1 --expect root.answers
  zonda-bench load --server 10.0.0.1:53 --generate random=example.com --rate 20000 --poisson --rd
  zonda-bench load --server 10.0.0.1:53 --queries com.txt --rate 50000 --updates updates.txt --update-rate 32
  zonda-bench load --server 10.0.0.1:53 --updates updates.txt --update-rate max --tsig ddns.key --seconds 600
A query file has one query a line: NAME TYPE, then any of edns, do, edns=SIZE, do=SIZE, cookie, rd, cd.")]
pub struct Arguments {
    /// Address and port of the server.
    #[arg(long, value_name = "ADDR:PORT", required_unless_present_any = ["updates", "join"])]
    pub server: Option<SocketAddr>,
    #[command(flatten)]
    pub input: SourceArguments,
    /// Open loop: so many queries a second whatever the server does.
    #[arg(long, help_heading = "Pace", value_name = "PER_SECOND", group = "pace")]
    pub rate: Option<f64>,
    /// With --rate or a search: gaps drawn at random around the mean, as from many clients that know nothing of each other.
    #[arg(long, help_heading = "Pace")]
    pub poisson: bool,
    /// Send the queries of a capture at the times they were recorded, once unless --loops says how often.
    #[arg(long, help_heading = "Pace", group = "pace")]
    pub replay: bool,
    /// With --replay: so many times as fast.
    #[arg(long, help_heading = "Pace", value_name = "FACTOR", default_value_t = 1.0)]
    pub speed: f64,
    /// Closed loop: so many queries outstanding.
    #[arg(long, help_heading = "Pace", value_name = "WINDOW", group = "pace")]
    pub closed: Option<u64>,
    /// Closed loop whose window (20 to begin with, or --closed) grows while nothing is lost and shrinks on loss. It is
    /// adjusted once a time-out, so a short --timeout-ms suits it.
    #[arg(long, help_heading = "Pace", conflicts_with_all = ["rate", "replay", "find_maximum", "staircase", "record_sizes", "record_answers"])]
    pub self_pacing: bool,
    /// Search the highest rate at which no query is lost and none piles up.
    #[arg(long, help_heading = "Pace", group = "pace")]
    pub find_maximum: bool,
    /// Search the rate that half of all trials hold: go up after each that does, down after each that does not. For a
    /// machine that is not quiet, where the highest rate that ever held is a matter of luck.
    #[arg(long, help_heading = "Pace", value_name = "TRIALS", group = "pace")]
    pub staircase: Option<usize>,
    /// Ask every query once and record how large each answer is, for `echo --sizes`.
    #[arg(long, help_heading = "Pace", value_name = "FILE", group = "pace")]
    pub record_sizes: Option<PathBuf>,
    /// Ask every query once and write what is answered, for --expect against another server.
    #[arg(long, help_heading = "Pace", value_name = "FILE", group = "pace")]
    pub record_answers: Option<PathBuf>,
    /// Length of the run; by default 10, or until --loops or a replay end it.
    #[arg(long, help_heading = "Pace", value_name = "SECONDS")]
    pub seconds: Option<f64>,
    /// Go through the queries so many times; 0 without end.
    #[arg(long, help_heading = "Pace", value_name = "N")]
    pub loops: Option<u64>,
    /// End after so many queries.
    #[arg(long, help_heading = "Pace", value_name = "N")]
    pub count: Option<u64>,
    /// Sockets, each with a source port of its own.
    #[arg(long, help_heading = "Sockets", value_name = "N", default_value_t = 1024)]
    pub flows: usize,
    /// Source ports of the sockets: FIRST-LAST for a range, or random to give one socket after the other a new port,
    /// one every --queries-per-port queries.
    #[arg(long, help_heading = "Sockets", value_name = "PORTS")]
    pub source_ports: Option<SourcePorts>,
    /// With --source-ports random: queries after which a socket is given another port.
    #[arg(long, help_heading = "Sockets", value_name = "N", default_value_t = 64)]
    pub queries_per_port: u64,
    /// Local addresses to send from, in turn.
    #[arg(long, help_heading = "Sockets", value_name = "ADDR", value_delimiter = ',')]
    pub source: Vec<IpAddr>,
    /// Over TCP: --connections take the place of --flows.
    #[arg(long, help_heading = "Sockets", conflicts_with_all = ["trains", "source_ports"])]
    pub tcp: bool,
    /// With --tcp: connections open at once.
    #[arg(long, help_heading = "Sockets", value_name = "N", default_value_t = 20, requires = "tcp")]
    pub connections: usize,
    /// With --tcp: queries after which a connection is closed and another opened; 0 keeps them open.
    #[arg(long, help_heading = "Sockets", value_name = "N", default_value_t = 0, requires = "tcp")]
    pub queries_per_connection: u64,
    /// Queries a system call sends at most.
    #[arg(long, help_heading = "Sockets", value_name = "N", default_value_t = 64)]
    pub burst: usize,
    /// Let the kernel cut bursts into packets as late as it can (UDP_SEGMENT) and put replies together as early as it can
    /// (UDP_GRO): far less work for this end, the same packets for the server. Queries are reordered into runs of equal
    /// length.
    #[arg(long, help_heading = "Sockets")]
    pub trains: bool,
    /// Send what is due, or what the window has room for, so often and sleep in between: larger bursts, and time for the
    /// host of a virtual machine, which may stop it when all its cores are busy. Latencies are then too long by up to
    /// this; 0 sends each query at its time.
    #[arg(long, help_heading = "Sockets", value_name = "MICROSECONDS", default_value_t = 0)]
    pub gather_us: u64,
    /// A reply later than this is lost.
    #[arg(long, help_heading = "Sockets", value_name = "MILLISECONDS", default_value_t = 1000)]
    pub timeout_ms: u64,
    /// How late the latest hundredth of the queries may leave before this program counts as the limit; raise it on
    /// a machine that is busy with other things.
    #[arg(long, help_heading = "Threads", value_name = "MILLISECONDS", default_value_t = 1.0)]
    pub lateness_ms: f64,
    /// Core to run on.
    #[arg(long, help_heading = "Threads", value_name = "CORE", conflicts_with = "cpus")]
    pub cpu: Option<usize>,
    /// Cores to run on, such as 1,2 or 4-7: one thread each, unless --threads says how many.
    #[arg(long, help_heading = "Threads", value_name = "LIST")]
    pub cpus: Option<Cores>,
    /// Threads; each sends its part of the queries from its part of the flows.
    #[arg(long, help_heading = "Threads", value_name = "N")]
    pub threads: Option<usize>,
    /// Hold answers against this file (of --record-answers, or by hand): response codes, and records of the answer and
    /// authority sections. Any difference makes the exit status 1.
    #[arg(long, help_heading = "Results", value_name = "FILE")]
    pub expect: Option<PathBuf>,
    /// Say how much this program itself adds to latencies: how late queries leave, and how long replies wait in the
    /// system before they are read (SO_TIMESTAMPNS).
    #[arg(long, help_heading = "Results", conflicts_with = "tcp")]
    pub check_latency: bool,
    /// Write the latencies as percentiles in the text form of HdrHistogram.
    #[arg(long, help_heading = "Results", value_name = "FILE")]
    pub histogram: Option<PathBuf>,
    /// Show how it goes once a second, as where standard error is a terminal.
    #[arg(long, help_heading = "Results")]
    pub progress: bool,
    /// Result as JSON on standard output.
    #[arg(long, help_heading = "Results")]
    pub json: bool,
    #[command(flatten)]
    pub updates: UpdateArguments,
    #[command(flatten)]
    pub joining: JoinArguments,
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
    /// Share of the machine's processor time that a hypervisor may take during a trial for it to count, held or failed;
    /// what does not count is made again.
    #[arg(long, value_name = "SHARE", default_value_t = 0.005)]
    pub stolen_share: f64,
    /// First rate tried.
    #[arg(long, value_name = "PER_SECOND", default_value_t = 1000.0)]
    pub rate_start: f64,
    /// First steps, as share of the rate: less than 1, which doubles it, is quicker where the rate is known roughly.
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    pub first_step: f64,
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
/// Length of a run where nothing else ends it.
const SECONDS: f64 = 10.0;
/// Queries outstanding to begin with where the loop paces itself: as queryperf has them.
const SELF_PACED_WINDOW: u64 = 20;
/// Queries outstanding while sizes are recorded: few enough for any server's buffers.
const RECORD_WINDOW: u64 = 100;

/// Refuses values out of bounds.
pub fn check(arguments: &Arguments) -> Result<(), Error> {
    let Arguments { search, joining, .. } = arguments;
    let seconds = [arguments.seconds(), search.burst_seconds, search.trial_seconds, search.confirm_seconds];
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
        // Of a group one cannot require one member beside another, so these two are checked here.
        (
            "--poisson",
            !arguments.poisson || arguments.rate.is_some() || arguments.is_search(),
            "needs --rate, --find-maximum or --staircase",
        ),
        ("--speed", arguments.speed == 1.0 || arguments.replay, "needs --replay"),
        ("--speed", (1e-6..=1e6).contains(&arguments.speed), "must be from 0.000001 to 1000000"),
        (
            "--replay",
            !(arguments.replay && arguments.trains),
            "cannot go with --trains, which change the order",
        ),
        ("--queries-per-port", arguments.queries_per_port > 0, "must be at least 1"),
        (
            "--source",
            arguments.server.is_none_or(|server| {
                arguments.source.iter().all(|source| source.is_ipv4() == server.is_ipv4())
            }),
            "must be of the same family, IPv4 or IPv6, as the server",
        ),
        (
            "--seconds",
            seconds.iter().all(|seconds| (0.001..=SECONDS_MAX).contains(seconds)),
            "must be from 0.001 to 86400",
        ),
        ("--count", arguments.count != Some(0), "must be at least 1"),
        ("--flows", (1..=FLOWS_MAX).contains(&arguments.flows), "must be from 1 to 28000"),
        ("--connections", (1..=CONNECTIONS_MAX).contains(&arguments.connections), "must be from 1 to 28000"),
        (
            "--threads",
            arguments.threads.is_none_or(|threads| (1..=THREADS_MAX).contains(&threads)),
            "must be from 1 to 1024",
        ),
        ("--burst", (1..=mmsg::BATCH_MAX).contains(&arguments.burst), "must be from 1 to 1024"),
        ("--timeout-ms", (1..=60_000).contains(&arguments.timeout_ms), "must be from 1 to 60000"),
        ("--gather-us", arguments.gather_us <= 100_000, "must be at most 100000"),
        ("--lateness-ms", (0.001..=60_000.0).contains(&arguments.lateness_ms), "must be from 0.001 to 60000"),
        ("--first-step", (0.0001..=1.0).contains(&search.first_step), "must be from 0.0001 to 1"),
        ("--width", (0.0001..=1.0).contains(&search.width), "must be from 0.0001 to 1"),
        ("--lost-share", (0.0..1.0).contains(&search.lost_share), "must be from 0 to below 1"),
        ("--overtime-share", (0.0..=1.0).contains(&search.overtime_share), "must be from 0 to 1"),
        ("--stolen-share", (0.0..=1.0).contains(&search.stolen_share), "must be from 0 to 1"),
        (
            "--staircase",
            arguments.staircase.is_none_or(|trials| (1..=10_000).contains(&trials)),
            "must be from 1 to 10000",
        ),
        (
            "--agents",
            joining.agents.is_none_or(|agents| (1..=AGENTS_MAX).contains(&agents)),
            "must be from 1 to 256",
        ),
        (
            if arguments.record_sizes.is_some() { "--record-sizes" } else { "--record-answers" },
            joining.coordinate.is_none() || !arguments.records(),
            "cannot go with --coordinate: it asks every query once, 100 at a time, which one host does as well; run \
             it there without --coordinate and --agents",
        ),
        ("--attempts", (1..=100).contains(&search.attempts), "must be from 1 to 100"),
        ("--confirm-trials", search.confirm_trials <= 100, "must be at most 100"),
        (
            "--queries",
            arguments.has_queries() || !arguments.has_pace() || joining.join.is_some(),
            "is needed for a pace of queries; that of updates is --update-rate",
        ),
        (
            "--rate",
            arguments.has_pace() || !arguments.has_queries(),
            "or --closed, --self-pacing, --replay, --find-maximum, --staircase, --record-sizes or --record-answers is needed",
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
    pub fn settings(&self) -> Result<Settings, Error> {
        let fault = Error::Option { option: "--server", rule: "is needed for queries" };
        let expected = self.expect.as_deref().map(Expected::read).transpose()?;
        Ok(Settings {
            flows: self.flows,
            ports: match self.source_ports {
                None => Ports::Kept,
                Some(SourcePorts::Random) => Ports::Random { each: self.queries_per_port },
                Some(SourcePorts::Range(first, last)) => Ports::Range { first, last },
            },
            sources: self.source.clone(),
            burst: self.burst,
            trains: self.trains,
            gather: Duration::from_micros(self.gather_us),
            timeout: Duration::from_millis(self.timeout_ms),
            lateness_max: Duration::from_secs_f64(self.lateness_ms / 1000.0),
            threads: self.threads.or(self.cpus.as_ref().map(Cores::count)).unwrap_or(1),
            cores: self.cpus.clone(),
            tcp: self.tcp.then_some(TcpSettings {
                connections: self.connections,
                queries_per_connection: self.queries_per_connection,
            }),
            expected: expected.map(Arc::new),
            record_answers: self.record_answers.is_some(),
            progress: self.shows_progress(),
            check_latency: self.check_latency,
            ..Settings::new(self.server.ok_or(fault)?)
        })
    }

    /// How the one trial goes that is no search.
    pub fn trial(&self, queries: &QuerySet) -> Trial {
        let window = self.closed.unwrap_or(RECORD_WINDOW);
        let pace = match self.rate {
            Some(rate) if self.poisson => Pace::Poisson { rate, seed: self.input.seed },
            Some(rate) => Pace::Open { rate },
            None if self.replay => Pace::Replay { speed: self.speed, loops: self.loops_max() },
            None if self.self_pacing => Pace::SelfPaced { window: self.closed.unwrap_or(SELF_PACED_WINDOW) },
            None => Pace::Closed { window },
        };
        if self.records() {
            return Trial { pace, seconds: SECONDS_MAX, queries_max: queries.count() as u64 };
        }
        Trial { pace, seconds: self.seconds(), queries_max: self.queries_max(queries) }
    }

    /// Whether every query is asked once, to record what comes.
    pub fn records(&self) -> bool {
        self.record_sizes.is_some() || self.record_answers.is_some()
    }

    /// Whether somebody watches how it goes.
    pub fn shows_progress(&self) -> bool {
        self.progress || std::io::stderr().is_terminal()
    }

    /// Queries of a trial at most.
    pub fn queries_max(&self, queries: &QuerySet) -> u64 {
        let of_loops =
            self.loops_max().map_or(u64::MAX, |loops| loops.saturating_mul(queries.count() as u64));
        self.count.unwrap_or(u64::MAX).min(of_loops)
    }

    /// How often to go through the queries; without end where there is none.
    fn loops_max(&self) -> Option<u64> {
        self.loops.or(self.replay.then_some(1)).filter(|&loops| loops > 0)
    }

    /// Whether queries are to be sent.
    pub fn has_queries(&self) -> bool {
        self.input.queries.is_some() || self.input.generate.is_some()
    }

    /// Length of a run at most.
    pub fn seconds(&self) -> f64 {
        self.seconds.unwrap_or(if self.loops_max().is_some() { SECONDS_MAX } else { SECONDS })
    }

    /// What all queries shall be.
    pub fn overrides(&self) -> Overrides {
        let SourceArguments { edns_size, dnssec_ok, cookie, no_edns, rd, .. } = self.input;
        Overrides { payload_octets: edns_size, dnssec_ok, has_cookie: cookie, no_edns, rd }
    }

    fn is_search(&self) -> bool {
        self.find_maximum || self.staircase.is_some()
    }

    fn has_pace(&self) -> bool {
        self.rate.is_some()
            || self.closed.is_some()
            || self.self_pacing
            || self.replay
            || self.is_search()
            || self.records()
    }
}
