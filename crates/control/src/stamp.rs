//! Which state of a file was read, so that only what changed is read again.
//!
//! What tells is the *mark*: 64 bits of change time, modification time, length and inode. No program sets the change time, so an edit of the
//! same length whose modification time is set back has another mark. Where the change time says nothing - on a file system that is mounted
//! read-only, built as an image with times as it pleased; or a time so early that nobody believes it - the mark is of the text itself.

use std::cell::Cell;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use nix::sys::statvfs::{FsFlags, Statvfs, fstatvfs, statvfs};
use zone::section::checksum;

/// A file as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// The mark; 0: not to be trusted, the file counts as changed.
    pub mark: u64,
    /// Its octets.
    pub octets: u64,
    /// Modification time, nanoseconds since 1970.
    pub time: u64,
    /// A mark of its inode: a file that was replaced by renaming has another, but for one in four thousand million.
    pub inode: u32,
}

/// File systems stamp with the kernel's tick, up to 10 ms. A file that changed this shortly before it was read
/// could change again without another stamp.
const TICK_NS: u64 = 10_000_000;

/// Change times before this, the year 2001, are those of images and of clocks that were never set.
const BELIEVED_NS: u64 = 978_307_200 * 1_000_000_000;

/// Octets that are read at a time for the mark of a text.
const PIECE_OCTETS: usize = 1 << 20;

/// How long it is believed that a file system is mounted as it was: less than a mount of another in its place takes.
const MOUNT_LOOK: Duration = Duration::from_millis(10);

impl Stamp {
    /// The stamp of an open file, before it is read. Its text is read, and its place set back, only where times cannot tell.
    pub fn of(file: &File, metadata: &Metadata) -> io::Result<Stamp> {
        match tells(metadata, || fstatvfs(file)) {
            true => Ok(Stamp::by_times(metadata)),
            false => Ok(Stamp { mark: mark_of_text(file)?, ..Stamp::by_times(metadata) }),
        }
    }

    /// The stamp of the file at `path` if its times tell.
    pub fn of_path(path: &Path, metadata: &Metadata) -> Option<Stamp> {
        tells(metadata, || statvfs(path)).then(|| Stamp::by_times(metadata))
    }

    fn by_times(metadata: &Metadata) -> Stamp {
        let (time, changed) = (ns(metadata.mtime(), metadata.mtime_nsec()), changed_ns(metadata));
        let mut octets = [0; 32];
        let words = [changed, time, metadata.len(), metadata.ino()];
        octets.as_chunks_mut().0.iter_mut().zip(words).for_each(|(to, word)| *to = word.to_le_bytes());
        let is_fresh = changed.saturating_add(TICK_NS) > now_ns();
        let mark = if is_fresh { 0 } else { checksum(&octets).max(1) };
        let inode = (metadata.ino() ^ metadata.ino() >> 32) as u32;
        Stamp { mark, octets: metadata.len(), time, inode }
    }

    /// The stamp of a text inside the program, which never changes but with the program.
    pub fn of_text(text: &[u8]) -> Stamp {
        Stamp { mark: checksum(text).max(1), octets: text.len() as u64, ..Stamp::default() }
    }

    /// Whether a file of stamp `now` is still what was read.
    pub fn is_still(&self, now: &Stamp) -> bool {
        self.mark != 0 && self.mark == now.mark
    }
}

/// The mark of what is in a file, from its beginning to its end.
fn mark_of_text(mut file: &File) -> io::Result<u64> {
    use std::io::{Seek, SeekFrom};
    let mut piece = Vec::with_capacity(PIECE_OCTETS);
    let mut sums = Vec::new();
    loop {
        piece.clear();
        let octets = file.take(PIECE_OCTETS as u64).read_to_end(&mut piece)?;
        sums.extend_from_slice(&checksum(&piece).to_le_bytes());
        if octets < PIECE_OCTETS {
            file.seek(SeekFrom::Start(0))?;
            return Ok(checksum(&sums).max(1));
        }
    }
}

thread_local! {
    /// The device looked at last, when, and what was found.
    static LAST: Cell<Option<(u64, Instant, bool)>> = const { Cell::new(None) };
}

/// Whether the times of a file tell whether it changed. Of many files of one device few are asked about.
fn tells(metadata: &Metadata, mounted: impl FnOnce() -> nix::Result<Statvfs>) -> bool {
    if changed_ns(metadata) < BELIEVED_NS {
        return false;
    }
    let (device, now) = (metadata.dev(), Instant::now());
    if let Some((last, at, tells)) = LAST.get()
        && last == device
        && now.duration_since(at) < MOUNT_LOOK
    {
        return tells;
    }
    // What cannot be asked is not believed.
    let is_writable = |mounted: Statvfs| !mounted.flags().contains(FsFlags::ST_RDONLY);
    let tells = mounted().is_ok_and(is_writable);
    LAST.set(Some((device, now, tells)));
    tells
}

fn changed_ns(metadata: &Metadata) -> u64 {
    ns(metadata.ctime(), metadata.ctime_nsec())
}

/// Nanoseconds since 1970, 0 for times before.
fn ns(seconds: i64, nanoseconds: i64) -> u64 {
    let all = seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds);
    u64::try_from(all).unwrap_or(0)
}

/// The time in nanoseconds since 1970.
pub fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_of_a_text_is_of_all_of_it() {
        let mark = |octets: &[u8]| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), octets).unwrap();
            let mut open = File::open(file.path()).unwrap();
            let mark = mark_of_text(&open).unwrap();
            let mut left = Vec::new();
            open.read_to_end(&mut left).unwrap();
            assert_eq!(left, octets, "what was read is read again");
            mark
        };
        for octets in [0, 1, PIECE_OCTETS - 1, PIECE_OCTETS, PIECE_OCTETS + 1, 3 * PIECE_OCTETS] {
            let mut text = vec![b'x'; octets];
            let before = mark(&text);
            assert_eq!(before, mark(&text));
            for at in [0, octets / 2, octets.saturating_sub(1)] {
                if let Some(octet) = text.get_mut(at) {
                    *octet = b'y';
                    assert_ne!(before, mark(&text), "{at} of {octets}");
                    text[at] = b'x';
                }
            }
        }
        assert_ne!(mark(&[0; PIECE_OCTETS]), mark(&[0; 2 * PIECE_OCTETS]));
    }

    #[test]
    fn times_that_were_set_back_change_the_mark() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let write = |text: &str| {
            std::fs::write(file.path(), text).unwrap();
            let open = File::options().write(true).open(file.path()).unwrap();
            open.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1)).unwrap();
            assert_eq!(Stamp::by_times(&open.metadata().unwrap()).mark, 0, "too fresh");
            std::thread::sleep(Duration::from_millis(30));
            Stamp::by_times(&open.metadata().unwrap())
        };
        let (one, two) = (write("one"), write("two"));
        assert_eq!((one.time, one.octets, one.inode), (two.time, two.octets, two.inode));
        assert!(one.is_still(&one) && !one.is_still(&two));
    }
}
