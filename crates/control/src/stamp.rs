//! Which state of a file was read, so that only what changed is read again.
//!
//! What tells is the *mark*: 64 bits of change time, modification time, length and inode. No program sets the change time, so an edit of the
//! same length whose modification time is set back has another mark. Where the change time says nothing - it is one of an image, built with
//! times as it pleased, or of a file system that counts in seconds - the mark is of the text itself.

mod mounted;

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

use mounted::{Place, changes_tell};
use zone::section::{HEADER_OCTETS, MAGIC, checksum};

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

const SECOND_NS: u64 = 1_000_000_000;

/// Change times before this, the year 2001, are those of images and of clocks that were never set.
const BELIEVED_NS: u64 = 978_307_200 * SECOND_NS;

/// Octets that are read at a time for the mark of a text.
pub(crate) const PIECE_OCTETS: usize = 1 << 20;

impl Stamp {
    /// The stamp of an open file, before it is read. Its text is read, and its place set back, only where times cannot tell.
    pub fn of(file: &File, metadata: &Metadata) -> io::Result<Stamp> {
        let (state, now) = (State::of(metadata), now_ns());
        match state.tells(now) && changes_tell(metadata.dev(), Place::Open(file)) {
            true => Ok(state.stamp(now)),
            false => Ok(Stamp { mark: mark_of_text(file, state.octets)?, ..state.stamp(now) }),
        }
    }

    /// The stamp of the file at `path` if its times tell.
    pub fn of_path(path: &Path, metadata: &Metadata) -> Option<Stamp> {
        let (state, now) = (State::of(metadata), now_ns());
        (state.tells(now) && changes_tell(metadata.dev(), Place::At(path))).then(|| state.stamp(now))
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

/// What a file system says of a file; times in nanoseconds since 1970.
#[derive(Clone, Copy)]
struct State {
    changed: u64,
    modified: u64,
    octets: u64,
    inode: u64,
}

impl State {
    fn of(metadata: &Metadata) -> State {
        State {
            changed: ns(metadata.ctime(), metadata.ctime_nsec()),
            modified: ns(metadata.mtime(), metadata.mtime_nsec()),
            octets: metadata.len(),
            inode: metadata.ino(),
        }
    }

    /// Whether the change time can be one of a clock that was asked when the file changed. One of whole seconds is that of an image, or of
    /// a file system where a file can change twice without another; a true one is so once in a hundred thousand million. Nor is one
    /// believed that is still to come.
    fn tells(&self, now: u64) -> bool {
        self.changed >= BELIEVED_NS && !self.changed.is_multiple_of(SECOND_NS) && self.changed <= now
    }

    /// The stamp by times.
    fn stamp(&self, now: u64) -> Stamp {
        let mut octets = [0; 32];
        let words = [self.changed, self.modified, self.octets, self.inode];
        octets.as_chunks_mut().0.iter_mut().zip(words).for_each(|(to, word)| *to = word.to_le_bytes());
        let is_fresh = self.changed.saturating_add(TICK_NS) > now;
        let mark = if is_fresh { 0 } else { checksum(&octets).max(1) };
        let inode = (self.inode ^ self.inode >> 32) as u32;
        Stamp { mark, octets: self.octets, time: self.modified, inode }
    }
}

/// The sum of what is in a text, whenever it was written.
pub(crate) fn sum_of_file(file: &File) -> io::Result<u64> {
    mark_of_text(file, PIECE_OCTETS as u64)
}

/// The mark of what is in a file of about `octets` octets, from its beginning to its end. Of a pack that of its header, which has the sums
/// of all its sections and a number drawn for it.
fn mark_of_text(mut file: &File, octets: u64) -> io::Result<u64> {
    let room = octets.saturating_add(1).min(PIECE_OCTETS as u64);
    let mut piece = Vec::with_capacity(room as usize);
    let mut sums = Vec::new();
    loop {
        piece.clear();
        let octets = file.take(PIECE_OCTETS as u64).read_to_end(&mut piece)?;
        let header =
            piece.get(..HEADER_OCTETS).filter(|header| sums.is_empty() && header.starts_with(&MAGIC));
        sums.extend_from_slice(&checksum(header.unwrap_or(&piece)).to_le_bytes());
        if octets < PIECE_OCTETS || header.is_some() {
            file.seek(SeekFrom::Start(0))?;
            return Ok(checksum(&sums).max(1));
        }
    }
}

/// Nanoseconds since 1970, 0 for times before.
fn ns(seconds: i64, nanoseconds: i64) -> u64 {
    let all = seconds.saturating_mul(SECOND_NS as i64).saturating_add(nanoseconds);
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
    use std::time::Duration;

    #[test]
    fn a_mark_of_a_text_is_of_all_of_it() {
        let mark = |octets: &[u8]| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), octets).unwrap();
            let mut open = File::open(file.path()).unwrap();
            let mark = mark_of_text(&open, octets.len() as u64).unwrap();
            // As of one that grew or shrank since.
            assert_eq!(mark, mark_of_text(&open, 0).unwrap());
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
        // All that is in a pack is in its header.
        let pack = |octets: usize, last: u8| [&MAGIC[..], &vec![7; octets], &[last]].concat();
        assert_ne!(
            mark(&pack(HEADER_OCTETS - MAGIC.len() - 1, 1)),
            mark(&pack(HEADER_OCTETS - MAGIC.len() - 1, 2))
        );
        assert_eq!(mark(&pack(HEADER_OCTETS, 1)), mark(&pack(HEADER_OCTETS, 2)));
        assert_ne!(mark(&pack(8, 1)), mark(&pack(8, 2)), "shorter than a header");
    }

    #[test]
    fn times_that_were_set_back_change_the_mark() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let write = |text: &str| {
            std::fs::write(file.path(), text).unwrap();
            let open = File::options().read(true).write(true).open(file.path()).unwrap();
            open.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1)).unwrap();
            std::thread::sleep(Duration::from_millis(30));
            Stamp::of(&open, &open.metadata().unwrap()).unwrap()
        };
        let (one, two) = (write("one"), write("two"));
        assert_eq!((one.time, one.octets, one.inode), (two.time, two.octets, two.inode));
        assert!(one.is_still(&one) && !one.is_still(&two));
        let metadata = std::fs::metadata(file.path()).unwrap();
        assert_eq!(Stamp::of_path(file.path(), &metadata), Some(two), "by its path as when it is open");
    }

    /// A change a day ago, half a second after a second began.
    const NOW: u64 = 1_800_000_000 * SECOND_NS;
    const STATE: State =
        State { changed: NOW - 86_400 * SECOND_NS - SECOND_NS / 2, modified: 1, octets: 2, inode: 3 };

    #[test]
    fn each_of_four_numbers_changes_the_mark() {
        let others = [
            State { changed: STATE.changed + 1, ..STATE },
            State { modified: 2, ..STATE },
            State { octets: 3, ..STATE },
            State { inode: 4, ..STATE },
            // The same numbers in other places.
            State { modified: 2, octets: 1, ..STATE },
        ];
        let mark = STATE.stamp(NOW).mark;
        assert!(mark != 0 && others.iter().all(|other| ![0, mark].contains(&other.stamp(NOW).mark)));
    }

    #[test]
    fn what_changed_within_a_tick_has_no_mark() {
        let of = |ago: u64| State { changed: NOW + 1 - ago, ..STATE }.stamp(NOW + 1);
        assert_eq!([0, 1, TICK_NS - 1].map(|ago| of(ago).mark), [0; 3]);
        assert_ne!(of(TICK_NS).mark, 0);
        assert!(!of(0).is_still(&of(0)) && of(TICK_NS).is_still(&of(TICK_NS)));
    }

    #[test]
    fn change_times_that_no_clock_gave_are_not_believed() {
        let tells = |changed: u64| State { changed, ..STATE }.tells(NOW);
        assert!(tells(STATE.changed) && tells(NOW - 1) && tells(BELIEVED_NS + 1));
        // Of 1970, of a second in the year 2000, of whole seconds, of tomorrow.
        let year_2000 = BELIEVED_NS - SECOND_NS / 2;
        for changed in [0, 1, SECOND_NS, year_2000, BELIEVED_NS, NOW - 5 * SECOND_NS, NOW + 1] {
            assert!(!tells(changed), "{changed}");
        }
    }

    #[test]
    fn a_text_inside_the_program_is_told_by_what_it_says() {
        let mark = |text: &[u8]| Stamp::of_text(text);
        assert!(mark(b"one").is_still(&mark(b"one")) && !mark(b"one").is_still(&mark(b"two")));
        assert!(mark(b"").is_still(&mark(b"")));
    }
}
