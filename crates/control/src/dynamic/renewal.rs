//! Deltas made anew while their zones change: copied without what is past, or laid over new packs that have what they had.
//!
//! ```text
//! due: past octets --------------------> Rebuild::copy ---steps between groups---> exchange
//! due: octets, age, pack, checkpoint --> `merge`: new pack --> Rebuild::onto --steps--> log: pack, what came since --> exchange
//!                                                                                `- nothing came since: log: at rest --> the pack alone (`resting`)
//! ```
//!
//! An exchange is a step of the changer's: nothing of the zone is queued or unpublished then, and the slot shows the same version in another way.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use journal::commit::Condition;
use wire::NameBuf;
use zone::delta::{Due, MERGE_OCTETS_MIN, MERGE_PERCENT, MergeFrom, PAST_OCTETS_MIN};

use super::changer::Changer;
use super::log::Log;
use super::merge::{self, Member, Merged, NewPack};
use super::resting::{self, ZONE_OCTETS};
use super::taking::{Taking, Work};
use super::zone::DynamicZone;
use crate::controller::Controller;
use crate::load::{OWN_PACK_OCTETS, SHARED_PACK_OCTETS};

/// When what is due; others in tests.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// See [`zone::DeltaWriter::due`].
    pub(super) merge_from: MergeFrom,
    /// The same.
    pub(super) past_octets_min: u64,
    /// Between two looks at all zones.
    pub(super) look: Duration,
    /// A delta that is so old is merged, once nothing has changed for `quiet`.
    pub(super) age: Duration,
    /// See `age`.
    pub(super) quiet: Duration,
    /// After a merge of a zone so many times as long until the next one that only its size asks for.
    pub(super) rest: u32,
    /// After a merge that could not be stored.
    pub(super) pause: Duration,
    /// Zones whose packs are in memory alone, before all of them are put into one file.
    pub(super) in_memory_max: usize,
    /// Zones with small deltas; with more the quietest are merged until half is left, to rest: 160 MB of [`ZONE_OCTETS`]. Below some thousands those that
    /// change each minute would be stored again and again.
    pub(super) zones_max: usize,
    /// Octets of their deltas, for the same: a sixteenth of what all may have.
    pub(super) small_octets_max: u64,
    /// Octets of all deltas: from half of them on the largest is merged, and commits are delayed; with more, refused.
    pub(super) octets_max: u64,
    /// Names of one change that stands for a delta in the log.
    pub(super) piece_names_max: usize,
    /// Octets of all such changes at a checkpoint, and of a delta of which they are made: some 100 ms, in which nothing else is done. What is more is a
    /// new pack's.
    pub(super) condensed_octets_max: usize,
    /// Rows of a delta since its last image from which on the next is due: what a start applies change by change, some 10 us each.
    pub(super) image_rows_min: u64,
    /// Octets of the log from which on a start applies it on one thread more, as many as there are processors: some 30 ms of one.
    pub(super) octets_a_thread: u64,
    /// How long steps take between groups: as long as other work did just now, within these; when nothing waits as long as the second.
    pub(super) turns: (Duration, Duration),
    /// Whether differences are taken of zones too that are transferred from nobody, as tests bring them.
    pub(super) takes_from_anybody: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            merge_from: MergeFrom { octets_min: MERGE_OCTETS_MIN, percent: MERGE_PERCENT },
            past_octets_min: PAST_OCTETS_MIN,
            look: Duration::from_secs(1),
            age: Duration::from_secs(3600),
            quiet: Duration::from_secs(600),
            rest: 9,
            pause: Duration::from_secs(60),
            in_memory_max: 64,
            zones_max: 16_384,
            small_octets_max: 256 << 20,
            octets_max: 4 << 30,
            piece_names_max: zone::delta::PIECE_NAMES_MAX,
            condensed_octets_max: 16 << 20,
            image_rows_min: 16_384,
            octets_a_thread: 1 << 20,
            // A sync; what clients that wait do not notice.
            turns: (Duration::from_micros(200), Duration::from_millis(5)),
            takes_from_anybody: false,
        }
    }
}

impl Rules {
    /// Those that a server has by its settings, or that a test has given it.
    pub(super) fn of(controller: &Controller) -> Rules {
        let percent = u64::from(controller.merge_percent);
        let merge_from = MergeFrom { octets_min: MERGE_OCTETS_MIN, percent };
        let zones_max = controller.changed_zones;
        let usual = Rules { merge_from, zones_max, ..Rules::default() };
        controller.dynamic.rules.get().cloned().unwrap_or(usual)
    }
}

/// A look at all zones takes at most this part of the time.
const LOOK_PART: u32 = 100;
/// Zones without changes are looked at so often: some become old.
const IDLE_LOOK: Duration = Duration::from_secs(60);

/// What is under way, and what is to be done.
pub(super) struct Renewal {
    pub(super) rules: Rules,
    /// Zones that are to be merged whatever their deltas have: the log is to be shortened, or the packs below are to be given up.
    pub(super) asked: HashSet<NameBuf>,
    /// Octets of all deltas at the last look, and what else their zones take, less those at rest since.
    pub(super) octets: u64,
    /// Zones that are damaged below.
    left: HashSet<NameBuf>,
    /// What is to be copied, and merged, as of the last look; the most urgent first.
    pub(super) copies: VecDeque<NameBuf>,
    merges: Vec<NameBuf>,
    next_look: Instant,
    /// No merge begins before.
    not_before: Instant,
    pub(super) merge: Option<Receiver<Merged>>,
    /// A merge whose zones are being laid over the new pack.
    pub(super) taking: Option<Taking>,
    pub(super) work: Option<Work>,
    /// Whether zones may come to rest: nobody makes packs, and those that there are were looked through.
    pub(super) is_settled: bool,
    /// Zones of the new pack of which the log is to say so, and has not yet.
    pub(super) undecided: usize,
    /// When the last merge began, and when those are merged again of which there are many.
    pub(super) merge_began: Instant,
    pub(super) crowd_due: Instant,
    /// Large zones at rest: when they were merged, and how long that took. Only as long as that keeps them from being merged again.
    pub(super) rested: HashMap<NameBuf, (Instant, Duration)>,
}

impl Renewal {
    pub(super) fn new(rules: Rules) -> Renewal {
        let now = Instant::now();
        Renewal {
            rules,
            asked: HashSet::new(),
            octets: 0,
            left: HashSet::new(),
            copies: VecDeque::new(),
            merges: Vec::new(),
            next_look: now,
            not_before: now,
            merge: None,
            taking: None,
            work: None,
            is_settled: false,
            undecided: 0,
            merge_began: now,
            crowd_due: now,
            rested: HashMap::new(),
        }
    }

    /// The log says of so many zones of the new pack that they are there, or never will.
    pub(super) fn note_decided(&mut self, count: usize) {
        self.undecided = self.undecided.saturating_sub(count);
    }

    /// Has zones be merged soon, whatever has changed in them.
    pub(super) fn ask(&mut self, zones: impl IntoIterator<Item = NameBuf>) {
        let before = self.asked.len();
        self.asked.extend(zones);
        if self.asked.len() > before {
            self.next_look = Instant::now();
        }
    }

    /// When there is something to do.
    fn work_due(&self, now: Instant) -> Option<Instant> {
        match &self.taking {
            Some(taking) => Some(taking.not_before.max(now)),
            None => (self.work.is_some() || !self.copies.is_empty()).then_some(now),
        }
    }

    /// How urgent a merge of a zone is; `None`: it is not due. `is_one_of_many`: it is the largest, or one of many that are to rest.
    fn urgency(&self, zone: &DynamicZone, now: Instant, is_one_of_many: bool) -> Option<u8> {
        let rules = &self.rules;
        let name = zone.name();
        if zone.fault.is_some() || !zone.is_published() || self.left.contains(name) {
            return None;
        }
        let is_rested = zone.merged.is_none_or(|(at, time)| now - at >= time * rules.rest);
        let is_old = now - zone.began >= rules.age && now - zone.changed >= rules.quiet.min(rules.age);
        if self.asked.contains(name) {
            Some(3)
        } else if is_one_of_many {
            Some(2)
        } else if is_rested && zone.due(rules.merge_from, rules.past_octets_min) == Some(Due::Merge) {
            Some(1)
        } else {
            is_old.then_some(0)
        }
    }
}

impl Changer {
    /// When the changer is to look again, though nothing comes.
    pub(super) fn renewal_due(&self, now: Instant) -> Option<Instant> {
        let can = !matches!(self.condition, Condition::Undecided(_));
        if let Some(due) = self.renewal.work_due(now).filter(|_| can) {
            return Some(due);
        }
        (!self.zones.is_empty()).then(|| {
            let is_busy = self.last.is_some_and(|last| now - last < IDLE_LOOK);
            let is_crowd = self.zones.len() > self.renewal.rules.zones_max;
            let is_wanted = is_crowd
                || !self.renewal.asked.is_empty()
                || !self.renewal.merges.is_empty()
                || self.imaging.has_due();
            let pause = if is_busy || is_wanted { self.renewal.rules.look } else { IDLE_LOOK };
            self.renewal.next_look.max(now + pause.min(IDLE_LOOK) / 2)
        })
    }

    /// Makes deltas anew, for a moment. `worked`: how long other work took just now; `None`: nothing waited.
    pub(super) fn renew(&mut self, worked: Option<Duration>) {
        // Of a log that is full it makes room.
        if matches!(self.condition, Condition::Undecided(_)) {
            return;
        }
        let now = Instant::now();
        if now >= self.renewal.next_look {
            self.look_at_zones(now);
        }
        self.take_merge(now);
        self.begin_merge(now);
        self.make_images(now);
        // As long as the others had: so what is made anew comes nearer to its end, however many rows come meanwhile.
        let (least, most) = self.renewal.rules.turns;
        self.step_until(now + worked.map_or(most, |worked| worked.clamp(least, most)));
        self.count_changed();
    }

    /// Finds what is due.
    fn look_at_zones(&mut self, now: Instant) {
        self.forget_unchanged(now);
        let renewal = &mut self.renewal;
        renewal.octets = self.zones.values().map(|zone| zone.octets() + ZONE_OCTETS).sum();
        let rest = renewal.rules.rest;
        renewal.rested.retain(|_, (at, time)| now - *at < *time * rest);
        let crowd = resting::crowd(self.zones.values(), &renewal.rules, now >= renewal.crowd_due);
        let largest = (renewal.octets > renewal.rules.octets_max / 2)
            .then(|| self.zones.values().max_by_key(|zone| zone.octets()).map(|zone| zone.name().to_owned()))
            .flatten();
        let in_memory: Vec<&DynamicZone> = self.zones.values().filter(|zone| zone.is_in_memory).collect();
        if in_memory.len() > renewal.rules.in_memory_max {
            renewal.asked.extend(in_memory.iter().map(|zone| zone.name().to_owned()));
        }
        renewal.asked.retain(|name| self.zones.contains_key(name));
        let mut merges: Vec<(u8, u64, NameBuf)> = Vec::new();
        renewal.copies.clear();
        for (name, zone) in &self.zones {
            let is_one_of_many = largest.as_ref() == Some(name) || crowd.contains(name);
            let rules = &renewal.rules;
            if let Some(urgency) = renewal.urgency(zone, now, is_one_of_many) {
                merges.push((urgency, zone.octets(), name.clone()));
            } else if zone.is_published() && zone.is_past(rules.past_octets_min) {
                renewal.copies.push_back(name.clone());
            }
        }
        merges.sort_unstable_by_key(|(urgency, octets, _)| (*urgency, *octets));
        self.imaging.look(self.zones.values(), renewal.rules.image_rows_min);
        renewal.merges = merges.into_iter().map(|(_, _, name)| name).collect();
        let took = now.elapsed();
        renewal.next_look = now + renewal.rules.look.max(took * LOOK_PART);
    }

    /// Begins the merge that is most urgent: of a large zone alone, or of many small ones.
    fn begin_merge(&mut self, now: Instant) {
        let renewal = &mut self.renewal;
        let is_at_it = renewal.merge.is_some() || renewal.taking.is_some() || now < renewal.not_before;
        if is_at_it || renewal.merges.is_empty() {
            return;
        }
        let can_store = matches!(self.log, Log::Open(_)) && self.controller.writable_folder().is_some();
        let (mut members, mut octets, mut is_passing) = (Vec::new(), 0, None);
        for name in renewal.merges.iter().rev() {
            let Some(zone) = self.zones.get(name).filter(|zone| !zone.is_waiting() && zone.is_published())
            else {
                continue;
            };
            // What is not to be kept comes together in memory, and the log has nothing of it.
            if !(zone.is_passing || can_store)
                || *is_passing.get_or_insert(zone.is_passing) != zone.is_passing
            {
                continue;
            }
            let own = zone.share() + zone.octets();
            let is_large = own >= OWN_PACK_OCTETS as u64;
            if is_large && !members.is_empty() {
                continue;
            }
            octets += own;
            members.push(Member { zone: name.clone(), pinned: zone.newest_box().clone() });
            if is_large || octets > SHARED_PACK_OCTETS {
                break;
            }
        }
        if members.is_empty() {
            return;
        }
        // What is copied now would be of another delta than the one that is pinned.
        let is_member = |name: &NameBuf| members.iter().any(|member| member.zone == *name);
        if renewal.work.as_ref().is_some_and(|work| is_member(&work.zone)) {
            renewal.work = None;
        }
        tracing::debug!(zones = members.len(), "merging {} zones that have changed", members.len());
        match merge::start(&self.controller, members, is_passing == Some(true)) {
            Ok(receiver) => (renewal.merge, renewal.merge_began) = (Some(receiver), now),
            Err(error) => {
                renewal.not_before = now + renewal.rules.pause;
                tracing::error!(%error, "a thread that merges zones cannot be started: {error}");
            }
        }
        renewal.merges.clear();
    }

    /// Takes what came of a merge.
    fn take_merge(&mut self, now: Instant) {
        let renewal = &mut self.renewal;
        let Some(receiver) = &renewal.merge else { return };
        let merged = match receiver.try_recv() {
            Ok(merged) => merged,
            Err(TryRecvError::Empty) => return,
            Err(TryRecvError::Disconnected) => {
                renewal.merge = None;
                renewal.not_before = now + renewal.rules.pause;
                return;
            }
        };
        renewal.merge = None;
        let Merged { new, members, damaged, time } = merged;
        for zone in damaged {
            tracing::error!(%zone, "zone {zone}: what it changes from is damaged; it cannot be stored anew");
            renewal.left.insert(zone);
        }
        match new {
            Some(NewPack { pack, looked }) => {
                let left = (0..).zip(members).collect();
                renewal.taking = Some(Taking { pack, looked, left, time, since: now, not_before: now });
            }
            None => renewal.not_before = now + renewal.rules.pause,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
