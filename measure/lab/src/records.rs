//! Results of experiments in folders: those of a recipe, in the order of time.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    file::{self, Error, RECORD},
    record::Record,
};

/// Where the project keeps its records, seen from the top of its repository.
pub const KEPT: &str = "benches/records/lab";
/// Results that are looked at in a folder: years of them, and few enough to be read.
const RESULTS_MAX: usize = 2000;

/// A result that was found.
#[derive(Debug)]
pub struct Found {
    /// Name of its folder.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The record in it.
    pub record: Record,
}

/// What is in folders.
#[derive(Debug, Default)]
pub struct Records {
    /// Results of the recipe asked for, oldest first.
    pub found: Vec<Found>,
    /// What could not be read, in words.
    pub unread: Vec<String>,
}

/// The records of `recipe` in `folders`, each the folder of a result or one that holds such folders.
///
/// A record that cannot be read is told and left out, as a folder may hold some of other programs' versions; a folder that
/// cannot be read is an error.
pub fn of(recipe: &str, folders: &[PathBuf]) -> Result<Records, Error> {
    let mut records = Records::default();
    for folder in folders {
        for result in results(folder)? {
            match file::read(&result) {
                Ok(record) if record.recipe == recipe => {
                    let name = result.file_name().unwrap_or(result.as_os_str()).to_string_lossy();
                    records.found.push(Found { name: name.into_owned(), folder: result, record });
                }
                Ok(_) => {}
                Err(error) => records.unread.push(error.to_string()),
            }
        }
    }
    records.found.sort_by(|a, b| (&a.record.started, &a.name).cmp(&(&b.record.started, &b.name)));
    records.found.dedup_by(|a, b| a.folder == b.folder);
    Ok(records)
}

/// The newest full record of `recipe` in `folders`; a quick one where there is no other.
pub fn newest(recipe: &str, folders: &[PathBuf]) -> Result<Option<Found>, Error> {
    let mut found = of(recipe, folders)?.found;
    let full = found.iter().rposition(|found| !found.record.quick);
    Ok(full.or(found.len().checked_sub(1)).map(|place| found.swap_remove(place)))
}

/// Folders with a record: this one, or those in it.
fn results(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |cause| Error::File { path: folder.to_owned(), action: "read", cause };
    if folder.join(RECORD).is_file() {
        return Ok(vec![folder.to_owned()]);
    }
    let mut results = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)?.take(RESULTS_MAX) {
        let path = entry.map_err(failed)?.path();
        if path.join(RECORD).is_file() {
            results.push(path);
        }
    }
    results.sort();
    Ok(results)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn by_time_and_what_cannot_be_read() {
        let all = tempfile::tempdir().unwrap();
        let write = |name: &str, started: &str, recipe: &str, quick| {
            let folder = all.path().join(name);
            fs::create_dir(&folder).unwrap();
            let (started, recipe) = (started.to_owned(), recipe.to_owned());
            let record = Record { started, recipe, quick, ..sample::record() };
            file::write_record(&folder, &record).unwrap();
        };
        write("b", "2026-01-01T00:00:00Z", "root", false);
        write("a", "2026-01-02T00:00:00Z", "root", false);
        write("c", "2026-01-03T00:00:00Z", "root", true);
        write("d", "2026-01-03T00:00:00Z", "net", false);
        fs::create_dir(all.path().join("e")).unwrap();
        fs::write(all.path().join("e").join(RECORD), "{").unwrap();
        fs::create_dir(all.path().join("no-result")).unwrap();
        let folders = [all.path().to_owned(), all.path().join("a")];
        let records = of("root", &folders).unwrap();
        let names: Vec<_> = records.found.iter().map(|found| &*found.name).collect();
        assert_eq!(names, ["b", "a", "c"]);
        assert!(records.unread.len() == 1 && records.unread[0].contains("not JSON"), "{:?}", records.unread);
        assert_eq!(newest("root", &folders).unwrap().unwrap().name, "a", "full before quick");
        assert!(newest("start", &folders).unwrap().is_none());
        let absent = of("root", &[all.path().join("absent")]).unwrap_err().to_string();
        assert!(absent.starts_with("cannot read ") && absent.contains("absent"), "{absent}");
    }
}
