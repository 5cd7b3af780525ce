//! The client: asks at a fixed rate over UDP, and takes what streams bring in between.

use std::collections::VecDeque;
use std::io::{ErrorKind, Write};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};
use std::{fs, io};

use rustix::event::{Timespec, epoll};
use rustix::net::{RecvFlags, recv, sockopt};
use rustix::thread::{CpuSet, sched_setaffinity};
use wire::iana::rtype;

use crate::Settings;

/// Octets taken from a connection before queries and answers are looked at again: some microseconds.
const PORTION_OCTETS: usize = 32 << 10;
/// Octets of answers that may wait for this client.
const RECEIVE_OCTETS: usize = 4 << 20;
/// Connections that one call may say are ready.
const EVENTS: usize = 32;
/// How long after the last query answers are waited for.
const PATIENCE: Duration = Duration::from_secs(1);
/// No run takes longer: 100 streams of 100 MB are over in some seconds.
const SPAN_MAX: Duration = Duration::from_secs(300);
/// Where the number of a query lies: the only label of its name.
const NUMBER: std::ops::Range<usize> = 13..29;

/// Ties the calling thread to a processor.
pub fn pin_to(processor: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(processor);
    Ok(sched_setaffinity(None, &set)?)
}

/// What a run came to.
pub struct Outcome {
    pub span: Duration,
    pub latency: Sorted,
    /// How late queries left: what the client itself adds.
    pub lateness: Sorted,
    pub lost: usize,
    /// Octets that streams brought.
    pub octets: u64,
    /// Processor time of the worker.
    pub worker_seconds: f64,
    /// What the hypervisor took of both processors.
    pub stolen_seconds: f64,
}

/// Nanoseconds in ascending order.
pub struct Sorted(Vec<u64>);

impl Sorted {
    fn new(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        Self(values)
    }

    /// The value, in microseconds, that this share of them does not exceed.
    pub fn at(&self, share: f64) -> f64 {
        let at = (self.0.len() as f64 * share).ceil() as usize;
        self.0.get(at.max(1) - 1).map_or(0.0, |&ns| ns as f64 / 1e3)
    }
}

/// The client of one server.
pub struct Client {
    server: SocketAddr,
    socket: UdpSocket,
    gap: Duration,
}

impl Client {
    /// Asks `rate` times a second.
    pub fn new(server: SocketAddr, rate: u64) -> Result<Self, String> {
        let connect = || -> io::Result<UdpSocket> {
            let socket = UdpSocket::bind("127.0.0.1:0")?;
            socket.connect(server)?;
            socket.set_nonblocking(true)?;
            // What the system allows: answers to a client that was off its processor for a moment are not lost.
            if sockopt::set_socket_recv_buffer_size_force(&socket, RECEIVE_OCTETS).is_err() {
                sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_OCTETS)?;
            }
            Ok(socket)
        };
        let socket = connect().map_err(|error| error.to_string())?;
        Ok(Self { server, socket, gap: Duration::from_secs(1) / rate.max(1) as u32 })
    }

    /// Asks until all streams are over, or for so long where there are none.
    pub fn run(&mut self, span: Duration, streams: Option<&Settings>) -> Result<Outcome, String> {
        let mut takers = streams.map(|settings| Takers::open(self.server, settings)).transpose()?;
        let before = (worker_seconds(), stolen_seconds());
        let mut asking = Asking::new(self);
        if let Some(takers) = &mut takers {
            takers.ask()?;
        }
        let start = asking.start;
        let span = loop {
            asking.turn().map_err(|error| format!("over UDP: {error}"))?;
            match &mut takers {
                Some(takers) => takers.turn()?,
                None if start.elapsed() >= span => break start.elapsed(),
                None => {}
            }
            if takers.as_ref().is_some_and(Takers::is_over) {
                break start.elapsed();
            }
            if start.elapsed() > SPAN_MAX {
                return Err(format!("streams take longer than {SPAN_MAX:?}"));
            }
        };
        let after = (worker_seconds(), stolen_seconds());
        let lost = asking.finish().map_err(|error| format!("over UDP: {error}"))?;
        Ok(Outcome {
            span,
            latency: Sorted::new(asking.latency),
            lateness: Sorted::new(asking.lateness),
            lost,
            octets: takers.map_or(0, |takers| takers.octets),
            worker_seconds: after.0 - before.0,
            stolen_seconds: after.1 - before.1,
        })
    }
}

/// The queries of a run.
struct Asking<'c> {
    client: &'c Client,
    start: Instant,
    sent: usize,
    latency: Vec<u64>,
    lateness: Vec<u64>,
}

impl<'c> Asking<'c> {
    fn new(client: &'c Client) -> Self {
        Self { client, start: Instant::now(), sent: 0, latency: Vec::new(), lateness: Vec::new() }
    }

    /// When query `number` is due, since the start.
    fn due(&self, number: usize) -> Duration {
        self.client.gap * number as u32
    }

    /// Sends what is due, as late as it may be, and takes the answers that are there.
    fn turn(&mut self) -> io::Result<()> {
        while let late = self.start.elapsed()
            && let Some(late) = late.checked_sub(self.due(self.sent))
        {
            self.client.socket.send(&query(self.sent as u64, rtype::A))?;
            self.lateness.push(late.as_nanos() as u64);
            self.sent += 1;
        }
        self.take_answers()
    }

    fn take_answers(&mut self) -> io::Result<()> {
        let mut answer = [0; 64];
        loop {
            match self.client.socket.recv(&mut answer) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
            let number = std::str::from_utf8(&answer[NUMBER]).ok();
            let number = number.and_then(|text| usize::from_str_radix(text, 16).ok());
            // Others are of an earlier run.
            if let Some(late) = number.filter(|&number| number < self.sent)
                && let Some(latency) = self.start.elapsed().checked_sub(self.due(late))
            {
                self.latency.push(latency.as_nanos() as u64);
            }
        }
    }

    /// Waits for the last answers; how many are missing. Those count as if they had come at the end of the patience.
    fn finish(&mut self) -> io::Result<usize> {
        let end = Instant::now();
        while self.latency.len() < self.sent && end.elapsed() < PATIENCE {
            self.take_answers()?;
        }
        let lost = self.sent.saturating_sub(self.latency.len());
        self.latency.resize(self.sent, PATIENCE.as_nanos() as u64);
        Ok(lost)
    }
}

/// A query for the name that its number is.
fn query(number: u64, qtype: u16) -> [u8; 34] {
    let mut octets = [0; 34];
    octets[..2].copy_from_slice(&(number as u16).to_be_bytes());
    octets[5] = 1;
    octets[12] = 16;
    for (at, to) in octets[NUMBER].iter_mut().enumerate() {
        *to = b"0123456789abcdef"[(number >> (60 - 4 * at)) as usize & 15];
    }
    octets[30..32].copy_from_slice(&qtype.to_be_bytes());
    octets[33] = 1;
    octets
}

/// The connections of a run.
struct Takers {
    connections: Vec<(TcpStream, u64)>,
    epoll: rustix::fd::OwnedFd,
    ready: VecDeque<usize>,
    room: Vec<u8>,
    /// Octets taken, and those that a connection is to bring in all.
    octets: u64,
    expected: u64,
    open: usize,
}

impl Takers {
    fn open(server: SocketAddr, settings: &Settings) -> Result<Self, String> {
        let open = || -> io::Result<Self> {
            let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
            let mut connections = Vec::new();
            for index in 0..settings.streams {
                let connection = TcpStream::connect(server)?;
                connection.set_nonblocking(true)?;
                epoll::add(
                    &epoll,
                    &connection,
                    epoll::EventData::new_u64(index as u64),
                    epoll::EventFlags::IN,
                )?;
                connections.push((connection, 0));
            }
            // Each message stands behind two octets of length.
            let expected = settings.octets + 2 * settings.octets.div_ceil(settings.message as u64);
            let (ready, room) = (VecDeque::new(), vec![0; PORTION_OCTETS]);
            Ok(Self { connections, epoll, ready, room, octets: 0, expected, open: settings.streams })
        };
        open().map_err(|error| format!("over TCP: {error}"))
    }

    fn ask(&mut self) -> Result<(), String> {
        for (index, (connection, _)) in self.connections.iter_mut().enumerate() {
            let query = query(index as u64, rtype::AXFR);
            let framed = [&(query.len() as u16).to_be_bytes()[..], &query].concat();
            connection.write_all(&framed).map_err(|error| format!("over TCP: {error}"))?;
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.open == 0
    }

    /// Takes a portion of one connection that has some.
    fn turn(&mut self) -> Result<(), String> {
        if self.ready.is_empty() {
            let mut events = [const { MaybeUninit::<epoll::Event>::uninit() }; EVENTS];
            let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
            let waited = epoll::wait(&self.epoll, &mut events, Some(&at_once));
            let (events, _) = waited.map_err(|error| error.to_string())?;
            self.ready.extend(events.iter().map(|event| event.data.u64() as usize));
        }
        let Some(index) = self.ready.pop_front() else { return Ok(()) };
        let (connection, taken) = &mut self.connections[index];
        // The system throws the octets away and says how many they were.
        let octets = match recv(&*connection, &mut self.room[..], RecvFlags::TRUNC) {
            Ok((_, octets)) => octets as u64,
            Err(rustix::io::Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(format!("stream {index}: {error}")),
        };
        *taken += octets;
        self.octets += octets;
        if octets == 0 || *taken > self.expected {
            return Err(format!("stream {index} brought {taken} octets of {}", self.expected));
        }
        self.open -= usize::from(*taken == self.expected);
        Ok(())
    }
}

/// Processor time of all threads but this one.
fn worker_seconds() -> f64 {
    let spent = |path: &std::path::Path| -> Option<f64> {
        fs::read_to_string(path.join("schedstat")).ok()?.split(' ').next()?.parse::<f64>().ok()
    };
    let Ok(own) = fs::canonicalize("/proc/thread-self") else { return 0.0 };
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return 0.0 };
    let others = threads.flatten().map(|thread| thread.path());
    others.filter(|path| path.file_name() != own.file_name()).filter_map(|path| spent(&path)).sum::<f64>()
        / 1e9
}

/// Time that the hypervisor gave to others, of all processors.
fn stolen_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    // In hundredths of a second.
    stat.split_whitespace().nth(8).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0) / 100.0
}
