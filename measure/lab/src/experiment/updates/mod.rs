//! Dynamic updates (RFC 2136): how fast they are taken, whether they are kept before they are answered, and what queries
//! suffer from them.
//!
//! * [`rate`]: as fast as they are accepted, so many in flight, beside the limit program and the disk.
//! * [`honesty`]: how often a server waited for the disk, by its system calls, in a run that is not timed ([`kept`]).
//! * [`commits`]: the same over an HTTP API, beside databases and their statements alone.
//! * [`beside`]: queries beside so many updates a second.
//! * [`endless`]: what is kept of updates without end, and from which serials changes are given.
//! * [`delta`]: one update in a large zone ([`single`]), and a million.
//! * [`script`]: parts of a file of updates, as each holds once.

pub mod beside;
pub mod commits;
pub mod delta;
pub mod endless;
pub mod honesty;
pub mod kept;
pub mod rate;
pub mod script;
pub mod single;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use bench::durable::{self, Disk};
use serde_json::{Value, json};

use super::{Lab, Subject};
use crate::{
    Error,
    contender::{self, Role, Server},
    data::{Set, Zones},
    error::ServerProblem,
    process::Process,
    recipe::{Case, Name},
};

/// The limit program's name in results.
pub const LIMIT: &str = "limit";
/// The disk's.
pub const DISK: &str = "disk";
/// How long it is measured in each round, at most.
const DISK_SECONDS: f64 = 2.0;
/// How often it is asked whether it is there.
const ASK_EVERY: Duration = Duration::from_millis(20);
/// Any request: a header alone.
const REQUEST: [u8; 12] = [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// A case, and changes of its zones.
pub struct Place {
    /// The case's name.
    pub name: String,
    /// Zones.
    pub set: Set,
    /// A file of updates of them ([`script`]).
    pub updates: PathBuf,
}

/// Who takes updates: a server, or the limit program, which keeps each and does nothing else.
pub enum Taker {
    /// A server.
    Server(Server),
    /// The limit program: where it answers, and its process.
    Limit(SocketAddr, Process),
}

impl Taker {
    /// Where it answers.
    pub fn address(&self) -> SocketAddr {
        match self {
            Taker::Server(server) => server.address,
            Taker::Limit(address, _) => *address,
        }
    }

    /// Its processes.
    pub fn process(&mut self) -> &mut Process {
        match self {
            Taker::Server(server) => &mut server.process,
            Taker::Limit(_, process) => process,
        }
    }

    /// Its name in results.
    pub fn label(&self) -> &'static str {
        match self {
            Taker::Server(server) => server.name.text(),
            Taker::Limit(..) => LIMIT,
        }
    }

    /// That it could not be measured, with what the generator said.
    fn fault_saying(&self, said: String) -> Error {
        Error::Server { contender: self.label().to_owned(), problem: ServerProblem::Load, said }
    }

    /// What went wrong with it, with its last lines.
    pub fn fault(&self, problem: ServerProblem) -> Error {
        match self {
            Taker::Server(server) => server.fault(problem),
            Taker::Limit(_, process) => {
                Error::Server { contender: self.label().to_owned(), problem, said: process.said() }
            }
        }
    }
}

impl Lab {
    /// Contenders that can have that role; of the others is said why not, and ` for WHAT` they are left out.
    pub fn able(&mut self, role: Role, what: &str) -> Vec<Name> {
        let (mut able, names) = (Vec::new(), self.names.clone());
        for name in names {
            match name.cannot(role) {
                None => able.push(name),
                Some(reason) => self.note(format!("{} is left out{what}: {reason}", name.text())),
            }
        }
        able
    }

    /// All cases, with as many updates as the recipe's effort has.
    pub fn updated_places(&mut self) -> Result<Vec<Place>, Error> {
        let cases = self.recipe.cases.clone();
        let place = |case: Case| {
            let set = self.set(&case)?;
            let updates = self.updates(&set.zones, self.effort.updates)?;
            Ok(Place { name: case.name, set, updates })
        };
        cases.into_iter().map(place).collect()
    }

    /// What the disk alone can do, for a run's time.
    pub fn disk(&mut self) -> Result<Disk, Error> {
        let path = self.folder(DISK)?.join("written");
        let time = Duration::from_secs_f64(self.effort.run_seconds.min(DISK_SECONDS));
        let disk = self.bed.server().enter(|| Ok(durable::measure(&path, time, durable::Way::Direct)))??;
        self.record.raw.push(json!({ "disk": disk.json() }));
        Ok(disk)
    }

    /// A contender in a role.
    pub fn subject_as(&self, name: Name, workers: usize, role: Role) -> Subject {
        let subject = self.subjects(&[name], workers).pop();
        Subject { role, ..subject.expect("one for each name") }
    }

    /// Starts a server, or without one the limit program, and waits until it answers.
    pub fn start_taker(&mut self, subject: Option<&Subject>, zones: &Zones) -> Result<Taker, Error> {
        match subject {
            Some(subject) => self.start(subject, zones).map(Taker::Server),
            None => self.start_limit(),
        }
    }

    fn start_limit(&mut self) -> Result<Taker, Error> {
        let address = self.bed.address()?;
        let folder = self.folder(&format!("{LIMIT}-{}", address.port()))?;
        let program = self.programs.bench.display().to_string();
        let (listen, file) = (address.to_string(), folder.join("kept").display().to_string());
        let words = [&program, "durable", "--listen", &listen, "--file", &file];
        let place = self.bed.server().on(&self.server_cores[..1]);
        let process = Process::start(&words.map(str::to_owned), &place, &folder)?;
        let mut limit = Taker::Limit(address, process);
        let socket = contender::socket(&self.bed, address)?;
        let until = Instant::now() + Duration::from_secs_f64(self.effort.load_seconds);
        let mut room = [0; 64];
        let _ = socket.set_read_timeout(Some(ASK_EVERY));
        loop {
            self.go_on()?;
            if let Some(status) = limit.process().ended() {
                return Err(limit.fault(ServerProblem::Ended(status.code())));
            }
            if Instant::now() > until {
                return Err(limit.fault(ServerProblem::Silent(self.effort.load_seconds)));
            }
            // While nobody listens this fails at once.
            match socket.send(&REQUEST).and_then(|_| socket.recv(&mut room)) {
                Ok(_) => return Ok(limit),
                Err(_) => thread::sleep(ASK_EVERY),
            }
        }
    }

    /// Sends updates and nothing else; returns what came of them.
    pub fn update(&self, taker: &mut Taker, updates: &Path, words: &[String]) -> Result<Value, Error> {
        let (program, server) = (self.programs.bench.display().to_string(), taker.address().to_string());
        let updates = updates.display().to_string();
        let head = [&program, "load", "--json", "--update-server", &server, "--updates", &updates];
        let command = [&head.map(str::to_owned)[..], words].concat();
        let (result, said) = self.generate(taker, &command)?;
        let updates = result.map_or(Value::Null, |mut result| result["updates"].take());
        if updates["accepted"].as_u64().unwrap_or(0) > 0 {
            return Ok(updates);
        }
        let said = match updates.is_object() {
            true => format!(
                "no update was accepted: refused {}, unproven {}, lost {}",
                updates["refused"], updates["unverified"], updates["lost"]
            ),
            false => said,
        };
        Err(taker.fault_saying(said))
    }

    /// Sends queries with updates beside them; that no update was accepted is a result too.
    pub fn load_with_updates(
        &self,
        taker: &mut Taker,
        queries: &Path,
        words: &[String],
    ) -> Result<Value, Error> {
        let Taker::Server(server) = taker else { return Err(Error::Nobody) };
        let command = self.load_command(server, queries, words);
        match self.generate(taker, &command)? {
            (Some(result), _) if result["outcome"].is_object() => Ok(result),
            (_, said) => Err(taker.fault_saying(said)),
        }
    }

    /// Runs the generator to its end. Where no update was accepted it ends as one that failed, and says all the same what came
    /// instead: its result where it gave one, and the last lines that it said.
    fn generate(&self, taker: &mut Taker, command: &[String]) -> Result<(Option<Value>, String), Error> {
        let mut load = Process::start(command, &self.load_place(), &self.folder("load")?)?;
        load.wait(&self.stop)?;
        match taker.process().ended() {
            Some(status) => Err(taker.fault(ServerProblem::Ended(status.code()))),
            None => Ok((serde_json::from_str(&load.result()).ok(), load.said())),
        }
    }
}

/// Options that sign updates.
pub fn key_words(is_signed: bool) -> Vec<String> {
    match is_signed {
        true => vec!["--tsig".to_owned(), Role::key_text()],
        false => Vec::new(),
    }
}

/// Updates that were refused, or answered by nobody known, and those without an answer.
pub fn failures(updates: &Value) -> u64 {
    let sum = |part: &str| -> u64 {
        updates[part].as_object().into_iter().flatten().filter_map(|(_, count)| count.as_u64()).sum()
    };
    sum("refused") + sum("unverified") + updates["lost"].as_u64().unwrap_or(0)
}
