//! When signatures expire: a look at the rows of all zones once an hour, what is said of it, and what is counted on the way.
//!
//! ```text
//! rows: first expiry --look--> fine, soon, expired --against what was said--> log: once a zone and state
//! ```
//!
//! The embedded zones, which nobody renews, are as all others here, but for a word on how to get today's. Rows and names are read from packs, and so perhaps from a disk, before and
//! after the list of zones is taken, for what a thousand of them say at a time: nobody waits for a disk with it. What was said takes two bits a zone, and none where nothing ever was.

use std::sync::{Arc, OnceLock, Weak};
use std::thread::Thread;
use std::time::{Duration, Instant, SystemTime};

use sync::Mutex;
use wire::{Name, NameBuf};
use zone::catalog::{SlotNumber, View};
use zone::check::Timestamp;
use zone::pack::ZoneRow;

use crate::controller::{Controller, Zones};
use crate::settings::Settings;
use crate::text::{Seconds, count};
use crate::wanted::Source;

/// How often it is looked, unless something is about to happen before: who renews signatures does so days ahead.
const PAUSE: Duration = Duration::from_secs(3600);
/// The shortest pause: zones that expire one after the other are told of in groups.
const PAUSE_MIN: Duration = Duration::from_secs(1);
/// A pause is at least so many times as long as the look before it, so that looks take a hundredth of a processor at most.
const PAUSE_FACTOR: u32 = 100;
/// Who wants to know how zones are waits so long for a look that goes on: one at 500,000 zones is over by then, where a processor is free.
const PATIENCE: Duration = Duration::from_millis(100);
/// How often it is seen whether it is over.
const PATIENCE_STEP: Duration = Duration::from_millis(2);
/// Zones of which a look says something; of more it says how many.
const ZONES_TOLD_MAX: usize = 100;
/// Rows of a batch: less than a millisecond.
const ROWS_A_BATCH: u32 = 1000;

const SECONDS_A_DAY: i64 = 86_400;

/// Seconds from `now` until a zone's [first expiry](zone::pack::ZoneRow::first_expiry), negative if that is over; `None`: there is none. Right within 68 years
/// (RFC 4034 3.1.5).
pub(crate) fn remaining(first_expiry: u32, now: u64) -> Option<i64> {
    (first_expiry != 0).then(|| i64::from(first_expiry.wrapping_sub(now as u32) as i32))
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The time that is `remaining` seconds from `now`, in seconds since 1970.
pub(crate) fn time(now: u64, remaining: i64) -> u64 {
    now.saturating_add_signed(remaining)
}

/// How it stands with a zone's signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Fine,
    Soon,
    Expired,
}

impl State {
    /// `ahead`: seconds before expiry that it is warned of, 0: not. A signature is good until its last second is over.
    fn of(remaining: i64, ahead: i64) -> State {
        match remaining {
            ..0 => State::Expired,
            0.. if remaining < ahead => State::Soon,
            _ => State::Fine,
        }
    }

    /// Seconds until it is another.
    fn lasts(self, remaining: i64, ahead: i64) -> Option<i64> {
        match self {
            State::Fine => Some(remaining - ahead + 1),
            State::Soon => Some(remaining + 1),
            State::Expired => None,
        }
    }
}

/// What was said of each zone, two bits a slot as far as something was said; and how long before expiry it is.
#[derive(Default)]
pub(crate) struct Said {
    words: Vec<u64>,
    ahead: i64,
    /// How often a zone went: what was read of rows before is of zones of before.
    gone: u64,
}

const SLOTS_A_WORD: usize = 32;

impl Said {
    fn of(&self, slot: SlotNumber) -> State {
        let at = slot.0 as usize;
        match self.words.get(at / SLOTS_A_WORD).map_or(0, |word| word >> (2 * (at % SLOTS_A_WORD)) & 3) {
            0 => State::Fine,
            1 => State::Soon,
            _ => State::Expired,
        }
    }

    fn set(&mut self, slot: SlotNumber, state: State) {
        let (word, bit) = (slot.0 as usize / SLOTS_A_WORD, 2 * (slot.0 as usize % SLOTS_A_WORD));
        if word >= self.words.len() {
            if state == State::Fine {
                return;
            }
            self.words.resize(word + 1, 0);
        }
        self.words[word] = self.words[word] & !(3 << bit) | (state as u64) << bit;
    }

    /// The zone of a slot goes.
    pub(crate) fn forget(&mut self, slot: SlotNumber) {
        self.gone += 1;
        self.set(slot, State::Fine);
    }
}

/// What a look has seen of all zones, for those who do not look themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Looked {
    /// When, in seconds since 1970.
    pub(crate) at: u64,
    /// Zones with signatures that have expired.
    pub(crate) expired: u64,
    /// Zones that are warned of.
    pub(crate) soon: u64,
    /// When the next signatures expire, in seconds since 1970; none where there are none that have not.
    pub(crate) next: Option<u64>,
    /// Of which zone.
    pub(crate) next_zone: Option<NameBuf>,
    /// Zones in which errors were found.
    pub(crate) with_errors: u64,
    /// Zones in which warnings were found, and no errors.
    pub(crate) with_warnings: u64,
    /// Records of all zones.
    pub(crate) records: u64,
}

impl Looked {
    /// Counts a zone. `remaining`: seconds until its first signatures expire, and what that is.
    fn count(&mut self, apex: &Name, row: &ZoneRow, remaining: Option<(i64, State)>) {
        self.records += row.record_count;
        self.with_errors += u64::from(row.errors > 0);
        self.with_warnings += u64::from(row.errors == 0 && row.warnings > 0);
        let Some((remaining, state)) = remaining else { return };
        self.expired += u64::from(state == State::Expired);
        self.soon += u64::from(state == State::Soon);
        let expires = time(self.at, remaining);
        if state != State::Expired && self.next.is_none_or(|next| expires < next) {
            (self.next, self.next_zone) = (Some(expires), Some(apex.to_owned()));
        }
    }
}

/// Looks at all zones: when they are wanted, and what the last has seen.
pub(crate) struct Looks {
    /// The thread that looks, once there is one.
    thread: OnceLock<Thread>,
    state: Mutex<LooksState>,
}

#[derive(Default)]
struct LooksState {
    /// Looks that were asked for, and which of these the last one that is over was begun after.
    asked: u64,
    done: u64,
    /// From when on who wants to know something has another begun.
    rested: Option<Instant>,
    last: Option<Looked>,
}

impl Looks {
    pub(crate) fn new() -> Looks {
        Looks { thread: OnceLock::new(), state: Mutex::named("looks at zones", LooksState::default()) }
    }

    /// What the last look has seen; none before the first.
    pub(crate) fn last(&self) -> Option<Looked> {
        self.state.lock().last.clone()
    }

    /// The same, of a look that is begun now and waited for a moment, where one costs so little that it may be: a hundredth of a processor goes into all of them. At a million zones
    /// it is what was seen last.
    pub(crate) fn lately(&self) -> Option<Looked> {
        let until = Instant::now() + PATIENCE;
        let wanted = {
            let state = &mut *self.state.lock();
            let is_rested = state.rested.is_none_or(|rested| rested <= Instant::now());
            if is_rested && state.asked == state.done {
                state.asked += 1;
            }
            if state.asked == state.done {
                return state.last.clone();
            }
            state.asked
        };
        let Some(thread) = self.thread.get() else { return self.last() };
        thread.unpark();
        while self.state.lock().done < wanted && Instant::now() < until {
            std::thread::sleep(PATIENCE_STEP);
        }
        self.last()
    }

    /// Has all zones looked at, as soon as may be.
    fn ask(&self) {
        self.state.lock().asked += 1;
        self.thread.get().into_iter().for_each(Thread::unpark);
    }

    /// Whether one is wanted that has not begun.
    fn is_asked(&self) -> bool {
        let state = self.state.lock();
        state.asked > state.done
    }

    /// The number of a look that begins.
    fn begin(&self) -> u64 {
        self.state.lock().asked
    }

    /// Takes over what a look has seen.
    fn end(&self, number: u64, looked: Looked, took: Duration) {
        let state = &mut *self.state.lock();
        (state.done, state.rested) = (number, Some(Instant::now() + took * PAUSE_FACTOR));
        state.last = Some(looked);
    }
}

/// A zone that is in another state than was said last, and a worse one.
struct Worse {
    slot: SlotNumber,
    remaining: i64,
    /// Its name, where its pack may not be asked for that.
    own: Option<NameBuf>,
}

/// What is to be said.
#[derive(Default)]
struct Found {
    lines: Vec<(NameBuf, String)>,
    /// Zones that have become so beside these: soon, expired.
    more: [usize; 2],
}

/// Looks once and says what is new; returns the time until the next look.
fn look(controller: &Controller) -> Duration {
    let (started, now, number) = (Instant::now(), now(), controller.looks.begin());
    let (mut found, mut looked) = (Found::default(), Looked { at: now, ..Looked::default() });
    let mut next = i64::MAX;
    let (mut reader, mut from) = (controller.catalog.reader(), zone::catalog::FIRST_SLOT);
    let mut signed = Vec::new();
    loop {
        let (ahead, gone) = {
            let zones = controller.zones.read();
            (zones.expiry.ahead, zones.expiry.gone)
        };
        signed.clear();
        let is_more = reader.with(|view| {
            for slot in view.slots(from, ROWS_A_BATCH)? {
                let Some(View::Zone(zone)) = view.view_of(slot) else { continue };
                let row = zone.row();
                let remaining = remaining(row.first_expiry, now);
                let state = remaining.map(|remaining| (remaining, State::of(remaining, ahead)));
                looked.count(zone.apex(), &row, state);
                if let Some((remaining, state)) = state {
                    next = next.min(state.lasts(remaining, ahead).unwrap_or(i64::MAX));
                    signed.push((slot, remaining, state));
                }
            }
            Some(())
        });
        if is_more.is_none() {
            break;
        }
        // Apart from the match, which would keep the lock to its end.
        let worse = note(&mut controller.zones.write(), &signed, gone);
        match worse {
            Some(worse) => tell(controller, worse, now, &mut found),
            // Which zones these are now is not known: soon again.
            None => next = 0,
        }
        from.0 += ROWS_A_BATCH;
    }
    let took = started.elapsed();
    controller.looks.end(number, looked, took);
    say(&found);
    let until_next = Duration::from_secs(u64::try_from(next).unwrap_or(0)).min(PAUSE);
    until_next.max(PAUSE_MIN).max(took * PAUSE_FACTOR)
}

/// Notes how it stands with zones whose rows were read when so many were [gone](Said::gone): those that have become worse. `None`: others have gone since, and nothing is noted.
fn note(zones: &mut Zones, signed: &[(SlotNumber, i64, State)], gone: u64) -> Option<Vec<Worse>> {
    if zones.expiry.gone != gone {
        return None;
    }
    let mut worse = Vec::new();
    for &(slot, remaining, state) in signed {
        let before = zones.expiry.of(slot);
        if state != before {
            zones.expiry.set(slot, state);
        }
        if state > before {
            worse.push(Worse { slot, remaining, own: zones.own_name(slot).map(ToOwned::to_owned) });
        }
    }
    Some(worse)
}

/// Makes lines of zones that have become worse, as many as a look says.
fn tell(controller: &Controller, worse: Vec<Worse>, now: u64, found: &mut Found) {
    for Worse { slot, remaining, own } in worse {
        if found.lines.len() == ZONES_TOLD_MAX {
            found.more[usize::from(remaining < 0)] += 1;
            continue;
        }
        let of_pack = || controller.catalog.reader().with(|view| view.name_of(slot).map(ToOwned::to_owned));
        let Some(name) = own.or_else(of_pack) else { continue };
        let line = line(&controller.zones.read(), slot, &name, now, remaining);
        found.lines.push((name, line));
    }
}

fn line(zones: &Zones, slot: SlotNumber, name: &NameBuf, now: u64, remaining: i64) -> String {
    let at = Timestamp(time(now, remaining) as u32);
    if remaining >= 0 {
        let span = Seconds(remaining as u64);
        return format!(
            "zone {name}: the first of its signatures expire in {span}, at {at:#}: is it still signed anew?"
        );
    }
    let days = count((-remaining / SECONDS_A_DAY) as usize, "day");
    match zones.source(slot, name) {
        Some(Source::Embedded(embedded)) => {
            let renewal = embedded.renewal;
            format!(
                "the signatures of zone {name}, which came with the program, ran out {days} ago: \
                 validating resolvers refuse its answers; {renewal}"
            )
        }
        _ => format!(
            "zone {name}: signatures have expired, the first {days} ago, at {at:#}: validating resolvers refuse its answers"
        ),
    }
}

fn say(found: &Found) {
    for (zone, line) in &found.lines {
        tracing::warn!(%zone, "{line}");
    }
    for (more, what) in found.more.into_iter().zip(["expire soon", "have expired"]) {
        if more > 0 {
            let more = count(more, "more zone");
            tracing::warn!(
                "the signatures of {more} {what}; `zonda ctl zones --state expired` lists those that have"
            );
        }
    }
}

impl Controller {
    /// Takes over how long before expiry it is warned.
    pub(crate) fn note_expiry(&self, settings: &Settings) {
        self.zones.write().expiry.ahead = i64::from(settings.server.warn_expiry_days) * SECONDS_A_DAY;
    }

    /// Has it looked at once, as all zones may be others.
    pub(crate) fn look_at_expiry(&self) {
        self.looks.ask();
    }
}

/// Looks at once and then each hour, or when the next zone is due, on a thread of its own, as long as there is a server. The second call does nothing.
pub(crate) fn watch(controller: &Arc<Controller>) -> std::io::Result<()> {
    if controller.looks.thread.get().is_some() {
        return Ok(());
    }
    let weak: Weak<Controller> = Arc::downgrade(controller);
    let watch = move || {
        loop {
            let Some(controller) = weak.upgrade() else { return };
            let until = Instant::now() + look(&controller);
            drop(controller);
            // Woken for one that has been seen to, it sleeps on.
            let is_asked = || weak.upgrade().is_none_or(|controller| controller.looks.is_asked());
            while Instant::now() < until && !is_asked() {
                std::thread::park_timeout(until.saturating_duration_since(Instant::now()));
            }
        }
    };
    let thread = std::thread::Builder::new().name("expiry".into()).spawn(watch)?;
    let _ = controller.looks.thread.set(thread.thread().clone());
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn times_go_round() {
        assert_eq!(remaining(0, 7), None);
        assert_eq!(remaining(100, 90), Some(10));
        assert_eq!(remaining(100, (1 << 32) + 90), Some(10));
        assert_eq!(remaining(10, (1 << 32) - 10), Some(20));
        assert_eq!(remaining(u32::MAX, (1 << 32) + 1), Some(-2));
        assert_eq!(time((1 << 32) - 10, 20), (1 << 32) + 10);
    }

    #[test]
    fn states() {
        let ahead = 3 * SECONDS_A_DAY;
        for (remaining, state, lasts) in [
            (ahead + 5, State::Fine, Some(6)),
            (ahead, State::Fine, Some(1)),
            (ahead - 1, State::Soon, Some(ahead)),
            (0, State::Soon, Some(1)),
            (-1, State::Expired, None),
        ] {
            assert_eq!(State::of(remaining, ahead), state);
            assert_eq!(state.lasts(remaining, ahead), lasts);
        }
        assert_eq!((State::of(0, 0), State::Fine.lasts(0, 0)), (State::Fine, Some(1)));
    }

    #[test]
    fn what_is_counted_of_zones() {
        let mut looked = Looked { at: 1000, ..Looked::default() };
        let row = |errors, warnings| ZoneRow { record_count: 3, errors, warnings, ..ZoneRow::default() };
        let apex = |text: &str| NameBuf::from_text(text).unwrap();
        looked.count(&apex("a."), &row(1, 1), None);
        looked.count(&apex("b."), &row(0, 1), Some((-1, State::Expired)));
        looked.count(&apex("c."), &row(0, 0), Some((20, State::Fine)));
        looked.count(&apex("d."), &row(0, 0), Some((10, State::Soon)));
        let expected = Looked {
            at: 1000,
            expired: 1,
            soon: 1,
            next: Some(1010),
            next_zone: Some(apex("d.")),
            with_errors: 1,
            with_warnings: 1,
            records: 12,
        };
        assert_eq!(looked, expected);
    }

    /// Of zones of which nothing is to be said nothing is kept.
    #[test]
    fn what_was_said() {
        let mut said = Said::default();
        said.set(SlotNumber(1_000_000), State::Fine);
        assert!(said.words.is_empty());
        for (slot, state) in [(0, State::Soon), (31, State::Expired), (32, State::Soon), (33, State::Expired)]
        {
            said.set(SlotNumber(slot), state);
        }
        let all = |said: &Said| [0, 1, 31, 32, 33].map(|slot| said.of(SlotNumber(slot)));
        assert_eq!(all(&said), [State::Soon, State::Fine, State::Expired, State::Soon, State::Expired]);
        said.set(SlotNumber(0), State::Expired);
        said.forget(SlotNumber(31));
        assert_eq!(all(&said), [State::Expired, State::Fine, State::Fine, State::Soon, State::Expired]);
    }

    /// Of a zone that has gone since its row was read nothing is noted: another may be in its place.
    #[test]
    fn rows_of_before_are_not_noted() {
        let mut zones = Zones::default();
        let (one, other) = (SlotNumber(3), SlotNumber(5));
        let signed = [(one, -1, State::Expired), (other, 9, State::Soon)];
        let slots = |worse: Option<Vec<Worse>>| {
            worse.map(|worse| worse.into_iter().map(|worse| worse.slot).collect::<Vec<_>>())
        };
        zones.expiry.forget(one);
        assert_eq!(slots(note(&mut zones, &signed, 0)), None);
        assert_eq!(zones.expiry.of(one), State::Fine);
        assert_eq!(slots(note(&mut zones, &signed, 1)), Some(vec![one, other]));
        assert_eq!(slots(note(&mut zones, &signed, 1)), Some(vec![]), "said once");
    }

    /// Who wants to know has a look begun where one may be, and gets what was seen last where none may.
    #[test]
    fn looks_rest() {
        let looks = Looks::new();
        assert_eq!(looks.lately(), None, "nobody looks");
        assert_eq!(looks.begin(), 1, "it was asked for");
        let seen = |at| Looked { at, ..Looked::default() };
        looks.end(1, seen(7), Duration::from_secs(1));
        assert_eq!((looks.lately().map(|looked| looked.at), looks.begin()), (Some(7), 1), "it rests");
        looks.ask();
        assert_eq!(looks.begin(), 2);
        looks.end(2, seen(8), Duration::ZERO);
        assert_eq!((looks.lately().map(|looked| looked.at), looks.begin()), (Some(8), 3));
    }
}
