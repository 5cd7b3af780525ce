//! `zonda-bench engine`.

use std::{
    fs,
    io::{self, Write},
    net::SocketAddr,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    str::FromStr,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use bench::{Error, echo::RECEIVE_OCTETS};
use clap::{
    Args, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use engine::{
    Content, Data, MemoryKind, Names, ProtectionKind, Service, Settings, memory::JEMALLOC,
    settings::SECONDS_MAX,
};

/// The root zone that comes with the program.
const ROOT_ZONE: &[u8] = include_bytes!("../../../data/root.zone");

/// Set where the program has started itself again with jemalloc, so that it does so once.
const PRELOADED: &str = "ZONDA_BENCH_PRELOADED";

/// Options of the engine.
#[derive(Args)]
#[command(after_help = "\
Examples:
  zonda-bench engine --protection mutex --threads 2
  zonda-bench engine --protection paper --threads 2 --writes 1000 --waits
  zonda-bench engine --protection bind9 --memory shared --threads 4 --seconds 30 --profile-locks
  zonda-bench engine --data cache --hits 0.8 --protection paper --threads 2 --json
  zonda-bench engine --protection paper --threads 2 --serve 127.0.0.1:5301
A name server of the shape that BIND 9 had in the 2000s, small enough that its locks can be exchanged. It is no server to
operate. It asks itself, or with --serve answers over UDP until SIGTERM or SIGINT. `zonda-bench lab` has the experiments.")]
pub struct Arguments {
    /// A zone of delegations, or a resolver's cache of 200,000 names.
    #[arg(long, default_value = Data::Root.name(), value_parser = words::<Data>(Data::WORDS))]
    data: Data,
    /// Zone file in place of the root zone that comes with the program.
    #[arg(long, value_name = "FILE")]
    zone: Option<PathBuf>,
    /// Locks and counters; snapshot is what the server of this project has.
    #[arg(long, default_value = ProtectionKind::Snapshot.name(), value_parser = words::<ProtectionKind>(ProtectionKind::WORDS))]
    protection: ProtectionKind,
    /// Where memory for building answers comes from.
    #[arg(long, default_value = MemoryKind::Areas.name(), value_parser = words::<MemoryKind>(MemoryKind::WORDS))]
    memory: MemoryKind,
    /// Threads that answer.
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,
    /// Each thread has a copy of all data, so that nothing is shared.
    #[arg(long)]
    own: bool,
    /// How often each name is asked for; skewed: one takes 22.9 %, six more than half.
    #[arg(long, default_value = Names::Uniform.name(), value_parser = words::<Names>(Names::WORDS))]
    names: Names,
    /// Share of names that do not exist.
    #[arg(long, value_name = "SHARE", default_value_t = 0.05)]
    nxdomain: f64,
    /// Share of questions that the cache has the answer to; the others bring a new one into it.
    #[arg(long, value_name = "SHARE", default_value_t = 0.8)]
    hits: f64,
    /// Changes a second, made by one more thread or by --writers.
    #[arg(long, value_name = "N", default_value_t = 0)]
    writes: u32,
    /// Threads that make them: more than one, and they queue for the locks.
    #[arg(long, value_name = "N", default_value_t = 1)]
    writers: usize,
    /// Writers in a row before readers are let in, of the paper's lock.
    #[arg(long, value_name = "Q", default_value_t = Settings::default().quota)]
    quota: u32,
    /// Locks of the zone or cache [default: 7, of a cache 1009].
    #[arg(long, value_name = "N")]
    buckets: Option<usize>,
    /// How long it is measured.
    #[arg(long, value_name = "S", default_value_t = 2.0)]
    seconds: f64,
    /// How long it runs before that.
    #[arg(long, value_name = "S", default_value_t = 0.2)]
    warm: f64,
    /// Time each question and how long it waits for locks; rates are lower then.
    #[arg(long)]
    waits: bool,
    /// Report who took which lock where, for how long, and who waited; rates are lower then.
    #[arg(long)]
    profile_locks: bool,
    /// Start of the random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Answer over UDP instead.
    #[arg(long, value_name = "ADDR:PORT", conflicts_with_all = ["seconds", "warm", "waits", "profile_locks", "writes", "json"])]
    serve: Option<SocketAddr>,
    /// One socket for all threads, or one for each (SO_REUSEPORT).
    #[arg(long, value_enum, default_value_t = Sockets::Each, requires = "serve")]
    sockets: Sockets,
    /// What a socket may hold before queries are lost, as the kernel counts it.
    #[arg(long, value_name = "OCTETS", default_value_t = RECEIVE_OCTETS, requires = "serve")]
    receive_octets: usize,
    /// One JSON object instead of text.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Sockets {
    Shared,
    Each,
}

/// Takes one of the words of a choice.
fn words<T: FromStr + Clone + Send + Sync + 'static>(
    words: &'static [&'static str],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(words).map(|word| word.parse().ok().expect("one of the possible values"))
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let settings = settings(arguments)?;
    if settings.memory == MemoryKind::Jemalloc && std::env::var_os(PRELOADED).is_none() {
        return Err(with_jemalloc());
    }
    settings.check()?;
    let content = content(arguments)?;
    if let Some(address) = arguments.serve {
        let service = Service {
            address,
            is_shared: arguments.sockets == Sockets::Shared,
            receive_octets: arguments.receive_octets,
        };
        return serve(&settings, &content, service);
    }
    let outcome = engine::measure(&settings, &content)?;
    let mut output = io::stdout().lock();
    match arguments.json {
        true => writeln!(output, "{}", outcome.json()),
        false => write!(output, "{outcome}"),
    }
    .map_err(|cause| Error::System { action: "write the result", cause })?;
    Ok(ExitCode::SUCCESS)
}

/// Starts the program again with jemalloc as its allocator; comes back only where that failed.
fn with_jemalloc() -> Error {
    let again = |program: PathBuf| {
        let mut command = Command::new(program);
        command.args(std::env::args_os().skip(1)).env("LD_PRELOAD", JEMALLOC).env(PRELOADED, "1");
        command.exec()
    };
    let cause = std::env::current_exe().map_or_else(|cause| cause, again);
    Error::System { action: "start again with jemalloc", cause }
}

fn serve(settings: &Settings, content: &Content, service: Service) -> Result<ExitCode, Error> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|cause| Error::System { action: "wait for signals", cause })?;
    }
    let ready = || eprintln!("serving {}", service.address);
    let answered = engine::serve(settings, content, service, &stop, ready)?;
    eprintln!("answered {answered}");
    Ok(ExitCode::SUCCESS)
}

fn settings(arguments: &Arguments) -> Result<Settings, Error> {
    let time = |option, seconds: f64| {
        let rule = "from 0 to 3600 seconds";
        let is_time = (0.0..=SECONDS_MAX).contains(&seconds);
        is_time.then(|| Duration::from_secs_f64(seconds)).ok_or(Error::Option { option, rule })
    };
    Ok(Settings {
        protection: arguments.protection,
        memory: arguments.memory,
        data: arguments.data,
        threads: arguments.threads,
        own: arguments.own,
        names: arguments.names,
        nxdomain: arguments.nxdomain,
        hits: arguments.hits,
        writes: arguments.writes,
        writers: arguments.writers,
        quota: arguments.quota,
        buckets: arguments.buckets,
        time: time("--seconds", arguments.seconds)?,
        warm: time("--warm", arguments.warm)?,
        waits: arguments.waits,
        profile: arguments.profile_locks,
        seed: arguments.seed,
    })
}

fn content(arguments: &Arguments) -> Result<Content, Error> {
    if arguments.data == Data::Cache {
        return match arguments.zone {
            Some(_) => Err(Error::Option { option: "--zone", rule: "with --data root" }),
            None => Ok(Content::of_cache()),
        };
    }
    let read =
        |name: &str, text: &[u8]| Content::of_zone(name, text).map_err(|report| Error::Zone { report });
    match &arguments.zone {
        Some(path) => read(&path.display().to_string(), &fs::read(path).map_err(unreadable(path))?),
        None => read("root.zone", ROOT_ZONE),
    }
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Error {
    |cause| Error::File { path: path.to_owned(), action: "read", cause }
}
