//! Rights that the process gives up before it opens the file, which others write: all of the file system but its folder, TCP, signals to others, new rights.

use std::os::fd::RawFd;
use std::path::Path;
use std::{fs, io};

use landlock::{
    ABI, Access, AccessFs, AccessNet, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope,
};
use rustix::process::{Resource, Rlimit, setrlimit};

/// Descriptors: the pair, and what SQLite has open of one database.
const DESCRIPTORS_MAX: u64 = 64;

/// Octets of memory: the pages of the file that SQLite keeps (64 MiB, twice), a page of rows, and the list of a million zones.
const DATA_OCTETS_MAX: u64 = 512 << 20;

/// The newest part of Landlock that is asked for; older kernels give what they know.
const ABI_WANTED: ABI = ABI::V6;

/// Closes what whoever started the server had open and did not keep from it: it was handed on to this process, too. To be called first.
pub(crate) fn close_inherited() -> io::Result<()> {
    let open = fs::read_dir("/proc/self/fd")?;
    let numbers: Vec<RawFd> =
        open.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    // One of them was the folder's, which is closed already.
    for number in numbers.into_iter().filter(|number| *number > 2) {
        let _ = nix::unistd::close(number);
    }
    Ok(())
}

/// Bounds of the process, and no new rights.
pub(crate) fn limit() -> io::Result<()> {
    let limit = |most| Rlimit { current: Some(most), maximum: Some(most) };
    setrlimit(Resource::Nofile, limit(DESCRIPTORS_MAX))?;
    setrlimit(Resource::Core, limit(0))?;
    setrlimit(Resource::Data, limit(DATA_OCTETS_MAX))?;
    Ok(rustix::thread::set_no_new_privs(true)?)
}

/// Gives up all but the folder of the database: SQLite needs that for what it has beside the file. The error: there is no such folder, as yet. Says whether the kernel sees to it.
pub(crate) fn confine(file: &Path) -> io::Result<bool> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let folder = PathFd::new(folder).map_err(|error| match fs::metadata(folder) {
        Err(missing) => missing,
        Ok(_) => io::Error::other(error),
    })?;
    restrict(folder).map_err(io::Error::other)
}

fn restrict(folder: PathFd) -> Result<bool, RulesetError> {
    let files = AccessFs::ReadFile
        | AccessFs::ReadDir
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeReg
        | AccessFs::RemoveFile;
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(ABI_WANTED))?
        .handle_access(AccessNet::from_all(ABI_WANTED))?
        .scope(Scope::from_all(ABI_WANTED))?
        .create()?
        .add_rule(PathBeneath::new(folder, files))?
        .restrict_self()?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs::File;

    /// Of a thread, so that other tests go on as they were.
    #[test]
    fn its_folder_is_all_there_is() {
        let (own, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(own.path().join("zones.db"), "").unwrap();
        let (path, elsewhere) = (own.path().join("zones.db"), other.path().join("x"));
        let confined = move || {
            if !confine(&path).unwrap() {
                eprintln!("this kernel has no Landlock");
                return;
            }
            assert!(File::options().read(true).write(true).open(&path).is_ok());
            assert!(File::create(path.with_extension("db-wal")).is_ok());
            assert!(fs::remove_file(path.with_extension("db-wal")).is_ok());
            assert!(File::create(&elsewhere).is_err() && File::open("/etc/passwd").is_err());
            assert!(std::net::TcpStream::connect("127.0.0.1:1").is_err());
        };
        std::thread::spawn(confined).join().unwrap();
        assert!(File::open("/etc/passwd").is_ok());
        assert_eq!(confine(Path::new("/nowhere/at/all")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
