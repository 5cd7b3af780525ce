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

use crate::controller::Controller;
use crate::load::{SEEDS_MAX, SHARED_PACK_OCTETS};
use crate::packs::StoredPack;
use crate::system::random;

/// A zone that is merged, in a state that is published.
pub(super) struct Member {
    /// Lower-case.
    pub(super) zone: NameBuf,
    pub(super) pinned: Changed,
}

/// What came of a merge.
pub(super) struct Merged {
    /// The new pack, which is kept in use for the changer. `None`: there is none, as it could not be stored, or nothing could be merged.
    pub(super) pack: Option<Arc<StoredPack>>,
    /// The zones in it, by their numbers there.
    pub(super) members: Vec<Member>,
    /// Zones that cannot be merged, ever: what is below them is damaged.
    pub(super) damaged: Vec<NameBuf>,
    /// How long it took.
    pub(super) time: Duration,
}

/// Begins a merge; what comes of it is sent, and the changer woken.
pub(super) fn start(controller: &Arc<Controller>, members: Vec<Member>) -> std::io::Result<Receiver<Merged>> {
    let (sender, receiver) = channel();
    let controller = Arc::clone(controller);
    std::thread::Builder::new().name("merge".into()).spawn(move || {
        let sender = Wakes { sender: Some(sender), controller: &controller };
        controller.effort().begin();
        let merged = merge(&controller, members);
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
            && let Some(pack) = unsent.0.pack
        {
            self.controller.let_go_of(pack.pack.id());
        }
    }
}

impl Drop for Wakes<'_> {
    fn drop(&mut self) {
        self.sender = None;
        self.controller.dynamic.queue.wake();
    }
}

fn merge(controller: &Controller, members: Vec<Member>) -> Merged {
    let started = Instant::now();
    let mut damaged = Vec::new();
    let (mut members, built) = build(members, &mut damaged);
    let stored = built.and_then(|pack| controller.writable_folder()?.store(&pack).ok());
    match &stored {
        Some(pack) => controller.keep(pack),
        // The folder says why.
        None => members.clear(),
    }
    Merged { pack: stored, members, damaged, time: started.elapsed() }
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
