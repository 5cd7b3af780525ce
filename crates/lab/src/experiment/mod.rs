//! The measurements.
//!
//! * [`rates`]: staircases in blocks, processor time and memory, then [`latency`] at equal loads.
//! * [`echo`]: echo servers of many models, processes and cores; settings of the generator.
//! * [`memory`] after the load of zones; [`start`] from exec to the first answer.
//!
//! [`Lab`] is what they share: where servers run, how long everything takes, and the record they fill.

pub mod echo;
mod generator;
pub mod latency;
pub mod memory;
pub mod rates;
pub mod start;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

pub use generator::{Load, staircase_words};
use serde_json::Value;

use crate::{
    Error, agreement,
    bed::{Bed, RECEIVE_OCTETS},
    contender::{EchoOptions, Job, Programs, Server},
    data::{Set, Store, Zones},
    error,
    error::ServerProblem,
    place::Place,
    process::{self},
    recipe::{Case, Effort, Name, Recipe},
    record::{Chart, ChartKind, Figure, Point, Record, Role, Series, Table},
    statistics,
};

/// How often a server that is started is asked whether it is there.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// What all measurements share.
pub struct Lab {
    /// What is done.
    pub recipe: Recipe,
    /// For how long.
    pub effort: Effort,
    /// The programs of this project.
    pub programs: Programs,
    /// Where servers and generator run.
    pub bed: Bed,
    /// The servers' cores.
    pub server_cores: Vec<usize>,
    /// The generator's.
    pub load_cores: Vec<usize>,
    /// Generated zones.
    pub data: PathBuf,
    /// Settings and output of the servers.
    pub work: PathBuf,
    /// The user wants an end.
    pub stop: Arc<AtomicBool>,
    /// Who takes part and is alive.
    pub names: Vec<Name>,
    /// What came of it so far.
    pub record: Record,
    /// When it began.
    pub began: Instant,
}

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
}

impl Lab {
    /// Runs what the recipe measures.
    pub fn measure(&mut self) -> Result<(), Error> {
        match self.recipe.measure {
            crate::recipe::Measure::Rates => rates::run(self),
            crate::recipe::Measure::Memory => memory::run(self),
            crate::recipe::Measure::Start => start::run(self),
            crate::recipe::Measure::Echo => echo::run(self),
            crate::recipe::Measure::Generator => echo::run_generators(self),
        }
    }

    /// Says what is going on.
    pub fn say(&self, text: &str) {
        let seconds = self.began.elapsed().as_secs();
        eprintln!("lab: {:02}:{:02} {text}", seconds / 60, seconds % 60);
    }

    /// Says what is going on, and how long `left` more of the same will take, judged by `done` since `began`.
    pub fn say_left(&self, text: &str, began: Instant, done: usize, left: usize) {
        if done == 0 {
            return self.say(text);
        }
        let seconds = began.elapsed().as_secs_f64() / done as f64 * left as f64;
        self.say(&format!("{text}; about {} left", duration(seconds)));
    }

    /// Something for the user to know, on the way and in the record.
    pub fn note(&mut self, text: String) {
        eprintln!("lab: note: {text}");
        if !self.record.notes.contains(&text) {
            self.record.notes.push(text);
        }
    }

    /// An end with an error where the user asked for one.
    pub fn go_on(&self) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Zones and queries of a case.
    pub fn set(&self, case: &Case) -> Result<Set, Error> {
        let work = self.folder("generator")?;
        let store = Store { folder: &self.data, work: &work, bench: &self.programs.bench, stop: &self.stop };
        store.set(case, &self.effort)
    }

    /// A folder below the work folder, made.
    pub fn folder(&self, name: &str) -> Result<PathBuf, Error> {
        let name: String =
            name.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '-' }).collect();
        let path = self.work.join(name);
        fs::create_dir_all(&path).map_err(error::file(&path, "create"))?;
        Ok(path)
    }

    /// The contenders as subjects.
    pub fn subjects(&self, workers: usize) -> Vec<Subject> {
        let cores: Vec<usize> = self.server_cores.iter().copied().take(workers.max(1)).collect();
        let subject = |&name: &Name| Subject {
            label: name.text().to_owned(),
            name,
            workers,
            echo: EchoOptions::default(),
            cores: cores.clone(),
        };
        self.names.iter().map(subject).collect()
    }

    /// Starts a server without waiting for it.
    pub fn launch(&mut self, subject: &Subject, zones: &Zones, pack: Option<&Path>) -> Result<Server, Error> {
        let address = self.bed.address()?;
        let folder = self.work.join(format!("{}-{}", subject.label.replace(' ', "-"), address.port()));
        let job = Job {
            zones,
            folder: &folder,
            address,
            workers: subject.workers,
            receive_octets: RECEIVE_OCTETS,
            programs: &self.programs,
            pack,
            echo: &subject.echo,
        };
        let place = self.bed.server().on(&subject.cores);
        let server = subject.name.start(&job, &place)?;
        if !self.record.contenders.iter().any(|known| known.name == subject.name.text()) {
            let version = subject.name.version(&self.programs);
            self.record.contenders.push(server.describe(version, zones));
        }
        Ok(server)
    }

    /// Starts a server and waits until it answers.
    pub fn start(&mut self, subject: &Subject, zones: &Zones) -> Result<Server, Error> {
        let mut server = self.launch(subject, zones, None)?;
        server.wait(&self.bed, &zones.question(), self.effort.load_seconds, ASK_EVERY, &self.stop)?;
        Ok(server)
    }

    /// Starts all contenders, asks them a sample of the queries and compares. Leaves out, with a note, those that do
    /// not come up. Returns reply sizes of the first of them, for the echo server.
    pub fn prepare(&mut self, case: &Case, set: &Set) -> Result<PathBuf, Error> {
        self.say(&format!("{}: starting all and comparing their answers", case.name));
        let mut servers = Vec::new();
        for subject in self.subjects(1) {
            self.go_on()?;
            match self.start(&subject, &set.zones) {
                Ok(server) => servers.push(server),
                Err(error @ Error::Server { .. }) => {
                    self.names.retain(|&name| name != subject.name);
                    self.note(format!("{} is left out: {error}", subject.label));
                }
                Err(error) => return Err(error),
            }
        }
        if servers.is_empty() {
            return Err(Error::Nobody);
        }
        self.check_buffers(&servers);
        let sample = agreement::sample(&set.queries, self.effort.agreement)?;
        for mut agreement in agreement::compare(&self.bed, &servers, &sample)? {
            let different = agreement.asked - agreement.equal;
            if different as f64 > agreement.asked as f64 * agreement::DIFFERENT_SHARE_MAX {
                let (who, asked) = (&agreement.contender, agreement.asked);
                self.note(format!(
                    "{who} answers {different} of {asked} questions differently ({})",
                    case.name
                ));
            }
            if self.recipe.cases.len() > 1 {
                agreement.contender += &format!(" ({})", case.name);
            }
            self.record.agreement.push(agreement);
        }
        let sizes = self.folder("sizes")?.join(format!("{}.sizes", case.name.replace(' ', "-")));
        let words = ["--record-sizes".to_owned(), sizes.display().to_string()];
        self.load(&mut servers[0], &set.queries, &words)?;
        Ok(sizes)
    }

    /// Says so where a server's socket has less room than the others': it would lose queries that they keep.
    fn check_buffers(&mut self, servers: &[Server]) {
        for server in servers {
            let room = self.bed.receive_octets(server.address.port());
            if let Some(room) = room.filter(|&room| room < RECEIVE_OCTETS) {
                let who = server.name.text();
                self.note(format!("the socket of {who} holds {room} octets, fewer than {RECEIVE_OCTETS}"));
            }
        }
    }

    /// Runs the generator against a server to its end and returns its result.
    pub fn load(&self, server: &mut Server, queries: &Path, words: &[String]) -> Result<Value, Error> {
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
    fn load_command(&self, server: &Server, queries: &Path, words: &[String]) -> Vec<String> {
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
        let seconds = self.effort.warm_seconds.to_string();
        let flows = self.effort.flows.to_string();
        let words =
            ["--closed", "1000", "--flows", &flows, "--trains", "--seconds", &seconds].map(str::to_owned);
        self.load(server, queries, &words).map(drop)
    }

    /// The place of the generator.
    pub fn load_place(&self) -> Place {
        self.bed.load()
    }
}

/// Values of one metric, by contender and by place in what varies.
#[derive(Default)]
pub struct Values {
    by: BTreeMap<(String, String), Vec<f64>>,
    order: Vec<(String, String)>,
}

impl Values {
    /// Adds a value.
    pub fn push(&mut self, contender: &str, at: &str, value: f64) {
        let key = (contender.to_owned(), at.to_owned());
        if !self.order.contains(&key) {
            self.order.push(key.clone());
        }
        self.by.entry(key).or_default().push(value);
    }

    /// The values of a contender at a place.
    pub fn of(&self, contender: &str, at: &str) -> &[f64] {
        self.by.get(&(contender.to_owned(), at.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// Contenders in the order in which they came.
    pub fn contenders(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in &self.order {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// Figures of all, in the order in which they came. Values above 0 are taken by their logarithms.
    pub fn figures(&self, metric: &str, unit: &str, more_is_better: bool) -> Vec<Figure> {
        let figure = |key: &(String, String)| {
            let values = self.by[key].clone();
            let positive = values.iter().all(|&value| value > 0.0);
            Figure {
                contender: key.0.clone(),
                at: key.1.clone(),
                metric: metric.to_owned(),
                unit: unit.to_owned(),
                more_is_better,
                median: if positive {
                    statistics::median_of_logarithms(&values)
                } else {
                    statistics::median(&values)
                },
                interval: match positive {
                    true => statistics::interval_of_logarithms(&values),
                    false => statistics::interval(&values),
                },
                values,
            }
        };
        self.order.iter().map(figure).collect()
    }

    /// Bars: groups along `places`, a bar for each contender.
    pub fn bars(&self, title: &str, y_label: &str, places: &[String], y_log: bool) -> Chart {
        let series = self.contenders().into_iter().map(|name| Series {
            name: name.to_owned(),
            role: Role::Measured,
            points: places
                .iter()
                .enumerate()
                .filter_map(|(x, at)| point(x as f64, self.of(name, at)))
                .collect(),
        });
        Chart {
            title: title.to_owned(),
            kind: ChartKind::Bars,
            x_label: String::new(),
            y_label: y_label.to_owned(),
            y_log,
            categories: places.to_vec(),
            series: series.collect(),
        }
    }
}

/// A point with median and ends; `None` without values.
pub fn point(x: f64, values: &[f64]) -> Option<Point> {
    let (low, high) = statistics::ends(values);
    let spread = |end| (values.len() > 1).then_some(end);
    (!values.is_empty()).then(|| Point {
        x,
        y: statistics::median(values),
        low: spread(low),
        high: spread(high),
    })
}

/// A table from text.
pub fn table(title: &str, columns: &[&str], rows: Vec<Vec<String>>, note: &str) -> Table {
    let columns = columns.iter().map(|&column| column.to_owned()).collect();
    Table { title: title.to_owned(), columns, rows, note: note.to_owned() }
}

/// `3.2 to 3.4`, or nothing.
pub fn interval_text(figure: &Figure, digits: usize) -> String {
    figure.interval.map_or_else(String::new, |(low, high)| format!("{low:.digits$} to {high:.digits$}"))
}

/// Seconds for people.
pub fn duration(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    if seconds < 90 { format!("{seconds} s") } else { format!("{} min", (seconds + 30) / 60) }
}
