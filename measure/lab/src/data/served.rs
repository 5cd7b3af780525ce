//! Zones that authoritative servers serve, with queries and updates for them.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use super::{Set, Store, Zones, listed, names, records, signed::signatures, words};
use crate::{
    Error, error, process,
    recipe::{Case, Effort, ZoneKind},
};

/// The root zone within the repository.
const ROOT_ZONE: &str = "data/root.zone";
/// Recorded queries for it within the repository.
const ROOT_QUERIES: &str = "benches/data/root-queries-2016.txt.xz";
/// How the recorded ones are called where they are unpacked; another name for each file that was packed.
const RECORDED: &str = "root-recorded-2016-cookies";
/// Smallest zones: below these the generator has nothing to make.
const SIZE_MIN: usize = 200;

impl Store<'_> {
    /// Zones and queries of a case; what is not there is made.
    pub fn set(&self, case: &Case, effort: &Effort) -> Result<Set, Error> {
        fs::create_dir_all(self.folder).map_err(error::file(self.folder, "create"))?;
        let repository = repository().filter(|_| case.zone == ZoneKind::Root);
        let (zones, base, mut source) = self.zones(case, effort, repository.as_deref())?;
        let count = effort.queries;
        let drawn = format!("{base}-{count}-{}-{}", case.nxdomain, case.below);
        let recorded = repository.filter(|_| process::find("xz").is_some());
        let queries = match &recorded {
            Some(repository) if case.recorded => self.recorded(repository)?,
            Some(repository) => self.alike(repository, count)?,
            None if case.every => self.made(&format!("{base}-every.queries"), |to| self.every(&zones, to))?,
            None => self.made(&format!("{drawn}.queries"), |to| self.draw(case, effort, &zones, to))?,
        };
        let queries = self.with_edns(case, queries)?;
        source += &match (&recorded, case.recorded) {
            (Some(_), true) => ", recorded queries".to_owned(),
            (Some(_), false) => format!(", {count} different queries like recorded ones"),
            (None, _) if case.every => ", a query for each RRset".to_owned(),
            (None, _) => ", drawn queries".to_owned(),
        };
        Ok(Set { zones, queries, source })
    }

    /// The queries for the root zone that were recorded.
    fn recorded(&self, repository: &Path) -> Result<PathBuf, Error> {
        self.made(&format!("{RECORDED}.queries"), |to| {
            let packed = repository.join(ROOT_QUERIES).display().to_string();
            let text = self.run(&words(&["xz", "-dc", &packed]))?;
            fs::write(to, text).map_err(error::file(to, "write"))
        })
    }

    /// So many different queries for the root zone like those that were recorded.
    fn alike(&self, repository: &Path, count: usize) -> Result<PathBuf, Error> {
        let recorded = self.recorded(repository)?;
        self.made(&format!("{RECORDED}-alike-{count}.queries"), |to| {
            let [bench, zone, recorded, to] = [self.bench, &repository.join(ROOT_ZONE), &recorded, to]
                .map(|path| path.display().to_string());
            let command = [&bench, "gen", "queries", "--zone", &zone, "--like", &recorded, "-o", &to];
            self.run(&words(&[&command[..], &["--count", &count.to_string()]].concat())).map(drop)
        })
    }

    /// The zones, the beginning of names of files made from them, and where they come from.
    fn zones(
        &self,
        case: &Case,
        effort: &Effort,
        repository: Option<&Path>,
    ) -> Result<(Zones, String, String), Error> {
        let size = ((case.size as f64 * effort.scale) as usize).max(SIZE_MIN);
        let text = size.to_string();
        let (base, apex, options) = match case.zone {
            ZoneKind::Root => ("root".to_owned(), ".", vec!["root-like"]),
            ZoneKind::Net => (format!("net-{size}"), "net.", vec!["net", "--records", &text]),
            ZoneKind::Flat => (format!("flat-{size}"), "flat.example.", vec!["flat", "--hosts", &text]),
            ZoneKind::Com => (format!("com-{size}"), "com.", vec!["com", "--delegations", &text]),
            ZoneKind::Dynamic => {
                let (base, apex) = (format!("dynamic-{size}"), "dynamic.example.");
                (base, apex, vec!["dynamic", "--records", &text])
            }
            // Those of resolvers are served by nobody who is measured: `Store::bed`.
            ZoneKind::Many | ZoneKind::Caching | ZoneKind::Internet => {
                return self.many(case, (case.size as f64 * effort.scale) as usize);
            }
            ZoneKind::Panel => return self.panel((case.size as f64 * effort.scale) as usize),
        };
        let (path, source) = match repository {
            Some(repository) => (repository.join(ROOT_ZONE), "the root zone of the repository".to_owned()),
            None => {
                let path = self.made(&format!("{base}.zone"), |to| self.generate(&options, to))?;
                (path, format!("generated: gen zone {}", options.join(" ")))
            }
        };
        let base = if repository.is_some() { base } else { format!("{base}-made") };
        let (path, base) = self.with_dnssec(case.dnssec, apex, path, base)?;
        let (records, signatures) = (records(&path)?, signatures(&path)?);
        let zones = Zones { list: vec![(apex.to_owned(), path)], records, signatures, ..Zones::default() };
        Ok((zones, base, source))
    }

    fn many(&self, case: &Case, zones: usize) -> Result<(Zones, String, String), Error> {
        let (zones, each) = (zones.max(2).to_string(), case.records_each.to_string());
        let base = format!("many-{zones}-{each}");
        let options = ["many", "--zones", &zones, "--records", &each];
        let folder = self.made(&base, |to| self.generate(&options, to))?;
        let list = listed(&folder)?;
        let records = (list.len() * case.records_each) as u64;
        Ok((
            Zones { list, records, names: names(&folder), ..Zones::default() },
            base,
            format!("generated: gen zone {}", options.join(" ")),
        ))
    }

    fn panel(&self, zones: usize) -> Result<(Zones, String, String), Error> {
        let zones = zones.max(2).to_string();
        let base = format!("panel-{zones}");
        let options = ["panel", "--zones", &zones];
        let folder = self.made(&base, |to| self.generate(&options, to))?;
        let list = listed(&folder)?;
        let records = list.iter().map(|(_, path)| records(path)).sum::<Result<u64, Error>>()?;
        let zones = Zones { list, records, names: names(&folder), ..Zones::default() };
        Ok((zones, base, format!("generated: gen zone {}", options.join(" "))))
    }

    /// Updates for these zones, each of which holds once, in the order of the file: names are added to one zone after the other,
    /// and every second update takes away what was added before; in a single zone such as it holds by itself.
    pub fn updates(&self, zones: &Zones, count: usize) -> Result<PathBuf, Error> {
        let (_, first) = zones.list.first().ok_or(Error::Nobody)?;
        let base = first.file_stem().unwrap_or_default().to_string_lossy();
        let many = zones.list.len();
        self.made(&format!("updates-{base}-{many}-{count}"), |to| {
            let [bench, place, out] = [self.bench, first, to].map(|path| path.to_string_lossy().into_owned());
            let count_text = count.to_string();
            let command = [&bench, "gen", "updates", "--zone", &place, "--count", &count_text, "-o", &out];
            match many {
                1 => self.run(&words(&command)).map(drop),
                _ => fs::write(to, updates_of_many(zones, count)).map_err(error::file(to, "write")),
            }
        })
    }

    fn draw(&self, case: &Case, effort: &Effort, zones: &Zones, to: &Path) -> Result<(), Error> {
        let place = place(case.zone, zones)?;
        let [bench, place, to] = [self.bench, place, to].map(|path| path.display().to_string());
        let numbers = [effort.queries.to_string(), case.nxdomain.to_string(), case.below.to_string()];
        let mut command = words(&[&bench, "gen", "queries", "--zone", &place, "-o", &to]);
        command.extend(words(&["--count", &numbers[0], "--nxdomain", &numbers[1], "--below", &numbers[2]]));
        if case.zone == ZoneKind::Root {
            command.extend(words(&["--types", "f-root", "--skew", "paper"]));
        }
        self.run(&command).map(drop)
    }

    fn every(&self, zones: &Zones, to: &Path) -> Result<(), Error> {
        let place = place(ZoneKind::Many, zones)?;
        let [bench, place, to] = [self.bench, place, to].map(|path| path.display().to_string());
        self.run(&words(&[&bench, "gen", "queries", "--zone", &place, "--every", "-o", &to])).map(drop)
    }
}

/// The file of the zone, or the folder of many, whose files are in it or some levels below.
fn place(kind: ZoneKind, zones: &Zones) -> Result<&Path, Error> {
    let (_, first) = zones.list.first().ok_or(Error::Nobody)?;
    let folder = || first.ancestors().find(|folder| folder.ends_with("zones"));
    Ok(match kind {
        ZoneKind::Many | ZoneKind::Panel => folder().unwrap_or(first),
        _ => first,
    })
}

/// Updates for many zones in turn.
fn updates_of_many(zones: &Zones, count: usize) -> String {
    let many = zones.list.len();
    let line = |number: usize| {
        let ((apex, _), round) = (&zones.list[number % many], number / many);
        let (label, host) = (round / 2, number % 254 + 1);
        match round % 2 {
            0 => format!("zone {apex}\nupdate add new{label}.{apex} 300 A 192.0.2.{host}\nsend\n"),
            _ => format!("zone {apex}\nupdate delete new{label}.{apex}\nsend\n"),
        }
    };
    (0..count).map(line).collect()
}

/// The project's repository around this folder or this program, if it has what the root recipe needs.
fn repository() -> Option<PathBuf> {
    let has = |folder: &&Path| folder.join(ROOT_ZONE).is_file() && folder.join(ROOT_QUERIES).is_file();
    let starts = [env::current_dir().ok(), env::current_exe().ok()];
    starts.into_iter().flatten().find_map(|start| start.ancestors().find(has).map(Path::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_of_many_zones_take_turns() {
        let list = ["a.", "b."].map(|apex| (apex.to_owned(), PathBuf::new())).to_vec();
        let text = updates_of_many(&Zones { list, ..Zones::default() }, 6);
        let changes: Vec<&str> = text.lines().filter(|line| line.starts_with("update")).collect();
        assert_eq!(changes[0], "update add new0.a. 300 A 192.0.2.1");
        assert_eq!(
            changes[1..4],
            ["update add new0.b. 300 A 192.0.2.2", "update delete new0.a.", "update delete new0.b."]
        );
        assert!(changes[4].starts_with("update add new1.a.") && text.matches("send\n").count() == 6);
    }
}
