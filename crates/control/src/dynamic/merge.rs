//! Zones that change, and what has changed in them, into one new pack: on a thread of the lowest priority, beside all else.
//!
//! ```text
//! pinned states of zones --PackBuilder::merge_zone--> pack --> file --> the changer: deltas of what came meanwhile, see `renewal`
//! ```

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use wire::NameBuf;
use zone::build::Problem;
use zone::{Changed, Pack, PackBuilder, ZoneView};

use crate::controller::{Controller, LookedThrough};
use crate::load::{SEEDS_MAX, SHARED_PACK_OCTETS};
use crate::packs::StoredPack;
use crate::system::random;

/// A zone that is merged, in a state that is published.
pub(super) struct Member {
    /// Lower-case.
    pub(super) zone: NameBuf,
    pub(super) pinned: Changed,
}

/// A new pack, which is kept in use for the changer.
pub(super) struct NewPack {
    pub(super) pack: Arc<StoredPack>,
    /// Other packs that a start might take the zones from.
    pub(super) looked: LookedThrough,
}

/// What came of a merge.
pub(super) struct Merged {
    /// `None`: there is none, as it could not be stored, or nothing could be merged.
    pub(super) new: Option<NewPack>,
    /// The zones in it, by their numbers there.
    pub(super) members: Vec<Member>,
    /// Zones that cannot be merged, ever: what is below them is damaged.
    pub(super) damaged: Vec<NameBuf>,
    /// How long it took.
    pub(super) time: Duration,
}

/// Begins a merge; what comes of it is sent, and the changer woken. `is_passing`: it is not to be on the disk.
pub(super) fn start(
    controller: &Arc<Controller>,
    members: Vec<Member>,
    is_passing: bool,
) -> std::io::Result<Receiver<Merged>> {
    let (sender, receiver) = channel();
    let controller = Arc::clone(controller);
    std::thread::Builder::new().name("merge".into()).spawn(move || {
        let sender = Wakes { sender: Some(sender), controller: &controller };
        controller.effort().begin();
        let merged = merge(&controller, members, is_passing);
        sender.send(merged);
    })?;
    Ok(receiver)
}

/// Wakes the changer at the end, by a panic too.
struct Wakes<'c> {
    sender: Option<Sender<Merged>>,
    controller: &'c Controller,
}

impl Wakes<'_> {
    fn send(&self, merged: Merged) {
        if let Some(sender) = &self.sender
            && let Err(unsent) = sender.send(merged)
            && let Some(new) = unsent.0.new
        {
            self.controller.let_go_of(new.pack.pack.id());
        }
    }
}

impl Drop for Wakes<'_> {
    fn drop(&mut self) {
        self.sender = None;
        self.controller.dynamic.queue.wake();
    }
}

fn merge(controller: &Controller, members: Vec<Member>, is_passing: bool) -> Merged {
    let started = Instant::now();
    let mut damaged = Vec::new();
    let (mut members, built) = build(members, &mut damaged);
    let stored = built.and_then(|pack| match is_passing {
        true => Some(StoredPack::elsewhere(pack)),
        false => controller.writable_folder()?.store(&pack).ok(),
    });
    // Texts are kept once; that is no reason to merge less often.
    let time = started.elapsed();
    let Some(pack) = stored else {
        // The folder says why.
        members.clear();
        return Merged { new: None, members, damaged, time };
    };
    controller.keep(&pack, is_passing);
    members.iter().for_each(|member| keep_text(controller, &member.zone));
    // Last, so that few packs come that were not looked through.
    let looked = match is_passing {
        true => LookedThrough::default(),
        false => controller.look_through_newer(&pack, members.iter().map(|member| &member.zone)),
    };
    Merged { new: Some(NewPack { pack, looked }), members, damaged, time }
}

/// What the text of a zone had goes with the pack below, which the new one takes the place of.
fn keep_text(controller: &Controller, zone: &NameBuf) {
    if let Err(error) = controller.keep_text(zone) {
        tracing::warn!(%zone, error, "zone {zone}: what its text had cannot be kept: {error}; an edit of it cannot be taken in");
    }
}

/// A pack of zones, as many as it may hold, in their order, but for those that are damaged.
fn build(mut members: Vec<Member>, damaged: &mut Vec<NameBuf>) -> (Vec<Member>, Option<Pack>) {
    for _ in 0..SEEDS_MAX {
        let mut builder = PackBuilder::new(random());
        let mut taken = Vec::with_capacity(members.len());
        let mut rest = members.into_iter();
        for member in rest.by_ref() {
            let merged = ZoneView::of_changed(&member.pinned)
                .map_or(Err(Problem::Damaged), |zone| builder.merge_zone(&zone));
            match merged {
                Ok(()) => taken.push(member),
                Err(Problem::PackFull) if !taken.is_empty() => break,
                Err(_) => damaged.push(member.zone),
            }
            if builder.octets() as u64 > SHARED_PACK_OCTETS {
                break;
            }
        }
        // Others have their turn later.
        drop(rest);
        // Zeros that took the place of octets while they were read are in no new pack.
        let sound = taken.len();
        taken.retain(|member| !member.pinned.pack().is_damaged());
        let is_sound = taken.len() == sound;
        if taken.is_empty() {
            return (taken, None);
        }
        match builder.finish() {
            Ok(backing) if is_sound => return (taken, Pack::open(backing).ok()),
            _ => members = taken,
        }
    }
    (Vec::new(), None)
}
