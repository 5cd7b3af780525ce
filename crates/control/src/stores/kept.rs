//! A file of lines that several threads have something for: what waits to be written is taken from behind the lock of `stores`, and written without it.
//!
//! ```text
//! lock of the file -> lock of `stores`, for a moment: lines that wait, or all of them -> write, flush
//! ```
//!
//! In this order, so that no line goes past another one. Who holds the lock of `stores` waits for no disk, and so does nobody who waits for that lock: workers, which look whose a
//! zone is, and what is told to operators.

use std::io;

use sync::Mutex;

use super::lines::{LinesFile, Place};

/// See the module.
pub(super) struct Kept {
    file: Mutex<LinesFile>,
    /// Whether what is kept is on the disk when [`Kept::keep`] returns.
    is_synced: bool,
}

/// What is to be kept.
#[derive(Default)]
pub(super) struct Waiting {
    /// Lines that the file does not have yet.
    pub(super) lines: String,
    /// How many lines there are beside those that are old.
    pub(super) live: usize,
}

impl Kept {
    pub(super) fn new(name: &'static str, file: LinesFile, is_synced: bool) -> Kept {
        Kept { file: Mutex::named(name, file), is_synced }
    }

    /// Goes on with a file that was read.
    pub(super) fn set(&self, file: LinesFile) {
        *self.file.lock() = file;
    }

    /// Has the file have what waits, or all of it where it is due. `take`: what waits, which does so no more; `all`: all lines, those included that wait since: they
    /// are said once more then, which changes nothing. Without `place` nothing is written for now, and all of it later.
    pub(super) fn keep(
        &self,
        place: Option<&Place>,
        take: impl FnOnce() -> Waiting,
        all: impl FnOnce() -> String,
    ) -> io::Result<()> {
        let mut file = self.file.lock();
        let Waiting { lines, live } = take();
        let Some(place) = place else {
            if !lines.is_empty() {
                file.tear();
            }
            return Ok(());
        };
        match (file.is_given_up(), file.is_due(live)) {
            // It was torn by that, so that lines which are lost here are in the next one.
            (Some(error), _) => Err(error),
            (None, true) => file.write_anew(place, &all()),
            (None, false) => file.append(place, &lines, self.is_synced),
        }
    }

    /// Has all that was kept be on the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.lock().sync()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Arc, PoisonError};

    use journal::disk::simulated::Simulated;
    use journal::disk::{Disk, File};
    use wire::NameBuf;

    use super::super::Stores;
    use super::super::owned::Known;
    use super::*;

    /// A disk on which files take the place of others only when somebody says so.
    struct Slow {
        disk: Simulated,
        begun: Sender<()>,
        go: std::sync::Mutex<Receiver<()>>,
    }

    impl Disk for Slow {
        fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
            self.disk.create(path)
        }

        fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
            self.disk.open(path)
        }

        fn names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
            self.disk.names(folder)
        }

        fn make_folder(&self, folder: &Path) -> io::Result<()> {
            self.disk.make_folder(folder)
        }

        fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
            self.begun.send(()).unwrap();
            self.go.lock().unwrap_or_else(PoisonError::into_inner).recv().unwrap();
            self.disk.rename(from, to)
        }

        fn remove(&self, path: &Path) -> io::Result<()> {
            self.disk.remove(path)
        }

        fn sync_folder(&self, folder: &Path) -> io::Result<()> {
            self.disk.sync_folder(folder)
        }

        fn sync_all(&self, folder: &Path) -> io::Result<()> {
            self.disk.sync_all(folder)
        }
    }

    fn name(number: usize) -> NameBuf {
        NameBuf::from_text(&format!("z{number}.example")).unwrap()
    }

    /// Nobody who wants to know whose a zone is, or has more to keep, waits for the disk; and what comes meanwhile is kept too.
    #[test]
    fn nobody_waits_for_the_disk_but_who_keeps() {
        let ((begun, has_begun), (go_on, go)) = (channel(), channel());
        let simulated = Simulated::new(1);
        let disk = Arc::new(Slow { disk: simulated.clone(), begun, go: std::sync::Mutex::new(go) });
        let place = Place { disk, folder: PathBuf::from("packs") };
        let stores = Arc::new(Stores::new());
        stores.is_any.store(true, std::sync::atomic::Ordering::Relaxed);
        let known = Known { identity: "i".into(), name: "a".into(), url: "u".into() };
        {
            let owned = &mut stores.state.write().owned;
            owned.note(None, known);
            owned.add(0, [&*name(1)].into_iter());
        }
        let keep = || {
            let (stores, place) = (Arc::clone(&stores), place.clone());
            std::thread::spawn(move || stores.keep_owned(Some(&place)))
        };
        let first = keep();
        has_begun.recv().unwrap();
        assert_eq!(stores.has(&name(1)), Some(true), "while the file is written");
        stores.state.write().owned.add(0, [&*name(2)].into_iter());
        let second = keep();
        go_on.send(()).unwrap();
        first.join().unwrap();
        second.join().unwrap();
        let text = simulated.content("packs/owned".as_ref()).unwrap();
        assert_eq!(
            String::from_utf8_lossy(&text),
            "zonda owned 1\n= 0 i a u\n+ 0 z1.example.\n+ 0 z2.example.\n"
        );
        assert!(has_begun.try_recv().is_err(), "the second is appended");
    }

    /// Lines that came while all were said are said once more, which changes nothing.
    #[test]
    fn a_file_that_is_written_anew_has_what_came_meanwhile() {
        let disk = Simulated::new(1);
        let place = Place { disk: Arc::new(disk.clone()), folder: PathBuf::from("packs") };
        let names = super::super::followed::NAMES;
        let kept = Kept::new("a file", LinesFile::new(names), false);
        kept.keep(None, || Waiting { lines: "lost\n".into(), live: 1 }, String::new).unwrap();
        kept.keep(Some(&place), || Waiting { lines: "a\n".into(), live: 1 }, || "lost\na\nb\n".into())
            .unwrap();
        kept.keep(Some(&place), || Waiting { lines: "b\n".into(), live: 1 }, String::new).unwrap();
        let text = disk.content("packs/followed".as_ref()).unwrap();
        assert_eq!(String::from_utf8_lossy(&text), format!("{}\nlost\na\nb\nb\n", names.head));
    }
}
