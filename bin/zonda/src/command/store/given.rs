//! The zone files that go into a store: named one by one, those of a folder, and those that a server's settings name.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use control::Settings;
use control::progress::Progress;
use control::settings::Problem;
use control::text::{cannot, count};
use control::wanted::{Cost, Source, name_of_file, wanted};
use wire::NameBuf;

use super::Lines;
use crate::command::complain;

/// Zones that are left out are named up to so many: a server may have millions of them from elsewhere.
const LEFT_OUT_SHOWN: usize = 20;

/// Zones beside those that are named one by one.
#[derive(clap::Args)]
pub struct More {
    /// Folder with zone files too, each named after its zone
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Names of the files in the folder; `{name}` stands for the zone, `@` for the root zone
    #[arg(long, value_name = "PATTERN", default_value = "{name}.zone", value_parser = pattern)]
    pattern: String,
    /// Zone files of a server too, those that its settings name; zones that it has from elsewhere are left out
    #[arg(long, value_name = "FILE")]
    from_config: Option<PathBuf>,
}

fn pattern(text: &str) -> Result<String, String> {
    match text.matches("{name}").count() {
        1 => Ok(text.to_owned()),
        _ => Err("expected `{name}` once".into()),
    }
}

impl More {
    /// All of them, behind those that were named. Errors where one is there twice.
    pub fn with(&self, named: &[(NameBuf, PathBuf)]) -> Result<Vec<(NameBuf, PathBuf)>, Lines> {
        let mut zones = named.to_vec();
        if let Some(folder) = &self.folder {
            let mut found = in_folder(folder, &self.pattern)?;
            if found.is_empty() {
                return Err(vec![format!("{}: no file is named as {}", folder.display(), self.pattern)]);
            }
            zones.append(&mut found);
        }
        if let Some(settings) = &self.from_config {
            zones.append(&mut of_settings(settings)?);
        }
        let mut names: Vec<String> = zones.iter().map(|(name, _)| name.to_lowercase().to_string()).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(vec![format!("zone {} is given twice", pair[0])]),
            None => Ok(zones),
        }
    }
}

/// Zone files of a folder by their names, in the order of these.
fn in_folder(folder: &Path, pattern: &str) -> Result<Vec<(NameBuf, PathBuf)>, Lines> {
    let describe = |error: std::io::Error| vec![format!("{}: {}", folder.display(), cannot("read", &error))];
    let mut zones = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(describe)? {
        let path = entry.map_err(describe)?.path();
        let file = path.file_name().unwrap_or(OsStr::new(""));
        match name_of_file(file, pattern) {
            None => {}
            Some(Ok((name, _))) => zones.push((name, path)),
            Some(Err(error)) => {
                return Err(vec![format!("{}: named after no zone: {error}", path.display())]);
            }
        }
    }
    zones.sort_by(|one, other| one.1.cmp(&other.1));
    Ok(zones)
}

/// Zones that settings have in files, in the order of their names: indexes of millions are filled at their end then. Errors where anything is wrong with the settings, or a list or folder that they name: zones would be missing.
fn of_settings(file: &Path) -> Result<Vec<(NameBuf, PathBuf)>, Lines> {
    let said = |problems: Vec<Problem>| problems.iter().map(ToString::to_string).collect::<Lines>();
    let settings = Settings::read(file).map_err(said)?;
    let (found, problems) = wanted(&settings, &Progress::default());
    let (odd, wrong): (Vec<_>, Vec<_>) = problems.iter().partition(|(cost, _)| *cost == Cost::Nothing);
    if !wrong.is_empty() {
        return Err(wrong.iter().map(|(_, problem)| problem.to_string()).collect());
    }
    let odd = odd.iter().map(|(_, problem)| problem.to_string()).chain(found.warnings.iter().cloned());
    odd.for_each(|line| complain([line.as_str()]));
    let (mut zones, mut left_out) = (Vec::with_capacity(found.len()), 0);
    for (name, id) in found.iter() {
        match found.sources.get(id, name) {
            Some(Source::File(path)) => zones.push((name.to_owned(), path)),
            source => {
                left_out += 1;
                if left_out <= LEFT_OUT_SHOWN {
                    let from = source.map(|source| format!(", but from {source}")).unwrap_or_default();
                    complain([format!("zone {name} is left out: it is of no file{from}").as_str()]);
                }
            }
        }
    }
    if left_out > LEFT_OUT_SHOWN {
        let more = count(left_out - LEFT_OUT_SHOWN, "more zone");
        complain([format!("{more} left out: of no file").as_str()]);
    }
    zones.sort_by_cached_key(|(name, _)| name.to_lowercase().to_string());
    match zones.is_empty() {
        true => Err(vec![format!("{}: no zone of it is in a file", file.display())]),
        false => Ok(zones),
    }
}
