//! The part of `zonda-bench load` that sends dynamic updates.

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use bench::{
    Error, host,
    query::name_from_text,
    update::{self, Outcome, Pace, Plan, Script, Settings, stream::WINDOW_MAX},
};
use clap::Args;

/// Options of the update stream.
#[derive(Args)]
#[command(next_help_heading = "Dynamic updates (beside queries, or alone)")]
pub struct UpdateArguments {
    /// Send the updates of this file, each once, while the queries run: input of nsupdate, as `gen updates` makes it.
    #[arg(long, value_name = "FILE", requires = "update_rate")]
    updates: Option<PathBuf>,
    /// Updates a second, or `max`: as fast as they are answered.
    #[arg(long, value_name = "PER_SECOND", value_parser = rate, requires = "updates")]
    update_rate: Option<f64>,
    /// With `--update-rate max`: so many outstanding.
    #[arg(long, value_name = "N", default_value_t = 1)]
    update_window: u64,
    /// Zone, for a file that names none.
    #[arg(long, value_name = "NAME")]
    update_zone: Option<String>,
    /// The primary, instead of the file's `server` and of --server.
    #[arg(long, value_name = "ADDR:PORT")]
    update_server: Option<SocketAddr>,
    /// Send updates over one TCP connection; without, as datagrams.
    #[arg(long)]
    update_tcp: bool,
    /// An update without a reply for so long is lost.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 5000)]
    update_timeout_ms: u64,
    /// Sign updates with this key and check the signatures of replies: a file with a `key` statement, or
    /// NAME:ALGORITHM:BASE64 (others on this machine may see that in the list of processes).
    #[arg(long, value_name = "KEY")]
    tsig: Option<String>,
    /// Measure first how many writes a second this directory, on the server's disk, makes durable, and warn if updates
    /// are accepted faster.
    #[arg(long, value_name = "DIR")]
    update_sync_folder: Option<PathBuf>,
}

/// `max`, which is no number.
const MAX: f64 = f64::INFINITY;
/// Time for measuring a directory.
const SYNC_TIME: Duration = Duration::from_secs(2);
/// For a stream that another thread ends: a day, the longest run of queries.
const SECONDS_MAX: f64 = 86_400.0;

fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        _ if text == "max" => Ok(MAX),
        Ok(rate) if (0.001..=100_000.0).contains(&rate) => Ok(rate),
        _ => Err("expected a number from 0.001 to 100000, or max".to_owned()),
    }
}

/// A stream of updates that is ready to run.
pub struct Updates {
    settings: Settings,
    script: Script,
    pace: Pace,
    commits_per_second: Option<f64>,
}

impl UpdateArguments {
    /// Reads file and key; `None` where no updates are to be sent. `server`: the one that queries go to.
    pub fn prepare(&self, server: Option<SocketAddr>) -> Result<Option<Updates>, Error> {
        let (Some(path), Some(rate)) = (&self.updates, self.update_rate) else { return Ok(None) };
        let rules = [
            ("--update-window", (1..=WINDOW_MAX).contains(&self.update_window), "must be from 1 to 32768"),
            (
                "--update-timeout-ms",
                (1..=600_000).contains(&self.update_timeout_ms),
                "must be from 1 to 600000",
            ),
        ];
        if let Some((option, _, rule)) = rules.into_iter().find(|&(_, kept, _)| !kept) {
            return Err(Error::Option { option, rule });
        }
        let zone = match &self.update_zone {
            Some(text) => Some(
                name_from_text(text)
                    .ok_or(Error::Option { option: "--update-zone", rule: "must be a domain name" })?,
            ),
            None => None,
        };
        let script = Script::read(path, zone.as_deref())?;
        let server = self.update_server.or(script.server).or(server).ok_or(Error::Option {
            option: "--update-server",
            rule: "is needed: neither the file nor --server says where to send updates",
        })?;
        let settings = Settings {
            server,
            tcp: self.update_tcp,
            key: self.tsig.as_ref().map(|value| update::key_of_option("--tsig", value)).transpose()?,
            timeout: Duration::from_millis(self.update_timeout_ms),
        };
        let pace = match rate {
            MAX => Pace::Closed { window: self.update_window },
            rate => Pace::Open { rate },
        };
        let commits_per_second = match &self.update_sync_folder {
            Some(path) => Some(host::directory::measure(path, SYNC_TIME)?.rate),
            None => None,
        };
        Ok(Some(Updates { settings, script, pace, commits_per_second }))
    }
}

impl Updates {
    /// Sends updates and nothing else.
    pub fn run_alone(&self, seconds: f64, updates_max: u64) -> Result<Outcome, Error> {
        self.run(Plan { pace: self.pace, seconds, updates_max }, &AtomicBool::new(false))
    }

    /// Sends updates on a thread of its own for as long as `work` takes.
    pub fn run_beside<T>(&self, work: impl FnOnce() -> Result<T, Error>) -> Result<(T, Outcome), Error> {
        let stop = AtomicBool::new(false);
        let plan = Plan { pace: self.pace, seconds: SECONDS_MAX, updates_max: u64::MAX };
        std::thread::scope(|scope| {
            let running = scope.spawn(|| self.run(plan, &stop));
            let done = work();
            stop.store(true, Ordering::Relaxed);
            let outcome = running.join().expect("a stream of updates does not panic")?;
            Ok((done?, outcome))
        })
    }

    fn run(&self, plan: Plan, stop: &AtomicBool) -> Result<Outcome, Error> {
        let outcome = update::run(&self.settings, &self.script, plan, stop)?;
        Ok(Outcome { commits_per_second: self.commits_per_second, ..outcome })
    }
}
