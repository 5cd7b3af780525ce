//! Whether change times of a file system tell: not where nobody changes its files while it is mounted, as it was built elsewhere.
//!
//! A file can be on a mount that is read-only of a file system that is not, as with `ProtectSystem=` of systemd and volumes of containers:
//! others write there, and the system keeps the times. `statvfs` does not tell these apart, the list of mounts does.

use std::cell::Cell;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, StatVfsMountFlags, StatxFlags, fstatvfs, statvfs, statx};

/// How long it is believed that a file system is mounted as it was: less than a mount of another in its place takes.
const MOUNT_LOOK: Duration = Duration::from_millis(10);

/// Of the list of mounts so much is read: some ten thousand. What is not found there is not believed.
const MOUNTS_OCTETS_MAX: u64 = 1 << 20;

/// A file.
#[derive(Clone, Copy)]
pub(super) enum Place<'p> {
    Open(&'p File),
    At(&'p Path),
}

impl Place<'_> {
    fn is_read_only(self) -> rustix::io::Result<bool> {
        let flags = match self {
            Place::Open(file) => fstatvfs(file)?.f_flag,
            Place::At(path) => statvfs(path)?.f_flag,
        };
        Ok(flags.contains(StatVfsMountFlags::RDONLY))
    }

    /// The number of its mount; `None`: the system does not say.
    fn mount(self) -> Option<u64> {
        let wanted = StatxFlags::MNT_ID;
        let told = match self {
            Place::Open(file) => statx(file, "", AtFlags::EMPTY_PATH, wanted),
            Place::At(path) => statx(CWD, path, AtFlags::empty(), wanted),
        };
        told.ok().filter(|told| told.stx_mask & wanted.bits() != 0).map(|told| told.stx_mnt_id)
    }
}

thread_local! {
    /// The device looked at last, when, and what was found.
    static LAST: Cell<Option<(u64, Instant, bool)>> = const { Cell::new(None) };
}

/// Whether change times of the files of `device` tell, of which one is at `place`. Of many files of one device few are asked about.
pub(super) fn changes_tell(device: u64, place: Place<'_>) -> bool {
    let now = Instant::now();
    if let Some((last, at, tells)) = LAST.get()
        && last == device
        && now.duration_since(at) < MOUNT_LOOK
    {
        return tells;
    }
    // What cannot be asked is not believed.
    let tells = match place.is_read_only() {
        Ok(true) => place.mount().is_some_and(|mount| is_written_elsewhere(&mounts(), mount)),
        Ok(false) => true,
        Err(_) => false,
    };
    LAST.set(Some((device, now, tells)));
    tells
}

/// The mounts as this process sees them (proc_pid_mountinfo(5)); nothing if that cannot be read.
fn mounts() -> String {
    let mut text = Vec::new();
    // What was read before a failure is as good as all: what is missing is not believed.
    let _ = File::open("/proc/self/mountinfo")
        .and_then(|file| file.take(MOUNTS_OCTETS_MAX).read_to_end(&mut text));
    String::from_utf8_lossy(&text).into_owned()
}

/// Whether the file system of mount number `mount` can be written, whatever the mount itself says.
///
/// `mounts`: lines of words; the first is the number, the last the options of the file system, which begin with `rw` or `ro`.
fn is_written_elsewhere(mounts: &str, mount: u64) -> bool {
    let number = mount.to_string();
    let is_it = |line: &&str| line.split(' ').next() == Some(&number);
    let options = mounts.lines().find(is_it).and_then(|line| line.rsplit(' ').next());
    options.is_some_and(|options| options.split(',').next() == Some("rw"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_that_is_read_only_of_what_is_not() {
        let mounts = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
30 27 8:1 / /etc ro,relatime shared:1 - ext4 /dev/root rw,errors=continue
31 27 7:0 / /image ro,relatime - squashfs /dev/loop0 ro,errors=continue
32 27 0:40 / /was\\040here rw - tmpfs  ro
3";
        let is_written = |mount| is_written_elsewhere(mounts, mount);
        assert_eq!([22, 30, 31, 32, 3, 33].map(is_written), [true, true, false, false, false, false]);
        assert!(!is_written_elsewhere("", 22));
    }

    #[test]
    #[allow(clippy::unwrap_used)]
    fn this_process_finds_its_own_mounts() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let places = [Place::Open(file.as_file()), Place::At(file.path())];
        let [open, path] = places.map(|place| place.mount().unwrap());
        assert_eq!(open, path);
        // A folder for files can be written, and so is what it is on.
        assert!(is_written_elsewhere(&mounts(), open), "{}", mounts());
        assert!(!places[0].is_read_only().unwrap() && !places[1].is_read_only().unwrap());
    }
}
