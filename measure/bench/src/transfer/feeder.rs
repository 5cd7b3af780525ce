//! A primary for experiments: zones in memory, given to whom asks, as fast as a connection takes them.
//!
//! It answers SOA queries over both transports, AXFR and IXFR over TCP (IXFR over UDP with the SOA record alone, which sends a client to
//! TCP: RFC 1995 2), and everything else with nothing. It knows no keys. Nobody is told of a change unless [`Feeder::notify`] is called.

use std::{
    collections::{HashMap, VecDeque},
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream, UdpSocket},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    net::sockopt,
};
use wire::{
    Message, Name, NameBuf, Places,
    header::{QR, opcode},
    iana::{class, opcode as operation, rtype},
    render::Section,
};

use super::{
    frames::{Frames, Writer},
    history::{Change, History},
    records::{self, Digest, Octets, Records},
};

/// Changes of a zone that are kept for IXFR: beyond, a client gets the whole zone.
const CHANGES_MAX: usize = 200_000;
/// Connections at a time: more than any secondary opens to one primary within [`NEXT`], each with a thread.
const CONNECTIONS_MAX: usize = 4096;
/// How long a connection may say nothing at first, or take nothing.
const IDLE: Duration = Duration::from_secs(30);
/// How long one is kept for another request: named opens one for each zone and closes none, and there are 10,000 zones (RFC 7766 6.2.3).
const NEXT: Duration = Duration::from_millis(200);
/// What the UDP socket may hold: questions for the serials of 10,000 zones at once, as the kernel counts them, several times over.
const RECEIVE_OCTETS: usize = 32 << 20;
/// Longest sleep, so that an end is seen.
const SLEEP: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// Written at once.
const CHUNK_OCTETS: usize = 1 << 18;
/// QR, AA, and NOERROR.
const FLAGS: u16 = 0x8400;
/// Without the zone: REFUSED.
const REFUSED: u16 = 0x8005;
/// NOTIFY, AA.
const NOTIFY: u16 = 0x2400;

/// What was given.
#[derive(Debug, Default)]
pub struct Counts {
    /// Whole zones.
    pub axfr: AtomicU64,
    /// Changes only.
    pub ixfr: AtomicU64,
    /// Octets of both.
    pub octets: AtomicU64,
}

struct Zone {
    apex: NameBuf,
    soa: Octets,
    records: Records,
    changes: VecDeque<Step>,
    /// Whether somebody has answered a notice of this version.
    is_told: bool,
    /// Whether somebody has asked for this version, or for its serial.
    is_asked: bool,
    /// All of it, rendered for AXFR at this version.
    whole: Option<Arc<Frames>>,
}

/// A change with the SOA records that it lies between.
struct Step {
    before: Octets,
    after: Octets,
    change: Change,
}

struct Shared {
    zones: HashMap<Vec<u8>, Mutex<Zone>>,
    udp: UdpSocket,
    counts: Counts,
    stop: AtomicBool,
    connections: AtomicUsize,
}

/// The primary; dropping it ends it. Its threads have the namespace and the cores of the thread that started it.
pub struct Feeder {
    shared: Arc<Shared>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl Feeder {
    /// Listens for both transports and serves the first versions.
    pub fn start(address: SocketAddr, zones: impl IntoIterator<Item = History>) -> io::Result<Feeder> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let udp = UdpSocket::bind(address)?;
        udp.set_nonblocking(true)?;
        // Where less is allowed it gets that.
        let _ = sockopt::set_socket_recv_buffer_size(&udp, RECEIVE_OCTETS);
        let zone = |history: History| {
            let History { apex, soa, base, .. } = history;
            let key = apex.octets().to_vec();
            (
                key,
                Mutex::new(Zone {
                    apex,
                    soa,
                    records: base,
                    changes: VecDeque::new(),
                    is_told: false,
                    is_asked: false,
                    whole: None,
                }),
            )
        };
        let shared = Arc::new(Shared {
            zones: zones.into_iter().map(zone).collect(),
            udp,
            counts: Counts::default(),
            stop: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
        });
        let own = Arc::clone(&shared);
        let thread =
            std::thread::Builder::new().name("feeder".to_owned()).spawn(move || own.run(&listener))?;
        Ok(Feeder { shared, address, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it gave so far.
    pub fn counts(&self) -> &Counts {
        &self.shared.counts
    }

    /// Renders all zones now, so that no transfer waits for that.
    pub fn render(&self) {
        for zone in self.shared.zones.values() {
            lock(zone).whole();
        }
    }

    /// Makes a change; what goes is gone and what comes is there from then on. Returns serial and digest of the version after it, without its SOA
    /// record; nothing where there is no such zone.
    pub fn publish(&self, apex: &Name, change: Change) -> Option<(u32, Digest)> {
        Some(lock(self.shared.zones.get(apex.octets())?).publish(change))
    }

    /// Serial and digest of the version of a zone that is served.
    pub fn version(&self, apex: &Name) -> Option<(u32, Digest)> {
        let zone = lock(self.shared.zones.get(apex.octets())?);
        Some((zone.serial(), zone.records.digest()))
    }

    /// Whether somebody has answered a notice of the version that is served.
    pub fn is_told(&self, apex: &Name) -> bool {
        self.shared.zones.get(apex.octets()).is_some_and(|zone| lock(zone).is_told)
    }

    /// Whether somebody has asked for the version that is served, or for its serial.
    pub fn is_asked(&self, apex: &Name) -> bool {
        self.shared.zones.get(apex.octets()).is_some_and(|zone| lock(zone).is_asked)
    }

    /// Tells somebody that a zone has changed (RFC 1996), once: notices may be lost, see [`Feeder::is_told`].
    pub fn notify(&self, to: SocketAddr, apex: &Name) {
        let Some(zone) = self.shared.zones.get(apex.octets()) else { return };
        let zone = lock(zone);
        let mut message = Vec::new();
        head(&mut message, (zone.serial() as u16, NOTIFY), Some((&zone.apex, rtype::SOA)), 1);
        message.extend_from_slice(&zone.soa);
        let _ = self.shared.udp.send_to(&message, to);
    }
}

impl Drop for Feeder {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A zone is whole at every moment, whoever panicked.
fn lock(zone: &Mutex<Zone>) -> std::sync::MutexGuard<'_, Zone> {
    zone.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A header, with a question where there is one, and so many records to follow.
fn head(to: &mut Vec<u8>, (id, flags): (u16, u16), question: Option<(&Name, u16)>, answers: u16) {
    for number in [id, flags, u16::from(question.is_some()), answers, 0, 0] {
        to.extend_from_slice(&number.to_be_bytes());
    }
    if let Some((name, qtype)) = question {
        to.extend_from_slice(name.octets());
        to.extend_from_slice(&qtype.to_be_bytes());
        to.extend_from_slice(&class::IN.to_be_bytes());
    }
}

impl Zone {
    fn serial(&self) -> u32 {
        records::serial(records::parts(&self.soa).rdata).unwrap_or(0)
    }

    fn publish(&mut self, change: Change) -> (u32, Digest) {
        let after = records::with_serial(&self.soa, change.serial);
        for record in &change.removed {
            self.records.remove(record);
        }
        for record in &change.added {
            self.records.add(record.clone());
        }
        let before = std::mem::replace(&mut self.soa, after.clone());
        self.changes.push_back(Step { before, after, change });
        if self.changes.len() > CHANGES_MAX {
            self.changes.pop_front();
        }
        self.whole = None;
        (self.is_told, self.is_asked) = (false, false);
        (self.serial(), self.records.digest())
    }

    fn whole(&mut self) -> Arc<Frames> {
        if let Some(whole) = &self.whole {
            return Arc::clone(whole);
        }
        let mut writer = Writer::new(&self.apex, rtype::AXFR);
        writer.record(&self.soa);
        self.records.iter().for_each(|record| writer.record(record));
        writer.record(&self.soa);
        let whole = Arc::new(writer.finish());
        self.whole = Some(Arc::clone(&whole));
        whole
    }

    /// What leads from a serial to ours; the SOA record alone where that is ours; nothing where it is not known.
    fn since(&self, serial: u32) -> Option<Frames> {
        let mut writer = Writer::new(&self.apex, rtype::IXFR);
        writer.record(&self.soa);
        if serial != self.serial() {
            let of = |step: &Step| records::serial(records::parts(&step.before).rdata) == Some(serial);
            let at = self.changes.iter().position(of)?;
            for step in self.changes.range(at..) {
                writer.record(&step.before);
                step.change.removed.iter().for_each(|record| writer.record(record));
                writer.record(&step.after);
                step.change.added.iter().for_each(|record| writer.record(record));
            }
            writer.record(&self.soa);
        }
        Some(writer.finish())
    }
}

/// What somebody asks.
struct Request {
    id: u16,
    apex: NameBuf,
    qtype: u16,
    /// Of the SOA record in the authority section.
    serial: Option<u32>,
}

impl Request {
    /// Nothing for what is no query: responses to NOTIFY among them.
    fn read(octets: &[u8]) -> Option<Request> {
        let message = Message::read(octets).ok()?;
        if message.flags() & QR != 0 || opcode(message.flags()) != operation::QUERY {
            return None;
        }
        let mut places = Places::new();
        let question = message.question(&mut places).ok()??;
        let (name, _) = Name::split_from(octets.get(12..)?).ok()?;
        let mut serial = None;
        for record in message.records().ok()?.map_while(Result::ok) {
            if record.section == Section::Authority && record.view.rtype == rtype::SOA {
                let mut room = [0; 1024];
                serial = record.rdata_uncompressed(&mut room).ok().and_then(records::serial);
            }
        }
        Some(Request { id: message.id(), apex: name.to_lowercase(), qtype: question.qtype, serial })
    }
}

impl Shared {
    /// Waits for both transports.
    fn run(self: Arc<Shared>, listener: &TcpListener) {
        let mut room = vec![0; 65_535];
        while !self.stop.load(Ordering::Relaxed) {
            let mut fds = [PollFd::new(listener, PollFlags::IN), PollFd::new(&self.udp, PollFlags::IN)];
            if !poll(&mut fds, Some(&SLEEP)).is_ok_and(|ready| ready > 0) {
                continue;
            }
            while let Ok((octets, client)) = self.udp.recv_from(&mut room) {
                match Request::read(&room[..octets]) {
                    Some(request) => drop(self.udp.send_to(&self.answer(&request), client)),
                    None => self.told(&room[..octets]),
                }
            }
            while let Ok((stream, _)) = listener.accept() {
                if self.connections.load(Ordering::Relaxed) >= CONNECTIONS_MAX {
                    continue;
                }
                self.connections.fetch_add(1, Ordering::Relaxed);
                let own = Arc::clone(&self);
                let serve = move || {
                    // A client that leaves or sends nonsense loses its connection.
                    let _ = own.serve(stream);
                    own.connections.fetch_sub(1, Ordering::Relaxed);
                };
                if std::thread::Builder::new().spawn(serve).is_err() {
                    self.connections.fetch_sub(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Takes note of an answer to a notice; its ID is the serial's lower half.
    fn told(&self, octets: &[u8]) {
        let Ok(message) = Message::read(octets) else { return };
        let is_answer = message.flags() & QR != 0 && opcode(message.flags()) == operation::NOTIFY;
        let name = octets.get(12..).filter(|_| is_answer).and_then(|rest| Name::split_from(rest).ok());
        let zone = name.and_then(|(name, _)| self.zones.get(name.to_lowercase().octets()));
        if let Some(mut zone) = zone.map(lock).filter(|zone| zone.serial() as u16 == message.id()) {
            zone.is_told = true;
        }
    }

    /// A message with the SOA record, where that is what is asked for.
    fn answer(&self, request: &Request) -> Vec<u8> {
        let question = Some((&*request.apex, request.qtype));
        let mut message = Vec::new();
        match self.zones.get(request.apex.octets()) {
            None => head(&mut message, (request.id, REFUSED), question, 0),
            Some(zone) => {
                let has_soa = [rtype::SOA, rtype::IXFR, rtype::AXFR].contains(&request.qtype);
                head(&mut message, (request.id, FLAGS), question, u16::from(has_soa));
                if has_soa {
                    let mut zone = lock(zone);
                    zone.is_asked = true;
                    message.extend_from_slice(&zone.soa);
                }
            }
        }
        message
    }

    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(IDLE))?;
        stream.set_write_timeout(Some(IDLE))?;
        let mut room = vec![0; 65_535];
        while !self.stop.load(Ordering::Relaxed) {
            let mut length = [0; 2];
            stream.read_exact(&mut length)?;
            let octets = usize::from(u16::from_be_bytes(length));
            stream.read_exact(&mut room[..octets])?;
            let Some(request) = Request::read(&room[..octets]) else { return Ok(()) };
            match self.transfer(&request) {
                Some(frames) => self.give(&mut stream, &request, &frames)?,
                None => {
                    let message = self.answer(&request);
                    stream.write_all(&[&(message.len() as u16).to_be_bytes()[..], &message].concat())?;
                }
            }
            stream.set_read_timeout(Some(NEXT))?;
        }
        Ok(())
    }

    /// What answers a transfer; nothing for other queries and other zones.
    fn transfer(&self, request: &Request) -> Option<Arc<Frames>> {
        let zone = self.zones.get(request.apex.octets())?;
        let mut zone = lock(zone);
        let since = match (request.qtype, request.serial) {
            (rtype::IXFR, Some(serial)) => zone.since(serial),
            (rtype::AXFR | rtype::IXFR, _) => None,
            _ => return None,
        };
        zone.is_asked = true;
        let counter = if since.is_some() { &self.counts.ixfr } else { &self.counts.axfr };
        counter.fetch_add(1, Ordering::Relaxed);
        Some(since.map_or_else(|| zone.whole(), Arc::new))
    }

    /// Sends messages with the request's ID and type.
    fn give(&self, stream: &mut TcpStream, request: &Request, frames: &Frames) -> io::Result<()> {
        let id = request.id.to_be_bytes();
        let type_at = 2 + 12 + request.apex.octets().len();
        let mut chunk = Vec::with_capacity(CHUNK_OCTETS * 2);
        for (index, &start) in frames.starts.iter().enumerate() {
            let end = frames.starts.get(index + 1).copied().unwrap_or(frames.octets.len());
            let at = chunk.len();
            chunk.extend_from_slice(&frames.octets[start..end]);
            chunk[at + 2..at + 4].copy_from_slice(&id);
            chunk[at + type_at..at + type_at + 2].copy_from_slice(&request.qtype.to_be_bytes());
            if chunk.len() >= CHUNK_OCTETS || end == frames.octets.len() {
                stream.write_all(&chunk)?;
                self.counts.octets.fetch_add(chunk.len() as u64, Ordering::Relaxed);
                chunk.clear();
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::transfer::drain::{self, Wanted};

    fn feeder() -> (Feeder, History) {
        let apex = NameBuf::from_text("feed.example").unwrap();
        let history = History::made_up(&apex, 3000, 10, 1);
        (Feeder::start("127.0.0.1:0".parse().unwrap(), [history.clone()]).unwrap(), history)
    }

    fn take(feeder: &Feeder, apex: &Name, wanted: Wanted) -> drain::Drained {
        drain::take(feeder.address(), apex, wanted, true, Duration::from_secs(20)).unwrap()
    }

    #[test]
    fn whole_zones_and_changes() {
        let (feeder, history) = feeder();
        let apex = history.apex.clone();
        let whole = take(&feeder, &apex, Wanted::Whole);
        assert_eq!((whole.serial, whole.digest), (1, history.base.digest()));
        assert!(whole.is_whole && whole.messages > 2 && whole.records == 3001);
        for change in history.changes.clone() {
            let (serial, digest) = feeder.publish(&apex, change.clone()).unwrap();
            assert_eq!(serial, change.serial);
            let whole = take(&feeder, &apex, Wanted::Whole);
            assert_eq!((whole.serial, whole.digest), (serial, digest));
            let since = take(&feeder, &apex, Wanted::Since(serial - 1));
            assert!(!since.is_whole && since.serial == serial);
            assert_eq!(since.records as usize, change.removed.len() + change.added.len());
        }
        let since = take(&feeder, &apex, Wanted::Since(1));
        assert!(!since.is_whole && since.records as usize == 60);
        assert_eq!(feeder.version(&apex), Some((11, take(&feeder, &apex, Wanted::Since(77)).digest)));
        let current = take(&feeder, &apex, Wanted::Since(11));
        assert_eq!((current.is_whole, current.records, current.serial), (false, 0, 11));
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        assert_eq!((count(&feeder.counts().axfr), count(&feeder.counts().ixfr)), (12, 12));
    }

    #[test]
    fn serials_and_notices() {
        let (feeder, history) = feeder();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        client.connect(feeder.address()).unwrap();
        assert_eq!(drain::serial(&client, &history.apex), Some(1));
        let other = NameBuf::from_text("other.example").unwrap();
        assert_eq!(drain::serial(&client, &other), None);
        assert!(drain::take(feeder.address(), &other, Wanted::Whole, true, IDLE).is_err());
        assert!(feeder.publish(&other, Change::default()).is_none());
        feeder.publish(&history.apex, history.changes[0].clone()).unwrap();
        feeder.notify(client.local_addr().unwrap(), &history.apex);
        let mut room = [0; 512];
        let octets = client.recv(&mut room).unwrap();
        let message = Message::read(&room[..octets]).unwrap();
        assert_eq!((message.opcode(), message.counts()), (operation::NOTIFY, [1, 0, 0]));
        assert_eq!(message.records().unwrap().next().unwrap().unwrap().view.rtype, rtype::SOA);
        // An answer with another ID is none.
        assert!(!feeder.is_told(&history.apex) && !feeder.is_asked(&history.apex));
        let mut answer = room[..12 + history.apex.octets().len() + 4].to_vec();
        answer[2] |= 0x80;
        answer[6..8].fill(0);
        for (id, is_told) in [(0x7777_u16, false), (2, true)] {
            answer[..2].copy_from_slice(&id.to_be_bytes());
            client.send(&answer).unwrap();
            // What comes after it has been taken after it.
            assert_eq!(drain::serial(&client, &history.apex), Some(2));
            assert_eq!(feeder.is_told(&history.apex), is_told);
        }
        assert!(feeder.is_asked(&history.apex));
        feeder.publish(&history.apex, history.changes[1].clone()).unwrap();
        assert!(!feeder.is_told(&history.apex) && !feeder.is_asked(&history.apex));
    }
}
