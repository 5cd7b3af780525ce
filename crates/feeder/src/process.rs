//! The process from its start to its end.

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use store::Fault;
use store::source::{Found, Look, Raise, Source};
use transfer::catalog_zone::Allowed;
use wire::NameBuf;

use crate::confine::{close_inherited, limit};
use crate::filter::refuse;
use crate::follow::{Follow, Over};
use crate::reach::{Beat, Reach};
use feed::frame::{Frame, ROOTS_OCTETS_MAX};
use feed::pair::{Reader, say};

/// How long the server may take to say which store.
const OPEN_WAIT: Duration = Duration::from_secs(10);
/// Before a store that cannot be read is tried again: twice as long each time.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// Where nothing has come for so long it is looked less often.
const QUIET: Duration = Duration::from_secs(10);
/// How often it is looked whether the store is another one, while nothing else is to be done.
const HELD_WAIT: Duration = Duration::from_millis(100);
/// After so long the whole list is looked at once more, whatever was seen meanwhile.
const LIST: Duration = Duration::from_secs(3_600);
/// How often it is said that this process is there.
const BEAT: Duration = Duration::from_secs(5);
/// Frames that are taken between two looks.
const FRAMES_A_TURN: usize = 1_024;

/// Runs until the server ends, or has this end. Standard input is the pair. The error is a line for the operator.
pub fn run() -> Result<(), String> {
    ignore_signals().map_err(line("take signals"))?;
    close_inherited().map_err(line("close what was inherited"))?;
    let stream =
        UnixStream::from(io::stdin().as_fd().try_clone_to_owned().map_err(line("use standard input"))?);
    let reader = Reader::new(stream.try_clone().map_err(line("use standard input"))?);
    let mut feeder = Feeder { stream, reader, beaten: Instant::now() };
    let (mut wanted, mut roots) = (Allowed::default(), Vec::new());
    let address = loop {
        match feeder.reader.next(OPEN_WAIT) {
            Ok(Some(Frame::Names(name))) => wanted.add(&name),
            Ok(Some(Frame::Roots(piece))) if roots.len() + piece.len() <= ROOTS_OCTETS_MAX => {
                roots.extend(piece);
            }
            Ok(Some(Frame::Open(address))) => break address,
            _ => return Err("this is started by `zonda serve`, for `[[store]]`".into()),
        }
    };
    limit().map_err(line("give up rights"))?;
    match feeder.serve(Reach::of(address, roots), &wanted) {
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
    for signal in [SIGHUP, SIGINT, SIGTERM, SIGUSR1] {
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
    /// Whether it was said that somebody holds it.
    is_away: bool,
    /// When something was new last.
    changed: Instant,
    /// When the whole list was looked at last; `None`: it was not yet.
    listed: Option<Instant>,
}

impl Feeder {
    /// Opens the store again and again; ends with the server.
    fn serve(&mut self, mut reach: Reach, wanted: &Allowed) -> io::Result<()> {
        let mut pause = PAUSES.0;
        self.confine(&mut reach, &mut pause)?;
        loop {
            let began = Instant::now();
            let words = match self.follow(&reach, wanted) {
                Err(Over::Io(error)) => return Err(error),
                Err(Over::IsAnother) | Ok(()) => continue,
                Err(Over::Fault(fault)) => words(&fault),
            };
            if reach.is_elsewhere() {
                return Err(io::Error::other("the folder of the file is another one"));
            }
            pause = if began.elapsed() > PAUSES.1 { PAUSES.0 } else { pause };
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

    /// Follows one store.
    fn follow(&mut self, reach: &Reach, wanted: &Allowed) -> Result<(), Over> {
        let mut source = reach.open(beat_of(self.stream.try_clone()?))?;
        let source = &mut *source;
        let (identity, is_writable) = (source.identity().to_owned(), source.is_writable());
        say(&self.stream, &[Frame::Opened { identity, is_writable }])?;
        let mut follow = self.take_held(wanted, source)?;
        let mut looked = Looked { is_away: false, changed: Instant::now(), listed: None };
        loop {
            self.beat()?;
            self.look(source, &mut follow, &mut looked)?;
            let stream = &self.stream;
            follow.push(source, &mut |frame| say(stream, &[frame]))?;
            let pauses = source.pauses();
            let wait = match () {
                () if follow.is_busy() => Duration::ZERO,
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
            if source.is_another()? {
                return Err(Over::IsAnother);
            }
            match self.reader.next(HELD_WAIT)? {
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
        let (mut wait, mut raises) = (wait, Vec::new());
        for _ in 0..FRAMES_A_TURN {
            match self.reader.next(wait)? {
                Some(Frame::Raise(zone, above)) => raises.push((zone, above)),
                Some(frame) => follow.answer(frame),
                None => break,
            }
            wait = Duration::ZERO;
        }
        Ok(self.raise(raises, source, follow)?)
    }

    /// Has zones be given other versions.
    fn raise(&self, raises: Vec<Raise>, source: &mut dyn Source, follow: &mut Follow) -> io::Result<()> {
        if raises.is_empty() {
            return Ok(());
        }
        let mut failed: HashMap<NameBuf, String> = source.raise(&raises, now()).into_iter().collect();
        for (zone, _) in raises {
            match failed.remove(&zone) {
                Some(words) => say(&self.stream, &[Frame::Unfit(zone, words)])?,
                None => follow.raised(zone),
            }
        }
        Ok(())
    }
}

/// Says that this process is there while a statement takes its time, and whether anybody hears it: one over all zones, or over one that is large, takes minutes where the disk is slow, and who is ended
/// for that never comes to its end.
fn beat_of(stream: UnixStream) -> Beat {
    let mut beaten = Instant::now();
    Box::new(move || {
        if beaten.elapsed() < BEAT {
            return true;
        }
        beaten = Instant::now();
        // Where nobody hears it there is nobody to work for.
        say(&stream, &[Frame::Beat]).is_ok()
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
