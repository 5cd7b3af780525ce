//! Primaries in virtual time: what they hold, when they answer, and what they were asked.

use std::collections::BTreeMap;

use super::super::zone::flag;
use super::super::{Action, Answer, Job, Kept, Schedule, Settings, Told};
use crate::incoming::{Fault, Kind, Place, Soa, Stop, Unreachable};
use crate::serial::is_newer;

pub const REFRESH: u32 = 3_600;
pub const RETRY: u32 = 900;
pub const EXPIRE: u32 = 86_400;
/// When the clock begins.
pub const START: u32 = 1_000;
/// Seconds after which a question counts as lost.
pub const LOST_AFTER: u32 = 6;

pub fn soa(serial: u32) -> Soa {
    Soa { serial, refresh: REFRESH, retry: RETRY, expire: EXPIRE }
}

/// A primary as it is in this world.
#[derive(Clone, Debug)]
pub struct Server {
    pub is_up: bool,
    /// Whether it answers datagrams.
    pub has_udp: bool,
    pub refuses: Option<u16>,
    /// The serial of all its zones.
    pub serial: u32,
    pub expire: Option<u32>,
    pub knows_ixfr: bool,
    pub knows_edns: bool,
    /// Whether we can do something with its differences.
    pub is_followed: bool,
    /// Seconds to an answer.
    pub latency: u32,
    /// Most questions at once, in all, and while it was down.
    pub most: usize,
    pub most_down: usize,
    pub asked: usize,
}

/// All of it.
pub struct World {
    pub schedule: Schedule,
    pub servers: Vec<Server>,
    pub now: u32,
    /// Jobs under way, by when they end.
    running: BTreeMap<(u32, usize), Job>,
    count: usize,
    seed: u64,
    /// What was told of each zone, and when: expired or served again.
    pub told: Vec<(u32, u32, Told)>,
    pub expired: Vec<(u32, u32)>,
    /// The last jobs.
    pub jobs: Vec<(u32, Job)>,
}

impl World {
    pub fn new(servers: usize) -> World {
        let mut schedule = Schedule::new(Settings::default());
        for _ in 0..servers {
            schedule.add_primary(true, false).unwrap();
        }
        let server = Server {
            is_up: true,
            has_udp: true,
            refuses: None,
            serial: 1,
            expire: None,
            knows_ixfr: true,
            knows_edns: true,
            is_followed: true,
            latency: 0,
            most: 0,
            most_down: 0,
            asked: 0,
        };
        World {
            schedule,
            servers: vec![server; servers],
            now: START,
            running: BTreeMap::new(),
            count: 0,
            seed: 1,
            told: Vec::new(),
            expired: Vec::new(),
            jobs: Vec::new(),
        }
    }

    pub fn list(&mut self, primaries: &[u16]) -> u32 {
        self.schedule.add_list(primaries).unwrap()
    }

    pub fn add(&mut self, list: u32) -> u32 {
        let mut random = random(&mut self.seed);
        self.schedule.add(list, None, (self.now, 0), &mut random)
    }

    pub fn add_held(&mut self, list: u32, serial: u32, kept: Kept, unix: u64) -> u32 {
        let mut random = random(&mut self.seed);
        self.schedule.add(list, Some((&soa(serial), kept)), (self.now, unix), &mut random)
    }

    /// Goes on until `until`, from event to event.
    pub fn run(&mut self, until: u32) {
        loop {
            self.poll();
            let wake = self.schedule.wake(self.now).filter(|wake| *wake > self.now);
            let end = self.running.keys().next().map(|(end, _)| *end);
            let next = wake.into_iter().chain(end).min().unwrap_or(u32::MAX);
            if next > until {
                self.now = until;
                return;
            }
            self.now = next;
            self.end_jobs();
        }
    }

    /// Does all that there is to do now.
    fn poll(&mut self) {
        loop {
            let mut random = random(&mut self.seed);
            match self.schedule.poll(self.now, &mut random) {
                Some(Action::Expire(zone)) => self.expired.push((self.now, zone)),
                Some(Action::Start(job)) => self.start(job),
                None if self.schedule.wake(self.now).is_some_and(|wake| wake <= self.now) => {
                    // More steps are left than one call makes.
                }
                None => break,
            }
        }
    }

    fn start(&mut self, job: Job) {
        self.jobs.push((self.now, job));
        let server = &mut self.servers[usize::from(job.primary)];
        server.asked += 1;
        let at_once = 1 + self.running.values().filter(|other| other.primary == job.primary).count();
        server.most = server.most.max(at_once);
        if matches!(self.schedule.primary_state(job.primary), Some(super::super::PrimaryState::Down { .. })) {
            server.most_down = server.most_down.max(at_once);
        }
        let is_answered = server.is_up && (server.has_udp || !job.is_udp);
        let end = self.now + if is_answered { server.latency } else { LOST_AFTER };
        self.count += 1;
        self.running.insert((end, self.count), job);
        let (probes, transfers) = self.schedule.running();
        let most = Settings::default();
        assert!(probes <= most.probes.0 && transfers <= most.transfers.0);
    }

    fn end_jobs(&mut self) {
        while let Some(entry) = self.running.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let job = entry.remove();
            let answer = self.answer(&job);
            let mut random = random(&mut self.seed);
            let told = self.schedule.done(&job, &answer, self.now, &mut random);
            if told == Told::Revived {
                self.told.push((self.now, job.zone, told));
            }
            let is_gone = self.schedule.zones[job.zone as usize].has(flag::GONE);
            if !is_gone && matches!(answer, Answer::Current { .. } | Answer::Transferred { .. }) {
                assert!(!self.schedule.is_expired(job.zone));
            }
        }
    }

    fn answer(&self, job: &Job) -> Answer {
        let server = &self.servers[usize::from(job.primary)];
        let stop = |fault| Answer::Stopped(Stop { fault, place: Place::default() });
        if !server.is_up || (job.is_udp && !server.has_udp) {
            return stop(Fault::Unreachable(Unreachable::Silent));
        }
        if let Some(rcode) = server.refuses {
            return stop(Fault::Rcode(rcode));
        }
        if job.has_edns && !server.knows_edns || job.kind == Kind::Ixfr && !server.knows_ixfr {
            return stop(Fault::Rcode(1));
        }
        let (soa, expire) = (soa(server.serial), server.expire);
        match job.ours {
            Some(ours) if ours == server.serial => Answer::Current { soa, expire },
            Some(ours) if !is_newer(server.serial, ours) => Answer::Behind { serial: server.serial },
            _ if job.kind == Kind::Soa => Answer::Newer,
            _ if job.kind == Kind::Ixfr && !server.is_followed => stop(Fault::NotNow),
            _ => Answer::Transferred { soa, expire },
        }
    }

    /// What operators read of a zone.
    pub fn words(&self, zone: u32) -> String {
        let name = |primary| format!("192.0.2.{}#53", primary + 1);
        super::super::Words { schedule: &self.schedule, zone, now: self.now, name: &name }.to_string()
    }
}

/// Random numbers of a seed that goes on.
fn random(seed: &mut u64) -> impl FnMut() -> u32 + use<> {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let mut state = *seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    }
}
