//! Takes a zone from a server as fast as it comes, and counts what came.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream, UdpSocket},
    time::{Duration, Instant},
};

use wire::{
    Message, Name, NameBuf,
    header::{QR, u16_at},
    iana::{class, rtype},
    name::NAME_OCTETS_MAX,
};

use super::records::{self, Digest};

/// ID of the request; a connection has one.
const ID: u16 = 0x5a5a;
/// Room for what has come: several messages of any length.
const ROOM_OCTETS: usize = 1 << 18;
/// Longest RDATA, and room for its names uncompressed.
const RDATA_OCTETS_MAX: usize = 65_535 + 510;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The zone (AXFR).
    Whole,
    /// What changed since this serial (IXFR).
    Since(u32),
}

/// What came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drained {
    /// Messages.
    pub messages: u64,
    /// Octets with their lengths before them.
    pub octets: u64,
    /// Records, without any SOA record.
    pub records: u64,
    /// Serial of the version that came, or leads to.
    pub serial: u32,
    /// Whether the zone came, or changes.
    pub is_whole: bool,
    /// Of the records, where that was asked for; of changes, of those that go and come together.
    pub digest: Digest,
    /// From the request to the last record, after the connection was there.
    pub seconds: f64,
}

/// Takes a zone over a connection of its own. `timeout`: for which nothing may come. With `digests` every record is uncompressed and
/// hashed, which costs more than taking it.
pub fn take(
    server: SocketAddr,
    apex: &Name,
    wanted: Wanted,
    digests: bool,
    timeout: Duration,
) -> io::Result<Drained> {
    let mut stream = TcpStream::connect_timeout(&server, timeout)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(timeout))?;
    let began = Instant::now();
    stream.write_all(&request(apex, wanted))?;
    let mut taking = Taking::new(wanted, digests);
    let (mut room, mut begin, mut end) = (vec![0; ROOM_OCTETS], 0, 0);
    loop {
        while let Some(length) =
            room[begin..end].first_chunk().map(|octets| usize::from(u16::from_be_bytes(*octets)))
        {
            let Some(message) = room[begin..end].get(2..2 + length) else { break };
            taking.message(message)?;
            begin += 2 + length;
        }
        if taking.is_done() {
            return Ok(Drained { seconds: began.elapsed().as_secs_f64(), ..taking.drained });
        }
        room.copy_within(begin..end, 0);
        (begin, end) = (0, end - begin);
        match stream.read(&mut room[end..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            octets => end += octets,
        }
    }
}

/// The serial of a zone, asked for over a socket that is connected to its server and has a time-out; nothing where no answer with
/// one comes in time.
pub fn serial(socket: &UdpSocket, apex: &Name) -> Option<u32> {
    let mut query = Vec::new();
    question(&mut query, apex, rtype::SOA, 0);
    socket.send(&query).ok()?;
    let mut room = [0; 4096];
    loop {
        let octets = socket.recv(&mut room).ok()?;
        // A late answer to the question before, for another zone, has another name.
        if let Some(serial) = serial_in(&room[..octets], apex) {
            return serial;
        }
    }
}

/// The serial that a message has; `Some(None)`: it is an answer without one. `None`: it is none to a question for that zone.
fn serial_in(octets: &[u8], apex: &Name) -> Option<Option<u32>> {
    let message = Message::read(octets).ok()?;
    let asked = octets.get(12..12 + apex.octets().len())?;
    if message.flags() & QR == 0 || message.id() != ID || !asked.eq_ignore_ascii_case(apex.octets()) {
        return None;
    }
    let is_answer = message.flags() & 15 == 0 && message.counts()[0] > 0;
    let record = message.records().ok().and_then(|mut records| records.next()?.ok());
    let Some(record) = record.filter(|record| is_answer && record.view.rtype == rtype::SOA) else {
        return Some(None);
    };
    let mut room = [0; 1024];
    Some(record.rdata_uncompressed(&mut room).ok().and_then(records::serial))
}

/// Asks for the serials of all of these zones at once, and returns of which at least the serial beside it has come: as soon as all have, or after `wait`.
/// Answers to earlier questions count too: serials of experiments never go back or turn over. The time-out of the socket is changed.
pub fn reached(socket: &UdpSocket, wanted: &[(NameBuf, u32)], wait: Duration) -> Vec<bool> {
    let until = Instant::now() + wait;
    let mut is_there = vec![false; wanted.len()];
    let mut query = Vec::new();
    for (apex, _) in wanted {
        query.clear();
        question(&mut query, apex, rtype::SOA, 0);
        let _ = socket.send(&query);
    }
    let mut room = [0; 4096];
    while !is_there.iter().all(|&is_there| is_there) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || socket.set_read_timeout(Some(left)).is_err() {
            break;
        }
        match socket.recv(&mut room) {
            Ok(octets) => {
                for (is_there, (apex, serial)) in is_there.iter_mut().zip(wanted) {
                    let found = serial_in(&room[..octets], apex).flatten();
                    *is_there |= found.is_some_and(|found| found >= *serial);
                }
            }
            // Nobody listens there yet: that is told at once, and not again and again.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                std::thread::sleep(until.saturating_duration_since(Instant::now()));
            }
            Err(_) => {}
        }
    }
    is_there
}

fn question(to: &mut Vec<u8>, apex: &Name, qtype: u16, authorities: u16) {
    for number in [ID, 0, 1, 0, authorities, 0] {
        to.extend_from_slice(&number.to_be_bytes());
    }
    to.extend_from_slice(apex.octets());
    to.extend_from_slice(&qtype.to_be_bytes());
    to.extend_from_slice(&class::IN.to_be_bytes());
}

/// A request with its length before it.
fn request(apex: &Name, wanted: Wanted) -> Vec<u8> {
    let mut message = Vec::new();
    match wanted {
        Wanted::Whole => question(&mut message, apex, rtype::AXFR, 0),
        Wanted::Since(serial) => {
            question(&mut message, apex, rtype::IXFR, 1);
            let root = Name::root().octets();
            let rdata = [root, root, &serial.to_be_bytes(), &[0; 16]].concat();
            message.extend_from_slice(&records::record(apex, rtype::SOA, 0, &rdata));
        }
    }
    [&(message.len() as u16).to_be_bytes()[..], &message].concat()
}

/// What has come so far.
struct Taking {
    wanted: Wanted,
    drained: Drained,
    digests: bool,
    /// SOA records with the serial of the first.
    ends: u32,
    /// Records of all kinds.
    seen: u64,
    rdata: Vec<u8>,
}

impl Taking {
    fn new(wanted: Wanted, digests: bool) -> Taking {
        let drained = Drained {
            messages: 0,
            octets: 0,
            records: 0,
            serial: 0,
            is_whole: true,
            digest: Digest::default(),
            seconds: 0.0,
        };
        Taking { wanted, drained, digests, ends: 0, seen: 0, rdata: vec![0; RDATA_OCTETS_MAX] }
    }

    /// A zone has the SOA record first and last; of changes the last one has it too. Alone it says that nothing changed.
    fn is_done(&self) -> bool {
        let ends = if self.drained.is_whole { 2 } else { 3 };
        self.ends >= ends || (self.seen == 1 && self.wanted == Wanted::Since(self.drained.serial))
    }

    fn message(&mut self, octets: &[u8]) -> io::Result<()> {
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "a damaged message");
        let message = Message::read(octets).map_err(|_| damaged())?;
        if message.flags() & 15 != 0 || u16_at(octets, 0) != ID || message.counts()[0] == 0 {
            let text = format!("refused with code {}", message.flags() & 15);
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        self.drained.messages += 1;
        self.drained.octets += 2 + octets.len() as u64;
        for record in message.records().map_err(|_| damaged())?.take(usize::from(message.counts()[0])) {
            let record = record.map_err(|_| damaged())?;
            self.seen += 1;
            if record.view.rtype == rtype::SOA {
                let rdata = record.rdata_uncompressed(&mut self.rdata).map_err(|_| damaged())?;
                let serial = records::serial(rdata).ok_or_else(damaged)?;
                if self.seen == 1 {
                    self.drained.serial = serial;
                    // Nothing changed.
                    self.drained.is_whole = self.wanted != Wanted::Since(serial);
                }
                // A second one directly after the first: what follows are changes.
                if self.seen == 2 && serial != self.drained.serial {
                    self.drained.is_whole = false;
                }
                self.ends += u32::from(serial == self.drained.serial);
                continue;
            }
            self.drained.records += 1;
            if self.digests {
                let mut name = [0; NAME_OCTETS_MAX];
                let owner = record.owner_name(&mut name).map_err(|_| damaged())?;
                let rdata = record.rdata_uncompressed(&mut self.rdata).map_err(|_| damaged())?;
                self.drained.digest.add(&records::record(owner, record.view.rtype, record.view.ttl, rdata));
            }
        }
        Ok(())
    }
}
