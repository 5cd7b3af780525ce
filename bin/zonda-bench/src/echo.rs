//! `zonda-bench echo`.

use std::{
    net::SocketAddr,
    path::PathBuf,
    process::ExitCode,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use bench::{
    Error,
    cores::Cores,
    echo::{Echo, Model, RECEIVE_OCTETS, RelaySettings, ReplySize, Service, Settings, Sharing, processes},
    mmsg,
    sizes::{ANSWER_OCTETS_MAX, Sizes},
};
use clap::{
    Args, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};

/// Processes, and threads of each, at most: more than the cores of any machine.
const THREADS_MAX: usize = 512;
/// Longest time-out, one hour.
const MILLISECONDS_MAX: u64 = 3_600_000;

/// Options of the echo server.
#[derive(Args)]
#[command(after_help = "\
Examples:
  zonda-bench echo --listen 127.0.0.1:5301
  zonda-bench echo --listen 10.0.0.1:53 --sizes root.sizes --cpu 0
  zonda-bench echo --processes 4 --threads 2 --model blocking --cpus 0-7
  zonda-bench echo --relay 127.0.0.1:5302 --share 0.2
  zonda-bench echo --tcp --threads 2
Ends at SIGTERM or SIGINT and then says how many packets it saw.")]
pub struct Arguments {
    /// Address and port to answer on.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:5301")]
    listen: SocketAddr,
    /// How packets are waited for and moved; `mmsg` is what a fast server does.
    #[arg(
        long,
        default_value = Model::Mmsg.name(),
        value_parser = PossibleValuesParser::new(Model::ALL.map(Model::name)).map(model),
    )]
    model: Model,
    /// Processes that answer.
    #[arg(long, value_name = "N", default_value_t = 1)]
    processes: usize,
    /// Threads of each process.
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,
    /// One socket for all threads and processes, or one for each thread (SO_REUSEPORT).
    #[arg(long, value_enum, default_value_t = Sockets::Each)]
    sockets: Sockets,
    /// Cores to run on, such as 0,2,4-6: thread k of all on the k-th; after the last the first again.
    #[arg(long, value_name = "LIST", conflicts_with = "cpu")]
    cpus: Option<Cores>,
    /// One core to run on.
    #[arg(long, value_name = "CORE")]
    cpu: Option<usize>,
    /// Reply sizes by query, as `load --record-sizes` wrote them.
    #[arg(long, value_name = "FILE", conflicts_with = "size")]
    sizes: Option<PathBuf>,
    /// Use the sizes one after the other instead of looking at the query.
    #[arg(long, requires = "sizes")]
    in_order: bool,
    /// One size for all replies.
    #[arg(long, value_name = "OCTETS")]
    size: Option<usize>,
    /// Packets a system call moves at most; of poll, select and epoll: packets taken after each wait
    /// [default: 64; of poll, select and epoll 1].
    #[arg(long, value_name = "N")]
    batch: Option<usize>,
    /// Take packets as trains where they come as such (UDP_GRO), and send replies of one size to one asker as a train
    /// (UDP_SEGMENT): the same packets for the other end, far less work for this one. With --model mmsg.
    #[arg(long, conflicts_with_all = ["tcp", "relay"])]
    trains: bool,
    /// What a UDP socket may hold before queries are lost, as the kernel counts it.
    #[arg(long, value_name = "OCTETS", default_value_t = RECEIVE_OCTETS)]
    receive_octets: usize,
    /// Answer TCP instead of UDP: many connections, each with many queries at once. Always waits with epoll.
    #[arg(long, conflicts_with_all = ["model", "batch", "receive_octets", "relay"])]
    tcp: bool,
    /// How long a TCP connection may do nothing.
    #[arg(long, value_name = "MS", default_value_t = 10_000, requires = "tcp")]
    idle_ms: u64,
    /// Pass a share of the queries on to this server and its replies back: the limit of a caching server.
    #[arg(long, value_name = "ADDR:PORT")]
    relay: Option<SocketAddr>,
    /// Share of queries to pass on, from 0 to 1.
    #[arg(long, default_value_t = 0.2, requires = "relay")]
    share: f64,
    /// Of the random choice of queries to pass on.
    #[arg(long, default_value_t = 1, requires = "relay")]
    seed: u64,
    /// How long a reply of the other server is waited for.
    #[arg(long, value_name = "MS", default_value_t = 2000, requires = "relay")]
    relay_timeout_ms: u64,
    /// Which of several processes this is; set by the one that starts them.
    #[arg(long, hide = true)]
    process: Option<usize>,
}

/// Who has a socket of its own.
#[derive(Clone, Copy, ValueEnum)]
enum Sockets {
    Shared,
    Each,
}

#[allow(clippy::needless_pass_by_value)] // as clap hands it over
fn model(name: String) -> Model {
    Model::ALL.into_iter().find(|model| model.name() == name).expect("one of the possible values")
}

pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    check(&arguments)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        let installed = signal_hook::flag::register(signal, Arc::clone(&stop));
        installed.map_err(|cause| Error::System { action: "install a signal handler", cause })?;
    }
    let settings = settings(&arguments)?;
    if let Some(process) = arguments.process {
        // What went wrong is told, once for all processes, by the one that started them.
        let done = processes::run_as(process, settings, &stop);
        return Ok(if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let echo = Echo::new(settings)?;
    let tell = |address| eprintln!("echo on {address}");
    let counters = if arguments.processes > 1 {
        echo.run_processes(&stop, tell)?
    } else {
        tell(echo.address());
        echo.run(&stop)?
    };
    eprintln!("{counters}");
    Ok(ExitCode::SUCCESS)
}

fn check(arguments: &Arguments) -> Result<(), Error> {
    let threads = arguments.processes.saturating_mul(arguments.threads);
    let batches = 1..=mmsg::BATCH_MAX;
    let octets = 12..=ANSWER_OCTETS_MAX;
    let milliseconds = 1..=MILLISECONDS_MAX;
    let is_loop = arguments.relay.is_some_and(|upstream| upstream == arguments.listen);
    let rules = [
        ("--processes", arguments.processes > 0, "must be at least 1"),
        ("--threads", arguments.threads > 0, "must be at least 1"),
        ("--threads", threads <= THREADS_MAX, "must be at most 512, times --processes"),
        ("--batch", arguments.batch.is_none_or(|batch| batches.contains(&batch)), "must be from 1 to 1024"),
        (
            "--receive-octets",
            (4096..=1 << 30).contains(&arguments.receive_octets),
            "must be from 4096 to 1073741824",
        ),
        ("--size", arguments.size.is_none_or(|size| octets.contains(&size)), "must be from 12 to 4096"),
        ("--idle-ms", milliseconds.contains(&arguments.idle_ms), "must be from 1 to 3600000"),
        ("--share", (0.0..=1.0).contains(&arguments.share), "must be from 0 to 1"),
        (
            "--relay-timeout-ms",
            milliseconds.contains(&arguments.relay_timeout_ms),
            "must be from 1 to 3600000",
        ),
        ("--relay", !is_loop, "must not be the address that is answered on"),
    ];
    match rules.into_iter().find(|&(_, kept, _)| !kept) {
        Some((option, _, rule)) => Err(Error::Option { option, rule }),
        None => Ok(()),
    }
}

fn settings(arguments: &Arguments) -> Result<Settings, Error> {
    let sizes = match (&arguments.sizes, arguments.size) {
        (Some(path), _) if arguments.in_order => ReplySize::InOrder(Sizes::read(path)?),
        (Some(path), _) => ReplySize::ByQuery(Sizes::read(path)?),
        (None, Some(size)) => ReplySize::Fixed(size),
        (None, None) => ReplySize::Same,
    };
    let relay = arguments.relay.map(|upstream| RelaySettings {
        upstream,
        share: arguments.share,
        seed: arguments.seed,
        timeout: Duration::from_millis(arguments.relay_timeout_ms),
    });
    Ok(Settings {
        address: arguments.listen,
        service: match arguments.tcp {
            true => Service::Tcp { idle: Duration::from_millis(arguments.idle_ms) },
            false => Service::Udp(arguments.model),
        },
        sizes,
        batch: arguments.batch.unwrap_or(arguments.model.batch_default()),
        trains: arguments.trains,
        receive_octets: arguments.receive_octets,
        relay,
        processes: arguments.processes,
        threads: arguments.threads,
        sharing: match arguments.sockets {
            Sockets::Shared => Sharing::Shared,
            Sockets::Each => Sharing::Each,
        },
        cores: arguments.cpus.clone().or(arguments.cpu.map(Cores::one)),
    })
}
