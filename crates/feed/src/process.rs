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
/// After so long the whole list is looked at once more, whatever was seen meanwhile.
const LIST: Duration = Duration::from_secs(3_600);
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

/// Why a store is not followed, as one line.
fn words(fault: &Fault) -> String {
    match fault {
        // The time in its own words is that of who waits for it.
        Fault::Busy => "somebody else writes for long: what others have changed by plain SQL waits".into(),
        fault => fault.lines().join("; "),
    }
}

struct Feeder {
    stream: UnixStream,
    reader: Reader,
    /// When it was said last that this process is there.
    beaten: Instant,
}

/// What was seen of a store.
struct Looked {
    /// [`Store::data_version`]; `None`: nothing was looked at yet.
    version: Option<i64>,
    /// Whether it was said that somebody holds it.
    is_away: bool,
    /// When something was new last.
    changed: Instant,
    /// When the whole list was looked at last.
    listed: Instant,
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
                Err(Over::Fault(fault)) => words(&fault),
            };
            // What takes the place of the folder, or is where a link leads now, lies beyond what this process may see.
            let is_elsewhere = std::fs::canonicalize(path).is_ok_and(|now| now.parent() != real.parent());
            if is_elsewhere || folder != Watch::folder_of(&real) {
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
        store.on_progress(beat_of(self.stream.try_clone()?))?;
        // What cannot be read at all is found before anybody is told.
        store.snapshot()?.last()?;
        let identity = store.identity().to_owned();
        say(&self.stream, &[Frame::Opened { identity, is_writable }])?;
        let mut follow = self.take_held(wanted, &mut watch)?;
        let mut looked =
            Looked { version: None, is_away: false, changed: Instant::now(), listed: Instant::now() };
        loop {
            self.beat()?;
            if watch.is_another() {
                return Err(Over::IsAnother);
            }
            self.look((&mut store, is_writable), &mut follow, &mut looked)?;
            let stream = &self.stream;
            follow.push(&mut store, &mut |frame| say(stream, &[frame]))?;
            let wait = match () {
                () if follow.is_busy() => Duration::ZERO,
                () if looked.changed.elapsed() > QUIET => POLLS.1,
                () => POLLS.0,
            };
            self.hear(wait, &mut store, &mut follow)?;
        }
    }

    /// Takes what the server holds. It may take its time, if another database is to be confirmed first, and that one may be put back meanwhile.
    fn take_held(&mut self, wanted: &Allowed, watch: &mut Watch) -> Result<Follow, Over> {
        let mut follow = Follow::new(wanted.clone());
        loop {
            self.beat()?;
            if watch.is_another() {
                return Err(Over::IsAnother);
            }
            match self.reader.next(POLLS.1)? {
                Some(Frame::Held(zone, held)) => follow.hold(zone, held),
                Some(Frame::Go) => return Ok(follow),
                // Of a push before.
                Some(_) | None => {}
            }
        }
    }

    /// Looks what is new, if anything can be.
    fn look(
        &mut self,
        (store, is_writable): (&mut Store, bool),
        follow: &mut Follow,
        looked: &mut Looked,
    ) -> Result<(), Over> {
        let version = store.data_version()?;
        let is_list = looked.version.is_none() || looked.listed.elapsed() >= LIST;
        if !is_list && looked.version == Some(version) && !looked.is_away {
            return Ok(());
        }
        let closed = if is_writable { self.close(store, follow) } else { Ok(()) };
        let away = match closed {
            Ok(()) => None,
            // Somebody holds it for long. What is there can be read all the same.
            Err(Over::Fault(fault @ Fault::Busy)) => Some(words(&fault)),
            Err(over) => return Err(over),
        };
        if away.is_some() != looked.is_away {
            looked.is_away = away.is_some();
            say(&self.stream, &[Frame::Away(away.unwrap_or_default())])?;
        }
        let snapshot = store.snapshot()?;
        match is_list {
            true => {
                follow.list(&snapshot)?;
                looked.listed = Instant::now();
            }
            false => follow.look(&snapshot)?,
        }
        (looked.version, looked.changed) = (Some(version), Instant::now());
        Ok(())
    }

    /// Makes versions of what others have changed by plain SQL.
    fn close(&mut self, store: &mut Store, follow: &mut Follow) -> Result<(), Over> {
        let stream = &self.stream;
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

/// Says that this process is there while a statement takes its time, and whether anybody hears it: one over all zones, or over one that is large, takes minutes where the disk is slow, and who is ended
/// for that never comes to its end.
fn beat_of(stream: UnixStream) -> impl FnMut() -> bool + Send + 'static {
    let mut beaten = Instant::now();
    move || {
        if beaten.elapsed() < BEAT {
            return true;
        }
        beaten = Instant::now();
        // Where nobody hears it there is nobody to work for.
        say(&stream, &[Frame::Beat]).is_ok()
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
