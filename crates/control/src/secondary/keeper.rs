//! All secondary zones: the schedule, and the threads that ask for it.
//!
//! ```text
//! Keeper::next: schedule -> jobs -> threads -> reports -> schedule; comes back with what somebody has to do who serves zones
//!    Transferred(report) -> apply, make durable, serve -> Keeper::served   |   Expired, Checked
//! ```

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::{Clock, Primary, Prober, Report, Room, Task, Transfers};
use sync::random::Random;
use transfer::incoming::{Limits, Soa};
use transfer::refresh::{Action, Answer, Job, Kept, Schedule, Settings, Told, ZoneNumber};
use wire::{Name, NameBuf};

/// What somebody has to do who serves the zones.
pub enum Event {
    /// Serve what was transferred, then say so to [`Keeper::served`], whatever came of it.
    Transferred(Box<Report>),
    /// Serve the zone no longer: it is too old.
    Expired(ZoneNumber),
    /// A zone is current: keep [`Schedule::kept`] of it, and serve it again where it had expired.
    Checked(ZoneNumber, Told),
}

/// What comes to the keeper.
enum Note {
    Report(Box<Report>),
    Ring,
}

/// Interrupts [`Keeper::next`]: for who has something to say to the keeper.
#[derive(Clone)]
pub struct Bell(Sender<Note>);

impl Bell {
    /// Does that.
    pub fn ring(&self) {
        // Without a keeper there is nobody to interrupt.
        drop(self.0.send(Note::Ring));
    }
}

/// See the module.
pub struct Keeper {
    schedule: Schedule,
    primaries: Vec<Arc<Primary>>,
    /// Names of zones by their numbers.
    names: Vec<NameBuf>,
    limits: Limits,
    prober: Prober,
    transfers: Transfers,
    bell: Bell,
    notes: Receiver<Note>,
    random: Random,
}

impl Keeper {
    /// Starts the threads: as many for transfers as there may be at once. `yields`: whether those leave the processors to others.
    pub fn start(settings: Settings, limits: Limits, room: Room, yields: bool) -> io::Result<Keeper> {
        let (sender, notes) = channel();
        let bell = Bell(sender.clone());
        let tell: super::Tell = Arc::new(move |report| drop(sender.send(Note::Report(Box::new(report)))));
        let threads = settings.transfers.0.into();
        Ok(Keeper {
            schedule: Schedule::new(settings),
            primaries: Vec::new(),
            names: Vec::new(),
            limits,
            prober: Prober::start(Arc::clone(&tell))?,
            transfers: Transfers::start(threads, room, yields, tell)?,
            bell,
            notes,
            random: Random::from_system()?,
        })
    }

    /// What interrupts [`Keeper::next`].
    pub fn bell(&self) -> Bell {
        self.bell.clone()
    }

    /// Adds a primary; see [`Schedule::add_primary`].
    pub fn add_primary(&mut self, primary: Primary, ixfr: bool, ixfr_over_udp: bool) -> Option<u16> {
        let number = self.schedule.add_primary(ixfr, ixfr_over_udp)?;
        self.primaries.push(Arc::new(primary));
        Some(number)
    }

    /// Adds a zone; see [`Schedule::add`]. `list`: of [`Schedule::add_list`].
    pub fn add(&mut self, zone: &Name, list: u32, held: Option<(&Soa, Kept)>) -> ZoneNumber {
        let random = &mut self.random;
        let times = (Clock.seconds(), Clock.unix());
        let number = self.schedule.add(list, held, times, &mut || random.next_u64() as u32);
        let place = number as usize;
        if place >= self.names.len() {
            self.names.resize(place + 1, NameBuf::root());
        }
        self.names[place] = zone.to_owned();
        number
    }

    /// The schedule: for lists, commands, NOTIFY and words. Its time is [`Clock::seconds`].
    pub fn schedule(&mut self) -> &mut Schedule {
        &mut self.schedule
    }

    /// The name of a zone.
    pub fn name(&self, zone: ZoneNumber) -> &Name {
        &self.names[zone as usize]
    }

    /// Goes on until there is something to do for others; `None` after `wait`, and when the bell rings.
    pub fn next(&mut self, wait: Duration) -> Option<Event> {
        let until = Instant::now() + wait;
        loop {
            if let Some(zone) = self.start_jobs() {
                return Some(Event::Expired(zone));
            }
            let left = until.saturating_duration_since(Instant::now());
            let note = match self.notes.recv_timeout(left.min(self.until_wake())) {
                Ok(note) => note,
                Err(RecvTimeoutError::Timeout) if left > Duration::ZERO => continue,
                Err(_) => return None,
            };
            let Note::Report(report) = note else { return None };
            let Some(answer) = report.answer() else { return Some(Event::Transferred(report)) };
            match self.served(&report.job, &answer) {
                Told::Nothing => {}
                told => return Some(Event::Checked(report.job.zone, told)),
            }
        }
    }

    /// Says what came of a job: of one that was transferred, [`Answer::Transferred`] once it is served.
    pub fn served(&mut self, job: &Job, answer: &Answer) -> Told {
        let random = &mut self.random;
        self.schedule.done(job, answer, Clock.seconds(), &mut || random.next_u64() as u32)
    }

    /// Starts what is due. Returns a zone that expired before all of it.
    fn start_jobs(&mut self) -> Option<ZoneNumber> {
        loop {
            let random = &mut self.random;
            let action = self.schedule.poll(Clock.seconds(), &mut || random.next_u64() as u32)?;
            let job = match action {
                Action::Expire(zone) => return Some(zone),
                Action::Start(job) => job,
            };
            let primary = Arc::clone(&self.primaries[usize::from(job.primary)]);
            let zone = self.names[job.zone as usize].clone();
            let task = Task { job, zone, primary, limits: self.limits };
            if job.is_udp { self.prober.push(task) } else { self.transfers.push(task) }
        }
    }

    /// Until the schedule has something to do by itself.
    fn until_wake(&self) -> Duration {
        let now = Clock.millis();
        let wake = self.schedule.wake((now / 1_000) as u32);
        wake.map_or(Duration::MAX, |wake| {
            Duration::from_millis((u64::from(wake) * 1_000).saturating_sub(now))
        })
    }
}
