//! A server of PostgreSQL in a folder of the experiment, as Debian sets one up but for where it listens and when it has
//! checkpoints: those do not fall into runs. Each run gets a copy of a database that was filled before.

use std::{
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    thread,
    time::{Duration, Instant},
};

use super::rights;
use crate::{
    Error, error,
    error::ServerProblem,
    place::Place,
    process::{self, Process},
};

/// Its folder, beside those of the servers that use it.
pub const FOLDER: &str = "postgresql";
/// Its superuser, who needs no password over its socket.
const USER: &str = "owner";
/// The database of a run.
const DATABASE: &str = "run";
/// What a database without anything is a copy of.
const EMPTY: &str = "template0";
/// Where Debian has its programs, in a folder for each version.
const VERSIONS: &str = "/usr/lib/postgresql";
/// How long it may take to start.
const START_MAX: Duration = Duration::from_secs(30);
/// How often it is asked meanwhile.
const ASK_EVERY: Duration = Duration::from_millis(100);
/// Settings beside those that it has by itself: room for as many connections as there are clients and more, and no checkpoint by the clock or the
/// length of its log, of which a run writes some 10 MiB.
const SETTINGS: [&str; 5] = [
    "listen_addresses=",
    "max_connections=200",
    "checkpoint_timeout=1d",
    "max_wal_size=8GB",
    "log_min_messages=fatal",
];

/// A server that runs.
pub struct Postgresql {
    folder: PathBuf,
    /// Its processes.
    pub process: Process,
}

impl Postgresql {
    /// What is missing for it; `None` where nothing is.
    pub fn missing() -> Option<String> {
        let programs = ["initdb", "postgres", "psql", "pgbench"];
        let missing = programs.into_iter().find(|name| program(name).is_none())?;
        Some(format!("{missing} is missing: on Debian install postgresql"))
    }

    /// Makes one in the folder and starts it; returns when it answers.
    pub fn start(folder: &Path, place: &Place, stop: &AtomicBool) -> Result<Postgresql, Error> {
        rights::hand_over(folder)?;
        let data = folder.join("data").display().to_string();
        let path = |name: &str| program(name).unwrap_or_else(|| name.into());
        let words = [
            "--auth=trust",
            "--no-sync",
            "--encoding=UTF8",
            "--locale=C",
            "--username",
            USER,
            "--pgdata",
            &data,
        ];
        process::run(&rights::as_nobody(&path("initdb"), &words), place, folder, stop)?;
        let socket = folder.display().to_string();
        let mut words = vec!["-D", &data, "-k", &socket];
        words.extend(SETTINGS.iter().flat_map(|setting| ["-c", *setting]));
        let process = Process::start(&rights::as_nobody(&path("postgres"), &words), place, folder)?;
        let mut server = Postgresql { folder: folder.to_owned(), process };
        let until = Instant::now() + START_MAX;
        loop {
            match server.run("postgres", &["--command", "SELECT 1"], stop) {
                Ok(()) => return Ok(server),
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                Err(_) => {}
            }
            let problem = match server.process.ended() {
                Some(status) => ServerProblem::Ended(status.code()),
                None if Instant::now() > until => ServerProblem::Silent(START_MAX.as_secs_f64()),
                None => {
                    thread::sleep(ASK_EVERY);
                    continue;
                }
            };
            let said = server.process.said();
            return Err(Error::Server { contender: FOLDER.to_owned(), problem, said });
        }
    }

    /// What it says of its version.
    pub fn version() -> Option<String> {
        process::first_line(&[&program("postgres")?.to_string_lossy(), "--version"])
    }

    /// Makes a database of that name with what a file of statements makes.
    pub fn fill(&self, name: &str, statements: &Path, stop: &AtomicBool) -> Result<(), Error> {
        self.run("postgres", &["--command", &format!("CREATE DATABASE {name}")], stop)?;
        self.run(name, &["--file", &statements.to_string_lossy()], stop)
    }

    /// Makes the database of a run anew, as the one of that name is. The checkpoint is before: what a run writes first of a page it does not
    /// have to write as a whole.
    pub fn copy(&self, name: &str, stop: &AtomicBool) -> Result<(), Error> {
        let (drop, create) = (
            format!("DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)"),
            format!("CREATE DATABASE {DATABASE} TEMPLATE {name}"),
        );
        let words = ["--command", "CHECKPOINT", "--command", &drop, "--command", &create];
        self.run("postgres", &words, stop)
    }

    /// The same without anything in it.
    pub fn empty(&self, stop: &AtomicBool) -> Result<(), Error> {
        self.copy(EMPTY, stop)
    }

    fn run(&self, database: &str, words: &[&str], stop: &AtomicBool) -> Result<(), Error> {
        // What it says itself is in its own.
        let folder = self.folder.join("commands");
        fs::create_dir_all(&folder).map_err(error::file(&folder, "create"))?;
        let head = ["--no-psqlrc", "--quiet", "-v", "ON_ERROR_STOP=1", "--dbname", database];
        let mut command = self.words("psql");
        command.extend(head.iter().chain(words).map(|&word| word.to_owned()));
        process::run(&command, &Place::default(), &folder, stop).map(drop)
    }

    /// The command line that runs a script over and over, with so many connections, for so many seconds, in the database of a run.
    pub fn bench(&self, script: &Path, connections: u64, seconds: u64, zones: usize) -> Vec<String> {
        let [connections, seconds] = [connections, seconds].map(|number| number.to_string());
        let (script, zones) = (script.display().to_string(), format!("zones={zones}"));
        let words = [
            "-n",
            "-M",
            "prepared",
            "-f",
            &script,
            "-c",
            &connections,
            "-j",
            "1",
            "-T",
            &seconds,
            "-D",
            &zones,
            DATABASE,
        ];
        [self.words("pgbench"), words.map(str::to_owned).to_vec()].concat()
    }

    /// A program that asks it.
    fn words(&self, name: &str) -> Vec<String> {
        let path = program(name).unwrap_or_else(|| name.into());
        let (path, folder) = (path.to_string_lossy(), self.folder.to_string_lossy());
        [&*path, "--username", USER, "--host", &*folder].map(str::to_owned).to_vec()
    }

    /// Where it is, for a Zonda whose folder lies beside its own.
    pub fn url(folder: &Path) -> String {
        let host = folder.with_file_name(FOLDER);
        let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || b"-._".contains(&octet);
        let host: String = host
            .as_os_str()
            .as_bytes()
            .iter()
            .map(
                |&octet| {
                    if is_plain(octet) { char::from(octet).to_string() } else { format!("%{octet:02X}") }
                },
            )
            .collect();
        format!("postgres://{USER}@{host}/{DATABASE}")
    }

    /// The same for a PowerDNS.
    pub fn powerdns_settings(folder: &Path) -> String {
        let host = folder.with_file_name(FOLDER);
        format!("gpgsql-host={}\ngpgsql-dbname={DATABASE}\ngpgsql-user={USER}\n", host.display())
    }
}

/// A program of the newest version, or on the path.
fn program(name: &str) -> Option<PathBuf> {
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let mut versions: Vec<PathBuf> =
        fs::read_dir(VERSIONS).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    versions.sort_by_key(number);
    let newest =
        versions.iter().rev().map(|version| version.join("bin").join(name)).find(|path| path.is_file());
    newest.or_else(|| process::find(name))
}
