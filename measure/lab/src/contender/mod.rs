//! The servers: how each is set up for speed and equal work.
//!
//! The engine takes part under any of its protections. One file each says how the settings are written, what the command line is, which program tells its version and which
//! package brings it. All get as many workers, minimal responses, no limit of the response rate, no log of queries, and
//! answers of up to 1232 octets over UDP, the default of all.

mod built;
mod echo;
mod engine;
mod knot;
mod kresd;
mod named;
mod nsd;
mod pdns;
mod recursor;
mod resolving;
mod role;
mod unbound;
mod zonda;

use std::{
    fs,
    net::{SocketAddr, TcpStream, UdpSocket},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use ::engine::ProtectionKind;
pub use built::Built;
pub use echo::EchoOptions;
pub use resolving::{Resolving, is_setting};
pub use role::{
    ANCHOR, ANSWERS_A_SECOND, ANSWERS_IN_ALL, Anchor, Bounds, CACHE_OCTETS, HINTS, KEY_ALGORITHM, KEY_NAME,
    KEY_SECRET, Role, Root, SLIP, WAITING,
};
pub use unbound::CONTROL as UNBOUND_CONTROL;

use crate::{
    Error,
    bed::Bed,
    data::Zones,
    error,
    error::ServerProblem,
    peers,
    place::Place,
    process::{self, Process},
    recipe::Name,
    record,
};

/// More zones than this are not shown in the record.
const ZONES_SHOWN_MAX: usize = 5;

/// A server that answers with errors and for so long does next to nothing has no zones, and will have none.
const IDLE: Duration = Duration::from_secs(10);
/// Next to nothing, as share of a core's time: answering what asks whether it is there costs more than zero.
const IDLE_SHARE: f64 = 0.1;

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
    /// For Zonda: have the zones from packs instead of text.
    pub packs: Option<Packs<'a>>,
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
pub enum Packs<'a> {
    /// A pack of all zones, made before.
    File(&'a Path),
    /// A folder into which it puts what it loads from text, and from which it starts again.
    Folder(&'a Path),
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
}

impl Setup {
    /// A command line of words.
    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }
}

impl Name {
    /// All contenders.
    pub const ALL: [Name; 20] = [
        Name::Zonda,
        Name::Before,
        Name::Limited,
        Name::Named,
        Name::Nsd,
        Name::Knot,
        Name::Pdns,
        Name::Unbound,
        Name::Kresd,
        Name::Recursor,
        Name::Engine(ProtectionKind::Bind9),
        Name::Engine(ProtectionKind::Mutex),
        Name::Engine(ProtectionKind::SystemOrdinary),
        Name::Engine(ProtectionKind::SystemAtomic),
        Name::Engine(ProtectionKind::Paper),
        Name::Engine(ProtectionKind::PaperPortable),
        Name::Engine(ProtectionKind::PaperPublished),
        Name::Engine(ProtectionKind::Snapshot),
        Name::Engine(ProtectionKind::SnapshotParts),
        Name::Echo,
    ];
    /// Their names.
    pub const TEXTS: [&str; 20] = {
        let mut texts = [""; 20];
        let mut at = 0;
        while at < texts.len() {
            texts[at] = Name::ALL[at].text();
            at += 1;
        }
        texts
    };

    /// As written in recipes.
    pub const fn text(self) -> &'static str {
        match self {
            Name::Zonda => "zonda",
            Name::Before => "before",
            Name::Limited => "limited",
            Name::Named => "named",
            Name::Nsd => "nsd",
            Name::Knot => "knot",
            Name::Pdns => "pdns",
            Name::Unbound => "unbound",
            Name::Kresd => "kresd",
            Name::Recursor => "pdns_recursor",
            Name::Engine(protection) => match protection {
                // One thread and no locks: no server.
                ProtectionKind::Unshared => "engine-unshared",
                ProtectionKind::Bind9 => "engine-bind9",
                ProtectionKind::Mutex => "engine-mutex",
                ProtectionKind::SystemOrdinary => "engine-system-ordinary",
                ProtectionKind::SystemAtomic => "engine-system-atomic",
                ProtectionKind::Paper => "engine-paper",
                ProtectionKind::PaperPortable => "engine-paper-portable",
                ProtectionKind::PaperPublished => "engine-paper-published",
                ProtectionKind::Snapshot => "engine-snapshot",
                ProtectionKind::SnapshotParts => "engine-snapshot-parts",
            },
            Name::Echo => "echo",
        }
    }

    /// The contender of that name.
    pub fn from_text(text: &str) -> Option<Name> {
        Name::ALL.into_iter().find(|name| name.text() == text)
    }

    /// The program of those that are builds of this project's server.
    pub fn of_zonda(self, programs: &Programs) -> Option<&Path> {
        match self {
            Name::Zonda | Name::Limited => Some(&programs.zonda),
            Name::Before => Some(&programs.before),
            _ => None,
        }
    }

    /// The program, where it is not of this project.
    pub fn program(self) -> Option<&'static str> {
        match self {
            Name::Zonda | Name::Before | Name::Limited | Name::Engine(_) | Name::Echo => None,
            Name::Named => Some("named"),
            Name::Nsd => Some("nsd"),
            Name::Knot => Some("knotd"),
            Name::Pdns => Some("pdns_server"),
            Name::Unbound => Some("unbound"),
            Name::Kresd => Some("kresd"),
            Name::Recursor => Some("pdns_recursor"),
        }
    }

    /// Debian's packages that bring it.
    pub fn package(self) -> &'static str {
        match self {
            Name::Zonda | Name::Before | Name::Limited | Name::Engine(_) | Name::Echo => "",
            Name::Named => "bind9",
            Name::Nsd => "nsd",
            Name::Knot => "knot",
            Name::Pdns => "pdns-server and pdns-backend-bind",
            Name::Unbound => "unbound",
            Name::Kresd => "knot-resolver",
            Name::Recursor => "pdns-recursor",
        }
    }

    /// Why its answers differ from everybody's, where that is known.
    pub fn answers_otherwise(self) -> Option<&'static str> {
        (self == Name::Pdns).then_some(pdns::OTHERWISE)
    }

    fn setup(self, job: &Job<'_>) -> Setup {
        match self {
            Name::Zonda => zonda::setup(&job.programs.zonda, job),
            Name::Before => zonda::setup(&job.programs.before, job),
            Name::Limited => zonda::limited(job),
            Name::Named => named::setup(job),
            Name::Nsd => nsd::setup(job),
            Name::Knot => knot::setup(job),
            Name::Pdns => pdns::setup(job),
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
        Ok(Server { name: self, address: job.address, folder, process, began, is_watched, setup })
    }
}

impl Name {
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

/// A running server.
pub struct Server {
    /// Who.
    pub name: Name,
    /// Where it answers.
    pub address: SocketAddr,
    /// Where its settings are, and all that it writes.
    pub folder: PathBuf,
    /// Its processes.
    pub process: Process,
    /// Just before it was started.
    pub began: Instant,
    /// Another program runs it and watches, so that it may take its time to load.
    is_watched: bool,
    setup: Setup,
}

impl Server {
    /// What the record shows of it. Folders and port are those of one run and left away, so that two records of the
    /// same settings show the same.
    pub fn describe(&self, built: Built, zones: &Zones) -> record::Contender {
        let shown = match zones.list.len() {
            0..=ZONES_SHOWN_MAX => self.setup.zones.clone(),
            count => format!("… {count} zones\n"),
        };
        let port = self.address.port().to_string();
        let settings = (self.setup.head.clone() + &shown).replace(&port, "PORT");
        let mut settings =
            settings.replace(&format!("{}/", self.folder.display()).replace(&port, "PORT"), "");
        settings = settings.replace(&self.folder.display().to_string().replace(&port, "PORT"), ".");
        if let Some(folder) = peers::chosen() {
            settings = settings.replace(&folder.path().display().to_string(), "PEERS");
        }
        for folder in zones.list.iter().take(ZONES_SHOWN_MAX).filter_map(|(_, path)| path.parent()) {
            settings = settings.replace(&format!("{}/", folder.display()), "");
        }
        let command = self.setup.command.iter().map(|word| {
            let word = word.replace(&format!(":{port}"), ":PORT");
            // Of paths, options with a path among them, the last part.
            match (word.split_once('='), word.rsplit_once('/')) {
                (Some((option, _)), Some((_, last))) => format!("{option}={last}"),
                (None, Some((_, last))) => last.to_owned(),
                _ => word,
            }
        });
        let Built { version, options } = built;
        let (name, command) = (self.name.text().to_owned(), command.collect());
        record::Contender { name, version, options, command, settings }
    }

    /// Waits until it answers `question` without an error (the echo server: at all), asking every `every`, or until
    /// `stop`. Returns when it did.
    pub fn wait(
        &mut self,
        bed: &Bed,
        question: &bench::query::Query,
        seconds: f64,
        every: Duration,
        stop: &AtomicBool,
    ) -> Result<Instant, Error> {
        if self.setup.command.iter().any(|word| word == "--tcp") {
            return self.wait_for_connection(bed, seconds, every, stop);
        }
        let socket = socket(bed, self.address)?;
        let mut packet = Vec::new();
        question.write(&mut packet);
        let until = self.began + Duration::from_secs_f64(seconds);
        let mut idle = Idle { since: self.began, cpu: 0.0 };
        loop {
            let asked = Instant::now();
            if socket.send(&packet).is_ok() {
                match answered(&socket, asked + every, self.name == Name::Echo) {
                    Heard::Answer => return Ok(Instant::now()),
                    Heard::Refusal(code) if !self.is_watched && idle.is_long(&self.process) => {
                        return Err(self.fault(ServerProblem::Refuses(code)));
                    }
                    _ => {}
                }
            }
            if let Some(status) = self.process.ended() {
                return Err(self.fault(ServerProblem::Ended(status.code())));
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            if Instant::now() > until {
                return Err(self.fault(ServerProblem::Silent(seconds)));
            }
            thread::sleep(every.saturating_sub(asked.elapsed()));
        }
    }

    /// The same of one that answers over TCP alone: until it takes a connection.
    fn wait_for_connection(
        &mut self,
        bed: &Bed,
        seconds: f64,
        every: Duration,
        stop: &AtomicBool,
    ) -> Result<Instant, Error> {
        let (address, until) = (self.address, self.began + Duration::from_secs_f64(seconds));
        loop {
            if bed.load().enter(|| Ok(TcpStream::connect(address).is_ok()))? {
                return Ok(Instant::now());
            }
            if let Some(status) = self.process.ended() {
                return Err(self.fault(ServerProblem::Ended(status.code())));
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            if Instant::now() > until {
                return Err(self.fault(ServerProblem::Silent(seconds)));
            }
            thread::sleep(every);
        }
    }

    /// Kills it, as a loss of power of the machine's users would, and starts it again with all that it has written.
    pub fn restart(&mut self, place: &Place) -> Result<(), Error> {
        self.process.kill();
        self.began = Instant::now();
        self.process = Process::start(&self.setup.command, place, &self.folder)?;
        Ok(())
    }

    /// Ends it in order.
    pub fn end(&mut self) {
        self.process.stop();
    }

    /// Starts it again after its end, with all that it has written.
    pub fn begin_again(&mut self, place: &Place) -> Result<(), Error> {
        self.began = Instant::now();
        self.process = Process::start(&self.setup.command, place, &self.folder)?;
        Ok(())
    }

    /// What went wrong with it, with its last lines.
    pub fn fault(&self, problem: ServerProblem) -> Error {
        Error::Server { contender: self.name.text().to_owned(), problem, said: self.process.said() }
    }
}

/// A UDP socket at the generator's end.
pub fn socket(bed: &Bed, server: SocketAddr) -> Result<UdpSocket, Error> {
    bed.load().enter(|| {
        let any = if server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = UdpSocket::bind(any)?;
        socket.connect(server)?;
        Ok(socket)
    })
}

/// For how long a server did next to nothing, by its processor time.
struct Idle {
    since: Instant,
    cpu: f64,
}

impl Idle {
    /// Whether that is so long that it will not do anything any more. Only asked of a server that answers, which one that
    /// waits for a disk does not.
    fn is_long(&mut self, process: &Process) -> bool {
        if self.since.elapsed() < IDLE {
            return false;
        }
        let cpu = process.cpu();
        let used = cpu.user + cpu.system - self.cpu;
        let is_long = used < self.since.elapsed().as_secs_f64() * IDLE_SHARE;
        *self = Idle { since: Instant::now(), cpu: self.cpu + used };
        is_long
    }
}

/// What came back from a server.
enum Heard {
    /// The answer.
    Answer,
    /// A response with this code, or none of the records asked for.
    Refusal(u8),
    Nothing,
}

/// Waits until then for a response that has records and no error (`any`: any response). It may be to an earlier query:
/// servers whose socket is there before their zones answer what waited in it.
fn answered(socket: &UdpSocket, until: Instant, any: bool) -> Heard {
    let mut buffer = [0; 4096];
    let mut heard = Heard::Nothing;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || socket.set_read_timeout(Some(left)).is_err() {
            return heard;
        }
        let Ok(octets) = socket.recv(&mut buffer) else { return heard };
        let Some(header) = buffer[..octets].first_chunk::<12>() else { continue };
        if header[2] & 0x80 == 0 {
            continue;
        }
        let (code, has_records) = (header[3] & 0x0f, header[7] > 0 || header[9] > 0);
        if any || (code == 0 && has_records) {
            return Heard::Answer;
        }
        heard = Heard::Refusal(code);
    }
}
