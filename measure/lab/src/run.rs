//! A recipe from begin to end: programs found, bed made, measured, record written.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use crate::{
    Error,
    bed::{Bed, BedKind},
    contender::Programs,
    error,
    experiment::{Lab, Ledger, table},
    file, origin, peers, place, process, published,
    recipe::{Form, Name, Recipe},
    record::{Blocks, FORMAT, Record, Table, Target, Validity},
    report,
};

/// What the user asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// The recipe.
    pub recipe: Recipe,
    /// Its form.
    pub form: Form,
    /// Result folder; by default one by recipe and time.
    pub out: Option<PathBuf>,
    /// Folder of generated zones.
    pub data: PathBuf,
    /// Bed.
    pub bed: BedKind,
    /// The server under test; beside this program or on the path without.
    pub zonda: Option<PathBuf>,
    /// Another build of it, which takes part as the contender `before`.
    pub before: Option<PathBuf>,
    /// The programs of other servers; unstable's where they have been unpacked in the folder of data, else the system's, without.
    pub peers: Option<peers::Source>,
    /// Contenders instead of the recipe's.
    pub contenders: Option<Vec<Name>>,
    /// Scale of generated zones instead of the recipe's.
    pub scale: Option<f64>,
    /// Blocks, or runs, instead of the recipe's.
    pub blocks: Option<usize>,
    /// Cores of the servers.
    pub server_cores: Option<Vec<usize>>,
    /// Cores of the generator.
    pub load_cores: Option<Vec<usize>>,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// Set when the user wants an end.
    pub stop: Arc<AtomicBool>,
}

/// What came of it.
pub struct Done {
    /// The result folder.
    pub folder: PathBuf,
    /// The record in it.
    pub record: Record,
}

/// Runs a recipe and writes its record.
pub fn run(options: Options) -> Result<Done, Error> {
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut notes = Vec::new();
    process::keep_orphans();
    fs::create_dir_all(&options.data).map_err(error::file(&options.data, "create"))?;
    let wanted = wanted(&options);
    let (peers, more) = peers::choose(options.peers.as_ref(), &options.data, &wanted, &options.stop)?;
    let has_peers = wanted.iter().any(|name| name.program().is_some());
    notes.extend(more.into_iter().filter(|_| has_peers));
    let (programs, names) = contenders(&options, wanted, &mut notes)?;
    let (server_cores, load_cores) = cores(&options, &mut notes)?;
    let folder = match &options.out {
        Some(folder) => folder.clone(),
        None => PathBuf::from(format!("lab-results/{}-{}", options.recipe.name, stamp(started))),
    };
    fs::create_dir_all(&folder).map_err(error::file(&folder, "create"))?;
    let absolute = |path: &Path| fs::canonicalize(path).map_err(error::file(path, "find"));
    let (folder, data) = (absolute(&folder)?, absolute(&options.data)?);
    let work = folder.join("work");
    fs::create_dir_all(&work).map_err(error::file(&work, "create"))?;
    let mut effort = options.recipe.effort(options.form);
    effort.scale = options.scale.unwrap_or(effort.scale);
    if let Some(blocks) = options.blocks {
        (effort.blocks, effort.runs) = (blocks, blocks);
    }
    let bed = if options.recipe.measure.is_in_process() { BedKind::None } else { options.bed };
    let mut bed = Bed::make(bed, &server_cores, &load_cores)?;
    notes.append(&mut bed.notes);
    notes.iter().for_each(|note| eprintln!("lab: note: {note}"));
    let mut record = empty(&options, started, &bed, notes, effort.scale);
    if has_peers {
        record.machine["peers"] = peers.into();
    }
    origins(&programs, &mut record)?;
    let minutes = options.recipe.estimate(options.form, server_cores.len()) / 60.0;
    eprintln!("lab: {} takes about {:.0} min", options.recipe.name, minutes.max(1.0));
    let began = Instant::now();
    let mut lab = Lab {
        recipe: options.recipe,
        effort,
        programs,
        bed,
        server_cores,
        load_cores,
        data,
        work: work.clone(),
        stop: options.stop,
        names,
        record,
        validity: Ledger::default(),
        began,
    };
    lab.measure()?;
    let mut record = lab.record;
    record.tables.extend(targets(&record));
    published::add_here(&mut record);
    record.seconds = began.elapsed().as_secs_f64();
    file::write_record(&folder, &record)?;
    report::write(&folder, &record)?;
    // Settings are in the record; what servers wrote is of use only where something failed.
    let _ = fs::remove_dir_all(&work);
    Ok(Done { folder, record })
}

/// The targets as a table, where there are some.
fn targets(record: &Record) -> Option<Table> {
    let row = |target: &Target| {
        let interval =
            target.interval.map_or_else(String::new, |(low, high)| format!("{low:.2} to {high:.2}"));
        let (median, (_, bound)) = (format!("{}{:.2}", target.known().sign(), target.median), target.bound());
        vec![target.what.clone(), median, interval, bound, target.verdict().to_owned()]
    };
    let rows: Vec<Vec<String>> = record.targets.iter().map(row).collect();
    let columns = ["what", "median", "95 %", "shall be", "verdict"];
    let note = "Ratios are those of runs of the same round; met if the whole interval is. Not decided: of fewer than six \
                values, or some are known from one side only (≥, ≤) which does not suffice.";
    (!rows.is_empty()).then(|| table("Targets", &columns, rows, note))
}

fn empty(options: &Options, started: u64, bed: &Bed, notes: Vec<String>, scale: f64) -> Record {
    let recipe = &options.recipe;
    let mut machine = bench::machine::describe();
    // The record has the command line itself, without paths.
    machine.as_object_mut().map(|machine| machine.remove("command"));
    machine["bed"] = bed.name().into();
    machine["receiving"] = bed.receiving.clone().into();
    machine["scale"] = scale.into();
    Record {
        format: FORMAT,
        recipe: recipe.name.clone(),
        title: recipe.title.clone(),
        method: recipe.method.clone(),
        started: rfc3339(started),
        seconds: 0.0,
        command: options.command.clone(),
        quick: options.form != Form::Full,
        machine,
        contenders: Vec::new(),
        agreement: Vec::new(),
        blocks: Blocks::default(),
        validity: Validity::default(),
        figures: Vec::new(),
        targets: Vec::new(),
        tables: Vec::new(),
        charts: Vec::new(),
        texts: Vec::new(),
        published: published::of(&recipe.name),
        notes,
        raw: Vec::new(),
    }
}

/// Records what the programs of this project were built from. The record's commit is this program's, whoever takes part.
fn origins(programs: &Programs, record: &mut Record) -> Result<(), Error> {
    let mut all = serde_json::Map::new();
    for (name, path) in [("zonda-bench", &programs.bench), ("zonda", &programs.zonda)] {
        if !path.as_os_str().is_empty() {
            all.insert(name.to_owned(), origin::of(path)?);
        }
    }
    if let Some(commit) = all["zonda-bench"].get("commit") {
        record.machine["commit"] = commit.clone();
    }
    record.machine["programs"] = all.into();
    Ok(())
}

/// The commit that records of this program have; empty where nothing says it.
pub fn commit() -> String {
    env::current_exe().ok().and_then(|bench| origin::commit(&bench)).unwrap_or_default()
}

/// The contenders that are installed. Others are noted, with what would bring them.
fn contenders(
    options: &Options,
    wanted: Vec<Name>,
    notes: &mut Vec<String>,
) -> Result<(Programs, Vec<Name>), Error> {
    let bench = env::current_exe().map_err(|cause| Error::System { action: "find this program", cause })?;
    let before = before(options, &wanted)?;
    let mut programs = Programs { zonda: PathBuf::new(), before, bench: bench.clone() };
    let mut names = Vec::new();
    for name in wanted {
        match name.program() {
            None if name.is_this_build() => {
                programs.zonda = zonda(options.zonda.as_deref(), &bench)?;
                names.push(name);
            }
            None if name == Name::Echo => {}
            None => names.push(name),
            Some(program) if process::find(program).is_some() => names.push(name),
            Some(program) => {
                let (who, package) = (name.text(), name.package());
                notes.push(format!("{who} is missing ({program}): on Debian install {package}"));
            }
        }
    }
    // Who is asked by resolvers is always this server.
    if options.recipe.measure.is_of_resolvers() && programs.zonda.as_os_str().is_empty() {
        programs.zonda = zonda(options.zonda.as_deref(), &bench)?;
    }
    if options.recipe.measure.has_contenders() && names.is_empty() {
        return Err(Error::Nobody);
    }
    Ok((programs, names))
}

/// Who shall take part: another build of the server directly behind this one, so that the two stand next to each other.
fn wanted(options: &Options) -> Vec<Name> {
    let mut names = options.contenders.clone().unwrap_or_else(|| options.recipe.contenders.clone());
    if options.before.is_some() && !names.contains(&Name::Before) {
        let place = names.iter().position(|&name| name == Name::Zonda).map_or(names.len(), |place| place + 1);
        names.insert(place, Name::Before);
    }
    names
}

/// Another build of the server; an empty path where none was asked for.
fn before(options: &Options, wanted: &[Name]) -> Result<PathBuf, Error> {
    let fault = |rule| Err(Error::Option { option: "--before", rule });
    match &options.before {
        None if wanted.contains(&Name::Before) => {
            fault("the contender before needs PATH of another build of zonda".to_owned())
        }
        None => Ok(PathBuf::new()),
        Some(_) if !options.recipe.measure.has_contenders() => {
            fault(format!("no servers take part in {}", options.recipe.name))
        }
        Some(path) if !path.is_file() => fault(format!("{} is no file", path.display())),
        Some(path) => fs::canonicalize(path).map_err(error::file(path, "find")),
    }
}

/// The server under test, where no recipe is run.
pub fn server(asked: Option<&Path>) -> Result<PathBuf, Error> {
    let bench = env::current_exe().map_err(|cause| Error::System { action: "find this program", cause })?;
    zonda(asked, &bench)
}

/// The server under test: where the user says, beside this program, or on the path.
fn zonda(asked: Option<&Path>, bench: &Path) -> Result<PathBuf, Error> {
    let beside = bench.with_file_name("zonda");
    let found = match asked {
        Some(path) => Some(path.to_owned()).filter(|path| path.is_file()),
        None => Some(beside).filter(|path| path.is_file()).or_else(|| process::find("zonda")),
    };
    let missing = || Error::Missing {
        program: asked.map_or_else(|| "zonda".to_owned(), |path| path.display().to_string()),
        remedy: "build it with `cargo build --release -p zonda -p zonda-bench`, name it with --zonda PATH, or leave it out \
                 with --contenders",
    };
    let path = found.ok_or_else(missing)?;
    fs::canonicalize(&path).map_err(error::file(&path, "find"))
}

/// Cores of servers and generator: by default the last one is the generator's and all others are the servers'; where
/// threads or processes vary, the servers may use all.
fn cores(options: &Options, notes: &mut Vec<String>) -> Result<(Vec<usize>, Vec<usize>), Error> {
    let all = place::cores();
    let unknown = |list: &Option<Vec<usize>>| list.iter().flatten().find(|core| !all.contains(core)).copied();
    for (option, list) in [("--cpus-server", &options.server_cores), ("--cpus-load", &options.load_cores)] {
        if let Some(core) = unknown(list) {
            return Err(Error::Option {
                option,
                rule: format!("core {core} is not there; there are {all:?}"),
            });
        }
    }
    let load = options.load_cores.clone().unwrap_or_else(|| all[all.len() - 1..].to_vec());
    let others: Vec<usize> = all.iter().copied().filter(|core| !load.contains(core)).collect();
    let scales = options.recipe.uses_all_cores();
    let server = options.server_cores.clone().unwrap_or_else(|| match others.is_empty() {
        true => all.clone(),
        false if scales => [others, load.clone()].concat(),
        false => others,
    });
    if all.len() == 1 {
        notes.push("one core for servers and generator: rates are those of both together".to_owned());
    }
    Ok((server, load))
}

/// `20261121-131500` in UTC.
fn stamp(seconds: u64) -> String {
    let text = rfc3339(seconds);
    text.trim_end_matches('Z').replace(['-', ':'], "").replace('T', "-")
}

/// A time in UTC as RFC 3339 writes it.
pub(crate) fn rfc3339(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years begin in March here, so that the leap day is the last; eras have 400 years and 146,097 days.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = era * 400 + year + u64::from(month <= 2);
    let (hours, minutes, seconds) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_709_251_199), "2024-02-29T23:59:59Z");
        assert_eq!(rfc3339(1_735_689_600), "2025-01-01T00:00:00Z");
        assert_eq!(stamp(1_795_266_900), "20261121-131500");
    }
}
