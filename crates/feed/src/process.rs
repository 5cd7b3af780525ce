//! The process from its start to its end.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use store::{Access, Fault, Meta, Store};
use transfer::catalog_zone::Allowed;

use crate::confine::{close_inherited, confine, limit};
use crate::follow::{Follow, Over};
use crate::frame::Frame;
use crate::pair::{Reader, say};
use crate::watch::Watch;

/// How long the server may take to say which store.
const OPEN_WAIT: Duration = Duration::from_secs(10);
/// Before a store that cannot be read is tried again: twice as long each time.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// How long it is waited for others who write: as long as zones are not looked at.
const PATIENCE: Duration = Duration::from_secs(1);
/// From look to look while something comes, and when nothing has come for a while.
const POLLS: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));
/// That while.
const QUIET: Duration = Duration::from_secs(10);
/// How often it is said that this process is there.
const BEAT: Duration = Duration::from_secs(5);
/// Frames that are taken between two looks.
const FRAMES_A_TURN: usize = 1_024;

/// Runs until the server ends, or has this end. Standard input is the pair. The error is a line for the operator.
pub fn run() -> Result<(), String> {
    close_inherited().map_err(line("close what was inherited"))?;
    let stream =
        UnixStream::from(io::stdin().as_fd().try_clone_to_owned().map_err(line("use standard input"))?);
    let reader = Reader::new(stream.try_clone().map_err(line("use standard input"))?);
    let mut feeder = Feeder { stream, reader, beaten: Instant::now() };
    let mut wanted = Allowed::default();
    let path = loop {
        match feeder.reader.next(OPEN_WAIT) {
            Ok(Some(Frame::Names(name))) => wanted.add(&name),
            Ok(Some(Frame::Open(path))) => break PathBuf::from(path),
            _ => return Err("this is started by `zonda serve`, for `[[store]]`".into()),
        }
    };
    limit().map_err(line("give up rights"))?;
    match feeder.serve(&path, &wanted) {
        // The pair ends with the server, which is no fault of this process.
        Err(error)
            if error.kind() == io::ErrorKind::UnexpectedEof || error.kind() == io::ErrorKind::BrokenPipe =>
        {
            Ok(())
        }
        Err(error) => Err(format!("cannot go on: {error}")),
        Ok(()) => Ok(()),
    }
}

fn line(act: &'static str) -> impl Fn(io::Error) -> String {
    move |error| format!("cannot {act}: {error}")
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

struct Feeder {
    stream: UnixStream,
    reader: Reader,
    /// When it was said last that this process is there.
    beaten: Instant,
}

impl Feeder {
    /// Opens the store again and again; ends with the server.
    fn serve(&mut self, path: &Path, wanted: &Allowed) -> io::Result<()> {
        let mut pause = PAUSES.0;
        // What a link leads to is what is opened.
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let folder = self.confine(&real, &mut pause)?;
        loop {
            let began = Instant::now();
            let words = match self.follow(path, wanted) {
                Err(Over::Io(error)) => return Err(error),
                Err(Over::IsAnother) | Ok(()) => continue,
                Err(Over::Fault(fault)) => fault.lines().join("; "),
            };
            if folder != Watch::folder_of(&real) {
                // What takes its place lies beyond what this process may see.
                return Err(io::Error::other("the folder of the file is another one"));
            }
            pause = if began.elapsed() > PAUSES.1 { PAUSES.0 } else { pause };
            self.wait_away(words, &mut pause)?;
        }
    }

    /// Gives up rights, as soon as there is the folder that is left; says which that is.
    fn confine(&mut self, path: &Path, pause: &mut Duration) -> io::Result<Option<(u64, u64)>> {
        loop {
            match confine(path) {
                Ok(true) => break,
                Ok(false) => {
                    say(&self.stream, &[Frame::Unconfined])?;
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.wait_away(Fault::File("open its folder", error).to_string(), pause)?;
                }
                Err(error) => return Err(error),
            }
        }
        *pause = PAUSES.0;
        Ok(Watch::folder_of(path))
    }

    /// Says why nothing is read, and waits; what the server says meanwhile is of a push that nobody wants to know of any more.
    fn wait_away(&mut self, words: String, pause: &mut Duration) -> io::Result<()> {
        say(&self.stream, &[Frame::Away(words)])?;
        let until = Instant::now() + *pause;
        while Instant::now() < until {
            self.reader.next(until.saturating_duration_since(Instant::now()).min(BEAT))?;
            self.beat()?;
        }
        *pause = (2 * *pause).min(PAUSES.1);
        Ok(())
    }

    fn beat(&mut self) -> io::Result<()> {
        if self.beaten.elapsed() >= BEAT {
            self.beaten = Instant::now();
            say(&self.stream, &[Frame::Beat])?;
        }
        Ok(())
    }

    /// Follows one file.
    fn follow(&mut self, path: &Path, wanted: &Allowed) -> Result<(), Over> {
        let mut watch = Watch::new(path);
        let (mut store, is_writable) = open(path)?;
        store.set_patience(PATIENCE)?;
        // What cannot be read at all is found before anybody is told.
        store.snapshot()?.last()?;
        let identity = store.identity().to_owned();
        say(&self.stream, &[Frame::Opened { identity, is_writable }])?;
        let mut follow = self.take_held(wanted)?;
        let (mut seen, mut is_away, mut changed) = (None, false, Instant::now());
        loop {
            self.beat()?;
            if watch.is_another() {
                return Err(Over::IsAnother);
            }
            let version = store.data_version()?;
            if seen != Some(version) {
                let is_first = seen.is_none();
                match self.close(&mut store, is_writable, &mut follow) {
                    Ok(()) if is_away => {
                        say(&self.stream, &[Frame::Away(String::new())])?;
                        is_away = false;
                    }
                    Ok(()) => {}
                    // Somebody holds it for long. What is there can be read all the same.
                    Err(Over::Fault(fault @ Fault::Busy)) => {
                        if !std::mem::replace(&mut is_away, true) {
                            say(&self.stream, &[Frame::Away(fault.to_string())])?;
                        }
                    }
                    Err(over) => return Err(over),
                }
                let snapshot = store.snapshot()?;
                if is_first {
                    follow.list(&snapshot)?
                } else {
                    follow.look(&snapshot)?
                };
                // Looked at again until it could be closed.
                seen = if is_away { Some(version.wrapping_sub(1)) } else { Some(version) };
                changed = Instant::now();
            }
            let stream = &self.stream;
            follow.push(&mut store, &mut |frame| say(stream, &[frame]))?;
            let is_quiet = changed.elapsed() > QUIET;
            let wait = if follow.is_busy() {
                Duration::ZERO
            } else if is_quiet {
                POLLS.1
            } else {
                POLLS.0
            };
            self.hear(wait, &mut store, &mut follow)?;
        }
    }

    /// Takes what the server holds; it may take its time.
    fn take_held(&mut self, wanted: &Allowed) -> io::Result<Follow> {
        let mut follow = Follow::new(wanted.clone());
        loop {
            match self.reader.next(Duration::from_secs(60))? {
                Some(Frame::Held(zone, held)) => follow.hold(zone, held),
                Some(Frame::Go) => return Ok(follow),
                // Of a push before.
                Some(_) | None => {}
            }
        }
    }

    /// Makes versions of what others have changed by plain SQL.
    fn close(&mut self, store: &mut Store, is_writable: bool, follow: &mut Follow) -> Result<(), Over> {
        let stream = &self.stream;
        if !is_writable {
            return Ok(());
        }
        let closing = store.close_pending(None, now())?;
        Ok(follow.note_unfit(&closing.refused, &mut |frame| say(stream, &[frame]))?)
    }

    /// Takes what the server says.
    fn hear(&mut self, wait: Duration, store: &mut Store, follow: &mut Follow) -> Result<(), Over> {
        let mut wait = wait;
        for _ in 0..FRAMES_A_TURN {
            match self.reader.next(wait)? {
                Some(Frame::Raise(zone, above)) => {
                    let why = format!("above serial {above}, which a server had");
                    let meta = Meta { at: now(), who: Some("zonda"), why: Some(&why) };
                    match raise(store, &zone, above, &meta) {
                        Ok(()) => follow.raised(zone),
                        Err(fault) => {
                            say(&self.stream, &[Frame::Unfit(zone, fault.lines().join("; "))])?;
                        }
                    }
                }
                Some(frame) => follow.answer(frame),
                None => break,
            }
            wait = Duration::ZERO;
        }
        Ok(())
    }
}

fn raise(store: &mut Store, zone: &wire::Name, above: u32, meta: &Meta<'_>) -> Result<(), Fault> {
    let mut writer = store.writer()?;
    writer.raise(zone, above, meta)?;
    writer.commit()
}

/// Opens a store to write, as changes by plain SQL are to be versions; else to read. Says whether it may be written.
fn open(path: &Path) -> Result<(Store, bool), Fault> {
    match Store::open(path, Access::Write) {
        Err(fault) if store::open::is_for_want_of_rights(&fault) => {
            Ok((Store::open(path, Access::Read)?, false))
        }
        opened => Ok((opened?, true)),
    }
}
