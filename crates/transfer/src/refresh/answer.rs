//! What came of a job, and where the zone goes from there.

use super::Random;
use super::schedule::{Job, Schedule};
use super::times::spread;
use super::zone::{Last, State, Trouble, flag};
use crate::incoming::{Fault, Kind, Remedy, Soa, Stop};
use wire::iana::rcode;

/// What came of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The primary has the serial that is held.
    Current {
        /// Its SOA record.
        soa: Soa,
        /// The EXPIRE option.
        expire: Option<u32>,
    },
    /// It has an older one.
    Behind {
        /// The serial that it has.
        serial: u32,
    },
    /// It has a newer one, which has to be transferred.
    Newer,
    /// What was transferred is served.
    Transferred {
        /// The SOA record of it.
        soa: Soa,
        /// The EXPIRE option.
        expire: Option<u32>,
    },
    /// Nothing.
    Stopped(Stop),
}

/// What whoever serves the zone has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Nothing.
    Nothing,
    /// To serve it again, and to keep [`Schedule::kept`] of it.
    Revived,
    /// To keep that.
    Checked,
}

impl Schedule {
    /// All of a transfer has come, and its place is free for another; [`Schedule::done`] is told once it is served. Small zones wait for a disk together
    /// so: those in places alone would be one group after the other.
    pub fn arrived(&mut self, job: &Job) {
        let zone = &mut self.zones[job.zone as usize];
        if zone.state != State::Transferring {
            return;
        }
        zone.state = State::Arrived;
        self.arrived += 1;
        self.running[1] = self.running[1].saturating_sub(1);
        let how = (job.is_transfer(), job.is_udp);
        self.primaries[usize::from(job.primary)].answered(how, self.settings.probes.1);
        self.take_turn(job.primary);
    }

    /// Takes what came of a job that [`Schedule::poll`] gave.
    pub fn done(&mut self, job: &Job, answer: &Answer, now: u32, random: &mut Random<'_>) -> Told {
        if self.zones[job.zone as usize].state == State::Arrived {
            self.arrived = self.arrived.saturating_sub(1);
        } else {
            let kind = usize::from(job.is_transfer());
            self.running[kind] = self.running[kind].saturating_sub(1);
            self.account(job, answer, now);
        }
        let number = job.zone;
        if self.zones[number as usize].has(flag::GONE) {
            self.release(number);
            return Told::Nothing;
        }
        match *answer {
            Answer::Current { soa, expire } => self.current(job, &soa, expire, now, random),
            Answer::Transferred { soa, expire } => self.transferred(job, &soa, expire, now, random),
            Answer::Newer => {
                self.zones[number as usize].flags |= flag::NEWER;
                self.enter(number, now, random);
                Told::Nothing
            }
            Answer::Behind { serial } => {
                self.trouble(job, Last::Behind { serial }, now);
                self.pass_over(number, now, random);
                Told::Nothing
            }
            Answer::Stopped(stop) => {
                self.stopped(job, &stop, now, random);
                Told::Nothing
            }
        }
    }

    /// What the answer says of the primary.
    fn account(&mut self, job: &Job, answer: &Answer, now: u32) {
        let primary = &mut self.primaries[usize::from(job.primary)];
        let how = (job.is_transfer(), job.is_udp);
        let is_lost = matches!(answer, Answer::Stopped(stop) if stop.fault.is_unreachable());
        if is_lost {
            let is_new = primary.lost(job.zone, how, now);
            self.went_down(job.primary, is_new);
        } else {
            primary.answered(how, self.settings.probes.1);
        }
        self.take_turn(job.primary);
    }

    fn current(
        &mut self,
        job: &Job,
        soa: &Soa,
        expire: Option<u32>,
        now: u32,
        random: &mut Random<'_>,
    ) -> Told {
        let intervals = self.settings.bounds.of(soa);
        let zone = &mut self.zones[job.zone as usize];
        zone.intervals = intervals;
        // RFC 7314 4: never sooner than it would have been, never later than the SOA record says.
        zone.expires = match expire {
            None => now.saturating_add(intervals.expire),
            Some(left) => zone.expires.max(now.saturating_add(left.min(intervals.expire))),
        };
        self.fine(job.zone, now, random)
    }

    fn transferred(
        &mut self,
        job: &Job,
        soa: &Soa,
        expire: Option<u32>,
        now: u32,
        random: &mut Random<'_>,
    ) -> Told {
        let intervals = self.settings.bounds.of(soa);
        let zone = &mut self.zones[job.zone as usize];
        zone.intervals = intervals;
        if zone.serial != soa.serial {
            // A NOTIFY that led to it was right, and the next may be followed at once: only those that lead to nothing have to wait.
            zone.notified = 0;
        }
        zone.serial = soa.serial;
        zone.flags |= flag::DATA;
        let left = expire.map_or(intervals.expire, |left| left.min(intervals.expire));
        zone.expires = now.saturating_add(left);
        // A command that came meanwhile wants another one.
        if !zone.has(flag::AGAIN) {
            zone.flags &= !flag::FORCED;
        }
        self.fine(job.zone, now, random)
    }

    /// The zone is known to be current.
    fn fine(&mut self, number: u32, now: u32, random: &mut Random<'_>) -> Told {
        let zone = &mut self.zones[number as usize];
        let was_expired = zone.has(flag::EXPIRED);
        zone.flags &= flag::DATA | flag::AGAIN | flag::FORCED;
        (zone.rounds, zone.tried, zone.served) = (0, 0, zone.at);
        zone.checked = now;
        zone.trouble = None;
        let due = now.saturating_add(spread(zone.intervals.refresh, random()));
        self.rest_or_again(number, due, now);
        if was_expired { Told::Revived } else { Told::Checked }
    }

    fn stopped(&mut self, job: &Job, stop: &Stop, now: u32, random: &mut Random<'_>) {
        let number = job.zone;
        // Some answer for a catalog over TCP alone, and whom they let transfer it (Knot DNS): a transfer tells what the datagram does not.
        if stop.fault == Fault::Rcode(rcode::REFUSED) {
            let zone = &mut self.zones[number as usize];
            if job.is_udp {
                zone.flags |= flag::NEWER;
                return self.enter(number, now, random);
            }
            zone.flags &= !flag::NEWER;
        }
        self.trouble(job, Last::Stop(*stop), now);
        let primary = &self.primaries[usize::from(job.primary)];
        let tries_again = match stop.fault.remedy() {
            _ if job.is_udp && stop.fault.is_unreachable() => primary.has_another_way(),
            Remedy::Elsewhere => false,
            // All of it did not help either.
            Remedy::Whole if job.kind == Kind::Axfr => false,
            Remedy::Whole => {
                self.zones[number as usize].flags |= flag::WHOLE;
                true
            }
            Remedy::Plainer => {
                let primary = &mut self.primaries[usize::from(job.primary)];
                primary.be_plainer(now, job.has_edns, job.kind == Kind::Ixfr)
            }
        };
        if tries_again {
            self.enter(number, now, random);
        } else {
            self.pass_over(number, now, random);
        }
    }

    fn trouble(&mut self, job: &Job, last: Last, now: u32) {
        let trouble = Trouble { last, primary: job.primary, at: now };
        self.zones[job.zone as usize].trouble = Some(Box::new(trouble));
    }

    /// Goes to the next primary that is up, or ends the round.
    fn pass_over(&mut self, number: u32, now: u32, random: &mut Random<'_>) {
        let list: &[u16] = self.list(number);
        let count = list.len() as u8;
        let is_down = |at: u8| self.primaries[usize::from(list[usize::from(at)])].down.is_some();
        let (mut at, mut tried) = (self.zones[number as usize].at, self.zones[number as usize].tried + 1);
        while tried < count {
            at = (at + 1) % count;
            if !is_down(at) {
                let zone = &mut self.zones[number as usize];
                (zone.at, zone.tried) = (at, tried);
                return self.enter(number, now, random);
            }
            tried += 1;
        }
        let are_all_down = (0..count).all(is_down);
        let zone = &mut self.zones[number as usize];
        (zone.at, zone.tried) = (if are_all_down { (zone.at + 1) % count } else { zone.served }, 0);
        if are_all_down {
            // It stands in a line, and is asked for when one of them is back.
            return self.enter(number, now, random);
        }
        zone.rounds = zone.rounds.saturating_add(1);
        let due = now.saturating_add(spread(zone.pause(), random()).max(1));
        self.rest_or_again(number, due, now);
    }

    /// Lets a zone wait until `due`; until a second after the last NOTIFY where there was one meanwhile.
    fn rest_or_again(&mut self, number: u32, due: u32, now: u32) {
        let zone = &mut self.zones[number as usize];
        if !zone.has(flag::AGAIN) {
            return self.rest(number, due);
        }
        zone.flags = zone.flags & !flag::AGAIN | flag::URGENT;
        let due = zone.after_notify(now);
        self.rest(number, due);
    }
}
