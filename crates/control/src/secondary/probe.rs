//! Probes: one thread, a datagram socket for each question, so that each has a random port of its own (RFC 5452 4.5).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{Clock, QUESTION_OCTETS, Report, Task, Tell, fault_of};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use sync::random::Unguessable;
use transfer::incoming::{Done, Fault, Incoming, Outcome, Place, Sent, Sink, Step, Stop, Unreachable};
use wire::Name;
use wire::tsig::Mac;

/// How often a question is sent, and how long an answer is waited for each time, in milliseconds.
const SENDS: u32 = 3;
const WAIT_MS: u64 = 2_000;
/// Octets of the longest datagram that is read: what is longer is no answer to a question that says 1,232.
const DATAGRAM_OCTETS: usize = 4_096;
/// Datagrams that are read of one socket before others have their turn: somebody may send many.
const DATAGRAMS_A_TURN: usize = 16;

/// See the module. The thread ends when it is dropped.
pub struct Prober {
    /// `None` at the end.
    tasks: Option<Sender<Task>>,
    bell: Arc<OwnedFd>,
    is_ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Prober {
    /// Starts the thread.
    pub fn start(tell: Tell) -> io::Result<Prober> {
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let is_ending = Arc::new(AtomicBool::new(false));
        let ids = Unguessable::from_system()?;
        // Not bounded here: the schedule gives no more than its places.
        let (tasks, receiver) = channel();
        let mut work =
            Work { tasks: receiver, bell: Arc::clone(&bell), tell, ids, probes: Vec::new(), clock: Clock };
        let ends = Arc::clone(&is_ending);
        let thread = std::thread::Builder::new().name("probe".to_owned());
        let thread = thread.spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                work.turn();
            }
        })?;
        Ok(Prober { tasks: Some(tasks), bell, is_ending, thread: Some(thread) })
    }

    /// Asks. What came of it is reported, in three times two seconds at the latest.
    pub fn push(&self, task: Task) {
        if let Some(tasks) = &self.tasks {
            // The thread is there until the end.
            drop(tasks.send(task));
            self.ring();
        }
    }

    fn ring(&self) {
        // It fails only where it rings already.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }
}

impl Drop for Prober {
    fn drop(&mut self) {
        self.is_ending.store(true, Ordering::Relaxed);
        self.tasks = None;
        self.ring();
        if let Some(thread) = self.thread.take() {
            // One that panicked has said so.
            drop(thread.join());
        }
    }
}

/// A question that waits for its answer.
struct Probe {
    task: Task,
    socket: UdpSocket,
    id: u16,
    octets: Box<[u8]>,
    mac: Option<Mac>,
    sent: u32,
    /// When to send again, or to give up.
    due: u64,
    /// What was wrong with an answer that anybody may have sent: said if no other comes.
    unsure: Option<Stop>,
}

/// What the thread has.
struct Work {
    tasks: Receiver<Task>,
    bell: Arc<OwnedFd>,
    tell: Tell,
    ids: Unguessable,
    probes: Vec<Probe>,
    clock: Clock,
}

impl Work {
    /// Waits for something to do, and does it.
    fn turn(&mut self) {
        let now = self.clock.millis();
        let due = self.probes.iter().map(|probe| probe.due).min();
        let wait = due.map(|due| due.saturating_sub(now) + 1);
        let wait = wait.map(|millis| Timespec {
            tv_sec: (millis / 1_000) as i64,
            tv_nsec: (millis % 1_000 * 1_000_000) as _,
        });
        let mut all: Vec<PollFd<'_>> = vec![PollFd::new(&self.bell, PollFlags::IN)];
        all.extend(self.probes.iter().map(|probe| PollFd::new(&probe.socket, PollFlags::IN)));
        // An error is an interruption: all is looked at once more.
        let _ = poll(&mut all, wait.as_ref());
        let ready: Vec<bool> = all[1..].iter().map(|each| !each.revents().is_empty()).collect();
        let _ = rustix::io::read(&self.bell, &mut [0_u8; 8]);
        let now = self.clock.millis();
        // From the end, as those that are done leave their place to the last.
        for number in (0..self.probes.len()).rev() {
            let result = if ready[number] { self.probes[number].receive() } else { None };
            let result = result.or_else(|| self.probes[number].resend(now));
            if let Some(result) = result {
                let probe = self.probes.swap_remove(number);
                self.report(probe.task, result);
            }
        }
        while let Ok(task) = self.tasks.try_recv() {
            match Probe::begin(&task, self.ids.next_u16(), self.clock) {
                Ok(probe) => self.probes.push(probe),
                Err(fault) => self.report(task, Err(Stop { fault, place: Place::default() })),
            }
        }
    }

    fn report(&self, task: Task, result: Result<Done, Stop>) {
        let (from, took) = (task.primary.address, Duration::ZERO);
        (self.tell)(Report { job: task.job, zone: task.zone, result, contents: None, from, took });
    }
}

impl Probe {
    fn begin(task: &Task, id: u16, clock: Clock) -> Result<Probe, Fault> {
        let question = task.question(id);
        let mut buffer = [0; QUESTION_OCTETS];
        let key = task.primary.key.as_deref();
        let sent = question.write(&mut buffer, key, clock.unix()).ok_or(Fault::NoZone)?;
        let Sent { octets, mac } = sent;
        let any: IpAddr = match task.primary.address {
            address if address.is_ipv4() => Ipv4Addr::UNSPECIFIED.into(),
            _ => Ipv6Addr::UNSPECIFIED.into(),
        };
        let own = task.primary.source.unwrap_or(any);
        let fault = |error: io::Error| fault_of(&error);
        let socket = UdpSocket::bind((own, 0)).map_err(fault)?;
        // Answers of others do not even arrive, and a refused port is told.
        socket.connect(task.primary.address).map_err(fault)?;
        socket.set_nonblocking(true).map_err(fault)?;
        let octets = Box::from(&buffer[..octets]);
        let mut probe = Probe { task: task.clone(), socket, id, octets, mac, sent: 0, due: 0, unsure: None };
        match probe.resend(clock.millis()) {
            Some(Err(stop)) => Err(stop.fault),
            _ => Ok(probe),
        }
    }

    /// Sends the question where it is time for that; gives up after the last.
    fn resend(&mut self, now: u64) -> Option<Result<Done, Stop>> {
        if now < self.due {
            return None;
        }
        if self.sent == SENDS {
            let silent = Stop { fault: Fault::Unreachable(Unreachable::Silent), place: Place::default() };
            return Some(Err(self.unsure.unwrap_or(silent)));
        }
        (self.sent, self.due) = (self.sent + 1, now + WAIT_MS);
        match self.socket.send(&self.octets) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Some(stopped(fault_of(&error))),
            _ => None,
        }
    }

    /// Takes what came, until the answer is among it.
    fn receive(&mut self) -> Option<Result<Done, Stop>> {
        let mut datagram = [0; DATAGRAM_OCTETS];
        let question = self.task.question(self.id);
        let signed = self.task.primary.key.as_deref().zip(self.mac.as_ref());
        for _ in 0..DATAGRAMS_A_TURN {
            let octets = match self.socket.recv(&mut datagram) {
                Ok(octets) => octets,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(error) => return Some(stopped(fault_of(&error))),
            };
            let times = Clock.times();
            let mut incoming = Incoming::new(question.clone(), signed, self.task.limits, times.millis);
            let message = &datagram[..octets];
            if !incoming.may_be_answer(message) {
                continue;
            }
            return match incoming.message(message, times, &mut Nowhere) {
                // All of a zone in a datagram went nowhere.
                Ok(Step::Done(Done { outcome: Outcome::Whole, soa, expire, counts, is_over })) => {
                    Some(Ok(Done { outcome: Outcome::Newer, soa, expire, counts, is_over }))
                }
                Ok(Step::Done(done)) => Some(Ok(done)),
                Ok(Step::More) => Some(stopped(Fault::Truncated)),
                // Unsigned, or signed by somebody else: the right one may still come.
                Err(stop @ Stop { fault: Fault::Tsig(..), .. }) => {
                    self.unsure = Some(stop);
                    continue;
                }
                Err(stop) => Some(Err(stop)),
            };
        }
        None
    }
}

fn stopped(fault: Fault) -> Result<Done, Stop> {
    Err(Stop { fault, place: Place::default() })
}

/// Where records of a zone go that fits a datagram: it is asked for over TCP, as only there it is known to be complete.
struct Nowhere;

impl Sink for Nowhere {
    fn record(&mut self, _: &Name, _: bool, _: u16, _: u32, _: &[u8]) -> Result<(), Fault> {
        Ok(())
    }
}
