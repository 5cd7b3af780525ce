//! Deltas that are being made anew: in steps between groups, and then in the place of the old ones.
//!
//! ```text
//! zone to copy ---------------------> Rebuild::copy --steps--> exchange
//! zones of a new pack, in order ----> Rebuild::onto --steps--> log: pack, what came since | at rest    --written together--> exchange | the pack alone
//! ```

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use wire::NameBuf;
use zone::DeltaWriter;
use zone::delta::Rebuild;

use super::changer::{Changer, wall};
use super::checkpoint;
use super::group::Payload;
use super::log::Log;
use super::merge::Member;
use super::origin::{Origin, Sums};
use crate::controller::LookedThrough;
use crate::packs::StoredPack;

/// Rows of a delta that are looked at between two looks at the clock: some 50 us.
const ROWS_A_STEP: u32 = 32;
/// When it is looked again whether a log that was full has said where zones are.
const FULL_PAUSE: Duration = Duration::from_millis(10);
/// Octets of what differs from a new pack when it is said in the log: what came while that was made. With more the merge was in vain, and is made anew.
const SINCE_OCTETS_MAX: usize = 64 << 20;

/// A merge whose zones are being laid over the new pack.
pub(super) struct Taking {
    pub(super) pack: Arc<StoredPack>,
    pub(super) looked: LookedThrough,
    pub(super) left: VecDeque<(u32, Member)>,
    pub(super) time: Duration,
    pub(super) since: Instant,
    /// Others make packs until then, perhaps.
    pub(super) not_before: Instant,
}

/// A delta that is being made.
pub(super) struct Work {
    pub(super) zone: NameBuf,
    rebuild: Rebuild,
    /// `None`: a copy.
    to: Option<To>,
}

/// A new pack that a delta is to lie over.
struct To {
    pack: Arc<StoredPack>,
    /// How long it took to make it.
    time: Duration,
    /// Whether none of the packs that were looked through has the zone.
    is_newest: bool,
}

/// A new delta, once the log says what it is over.
pub(super) struct Moved {
    pub(super) zone: NameBuf,
    pub(super) writer: DeltaWriter,
    pub(super) to: Arc<StoredPack>,
    pub(super) time: Duration,
    /// See [`Sums`]; `None`: there is nothing beside the pack.
    sum: Option<u64>,
    /// Whether the log says that the zone is at rest.
    rests: bool,
}

impl Changer {
    /// Goes on with the delta that is being made, and the next ones, until then. What the log is to say of them is written at the end, together.
    pub(super) fn step_until(&mut self, until: Instant) {
        let controller = Arc::clone(&self.controller);
        let settled = self.settle(&controller);
        if self.renewal.taking.as_ref().is_none_or(|taking| taking.not_before <= Instant::now()) {
            self.take_steps(until);
        }
        self.write_moved();
        self.renewal.is_settled = false;
        drop(settled);
    }

    /// Has the log say where zones of the new pack are. Says whether it has.
    fn write_moved(&mut self) -> bool {
        if self.renewal.undecided > 0 {
            self.commit();
        }
        self.renewal.undecided == 0
    }

    fn take_steps(&mut self, until: Instant) {
        while self.next_work() {
            let Some(mut work) = self.renewal.work.take() else { return };
            let Some(zone) = self.zones.get(&work.zone) else { continue };
            if zone.is_waiting() {
                // For a log that is full: later.
                self.renewal.work = Some(work);
                return;
            }
            // It is of another delta if that was exchanged meanwhile, or its zone came anew: then it is looked at again.
            let Ok(is_over) = work.rebuild.step(zone.newest_box(), ROWS_A_STEP) else { continue };
            if is_over {
                self.end_work(work);
            } else {
                self.renewal.work = Some(work);
            }
            if Instant::now() >= until {
                return;
            }
        }
    }

    /// Makes sure that there is a delta being made, if any is to be.
    fn next_work(&mut self) -> bool {
        while self.renewal.work.is_none() {
            if self.renewal.taking.as_ref().is_some_and(|taking| taking.left.is_empty()) {
                if !self.end_taking() {
                    return false;
                }
                continue;
            }
            let renewal = &mut self.renewal;
            if let Some(taking) = &mut renewal.taking {
                let Some((number, member)) = taking.left.pop_front() else { return false };
                let pack = Arc::clone(&taking.pack.pack);
                let to = Some(To {
                    pack: Arc::clone(&taking.pack),
                    time: taking.time,
                    is_newest: taking.looked.has_not(&member.zone),
                });
                renewal.work = Rebuild::onto(pack, number, &member.pinned).map(|rebuild| Work {
                    zone: member.zone,
                    rebuild,
                    to,
                });
            } else {
                let Some(name) = renewal.copies.pop_front() else { return false };
                // A merge of it is better, and hangs on the delta that it has.
                let is_merging = renewal.merge.is_some();
                renewal.work = self
                    .zones
                    .get(&name)
                    .filter(|zone| !is_merging && !zone.is_waiting())
                    .and_then(|zone| Rebuild::copy(zone.newest_box()))
                    .map(|rebuild| Work { zone: name, rebuild, to: None });
            }
        }
        true
    }

    /// All zones of the new pack are served from there, or stay where they are: only these need it now. False: the log has not said so yet.
    fn end_taking(&mut self) -> bool {
        let is_written = self.write_moved();
        let renewal = &mut self.renewal;
        let now = Instant::now();
        if !is_written && let Some(taking) = &mut renewal.taking {
            // For a log that is full.
            taking.not_before = now + FULL_PAUSE;
            return false;
        }
        if let Some(taking) = renewal.taking.take() {
            renewal.crowd_due = now + (now - renewal.merge_began);
            self.controller.let_go_of(taking.pack.pack.id());
            self.controller.tidy_soon();
            self.give_room_back();
        }
        true
    }

    /// Has a delta that has all of the old one take its place: a copy at once, one over a new pack once the log says so.
    fn end_work(&mut self, work: Work) {
        let Work { zone: name, rebuild, to } = work;
        let Some(zone) = self.zones.get_mut(&name) else { return };
        let Ok(writer) = zone.finish(rebuild) else { return };
        let Some(To { pack: to, time, is_newest }) = to else {
            if zone.exchange(&self.controller, writer, None).is_ok() {
                tracing::debug!(zone = %name, "zone {name}: its changes are copied, without what is past");
            }
            return;
        };
        let Some(zone) = self.zones.get(&name) else { return };
        if zone.is_passing {
            let rests = self.is_idle(zone, &writer);
            return self.moved(Moved { zone: name, writer, to, time, sum: None, rests }, 0);
        }
        let Log::Open(open) = &self.log else { return };
        if let Some(entry) = self.at_rest(zone, &writer, is_newest) {
            let rests = name.clone();
            let moved = Moved { zone: name, writer, to, time, sum: None, rests: true };
            let payload = Payload::Moved(Box::new(moved));
            let generation = open.committer.generation();
            let queued = open.committer.enqueue_urgent(generation, Arc::new(entry), payload);
            if queued.is_ok() {
                self.renewal.undecided += 1;
                self.zones.get_mut(&rests).into_iter().for_each(|zone| zone.is_resting = true);
            }
            return;
        }
        let limits = (SINCE_OCTETS_MAX, self.renewal.rules.piece_names_max);
        let fault = zone.fault.as_deref().and_then(|fault| checkpoint::damaged(&name, fault, wall()));
        let Some(mut entries) = checkpoint::over_pack(writer.newest_box(), limits, wall()) else { return };
        let mut sums = Sums::default();
        let sum = entries.iter().filter_map(|entry| sums.anew(entry)).last().map(|anew| anew.sum);
        let last = entries.pop();
        if let Some(fault) = fault {
            entries.insert(0, fault);
        }
        // With the last of them the log says all.
        let moved = Moved { zone: name, writer, to, time, sum, rests: false };
        let moved = last.map(|entry| (entry, Payload::Moved(Box::new(moved))));
        let others = entries.into_iter().map(|entry| (entry, Payload::Base(None)));
        for (entry, payload) in others.chain(moved) {
            let generation = open.committer.generation();
            if open.committer.enqueue_urgent(generation, Arc::new(entry), payload).is_err() {
                return;
            }
        }
        self.renewal.undecided += 1;
    }

    /// It is known what became of the record that says that a zone is at rest.
    pub(super) fn rests_no_more(&mut self, name: &NameBuf) {
        self.zones.get_mut(name).into_iter().for_each(|zone| zone.is_resting = false);
    }

    /// A zone is in its new pack, as the log says by this group: it is shown from there.
    pub(super) fn moved(&mut self, moved: Moved, group: u64) {
        let name = moved.zone.clone();
        self.rests_no_more(&name);
        self.renewal.asked.remove(&name);
        if let Some(checkpoint) = &mut self.checkpoint {
            checkpoint.said(&name);
        }
        let moved = if moved.rests { self.come_to_rest(moved) } else { Some(moved) };
        let Some(Moved { writer, to, time, sum, rests, .. }) = moved else { return };
        let Some(zone) = self.zones.get_mut(&name) else { return };
        // Where it fails the zone was given to another or removed, and is forgotten for that.
        if zone.exchange(&self.controller, writer, Some(&to)).is_ok() {
            zone.begins_anew();
            zone.say(sum.map(|sum| Origin { group, sum }));
            self.imaging.ask(zone, self.renewal.rules.image_rows_min);
            // What says that it is at rest is nothing to begin from.
            zone.is_based = !zone.is_passing && !rests;
            zone.is_in_memory = false;
            zone.merged = Some((Instant::now(), time));
            tracing::debug!(zone = %name, "zone {name}: stored anew with its changes, which took {} ms", time.as_millis());
        }
    }
}
