//! Negative trust anchors (RFC 7646): names that are not validated for a while, as whoever runs them has broken them.
//!
//! ```text
//! negative-anchors   a line each: name, its end in seconds since 1970      in the folder of what outlives the process
//! ```

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use cache::Flush;
use wire::NameBuf;

use super::Recursion;
use super::anchors::replace;

/// Most at a time: each is somebody's fault that an operator has looked at.
const ANCHORS_MAX: usize = 256;
/// The file, and where it is made.
const FILE: &str = "negative-anchors";
const TEMPORARY: &str = "negative-anchors.new";
/// Octets of the longest file that is read: as many as there may be, each name written with escapes.
const FILE_OCTETS_MAX: u64 = (ANCHORS_MAX * 1_100) as u64;

/// What the clock says, in seconds since 1970.
pub(super) fn wall() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Those there are, with the end of each in seconds since 1970.
type Ends = HashMap<NameBuf, u64>;

/// Where they are kept.
pub(super) struct Negatives {
    ends: sync::Mutex<Ends>,
    /// Where there is a folder.
    path: Option<PathBuf>,
}

impl Negatives {
    /// Those that have not ended since they were written, in a folder if there is one.
    pub(super) fn new(folder: Option<&Path>) -> Negatives {
        let path = folder.map(|folder| folder.join(FILE));
        let ends = path.as_deref().map(|path| read(path, wall())).unwrap_or_default();
        Negatives { ends: sync::Mutex::named("negative trust anchors", ends), path }
    }

    /// Puts them into terms.
    pub(super) fn apply(&self, terms: &mut super::Terms) {
        for (name, until) in self.ends.lock().iter() {
            terms.resolve.anchors.set_negative(name, Some(*until));
        }
    }

    /// Writes them for the next start. Where that fails the log says so, the file stays as it was, and these last as long as the process. What went wrong.
    fn write(&self, ends: &Ends) -> Option<String> {
        let path = self.path.as_ref()?;
        let error = replace(path, TEMPORARY, &text(ends)).err()?;
        let line = format!("cannot write {}: {error}", path.display());
        let what = "the next start begins with those of before";
        tracing::warn!(error = error.to_string(), "negative trust anchors: {line}; {what}");
        Some(line)
    }
}

impl Recursion {
    /// Has nothing at or below `name` validated for so many seconds, or again from now on. What was learned there is forgotten, and all that was proved by it. What
    /// the operator should know beside: that it is so for this process alone.
    pub(crate) fn set_negative(
        &self,
        name: &NameBuf,
        seconds: Option<u64>,
    ) -> Result<Option<String>, String> {
        let mut ends = self.negatives.ends.lock();
        match seconds {
            Some(_) if ends.len() >= ANCHORS_MAX && !ends.contains_key(name) => {
                return Err(format!("there are {ANCHORS_MAX} negative trust anchors already"));
            }
            Some(seconds) => drop(ends.insert(name.clone(), wall().saturating_add(seconds))),
            None if ends.remove(name).is_none() => {
                return Err(format!("there is no negative trust anchor at {name}"));
            }
            None => {}
        }
        let fault = self.negatives.write(&ends);
        drop(ends);
        self.renew(name);
        Ok(fault.map(|fault| match seconds {
            Some(_) => format!("{fault}; the negative trust anchor is in effect, and ends with this process"),
            None => {
                format!("{fault}; the negative trust anchor has ended, and is there again after a restart")
            }
        }))
    }

    /// Those there are, with the seconds that are left.
    pub(crate) fn negatives(&self) -> Vec<(NameBuf, u64)> {
        let now = wall();
        let ends = self.negatives.ends.lock();
        let mut all: Vec<(NameBuf, u64)> =
            ends.iter().map(|(name, until)| (name.clone(), until.saturating_sub(now))).collect();
        all.sort_by_cached_key(|(name, _)| name.to_string());
        all
    }

    /// Ends those whose time has come.
    pub(crate) fn end_negatives(&self) {
        let now = wall();
        let ended: Vec<NameBuf> = {
            let mut ends = self.negatives.ends.lock();
            let ended: Vec<NameBuf> =
                ends.extract_if(|_, until| *until <= now).map(|(name, _)| name).collect();
            if !ended.is_empty() {
                self.negatives.write(&ends);
            }
            ended
        };
        for name in ended {
            tracing::info!(name = name.to_string(), "the negative trust anchor at {name} has ended");
            self.renew(&name);
        }
    }

    /// Has workers go by the negative trust anchors of now, and forgets what was learned at and below a name.
    fn renew(&self, name: &NameBuf) {
        self.change(|terms| terms.resolve.anchors.set_negative(name, None));
        self.cache().flush(&Flush::Tree(name.clone()), self.now());
        self.forget_zones();
    }
}

fn text(ends: &Ends) -> String {
    let mut lines: Vec<String> = ends.iter().map(|(name, until)| format!("{name} {until}\n")).collect();
    lines.sort();
    lines.concat()
}

fn whole(path: &Path) -> Result<String, String> {
    let (file, state) = crate::read::open_regular(path)?;
    if state.len() > FILE_OCTETS_MAX {
        return Err(format!("{} octets are more than such a file has", state.len()));
    }
    let mut text = String::new();
    let read = file.take(FILE_OCTETS_MAX).read_to_string(&mut text);
    read.map_err(|error| crate::text::cannot("read", &error))?;
    Ok(text)
}

/// Those of a file that end after `now`; the log says what of it cannot be read.
fn read(path: &Path, now: u64) -> Ends {
    if !path.exists() {
        return Ends::new();
    }
    let text = match whole(path) {
        Ok(text) => text,
        Err(line) => {
            tracing::warn!(error = line, "{}: {line}; there are no negative trust anchors", path.display());
            return Ends::new();
        }
    };
    let mut ends = Ends::new();
    for (number, line) in text.lines().enumerate() {
        let read = line.rsplit_once(' ').and_then(|(name, until)| {
            Some((NameBuf::from_text(name).ok()?.to_lowercase(), until.parse::<u64>().ok()?))
        });
        match read {
            Some((name, until)) if ends.len() < ANCHORS_MAX && until > now => drop(ends.insert(name, until)),
            Some(_) => {}
            None => {
                let at = format!("{}:{}", path.display(), number + 1);
                tracing::warn!("{at}: expected a name and seconds since 1970; the line is left out");
            }
        }
    }
    ends
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_written_is_read_until_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        assert_eq!(read(&path, 0), Ends::new(), "no file is none");
        let name = |text: &str| NameBuf::from_text(text).unwrap();
        let ends = Ends::from([(name("broken.org"), 200), (name("a\\032b.example"), 100)]);
        replace(&path, TEMPORARY, &text(&ends)).unwrap();
        assert_eq!(read(&path, 99), ends);
        assert_eq!(read(&path, 100), Ends::from([(name("broken.org"), 200)]));
        assert_eq!(read(&path, 200), Ends::new());
    }

    #[test]
    fn of_a_damaged_file_the_good_lines_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        fs::write(&path, "broken.org. 200\nno number\n200\n\nA.example 300\n").unwrap();
        let mut names: Vec<String> = read(&path, 0).into_keys().map(|name| name.to_string()).collect();
        names.sort();
        assert_eq!(names, ["a.example.", "broken.org."]);
        fs::write(&path, vec![b'a'; FILE_OCTETS_MAX as usize + 1]).unwrap();
        assert_eq!(read(&path, 0), Ends::new());
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert_eq!(read(&path, 0), Ends::new());
    }
}
