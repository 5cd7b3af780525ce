//! Files of frames and of lines, bounded in size, number, and by what is free on their disk: that may be the one that updates are synced to.

use std::ffi::OsString;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use crate::frames::Control;
use crate::output::{Cut, FileBounds, Units, Write};

/// Whoever may read the log of the system may read these, too, if the folder is of their group; nobody else, as it says who asked for what.
const MODE: u32 = 0o640;

/// How often it is looked whether the path is another file now.
const LOOK_PAUSE: Duration = Duration::from_secs(1);

/// A file that is written.
pub(crate) struct File {
    path: PathBuf,
    units: Units,
    bounds: FileBounds,
    open: Option<Opened>,
}

struct Opened {
    file: fs::File,
    octets: u64,
    /// Whether it is a file, and not a pipe or a terminal, which have neither bounds nor a disk.
    is_regular: bool,
    /// Device and inode.
    identity: (u64, u64),
    /// When it was last looked whether the path has another.
    looked: Instant,
}

impl File {
    /// One of frames: a new one each time that it is opened, as a second START in a stream makes it none.
    pub(crate) fn of_frames(path: &Path, bounds: FileBounds) -> File {
        File { path: path.to_owned(), units: Units::Frames, bounds, open: None }
    }

    /// One of lines, to the end of which they are added; opened anew where the path is another file, as tools that rotate logs have it.
    pub(crate) fn of_lines(path: &Path, bounds: FileBounds) -> File {
        File { path: path.to_owned(), units: Units::Lines, bounds, open: None }
    }

    fn open_now(&mut self) -> io::Result<&mut Opened> {
        let found = fs::metadata(&self.path).ok().filter(fs::Metadata::is_file);
        let length = found.map_or(0, |metadata| metadata.len());
        let is_full = match self.units {
            Units::Frames => length > 0,
            Units::Lines => length >= self.bounds.octets_max,
        };
        if is_full {
            self.move_on()?;
        }
        let mut options = OpenOptions::new();
        // A pipe that nobody reads is an error, and not waited for.
        options.create(true).mode(MODE).custom_flags(OFlags::NONBLOCK.bits() as i32);
        match self.units {
            Units::Frames => options.write(true),
            Units::Lines => options.append(true),
        };
        let (file, is_new) = match options.create_new(true).open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                (options.create_new(false).open(&self.path)?, false)
            }
            file => (file?, true),
        };
        if is_new {
            // Whatever rights new files have in the service. Who has made one beforehand has said who may read it.
            let _ = file.set_permissions(Permissions::from_mode(MODE));
        }
        let metadata = file.metadata()?;
        let is_regular = metadata.is_file();
        if self.units == Units::Frames && metadata.len() > 0 {
            // Another process has begun it since: one stream in the midst of another could not be read.
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process writes to it"));
        }
        let identity = (metadata.dev(), metadata.ino());
        let mut open = Opened { file, octets: metadata.len(), is_regular, identity, looked: Instant::now() };
        if self.units == Units::Frames {
            open.check_free(self.bounds)?;
            let start = Control::Start.frame();
            open.file.write_all(&start)?;
            open.octets += start.len() as u64;
        }
        Ok(self.open.insert(open))
    }

    /// Gives the file the name of an older one, and each of these the next, and removes the oldest: all that there may not be, as there might be more before.
    fn move_on(&self) -> io::Result<()> {
        let oldest = self.bounds.files_max.saturating_sub(1);
        if oldest == 0 {
            fs::remove_file(&self.path)?;
            return self.remove_from(1);
        }
        for age in (1..oldest).rev() {
            match fs::rename(self.older(age), self.older(age + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        fs::rename(&self.path, self.older(1))?;
        self.remove_from(oldest + 1)
    }

    fn older(&self, age: u32) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(format!(".{age}"));
        name.into()
    }

    /// Removes files from this age on, up to the first that is not there.
    fn remove_from(&self, age: u32) -> io::Result<()> {
        for age in age.. {
            match fs::remove_file(self.older(age)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                removed => removed?,
            }
        }
        Ok(())
    }

    /// Whether something else has the path now, or nothing; looked at once in a while.
    fn is_elsewhere(&mut self) -> bool {
        let Some(open) = &mut self.open else { return false };
        if self.units == Units::Frames || open.looked.elapsed() < LOOK_PAUSE {
            return false;
        }
        open.looked = Instant::now();
        !self.is_at_its_path()
    }

    /// Whether the path is that of the open file.
    fn is_at_its_path(&self) -> bool {
        let at = fs::metadata(&self.path).ok().map(|found| (found.dev(), found.ino()));
        self.open.as_ref().is_some_and(|open| at == Some(open.identity))
    }

    fn end_frames(&mut self) {
        if let Some(mut open) = self.open.take()
            && self.units == Units::Frames
        {
            // Without it readers take the file for one that was cut off, and read all the same.
            let _ = open.file.write_all(&Control::Stop.frame());
        }
    }

    /// The file for so many octets more.
    fn ready(&mut self, octets: u64) -> io::Result<&mut Opened> {
        let is_full = self.open.as_ref().is_some_and(|open| {
            open.is_regular && open.octets > 0 && open.octets + octets > self.bounds.octets_max
        });
        if is_full || self.is_elsewhere() {
            // What another process has put there is not moved on in the place of ours.
            let is_ours = self.is_at_its_path();
            self.end_frames();
            if is_full && is_ours && self.units == Units::Lines {
                self.move_on()?;
            }
        }
        let bounds = self.bounds;
        let open = match self.open.is_some() {
            true => self.open.as_mut().ok_or(io::ErrorKind::NotFound)?,
            false => self.open_now()?,
        };
        open.check_free(bounds)?;
        Ok(open)
    }
}

impl Write for File {
    fn open(&mut self, _: Instant) -> io::Result<()> {
        self.end_frames();
        self.open_now().map(|_| ())
    }

    fn write(&mut self, octets: &[u8]) -> Result<(), Cut> {
        let units = self.units;
        let nothing = |error| Cut { kept: 0, error, is_closed: false };
        let open = self.ready(octets.len() as u64).map_err(nothing)?;
        let (mut written, mut failed) = (0, None);
        while written < octets.len() && failed.is_none() {
            match open.file.write(&octets[written..]) {
                Ok(0) => failed = Some(io::Error::from(io::ErrorKind::WriteZero)),
                Ok(some) => written += some,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => failed = Some(error),
            }
        }
        let Some(error) = failed else {
            open.octets += octets.len() as u64;
            return Ok(());
        };
        let kept = units.whole(&octets[..written]).1;
        match open.cut_back(written as u64, kept as u64) {
            Ok(()) => Err(Cut { kept, error, is_closed: false }),
            // What comes next would not be read as what it is.
            Err(_) => {
                self.open = None;
                Err(Cut { kept, error, is_closed: true })
            }
        }
    }

    fn close(&mut self, _: Instant) {
        self.end_frames();
    }
}

impl Opened {
    /// Fails where the disk has less room than it is to have.
    fn check_free(&self, bounds: FileBounds) -> io::Result<()> {
        if !self.is_regular {
            return Ok(());
        }
        let disk = rustix::fs::fstatvfs(&self.file)?;
        match disk.f_bavail.saturating_mul(disk.f_frsize) < bounds.free_octets_min {
            true => {
                Err(io::Error::new(io::ErrorKind::StorageFull, "less room on the disk than is to be left"))
            }
            false => Ok(()),
        }
    }

    /// Of what was written last keeps whole units. Fails where that cannot be: another process has written behind it, or it is a pipe, whose reader may have gone.
    fn cut_back(&mut self, written: u64, kept: u64) -> io::Result<()> {
        if !self.is_regular || self.file.metadata()?.len() != self.octets + written {
            return Err(io::ErrorKind::NotSeekable.into());
        }
        self.file.set_len(self.octets + kept)?;
        // Frames are written at a place, lines at the end.
        io::Seek::seek(&mut self.file, io::SeekFrom::Start(self.octets + kept))?;
        self.octets += kept;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const BOUNDS: FileBounds = FileBounds { octets_max: 20, files_max: 3, free_octets_min: 0 };

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(1)
    }

    fn names(folder: &Path) -> Vec<(String, String)> {
        let mut files: Vec<(String, String)> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| {
                let text = fs::read(entry.path()).unwrap();
                (entry.file_name().into_string().unwrap(), String::from_utf8_lossy(&text).into_owned())
            })
            .collect();
        files.sort();
        files
    }

    fn named(files: &[(&str, &str)]) -> Vec<(String, String)> {
        files.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect()
    }

    #[test]
    fn lines_are_added_and_files_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, "before\n").unwrap();
        let mut file = File::of_lines(&path, BOUNDS);
        file.open(soon()).unwrap();
        for line in ["one one one\n", "two two two\n", "three three\n", "four four\n"] {
            assert!(file.write(line.as_bytes()).is_ok());
        }
        assert_eq!(
            names(folder.path()),
            named(&[("log", "four four\n"), ("log.1", "three three\n"), ("log.2", "two two two\n")]),
            "the oldest is gone"
        );
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, MODE);
    }

    /// Fewer files than before: those that are too many go with the next that is full.
    #[test]
    fn fewer_files_than_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        for (files_max, left) in [(5, 5), (3, 3), (1, 1)] {
            let mut file = File::of_lines(&path, FileBounds { files_max, ..BOUNDS });
            file.open(soon()).unwrap();
            for _ in 0..6 {
                assert!(file.write(b"a line of some length\n").is_ok());
            }
            assert_eq!(names(folder.path()).len(), left, "{:?}", names(folder.path()));
        }
    }

    #[test]
    fn lines_follow_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut file = File::of_lines(&path, FileBounds { octets_max: 1 << 20, ..BOUNDS });
        file.open(soon()).unwrap();
        assert!(file.write(b"one\n").is_ok());
        fs::rename(&path, folder.path().join("moved")).unwrap();
        file.open.as_mut().unwrap().looked -= LOOK_PAUSE;
        assert!(file.write(b"two\n").is_ok());
        assert_eq!(names(folder.path()), named(&[("log", "two\n"), ("moved", "one\n")]));
    }

    #[test]
    fn frames_have_a_file_for_each_opening() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tap");
        let bounds = FileBounds { octets_max: 1 << 20, ..BOUNDS };
        let mut file = File::of_frames(&path, bounds);
        for frame in [b"\0\0\0\x01a", b"\0\0\0\x01b", b"\0\0\0\x01c", b"\0\0\0\x01d"] {
            file.open(soon()).unwrap();
            assert!(file.write(frame).is_ok());
        }
        file.close(soon());
        for (name, letter) in [("tap", b"d"), ("tap.1", b"c"), ("tap.2", b"b")] {
            let whole = [&Control::Start.frame()[..], b"\0\0\0\x01", letter, &Control::Stop.frame()].concat();
            assert_eq!(fs::read(folder.path().join(name)).unwrap(), whole, "{name}");
        }
        assert_eq!(names(folder.path()).len(), 3);
    }

    #[test]
    fn what_others_have_put_there_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut file = File::of_lines(&path, BOUNDS);
        file.open(soon()).unwrap();
        assert!(file.write(b"one one one one one\n").is_ok());
        // Full, and moved on by somebody else a moment ago, who is the one to say who may read it.
        fs::rename(&path, folder.path().join("moved")).unwrap();
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert!(file.write(b"two\n").is_ok());
        let whole = [("log", "two\n"), ("moved", "one one one one one\n")];
        assert_eq!(names(folder.path()), named(&whole));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_cannot_be_cut_back_is_opened_anew() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = File::of_lines(&folder.path().join("log"), BOUNDS);
        let open = file.open_now().unwrap();
        open.file.write_all(b"one\ntw").unwrap();
        assert!(open.cut_back(5, 4).is_err(), "somebody has written an octet too");
        open.is_regular = false;
        assert!(open.cut_back(6, 4).is_err(), "of a pipe nothing can be taken back");
    }

    #[test]
    fn nothing_is_written_where_the_disk_is_to_keep_its_room() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut file = File::of_lines(&path, FileBounds { free_octets_min: u64::MAX, ..BOUNDS });
        file.open(soon()).unwrap();
        let cut = file.write(b"one\n").err().unwrap();
        assert_eq!((cut.kept, cut.is_closed, cut.error.kind()), (0, false, io::ErrorKind::StorageFull));
        assert_eq!(names(folder.path()), named(&[("log", "")]));
    }

    #[test]
    fn what_is_not_whole_is_cut_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut file =
            File::of_frames(&folder.path().join("tap"), FileBounds { octets_max: 1 << 20, ..BOUNDS });
        let open = file.open_now().unwrap();
        let before = open.octets;
        open.file.write_all(b"\0\0\0\x01a\0\0").unwrap();
        open.cut_back(7, 5).unwrap();
        assert!(file.write(b"\0\0\0\x01b").is_ok());
        file.close(soon());
        let octets = fs::read(folder.path().join("tap")).unwrap();
        let frames = [b"\0\0\0\x01a\0\0\0\x01b", &Control::Stop.frame()[..]].concat();
        assert_eq!(octets[before as usize..], frames);
    }
}
