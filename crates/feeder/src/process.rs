//! The process from its start to its end.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use store::Fault;
use store::source::{Found, Look, Source};
use transfer::catalog_zone::Allowed;

use crate::confine::{close_inherited, limit};
use crate::filter::refuse;
use crate::follow::{Follow, Over};
use crate::reach::{Beat, Reach};
use crate::write::{Came, Writes};
use feed::frame::{Frame, ROOTS_OCTETS_MAX};
use feed::pair::{Reader, SILENCE_MAX, Together, say};

/// How long the server may take to say which store.
const OPEN_WAIT: Duration = Duration::from_secs(10);
/// Before a store that cannot be read is tried again: twice as long each time, until it was read for longer than that.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// Where nothing has come for so long it is looked less often.
const QUIET: Duration = Duration::from_secs(10);
/// How often it is looked whether the store is another one, while nothing else is to be done.
const HELD_WAIT: Duration = Duration::from_millis(100);
/// After so long the whole list is looked at once more, whatever was seen meanwhile.
const LIST: Duration = Duration::from_secs(3_600);
/// How often it is said that this process is there.
const BEAT: Duration = Duration::from_secs(5);
/// How often what the server says is taken in while a statement is at work: as it asks how it stands.
const TAKE: Duration = Duration::from_secs(1);
const _: () = assert!(
    BEAT.as_secs() * 8 < SILENCE_MAX.as_secs(),
    "who is there is not given up for being late now and then"
);
/// Frames that are taken between two looks.
const FRAMES_A_TURN: usize = 1_024;

/// Runs until the server ends, or has this end. Standard input is the pair. The error is a line for the operator.
pub fn run() -> Result<(), String> {
    ignore_signals().map_err(line("take signals"))?;
    close_inherited().map_err(line("close what was inherited"))?;
    let stream =
        UnixStream::from(io::stdin().as_fd().try_clone_to_owned().map_err(line("use standard input"))?);
    let mut feeder = Feeder::new(stream).map_err(line("use standard input"))?;
    let (mut wanted, mut roots, mut tables) = (Allowed::default(), Vec::new(), None);
    let address = loop {
        match feeder.next(OPEN_WAIT) {
            Ok(Some(Frame::Names(name))) => wanted.add(&name),
            Ok(Some(Frame::Roots(piece))) if roots.len() + piece.len() <= ROOTS_OCTETS_MAX => {
                roots.extend(piece);
            }
            Ok(Some(Frame::PowerDns(rules))) => tables = Some(rules),
            Ok(Some(Frame::Open(address))) => break address,
            _ => return Err("this is started by `zonda serve`, for `[[store]]`".into()),
        }
    };
    limit().map_err(line("give up rights"))?;
    match feeder.serve(Reach::of(address, roots, tables), &wanted) {
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

/// Who ends the server by the keyboard, or a service manager that ends all processes of it, means this one too; and whoever means all processes of the program's name does.
/// It goes with the pair, once the server has closed that: else the server would hear of a feeder that ended, and say so.
fn ignore_signals() -> io::Result<()> {
    // And a file that may not become longer is an error of who writes it, as a full disk is.
    for signal in [SIGHUP, SIGINT, SIGTERM, SIGUSR1, nix::libc::SIGXFSZ] {
        // The flag is read by nobody. Calls to the system that are at work go on.
        signal_hook::flag::register(signal, Arc::default())?;
    }
    Ok(())
}

fn line(act: &'static str) -> impl Fn(io::Error) -> String {
    move |error| format!("cannot {act}: {error}")
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Milliseconds since 1970.
fn millis() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
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
    /// What comes is taken in while statements are at work, too: by this thread alone.
    reader: Arc<Mutex<Reader>>,
    /// When it was said last that this process is there.
    beaten: Instant,
    /// Since when the store can be read, all of its list included.
    read_since: Option<Instant>,
    /// Changes that the server asks for.
    writes: Writes,
}

/// What was seen of a store.
struct Looked {
    /// Whether it was said that somebody holds it.
    is_away: bool,
    /// When something was new last.
    changed: Instant,
    /// When the whole list was looked at last; `None`: it was not yet.
    listed: Option<Instant>,
    /// What was said of the notices of the database.
    notices: Option<Result<(), String>>,
}

impl Feeder {
    fn new(stream: UnixStream) -> io::Result<Feeder> {
        let reader = Arc::new(Mutex::new(Reader::new(stream.try_clone()?)));
        Ok(Feeder { stream, reader, beaten: Instant::now(), read_since: None, writes: Writes::default() })
    }

    /// The next frame of the server; waits for it, `wait` at the longest.
    fn next(&self, wait: Duration) -> io::Result<Option<Frame>> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner).next(wait)
    }

    /// Opens the store again and again; ends with the server.
    fn serve(&mut self, mut reach: Reach, wanted: &Allowed) -> io::Result<()> {
        let mut pause = PAUSES.0;
        self.confine(&mut reach, &mut pause)?;
        loop {
            let words = match self.follow(&reach, wanted) {
                Err(Over::Io(error)) => return Err(error),
                Err(Over::IsAnother) | Ok(()) => continue,
                Err(Over::Fault(fault)) => words(&fault),
            };
            if reach.is_elsewhere() {
                return Err(io::Error::other("the folder of the file is another one"));
            }
            // One that goes away now and then is not one that cannot be read.
            let was_read = self.read_since.take().is_some_and(|since| since.elapsed() > 2 * pause);
            pause = if was_read { PAUSES.0 } else { pause };
            self.wait_away(words, &mut pause)?;
        }
    }

    /// Gives up rights, as soon as there is what is left.
    fn confine(&mut self, reach: &mut Reach, pause: &mut Duration) -> io::Result<()> {
        loop {
            match reach.confine() {
                // After the last call for rights, and before the first octet of others.
                Ok(is_confined) => {
                    let is_filtered = refuse(reach.sockets())?;
                    if !is_confined || !is_filtered {
                        say(&self.stream, &[Frame::Unconfined])?;
                    }
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.wait_away(Fault::File("open its folder", error).to_string(), pause)?;
                }
                Err(error) => return Err(error),
            }
        }
        *pause = PAUSES.0;
        Ok(())
    }

    /// Says why nothing is read, and waits; what the server says meanwhile is of a push that nobody wants to know of any more, or a change, which is declined.
    fn wait_away(&mut self, words: String, pause: &mut Duration) -> io::Result<()> {
        say(&self.stream, &[Frame::Away(words)])?;
        let until = Instant::now() + *pause;
        while Instant::now() < until {
            self.decline()?;
            if let Some(frame) = self.next(until.saturating_duration_since(Instant::now()).min(BEAT))? {
                drop(self.writes.take(frame));
            }
            self.beat()?;
        }
        *pause = (2 * *pause).min(PAUSES.1);
        Ok(())
    }

    /// Says of all changes that wait that nothing comes of them now.
    fn decline(&mut self) -> io::Result<()> {
        match &self.writes.decline()[..] {
            [] => Ok(()),
            frames => say(&self.stream, frames),
        }
    }

    fn beat(&mut self) -> io::Result<()> {
        if self.beaten.elapsed() >= BEAT {
            self.beaten = Instant::now();
            say(&self.stream, &[Frame::Beat])?;
        }
        Ok(())
    }

    /// Follows one store.
    fn follow(&mut self, reach: &Reach, wanted: &Allowed) -> Result<(), Over> {
        let mut source = reach.open(beat_of(self.stream.try_clone()?, Arc::clone(&self.reader)))?;
        let source = &mut *source;
        let (identity, is_writable) = (source.identity().to_owned(), source.is_writable());
        say(&self.stream, &[Frame::Opened { identity, is_writable }])?;
        let mut follow = self.take_held(wanted, source)?;
        let mut looked = Looked { is_away: false, changed: Instant::now(), listed: None, notices: None };
        loop {
            self.beat()?;
            self.look(source, &mut follow, &mut looked)?;
            self.read_since.get_or_insert_with(Instant::now);
            let mut line = Together::new(&self.stream);
            let pushed = follow.push(source, &mut line);
            // What was read before a fault counts.
            line.end()?;
            pushed?;
            let pauses = source.pauses();
            let wait = match () {
                () if follow.is_busy() || self.writes.are_due() => Duration::ZERO,
                () if follow.is_raising() => pauses.0.min(HELD_WAIT),
                () if looked.changed.elapsed() > QUIET => pauses.1.min(BEAT),
                () => pauses.0.min(BEAT),
            };
            self.hear(wait, source, &mut follow)?;
        }
    }

    /// Takes what the server holds. It may take its time, if another database is to be confirmed first, and that one may be put back meanwhile.
    fn take_held(&mut self, wanted: &Allowed, source: &mut dyn Source) -> Result<Follow, Over> {
        let mut follow = Follow::new(wanted.clone());
        loop {
            self.beat()?;
            self.decline()?;
            if source.is_another()? {
                return Err(Over::IsAnother);
            }
            match self.next(HELD_WAIT)?.and_then(|frame| self.writes.take(frame)) {
                Some(Frame::Held(zone, held)) => follow.hold(zone, held),
                Some(Frame::Go) => return Ok(follow),
                // Of a push before.
                Some(_) | None => {}
            }
        }
    }

    /// Looks what is new.
    fn look(
        &mut self,
        source: &mut dyn Source,
        follow: &mut Follow,
        looked: &mut Looked,
    ) -> Result<(), Over> {
        if source.is_another()? {
            return Err(Over::IsAnother);
        }
        let Look { found, unfit, waits } = source.look(now())?;
        let stream = &self.stream;
        if let Some(unfit) = unfit {
            follow.note_unfit(&unfit, &mut |frame| say(stream, &[frame]))?;
        }
        if waits.is_some() != looked.is_away {
            looked.is_away = waits.is_some();
            say(stream, &[Frame::Away(waits.as_ref().map(words).unwrap_or_default())])?;
        }
        let notices = source.notices();
        if notices != looked.notices {
            let words = notices.clone().map(|heard| heard.err().unwrap_or_default());
            say(stream, &[Frame::Notices(words)])?;
            looked.notices = notices;
        }
        let is_list = looked.listed.is_none_or(|listed| listed.elapsed() >= LIST);
        match found {
            Found::Another => return Err(Over::IsAnother),
            Found::Nothing if !is_list => return Ok(()),
            Found::Zones(zones) if !is_list => follow.changed(&zones),
            Found::List | Found::Nothing | Found::Zones(_) => {
                follow.list(source)?;
                looked.listed = Some(Instant::now());
            }
        }
        looked.changed = Instant::now();
        Ok(())
    }

    /// Takes what the server says.
    fn hear(&mut self, wait: Duration, source: &mut dyn Source, follow: &mut Follow) -> Result<(), Over> {
        let has_some = self.reader.lock().unwrap_or_else(PoisonError::into_inner).has_some();
        let has_waited = !has_some && !wait.is_zero() && source.await_news(self.stream.as_fd(), wait);
        let mut wait = if has_waited { Duration::ZERO } else { wait };
        for _ in 0..FRAMES_A_TURN {
            match self.next(wait)? {
                Some(frame) => {
                    self.writes.take(frame).into_iter().for_each(|frame| follow.answer(frame));
                }
                None => break,
            }
            wait = Duration::ZERO;
        }
        let stream = &self.stream;
        follow.raise(source, now(), &mut |frame| say(stream, &[frame]))?;
        self.write(source, follow)
    }

    /// Changes what the server asks for, as far as one transaction goes.
    fn write(&mut self, source: &mut dyn Source, follow: &mut Follow) -> Result<(), Over> {
        if !self.writes.are_due() {
            return Ok(());
        }
        let Came { frames, changed, fault } =
            self.writes.turn(millis(), |writes| source.write(writes, now()));
        // Before any of it is pushed.
        say(&self.stream, &frames)?;
        changed.into_iter().for_each(|zone| follow.written(zone));
        fault.map_or(Ok(()), |fault| Err(fault.into()))
    }
}

/// Takes in what the server says while a statement takes its time, and says that this process is there: one over all zones, or over one that is large, takes minutes where the disk is slow, and who is ended
/// for that ([`feed::pair::SILENCE_MAX`]) never comes to its end. Says whether there is anybody to work for.
fn beat_of(stream: UnixStream, reader: Arc<Mutex<Reader>>) -> Beat {
    let (mut beaten, mut taken) = (Instant::now(), Instant::now());
    Box::new(move || {
        if taken.elapsed() < TAKE {
            return true;
        }
        taken = Instant::now();
        if reader.lock().unwrap_or_else(PoisonError::into_inner).take_in().is_err() {
            return false;
        }
        if beaten.elapsed() < BEAT {
            return true;
        }
        beaten = Instant::now();
        say(&stream, &[Frame::Beat]).is_ok()
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
