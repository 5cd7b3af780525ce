//! Which programs of other servers are measured: the system's, Debian unstable's, or those of a folder.
//!
//! A distribution's servers are as old as its release. `unpack` fetches the newest that Debian has, and [`Folder`] runs them
//! without installing them. All of the laboratory finds programs by [`crate::process`], which asks here first.

mod folder;
mod stamp;
mod unpack;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{OnceLock, atomic::AtomicBool},
    time::SystemTime,
};

pub use folder::Folder;
pub use stamp::Stamp;
pub use unpack::{Order, PACKAGES, unpack};

use crate::{Error, process, recipe::Name, run};

/// Below the folder of generated data, where `--peers unstable` unpacks and is looked for.
pub const UNSTABLE: &str = "peers-unstable";
/// Packages of unstable that are older than this many days are not the newest any more: Debian's servers get a new version every
/// month or two.
const DAYS_MAX: u64 = 60;
const DAY_SECONDS: u64 = 86_400;

/// Those that are measured.
static CHOSEN: OnceLock<Folder> = OnceLock::new();

/// Which programs a user asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Those that are installed.
    System,
    /// Debian unstable's: unpacked where they are not there yet.
    Unstable,
    /// Those of a folder; what is not in there is the system's.
    Folder(PathBuf),
}

impl Source {
    /// `system`, `unstable`, or a folder.
    pub fn from_text(text: &str) -> Source {
        match text {
            "system" => Source::System,
            "unstable" => Source::Unstable,
            folder => Source::Folder(folder.into()),
        }
    }
}

/// The folder of those that are measured; `None`: the system's are.
pub fn chosen() -> Option<&'static Folder> {
    CHOSEN.get()
}

/// Chooses the programs of peers for the rest of this process, and says what the record is to say of them: in a word or two, and
/// as notes. `data`: the folder of generated data. Without a wish: unstable's where they have been unpacked, else the system's.
/// `names`: who takes part.
pub fn choose(
    asked: Option<&Source>,
    data: &Path,
    names: &[Name],
    stop: &AtomicBool,
) -> Result<(String, Vec<String>), Error> {
    let own = data.join(UNSTABLE);
    let folder = match asked {
        Some(Source::System) => None,
        Some(Source::Folder(path)) => Some(Folder::open(path)?),
        Some(Source::Unstable) => Some(unpack(&Order { folder: own, mirror: None, again: false }, stop)?),
        None if Stamp::read(&own)?.is_some() => Some(Folder::open(&own)?),
        None => None,
    };
    let (text, notes) = match &folder {
        Some(folder) => (described(folder), stale(folder).into_iter().collect()),
        None => ("the system's".to_owned(), age(names).into_iter().collect()),
    };
    if let Some(folder) = folder {
        // A second choice in one process would find the versions of the first remembered.
        let _ = CHOSEN.set(folder);
    }
    Ok((text, notes))
}

/// What a folder has, for the record.
fn described(folder: &Folder) -> String {
    match &folder.stamp {
        Some(stamp) => format!("Debian {} of {}", stamp.suite, stamp.released),
        None => format!("those of {}", folder.path().file_name().unwrap_or_default().to_string_lossy()),
    }
}

/// Says so where what was unpacked is not the newest any more.
fn stale(folder: &Folder) -> Option<String> {
    let stamp = folder.stamp.as_ref()?;
    let days = stamp.days(SystemTime::now())?;
    (days > DAYS_MAX).then(|| {
        format!(
            "peers are Debian {}'s of {}, {days} days ago; `zonda-bench lab peers unstable --again` fetches newer ones",
            stamp.suite, stamp.released
        )
    })
}

/// How old the system's programs are: the packagers' time of the file. Nothing where none takes part, or none is there.
fn age(names: &[Name]) -> Option<String> {
    let of = |name: &Name| {
        let modified = fs::metadata(process::find(name.program()?)?).ok()?.modified().ok()?;
        let seconds = modified.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
        Some(format!("{} of {}", name.text(), &run::rfc3339(seconds)[..7]))
    };
    let ages: Vec<String> = names.iter().filter_map(of).collect();
    (!ages.is_empty()).then(|| {
        format!(
            "peers are the system's: {}; `zonda-bench lab peers unstable` fetches Debian's newest, which are then the default",
            ages.join(", ")
        )
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_wish_is_a_word_or_a_folder() {
        assert_eq!(Source::from_text("system"), Source::System);
        assert_eq!(Source::from_text("unstable"), Source::Unstable);
        assert_eq!(Source::from_text("./system"), Source::Folder("./system".into()));
    }

    #[test]
    fn says_how_old_programs_are() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("nsd"), "").unwrap();
        let mut folder = Folder::open(place.path()).unwrap();
        assert_eq!((described(&folder).as_str().split(' ').next(), stale(&folder)), (Some("those"), None));
        let day = |days: u64| run::rfc3339(days * DAY_SECONDS)[..10].to_owned();
        let today = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() / DAY_SECONDS;
        let stamp = |released| Stamp { suite: "unstable".to_owned(), released, ..Stamp::default() };
        folder.stamp = Some(stamp(day(today - DAYS_MAX)));
        assert_eq!(stale(&folder), None);
        folder.stamp = Some(stamp(day(today - DAYS_MAX - 1)));
        assert!(
            stale(&folder).unwrap().contains("61 days ago")
                && described(&folder).starts_with("Debian unstable of")
        );
        assert_eq!(
            stamp(day(20_000)).days(SystemTime::UNIX_EPOCH + Duration::from_secs(20_003 * DAY_SECONDS)),
            Some(3)
        );
        // Nobody of those who take part is a program of the system.
        assert_eq!(age(&[Name::Zonda, Name::Echo]), None);
    }
}
