//! Zones and queries of an experiment: the real root zone from the repository, or generated ones, kept for the next run.
//!
//! A generated file's name tells all that it was made from, and appears under it only when it is complete.
//!
//! * `served`: what authoritative servers serve and are asked; `signed`: the same with signatures or without; [`serial`]: files whose serial rises.
//! * `caching`: the zones that resolvers are measured with; [`Little`]: those of resolvers in trouble; `internet`: a model Internet.

mod caching;
mod internet;
mod laps;
mod little;
pub mod serial;
mod served;
mod signed;

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::{SystemTime, UNIX_EPOCH},
};

use bench::query::{self, Query};
pub use caching::{BED_ORIGIN, BED_SERVER, CachingBed};
pub use internet::InternetWanted;
pub use little::{Little, Places, Shape};

use crate::{Error, error, place::Place, process};

/// Signatures of generated zones are good for a month; they are made anew each week.
const WEEK_SECONDS: u64 = 7 * 86_400;

/// What a server shall serve.
#[derive(Clone, Debug, Default)]
pub struct Zones {
    /// Apex, with final dot, and absolute path of the file.
    pub list: Vec<(String, PathBuf)>,
    /// Records in all.
    pub records: u64,
    /// How they are signed.
    pub signatures: Signatures,
    /// A list of their names, where the generator made one.
    pub names: Option<Names>,
    /// What is answered once all is there; without, the SOA of the last zone.
    pub probe: Option<Query>,
}

/// Many zones by a list of their names.
#[derive(Clone, Debug)]
pub struct Names {
    /// A name a line.
    pub list: PathBuf,
    /// Path of the file of each, with `{name}` and the like in it as Zonda's settings have them.
    pub file: PathBuf,
}

/// How zones are signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signatures {
    /// They are not.
    #[default]
    None,
    /// With NSEC.
    Nsec,
    /// With NSEC3.
    Nsec3,
}

impl Zones {
    /// Octets of their text.
    pub fn octets(&self) -> u64 {
        self.list.iter().filter_map(|(_, path)| Some(fs::metadata(path).ok()?.len())).sum()
    }

    /// A question that is answered once the last zone is there.
    pub fn question(&self) -> Query {
        if let Some(probe) = &self.probe {
            return probe.clone();
        }
        let apex = self.list.last().map_or(".", |(apex, _)| apex.as_str());
        let name = query::name_from_text(apex).unwrap_or_else(wire::NameBuf::root);
        Query { name, rtype: wire::iana::rtype::SOA, edns: None, rd: false, cd: false }
    }
}

/// Zones, queries for them, and where they come from.
#[derive(Clone, Debug)]
pub struct Set {
    /// Zones.
    pub zones: Zones,
    /// Query file.
    pub queries: PathBuf,
    /// In a line.
    pub source: String,
}

/// Where data are kept, and what makes them.
pub struct Store<'a> {
    /// Folder of generated files.
    pub folder: &'a Path,
    /// Folder for what the generators say.
    pub work: &'a Path,
    /// The measuring tool.
    pub bench: &'a Path,
    /// Ends the making.
    pub stop: &'a AtomicBool,
}

impl Store<'_> {
    /// A file or folder of that name: what is there from before, or made now.
    fn made(&self, name: &str, make: impl FnOnce(&Path) -> Result<(), Error>) -> Result<PathBuf, Error> {
        let path = self.folder.join(name);
        if path.exists() {
            return Ok(path);
        }
        eprintln!("lab: making {name}");
        // Of this process alone: two runs may share the folder.
        let part = self.folder.join(format!("{name}.part-{}", std::process::id()));
        if part.is_dir() {
            let _ = fs::remove_dir_all(&part);
        }
        make(&part)?;
        fs::rename(&part, &path).map_err(error::file(&path, "create"))?;
        Ok(path)
    }

    fn run(&self, command: &[String]) -> Result<String, Error> {
        process::run(command, &Place::default(), self.work, self.stop)
    }

    fn generate(&self, options: &[&str], to: &Path) -> Result<(), Error> {
        let (bench, to) = (self.bench.to_string_lossy(), to.to_string_lossy());
        let command = [&[&*bench, "gen", "zone"], options, &["-o", &to]].concat();
        self.run(&words(&command)).map(drop)
    }
}

/// The number of this week.
fn week() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / WEEK_SECONDS)
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// Zones of a folder that the generator made: from the settings it wrote for named.
fn listed(folder: &Path) -> Result<Vec<(String, PathBuf)>, Error> {
    let path = folder.join("named.conf");
    let text = fs::read_to_string(&path).map_err(error::file(&path, "read"))?;
    let entry = |line: &str| {
        let mut parts = line.split('"').skip(1).step_by(2);
        Some((format!("{}.", parts.next()?.trim_end_matches('.')), folder.join(parts.next()?)))
    };
    let list: Vec<(String, PathBuf)> = text.lines().filter_map(entry).collect();
    match list.is_empty() {
        true => Err(Error::Output { program: "gen zone many", wanted: "a list of zones" }),
        false => Ok(list),
    }
}

/// The list of names that the generator wrote for Zonda, where it did.
fn names(folder: &Path) -> Option<Names> {
    let text = fs::read_to_string(folder.join("zonda.toml")).ok()?;
    let settings: toml::Table = text.parse().ok()?;
    let zone = settings.get("zone")?.as_array()?.first()?;
    let of = |key| Some(folder.join(zone.get(key)?.as_str()?));
    Some(Names { list: of("names-file")?, file: of("file")? })
}

/// Lines of a file, as octets.
fn each_line(path: &Path, mut take: impl FnMut(&[u8]) -> io::Result<bool>) -> Result<(), Error> {
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path).map_err(error::file(path, "open"))?);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line).map_err(error::file(path, "read"))?;
        if read == 0 || !take(&line).map_err(error::file(path, "copy"))? {
            return Ok(());
        }
    }
}

/// Lines of a query file.
pub fn queries(path: &Path) -> Result<u64, Error> {
    records(path)
}

/// Records of a zone file with one in a line.
fn records(path: &Path) -> Result<u64, Error> {
    let mut records = 0;
    each_line(path, |line| {
        records += u64::from(!matches!(line.trim_ascii().first(), None | Some(b';' | b'$')));
        Ok(true)
    })?;
    Ok(records)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn half_made_files_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let stop = AtomicBool::new(false);
        let store =
            Store { folder: folder.path(), work: folder.path(), bench: Path::new("false"), stop: &stop };
        let broken = store.made("zone", |to| {
            fs::write(to, "half").unwrap();
            Err(Error::Interrupted)
        });
        assert!(broken.is_err() && !folder.path().join("zone").exists());
        let made = store.made("zone", |to| fs::write(to, "whole").map_err(error::file(to, "write"))).unwrap();
        assert_eq!(fs::read_to_string(made).unwrap(), "whole");
    }
}
