//! Changes over an HTTP API, each kept before it is answered: one record a request, so many in flight, of one zone and of many.
//!
//! In each round every way has one run, in random order, with a server that was started for it; in the same round are runs of the
//! statements of databases alone (`alone`), of the limit program, which keeps each message and does nothing else, and of the disk alone.

mod alone;
mod report;

use std::{collections::BTreeMap, fs, net::SocketAddr, path::PathBuf};

use serde_json::{Value, json};

use super::{
    DISK, LIMIT, Place, Taker, failures,
    honesty::{self, Replies, Seen},
    kept,
};
use crate::{
    Error,
    contender::{API_ADDRESS, API_KEY, Database, POSTGRESQL_FOLDER, Postgresql, Role, closed},
    error,
    error::ServerProblem,
    experiment::{
        Lab, Subject, Values, runs,
        validity::{self, Heard, gather_fields},
    },
    process::Process,
    recipe::Name,
};

/// Names of the databases alone in results.
const SQLITE: &str = "sqlite alone";
const POSTGRESQL: &str = "postgresql alone";
/// When a change counts as lost.
const TIMEOUT_MS: &str = "10000";
/// Changes in SQLite at least: fewer take less time than it can tell.
const SQLITE_LEAST: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Server(Name),
    Sqlite,
    Postgresql,
    Limit,
}

/// Name of its statements alone in results.
fn alone(database: Database) -> &'static str {
    match database {
        Database::Sqlite => SQLITE,
        Database::Postgresql => POSTGRESQL,
    }
}

impl Who {
    fn label(self) -> &'static str {
        match self {
            Who::Server(name) => name.text(),
            Who::Sqlite => SQLITE,
            Who::Postgresql => POSTGRESQL,
            Who::Limit => LIMIT,
        }
    }
}

/// A kind of run.
#[derive(Clone, Copy)]
struct Way {
    who: Who,
    case: usize,
    window: u64,
}

#[derive(Default)]
struct Found {
    rates: Values,
    medians: Values,
    slow: Values,
    cpu: Values,
    /// Changes refused or lost, of all runs.
    failed: BTreeMap<(String, String), u64>,
    disk_rates: Values,
    disk_medians: Values,
}

gather_fields!(Found: rates, medians, slow, cpu, failed, disk_rates, disk_medians);

/// What all runs need.
struct Ground {
    names: Vec<Name>,
    places: Vec<Place>,
    /// Names of the zones of each place, in a file.
    zones: Vec<PathBuf>,
    /// The API's key, in a file.
    key: PathBuf,
    has_sqlite: bool,
    postgresql: Option<Postgresql>,
    /// Writes that the disk alone did in a second, when it was measured last.
    writes: f64,
}

/// Measures all ways, then looks whether changes are kept.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    let mut ground = Ground::make(lab)?;
    let ways = ground.ways(lab);
    let labels: Vec<String> = ways
        .iter()
        .map(|way| format!("{} at {}", way.who.label(), ground.at(way.case, way.window)))
        .collect();
    let (mut found, mut last_round) = (Found::default(), 0);
    runs::alternate(lab, &labels, |lab, which, round| {
        if round != last_round {
            last_round = round;
            let label = format!("{DISK}, round {round}");
            validity::gathered(lab, &label, round, &mut found, |lab, found| ground.measure_disk(lab, found))?;
        }
        let label = format!("{}, round {round}", labels[which]);
        validity::gathered(lab, &label, round, &mut found, |lab, found| {
            ground.measure(lab, ways[which], round, found)
        })
        .map(drop)
    })?;
    ground.stand_in(lab, &mut found);
    report::report(lab, &ground, &mut found);
    ground.check(lab)
}

impl Ground {
    /// Finds out who can take part, makes zones, and starts PostgreSQL where it is there.
    fn make(lab: &mut Lab) -> Result<Ground, Error> {
        if let Some(folder) = closed(&lab.work) {
            let rule = format!(
                "servers run as nobody, who does not get through {}: chmod o+x, or another folder",
                folder.display()
            );
            return Err(Error::Option { option: "--out", rule });
        }
        let mut names = lab.able(Role::Api, "");
        let has = |lab: &mut Lab, database: Database| {
            let missing = database.missing();
            if let Some(text) = &missing {
                lab.note(format!("{} and those with this database are left out: {text}", alone(database)));
            }
            missing.is_none()
        };
        let has_sqlite = has(lab, Database::Sqlite);
        let has_postgresql = has(lab, Database::Postgresql);
        names.retain(|&name| match Database::of(name) {
            Some(Database::Sqlite) => has_sqlite,
            Some(Database::Postgresql) => has_postgresql,
            None => true,
        });
        if names.is_empty() {
            return Err(Error::Nobody);
        }
        let places = lab.updated_places()?;
        let zones = places.iter().enumerate().map(|(number, place)| alone::names(lab, place, number));
        let zones = zones.collect::<Result<_, _>>()?;
        let key = lab.folder("commits")?.join("key");
        fs::write(&key, API_KEY).map_err(error::file(&key, "write"))?;
        let postgresql = if has_postgresql { Some(start_postgresql(lab, &places)?) } else { None };
        Ok(Ground { names, places, zones, key, has_sqlite, postgresql, writes: 0.0 })
    }

    /// Each server in all places with each number in flight, PostgreSQL likewise. SQLite does one change at a time, whatever is in flight, and
    /// the limit program knows no zones.
    fn ways(&self, lab: &Lab) -> Vec<Way> {
        let windows: Vec<u64> = lab.recipe.windows().map(|(_, window)| window).collect();
        let mut ways = Vec::new();
        for case in 0..self.places.len() {
            for &window in &windows {
                let way = |who| Way { who, case, window };
                ways.extend(self.names.iter().map(|&name| way(Who::Server(name))));
                ways.extend(self.postgresql.iter().map(|_| way(Who::Postgresql)));
                if case == 0 {
                    ways.push(way(Who::Limit));
                }
            }
            let window = windows[0];
            ways.extend(self.has_sqlite.then_some(Way { who: Who::Sqlite, case, window }));
        }
        ways
    }

    /// `one zone, 64 in flight`.
    fn at(&self, case: usize, window: u64) -> String {
        format!("{}, {window} in flight", self.places[case].name)
    }

    fn measure_disk(&mut self, lab: &mut Lab, found: &mut Found) -> Result<Heard, Error> {
        let disk = lab.disk()?;
        self.writes = disk.rate;
        found.disk_rates.push(DISK, "", disk.rate);
        found.disk_medians.push(DISK, "", disk.median_us);
        Ok(Heard::default())
    }

    fn measure(&self, lab: &mut Lab, way: Way, round: usize, found: &mut Found) -> Result<Heard, Error> {
        let (label, at) = (way.who.label(), self.at(way.case, way.window));
        let (rate, cpu_us, result) = match way.who {
            Who::Server(name) => self.serve(lab, name, way)?,
            Who::Limit => self.keep(lab, way)?,
            Who::Sqlite | Who::Postgresql => {
                let alone::Rate { rate, cpu_us } = self.alone(lab, way)?;
                (rate, cpu_us, Value::Null)
            }
        };
        found.rates.push_at(label, &at, round, rate);
        found.cpu.push_at(label, &at, round, cpu_us);
        if let (Some(median), Some(slow)) =
            (result["latency_us"]["p50"].as_f64(), result["latency_us"]["p99"].as_f64())
        {
            found.medians.push_at(label, &at, round, median);
            found.slow.push_at(label, &at, round, slow);
            *found.failed.entry((label.to_owned(), at.clone())).or_default() += failures(&result);
        }
        lab.record.raw.push(json!({
            "changes_to": label, "at": at, "run": round, "rate": rate, "cpu_us_a_change": cpu_us, "changes": result,
        }));
        // As fast as they are done: there is no schedule, and what was lost is told beside the rate.
        Ok(Heard::default())
    }

    /// A run of a server that is started for it: rate, processor time of it and of its database for a change, and all that came of it.
    fn serve(&self, lab: &mut Lab, name: Name, way: Way) -> Result<(f64, f64, Value), Error> {
        let (mut taker, api) = self.start(lab, name, way.case, &[])?;
        let before = self.cpu(name, &mut taker);
        let seconds = lab.effort.run_seconds.to_string();
        let result = self.change(lab, &mut taker, api, way, &["--seconds", &seconds])?;
        let used = self.cpu(name, &mut taker) - before;
        let number = |part: &Value| part.as_f64().unwrap_or(0.0);
        let cpu_us = used * 1e6 / number(&result["accepted"]).max(1.0);
        Ok((number(&result["accepted_per_second"]), cpu_us, result))
    }

    /// Starts a server of a case below what watches it; where its API is.
    fn start(
        &self,
        lab: &mut Lab,
        name: Name,
        case: usize,
        under: &[String],
    ) -> Result<(Taker, SocketAddr), Error> {
        match (name, &self.postgresql) {
            (Name::PdnsPostgresql, Some(postgresql)) => postgresql.copy(&filled(case), &lab.stop)?,
            // It is filled by the server's own commands.
            (Name::ZondaPostgresql, Some(postgresql)) => postgresql.empty(&lab.stop)?,
            _ => {}
        }
        let subject = Subject { under: under.to_vec(), ..lab.subject_as(name, 1, Role::Api) };
        let taker = lab.start_taker(Some(&subject), &self.places[case].set.zones)?;
        let api = SocketAddr::from((API_ADDRESS, taker.address().port()));
        Ok((taker, api))
    }

    /// Seconds of processors until now: threads and processes that have ended are in it, as PowerDNS has one for each connection.
    fn cpu(&self, name: Name, taker: &mut Taker) -> f64 {
        let database = self.postgresql.as_ref().filter(|_| Database::of(name) == Some(Database::Postgresql));
        let all = [Some(taker.process().cpu()), database.map(|server| server.process.cpu())];
        all.into_iter().flatten().map(|cpu| cpu.user + cpu.system).sum()
    }

    /// Runs the generator at the servers' end, on its own cores, as there is no TLS; what came of it.
    fn change(
        &self,
        lab: &Lab,
        taker: &mut Taker,
        api: SocketAddr,
        way: Way,
        words: &[&str],
    ) -> Result<Value, Error> {
        let (program, api) = (lab.programs.bench.display().to_string(), api.to_string());
        let (key, zones) = (self.key.display().to_string(), self.zones[way.case].display().to_string());
        let window = way.window.to_string();
        let head = [
            &program,
            "commits",
            "--json",
            "--server",
            &api,
            "--key-file",
            &key,
            "--zones",
            &zones,
            "--connections",
            &window,
            "--timeout-ms",
            TIMEOUT_MS,
        ];
        let command: Vec<String> = head.iter().chain(words).map(|&word| word.to_owned()).collect();
        let place = lab.bed.server().on(&lab.load_cores);
        let mut load = Process::start(&command, &place, &lab.folder("load")?)?;
        load.wait(&lab.stop)?;
        if let Some(status) = taker.process().ended() {
            return Err(taker.fault(ServerProblem::Ended(status.code())));
        }
        let result = serde_json::from_str::<Value>(&load.result())
            .ok()
            .and_then(|mut all| all.get_mut("commits").map(Value::take))
            .unwrap_or_default();
        if result["accepted"].as_u64().unwrap_or(0) > 0 {
            return Ok(result);
        }
        let said = match result.is_object() {
            true => format!("no change was done: refused {}, lost {}", result["refused"], result["lost"]),
            false => load.said(),
        };
        Err(taker.fault_saying(said))
    }

    /// A run of the limit program.
    fn keep(&self, lab: &mut Lab, way: Way) -> Result<(f64, f64, Value), Error> {
        let Place { set, updates, .. } = &self.places[way.case];
        let mut taker = lab.start_taker(None, &set.zones)?;
        let (window, seconds) = (way.window.to_string(), lab.effort.run_seconds.to_string());
        let words = ["--update-rate", "max", "--update-window", &window, "--seconds", &seconds];
        let before = taker.process().cpu_fine();
        let result = lab.update(&mut taker, updates, &words.map(str::to_owned))?;
        let used = taker.process().cpu_fine() - before;
        let number = |part: &Value| part.as_f64().unwrap_or(0.0);
        Ok((
            number(&result["accepted_per_second"]),
            used * 1e6 / number(&result["accepted"]).max(1.0),
            result,
        ))
    }

    /// A run of statements alone.
    fn alone(&self, lab: &mut Lab, way: Way) -> Result<alone::Rate, Error> {
        let place = &self.places[way.case];
        match &self.postgresql {
            Some(postgresql) if way.who == Who::Postgresql => {
                postgresql.copy(&filled(way.case), &lab.stop)?;
                alone::in_postgresql(lab, postgresql, place, way.window)
            }
            _ => {
                // A transaction is a write of the disk at least.
                let count = (self.writes * lab.effort.run_seconds) as usize;
                alone::in_sqlite(lab, place, count.clamp(SQLITE_LEAST, lab.effort.updates.max(SQLITE_LEAST)))
            }
        }
    }

    /// What was measured once stands wherever it holds: SQLite with any number in flight, the limit program at any place.
    fn stand_in(&self, lab: &Lab, found: &mut Found) {
        let windows: Vec<u64> = lab.recipe.windows().map(|(_, window)| window).collect();
        for case in 0..self.places.len() {
            for &window in &windows {
                for (who, from) in [(SQLITE, (case, windows[0])), (LIMIT, (0, window))] {
                    let (from, to) = (self.at(from.0, from.1), self.at(case, window));
                    for values in [&mut found.rates, &mut found.medians, &mut found.slow, &mut found.cpu] {
                        if from != to {
                            for (value, mark) in values.marked(who, &from) {
                                values.push_marked(who, &to, value, mark);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Looks whether changes are kept before they are answered, of servers that write by themselves.
    fn check(&self, lab: &mut Lab) -> Result<(), Error> {
        let is_own = |name: &Name| Database::of(*name) != Some(Database::Postgresql);
        let names: Vec<Name> = self.names.iter().copied().filter(is_own).collect();
        let note = "System calls of all processes of a server, by strace, in runs that are not timed. Of changes in flight together all may be \
                    kept by one sync. PostgreSQL is a server of its own, and not looked at: it has fsync and synchronous_commit on, as it has \
                    by itself.";
        kept::check(lab, &names, note, |lab, name, window| self.check_one(lab, name, window))
    }

    fn check_one(&self, lab: &mut Lab, name: Name, window: u64) -> Result<Seen, Error> {
        let trace = lab.folder("strace")?.join(format!("{}-{window}", name.text()));
        let (mut taker, api) = self.start(lab, name, 0, &honesty::tracer(&trace))?;
        let way = Way { who: Who::Server(name), case: 0, window };
        let words = ["--seconds", kept::SECONDS, "--requests", kept::COUNT];
        let result = self.change(lab, &mut taker, api, way, &words);
        kept::end_traced(&mut taker);
        result?;
        kept::read(&trace, Replies::Http)
    }
}

/// Starts PostgreSQL, with a database that is filled for each place.
fn start_postgresql(lab: &mut Lab, places: &[Place]) -> Result<Postgresql, Error> {
    let folder = lab.folder(POSTGRESQL_FOLDER)?;
    let place = lab.bed.server().on(&lab.server_cores[..1]);
    let server = Postgresql::start(&folder, &place, &lab.stop)?;
    for (case, place) in places.iter().enumerate() {
        let statements = lab.folder("commits")?.join("postgresql.sql");
        let text = Database::Postgresql.statements(&place.set.zones);
        fs::write(&statements, text).map_err(error::file(&statements, "write"))?;
        server.fill(&filled(case), &statements, &lab.stop)?;
    }
    lab.note(format!("the database server is {}", Postgresql::version().unwrap_or_default()));
    Ok(server)
}

/// The name of the filled database of a place.
fn filled(case: usize) -> String {
    format!("filled{case}")
}
