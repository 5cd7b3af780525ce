//! What takes locks that workers and others wait for: done by a thread of the usual priority, as one that lets others go before it may lose its processor with a lock in its hand.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use api::frame::{Act, Stands};
use wire::{Name, NameBuf, SortKey};
use zone::catalog::{FIRST_SLOT, PinRefused, PinnedZone, SlotNumber, View};

use super::Key;
use super::explain::{Question, Terms};
use super::inbox::{Event, Inbox, Of};
use super::listing::Filter;
use super::numbers::Numbers;
use super::views::{View as Wanted, frames};
use super::words::NO_ZONE;
use crate::controller::Controller;
use crate::dynamic::{NotAltered, Queue};
use crate::made::MadeZone;
use crate::secondaries::Command;

/// Slots that are looked at for one piece of a list: some 20 us.
pub(super) const SLOTS_A_LOOK: u32 = 1000;

/// Pins count by network: those of the API by these, one each, which are nobody's (RFC 6666).
const PINS_OF: Ipv6Addr = Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0);

/// How often one thing is done with one zone.
const ACT_PAUSE: Duration = Duration::from_secs(1);
/// Of so many it is known: who does more of different zones in a second has each done.
const RECENT_MAX: usize = 1024;

/// What is to be looked at.
pub(super) enum Look {
    /// A zone is to be pinned, on this seat.
    Pin(Of, u8, NameBuf),
    /// A pin is not needed any more.
    Unpin(PinnedZone),
    /// Zones of slots from this one on, or the one of a name, that a key may see; of these.
    List(Of, SlotNumber, Option<NameBuf>, (Arc<Key>, Filter)),
    /// Something is to be done with a zone, for a key that is among those of this number.
    Act(Of, u64, NameBuf, Act),
    /// It is to be found out what holds for changes of zones.
    Explain(Of, Vec<Question>),
    /// Numbers of the server are to be read.
    Numbers(Of),
    /// What else it tells of itself.
    View(Of, Wanted),
    /// The files of the certificate are to be read again.
    Certificate,
}

/// A pinned zone, and what is told of it beside its data.
pub(super) struct Pinned {
    pub(super) zone: PinnedZone,
    /// Whether it is another server's.
    pub(super) is_secondary: bool,
    /// What is kept of it, if it was made over the API.
    pub(super) made: Option<MadeZone>,
}

/// Why a zone is not pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotPinned {
    /// There is no such zone.
    Nothing,
    /// There are as many pins as may be.
    Full,
    /// It is there, without data, or with such as cannot be read.
    NotNow,
}

/// A zone as lists have it.
pub(super) struct ListedZone {
    pub(super) slot: SlotNumber,
    pub(super) name: NameBuf,
    pub(super) serial: u32,
    pub(super) stands: Stands,
    pub(super) is_secondary: bool,
    pub(super) is_signed: bool,
    pub(super) made: Option<MadeZone>,
}

/// Some zones of a list.
pub(super) struct Listed {
    pub(super) zones: Vec<ListedZone>,
    /// Where it goes on; `None`: that were all.
    pub(super) next: Option<SlotNumber>,
}

/// The thread's queue.
pub(super) type Looks = Arc<Queue<Look>>;

/// Starts the thread, which ends when its queue is closed.
pub(super) fn start(owner: Weak<Controller>, inbox: Arc<Inbox>) -> io::Result<Looks> {
    let looks: Looks = Arc::new(Queue::new());
    let queue = Arc::clone(&looks);
    std::thread::Builder::new().name("api-look".into()).spawn(move || {
        let mut kept = Kept::default();
        while let Some(jobs) = queue.take(None) {
            let Some(controller) = owner.upgrade() else { return };
            jobs.into_iter().for_each(|job| controller.look_for_api(job, &inbox, &mut kept));
        }
    })?;
    Ok(looks)
}

/// What the thread knows from one look to the next.
#[derive(Default)]
struct Kept {
    recent: Recent,
    numbers: Numbers,
}

/// What was done at once within the second before, which is not done again: each costs messages to others.
#[derive(Default)]
struct Recent(HashMap<(NameBuf, bool), (Instant, &'static str)>);

impl Recent {
    /// What was said of it.
    fn done(&self, name: &NameBuf, act: Act) -> Option<&'static str> {
        let (at, words) = self.0.get(&(name.clone(), act == Act::Notify))?;
        (at.elapsed() < ACT_PAUSE).then_some(words)
    }

    /// It was done. What was so within the second keeps its time, or who goes on asking would never have it done.
    fn note(&mut self, name: NameBuf, act: Act, words: &'static str) {
        self.0.retain(|_, (at, _)| at.elapsed() < ACT_PAUSE);
        if self.0.len() < RECENT_MAX {
            self.0.entry((name, act == Act::Notify)).or_insert_with(|| (Instant::now(), words));
        }
    }
}

impl Controller {
    fn look_for_api(&self, job: Look, inbox: &Inbox, kept: &mut Kept) {
        match job {
            Look::Pin(of, seat, name) => inbox.tell(Event::Pinned(of, self.pin_for_api(seat, &name))),
            Look::Unpin(zone) => drop(zone),
            Look::List(of, from, name, (key, Filter { account, stands })) => {
                let mut listed = match name {
                    Some(name) => self.list_one(&name),
                    None => self.list_for_api(from),
                };
                // Once no lock is held: a key may have many names, and each zone is compared with them.
                listed.zones.retain_mut(|zone| {
                    if stands.is_some_and(|stands| stands != zone.stands) {
                        return false;
                    }
                    zone.made =
                        if key.may_see(&zone.name) { self.made.of(&zone.name) } else { return false };
                    let own = zone.made.as_ref().map_or("", |made| &made.account);
                    account.as_deref().is_none_or(|account| account == own)
                });
                inbox.tell(Event::Listed(of, listed));
            }
            // Whose key was taken out is told so already; all others ask once more.
            Look::Act(of, keys, ..) if self.api.keys_number() > keys => {
                inbox.tell(Event::Acted(of, Err((503, "keys have become others meanwhile: ask again"))));
            }
            Look::Act(of, _, name, act) => {
                let done = kept.recent.done(&name, act).map_or_else(|| self.act_for_api(&name, act), Ok);
                if let Ok(words) = done {
                    kept.recent.note(name, act, words);
                }
                inbox.tell(Event::Acted(of, done));
            }
            Look::Explain(of, questions) => {
                inbox.tell(Event::Explained(of, self.terms_for_api(questions)));
            }
            Look::Certificate => self.api.look_at_certificate(),
            Look::Numbers(of) => inbox.tell(Event::Numbers(of, kept.numbers.of(self))),
            Look::View(of, view) => {
                let told = self.view_for_api(&view).map(|text| frames(of.ask, &text));
                inbox.tell(Event::Told(of, told));
            }
        }
    }

    /// A zone in the state that it has now, for who has this seat.
    pub(super) fn pin_for_api(&self, seat: u8, name: &Name) -> Result<Pinned, NotPinned> {
        let (key, labels) = (SortKey::of(name), name.label_count());
        let client = IpAddr::V6(Ipv6Addr::from_bits(PINS_OF.to_bits() | u128::from(seat)));
        let zone = self.catalog.reader().with(|view| {
            let found = view.find(&key, labels).found;
            let is_it = !found.is_nothing() && usize::from(found.labels) == labels;
            if !is_it {
                return Err(NotPinned::Nothing);
            }
            view.pin(&found, client).map_err(|refused| match refused {
                PinRefused::Full | PinRefused::Client => NotPinned::Full,
                // There is such a zone, whose data cannot be read.
                PinRefused::Nothing | PinRefused::Absent(_) => NotPinned::NotNow,
            })
        })?;
        Ok(Pinned { zone, is_secondary: self.is_secondary(name), made: self.made.of(name) })
    }

    fn list_one(&self, name: &Name) -> Listed {
        let is_secondary = self.is_secondary(name);
        let zones = self.zones.read();
        let zone = self.catalog.reader().with(|view| {
            let slot = view.slot_named(name)?;
            let is_stale = zones.problem_of(view, slot).is_some();
            Some(listed((slot, name.to_lowercase()), view.view_of(slot)?, is_secondary, is_stale))
        });
        Listed { zones: zone.into_iter().collect(), next: None }
    }

    fn list_for_api(&self, from: SlotNumber) -> Listed {
        let from = from.max(FIRST_SLOT);
        let zones = self.zones.read();
        let found = self.catalog.reader().with(|view| {
            let slots = view.slots(from, SLOTS_A_LOOK)?;
            let zone = |slot: SlotNumber| {
                let name = zones.name(view, slot)?;
                let is_stale = zones.problem_of(view, slot).is_some();
                let named = (slot, name.to_lowercase());
                Some(listed(named, view.view_of(slot)?, zones.is_without_file(slot), is_stale))
            };
            Some(slots.filter_map(zone).collect())
        });
        let next = found.is_some().then_some(SlotNumber(from.0.saturating_add(SLOTS_A_LOOK)));
        Listed { zones: found.unwrap_or_default(), next }
    }

    /// What holds for changes of zones; `None`: one of them is not there.
    fn terms_for_api(&self, questions: Vec<Question>) -> Option<Vec<(Question, Terms)>> {
        let of_zone = |question: Question| {
            let terms = self.update_terms(&question.zone);
            let (status, words) = match self
                .expect_alterable(&question.zone, &terms)
                .and_then(|()| self.expect_no_fault(&question.zone))
            {
                Ok(()) => (200, String::new()),
                Err(NotAltered::Said { status: 404, .. }) => return None,
                Err(NotAltered::Said { status, words, .. }) => (status, words),
                Err(NotAltered::OtherRequest | NotAltered::OtherKeys | NotAltered::NotNow) => {
                    (503, "it takes no changes now".to_owned())
                }
            };
            Some((question, Terms { policy: terms.policy, status, words }))
        };
        questions.into_iter().map(of_zone).collect()
    }

    fn act_for_api(&self, name: &Name, act: Act) -> Result<&'static str, (u16, &'static str)> {
        match act {
            Act::Notify => {
                let slot_and_serial = self.catalog.reader().with(|view| {
                    let slot = view.slot_named(name)?;
                    let Some(View::Zone(zone)) = view.view_of(slot) else { return None };
                    Some((slot, zone.row().serial))
                });
                let (slot, serial) = slot_and_serial.ok_or((404, NO_ZONE))?;
                self.tell_changed(slot, name, serial);
                Ok("Notification queued")
            }
            Act::Retrieve if self.primaries_of(name).is_empty() => {
                Err((422, "this zone is not transferred from others"))
            }
            Act::Retrieve => {
                self.secondaries.ask_for(name, Command::Refresh);
                Ok("Added retrieval request")
            }
            Act::Rectify => Err((422, "nothing is signed here")),
        }
    }
}

fn listed(
    (slot, name): (SlotNumber, NameBuf),
    view: View<'_>,
    is_secondary: bool,
    is_stale: bool,
) -> ListedZone {
    let (serial, is_signed, stands) = match view {
        View::Zone(zone) => {
            let stands = if is_stale { Stands::Stale } else { Stands::Served };
            (zone.row().serial, zone.is_signed(), stands)
        }
        // It is there, without data.
        View::Absent(_) | View::Lost(_) => (0, false, Stands::Absent),
    };
    ListedZone { slot, name, serial, stands, is_secondary, is_signed, made: None }
}
