//! All secondary zones and their primaries: who is due, who stands in which line, who goes next.

use std::collections::{BTreeSet, VecDeque};

use super::due::{Heap, NOWHERE, Places};
use super::primary::{Plain, Primary, PrimaryState, ROUTINE, TRANSFER, URGENT};
use super::times::{Bounds, Intervals, spread};
use super::zone::{NO_LINE, State, Zone, flag};
use super::{Kept, Random};
use crate::incoming::{Kind, Soa};
use crate::serial::is_newer;

/// Bounds of all zones together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Probes at once, of all and of one primary. One is a datagram and a wait; more than a primary's queue of datagrams holds are lost.
    pub probes: (u16, u16),
    /// Transfers at once, of all and of one primary. Each is a connection, here and there.
    pub transfers: (u16, u16),
    /// Times of zones.
    pub bounds: Bounds,
    /// Over how many seconds checks of zones with data are spread at a start.
    pub start_spread: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { probes: (512, 64), transfers: (32, 8), bounds: Bounds::default(), start_spread: 60 }
    }
}

/// Primaries that one zone can have: more are never asked in time, and places in the list have eight bits.
pub const PRIMARIES_OF_ZONE_MAX: usize = 8;
/// Steps that one call makes at most: zones that become due, zones that go to another line. The rest waits for the next call.
const STEPS: usize = 1_024;
/// Zones that were transferred and wait to be served, at most: a slow disk stops transfers, and what waits for it is bounded.
pub const ARRIVED_MAX: u16 = 512;
/// How long a zone stands in the line of a primary that is down before it tries the next, in seconds.
const PARK_SECONDS: u32 = 30;

/// A zone in a [`Schedule`].
pub type ZoneNumber = u32;

/// Something to ask a primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The zone.
    pub zone: ZoneNumber,
    /// The primary.
    pub primary: u16,
    /// What to ask for.
    pub kind: Kind,
    /// The serial to ask with; none to take what there is.
    pub ours: Option<u32>,
    /// Whether with EDNS.
    pub has_edns: bool,
    /// Whether by a datagram. A probe goes over TCP to a primary that answers none.
    pub is_udp: bool,
}

impl Job {
    pub(super) fn is_transfer(&self) -> bool {
        !self.is_udp && self.kind != Kind::Soa
    }
}

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ask, and tell [`Schedule::done`] what came of it, whatever it was.
    Start(Job),
    /// Serve the zone no longer: it is too old.
    Expire(ZoneNumber),
}

/// See the module.
pub struct Schedule {
    pub(super) settings: Settings,
    pub(super) zones: Vec<Zone>,
    free: Vec<u32>,
    lists: Vec<Box<[u16]>>,
    pub(super) primaries: Vec<Primary>,
    heap: Heap,
    /// Primaries that may have something to begin, for probes and for transfers.
    turns: [VecDeque<u16>; 2],
    /// When primaries that are down are asked again.
    wakes: BTreeSet<(u32, u16)>,
    /// Primaries that went down, and how many zones of each line were not looked at since.
    drains: VecDeque<(u16, [u32; 3])>,
    /// Jobs under way, probes and transfers.
    pub(super) running: [u16; 2],
    /// Zones that were transferred and wait to be served.
    pub(super) arrived: u16,
}

impl Places for Vec<Zone> {
    fn place(&self, zone: u32) -> u32 {
        self[zone as usize].place
    }

    fn put(&mut self, zone: u32, place: u32) {
        self[zone as usize].place = place;
    }
}

impl Schedule {
    /// Without zones.
    pub fn new(settings: Settings) -> Schedule {
        Schedule {
            settings,
            zones: Vec::new(),
            free: Vec::new(),
            lists: Vec::new(),
            primaries: Vec::new(),
            heap: Heap::default(),
            turns: [VecDeque::new(), VecDeque::new()],
            wakes: BTreeSet::new(),
            drains: VecDeque::new(),
            running: [0; 2],
            arrived: 0,
        }
    }

    /// Adds a primary; `None` when there are 65,536. `ixfr`: whether differences are asked for; `ixfr_over_udp`: in datagrams (RFC 1995 2).
    pub fn add_primary(&mut self, ixfr: bool, ixfr_over_udp: bool) -> Option<u16> {
        let number = u16::try_from(self.primaries.len()).ok()?;
        self.primaries.push(Primary::new(ixfr, ixfr_over_udp));
        Some(number)
    }

    /// Adds a list of primaries in the order in which they are asked, for the zones that have it. The first
    /// [`PRIMARIES_OF_ZONE_MAX`] count; `None` where there is none, or one that was not added.
    pub fn add_list(&mut self, primaries: &[u16]) -> Option<u32> {
        let list = &primaries[..primaries.len().min(PRIMARIES_OF_ZONE_MAX)];
        let are_known = list.iter().all(|primary| usize::from(*primary) < self.primaries.len());
        if list.is_empty() || !are_known {
            return None;
        }
        self.lists.push(list.into());
        u32::try_from(self.lists.len() - 1).ok()
    }

    /// Adds a zone. `held`: the SOA record of the version that is held, and its age if that was kept. `list`: of [`Schedule::add_list`].
    pub fn add(
        &mut self,
        list: u32,
        held: Option<(&Soa, Kept)>,
        (now, unix): (u32, u64),
        random: &mut Random<'_>,
    ) -> ZoneNumber {
        let mut zone = Zone::new(list);
        match held {
            None => zone.due = now,
            Some((soa, kept)) => {
                zone.serial = soa.serial;
                zone.intervals = self.settings.bounds.of(soa);
                zone.flags = flag::DATA;
                let age = kept.age(unix, zone.intervals.expire);
                // Before the begin of our clock there is nothing: what was checked then counts as checked at its begin.
                zone.checked = now.saturating_sub(age.age);
                zone.expires = now.saturating_add(age.left);
                let soon = spread_from_zero(self.settings.start_spread, random());
                let is_due = age.is_unknown || age.age >= zone.intervals.refresh;
                zone.due = now + if is_due { 0 } else { soon.min(zone.intervals.refresh - age.age) };
            }
        }
        let number = match self.free.pop() {
            Some(number) => {
                self.zones[number as usize] = zone;
                number
            }
            None => {
                self.zones.push(zone);
                self.zones.len() as u32 - 1
            }
        };
        self.settle(number);
        number
    }

    /// Forgets a zone. Its number may be given to another as soon as no job of it is under way; says whether one is.
    pub fn remove(&mut self, number: ZoneNumber) -> bool {
        if self.zones[number as usize].has(flag::GONE) {
            return self.zones[number as usize].is_running();
        }
        self.unlink(number);
        let zone = &mut self.zones[number as usize];
        zone.flags |= flag::GONE;
        zone.due = u32::MAX;
        let is_running = zone.is_running();
        self.settle(number);
        if !is_running {
            self.free.push(number);
        }
        is_running
    }

    /// A NOTIFY for the zone, of somebody who may send one. `sender`: if that is a primary. `serial`: the hint. Returns whether it leads to
    /// something: not where the hint is not newer than what is held, and those in vain lead to one question a second.
    pub fn notify(&mut self, number: ZoneNumber, sender: Option<u16>, serial: Option<u32>, now: u32) -> bool {
        if let Some(sender) = sender {
            self.heard(sender, now);
        }
        let zone = &mut self.zones[number as usize];
        if zone.has(flag::GONE) {
            return false;
        }
        let has_data = zone.has(flag::DATA);
        if has_data && !zone.has(flag::EXPIRED) && serial.is_some_and(|hint| !is_newer(hint, zone.serial)) {
            return false;
        }
        if zone.is_running() {
            zone.flags |= flag::AGAIN;
            return true;
        }
        let due = zone.after_notify(now);
        let list = &self.lists[zone.list as usize];
        let place = sender.and_then(|sender| list.iter().position(|primary| *primary == sender));
        self.unlink(number);
        let zone = &mut self.zones[number as usize];
        zone.flags |= flag::URGENT | if has_data && serial.is_some() { flag::NEWER } else { 0 };
        zone.at = place.map_or(zone.at, |place| place as u8);
        zone.tried = 0;
        self.rest(number, due);
        true
    }

    /// Checks the zone at once: a command.
    pub fn refresh(&mut self, number: ZoneNumber, now: u32) {
        self.command(number, flag::URGENT, now);
    }

    /// Transfers all of the zone at once, whatever the serial of the primary: a command.
    pub fn retransfer(&mut self, number: ZoneNumber, now: u32) {
        self.command(number, flag::URGENT | flag::FORCED, now);
    }

    fn command(&mut self, number: ZoneNumber, flags: u8, now: u32) {
        if self.zones[number as usize].has(flag::GONE) {
            return;
        }
        // Who gives it knows why: its primaries may be back.
        for primary in self.list(number).to_vec() {
            self.heard(primary, now);
        }
        self.unlink(number);
        let zone = &mut self.zones[number as usize];
        zone.flags |= flags;
        if zone.is_running() {
            zone.flags |= flag::AGAIN;
            return;
        }
        (zone.tried, zone.rounds) = (0, 0);
        self.rest(number, now);
    }

    /// A primary said something by itself.
    fn heard(&mut self, number: u16, now: u32) {
        let Some(primary) = self.primaries.get_mut(usize::from(number)) else { return };
        primary.heard(now);
        if let Some(down) = primary.down {
            self.wakes.insert((down.next, number));
        }
    }

    /// The next thing to do, until there is none.
    pub fn poll(&mut self, now: u32, random: &mut Random<'_>) -> Option<Action> {
        for _ in 0..STEPS {
            let Some((_, number)) = self.heap.first().filter(|(due, _)| *due <= now) else { break };
            let zone = &mut self.zones[number as usize];
            if zone.due > now {
                zone.flags |= flag::EXPIRED;
                if zone.state == State::Waiting {
                    // What a primary that is behind has is better than nothing.
                    zone.due = now;
                }
                self.settle(number);
                return Some(Action::Expire(number));
            }
            if zone.state == State::Ready {
                // It waited in vain for a primary that is down.
                self.unlink(number);
                let zone = &mut self.zones[number as usize];
                zone.at = (zone.at + 1) % self.lists[zone.list as usize].len() as u8;
            }
            self.enter(number, now, random);
        }
        while let Some((due, number)) = self.wakes.first().copied().filter(|(due, _)| *due <= now) {
            self.wakes.remove(&(due, number));
            self.take_turn(number);
        }
        self.drain(now, random);
        let job = self.begin(1, now).or_else(|| self.begin(0, now));
        job.map(Action::Start)
    }

    /// When [`Schedule::poll`] is to be asked again at the latest, if nothing else happens before.
    pub fn wake(&self, now: u32) -> Option<u32> {
        if !self.drains.is_empty() {
            return Some(now);
        }
        let heap = self.heap.first().map(|(due, _)| due);
        let primaries = self.wakes.first().map(|(due, _)| *due);
        heap.into_iter().chain(primaries).min()
    }

    /// Begins the next job: of the primary whose turn it is.
    fn begin(&mut self, kind: usize, now: u32) -> Option<Job> {
        let is_transfer = kind == 1;
        let (most, most_of_one) = if is_transfer { self.settings.transfers } else { self.settings.probes };
        if self.running[kind] >= most || (is_transfer && self.arrived >= ARRIVED_MAX) {
            return None;
        }
        while let Some(number) = self.turns[kind].pop_front() {
            let primary = &mut self.primaries[usize::from(number)];
            primary.in_turn[kind] = false;
            if !primary.has_place(is_transfer, most_of_one, now) {
                continue;
            }
            let line = if is_transfer { Some(TRANSFER) } else { primary.next_line() };
            let Some(zone) =
                line.map(|line| primary.lines[usize::from(line)].first).filter(|zone| *zone != NOWHERE)
            else {
                continue;
            };
            let job = self.start(zone, number, is_transfer, now);
            self.take_turn(number);
            return Some(job);
        }
        None
    }

    fn start(&mut self, number: u32, by: u16, is_transfer: bool, now: u32) -> Job {
        self.unlink(number);
        self.running[usize::from(is_transfer)] += 1;
        let primary = &mut self.primaries[usize::from(by)];
        primary.begin(number, is_transfer);
        let plain = primary.plain(now);
        let is_udp = !is_transfer && !primary.probes_over_tcp(now);
        let (ixfr, over_udp) = (primary.ixfr && plain < Plain::EdnsAndIxfr, primary.ixfr_over_udp && is_udp);
        let zone = &mut self.zones[number as usize];
        zone.state = if is_transfer { State::Transferring } else { State::Asking };
        zone.due = u32::MAX;
        zone.flags &= !flag::AGAIN;
        let is_whole = !zone.is_current() || zone.has(flag::FORCED | flag::WHOLE);
        let kind = match is_transfer {
            true if is_whole || !ixfr => Kind::Axfr,
            true => Kind::Ixfr,
            false if ixfr && over_udp => Kind::Ixfr,
            false => Kind::Soa,
        };
        let ours = Some(zone.serial).filter(|_| !is_whole);
        self.settle(number);
        Job { zone: number, primary: by, kind, ours, has_edns: plain < Plain::Edns, is_udp }
    }

    /// Puts a zone that is due into the line of its primary, or of the next one that is up.
    pub(super) fn enter(&mut self, number: u32, now: u32, random: &mut Random<'_>) {
        let zone = &mut self.zones[number as usize];
        let list = &self.lists[zone.list as usize];
        let is_up = |at: &u8| self.primaries[usize::from(list[usize::from(*at)])].down.is_none();
        let all = (0..list.len() as u8).map(|step| (zone.at + step) % list.len() as u8);
        let up = { all }.find(is_up);
        zone.at = up.unwrap_or(zone.at);
        zone.state = State::Ready;
        let waits_for_another = up.is_none() && list.len() > 1;
        zone.due = if waits_for_another { now + spread(PARK_SECONDS, random()) } else { u32::MAX };
        let line = match zone.flags {
            _ if !zone.is_current() => TRANSFER,
            flags if flags & (flag::NEWER | flag::WHOLE | flag::FORCED) != 0 => TRANSFER,
            flags if flags & flag::URGENT != 0 => URGENT,
            _ => ROUTINE,
        };
        let primary = list[usize::from(zone.at)];
        self.link(number, primary, line);
        self.settle(number);
        self.take_turn(primary);
    }

    /// Lets zones of primaries that went down go to others that are up, some of them a call.
    fn drain(&mut self, now: u32, random: &mut Random<'_>) {
        let mut steps = STEPS;
        while let Some((number, mut left)) = self.drains.pop_front() {
            let lines = self.primaries[usize::from(number)].lines;
            let is_down = self.primaries[usize::from(number)].down.is_some();
            let found = (0..3).find(|&line| left[line] > 0 && lines[line].count > 0);
            let Some(line) = found.filter(|_| is_down) else { continue };
            if steps == 0 {
                return self.drains.push_front((number, left));
            }
            steps -= 1;
            left[line] -= 1;
            let zone = lines[line].first;
            // To the end of the line that it stood in, where no other is up.
            self.unlink(zone);
            self.enter(zone, now, random);
            self.drains.push_front((number, left));
        }
    }

    /// A primary went down, or its pause grew.
    pub(super) fn went_down(&mut self, number: u16, is_new: bool) {
        let primary = &self.primaries[usize::from(number)];
        if let Some(down) = primary.down {
            self.wakes.insert((down.next, number));
            if is_new {
                self.drains.push_back((number, primary.lines.map(|line| line.count)));
            }
        }
    }

    /// Lets a zone wait until `due`.
    pub(super) fn rest(&mut self, number: u32, due: u32) {
        let zone = &mut self.zones[number as usize];
        zone.state = State::Waiting;
        zone.due = due;
        self.settle(number);
    }

    /// Makes a number free whose last job is done.
    pub(super) fn release(&mut self, number: u32) {
        self.zones[number as usize].state = State::Waiting;
        self.free.push(number);
    }

    /// Says that a primary may have something to begin.
    pub(super) fn take_turn(&mut self, number: u16) {
        let primary = &mut self.primaries[usize::from(number)];
        let [urgent, routine, transfer] = primary.lines.map(|line| line.count > 0);
        for (kind, has_some) in [urgent || routine, transfer].into_iter().enumerate() {
            if has_some && !primary.in_turn[kind] {
                primary.in_turn[kind] = true;
                self.turns[kind].push_back(number);
            }
        }
    }

    /// Puts a zone at the end of a line.
    fn link(&mut self, number: u32, primary: u16, line: u8) {
        let to = &mut self.primaries[usize::from(primary)].lines[usize::from(line)];
        let before = to.last;
        to.last = number;
        to.count += 1;
        match before {
            NOWHERE => to.first = number,
            before => self.zones[before as usize].next = number,
        }
        let zone = &mut self.zones[number as usize];
        (zone.line, zone.before, zone.next) = (line, before, NOWHERE);
    }

    /// Takes a zone out of the line that it stands in, if it does.
    fn unlink(&mut self, number: u32) {
        let zone = &mut self.zones[number as usize];
        if zone.line == NO_LINE {
            return;
        }
        let (before, next) = (zone.before, zone.next);
        let primary = self.lists[zone.list as usize][usize::from(zone.at)];
        let line = &mut self.primaries[usize::from(primary)].lines[usize::from(zone.line)];
        zone.line = NO_LINE;
        line.count -= 1;
        match before {
            NOWHERE => line.first = next,
            before => self.zones[before as usize].next = next,
        }
        match next {
            NOWHERE => line.last = before,
            next => self.zones[next as usize].before = before,
        }
    }

    /// Brings the heap up to what the zone says.
    pub(super) fn settle(&mut self, number: u32) {
        let due = self.zones[number as usize].wakes();
        self.heap.set(&mut self.zones, number, due);
    }

    /// The primaries of a zone, in order.
    pub(super) fn list(&self, number: u32) -> &[u16] {
        &self.lists[self.zones[number as usize].list as usize]
    }

    /// What the zone does.
    pub fn state(&self, number: ZoneNumber) -> State {
        self.zones[number as usize].state
    }

    /// The serial that is held; `None` without data.
    pub fn serial(&self, number: ZoneNumber) -> Option<u32> {
        let zone = &self.zones[number as usize];
        zone.has(flag::DATA).then_some(zone.serial)
    }

    /// Whether the zone is too old to be served.
    pub fn is_expired(&self, number: ZoneNumber) -> bool {
        self.zones[number as usize].has(flag::EXPIRED)
    }

    /// Its times, once it has data.
    pub fn intervals(&self, number: ZoneNumber) -> Option<Intervals> {
        let zone = &self.zones[number as usize];
        zone.has(flag::DATA).then_some(zone.intervals)
    }

    /// What is to be kept of its age, for a restart.
    pub fn kept(&self, number: ZoneNumber, now: u32, unix: u64) -> Option<Kept> {
        let zone = &self.zones[number as usize];
        let checked = unix.saturating_sub(now.saturating_sub(zone.checked).into());
        let expires = match zone.expires.checked_sub(now) {
            Some(left) => unix.saturating_add(left.into()),
            None => unix.saturating_sub((now - zone.expires).into()),
        };
        zone.has(flag::DATA).then_some(Kept { checked, expires })
    }

    /// Whether a primary answers.
    pub fn primary_state(&self, primary: u16) -> Option<PrimaryState> {
        self.primaries.get(usize::from(primary)).map(Primary::state)
    }

    /// Probes and transfers under way.
    pub fn running(&self) -> (u16, u16) {
        (self.running[0], self.running[1])
    }
}

/// Any number of seconds below `seconds`, or 0.
fn spread_from_zero(seconds: u32, random: u32) -> u32 {
    ((u64::from(seconds) * u64::from(random)) >> 32) as u32
}
