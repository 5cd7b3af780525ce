//! The engine (`zonda-bench engine --serve`): a small server in the shape of BIND 9, under one of its protections. It serves
//! one zone.

use ::engine::ProtectionKind;

use super::{Job, Setup};

pub fn setup(protection: ProtectionKind, job: &Job<'_>) -> Setup {
    let program = job.programs.bench.to_string_lossy();
    let (address, workers) = (job.address.to_string(), job.workers.to_string());
    let words = ["engine", "--serve", &address, "--protection", protection.name(), "--threads", &workers];
    let mut command = Setup::words(&[&[&*program], &words[..]].concat());
    command.extend(Setup::words(&["--receive-octets", &job.receive_octets.to_string()]));
    if let Some((_, path)) = job.zones.list.first() {
        command.extend(Setup::words(&["--zone", &path.to_string_lossy()]));
    }
    Setup { command, ..Setup::default() }
}
