//! The thread that follows catalogs: what each new state of them says is carried out.

use std::sync::Weak;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use transfer::catalog_zone::{CatalogNumber, Counts, Difference, Event, Plan, Step, kept};
use wire::{Name, NameBuf, SortKey};
use zone::catalog::{PinRefused, PinnedZone};

use super::produce::Maker;
use super::words::{counts_text, waits_text};
use super::{Message, State};
use crate::controller::{Act, Controller};
use crate::expiry::now;

/// How long the thread sleeps at most: it looks whether there is a server still, and whether the file can be written again.
const SLEEP_MAX: Duration = Duration::from_secs(10);
/// Steps that are kept with one sync and carried out within one batch of the catalog: less than a millisecond of locks.
const STEPS_A_BATCH: usize = 1_000;
/// Zones that transfers are told of by name: of more all zones are looked at, which costs no more for each.
const LOOKED_AT_MAX: usize = 10_000;

/// Until it is told to end, or there is no server.
pub(super) fn run(owner: &Weak<Controller>, received: &Receiver<Message>) {
    let mut maker = Maker::default();
    loop {
        let pause = maker.pause().unwrap_or(SLEEP_MAX).min(SLEEP_MAX);
        let first = match received.recv_timeout(pause) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let Some(controller) = owner.upgrade() else { return };
        // Now and then in any case: what could not be read then perhaps can be now.
        let mut is_look = first.is_none();
        let mut confirmed: Vec<(NameBuf, SyncSender<Result<String, String>>)> = Vec::new();
        // Many looks that come together are one.
        for message in first.into_iter().chain(received.try_iter()) {
            match message {
                Message::Look => is_look = true,
                Message::Make(is_all) => maker.note(is_all),
                Message::Confirm(catalog, reply) => confirmed.push((catalog, reply)),
                Message::End => return,
            }
        }
        if is_look {
            controller.follow_all();
        }
        for (catalog, reply) in confirmed {
            // Who asked may be gone.
            let _ = reply.try_send(controller.confirm(&catalog));
        }
        controller.mend_file();
        maker.make(&controller);
    }
}

/// What came of a look at a catalog.
enum Looked {
    /// Nothing is new, or there are no data.
    Nothing,
    /// The state is none of a catalog.
    Broken(String),
    /// This was done; what waits.
    Done { text: String, waits: Option<Counts> },
}

impl Controller {
    /// Does what is new in all catalogs.
    fn follow_all(&self) {
        let known: Vec<(NameBuf, Option<u32>)> = {
            let state = self.catalogs.state.lock();
            state.about.iter().map(|(name, about)| (name.clone(), about.seen)).collect()
        };
        for (name, seen) in known {
            // Without the lock of changes, as most have nothing new.
            let serial = self.serial_of(&name);
            let is_replaced = self.catalogs.noted.lock().take_replaced(&name);
            if is_replaced {
                self.catalogs.state.lock().about(&name).seen = None;
            }
            if serial.is_some() && (serial != seen || is_replaced) {
                self.follow(&name, false);
            }
        }
    }

    /// Lets go on what waits of a catalog; says what that was.
    fn confirm(&self, catalog: &Name) -> Result<String, String> {
        let waits = {
            let state = self.catalogs.state.lock();
            let about = state.about.get(catalog);
            about.ok_or_else(|| format!("there is no catalog {catalog} in the settings"))?.waits.is_some()
        };
        if !waits {
            return Err(format!("nothing waits of catalog {catalog}"));
        }
        match self.follow(catalog, true) {
            Looked::Done { text, .. } => Ok(text),
            Looked::Broken(why) => Err(format!("catalog {catalog} is broken meanwhile: {why}")),
            Looked::Nothing => {
                Err(format!("catalog {catalog} has no data any more, or another server has taken over"))
            }
        }
    }

    /// Does what is new in a catalog. `is_confirmed`: also what waits.
    fn follow(&self, name: &Name, is_confirmed: bool) -> Looked {
        // One change at a time: what settings and commands have is what it is until this one is over.
        let _changing = self.change();
        if self.upgrade.handed_to().is_some() {
            return Looked::Nothing;
        }
        let Some(pinned) = self.pin_catalog(name) else { return Looked::Nothing };
        let Some(view) = pinned.view() else { return Looked::Nothing };
        let serial = view.row().serial;
        let mut locked = self.catalogs.state.lock();
        let state = &mut *locked;
        let number = state.claims.catalog(name).filter(|number| state.claims.is_configured(*number));
        let Some(number) = number else { return Looked::Nothing };
        let before = state.about(name).clone();
        if before.seen == Some(serial) && !is_confirmed {
            return Looked::Nothing;
        }
        let noted = self.catalogs.noted.lock().take(name, state.claims.serial(number), serial);
        let by_change = noted.and_then(|change| Difference::of_change(&state.claims, number, &change, &view));
        let difference =
            by_change.unwrap_or_else(|| Difference::of_state(&state.claims, number, &view, serial));
        // Of a file that was written into meanwhile nothing that was read counts.
        if pinned.view().is_none() {
            return Looked::Nothing;
        }
        let looked = match difference {
            Err(broken) => {
                let why = broken.to_string();
                tracing::error!(zone = %name, serial, "catalog {name}: serial {serial} is broken: {why}; its members stay as they are");
                Looked::Broken(why)
            }
            Ok(difference) => {
                drop(locked);
                let looked = self.carry_out_all(number, name, difference, is_confirmed);
                locked = self.catalogs.state.lock();
                looked
            }
        };
        let about = locked.about(name);
        about.seen = Some(serial);
        (about.broken, about.waits) = match &looked {
            Looked::Broken(why) => (Some(why.clone()), before.waits),
            Looked::Done { text, waits } => {
                if !text.is_empty() {
                    about.done = Some((format!("serial {serial}: {text}"), now()));
                }
                (None, waits.clone())
            }
            Looked::Nothing => (before.broken, before.waits),
        };
        looked
    }

    /// Carries out what a state of a catalog differs by, in batches.
    fn carry_out_all(
        &self,
        number: CatalogNumber,
        name: &Name,
        difference: Difference,
        is_confirmed: bool,
    ) -> Looked {
        let (is_taken, seconds) = (self.taken(), self.catalogs.seconds());
        let mut plan = {
            let mut state = self.catalogs.state.lock();
            Plan::new(&mut state.claims, difference, &is_taken, is_confirmed, seconds)
        };
        let (counts, waits, serial) = (plan.counts().clone(), plan.waits(), plan.serial());
        let mut said = self.said_of_catalog();
        // Zones that transfers are to know of; more than these, and all are looked at.
        let mut changed: Vec<NameBuf> = Vec::new();
        loop {
            let mut locked = self.catalogs.state.lock();
            let state = &mut *locked;
            let (mut lines, mut acts, mut steps) = (String::new(), Vec::new(), 0);
            while steps < STEPS_A_BATCH
                && let Some(step) = plan.next_step(&mut state.claims)
            {
                steps += 1;
                kept::write_step(&state.claims, &step, &mut lines);
                acts.extend(act(state, &step).map(|act| (step.zone, act)));
            }
            if steps == 0 {
                break;
            }
            // What is another zone of the same name is not to be served as it is stored, whatever happens from here on.
            self.forget_first(&acts, &mut said);
            self.keep_lines(state, &lines);
            drop(locked);
            if changed.len() <= LOOKED_AT_MAX {
                changed.extend(acts.iter().map(|(zone, _)| zone.clone()));
            }
            self.carry_out(&acts, &mut said);
        }
        said.end();
        match changed.len() {
            0 => {}
            1..=LOOKED_AT_MAX => self.secondaries.look_at(changed),
            _ => self.secondaries.look(),
        }
        let text = counts_text(&counts, waits);
        if !text.is_empty() {
            tracing::info!(zone = %name, serial, "catalog {name}: serial {serial}: {text}");
        }
        if let Some(line) = self.clash_line(&counts) {
            tracing::warn!(zone = %name, serial, "catalog {name}: {line}");
        }
        if waits {
            let losses = counts.losses();
            let (_, held) = self.catalogs.state.lock().claims.counts(number);
            tracing::error!(zone = %name, serial, losses, "catalog {name}: {}", waits_text(name, &counts, held));
        }
        Looked::Done { text, waits: waits.then_some(counts) }
    }

    /// Pins the state of a catalog that is served. `None`: it has no data.
    pub(crate) fn pin_catalog(&self, name: &Name) -> Option<PinnedZone> {
        // No client's.
        let client = std::net::Ipv4Addr::UNSPECIFIED.into();
        let key = SortKey::of(name);
        let pinned = self.catalog.reader().with(|view| {
            let hit = view.find(&key, key.label_count());
            // Another zone is found where this one is not there.
            hit.zone().filter(|zone| zone.apex().eq_ignore_case(name)).map(|_| view.pin(&hit.found, client))
        })?;
        match pinned {
            Ok(pinned) => Some(pinned),
            Err(PinRefused::Full | PinRefused::Client) => {
                tracing::warn!(zone = %name, "catalog {name}: cannot be read while so many zones are transferred; tried again");
                None
            }
            Err(_) => None,
        }
    }

    /// Writes the file anew where it does not have what it should.
    fn mend_file(&self) {
        let mut state = self.catalogs.state.lock();
        if state.is_read && state.file.is_due(&state.claims) {
            self.keep_lines(&mut state, "");
        }
    }
}

/// What is to be done for a step.
fn act(state: &State, step: &Step) -> Option<Act> {
    let source = || {
        let claim = state.claims.claim(step.claim?)?;
        state.source(state.claims.catalog_name(claim.catalog), claim.template)
    };
    match step.event? {
        Event::Added => Some(Act::Add(source()?)),
        Event::Removed => Some(Act::Remove),
        Event::Reset | Event::Moved { is_reset: true, .. } => Some(Act::Reset(source()?)),
        Event::Moved { is_reset: false, .. } | Event::Regrouped => Some(Act::Become(source()?)),
        Event::Yielded => None,
    }
}
