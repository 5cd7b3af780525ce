//! What was unpacked into a folder: `peers.json`.

use std::{
    collections::BTreeMap,
    fs, io,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

use super::DAY_SECONDS;
use crate::{Error, error};

/// Name of the file.
const FILE: &str = "peers.json";
/// Months as the list of a distribution's release has them.
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// What was unpacked, and from where.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Stamp {
    /// The suite of the distribution.
    pub suite: String,
    /// The mirror.
    pub mirror: String,
    /// The day of the mirror's list of packages, `2026-10-30`: so old is what was newest then.
    pub released: String,
    /// When it was unpacked, RFC 3339, in UTC.
    pub unpacked: String,
    /// Version of each package that was asked for.
    pub versions: BTreeMap<String, String>,
}

impl Stamp {
    /// That of a folder; `None` where there is no such file, as before all is unpacked.
    pub fn read(folder: &Path) -> Result<Option<Stamp>, Error> {
        let path = folder.join(FILE);
        let text = match fs::read_to_string(&path) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(error::file(&path, "read"))?,
        };
        let stamp = serde_json::from_str(&text).map_err(io::Error::from);
        stamp.map(Some).map_err(error::file(&path, "understand"))
    }

    /// Writes it whole or not at all.
    pub fn write(&self, folder: &Path) -> Result<(), Error> {
        let (path, part) = (folder.join(FILE), folder.join("peers.json.part"));
        let text = serde_json::to_string_pretty(self).expect("texts have a JSON form") + "\n";
        fs::write(&part, text).map_err(error::file(&part, "write"))?;
        fs::rename(&part, &path).map_err(error::file(&path, "create"))
    }

    /// Removes that of a folder whose programs are about to change.
    pub fn remove(folder: &Path) -> Result<(), Error> {
        let path = folder.join(FILE);
        match fs::remove_file(&path) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(error::file(&path, "remove")(cause)),
            _ => Ok(()),
        }
    }

    /// How many days ago the list of packages was made.
    pub fn days(&self, now: SystemTime) -> Option<u64> {
        let mut numbers = self.released.split('-').map(|number| number.parse::<u64>().ok());
        let (year, month, day) = (numbers.next()??, numbers.next()??, numbers.next()??);
        let since = UNIX_EPOCH + Duration::from_secs(days_since_1970(year, month, day)? * DAY_SECONDS);
        Some(now.duration_since(since).ok()?.as_secs() / DAY_SECONDS)
    }
}

/// The day of the `Date` of a release's list, which has it as mail does: `Fri, 30 Oct 2026 08:08:01 UTC`.
pub fn day_of_release(list: &str) -> Option<String> {
    let date = list.lines().find_map(|line| line.strip_prefix("Date:"))?;
    let mut words = date.split_whitespace().skip(1);
    let day: u64 = words.next()?.parse().ok()?;
    let name = words.next()?;
    let month = MONTHS.iter().position(|month| *month == name)? + 1;
    let year: u64 = words.next()?.parse().ok()?;
    Some(format!("{year:04}-{month:02}-{day:02}"))
}

/// Days from the first of 1970 to a date of the Gregorian calendar. Years begin in March, so that the leap day is the last.
fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    days.checked_sub(719_469)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn days() {
        assert_eq!(days_since_1970(1970, 1, 1), Some(0));
        assert_eq!(days_since_1970(2000, 2, 29), Some(951_782_400 / DAY_SECONDS));
        assert_eq!(days_since_1970(2026, 11, 21), Some(1_795_266_900 / DAY_SECONDS));
        assert_eq!(days_since_1970(1969, 12, 31), None);
        let list =
            "Origin: Debian\nSuite: unstable\nDate: Fri, 30 Oct 2026 08:08:01 UTC\nValid-Until: never\n";
        assert_eq!(day_of_release(list).as_deref(), Some("2026-10-30"));
        assert_eq!(day_of_release("Date: yesterday\n"), None);
    }

    #[test]
    fn is_there_whole_or_not() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Stamp::read(folder.path()).unwrap(), None);
        let versions = BTreeMap::from([("nsd".to_owned(), "4.15.4-1".to_owned())]);
        let stamp = Stamp { suite: "unstable".to_owned(), versions, ..Stamp::default() };
        stamp.write(folder.path()).unwrap();
        assert_eq!(Stamp::read(folder.path()).unwrap(), Some(stamp));
        fs::write(folder.path().join(FILE), "{}").unwrap();
        let error = Stamp::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("peers.json: missing field `suite`"), "{error}");
        Stamp::remove(folder.path()).unwrap();
        Stamp::remove(folder.path()).unwrap();
    }
}
