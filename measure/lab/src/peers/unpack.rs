//! Debian unstable's packages of the peers, in a folder: fetched by apt with a state of its own there, unpacked by dpkg-deb. Needs
//! no right beyond writing that folder. Nothing is installed, configured or run, and what the system's apt knows stays as it is.
//!
//! Each step begins where the one before it was whole: a package that was fetched is not fetched again, what was being unpacked
//! is unpacked anew, and the stamp is written last.

use std::{
    collections::BTreeMap,
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::{SystemTime, UNIX_EPOCH},
};

use rustix::fs::statvfs;

use super::{
    Folder, Stamp,
    folder::{SCRIPTS, TREE},
    stamp::day_of_release,
};
use crate::{Error, error, place::Place, process, run};

/// What is fetched, and the programs of each that are run.
pub const PACKAGES: [(&str, &[&str]); 13] = [
    ("knot", &["knotd", "knotc"]),
    ("knot-dnsutils", &["kdig", "kxdpgun"]),
    ("nsd", &["nsd", "nsd-control"]),
    ("bind9", &["named", "rndc"]),
    ("unbound", &["unbound", "unbound-control"]),
    ("pdns-server", &["pdns_server", "pdns_control", "pdnsutil"]),
    ("pdns-backend-bind", &[]),
    ("pdns-backend-sqlite3", &[]),
    ("pdns-backend-pgsql", &[]),
    ("pdns-recursor", &["pdns_recursor", "rec_control"]),
    ("knot-resolver6", &["kresd"]),
    ("dnsperf", &["dnsperf"]),
    // Makes the database of PowerDNS, whose own tool of version 5 cannot.
    ("sqlite3", &["sqlite3"]),
];
/// The suite they are of.
const SUITE: &str = "unstable";
/// Debian's keys, where the system is not Debian itself.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Room that is asked for before anything is fetched: lists, packages and files took 0.5 GiB, and servers grow.
const ROOM_OCTETS: u64 = 1 << 30;
/// Below a folder, what apt keeps while it fetches.
const FETCHED: &str = "apt";
/// Folders of a tree that others are mounted on, and the links that packages expect to be there.
const MOUNTED: [&str; 3] = ["dev", "proc", "tmp"];
const LINKS: [&str; 4] = ["bin", "sbin", "lib", "lib64"];

/// What is to be unpacked.
#[derive(Clone, Debug)]
pub struct Order {
    /// Where to.
    pub folder: PathBuf,
    /// The mirror, instead of the one that apt is set up with.
    pub mirror: Option<String>,
    /// Whether what is there is replaced by what is newest now.
    pub again: bool,
}

/// Unpacks the newest packages into a folder, where they are not there yet, and opens it.
pub fn unpack(order: &Order, stop: &AtomicBool) -> Result<Folder, Error> {
    fs::create_dir_all(&order.folder).map_err(error::file(&order.folder, "create"))?;
    let folder = fs::canonicalize(&order.folder).map_err(error::file(&order.folder, "open"))?;
    let _lock = lock(&folder)?;
    if Stamp::read(&folder)?.is_some() && !order.again {
        return Folder::open(&folder);
    }
    let made = Making { folder, stop }.make(order);
    made.map_err(|error| match error {
        Error::Interrupted => error,
        error => Error::Peers { folder: order.folder.clone(), cause: Box::new(error) },
    })
}

/// Keeps others from unpacking there at the same time, for as long as it lives.
fn lock(folder: &Path) -> Result<File, Error> {
    let path = folder.join("lock");
    let lock = File::create(&path).map_err(error::file(&path, "create"))?;
    match lock.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(error::file(&path, "take")(io::Error::other("another process unpacks there")))
        }
        Err(TryLockError::Error(cause)) => Err(error::file(&path, "take")(cause)),
        Ok(()) => Ok(lock),
    }
}

/// A folder that is being filled.
struct Making<'a> {
    folder: PathBuf,
    stop: &'a AtomicBool,
}

impl Making<'_> {
    fn make(&self, order: &Order) -> Result<Folder, Error> {
        for program in ["apt-get", "dpkg", "dpkg-deb"] {
            let remedy = "Debian's packages are unpacked by apt and dpkg; without these install the servers and measure \
                          them with --peers system, or those of a folder with --peers FOLDER";
            process::find(program).ok_or_else(|| Error::Missing { program: program.to_owned(), remedy })?;
        }
        self.has_room()?;
        fs::create_dir_all(self.fetched()).map_err(error::file(&self.fetched(), "create"))?;
        let mirror = order.mirror.clone().map_or_else(|| self.mirror(), Ok)?;
        eprintln!("lab: fetching Debian {SUITE}'s packages of the peers from {mirror}");
        self.write_settings(&mirror)?;
        let released = self.fetch()?;
        let packages = self.packages()?;
        eprintln!("lab: unpacking {} packages of {released}", packages.len());
        let versions = self.unpack(&packages)?;
        Folder::write_scripts(&self.folder, programs())?;
        let unpacked = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let unpacked = run::rfc3339(unpacked);
        Stamp { suite: SUITE.to_owned(), mirror, released, unpacked, versions }.write(&self.folder)?;
        fs::remove_dir_all(self.fetched()).map_err(error::file(&self.fetched(), "remove"))?;
        Folder::open(&self.folder)
    }

    fn fetched(&self) -> PathBuf {
        self.folder.join(FETCHED)
    }

    /// Fails before anything is fetched, rather than in the midst of it.
    fn has_room(&self) -> Result<(), Error> {
        let Ok(found) = statvfs(&self.folder) else { return Ok(()) };
        let free = found.f_bavail.saturating_mul(found.f_frsize);
        if free < ROOM_OCTETS {
            let text = format!("{} MiB are free of {} MiB that are needed", free >> 20, ROOM_OCTETS >> 20);
            return Err(error::file(&self.folder, "fill")(io::Error::other(text)));
        }
        Ok(())
    }

    /// The mirror of the running release, as apt is set up with it.
    fn mirror(&self) -> Result<String, Error> {
        let system = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let targets = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)"];
        let said = self.run(&[&targets[..], &["Created-By: Packages"]].concat())?;
        let missing = || Error::Option {
            option: "--mirror",
            rule: "name a mirror of Debian: apt is set up with none here".to_owned(),
        };
        mirror_of(&said, &system).map(str::to_owned).ok_or_else(missing)
    }

    /// Settings of apt by which it knows nothing but this folder. Hooks of the system are left out, as they are about the
    /// system's packages; its proxies stay. A list is taken however old it is, as its signature holds and its day is told.
    fn write_settings(&self, mirror: &str) -> Result<(), Error> {
        let apt = self.fetched();
        for below in ["lists/partial", "archives/partial", "empty"] {
            let path = apt.join(below);
            fs::create_dir_all(&path).map_err(error::file(&path, "create"))?;
        }
        let architecture = self.run(&["dpkg", "--print-architecture"])?;
        let signed =
            if Path::new(KEYRING).is_file() { format!(" signed-by={KEYRING}") } else { String::new() };
        let sources = format!("deb [arch={}{signed}] {mirror} {SUITE} main\n", architecture.trim());
        let at = |below: &str| apt.join(below).display().to_string();
        let settings: String = [
            ("Dir::State", at("")),
            ("Dir::State::lists", at("lists")),
            ("Dir::State::status", at("status")),
            ("Dir::Cache", at("")),
            ("Dir::Cache::archives", at("archives")),
            ("Dir::Log", at("")),
            ("Dir::Etc::sourcelist", at("sources.list")),
            ("Dir::Etc::sourceparts", at("empty")),
            ("Dir::Etc::preferences", at("status")),
            ("Dir::Etc::preferencesparts", at("empty")),
            ("APT::Sandbox::User", "root".to_owned()),
            ("APT::Install-Recommends", "false".to_owned()),
            ("APT::Update::Error-Mode", "any".to_owned()),
            ("Acquire::Check-Valid-Until", "false".to_owned()),
            ("Acquire::Languages", "none".to_owned()),
        ]
        .map(|(name, value)| format!("{name} \"{value}\";\n"))
        .concat();
        let hooks = "#clear APT::Update;\n#clear DPkg::Pre-Invoke;\n#clear DPkg::Post-Invoke;\n#clear DPkg::Pre-Install-Pkgs;\n";
        for (name, text) in
            [("apt.conf", hooks.to_owned() + &settings), ("sources.list", sources), ("status", String::new())]
        {
            let path = apt.join(name);
            fs::write(&path, text).map_err(error::file(&path, "write"))?;
        }
        Ok(())
    }

    /// Fetches the list of packages, and those that are not there yet with all that they depend on. Returns the day of the list.
    fn fetch(&self) -> Result<String, Error> {
        let settings = self.fetched().join("apt.conf").display().to_string();
        let apt = ["apt-get", "-c", &settings, "-q", "-y"];
        self.run(&[&apt[..], &["update"]].concat())?;
        let names: Vec<&str> = PACKAGES.iter().map(|(name, _)| *name).collect();
        self.run(&[&apt[..], &["install", "--download-only"], &names].concat())?;
        let lists = self.fetched().join("lists");
        let list = files(&lists)?.into_iter().find(|path| path.to_string_lossy().ends_with("InRelease"));
        let text = list.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        day_of_release(&text)
            .ok_or(Error::Output { program: "apt-get update", wanted: "a list with its day" })
    }

    /// The packages that are there now, of which apt keeps those of earlier tries.
    fn packages(&self) -> Result<Vec<PathBuf>, Error> {
        let mut all = files(&self.fetched().join("archives"))?;
        all.retain(|path| path.extension().is_some_and(|extension| extension == "deb"));
        all.sort();
        Ok(all)
    }

    /// Unpacks into a tree that takes the place of what is there once it is whole. Returns the versions of what was asked for.
    fn unpack(&self, packages: &[PathBuf]) -> Result<BTreeMap<String, String>, Error> {
        let part = self.folder.join("root.part");
        let _ = fs::remove_dir_all(&part);
        let mut versions = BTreeMap::new();
        for package in packages {
            let file = package.display().to_string();
            self.run(&["dpkg-deb", "--extract", &file, &part.display().to_string()])?;
            let said = self.run(&["dpkg-deb", "--show", &file])?;
            let (name, version) = said.trim().split_once('\t').unwrap_or_default();
            if PACKAGES.iter().any(|(wanted, _)| *wanted == name) {
                versions.insert(name.to_owned(), version.to_owned());
            }
        }
        for below in MOUNTED {
            let path = part.join(below);
            fs::create_dir_all(&path).map_err(error::file(&path, "create"))?;
        }
        for link in LINKS.map(|link| (part.join(link), format!("usr/{link}"))) {
            if fs::symlink_metadata(&link.0).is_err() {
                symlink(&link.1, &link.0).map_err(error::file(&link.0, "create"))?;
            }
        }
        Stamp::remove(&self.folder)?;
        for old in [TREE, SCRIPTS] {
            let _ = fs::remove_dir_all(self.folder.join(old));
        }
        let tree = self.folder.join(TREE);
        fs::rename(&part, &tree).map_err(error::file(&tree, "create"))?;
        Ok(versions)
    }

    fn run(&self, words: &[&str]) -> Result<String, Error> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        process::run(&words, &Place::default(), &self.fetched(), self.stop)
    }
}

/// All programs of the packages that are run.
pub fn programs() -> impl Iterator<Item = &'static str> {
    PACKAGES.iter().flat_map(|(_, programs)| programs.iter().copied())
}

/// Of lines `MIRROR RELEASE COMPONENT` the mirror of the main part of this system's release, where it is Debian.
fn mirror_of<'a>(targets: &'a str, system: &str) -> Option<&'a str> {
    let of = |name: &str| {
        let value = system.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
        Some(value.trim_matches('"').to_owned())
    };
    let release = of("VERSION_CODENAME").filter(|_| of("ID").as_deref() == Some("debian"))?;
    let words = targets.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let mut ours = words.filter(|words| words[1..] == [release.as_str(), "main"]);
    ours.next().map(|words| words[0].trim_end_matches('/'))
}

/// The files of a folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(folder).map_err(error::file(folder, "read"))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_that_of_the_release() {
        let targets = "http://other.example/ stable main\nhttp://mirror.example/debian/ bookworm-updates main\n\
                       http://mirror.example/debian/ bookworm main\n";
        let debian = "ID=debian\nVERSION_CODENAME=bookworm\n";
        assert_eq!(mirror_of(targets, debian), Some("http://mirror.example/debian"));
        assert_eq!(mirror_of(targets, "ID=\"ubuntu\"\nVERSION_CODENAME=bookworm\n"), None);
        assert_eq!(mirror_of("", debian), None);
        assert_eq!(mirror_of("\n\n", debian), None);
    }

    #[test]
    fn one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = lock(folder.path()).unwrap();
        let error = lock(folder.path()).unwrap_err().to_string();
        assert!(error.contains("another process unpacks there"), "{error}");
        drop(first);
        lock(folder.path()).unwrap();
    }

    #[test]
    fn a_program_is_of_one_package() {
        let all: Vec<&str> = programs().collect();
        let once: std::collections::BTreeSet<&str> = all.iter().copied().collect();
        assert_eq!(all.len(), once.len());
        // Everyone who takes part and is not of this project can be fetched.
        for program in crate::recipe::Name::ALL.into_iter().filter_map(crate::recipe::Name::program) {
            assert!(once.contains(program), "{program}");
        }
    }
}
