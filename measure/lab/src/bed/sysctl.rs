//! Room of sockets: the limits of the kernel, raised for a run and put back after it.

use std::{
    fs,
    path::{Path, PathBuf},
    process,
};

use super::RECEIVE_OCTETS;
use crate::{Error, error, process::is_alive};

/// Limits and what they are raised to.
const LIMITS: [(&str, usize); 3] = [
    ("/proc/sys/net/core/rmem_max", RECEIVE_OCTETS),
    ("/proc/sys/net/core/rmem_default", 2 * RECEIVE_OCTETS),
    ("/proc/sys/net/core/wmem_max", 4 << 20),
];
/// Where the values before are kept in case this process is killed: `PREFIX-PID`.
const KEPT: &str = "/run/zonda-lab-sysctl-";

/// Raised limits; dropping it puts back what was.
pub struct Sysctls {
    before: Vec<(&'static str, String)>,
}

impl Sysctls {
    /// Raises what is lower; says so where that is not permitted.
    pub fn raise(notes: &mut Vec<String>) -> Sysctls {
        let mut before = Vec::new();
        for (path, wanted) in LIMITS {
            let Ok(text) = fs::read_to_string(path) else { continue };
            if text.trim().parse::<usize>().is_ok_and(|now| now >= wanted) {
                continue;
            }
            match fs::write(path, wanted.to_string()) {
                Ok(()) => before.push((path, text.trim().to_owned())),
                Err(error) => notes.push(format!(
                    "{path} stays at {}, which may lose queries in bursts: {error}",
                    text.trim()
                )),
            }
        }
        let lines: String = before.iter().map(|(path, value)| format!("{path} {value}\n")).collect();
        if !before.is_empty() {
            // Without the file, a killed run leaves the limits raised: no harm worth a complaint.
            let _ = fs::write(kept(process::id()), lines);
        }
        Sysctls { before }
    }
}

/// Sets what sockets hold that ask for nothing. Once limits were raised it comes back with them. Namespaces have no value of their own.
pub fn receive_by_default(octets: usize) -> Result<(), Error> {
    let path = Path::new(LIMITS[1].0);
    fs::write(path, octets.to_string()).map_err(error::file(path, "write"))
}

impl Drop for Sysctls {
    fn drop(&mut self) {
        for (path, value) in &self.before {
            let _ = fs::write(path, value);
        }
        if !self.before.is_empty() {
            let _ = fs::remove_file(kept(process::id()));
        }
    }
}

fn kept(pid: u32) -> PathBuf {
    PathBuf::from(format!("{KEPT}{pid}"))
}

/// Puts back what runs that were killed left raised.
pub fn restore_left() {
    for entry in fs::read_dir("/run").into_iter().flatten().flatten() {
        let path = entry.path();
        let pid = path.to_str().and_then(|path| path.strip_prefix(KEPT)?.parse::<u32>().ok());
        let Some(pid) = pid.filter(|pid| !is_alive(*pid)) else { continue };
        for line in fs::read_to_string(&path).unwrap_or_default().lines() {
            if let Some((path, value)) = line.split_once(' ')
                && LIMITS.iter().any(|&(known, _)| known == path)
            {
                let _ = fs::write(path, value);
            }
        }
        let _ = fs::remove_file(kept(pid));
    }
}
