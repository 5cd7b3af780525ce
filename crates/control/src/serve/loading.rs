//! Loading beside the control thread, which hears of signals meanwhile.

use std::sync::{Arc, mpsc};

use super::events::Event;
use super::setup::all_wanted;
use crate::controller::{Candidate, Change, Controller};
use crate::fault::Faults;
use crate::progress::Progress;

/// Loads on a thread of its own, so that a signal to stop is heard meanwhile. `announced`: what is to be loaded; without that, what is
/// served as it was stored is held against lists and files.
pub(super) fn load_on_a_thread(
    controller: &Arc<Controller>,
    events: &mpsc::SyncSender<Event>,
    announced: Option<Vec<Candidate>>,
) -> std::io::Result<()> {
    let (controller, events) = (Arc::clone(controller), events.clone());
    let (begin, begun) = mpsc::channel();
    let load = move || {
        let mut done = AtEnd { events, event: Some(Event::Loaded(None)) };
        // Until something is served nobody gains by waiting.
        let workers = controller.shown.read().len();
        controller.spare(if announced.is_some() { 0 } else { workers });
        let loaded = load(&controller, announced, &begin);
        controller.spare(workers);
        done.event = Some(Event::Loaded(Some(loaded.map(Box::new))));
        drop(done);
        controller.tidy();
    };
    std::thread::Builder::new().name("load".into()).spawn(load)?;
    // No command comes before it. If it ended by a fault of its own, its event tells.
    let _ = begun.recv();
    Ok(())
}

fn load(
    controller: &Controller,
    announced: Option<Vec<Candidate>>,
    begun: &mpsc::Sender<()>,
) -> Result<Change, Faults> {
    let progress = Progress::default();
    let mut changing = controller.change();
    // Whoever does not wait for it need not hear it.
    let _ = begun.send(());
    progress.show_while(|| {
        if let Some(candidates) = announced {
            return Ok(controller.load_first(&mut changing, candidates, false, &progress));
        }
        let settings = &changing.settings;
        let wanted = controller.effort().run(|| all_wanted(settings, &controller.overrides, &progress))?;
        let (candidates, arranged) = controller.announce(&mut changing, wanted, &progress);
        let change = controller.load_first(&mut changing, candidates, true, &progress);
        Ok(Change { removed: arranged.removed, ..change })
    })
}

/// Reloads on a thread of its own; says whether there is one, which tells when it is over.
pub(super) fn reload_on_a_thread(controller: &Arc<Controller>, events: &mpsc::SyncSender<Event>) -> bool {
    let (controller, events) = (Arc::clone(controller), events.clone());
    let reload = move || {
        let done = AtEnd { events, event: Some(Event::Reloaded) };
        crate::reload::reload_all(&controller, false);
        drop(done);
        controller.tidy();
    };
    let started = std::thread::Builder::new().name("reload".into()).spawn(reload);
    if let Err(error) = &started {
        tracing::error!("cannot reload: {error}");
    }
    started.is_ok()
}

/// Stores what was loaded while the folder was another server's.
pub(crate) fn tidy_on_a_thread(controller: &Arc<Controller>) {
    let owner = Arc::clone(controller);
    let tidy = move || {
        owner.remove_unused_files();
        owner.tidy();
    };
    // Without a thread the next change tidies.
    let _ = std::thread::Builder::new().name("tidy".into()).spawn(tidy);
}

/// Sends its event when dropped, so that the control thread hears of the end of a thread that panics too: it
/// would wait for ever otherwise, and every later reload with it.
struct AtEnd {
    events: mpsc::SyncSender<Event>,
    event: Option<Event>,
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        if let Some(event) = self.event.take() {
            // If the receiver is gone, so is the reason to tell.
            let _ = self.events.send(event);
        }
    }
}
