//! The files of the log: which are free, how they are made ahead, and what becomes of those that are not needed any more.
//!
//! ```text
//! new-00000007 --zeros, sync, rename, sync of the folder--> 00000007.seg: free --> in use --> not needed: free again
//!                                                                          `--> given up after a failure: removed
//!                                                                          `--> damaged: damaged-00000007.seg
//! ```
//!
//! A file keeps its number, which is in the key of each group's checksum, and no two that a start could find have the same.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use sync::Mutex;

use super::Options;
use crate::disk::{Disk, File, PAGE_OCTETS};

/// Free segments that are only for what ends a failure, and for what a checkpoint writes.
pub(crate) const RESERVED: usize = 2;
/// Free segments that are made ahead: as many again, so that a minute's burst finds them.
const FREE_WANTED: usize = 2 * RESERVED;
/// Damaged segments that are put aside; later ones are removed, so that a failing disk does not fill itself.
const ASIDE_MAX: usize = 4;
/// What their names begin with.
pub(crate) const ASIDE: &str = "damaged-";
/// What the name of a segment begins with that is not full of zeros yet.
pub(crate) const NEW: &str = "new-";
/// How many times as many segments as there may be are made where what ends a failure, or begins a log, or shortens it finds none at all: a server that
/// was killed again and again before it had shortened the log has used them all, and would never write again. More than twice as many is no accident.
const MAX_TIMES: usize = 2;
/// How long to wait after a segment could not be made.
const RETRY: Duration = Duration::from_secs(1);
/// Octets that are written at a time while a segment is filled with zeros.
const ZEROS_OCTETS: usize = 256 << 10;

/// A file of the log.
#[derive(Clone)]
pub(crate) struct Segment {
    pub(crate) number: u32,
    pub(crate) file: Arc<dyn File>,
}

/// What becomes of a segment that is not needed any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Used again.
    Free,
    /// Nobody knows what of it is on the disk.
    Remove,
    /// Kept for a look at what is damaged.
    PutAside,
}

#[derive(Default)]
struct Pool {
    free: Vec<Segment>,
    /// All that are there, free or not.
    count: usize,
    next: u32,
    /// Segments that have to be free for what found too few of them: a record may take more than are made ahead.
    missing: usize,
    /// Whether that was something which may take the last ones.
    is_urgent: bool,
    /// Why none could be made when it was last tried.
    error: Option<String>,
}

impl Pool {
    /// How many are to be free.
    fn wanted(&self) -> usize {
        FREE_WANTED.max(self.missing)
    }
}

/// All segments of a log.
pub(crate) struct Segments {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    options: Options,
    pool: Mutex<Pool>,
    wake: SyncSender<()>,
    woken: Mutex<Option<Receiver<()>>>,
}

/// The name of a segment's file.
pub(crate) fn file_name(number: u32) -> String {
    format!("{number:08}.seg")
}

/// The number that a file name says.
pub(crate) fn number_of(name: &str) -> Option<u32> {
    let digits = name.strip_suffix(".seg")?;
    (digits.len() >= 8 && digits.bytes().all(|octet| octet.is_ascii_digit())).then(|| digits.parse().ok())?
}

impl Segments {
    /// The segments of a folder, of which `free` are free and `used` are not. Numbers from `next` on are new.
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        folder: &Path,
        options: Options,
        free: Vec<Segment>,
        used: usize,
        next: u32,
    ) -> Segments {
        let (wake, woken) = sync_channel(1);
        let pool = Pool { count: used + free.len(), free, next, ..Pool::default() };
        let pool = Mutex::named("free segments of the log", pool);
        Segments { disk, folder: folder.to_owned(), options, pool, wake, woken: Mutex::new(Some(woken)) }
    }

    pub(crate) fn path(&self, number: u32) -> PathBuf {
        self.folder.join(file_name(number))
    }

    pub(crate) fn octets(&self) -> usize {
        self.options.segment_octets
    }

    /// How many there may be.
    pub(crate) fn count_max(&self) -> usize {
        usize::try_from(self.options.log_octets).unwrap_or(usize::MAX) / self.octets()
    }

    /// Segments that are free, and those that are there at all.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let pool = self.pool.lock();
        (pool.free.len(), pool.count)
    }

    /// Why none could be made, as long as that is so.
    pub(crate) fn error(&self) -> Option<String> {
        self.pool.lock().error.clone()
    }

    /// Takes `count` of the free ones such that `left` stay; none if there are fewer.
    pub(crate) fn take(&self, count: usize, left: usize) -> Option<Vec<Segment>> {
        let mut pool = self.pool.lock();
        let taken = (pool.free.len() >= count + left).then(|| pool.free.drain(..count).collect());
        pool.missing = if taken.is_some() { 0 } else { count + left };
        pool.is_urgent = taken.is_none() && left == 0;
        // One that failed tries again by itself after a while.
        if pool.free.len() < pool.wanted() && pool.error.is_none() {
            self.wake_preparer();
        }
        taken
    }

    /// Whether there are as many free ones as the last one needs that found too few; if there was no such, more than are reserved.
    pub(crate) fn has_room(&self) -> bool {
        let pool = self.pool.lock();
        pool.free.len() >= if pool.missing > 0 { pool.missing } else { RESERVED + 1 }
    }

    /// What found too few does not wait any more.
    pub(crate) fn give_up(&self) {
        let mut pool = self.pool.lock();
        (pool.missing, pool.is_urgent) = (0, false);
    }

    /// Whether something waits for segments that are not there.
    pub(crate) fn is_missing(&self) -> bool {
        self.pool.lock().missing > 0
    }

    /// Does with a segment what has to be done. What fails leaves a file behind that a start finds.
    pub(crate) fn give_back(&self, segment: Segment, fate: Fate) {
        match fate {
            Fate::Free => {
                let mut pool = self.pool.lock();
                if pool.count <= self.count_max() {
                    pool.free.push(segment);
                    return;
                }
                drop(pool);
                let _ = self.disk.remove(&self.path(segment.number));
            }
            Fate::PutAside if self.has_room_aside() => {
                let name = format!("{ASIDE}{}", file_name(segment.number));
                let _ = self.disk.rename(&self.path(segment.number), &self.folder.join(name));
            }
            Fate::PutAside | Fate::Remove => drop(self.disk.remove(&self.path(segment.number))),
        }
        self.pool.lock().count -= 1;
        self.wake_preparer();
    }

    fn has_room_aside(&self) -> bool {
        let names = self.disk.names(&self.folder).unwrap_or_default();
        names.iter().filter(|name| name.to_string_lossy().starts_with(ASIDE)).count() < ASIDE_MAX
    }

    pub(crate) fn sync_folder(&self) -> io::Result<()> {
        self.disk.sync_folder(&self.folder)
    }

    fn wake_preparer(&self) {
        // Full: it is woken already.
        let _ = self.wake.try_send(());
    }

    /// Makes a segment if more are wanted. Whether one was made.
    pub(crate) fn prepare(&self) -> io::Result<bool> {
        let number = {
            let mut pool = self.pool.lock();
            let is_dire = pool.is_urgent && pool.free.len() < pool.missing;
            let count_max = self.count_max() * if is_dire { MAX_TIMES } else { 1 };
            if pool.free.len() >= pool.wanted() || pool.count >= count_max {
                pool.error = None;
                return Ok(false);
            }
            pool.next += 1;
            pool.next - 1
        };
        let made = self.make(number);
        let mut pool = self.pool.lock();
        match made {
            Ok(segment) => {
                pool.free.push(segment);
                pool.count += 1;
                pool.error = None;
                Ok(true)
            }
            Err(error) => {
                pool.error = Some(error.to_string());
                Err(error)
            }
        }
    }

    fn make(&self, number: u32) -> io::Result<Segment> {
        let new = self.folder.join(format!("{NEW}{number:08}"));
        let path = self.path(number);
        let make = || -> io::Result<Segment> {
            let file = self.disk.create(&new)?;
            let zeros = vec![0; ZEROS_OCTETS.min(self.octets())];
            for at in (0..self.octets()).step_by(zeros.len()) {
                file.write_at(&zeros[..zeros.len().min(self.octets() - at)], at as u64)?;
            }
            file.sync()?;
            file.forget();
            self.disk.rename(&new, &path)?;
            self.sync_folder()?;
            Ok(Segment { number, file })
        };
        make().inspect_err(|_| {
            let _ = self.disk.remove(&new);
            let _ = self.disk.remove(&path);
        })
    }

    /// Waits until one may be wanted. Whether to go on.
    fn wait(&self, woken: &Receiver<()>, is_failing: bool) -> bool {
        let result = if is_failing { woken.recv_timeout(RETRY) } else { woken.recv().map_err(Into::into) };
        !matches!(result, Err(RecvTimeoutError::Disconnected))
    }
}

/// The thread that makes segments ahead, so that commits never wait for it. It ends when this is dropped.
pub struct Preparer {
    segments: Arc<Segments>,
    stop: Arc<std::sync::atomic::AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Preparer {
    pub(crate) fn start(segments: Arc<Segments>, after: impl Fn() + Send + 'static) -> io::Result<Preparer> {
        let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let (its_segments, its_stop) = (Arc::clone(&segments), Arc::clone(&stop));
        let woken = segments
            .woken
            .lock()
            .take()
            .ok_or_else(|| io::Error::other("the log has such a thread already"))?;
        let run = move || {
            while !its_stop.load(std::sync::atomic::Ordering::Acquire) {
                let made = its_segments.prepare();
                if let Ok(true) = made {
                    after();
                } else if !its_segments.wait(&woken, made.is_err()) {
                    break;
                }
            }
        };
        let thread = std::thread::Builder::new().name("log-segments".to_owned()).spawn(run)?;
        Ok(Preparer { segments, stop, thread: Some(thread) })
    }
}

impl Drop for Preparer {
    fn drop(&mut self) {
        self.stop.store(true, std::sync::atomic::Ordering::Release);
        self.segments.wake_preparer();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Whole pages, and one for the head.
pub(crate) fn is_possible(segment_octets: usize) -> bool {
    segment_octets.is_multiple_of(PAGE_OCTETS) && segment_octets >= 2 * PAGE_OCTETS
}
