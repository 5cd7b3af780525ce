//! Servers of an experiment: started, asked, loaded, and left out with a note where they fail.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use bench::query::Query;
use serde_json::Value;

use super::{Lab, duration};
use crate::{
    Error,
    agreement::{self, Ttls},
    bed::RECEIVE_OCTETS,
    contender::{Bounds, EchoOptions, Job, Role, Server, Source},
    data::{Set, Zones},
    error::ServerProblem,
    process,
    recipe::{Case, Name, Row},
    record::Agreement,
};

/// How often a server that is started is asked whether it is there.
const ASK_EVERY: Duration = Duration::from_millis(20);
/// How often a load is begun whose generator sent nothing: a trial of a tenth of a second may see no turn on a busy machine, five one after the other do.
const LOADS_MAX: usize = 5;
/// Memory that a server may take, by octet of the zones' text: PowerDNS, the largest of the contenders, took 13 with the
/// net zone.
const OCTETS_BY_TEXT: u64 = 14;
/// Memory that every server may take, and that the machine needs to go on.
const OCTETS_LEAST: u64 = 256 << 20;

/// A server that is to be started: a contender with so many workers, or a kind of echo.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Its name in results.
    pub label: String,
    /// Who.
    pub name: Name,
    /// Its workers.
    pub workers: usize,
    /// For the echo server.
    pub echo: EchoOptions,
    /// Cores it runs on.
    pub cores: Vec<usize>,
    /// What it does with its zones.
    pub role: Role,
    /// What it may keep beside them.
    pub bounds: Bounds,
    /// A command line that runs it and watches; empty: it runs by itself.
    pub under: Vec<String>,
}

/// Servers that run at the same time; dropping it ends them.
pub type Running = Vec<(Subject, Server)>;

/// Contenders that came up and were compared.
pub struct Prepared {
    /// Those that run.
    pub running: Running,
    /// File of the reply sizes of the first of them, for the echo server.
    pub sizes: PathBuf,
    /// Their mean.
    pub octets_a_reply: f64,
}

impl Lab {
    /// Contenders as subjects.
    pub fn subjects(&self, names: &[Name], workers: usize) -> Vec<Subject> {
        let cores: Vec<usize> = self.server_cores.iter().copied().take(workers.max(1)).collect();
        let subject = |&name: &Name| Subject {
            label: name.text().to_owned(),
            name,
            workers,
            echo: EchoOptions::default(),
            cores: cores.clone(),
            role: Role::Static,
            bounds: Bounds::default(),
            under: Vec::new(),
        };
        names.iter().map(subject).collect()
    }

    /// Names of all contenders, in the order in which they are shown.
    pub fn labels(&self) -> Vec<String> {
        self.names.iter().map(|name| name.text().to_owned()).collect()
    }

    /// Starts a server without waiting for it.
    pub fn launch(
        &mut self,
        subject: &Subject,
        zones: &Zones,
        source: Option<Source<'_>>,
    ) -> Result<Server, Error> {
        let address = if subject.bounds.ipv6 { self.bed.address_v6() } else { self.bed.address() }?;
        let folder = self.work.join(format!("{}-{}", subject.label.replace(' ', "-"), address.port()));
        let job = Job {
            zones,
            folder: &folder,
            address,
            workers: subject.workers,
            receive_octets: subject.bounds.resolving.receive_octets,
            programs: &self.programs,
            source,
            echo: &subject.echo,
            role: subject.role,
            bounds: subject.bounds,
            under: &subject.under,
        };
        let place = self.bed.server().on(&subject.cores);
        let server = subject.name.start(&job, &place)?;
        if !self.record.contenders.iter().any(|known| known.name == subject.name.text()) {
            let built = subject.name.built(&self.programs);
            if let Some(lacks) = subject.name.lacks(&built.options) {
                self.note(format!("{} was built without {lacks}", subject.name.text()));
            }
            self.record.contenders.push(server.describe(built, zones));
        }
        Ok(server)
    }

    /// Starts a server and waits until it answers.
    pub fn start(&mut self, subject: &Subject, zones: &Zones) -> Result<Server, Error> {
        let mut server = self.launch(subject, zones, None)?;
        server.wait(&self.bed, &zones.question(), self.effort.load_seconds, ASK_EVERY, &self.stop)?;
        Ok(server)
    }

    /// Starts those that do not run yet. Contenders that do not come up or have no room are left out with a note.
    pub fn start_all(
        &mut self,
        subjects: Vec<Subject>,
        zones: &Zones,
        running: &mut Running,
        at: &str,
    ) -> Result<(), Error> {
        for subject in subjects {
            self.go_on()?;
            if running.iter().any(|(known, _)| known.label == subject.label) {
                continue;
            }
            if let Some(problem) = no_room(&subject, zones, running) {
                self.note(format!("{} is left out{}: {problem}", subject.label, place_text(at)));
                continue;
            }
            match self.start(&subject, zones) {
                Ok(server) => {
                    self.say(&format!(
                        "{} answers after {}",
                        subject.label,
                        duration(server.began.elapsed().as_secs_f64())
                    ));
                    running.push((subject, server));
                }
                Err(error) => self.leave_out(running, at, error)?,
            }
        }
        Ok(())
    }

    /// Ends a contender that failed, with a note; any other error is passed on, that of an echo server too.
    pub fn leave_out(&mut self, running: &mut Running, at: &str, error: Error) -> Result<(), Error> {
        match &error {
            Error::Server { contender, .. } if contender != Name::Echo.text() => {
                let text = format!("{contender} is left out{}: {error}", place_text(at));
                running.retain(|(subject, _)| subject.name.text() != contender);
                self.note(text);
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// Starts all contenders, asks them a sample of the queries and compares. Leaves out, with a note, those that do
    /// not come up, and those few whose answers are others than everybody's.
    pub fn prepare(&mut self, case: &Case, set: &Set) -> Result<Prepared, Error> {
        self.say(&format!("{}: starting all and comparing their answers", case.name));
        let at = if self.recipe.cases.len() > 1 { case.name.as_str() } else { "" };
        let mut running = Running::new();
        let subjects = self.subjects(&self.names, 1);
        self.start_all(subjects, &set.zones, &mut running, at)?;
        self.check_buffers(&running);
        let sample = agreement::sample(&set.queries, self.effort.agreement)?;
        let apart = self.compare(&running, &sample, Ttls::Compared, case, at)?;
        self.leave_out_apart(&mut running, &apart, case);
        let sizes = self.folder("sizes")?.join(format!("{}.sizes", case.name.replace(' ', "-")));
        let words = ["--record-sizes".to_owned(), sizes.display().to_string()];
        while let Some((_, first)) = running.first_mut() {
            match self.load(first, &set.queries, &words) {
                Ok(result) => {
                    let octets_a_reply = result["outcome"]["octets_per_answer"].as_f64().unwrap_or(0.0);
                    return Ok(Prepared { running, sizes, octets_a_reply });
                }
                Err(error) => self.leave_out(&mut running, at, error)?,
            }
        }
        Err(Error::Nobody)
    }

    /// Leaves out those that answer otherwise than the others: their rates are those of other work. Unless they are the most: then
    /// it may be the first, which all are compared with, that answers otherwise.
    fn leave_out_apart(&mut self, running: &mut Running, apart: &[String], case: &Case) {
        if apart.len() * 2 >= running.len() {
            return;
        }
        for (subject, _) in
            running.extract_if(.., |(subject, _)| apart.iter().any(|name| name == subject.name.text()))
        {
            let known = subject.name.answers_otherwise().map_or_else(String::new, |why| format!(": {why}"));
            self.note(format!(
                "{} is left out of the rates ({}), as it does other work{known}",
                subject.label, case.name
            ));
        }
    }

    /// Asks those that run a sample, and records how they agree. Returns who differs too often.
    pub fn compare(
        &mut self,
        running: &Running,
        sample: &[Query],
        ttls: Ttls,
        case: &Case,
        at: &str,
    ) -> Result<Vec<String>, Error> {
        let servers = running.iter().map(|(_, server)| server);
        let found = agreement::compare(&self.bed, servers, sample, ttls)?;
        Ok(self.agree(found, &case.name, at))
    }

    /// Records how contenders agree in a case. Returns who differs too often.
    pub fn agree(&mut self, found: Vec<Agreement>, case: &str, at: &str) -> Vec<String> {
        let mut apart = Vec::new();
        for mut agreement in found {
            let different = agreement.asked - agreement.equal;
            if different as f64 > agreement.asked as f64 * agreement::DIFFERENT_SHARE_MAX {
                let (who, asked) = (&agreement.contender, agreement.asked);
                self.note(format!("{who} answers {different} of {asked} questions differently ({case})"));
                apart.push(agreement.contender.clone());
            }
            if !at.is_empty() {
                agreement.contender += &format!(" ({at})");
            }
            self.record.agreement.push(agreement);
        }
        apart
    }

    /// Says so where a server's socket has less room than the others': it would lose queries that they keep.
    pub fn check_buffers(&mut self, running: &Running) {
        for (subject, server) in running {
            let room = self.bed.receive_octets(server.address.port());
            if let Some(room) = room.filter(|&room| room < RECEIVE_OCTETS) {
                let who = &subject.label;
                self.note(format!("the socket of {who} holds {room} octets, fewer than {RECEIVE_OCTETS}"));
            }
        }
    }

    /// Runs the generator against a server to its end and returns its result; again where it had no turn in all of its time.
    pub fn load(&self, server: &mut Server, queries: &Path, words: &[String]) -> Result<Value, Error> {
        let mut result = self.load_once(server, queries, words)?;
        for _ in 1..LOADS_MAX {
            if result["outcome"]["sent"] != 0 {
                break;
            }
            result = self.load_once(server, queries, words)?;
        }
        Ok(result)
    }

    fn load_once(&self, server: &mut Server, queries: &Path, words: &[String]) -> Result<Value, Error> {
        let folder = self.folder("load")?;
        let command = self.load_command(server, queries, words);
        let place = self.bed.load();
        let result = process::run(&command, &place, &folder, &self.stop);
        if let Some(status) = server.process.ended() {
            return Err(server.fault(ServerProblem::Ended(status.code())));
        }
        let text = match result {
            Err(Error::Program { said, .. }) => {
                let contender = server.name.text().to_owned();
                return Err(Error::Server { contender, problem: ServerProblem::Load, said });
            }
            result => result?,
        };
        serde_json::from_str(&text)
            .map_err(|_| Error::Output { program: "zonda-bench load", wanted: "a result" })
    }

    /// The command line of the generator.
    pub fn load_command(&self, server: &Server, queries: &Path, words: &[String]) -> Vec<String> {
        let program = self.programs.bench.display().to_string();
        let address = server.address.to_string();
        let mut command =
            [program.as_str(), "load", "--server", &address, "--queries"].map(str::to_owned).to_vec();
        command.push(queries.display().to_string());
        command.extend(["--json", "--timeout-ms"].map(str::to_owned));
        command.push(self.effort.timeout_ms.to_string());
        command.extend_from_slice(words);
        command
    }

    /// Warms a server.
    pub fn warm(&self, server: &mut Server, queries: &Path) -> Result<(), Error> {
        self.warm_by(server, queries, &Row::default())
    }

    /// Warms a server in the way in which it will be asked.
    fn warm_by(&self, server: &mut Server, queries: &Path, row: &Row) -> Result<(), Error> {
        let seconds = self.effort.warm_seconds.to_string();
        let flows = self.effort.flows.to_string();
        let words = ["--closed", "1000", "--flows", &flows, "--seconds", &seconds].map(str::to_owned);
        self.load(server, queries, &[&words[..], &row.link_words()].concat()).map(drop)
    }

    /// Warms all; those that fail are left out.
    pub fn warm_all(
        &mut self,
        running: &mut Running,
        queries: &Path,
        row: &Row,
        at: &str,
    ) -> Result<(), Error> {
        let mut failed = Vec::new();
        for (_, server) in running.iter_mut() {
            self.go_on()?;
            failed.extend(self.warm_by(server, queries, row).err());
        }
        failed.into_iter().try_for_each(|error| self.leave_out(running, at, error))
    }
}

/// ` at PLACE`, where there is more than one.
fn place_text(at: &str) -> String {
    if at.is_empty() { String::new() } else { format!(" at {at}") }
}

/// Why a server is not to be started beside those that run: the machine would run out of memory. It may take as much as
/// the largest of those, or what the text of the zones lets one expect.
fn no_room(subject: &Subject, zones: &Zones, running: &Running) -> Option<String> {
    let largest = running.iter().map(|(_, server)| server.process.pss()).max().unwrap_or(0);
    let expected = match subject.name {
        Name::Echo => OCTETS_LEAST,
        _ => largest.max(zones.octets() * OCTETS_BY_TEXT) + OCTETS_LEAST,
    };
    let available = available_octets()?;
    let mib = |octets: u64| octets >> 20;
    (expected > available).then(|| {
        format!(
            "no room: {} MiB of memory are free, and beside those that run it may take {}; take a smaller --scale or fewer \
             --contenders",
            mib(available),
            mib(expected)
        )
    })
}

/// Memory that programs can have without others losing theirs.
fn available_octets() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}
