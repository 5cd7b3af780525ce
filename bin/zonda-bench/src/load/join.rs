//! `--join` and `--coordinate`: several hosts as one generator.

use std::{
    net::{SocketAddr, ToSocketAddrs},
    path::PathBuf,
    process::ExitCode,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use bench::{
    Error,
    join::{Agent, Coordinator, Work, coordinator},
    load::{Outcome, Settings, expect::Expected},
    query::QuerySet,
};
use clap::{Args, FromArgMatches};
use serde_json::json;

use super::{
    end_at_interrupt,
    options::{self, Arguments},
    pin,
    progress::Watcher,
    search,
    show::Shown,
    source::{self, Generate},
    write_histogram,
};

/// Options of joining.
#[derive(Args)]
#[command(next_help_heading = "Several hosts as one (--coordinate on one, --join on the others)")]
pub struct JoinArguments {
    /// Work for the coordinator at this address; it says what is to be done, so that no other option is needed.
    #[arg(long, value_name = "HOST:PORT")]
    pub join: Option<String>,
    /// Have agents do the work: wait for them on this address, hand out options and queries, add up what they bring.
    #[arg(long, value_name = "ADDR:PORT", conflicts_with = "join", requires = "agents")]
    pub coordinate: Option<SocketAddr>,
    /// So many agents.
    #[arg(long, value_name = "N", requires = "coordinate")]
    pub agents: Option<usize>,
    /// File with what coordinator and agents alone know.
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    secret: Option<PathBuf>,
    /// The same as a word; without any, the coordinator makes one up and shows it.
    #[arg(long, value_name = "WORD")]
    token: Option<String>,
    /// How long the coordinator waits for its agents.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    join_seconds: u64,
}

/// Shortest secret: what a guesser needs more than a lifetime for, over a network.
const SECRET_OCTETS_MIN: usize = 12;
/// Octets of a token that is made up, before they are written as hexadecimal digits.
const TOKEN_OCTETS: usize = 16;
/// Options with a value that are not for agents: of joining, of other parts of the work, and files.
const OWN_OPTIONS: [&str; 15] = [
    "--coordinate",
    "--agents",
    "--secret",
    "--token",
    "--join-seconds",
    "--queries",
    "--expect",
    "--histogram",
    "--updates",
    "--update-rate",
    "--update-window",
    "--update-zone",
    "--update-server",
    "--tsig",
    "--update-sync-folder",
];

impl JoinArguments {
    fn secret(&self) -> Result<Option<Vec<u8>>, Error> {
        let secret = match (&self.secret, &self.token) {
            (Some(path), _) => {
                let fault = |cause| Error::File { path: path.clone(), action: "read", cause };
                std::fs::read(path).map_err(fault)?.trim_ascii().to_vec()
            }
            (None, Some(token)) => token.as_bytes().to_vec(),
            (None, None) => return Ok(None),
        };
        match secret.len() < SECRET_OCTETS_MIN {
            true => Err(Error::Option { option: "--secret", rule: "must have at least 12 octets" }),
            false => Ok(Some(secret)),
        }
    }
}

/// `--join`: does what the coordinator says.
pub fn serve(arguments: &Arguments, coordinator: &str) -> Result<ExitCode, Error> {
    let rule = "must be a host and a port, such as 192.0.2.1:5400";
    let fault = |_| Error::Option { option: "--join", rule };
    let address = coordinator.to_socket_addrs().map_err(fault)?.next();
    let address = address.ok_or(Error::Option { option: "--join", rule })?;
    let secret = arguments.joining.secret()?;
    let rule = "or --token is needed: the one that the coordinator has or shows";
    let secret = secret.ok_or(Error::Option { option: "--secret", rule })?;
    let trials = Agent::connect(address, &secret)?.serve(work)?;
    eprintln!("{trials} trials done for {address}");
    Ok(ExitCode::SUCCESS)
}

/// Reads the options that a coordinator sent. Nothing in them makes an agent touch a file.
fn work(words: Vec<String>) -> Result<Work, Error> {
    let rule = "agent and coordinator are not of the same version: unknown options";
    let fault = |_| Error::Option { option: "--join", rule };
    let command = Arguments::augment_args(clap::Command::new("agent"));
    let words = [vec!["agent".to_owned(), "--join".to_owned(), "-".to_owned()], words].concat();
    let matches = command.try_get_matches_from(words).map_err(fault)?;
    let mut arguments = Arguments::from_arg_matches(&matches).map_err(fault)?;
    // What is expected comes with the job.
    arguments.expect = None;
    options::check(&arguments)?;
    pin(arguments.cpu)?;
    let settings = Settings { progress: arguments.progress, ..arguments.settings()? };
    let queries = match arguments.input.generate {
        Some(Generate::Random(_)) => Some(source::queries(&arguments, &settings)?),
        _ => None,
    };
    Ok(Work { settings, queries, timed: arguments.replay })
}

/// `--coordinate`: has agents do what the options ask for.
pub fn run(arguments: &Arguments, queries: &QuerySet, expected: Option<&Expected>) -> Result<Shown, Error> {
    let joining = &arguments.joining;
    let (Some(address), Some(count)) = (joining.coordinate, joining.agents) else {
        return Err(Error::Option { option: "--agents", rule: "is needed" });
    };
    let listener = coordinator::listen(address)?;
    let fault = |cause| Error::Socket { address, action: "listen for agents on", cause };
    let address = listener.local_addr().map_err(fault)?;
    let secret = match joining.secret()? {
        Some(secret) => {
            eprintln!("waiting for {count} agents on {address}");
            secret
        }
        None => {
            let token = token()?;
            eprintln!("waiting for {count} agents: zonda-bench load --join {address} --token {token}");
            token.into_bytes()
        }
    };
    let stop = Arc::new(AtomicBool::new(false));
    end_at_interrupt(Arc::clone(&stop))?;
    let wait = Duration::from_secs(joining.join_seconds);
    let tell = |line: &str| eprintln!("{line}");
    let mut agents = Coordinator::gather(&listener, &secret, count, wait, Arc::clone(&stop), tell)?;
    agents.hand_out(&words_for_agents(std::env::args().collect(), arguments), queries, expected)?;
    let shown = work_with(arguments, queries, &mut agents);
    // Whatever came of it, they are let go.
    let lost = agents.end();
    let mut shown = shown?;
    for lost in &lost {
        shown.text.push_str(&format!("warning: {lost}; the result lacks its part\n"));
    }
    shown.is_success &= lost.is_empty();
    let lost: Vec<_> = lost.iter().map(ToString::to_string).collect();
    shown.json["agents"] = json!({ "count": count, "is_partial": !lost.is_empty(), "lost": lost });
    Ok(shown)
}

/// Has agents do the work.
fn work_with(arguments: &Arguments, queries: &QuerySet, agents: &mut Coordinator) -> Result<Shown, Error> {
    if arguments.find_maximum {
        return search::find_maximum(arguments, agents);
    }
    if let Some(trials) = arguments.staircase {
        return search::walk_staircase(arguments, trials, agents);
    }
    let live = agents.live();
    let watcher = arguments.shows_progress().then(|| Watcher::start(move || live.look()));
    let outcome = agents.run(arguments.trial(queries));
    drop(watcher);
    let outcome: Outcome = outcome?;
    write_histogram(arguments.histogram.as_deref(), &outcome)?;
    Ok(Shown::from(&outcome).ended_early(agents.is_stopped()))
}

/// The options of a command line that are for agents.
fn words_for_agents(command_line: Vec<String>, arguments: &Arguments) -> Vec<String> {
    let is_random = matches!(arguments.input.generate, Some(Generate::Random(_)));
    let is_own = |word: &str| match word {
        "--generate" | "--type" => !is_random,
        _ => OWN_OPTIONS.contains(&word),
    };
    let watched = arguments.shows_progress().then(|| "--progress".to_owned());
    let mut words: Vec<String> = watched.into_iter().collect();
    let mut rest = command_line.into_iter().skip(2);
    while let Some(word) = rest.next() {
        match word.split_once('=') {
            _ if word == "--progress" => {}
            Some((option, _)) if is_own(option) => {}
            None if is_own(&word) => {
                rest.next();
            }
            _ => words.push(word),
        }
    }
    words
}

/// A secret that nobody has seen before.
fn token() -> Result<String, Error> {
    let mut octets = [0u8; TOKEN_OCTETS];
    let fault = |cause| Error::System { action: "make a token of random numbers", cause };
    sync::random::fill_from_system(&mut octets).map_err(fault)?;
    Ok(octets.iter().map(|octet| format!("{octet:02x}")).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn agents_touch_no_file_and_keep_bounds() {
        let server = "--server 127.0.0.1:5300 --rate 5";
        let told = work(words(&format!("{server} --expect /nonexistent --flows 7 --progress"))).unwrap();
        assert!(told.settings.expected.is_none() && told.settings.progress && told.queries.is_none());
        assert_eq!(told.settings.flows, 7);
        assert!(work(words(&format!("{server} --flows 0"))).is_err());
        assert!(work(words(&format!("{server} --nonsense"))).is_err());
    }
}
