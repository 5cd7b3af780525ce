//! The disk of this machine.
//!
//! What is written and synced at once goes past the system's cache where that can be: a page takes some 7 % less time and processor time than
//! by `pwrite` and `fdatasync`, as nothing is copied, marked and looked for again (`docs/design/journal.md` 2). It is as durable: `O_DSYNC` is
//! `fdatasync` after each write.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::fs::{Advice, FallocateFlags, OFlags};

use super::{Disk, File, PAGE_OCTETS};

/// Octets that are written past the cache at most: of more the copy costs little beside the disk, and the place they are copied to would stay.
const DIRECT_OCTETS_MAX: usize = 64 << 10;

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

struct SystemFile {
    file: fs::File,
    /// The same file past the cache, opened when that is first wanted. `None`: its file system has no such thing.
    direct: OnceLock<Option<fs::File>>,
    /// It refused what was written so.
    is_refused: AtomicBool,
}

impl SystemFile {
    fn of(file: fs::File) -> Arc<dyn File> {
        Arc::new(SystemFile { file, direct: OnceLock::new(), is_refused: AtomicBool::new(false) })
    }

    /// The file by which whole pages are written past the cache. By its descriptor, as its name may be another one by now.
    fn direct(&self) -> Option<&fs::File> {
        let open = || {
            let flags = (OFlags::DIRECT | OFlags::DSYNC).bits();
            let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            fs::File::options().write(true).custom_flags(flags as i32).open(path).ok()
        };
        let is_refused = self.is_refused.load(Ordering::Relaxed);
        self.direct.get_or_init(open).as_ref().filter(|_| !is_refused)
    }
}

/// Calls with a copy of these octets that begins at a page of memory, as the system demands.
fn with_pages<R>(octets: &[u8], with: impl FnOnce(&[u8]) -> R) -> R {
    thread_local! {
        static PAGES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    PAGES.with_borrow_mut(|pages| {
        pages.resize(DIRECT_OCTETS_MAX + PAGE_OCTETS, 0);
        let begin = pages.as_ptr().align_offset(PAGE_OCTETS).min(PAGE_OCTETS);
        let pages = &mut pages[begin..begin + octets.len()];
        pages.copy_from_slice(octets);
        with(pages)
    })
}

impl Disk for System {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        Ok(SystemFile::of(fs::File::options().read(true).write(true).create_new(true).open(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        Ok(SystemFile::of(fs::File::options().read(true).write(true).open(path)?))
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect()
    }

    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        fs::File::open(folder)?.sync_all()
    }

    fn sync_all(&self, folder: &Path) -> io::Result<()> {
        Ok(rustix::fs::syncfs(fs::File::open(folder)?)?)
    }
}

impl File for SystemFile {
    fn read_at(&self, octets: &mut [u8], at: u64) -> io::Result<()> {
        self.file.read_exact_at(octets, at)
    }

    fn write_at(&self, octets: &[u8], at: u64) -> io::Result<()> {
        self.file.write_all_at(octets, at)
    }

    fn octets(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn set_octets(&self, octets: u64) -> io::Result<()> {
        self.file.set_len(octets)
    }

    fn reserve(&self, octets: u64) -> io::Result<()> {
        Ok(rustix::fs::fallocate(&self.file, FallocateFlags::empty(), 0, octets)?)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn write_synced(&self, octets: &[u8], at: u64) -> io::Result<()> {
        let is_whole = octets.len().is_multiple_of(PAGE_OCTETS) && at.is_multiple_of(PAGE_OCTETS as u64);
        if is_whole
            && octets.len() <= DIRECT_OCTETS_MAX
            && let Some(direct) = self.direct()
        {
            let written = with_pages(octets, |pages| direct.write_all_at(pages, at));
            // This alone says that nothing was written: the disk wants larger or other pieces.
            if !matches!(&written, Err(error) if error.kind() == io::ErrorKind::InvalidInput) {
                return written;
            }
            self.is_refused.store(true, Ordering::Relaxed);
        }
        self.write_at(octets, at)?;
        self.sync()
    }

    fn forget(&self) {
        let _ = rustix::fs::fadvise(&self.file, 0, None, Advice::DontNeed);
    }
}
