//! The thread that has the schedule: it starts what is due, and takes what came of it.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::time::Duration;

use sync::random::Unguessable;
use transfer::incoming::{Fault, Kind, Limits, Place, Stop};
use transfer::notify_in;
use transfer::refresh::{Action, Answer, Job, PrimaryState, Schedule, Span, Told, Words, ZoneNumber};
use wire::NameBuf;
use wire::iana::{ede, rcode};

use super::former::Former;
use super::past::Came;
use super::zones::{Zone, Zones, soa};
use super::{Command, Message, Notice, schedule_settings, shares};
use crate::command::TransfersIn;
use crate::controller::Controller;
use crate::dynamic::{Incoming, What};
use crate::secondary::{Clock, Prober, Report, Task, Transfers};
use crate::settings::SecondarySettings;

/// How long the thread sleeps at most: it looks whether there is a server still.
const SLEEP_MAX: Duration = Duration::from_secs(60);
/// How long the thread sleeps at most while zones that are too old wait for their end, see [`super::Secondaries::rest`].
const EXPIRED_SLEEP: Duration = Duration::from_millis(100);
/// Messages that are taken between two looks at what is due.
const MESSAGES_A_TURN: usize = 256;
/// Threads that transfer: the schedule gives them no more than that at a time anyhow, and each waits for the network most of its time.
const THREADS_MAX: u16 = 32;
/// How long the answer to a probe over TCP may take, the connection too: it holds a thread that could transfer.
const PROBE_MS: u64 = 5_000;
/// What was transferred and has more than these keeps its place until it is served: [`transfer::refresh::ARRIVED_MAX`] of the others are some 200 MiB,
/// whatever they are.
const SMALL_RECORDS: u64 = 1_000;
const SMALL_OCTETS: u64 = 64 << 10;
/// An age is written to the log when it is younger by this part of the time until expiry than what the log has.
const NOTED_PART: u64 = 8;

/// See the module.
pub(super) struct Scheduler {
    controller: Weak<Controller>,
    schedule: Schedule,
    zones: Zones,
    clock: Clock,
    random: Unguessable,
    /// What asks: begun with the first zone, as most servers have none.
    asking: Option<(Prober, Transfers)>,
    settings: SecondarySettings,
    limits: Limits,
    sender: Sender<Message>,
    reports: Sender<Report>,
    /// Primaries of which it was said that they do not answer.
    down: HashSet<u16>,
    /// Zones that are too old, and served still.
    expired: Vec<ZoneNumber>,
}

impl Scheduler {
    pub(super) fn new(
        controller: &Arc<Controller>,
        settings: SecondarySettings,
        sender: Sender<Message>,
        (reports, former): (Sender<Report>, Former),
    ) -> io::Result<Scheduler> {
        Ok(Scheduler {
            controller: Arc::downgrade(controller),
            schedule: Schedule::new(schedule_settings(&settings)),
            zones: Zones::new(former),
            clock: Clock,
            random: Unguessable::from_system()?,
            asking: None,
            limits: shares::limits(&settings),
            settings,
            sender,
            reports,
            down: HashSet::new(),
            expired: Vec::new(),
        })
    }

    /// Has a task be done. The error: there are no threads for it.
    fn ask(&mut self, controller: &Controller, task: Task) -> io::Result<()> {
        if self.asking.is_none() {
            let folder: Arc<Path> = match controller.folder() {
                Some(folder) => folder.path().into(),
                None => std::env::temp_dir().into(),
            };
            let room = shares::room(&self.settings, folder);
            let threads = usize::from(self.settings.transfers.min(THREADS_MAX));
            // Nobody is there to be told at the very end.
            let (data, own) = (self.reports.clone(), self.sender.clone());
            let arrived = own.clone();
            let to_data = Arc::new(move |report: Report| {
                if is_small(&report) {
                    drop(arrived.send(Message::Arrived(report.job)));
                }
                drop(data.send(report));
            });
            let to_own = Arc::new(move |report| drop(own.send(Message::Report(Box::new(report)))));
            let files = controller.secondaries.files(&room);
            let transfers = Transfers::start_within(threads, (room, files), true, to_data)?;
            self.asking = Some((Prober::start(to_own)?, transfers));
        }
        if let Some((prober, transfers)) = &self.asking {
            match task.job.is_udp {
                true => prober.push(task),
                false => transfers.push(task),
            }
        }
        Ok(())
    }

    /// Until it is told to end, or there is no server.
    pub(super) fn run(mut self, received: &Receiver<Message>) {
        loop {
            let Some(controller) = self.controller.upgrade() else { return };
            self.begin_what_is_due(&controller);
            self.expire(&controller);
            drop(controller);
            let first = match received.recv_timeout(self.pause()) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let Some(controller) = self.controller.upgrade() else { return };
            let mut is_look = false;
            for message in first.into_iter().chain(received.try_iter().take(MESSAGES_A_TURN)) {
                match message {
                    Message::End => return,
                    // Many that come together are one.
                    Message::Look => is_look = true,
                    message => self.take(&controller, message),
                }
            }
            if is_look {
                self.look(&controller);
            }
        }
    }

    /// How long nothing is to be done.
    fn pause(&self) -> Duration {
        let now = self.clock.seconds();
        let most = if self.expired.is_empty() { SLEEP_MAX } else { EXPIRED_SLEEP };
        match self.schedule.wake(now) {
            None => most,
            // To the second in which it is due: the clock says whole seconds.
            Some(due) => {
                let whole = Duration::from_secs(due.saturating_sub(now).into());
                let part = Duration::from_millis(self.clock.millis() % 1000);
                whole.saturating_sub(part).max(Duration::from_millis(1)).min(most)
            }
        }
    }

    fn take(&mut self, controller: &Arc<Controller>, message: Message) {
        match message {
            Message::Report(report) => {
                // Datagrams bring no data.
                let answer = report.answer().unwrap_or(Answer::Newer);
                self.done(controller, &report.job, &answer, None);
            }
            Message::Arrived(job) => self.schedule.arrived(&job),
            Message::Done(job, answer, came) => self.done(controller, &job, &answer, came),
            Message::Notice(notice) => {
                controller.secondaries.notices.fetch_sub(1, Ordering::Relaxed);
                self.notice(controller, notice);
            }
            Message::Command(name, command, reply) => {
                let number = self.zones.numbers.get(&name).copied();
                let now = self.clock.seconds();
                match (number, command) {
                    (Some(number), Command::Refresh) => self.schedule.refresh(number, now),
                    (Some(number), Command::Retransfer) => self.schedule.retransfer(number, now),
                    (None, _) => {}
                }
                let _ = reply.try_send(number.is_some());
            }
            Message::Words(name, reply) => {
                let number = self.zones.numbers.get(&name);
                let _ = reply.try_send(number.and_then(|number| self.words(*number)));
            }
            Message::Forget(zones) => {
                zones.iter().for_each(|zone| self.zones.forget(zone, &mut self.schedule));
            }
            Message::LookAt(zones) => self.look_at(controller, &zones),
            Message::Look | Message::End => {}
        }
    }

    fn words(&self, number: ZoneNumber) -> Option<(String, TransfersIn)> {
        let (now, name) = (self.clock.seconds(), |number| self.zones.name_of(number));
        let words = Words { schedule: &self.schedule, zone: number, now, name: &name }.to_string();
        let zone = self.zones.zones.get(&number)?;
        let state = |primary| match self.schedule.primary_state(primary)? {
            PrimaryState::Up => Some("answers".to_owned()),
            PrimaryState::Down { since, next } => {
                let (since, next) = (now.saturating_sub(since), next.saturating_sub(now));
                Some(format!("has not answered for {}, is asked again in {}", Span(since), Span(next)))
            }
        };
        let primaries = zone.primaries.iter();
        let primaries = primaries.map(|number| (*number, name(*number), state(*number).unwrap_or_default()));
        Some((words, zone.past.lines(now, primaries, name)))
    }

    /// Zones or remotes may be others.
    fn look(&mut self, controller: &Controller) {
        let remotes = Arc::clone(&controller.secondaries.remotes.lock());
        let random = &mut self.random;
        controller.secondaries.is_looking.store(true, Ordering::Relaxed);
        self.zones.look(controller, &mut self.schedule, &remotes, &mut || random.next_u64() as u32);
        controller.secondaries.is_looking.store(false, Ordering::Relaxed);
    }

    /// These zones may be others.
    fn look_at(&mut self, controller: &Controller, zones: &[NameBuf]) {
        let remotes = Arc::clone(&controller.secondaries.remotes.lock());
        let random = &mut self.random;
        for name in zones {
            let random = &mut || random.next_u64() as u32;
            self.zones.look_at(controller, &mut self.schedule, &remotes, random, name);
        }
    }

    fn begin_what_is_due(&mut self, controller: &Controller) {
        let remotes = Arc::clone(&controller.secondaries.remotes.lock());
        loop {
            let random = &mut self.random;
            let action = self.schedule.poll(self.clock.seconds(), &mut || random.next_u64() as u32);
            match action {
                None => return,
                Some(Action::Expire(number)) => self.expired.push(number),
                Some(Action::Start(job)) => {
                    let zone = self.zones.zones.get(&job.zone).map(|zone| zone.name.clone());
                    let primary = self.zones.primary(job.primary, &remotes);
                    // Nobody has it any more where one is missing; the next look takes it out.
                    let asked = match (zone, primary) {
                        (Some(zone), Some(primary)) => {
                            let limits = self.limits_of(&job);
                            let primary = Arc::new(primary);
                            self.ask(controller, Task { job, zone, primary, limits })
                        }
                        _ => Err(io::ErrorKind::NotFound.into()),
                    };
                    if let Err(error) = asked {
                        tracing::debug!(%error, "a zone cannot be asked for: {error}");
                        let stop = Stop { fault: Fault::Ended, place: Place::default() };
                        self.tell(&job, &Answer::Stopped(stop));
                    }
                }
            }
        }
    }

    /// Gives up zones that are too old, unless another server is about to take over: then once that has come to nothing.
    fn expire(&mut self, controller: &Controller) {
        if self.expired.is_empty() {
            return;
        }
        let Some(_serving) = controller.secondaries.serving.try_read() else { return };
        for number in std::mem::take(&mut self.expired) {
            // It may have come meanwhile, or be gone.
            let zone = self.zones.zones.get(&number).filter(|_| self.schedule.is_expired(number));
            let Some(Zone { name, .. }) = zone else { continue };
            if controller.expire(name) {
                tracing::error!(zone = %name, "zone {name}: expired, as no primary has confirmed it for as long as its SOA record says; queries for it get SERVFAIL, or, of a mirror, its servers are asked");
            }
        }
    }

    /// What the answer to a job may take.
    fn limits_of(&self, job: &Job) -> Limits {
        match job.kind {
            Kind::Soa => Limits { idle: PROBE_MS, time: PROBE_MS, ..self.limits },
            _ => self.limits,
        }
    }

    fn tell(&mut self, job: &Job, answer: &Answer) -> Told {
        let random = &mut self.random;
        self.schedule.done(job, answer, self.clock.seconds(), &mut || random.next_u64() as u32)
    }

    /// Takes what came of a job.
    fn done(&mut self, controller: &Controller, job: &Job, answer: &Answer, came: Option<Came>) {
        if let Some(zone) = self.zones.zones.get_mut(&job.zone) {
            zone.past.take(job, answer, came, self.clock.seconds());
        }
        let former = self.zones.former.take(job.zone);
        let told = self.tell(job, answer);
        self.say(job, answer);
        if let (Some(name), Answer::Transferred { .. }) = (former, answer)
            && let Some(number) = self.zones.numbers.get(&name)
        {
            // It was on its way already: those that are its primaries now say what is right.
            self.schedule.retransfer(*number, self.clock.seconds());
        }
        match told {
            Told::Nothing => {}
            Told::Checked => self.note(controller, job.zone),
            Told::Revived => {
                self.note(controller, job.zone);
                // What had expired was given up.
                let name = self.zones.zones.get(&job.zone).map(|zone| zone.name.clone());
                if name.is_some_and(|name| soa(controller, &name).is_none()) {
                    self.schedule.retransfer(job.zone, self.clock.seconds());
                }
            }
        }
    }

    /// Has the log keep the age of a zone, if that is worth a record.
    fn note(&mut self, controller: &Controller, number: ZoneNumber) {
        let (now, unix) = (self.clock.seconds(), self.clock.unix());
        let (Some(kept), Some(serial)) =
            (self.schedule.kept(number, now, unix), self.schedule.serial(number))
        else {
            return;
        };
        let Some(zone) = self.zones.zones.get_mut(&number) else { return };
        if !controller.persists(&zone.name) {
            return;
        }
        let span = kept.expires.saturating_sub(kept.checked);
        let is_worth =
            zone.noted.is_none_or(|noted| kept.expires.abs_diff(noted.expires) > span / NOTED_PART);
        if is_worth {
            zone.noted = Some(kept);
            let what = What::Checked(serial, kept);
            controller.dynamic.incoming(Incoming { zone: zone.name.to_lowercase(), what });
        }
    }

    /// Says what operators should know, once.
    fn say(&mut self, job: &Job, answer: &Answer) {
        let primary = self.zones.name_of(job.primary);
        let is_down = matches!(self.schedule.primary_state(job.primary), Some(PrimaryState::Down { .. }));
        if is_down && self.down.insert(job.primary) {
            tracing::warn!(
                "server {primary} does not answer; zones are asked of their other primaries, or served as they are"
            );
        } else if !is_down && self.down.remove(&job.primary) {
            tracing::info!("server {primary} answers again");
        }
        let Some(zone) = self.zones.zones.get_mut(&job.zone) else { return };
        let name = &zone.name;
        match answer {
            Answer::Transferred { soa, .. } => {
                zone.is_troubled = false;
                let serial = soa.serial;
                match job.ours {
                    Some(ours) => {
                        tracing::info!(zone = %name, serial, "zone {name}: serial {serial} from {primary}, was {ours}");
                    }
                    None => {
                        tracing::info!(zone = %name, serial, "zone {name}: serial {serial} from {primary}, all of it");
                    }
                }
            }
            Answer::Current { .. } => zone.is_troubled = false,
            Answer::Newer => {}
            Answer::Behind { serial } => {
                if !std::mem::replace(&mut zone.is_troubled, true) {
                    tracing::warn!(zone = %name, serial, "zone {name}: server {primary} says serial {serial}, which is behind ours");
                }
            }
            // A refused probe is followed by a transfer, which tells.
            Answer::Stopped(stop) if stop.fault.is_unreachable() || job.is_udp => {
                tracing::debug!(zone = %name, "zone {name}: server {primary} {stop}");
            }
            Answer::Stopped(stop) => {
                let is_misleading = matches!(stop.fault, Fault::Misleading(_));
                let stays = match (self.schedule.serial(job.zone), is_misleading) {
                    (_, true) => "; all of it is asked for".to_owned(),
                    (Some(serial), _) => format!("; serial {serial} stays"),
                    (None, _) => String::new(),
                };
                if zone.is_troubled {
                    tracing::debug!(zone = %name, "zone {name}: server {primary} {stop}{stays}");
                } else {
                    tracing::warn!(zone = %name, "zone {name}: server {primary} {stop}{stays}");
                }
                // What comes of that is said too.
                zone.is_troubled |= !is_misleading;
            }
        }
    }

    /// Takes a NOTIFY, and replies.
    fn notice(&mut self, controller: &Controller, notice: Notice) {
        let unix = self.clock.unix();
        let message = notice.request.message.clone();
        let read = match notify_in::read(&message) {
            Ok(read) => read,
            Err(fault) => return notice.reply(fault.rcode(), None, unix),
        };
        let number = self.zones.numbers.get(&read.zone.to_lowercase()).copied();
        let Some((number, zone)) = number.and_then(|number| Some((number, self.zones.zones.get(&number)?)))
        else {
            // We are its primary, or nobody's secondary.
            return notice.reply(rcode::NOTAUTH, Some(ede::NOT_AUTHORITATIVE), unix);
        };
        let remotes = Arc::clone(&controller.secondaries.remotes.lock());
        let key = notice.request.key_name();
        let is_it = |primary: &&u16| {
            self.zones.primary(**primary, &remotes).is_some_and(|known| {
                known.address.ip() == notice.request.address()
                    && known
                        .key
                        .as_ref()
                        .is_none_or(|known| key.is_some_and(|key| key.eq_ignore_case(known.name())))
            })
        };
        let sender = zone.primaries.iter().find(is_it).copied();
        if sender.is_none() && !notice.is_let_in {
            return notice.reply(rcode::REFUSED, Some(ede::PROHIBITED), unix);
        }
        let (name, address) = (&zone.name, notice.request.address());
        tracing::debug!(zone = %name, %address, "zone {name}: NOTIFY from {address}, serial {:?}", read.serial);
        self.schedule.notify(number, sender, read.serial, self.clock.seconds());
        notice.reply(rcode::NOERROR, None, unix);
    }
}

/// Whether something was transferred that may wait for others.
fn is_small(report: &Report) -> bool {
    let counts = report.result.as_ref().ok().filter(|_| report.answer().is_none()).map(|done| done.counts);
    counts.is_some_and(|counts| counts.records <= SMALL_RECORDS && counts.octets <= SMALL_OCTETS)
}
