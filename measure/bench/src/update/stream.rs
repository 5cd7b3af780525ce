//! Sends updates by a plan, matches and checks their replies.
//!
//! One thread with one socket, asleep until the next update is due, a reply comes or one is given up. Latency counts
//! from the planned time, as that of queries.

use std::{
    collections::{HashMap, VecDeque},
    io,
    net::SocketAddr,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use wire::{
    header::{QR, opcode, u16_at},
    tsig::{Fault, Key, Mac},
};

use super::{Outcome, Script, outcome::Refusal, socket::Wire};
use crate::Error;

/// Longest update sent as a datagram: what passes unfragmented nearly everywhere.
pub const DATAGRAM_OCTETS_MAX: usize = 1232;
/// Most updates outstanding: half of all IDs, so that one that was given up long ago is never taken for a new one.
pub const WINDOW_MAX: u64 = 1 << 15;
/// Longest sleep, so that an end asked for by another thread is seen.
const SLEEP_MAX: Duration = Duration::from_millis(50);
/// How much longer than planned sending at a rate may take: put aside for a moment, it shows lateness and still ends.
const GRACE_NS: u64 = 1_000_000_000;

/// What stays the same.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The primary of the zone.
    pub server: SocketAddr,
    /// Over TCP, one connection for all updates.
    pub tcp: bool,
    /// Signs updates, where there is one.
    pub key: Option<Key>,
    /// Updates without a reply for so long are lost.
    pub timeout: Duration,
}

/// How updates are paced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// So many a second, evenly.
    Open {
        /// Above 0.
        rate: f64,
    },
    /// As fast as they are answered, so many outstanding.
    Closed {
        /// From 1 to [`WINDOW_MAX`].
        window: u64,
    },
}

/// What to send and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How updates are paced.
    pub pace: Pace,
    /// Length of the sending phase at most.
    pub seconds: f64,
    /// Updates at most.
    pub updates_max: u64,
}

/// Sends the updates of a script, each once, until time, script or plan end or `stop` is set, and waits for the last
/// replies.
pub fn run(settings: &Settings, script: &Script, plan: Plan, stop: &AtomicBool) -> Result<Outcome, Error> {
    if !settings.tcp {
        let signature = settings.key.as_ref().map_or(0, Key::octets);
        script.check_length(DATAGRAM_OCTETS_MAX - signature)?;
    }
    let mut running = Running {
        settings,
        script,
        wire: Wire::open(settings)?,
        start: Instant::now(),
        waiting: HashMap::new(),
        order: VecDeque::new(),
        // Anything that differs between runs: late replies of one shall not meet updates of the next.
        next_id: (seconds_since_1970() ^ u64::from(std::process::id()) << 8) as u16,
        nobody: 0,
        outcome: Outcome::default(),
    };
    running.send_all(plan, stop)?;
    let outcome = running.outcome;
    let answered = outcome.accepted + outcome.refused_count() + outcome.unverified.values().sum::<u64>();
    if answered == 0 && running.nobody > 0 {
        return Err(Error::Refused { address: settings.server });
    }
    Ok(outcome)
}

/// An update without a reply yet.
struct Waiting {
    index: usize,
    planned_ns: u64,
    sent_ns: u64,
    mac: Mac,
}

struct Running<'s> {
    settings: &'s Settings,
    script: &'s Script,
    wire: Wire,
    start: Instant,
    waiting: HashMap<u16, Waiting>,
    /// IDs in the order of sending, with the time; an entry may be of an update that was answered.
    order: VecDeque<(u16, u64)>,
    next_id: u16,
    /// Times the system said that nobody listens.
    nobody: u64,
    outcome: Outcome,
}

impl Running<'_> {
    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn send_all(&mut self, plan: Plan, stop: &AtomicBool) -> Result<(), Error> {
        let end_ns =
            (plan.seconds * 1e9) as u64 + if matches!(plan.pace, Pace::Open { .. }) { GRACE_NS } else { 0 };
        let most = plan.updates_max.min(self.script.count() as u64);
        let (interval_ns, window, planned) = match plan.pace {
            Pace::Open { rate } => {
                let planned = ((plan.seconds * rate).ceil() as u64).max(1);
                (1e9 / rate, WINDOW_MAX, planned)
            }
            Pace::Closed { window } => (0.0, window.min(WINDOW_MAX), u64::MAX),
        };
        self.outcome.window = matches!(plan.pace, Pace::Closed { .. }).then_some(window);
        let mut is_sending = true;
        while is_sending || !self.waiting.is_empty() {
            let now_ns = self.now_ns();
            self.give_up(now_ns);
            let sent = self.outcome.sent;
            let due_ns = (sent as f64 * interval_ns) as u64;
            if is_sending {
                let is_stopped = stop.load(Ordering::Relaxed);
                self.outcome.ran_out =
                    interval_ns > 0.0 && sent == most && sent < planned && most < plan.updates_max;
                if sent == most.min(planned) || now_ns >= end_ns || is_stopped {
                    is_sending = false;
                    self.outcome.seconds = now_ns as f64 / 1e9;
                    self.outcome.planned = match plan.pace {
                        Pace::Open { .. } if !is_stopped => most.min(planned),
                        _ => sent,
                    };
                    continue;
                }
                if due_ns <= now_ns && (self.waiting.len() as u64) < window {
                    self.send(if interval_ns > 0.0 { due_ns } else { now_ns })?;
                    self.receive(Duration::ZERO)?;
                    continue;
                }
            }
            let timeout_ns = self.settings.timeout.as_nanos() as u64;
            let given_up_ns = self.order.front().map_or(u64::MAX, |&(_, sent_ns)| sent_ns + timeout_ns);
            let next_ns = if is_sending && due_ns > now_ns { due_ns.min(given_up_ns) } else { given_up_ns };
            self.receive(Duration::from_nanos(next_ns.saturating_sub(now_ns)).min(SLEEP_MAX))?;
        }
        if self.outcome.window.is_some() {
            self.outcome.seconds = self.now_ns() as f64 / 1e9;
        }
        Ok(())
    }

    /// Sends the next update.
    fn send(&mut self, planned_ns: u64) -> Result<(), Error> {
        while self.waiting.contains_key(&self.next_id) {
            self.next_id = self.next_id.wrapping_add(1);
        }
        let (id, index) = (self.next_id, self.outcome.sent as usize);
        self.next_id = id.wrapping_add(1);
        let mut message = self.script.message(index).to_vec();
        message[..2].copy_from_slice(&id.to_be_bytes());
        let mac = match &self.settings.key {
            Some(key) => sign(key, &mut message),
            None => Mac::NONE,
        };
        let sent_ns = self.now_ns();
        if let Err(cause) = self.wire.send(&message, self.settings) {
            self.judge("send updates to", cause)?;
        }
        self.outcome.sent += 1;
        self.outcome.lateness.saturating_record(sent_ns.saturating_sub(planned_ns).max(1));
        self.waiting.insert(id, Waiting { index, planned_ns, sent_ns, mac });
        self.order.push_back((id, sent_ns));
        Ok(())
    }

    /// Waits for a reply for so long at most, and takes all that have come.
    fn receive(&mut self, wait: Duration) -> Result<(), Error> {
        match self.wire.wait(wait) {
            Ok(false) => return Ok(()),
            Ok(true) => {}
            Err(cause) => return self.judge("receive from", cause),
        }
        let mut replies = Vec::new();
        match self.wire.receive(&mut replies) {
            Ok(true) => {}
            Ok(false) => {
                // Closed: what was on its way is lost, the next update opens another connection.
                self.outcome.closed += 1;
                self.outcome.lost += self.waiting.len() as u64;
                self.waiting.clear();
                self.order.clear();
            }
            Err(cause) => self.judge("receive from", cause)?,
        }
        replies.iter().for_each(|reply| self.take(reply));
        Ok(())
    }

    fn take(&mut self, reply: &[u8]) {
        let now_ns = self.now_ns();
        let is_reply = reply.len() >= 12 && u16_at(reply, 2) & QR != 0 && opcode(u16_at(reply, 2)) == 5;
        let waiting = if is_reply { self.waiting.remove(&u16_at(reply, 0)) } else { None };
        let Some(waiting) = waiting else {
            self.outcome.stray += 1;
            return;
        };
        while self.order.front().is_some_and(|(id, _)| !self.waiting.contains_key(id)) {
            self.order.pop_front();
        }
        let rcode = u16_at(reply, 2) & 15;
        let checked = match &self.settings.key {
            Some(key) => key.check(reply, &waiting.mac, seconds_since_1970()).map(|checked| checked.error),
            None => Ok(0),
        };
        match checked {
            Ok(0) if rcode == 0 => {
                self.outcome.accepted += 1;
                self.outcome.changes += u64::from(self.script.changes(waiting.index));
            }
            // Unsigned by nature are BADKEY and BADSIG (RFC 8945 5.3.2).
            Ok(tsig) | Err(Fault::Refused(tsig)) => {
                *self.outcome.refused.entry(Refusal { rcode, tsig }).or_default() += 1
            }
            // A server that refuses before it looks at the signature says so without one.
            Err(Fault::Unsigned) if rcode != 0 => {
                *self.outcome.refused.entry(Refusal { rcode, tsig: 0 }).or_default() += 1;
            }
            Err(fault) => {
                *self.outcome.unverified.entry(fault).or_default() += 1;
                return;
            }
        }
        self.outcome.latency.saturating_record(now_ns.saturating_sub(waiting.planned_ns).max(1));
    }

    /// Counts updates without a reply as lost once their time is over.
    fn give_up(&mut self, now_ns: u64) {
        let timeout_ns = self.settings.timeout.as_nanos() as u64;
        while let Some(&(id, sent_ns)) = self.order.front() {
            let is_waiting = self.waiting.get(&id).is_some_and(|waiting| waiting.sent_ns == sent_ns);
            if is_waiting && now_ns.saturating_sub(sent_ns) < timeout_ns {
                return;
            }
            if is_waiting {
                self.waiting.remove(&id);
                self.outcome.lost += 1;
            }
            self.order.pop_front();
        }
    }

    /// Errors that pass are counted; the update they concern is lost in its time.
    fn judge(&mut self, action: &'static str, cause: io::Error) -> Result<(), Error> {
        match cause.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(()),
            io::ErrorKind::ConnectionRefused if !self.settings.tcp => {
                self.nobody += 1;
                Ok(())
            }
            _ => Err(Error::Socket { address: self.settings.server, action, cause }),
        }
    }
}

fn seconds_since_1970() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Signs a message now; there is always room, as it grows by as much as a signature takes.
fn sign(key: &Key, message: &mut Vec<u8>) -> Mac {
    let octets = message.len();
    message.resize(octets + key.octets(), 0);
    let (octets, mac) = key.sign(message, octets, seconds_since_1970()).unwrap_or((octets, Mac::NONE));
    message.truncate(octets);
    mac
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{TcpListener, UdpSocket},
    };

    use super::*;

    fn script(count: usize) -> Script {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lines: String =
            (0..count).map(|number| format!("add n{number}.example 5 A 192.0.2.1\nsend\n")).collect();
        std::fs::write(file.path(), format!("zone example\n{lines}")).unwrap();
        Script::read(file.path(), None).unwrap()
    }

    fn settings(server: SocketAddr, tcp: bool) -> Settings {
        Settings { server, tcp, key: None, timeout: Duration::from_secs(1) }
    }

    /// Answers every update; every tenth with SERVFAIL, every seventh not at all; some twice.
    fn server() -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let address = socket.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut room = [0; 2048];
            let mut number = 0;
            while let Ok((octets, client)) = socket.recv_from(&mut room) {
                number += 1;
                room[2] |= 0x80;
                room[3] = if number % 10 == 0 { 2 } else { 0 };
                if number % 7 != 0 {
                    socket.send_to(&room[..octets], client).unwrap();
                }
                if number % 10 == 1 && number % 7 != 0 {
                    socket.send_to(&room[..octets], client).unwrap();
                }
            }
        });
        address
    }

    #[track_caller]
    fn check(outcome: &Outcome, count: u64) {
        let (lost, refused) = (count / 7, count / 10 - count / 70);
        assert_eq!((outcome.sent, outcome.lost), (count, lost));
        assert_eq!(outcome.refused_count(), refused);
        assert_eq!(outcome.refused.keys().next(), Some(&Refusal { rcode: 2, tsig: 0 }));
        assert_eq!((outcome.accepted, outcome.changes), (count - lost - refused, count - lost - refused));
        assert!(outcome.stray > 0);
        assert_eq!(outcome.latency.len(), count - lost);
    }

    #[test]
    fn at_a_rate() {
        let plan = Plan { pace: Pace::Open { rate: 400.0 }, seconds: 0.5, updates_max: u64::MAX };
        let outcome = run(&settings(server(), false), &script(300), plan, &AtomicBool::new(false)).unwrap();
        assert_eq!((outcome.planned, outcome.ran_out), (200, false));
        check(&outcome, 200);
    }

    #[test]
    fn as_fast_as_accepted() {
        let plan = Plan { pace: Pace::Closed { window: 100 }, seconds: 60.0, updates_max: u64::MAX };
        let outcome = run(&settings(server(), false), &script(140), plan, &AtomicBool::new(false)).unwrap();
        assert_eq!((outcome.planned, outcome.ran_out), (140, false));
        check(&outcome, 140);
    }

    #[test]
    fn file_that_ends_early() {
        let plan = Plan { pace: Pace::Open { rate: 1000.0 }, seconds: 5.0, updates_max: u64::MAX };
        let outcome = run(&settings(server(), false), &script(20), plan, &AtomicBool::new(false)).unwrap();
        assert!(outcome.ran_out && outcome.sent == 20 && outcome.seconds < 5.0);
    }

    #[test]
    fn stopped_from_outside() {
        let stop = AtomicBool::new(false);
        let plan = Plan { pace: Pace::Open { rate: 10.0 }, seconds: 60.0, updates_max: u64::MAX };
        let (settings, script) = (settings(server(), false), script(1000));
        let outcome = std::thread::scope(|scope| {
            let running = scope.spawn(|| run(&settings, &script, plan, &stop).unwrap());
            std::thread::sleep(Duration::from_millis(400));
            stop.store(true, Ordering::Relaxed);
            running.join().unwrap()
        });
        assert!((1..100).contains(&outcome.sent) && outcome.planned == outcome.sent && !outcome.ran_out);
    }

    #[test]
    fn nobody_there() {
        let address = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let plan = Plan { pace: Pace::Closed { window: 1 }, seconds: 0.5, updates_max: u64::MAX };
        for tcp in [false, true] {
            let error = run(&settings(address, tcp), &script(20), plan, &AtomicBool::new(false));
            assert!(matches!(error, Err(Error::Refused { .. } | Error::Socket { .. })));
        }
    }

    #[test]
    fn a_connection_that_closes() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // Three updates a connection, the third without a reply.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                for number in 0..3 {
                    let mut length = [0; 2];
                    if stream.read_exact(&mut length).is_err() {
                        break;
                    }
                    let mut update = vec![0; usize::from(u16::from_be_bytes(length))];
                    stream.read_exact(&mut update).unwrap();
                    update[2] |= 0x80;
                    let framed = [&length[..], &update].concat();
                    if number < 2 {
                        stream.write_all(&framed[..9]).unwrap();
                        stream.write_all(&framed[9..]).unwrap();
                    }
                }
            }
        });
        let plan = Plan { pace: Pace::Closed { window: 1 }, seconds: 60.0, updates_max: 9 };
        let outcome = run(&settings(address, true), &script(20), plan, &AtomicBool::new(false)).unwrap();
        assert_eq!((outcome.sent, outcome.accepted, outcome.lost, outcome.closed), (9, 6, 3, 3));
    }
}
