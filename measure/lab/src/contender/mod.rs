//! The servers: how each is set up for speed and equal work.
//!
//! The engine takes part under any of its protections. One file each says how the settings are written, what the command line is, which program tells its version and which
//! package brings it. All get as many workers, minimal responses, no limit of the response rate, no log of queries, and
//! answers of up to 1232 octets over UDP, the default of all.
//!
//! * `name`: who there is, by which programs. * `server`: one that runs. * `role`, `resolving`, `echo`: what they can be told.

mod built;
mod database;
mod echo;
mod engine;
mod knot;
mod kresd;
mod name;
mod named;
mod nsd;
mod pdns;
mod postgresql;
mod recursor;
mod resolving;
mod rights;
mod role;
mod server;
mod stored;
mod unbound;
mod zonda;

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::Instant,
};

pub use built::Built;
pub use database::{Database, sqlite};
pub use echo::EchoOptions;
pub use postgresql::{FOLDER as POSTGRESQL_FOLDER, Postgresql};
pub use resolving::{Resolving, is_setting};
pub use rights::closed;
pub use role::{
    ANCHOR, ANSWERS_A_SECOND, ANSWERS_IN_ALL, API_ADDRESS, API_KEY, Anchor, Bounds, CACHE_OCTETS, COPIES,
    HINTS, KEY_ALGORITHM, KEY_NAME, KEY_SECRET, Role, Root, SLIP, WAITING,
};
pub use server::{Server, socket};
pub use unbound::CONTROL as UNBOUND_CONTROL;
pub use zonda::in_files as zonda_files;

use crate::{
    Error,
    data::Zones,
    error,
    error::ServerProblem,
    place::Place,
    process::{self, Process},
    recipe::Name,
};

/// The programs of this project.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The server.
    pub zonda: PathBuf,
    /// Another build of it; empty where none takes part.
    pub before: PathBuf,
    /// The measuring tool: this program.
    pub bench: PathBuf,
}

/// What a server shall do.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// What it serves.
    pub zones: &'a Zones,
    /// Folder of its settings and all that it writes.
    pub folder: &'a Path,
    /// Where it answers.
    pub address: SocketAddr,
    /// Threads or processes that answer.
    pub workers: usize,
    /// What its UDP sockets ask for, where they can be told to.
    pub receive_octets: usize,
    /// The programs of this project.
    pub programs: &'a Programs,
    /// For Zonda: have the zones from there instead of text.
    pub source: Option<Source<'a>>,
    /// For the echo server.
    pub echo: &'a EchoOptions,
    /// What it does with its zones.
    pub role: Role,
    /// What it may keep beside them.
    pub bounds: Bounds,
    /// The beginning of its command line: a program that runs it and watches. Empty: it runs by itself.
    pub under: &'a [String],
}

/// What Zonda has its zones from instead of text.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// A pack of all zones, made before.
    Pack(&'a Path),
    /// A folder into which it puts what it loads from text, and from which it starts again.
    Packs(&'a Path),
    /// A store in a file of SQLite; and the folder from which it starts again. Without one nothing is kept from start to start.
    Store(&'a Path, Option<&'a Path>),
}

/// Settings and command line of a server.
#[derive(Default)]
pub struct Setup {
    /// Name of the settings file; empty where there is none.
    pub file: &'static str,
    /// Settings before the zones.
    pub head: String,
    /// The zones.
    pub zones: String,
    /// Further files, by name.
    pub files: Vec<(&'static str, String)>,
    /// Command lines that run to their end before it starts.
    pub before: Vec<Vec<String>>,
    /// The command line that runs it in the foreground.
    pub command: Vec<String>,
    /// The command line that has it read a zone again, but for the zone's name at its end; only of those that have that role.
    pub reload: Vec<String>,
}

impl Setup {
    /// A command line of words.
    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }
}

impl Name {
    fn setup(self, job: &Job<'_>) -> Setup {
        match self {
            Name::Zonda => zonda::setup(&job.programs.zonda, job),
            Name::Before => zonda::setup(&job.programs.before, job),
            Name::Limited => zonda::limited(job),
            Name::ZondaSqlite => stored::setup(Database::Sqlite, job),
            Name::ZondaPostgresql => stored::setup(Database::Postgresql, job),
            Name::Named => named::setup(job),
            Name::Nsd => nsd::setup(job),
            Name::Knot => knot::setup(job),
            Name::Pdns => pdns::setup(job),
            Name::PdnsSqlite => database::setup(Database::Sqlite, job),
            Name::PdnsPostgresql => database::setup(Database::Postgresql, job),
            Name::Unbound => unbound::setup(job),
            Name::Kresd => kresd::setup(job),
            Name::Recursor => recursor::setup(job),
            Name::Engine(protection) => engine::setup(protection, job),
            Name::Echo => echo::setup(job),
        }
    }

    /// Writes the settings and starts the server.
    pub fn start(self, job: &Job<'_>, place: &Place) -> Result<Server, Error> {
        if job.folder.exists() {
            fs::remove_dir_all(job.folder).map_err(error::file(job.folder, "empty"))?;
        }
        fs::create_dir_all(job.folder).map_err(error::file(job.folder, "create"))?;
        let zones = role::zones(job)?;
        if let Some(Source::Store(_, None)) = job.source {
            let folder = job.folder.join(zonda::PACKS);
            fs::create_dir(&folder).map_err(error::file(&folder, "create"))?;
        }
        if job.role == Role::Api {
            rights::hand_over(job.folder)?;
            if self.of_zonda(job.programs).is_some() {
                rights::hand_over(&job.folder.join(zonda::PACKS))?;
                rights::hand_over(&job.folder.join(stored::FOLDER))?;
            }
        }
        let mut setup = self.setup(&Job { zones: &zones, ..*job });
        let write = |name: &str, text: &str| {
            let path = job.folder.join(name);
            fs::write(&path, text).map_err(error::file(&path, "write"))
        };
        if !setup.file.is_empty() {
            write(setup.file, &(setup.head.clone() + &setup.zones))?;
        }
        setup.files.iter().try_for_each(|(name, text)| write(name, text))?;
        job.role.hints().map_or(Ok(()), |hints| write(HINTS, &hints))?;
        job.role
            .anchor()
            .map_or(Ok(()), |anchor| write(ANCHOR, &format!(". 3600 IN DS {}\n", anchor.words())))?;
        setup.before.iter().try_for_each(|command| self.run_before(command, place, job.folder))?;
        if !job.under.is_empty() {
            // What watches it starts it as it is here, by its loader where it has its own.
            let words = process::words(&setup.command[0]);
            setup.command.splice(..1, job.under.iter().cloned().chain(words));
        }
        let began = Instant::now();
        let process = Process::start(&setup.command, place, job.folder)?;
        let (folder, is_watched) = (job.folder.into(), !job.under.is_empty());
        Ok(Server {
            name: self,
            address: job.address,
            folder,
            process,
            began,
            is_watched,
            setup: Box::new(setup),
        })
    }

    /// Runs what has to be done before it starts, a matter of a moment.
    fn run_before(self, command: &[String], place: &Place, folder: &Path) -> Result<(), Error> {
        let fault = |said| Error::Server {
            contender: self.text().to_owned(),
            problem: ServerProblem::Preparation,
            said,
        };
        if process::find(&command[0]).is_none() {
            let program = &command[0];
            let package = if program == "sqlite3" { program } else { self.package() };
            return Err(fault(format!("{program} is missing: on Debian install {package}")));
        }
        match process::run(command, place, folder, &AtomicBool::new(false)) {
            Err(Error::Program { said, .. }) => Err(fault(said)),
            result => result.map(drop),
        }
    }
}
