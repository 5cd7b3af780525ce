//! Rights that the process gives up before it opens the store, which others write: all of the file system but the folder of a file, all of TCP but the port of a database, signals to
//! others, new rights.

use std::os::fd::RawFd;
use std::path::Path;
use std::{fs, io};

use landlock::{
    ABI, Access, AccessFs, AccessNet, NetPort, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
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

/// Gives up all but the folder of the database: SQLite needs that for what it has beside the file. `is_read`: it is read alone. The error: there is no such folder, as yet. Says
/// whether the kernel sees to it.
pub(crate) fn confine_to_folder(folder: &Path, is_read: bool) -> io::Result<bool> {
    let folder = PathFd::new(folder).map_err(|error| match fs::metadata(folder) {
        Err(missing) => missing,
        Ok(_) => io::Error::other(error),
    })?;
    restrict(Some((folder, is_read)), None).map_err(io::Error::other)
}

/// Gives up all but connecting to one port, or that too. Says whether the kernel sees to it.
pub(crate) fn confine_to_port(port: Option<u16>) -> io::Result<bool> {
    restrict(None, port).map_err(io::Error::other)
}

fn restrict(folder: Option<(PathFd, bool)>, port: Option<u16>) -> Result<bool, RulesetError> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let write = AccessFs::WriteFile | AccessFs::Truncate | AccessFs::MakeReg | AccessFs::RemoveFile;
    let beneath = folder.map(|(folder, is_read)| {
        Ok::<_, RulesetError>(PathBeneath::new(folder, if is_read { read } else { read | write }))
    });
    let connecting = port.map(|port| Ok::<_, RulesetError>(NetPort::new(port, AccessNet::ConnectTcp)));
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(ABI_WANTED))?
        .handle_access(AccessNet::from_all(ABI_WANTED))?
        .scope(Scope::from_all(ABI_WANTED))?
        .create()?
        .add_rules(beneath)?
        .add_rules(connecting)?
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
            if !confine_to_folder(path.parent().unwrap(), false).unwrap() {
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
        assert_eq!(
            confine_to_folder(Path::new("/nowhere/at"), false).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }

    /// Of a database of others nothing can be written, nor beside it.
    #[test]
    fn a_folder_to_read() {
        let own = tempfile::tempdir().unwrap();
        let path = own.path().join("pdns.db");
        std::fs::write(&path, "").unwrap();
        let confined = move || {
            if !confine_to_folder(path.parent().unwrap(), true).unwrap() {
                eprintln!("this kernel has no Landlock");
                return;
            }
            assert!(File::open(&path).is_ok());
            assert!(File::options().write(true).open(&path).is_err());
            assert!(File::create(path.with_extension("db-wal")).is_err() && fs::remove_file(&path).is_err());
        };
        std::thread::spawn(confined).join().unwrap();
    }

    /// Of a thread, too: the port of the database is there, another one is not, and no file at all.
    #[test]
    fn its_port_is_all_there_is() {
        use std::net::{TcpListener, TcpStream};
        let (own, other) =
            (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        let (own, other) = (own.local_addr().unwrap(), other.local_addr().unwrap());
        let confined = move |port: Option<u16>| {
            if !confine_to_port(port).unwrap() {
                eprintln!("this kernel has no Landlock");
                return;
            }
            // A kernel before 6.7 knows files alone.
            if TcpStream::connect(other).is_err() {
                assert_eq!(TcpStream::connect(own).is_ok(), port.is_some());
            }
            assert!(File::open("/etc/passwd").is_err() && fs::read_dir("/").is_err());
        };
        std::thread::spawn(move || confined(Some(own.port()))).join().unwrap();
        std::thread::spawn(move || confined(None)).join().unwrap();
    }
}
