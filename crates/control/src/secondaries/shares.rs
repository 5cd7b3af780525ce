//! What transfers may take of the machine, whatever primaries send: believed they are, but not with all memory and all of the disk.
//!
//! | | of | default |
//! |---|---|---|
//! | `transfer-octets-max` | messages of one transfer | 16 GiB |
//! | `transfer-memory-octets` | memory: half of it for the one large zone that is brought together, a quarter for arenas, a quarter for differences, of all transfers | half of the machine's, or of the control group's |
//! | `transfer-disk-octets` | files that hold large zones while they come, of all transfers and stores | half of what was free in their folder at the first transfer |

use std::fs;
use std::path::Path;
use std::sync::Arc;

use transfer::incoming::Limits;

use crate::secondary::Room;
use crate::settings::SecondarySettings;

/// Memory that is assumed where the system does not tell: what a small machine has.
const MEMORY_UNKNOWN_OCTETS: u64 = 1 << 30;
/// The least that an arena, and the differences of a transfer, are worth having.
const LEAST_OCTETS: u64 = 1 << 20;
/// Where there is no telling how much is free nothing large is written.
const DISK_UNKNOWN_OCTETS: u64 = 1 << 30;

/// Limits of each transfer.
pub(crate) fn limits(settings: &SecondarySettings) -> Limits {
    let limits = Limits::default();
    let each = memory(settings) / 4 / u64::from(settings.transfers.max(1));
    let difference_octets = usize::try_from(each.max(LEAST_OCTETS)).unwrap_or(usize::MAX);
    Limits {
        octets: settings.transfer_octets_max,
        difference_octets: difference_octets.min(limits.difference_octets),
        ..limits
    }
}

/// What whole zones may take while they come in. `folder`: of their files.
pub(crate) fn room(settings: &SecondarySettings, folder: Arc<Path>) -> Room {
    let memory = memory(settings);
    let disk = match settings.transfer_disk_octets {
        0 => free(&folder) / 2,
        octets => octets,
    };
    let room = Room::new(folder);
    let arena = (memory / 4 / u64::from(settings.transfers.max(1))).max(LEAST_OCTETS);
    Room {
        arena_octets: room.arena_octets.min(usize::try_from(arena).unwrap_or(usize::MAX)),
        files_octets: disk,
        zone_octets: memory / 2,
        ..room
    }
}

fn memory(settings: &SecondarySettings) -> u64 {
    match settings.transfer_memory_octets {
        0 => machine() / 2,
        octets => octets,
    }
}

/// Octets of memory of the machine, or of the control group that this process is in, whichever are less.
fn machine() -> u64 {
    let all = fs::read_to_string("/proc/meminfo").ok().and_then(|text| of_meminfo(&text));
    let group = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_groups = groups(&group).filter_map(|folder| {
        fs::read_to_string(format!("/sys/fs/cgroup{folder}/memory.max")).ok()?.trim().parse::<u64>().ok()
    });
    of_groups.chain(all).min().unwrap_or(MEMORY_UNKNOWN_OCTETS)
}

fn of_meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The control group of version 2, and those above it.
fn groups(text: &str) -> impl Iterator<Item = &str> {
    let own = text.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("");
    std::iter::successors(Some(own), |folder| Some(folder.rsplit_once('/')?.0))
}

/// Octets that are free in a folder.
fn free(folder: &Path) -> u64 {
    match rustix::fs::statvfs(folder) {
        Ok(system) => system.f_bavail.saturating_mul(system.f_frsize),
        Err(_) => DISK_UNKNOWN_OCTETS,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_tells() {
        assert_eq!(
            of_meminfo("MemFree: 5 kB\nMemTotal:       16303428 kB\n"),
            None.or(Some(16_303_428 * 1024))
        );
        assert_eq!(of_meminfo("MemTotal: many\n"), None);
        let all: Vec<&str> = groups("1:x:/y\n0::/a/b\n").collect();
        assert_eq!(all, ["/a/b", "/a", ""]);
        assert_eq!(groups("").collect::<Vec<_>>(), [""]);
        assert!(machine() > 0 && free(Path::new("/tmp")) > 0);
    }

    /// All transfers at once, each at its limits, stay within the share.
    #[test]
    fn all_at_once() {
        for (memory, transfers) in [(1_u64 << 30, 32), (8 << 30, 32), (64 << 30, 256), (256 << 20, 1)] {
            let settings = SecondarySettings {
                transfer_memory_octets: memory,
                transfer_disk_octets: 7,
                transfers,
                ..SecondarySettings::default()
            };
            let (limits, room) = (limits(&settings), room(&settings, Path::new("/").into()));
            let each = (room.arena_octets + limits.difference_octets) as u64;
            assert!(room.zone_octets + each * u64::from(transfers) <= memory, "{room:?}");
            assert_eq!((room.files_octets, limits.octets), (7, 16 << 30));
        }
    }
}
