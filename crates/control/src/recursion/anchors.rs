//! Trust anchors that follow their zones from key to key (RFC 5011), over restarts: when to look, what becomes of it, and the file of it.
//!
//! ```text
//! settings: seeds --.                                  .--> terms of workers (anchors, published)
//!                    >-- states, one a zone -- changes --> the log
//! file, at a start --'      ^        `---------------------> file: title | what it began with | states
//!                           |  each second: whose time has come?
//!        DNSKEY RRset <-- a worker's resolver, from servers, not validated: `validate::rfc5011` does that itself, as who revokes a key signs with it alone
//! ```
//!
//! A state holds as long as the settings say what it began with; with another seed a zone begins anew. What is in memory goes before the file, which may be
//! older where it could not be written. While the clock says less than is known, nothing is looked at: a wait could end, or begin anew, by a wrong time.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cache::Flush;
use dnssec::key::{Dnskey, Ds};
use sync::Mutex;
use validate::rfc5011::{self, CLOCK_STEP_SECONDS_MAX, Change, KeyState, Managed, ManagedKey};
use validate::{Anchors, Policy, Verifier};
use wire::iana::rtype;
use wire::rrset::RrsetListBuf;
use wire::{Name, NameBuf};

use super::desk::Errand;
use super::{Recursion, Terms};
use crate::command::AnchorLine;
use crate::text::Seconds;

/// Name of the file in the folder of the settings.
const FILE: &str = "trust-anchors";
/// The same while it is written.
const TEMPORARY: &str = "trust-anchors.new";
/// Longer than this it is none of ours: the text of a hundred zones.
const FILE_OCTETS_MAX: u64 = 1 << 20;
/// Before lines that say what the states began with: comments to who reads states.
const BEGUN: &str = "# begun with ";
/// No clock that is right says less (2025-01-11): key 38696, which is built in, was not in the root zone before.
const CLOCK_SECONDS_MIN: u64 = 1_736_553_600;
/// How long a worker may look: longer than its resolver tries.
const LOOK: Duration = Duration::from_secs(60);
/// When it is looked again where it never went well.
const FIRST_RETRY_SECONDS: u64 = 3600;
/// A look is never put off for longer (RFC 5011 2.3 has 15 days): a state that says more was kept by a wrong clock.
const PUT_OFF_SECONDS_MAX: u64 = 16 * 86_400;

/// What a look has found: the RRsets of an answer, if there was one.
pub(super) type Found = Option<RrsetListBuf>;

/// See the module.
pub(super) struct Keeper {
    /// None: nothing would outlive the process, so that waits would begin with each start, and nothing is renewed.
    file: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What settings begin with. Empty: nothing is renewed.
    seeds: Vec<Managed>,
    /// Where it stands now, in the same order.
    zones: Vec<Managed>,
    looking: Option<Looking>,
    /// Looks so far.
    looks: u64,
    is_unwritable: bool,
    is_clock_wrong: bool,
}

/// The look that is taken, one at a time.
struct Looking {
    zone: NameBuf,
    until: Instant,
    found: Receiver<Found>,
}

/// What the anchors of settings begin with, by name.
pub(super) fn seeds(anchors: &Anchors) -> Arc<[Managed]> {
    let mut seeds: Vec<Managed> = anchors
        .zones()
        .map(|(zone, ds, keys)| {
            let mut seed = Managed::new(&zone, ds.iter());
            let valid = |rdata: &[u8]| ManagedKey { rdata: rdata.to_vec(), state: KeyState::Valid };
            seed.keys.extend(keys.iter().map(valid));
            // However a file has them: with their records in another order it is the same seed.
            seed.ds.sort();
            seed.ds.dedup();
            seed.keys.sort_by(|a, b| a.rdata.cmp(&b.rdata));
            seed.keys.dedup();
            seed
        })
        .collect();
    seeds.sort_by_cached_key(|seed| seed.zone.to_string());
    seeds.into()
}

impl Keeper {
    /// `folder`: of what outlives the process.
    pub(super) fn new(folder: Option<&Path>) -> Keeper {
        let file = folder.map(|folder| folder.join(FILE));
        Keeper { file, state: Mutex::named("states of trust anchors", State::default()) }
    }

    /// Puts what is trusted by now into terms, in place of what the settings begin with.
    pub(super) fn apply(&self, terms: &mut Terms) {
        let Some(file) = &self.file else { return };
        let seeds = terms.seeds.as_deref().unwrap_or_default();
        let mut state = self.state.lock();
        if state.seeds != seeds {
            state.begin(file, seeds);
        }
        state.zones.iter().for_each(|zone| zone.apply(&mut terms.resolve.anchors));
    }

    /// The zone whose keys are to be looked at now, if any are.
    fn due(&self, now: u64) -> Option<NameBuf> {
        let state = &mut *self.state.lock();
        if state.looking.is_some() || state.zones.is_empty() || !state.can_tell(now) {
            return None;
        }
        let is_due = |zone: &&Managed| zone.next <= now || zone.next > now + PUT_OFF_SECONDS_MAX;
        state.zones.iter().find(is_due).map(|zone| zone.zone.clone())
    }

    /// Notes a look; its number.
    fn begin_look(&self, zone: NameBuf, found: Receiver<Found>) {
        let until = Instant::now() + LOOK;
        self.state.lock().looking = Some(Looking { zone, until, found });
    }

    fn number(&self) -> u64 {
        let mut state = self.state.lock();
        state.looks += 1;
        state.looks
    }

    /// What came of the look, when it is over.
    fn looked(&self) -> Option<(NameBuf, Found)> {
        let mut state = self.state.lock();
        let looking = state.looking.as_ref()?;
        let found = match looking.found.try_recv() {
            Ok(found) => found,
            Err(TryRecvError::Empty) if Instant::now() < looking.until => return None,
            Err(_) => None,
        };
        state.looking.take().map(|looking| (looking.zone, found))
    }

    /// Takes what a look has found. What has changed.
    fn take(&self, zone: &Name, found: &Found, now: u64) -> Vec<Change> {
        let Some(file) = &self.file else { return Vec::new() };
        let state = &mut *self.state.lock();
        let State { seeds, zones, is_unwritable, .. } = state;
        // The settings may be others by now.
        let Some(managed) = zones.iter_mut().find(|managed| &*managed.zone == zone) else {
            return Vec::new();
        };
        match observe(managed, found, now) {
            Ok(changes) => {
                write(file, &text(seeds, zones), is_unwritable);
                changes
            }
            Err(fault) => {
                managed.failed(now);
                if managed.checked == 0 {
                    managed.next = now + FIRST_RETRY_SECONDS;
                }
                let after = Seconds(managed.next - now);
                tracing::warn!(
                    zone = zone.to_string(),
                    error = fault,
                    "trust anchors of {zone}: {fault}; they stay as they are, the next look is in {after}"
                );
                Vec::new()
            }
        }
    }

    /// The zones that are followed.
    fn zones(&self) -> Vec<Managed> {
        self.state.lock().zones.clone()
    }
}

impl State {
    /// Begins with other seeds: goes on where these began before.
    fn begin(&mut self, file: &Path, seeds: &[Managed]) {
        let before = match self.seeds.is_empty() {
            false => Ok((std::mem::take(&mut self.seeds), std::mem::take(&mut self.zones))),
            true if seeds.is_empty() => Ok(Default::default()),
            true => read(file),
        };
        let (begun, known) = before.unwrap_or_else(|fault| {
            tracing::error!(
                error = fault,
                "{}: {fault}; the trust anchors of the settings, or those that are built in, hold",
                file.display()
            );
            Default::default()
        });
        self.zones = seeds
            .iter()
            .map(|seed| {
                let known = known.iter().find(|known| known.zone == seed.zone);
                known.filter(|_| begun.contains(seed)).unwrap_or(seed).clone()
            })
            .collect();
        self.seeds = seeds.to_vec();
        self.looking = None;
    }

    /// Whether the clock says no less than is known. Says it in the log where that changes.
    fn can_tell(&mut self, now: u64) -> bool {
        let checked = self.zones.iter().map(|zone| zone.checked).max().unwrap_or(0);
        let least = checked.saturating_sub(CLOCK_STEP_SECONDS_MAX).max(CLOCK_SECONDS_MIN);
        let is_wrong = now < least;
        match (is_wrong, self.is_clock_wrong) {
            (true, false) => tracing::warn!(
                now,
                least,
                "the clock is behind what is known of trust anchors ({now}, {least} seconds since 1970): they stay as they are until it is right"
            ),
            (false, true) => tracing::info!("the clock is right again: trust anchors are renewed"),
            _ => {}
        }
        self.is_clock_wrong = is_wrong;
        !is_wrong
    }
}

fn observe(managed: &mut Managed, found: &Found, now: u64) -> Result<Vec<Change>, String> {
    let sets = found.as_ref().ok_or("the zone's keys could not be fetched")?;
    let keys = sets.list().iter().find(|set| set.rtype == rtype::DNSKEY);
    let keys = keys.ok_or("the zone's servers have no keys of it")?;
    let mut verifier = Verifier::default();
    let observed = managed.observe(&keys, now, &Policy::default(), &mut verifier);
    observed.map_err(|fault| format!("the zone's keys are not signed by one that is trusted ({fault:?})"))
}

/// The text of the file.
fn text(seeds: &[Managed], zones: &[Managed]) -> String {
    let states = rfc5011::write(zones);
    let (title, states) = states.split_once('\n').unwrap_or((&states, ""));
    let begun: String = rfc5011::write(seeds).lines().map(|line| format!("{BEGUN}{line}\n")).collect();
    format!("{title}\n{begun}{states}")
}

/// What the states of a text began with, and the states.
fn parse(text: &str) -> Result<(Vec<Managed>, Vec<Managed>), String> {
    let states = rfc5011::read(text).map_err(|error| error.to_string())?;
    let begun: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(BEGUN)).collect();
    let begun = rfc5011::read(&begun.join("\n"))
        .map_err(|error| format!("what it was begun with cannot be read ({error})"))?;
    Ok((begun, states))
}

/// What a file says; nothing where there is none.
fn read(file: &Path) -> Result<(Vec<Managed>, Vec<Managed>), String> {
    let mut text = String::new();
    let octets = match File::open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Default::default()),
        opened => opened.and_then(|opened| opened.take(FILE_OCTETS_MAX + 1).read_to_string(&mut text)),
    };
    match octets.map_err(|error| error.to_string())? as u64 {
        0..=FILE_OCTETS_MAX => parse(&text),
        _ => Err(format!("it has more than {FILE_OCTETS_MAX} octets")),
    }
}

/// Writes a file, as a whole or not at all. That it cannot be written is said once, until it can.
fn write(file: &Path, text: &str, is_unwritable: &mut bool) {
    let temporary = file.with_file_name(TEMPORARY);
    let write = || -> io::Result<()> {
        let mut made = File::create(&temporary)?;
        made.write_all(text.as_bytes())?;
        made.sync_all()?;
        fs::rename(&temporary, file)?;
        // The new name, too.
        file.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    };
    let written = write();
    if let Err(error) = &written
        && !*is_unwritable
    {
        tracing::warn!(
            error = error.to_string(),
            "cannot write {}: {error}; trust anchors are renewed in memory, and the next start knows nothing of it",
            file.display()
        );
    }
    *is_unwritable = written.is_err();
}

fn wall() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Recursion {
    /// Takes what a look at the keys of a zone has found, or begins one whose time has come. Each second.
    pub(crate) fn tend_anchors(&self) {
        let now = wall();
        let Some((zone, found)) = self.anchors.looked() else { return self.look(now) };
        let changes = self.anchors.take(&zone, &found, now);
        for change in &changes {
            let zone = zone.to_string();
            match change {
                Change::NoneLeft => tracing::error!(zone, "trust anchors of {zone}: {change}"),
                Change::Revoked(_) => tracing::warn!(zone, "trust anchors of {zone}: {change}"),
                _ => tracing::info!(zone, "trust anchors of {zone}: {change}"),
            }
        }
        if changes.is_empty() {
            return;
        }
        // With what is trusted now.
        self.change(|_| {});
        if changes.iter().any(|change| matches!(change, Change::Revoked(_) | Change::NoneLeft)) {
            // Whatever a chain from it has proved is proved no more.
            self.cache.flush(&Flush::All, self.now());
        }
    }

    /// Has a worker look, if it is time. Workers that have not begun yet cannot: it is tried again in a second.
    fn look(&self, now: u64) {
        let Some(zone) = self.anchors.due(now) else { return };
        let number = self.anchors.number();
        let (to, found) = channel();
        if self.leave_with_one(|| Errand::Look { zone: zone.clone(), number, to: to.clone() }) {
            self.anchors.begin_look(zone, found);
        }
    }

    /// The trust anchors of now, with where each key is.
    pub(crate) fn anchor_lines(&self) -> Vec<AnchorLine> {
        let terms = self.current_terms();
        let followed = self.anchors.zones();
        let is_followed = |zone: &NameBuf| followed.iter().any(|managed| managed.zone == *zone);
        let mut others = Anchors::new();
        for (zone, ds, keys) in terms.resolve.anchors.zones().filter(|(zone, ..)| !is_followed(zone)) {
            others.set(&zone, ds.iter(), keys.iter());
        }
        let fixed = seeds(&others);
        let fixed = fixed.iter().flat_map(|managed| lines(managed, Some("fixed")));
        followed.iter().flat_map(|managed| lines(managed, None)).chain(fixed).collect()
    }
}

/// A line for each DS record and key. `state`: of all, where nothing is followed.
fn lines(managed: &Managed, state: Option<&str>) -> Vec<AnchorLine> {
    let whole = AnchorLine {
        zone: managed.zone.to_string(),
        checked: (managed.checked > 0).then_some(managed.checked),
        next: (managed.next > 0).then_some(managed.next),
        ..AnchorLine::default()
    };
    let ds = managed.ds.iter().filter_map(|rdata| Ds::parse(rdata)).map(|ds| AnchorLine {
        kind: "ds".into(),
        tag: ds.key_tag,
        algorithm: ds.algorithm,
        state: state.unwrap_or("not seen").into(),
        ..whole.clone()
    });
    let keys = managed.keys.iter().filter_map(|key| {
        let Dnskey { tag, algorithm, .. } = Dnskey::parse(&key.rdata)?;
        let (word, since, until) = match key.state {
            KeyState::Pending { since, until } => ("pending", Some(since), Some(until)),
            KeyState::Valid => ("valid", None, None),
            KeyState::Missing { since } => ("missing", Some(since), None),
            KeyState::Revoked { since } => ("revoked", Some(since), None),
        };
        let state = state.unwrap_or(word).into();
        Some(AnchorLine { kind: "key".into(), tag, algorithm, state, since, until, ..whole.clone() })
    });
    ds.chain(keys).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
