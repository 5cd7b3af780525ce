//! A server that runs: what the record shows of it, whether it answers, its end and its next beginning.

use std::{
    net::{SocketAddr, TcpStream, UdpSocket},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use super::{Built, Setup, named, role};
use crate::{
    Error,
    bed::Bed,
    data::Zones,
    error::ServerProblem,
    peers,
    place::Place,
    process::{self, Process},
    recipe::Name,
    record,
};

/// More zones than this are not shown in the record.
const ZONES_SHOWN_MAX: usize = 5;

/// A server that answers with errors and for so long does next to nothing has no zones, and will have none.
const IDLE: Duration = Duration::from_secs(10);
/// Next to nothing, as share of a core's time: answering what asks whether it is there costs more than zero.
const IDLE_SHARE: f64 = 0.1;

/// A running server.
pub struct Server {
    /// Who.
    pub name: Name,
    /// Where it answers.
    pub address: SocketAddr,
    /// Where its settings are, and all that it writes.
    pub folder: PathBuf,
    /// Its processes.
    pub process: Process,
    /// Just before it was started.
    pub began: Instant,
    /// Another program runs it and watches, so that it may take its time to load.
    pub(super) is_watched: bool,
    pub(super) setup: Box<Setup>,
}

impl Server {
    /// What the record shows of it. Folders and port are those of one run and left away, so that two records of the
    /// same settings show the same.
    pub fn describe(&self, built: Built, zones: &Zones) -> record::Contender {
        let shown = match zones.list.len() {
            0..=ZONES_SHOWN_MAX => self.setup.zones.clone(),
            count => format!("… {count} zones\n"),
        };
        let port = self.address.port().to_string();
        let settings = (self.setup.head.clone() + &shown).replace(&port, "PORT");
        let mut settings =
            settings.replace(&format!("{}/", self.folder.display()).replace(&port, "PORT"), "");
        settings = settings.replace(&self.folder.display().to_string().replace(&port, "PORT"), ".");
        // Beside it lies what several servers have, such as packs.
        if let Some(work) = self.folder.parent() {
            settings = settings.replace(&format!("{}/", work.display()).replace(&port, "PORT"), "WORK/");
        }
        if let Some(folder) = peers::chosen() {
            settings = settings.replace(&folder.path().display().to_string(), "PEERS");
        }
        for folder in zones.list.iter().take(ZONES_SHOWN_MAX).filter_map(|(_, path)| path.parent()) {
            settings = settings.replace(&format!("{}/", folder.display()), "");
        }
        let command = self
            .setup
            .command
            .iter()
            .map(|word| without_folders(&word.replace(&format!(":{port}"), ":PORT")));
        let Built { version, options } = built;
        let (name, command) = (self.name.text().to_owned(), command.collect());
        record::Contender { name, version, options, command, settings }
    }

    /// Waits until it answers `question` without an error (the echo server: at all), asking every `every`, or until
    /// `stop`. Returns when it did.
    pub fn wait(
        &mut self,
        bed: &Bed,
        question: &bench::query::Query,
        seconds: f64,
        every: Duration,
        stop: &AtomicBool,
    ) -> Result<Instant, Error> {
        if self.setup.command.iter().any(|word| word == "--tcp") {
            return self.wait_for_connection(bed, seconds, every, stop);
        }
        let socket = socket(bed, self.address)?;
        let mut packet = Vec::new();
        question.write(&mut packet);
        let until = self.began + Duration::from_secs_f64(seconds);
        let mut idle = Idle { since: self.began, cpu: 0.0 };
        loop {
            let asked = Instant::now();
            if socket.send(&packet).is_ok() {
                match answered(&socket, asked + every, self.name == Name::Echo) {
                    Heard::Answer => return Ok(Instant::now()),
                    Heard::Refusal(code) if !self.is_watched && idle.is_long(&self.process) => {
                        return Err(self.fault(ServerProblem::Refuses(code)));
                    }
                    _ => {}
                }
            }
            self.may_still_come(until, seconds, stop)?;
            thread::sleep(every.saturating_sub(asked.elapsed()));
        }
    }

    /// An error where there is nothing to wait for any more: it has ended, somebody wants an end, or it took too long.
    fn may_still_come(&mut self, until: Instant, seconds: f64, stop: &AtomicBool) -> Result<(), Error> {
        if let Some(status) = self.process.ended() {
            return Err(self.fault(ServerProblem::Ended(status.code())));
        }
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        match Instant::now() > until {
            true => Err(self.fault(ServerProblem::Silent(seconds))),
            false => Ok(()),
        }
    }

    /// The same of one that answers over TCP alone: until it takes a connection.
    fn wait_for_connection(
        &mut self,
        bed: &Bed,
        seconds: f64,
        every: Duration,
        stop: &AtomicBool,
    ) -> Result<Instant, Error> {
        let (address, until) = (self.address, self.began + Duration::from_secs_f64(seconds));
        loop {
            if bed.load().enter(|| Ok(TcpStream::connect(address).is_ok()))? {
                return Ok(Instant::now());
            }
            self.may_still_come(until, seconds, stop)?;
            thread::sleep(every);
        }
    }

    /// Kills it, as a loss of power of the machine's users would, and starts it again with all that it has written.
    pub fn restart(&mut self, place: &Place) -> Result<(), Error> {
        self.process.kill();
        self.began = Instant::now();
        self.process = Process::start(&self.setup.command, place, &self.folder)?;
        Ok(())
    }

    /// Ends it in order.
    pub fn end(&mut self) {
        self.process.stop();
    }

    /// Starts it again after its end, with all that it has written.
    pub fn begin_again(&mut self, place: &Place) -> Result<(), Error> {
        self.began = Instant::now();
        self.process = Process::start(&self.setup.command, place, &self.folder)?;
        Ok(())
    }

    /// Its own copy of the zone with that place in the list.
    pub fn copy_of(&self, index: usize) -> PathBuf {
        role::copy_of(&self.folder, index)
    }

    /// Has it read a zone again, by the command of its operators, which runs in `place` and writes what it says into `folder`.
    pub fn reload(&self, apex: &str, place: &Place, folder: &Path) -> Result<Process, Error> {
        let mut command = self.setup.reload.clone();
        command.push(apex.to_owned());
        if process::find(&command[0]).is_none() {
            let package =
                if command[0] == named::CONTROL { named::CONTROL_PACKAGE } else { self.name.package() };
            return Err(self.reload_fault(format!("{} is missing: on Debian install {package}", command[0])));
        }
        Process::start(&command, place, folder)
    }

    /// That it could not be had to read a zone again, and what was said.
    pub fn reload_fault(&self, said: String) -> Error {
        Error::Server { contender: self.name.text().to_owned(), problem: ServerProblem::Reload, said }
    }

    /// What went wrong with it, with its last lines.
    pub fn fault(&self, problem: ServerProblem) -> Error {
        Error::Server { contender: self.name.text().to_owned(), problem, said: self.process.said() }
    }
}

/// A UDP socket at the generator's end.
pub fn socket(bed: &Bed, server: SocketAddr) -> Result<UdpSocket, Error> {
    bed.load().enter(|| {
        let any = if server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = UdpSocket::bind(any)?;
        socket.connect(server)?;
        Ok(socket)
    })
}

/// For how long a server did next to nothing, by its processor time.
struct Idle {
    since: Instant,
    cpu: f64,
}

impl Idle {
    /// Whether that is so long that it will not do anything any more. Only asked of a server that answers, which one that
    /// waits for a disk does not.
    fn is_long(&mut self, process: &Process) -> bool {
        if self.since.elapsed() < IDLE {
            return false;
        }
        let cpu = process.cpu();
        let used = cpu.user + cpu.system - self.cpu;
        let is_long = used < self.since.elapsed().as_secs_f64() * IDLE_SHARE;
        *self = Idle { since: Instant::now(), cpu: self.cpu + used };
        is_long
    }
}

/// A word of a command, of a path the last part, also of one that an option with `=` has. A file may have `=` in its name.
fn without_folders(word: &str) -> String {
    let option = word.split_once('=').filter(|_| word.starts_with('-'));
    match (option, word.rsplit_once('/')) {
        (Some((option, _)), Some((_, last))) => format!("{option}={last}"),
        (None, Some((_, last))) => last.to_owned(),
        _ => word.to_owned(),
    }
}

/// What came back from a server.
enum Heard {
    /// The answer.
    Answer,
    /// A response with this code, or none of the records asked for.
    Refusal(u8),
    Nothing,
}

/// Waits until then for a response that has records and no error (`any`: any response). It may be to an earlier query:
/// servers whose socket is there before their zones answer what waited in it.
fn answered(socket: &UdpSocket, until: Instant, any: bool) -> Heard {
    let mut buffer = [0; 4096];
    let mut heard = Heard::Nothing;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || socket.set_read_timeout(Some(left)).is_err() {
            return heard;
        }
        let Ok(octets) = socket.recv(&mut buffer) else { return heard };
        let Some(header) = buffer[..octets].first_chunk::<12>() else { continue };
        if header[2] & 0x80 == 0 {
            continue;
        }
        let (code, has_records) = (header[3] & 0x0f, header[7] > 0 || header[9] > 0);
        if any || (code == 0 && has_records) {
            return Heard::Answer;
        }
        heard = Heard::Refusal(code);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_without_folders() {
        for (word, shown) in [
            ("/usr/sbin/named", "named"),
            ("--config=/of/a/run/knot.conf", "--config=knot.conf"),
            ("/of/a/run/sizes/signed,-DO=1.sizes", "signed,-DO=1.sizes"),
            ("--processes", "--processes"),
            ("--processes=1", "--processes=1"),
        ] {
            assert_eq!(without_folders(word), shown);
        }
    }
}
