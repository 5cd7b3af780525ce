//! Rights that the process gives up before it reads an octet of a stranger.

use std::os::fd::RawFd;
use std::{fs, io};

use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetError, RulesetStatus, Scope};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::pair::LISTENERS_MAX;

/// Descriptors that the process itself has, beside connections and listeners.
const DESCRIPTORS_OWN: usize = 32;

/// The newest part of Landlock that is asked for; older kernels give what they know: from 5.13 on the file system, from 6.7 on connections, from 6.12 on
/// signals and abstract sockets.
const ABI_WANTED: ABI = ABI::V6;

/// Closes what whoever started the server had open and did not keep from it: it was handed on to this process, too. To be called first, while nothing is open that this process
/// has opened but the streams that every program has.
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

/// Gives up the file system as a whole, listening and connecting over TCP, signals to other processes, and new rights. Says whether the kernel sees to that. To be called
/// while there is one thread. `places`: connections that it may have; `data_max`: octets of memory of its own, beside its program.
pub(crate) fn confine(places: usize, data_max: Option<u64>) -> io::Result<bool> {
    let most = |most: u64| Rlimit { current: Some(most), maximum: Some(most) };
    setrlimit(Resource::Nofile, most((places + LISTENERS_MAX + DESCRIPTORS_OWN) as u64))?;
    setrlimit(Resource::Core, most(0))?;
    data_max.map(|octets| setrlimit(Resource::Data, most(octets))).transpose()?;
    rustix::thread::set_no_new_privs(true)?;
    restrict().map_err(io::Error::other)
}

fn restrict() -> Result<bool, RulesetError> {
    // Without a rule nothing of what is handled is let through.
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(ABI_WANTED))?
        .handle_access(AccessNet::from_all(ABI_WANTED))?
        .scope(Scope::from_all(ABI_WANTED))?
        .create()?
        .restrict_self()?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::net::TcpListener;

    /// Of a thread, so that other tests go on as they were.
    #[test]
    fn what_is_given_up_is_gone() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let confined = move || {
            if !restrict().unwrap() {
                eprintln!("this kernel has no Landlock");
                return;
            }
            assert!(File::open("/dev/null").is_err() && std::fs::read_dir("/").is_err());
            assert!(File::create("/tmp/confined").is_err());
            // What was open before stays so.
            assert!(listener.set_nonblocking(true).is_ok() && listener.accept().is_err());
        };
        std::thread::spawn(confined).join().unwrap();
        assert!(File::open("/dev/null").is_ok());
    }
}
