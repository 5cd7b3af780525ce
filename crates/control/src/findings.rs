//! What is wrong with zones that load: found when a text is read, said within bounds, and kept for `ctl zones`.
//!
//! ```text
//! text --Level::Quick--> findings --severity from `refuse` on--> not loaded, as a broken zone
//!                            `-----> numbers: row of the pack, known after a start as well
//!                            `-----> lines: log and reply of the change (FINDINGS_LOGGED_MAX a zone, ZONES_TOLD_MAX zones)
//!                                           `ctl zones ZONE`           (FINDINGS_KEPT_MAX a zone, FINDINGS_KEPT_OCTETS_MAX in all)
//! ```
//!
//! Notices are for `check-zone`: nothing breaks by what they tell. A zone without findings costs no memory here, and of a million zones with some
//! the numbers alone are kept once the room for lines is used up.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Display;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use validate::Anchors;
use wire::NameBuf;
use zone::ZoneView;
use zone::catalog::SlotNumber;
use zone::check::{self, Anchor, Check, Demand, Finding, Level, Severity, Summary, Verified, verify_digest};
use zone::lookup::Damaged;
use zone::pack::ZoneRow;

use crate::read::ZoneText;
use crate::text::{count, grouped};

/// Findings of a zone that go to the log and to the reply of a change: more are read by nobody, and their number is said.
pub const FINDINGS_LOGGED_MAX: usize = 10;
/// Zones of a load of which is said what was found: beyond that it is told how many more there are.
pub const ZONES_TOLD_MAX: usize = 100;
/// A load of more zones has a line a zone.
const ZONES_IN_FULL_MAX: usize = 10;
/// Lines that are kept of a zone, for `ctl zones ZONE`.
pub const FINDINGS_KEPT_MAX: usize = 20;
/// Octets of all lines that are kept, and of those that are made in one load: of some 40,000 findings.
pub const FINDINGS_KEPT_OCTETS_MAX: usize = 4 << 20;
/// Lines of one kind: more are one mistake made many times, and would hide others.
const LINES_OF_A_KIND_MAX: usize = 3;
/// A longer line is cut off: a name is shorter, a bitmap of types in the wrong hands is not.
const LINE_OCTETS_MAX: usize = 2000;
/// Lines that say why a zone is refused.
const REFUSED_LINES_MAX: usize = 100;

/// What was found in a zone.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Errors, saturating.
    pub errors: u16,
    /// Warnings, saturating.
    pub warnings: u16,
    /// The worst of them, as lines; fewer than there are, or none where the room for them is used up.
    pub lines: Box<[String]>,
    /// Whether the zone was verified by its digest.
    pub is_digested: bool,
}

impl Findings {
    /// `1 error, 2 warnings`; `None`: nothing was found.
    pub fn summary(&self) -> Option<String> {
        summary(self.errors, self.warnings)
    }
}

/// As [`Findings::summary`].
pub fn summary(errors: u16, warnings: u16) -> Option<String> {
    let number = |number: u16, noun| match number {
        0 => None,
        u16::MAX => Some(format!("{} {noun}s or more", grouped(u64::from(number)))),
        number => Some(count(usize::from(number), noun)),
    };
    let parts: Vec<String> =
        [number(errors, "error"), number(warnings, "warning")].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// From which severity on a zone is not loaded, as settings name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Refuse {
    /// What cannot be served in any case.
    #[default]
    Fatal,
    /// Errors too.
    Error,
    /// Warnings too.
    Warning,
}

impl Refuse {
    /// All words that settings may have.
    pub const WORDS: &[&str] = &["fatal", "error", "warning"];

    /// What a word of the settings means; `None`: none of [`Refuse::WORDS`].
    pub fn named(word: &str) -> Option<Refuse> {
        [Refuse::Fatal, Refuse::Error, Refuse::Warning]
            .into_iter()
            .zip(Self::WORDS)
            .find(|(_, name)| **name == word)
            .map(|(refuse, _)| refuse)
    }

    /// The severity.
    pub fn severity(self) -> Severity {
        match self {
            Refuse::Fatal => Severity::Fatal,
            Refuse::Error => Severity::Error,
            Refuse::Warning => Severity::Warning,
        }
    }
}

/// What becomes of a zone's digest (ZONEMD, RFC 8976), as settings name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Digest {
    /// It is not looked at.
    #[default]
    Ignore,
    /// A zone with a wrong one is not taken.
    Verify,
    /// One without, either.
    Require,
}

impl Digest {
    /// All words that settings may have.
    pub const WORDS: &[&str] = &["ignore", "verify", "require"];

    /// What a word of the settings means; `None`: none of [`Digest::WORDS`].
    pub fn named(word: &str) -> Option<Digest> {
        let all = [Digest::Ignore, Digest::Verify, Digest::Require];
        all.into_iter().zip(Self::WORDS).find(|(_, name)| **name == word).map(|(digest, _)| digest)
    }
}

/// Verifies the digest of a zone that was read or transferred, if that is wanted; says whether there is one that is right. The error is why the zone is not taken. `anchors`: where
/// trust begins. Without the time there is no use in these.
fn look_at_digest(
    text: &ZoneText,
    (digest, anchors): (Digest, &Anchors),
    now: Option<u64>,
) -> Result<bool, Finding> {
    if digest == Digest::Ignore {
        return Ok(false);
    }
    let apex = text.contents.apex();
    let own = now.and_then(|now| anchors.of_zone(apex, now)).map(|(ds, keys)| Anchor { ds, keys });
    let demand = Demand { is_required: digest == Digest::Require, anchor: own, now: now.unwrap_or_default() };
    let verified = verify_digest(&text.contents, &demand).map_err(|finding| text.explained(finding))?;
    match verified {
        Verified::Nothing => tracing::info!(zone = %apex, "zone {apex}: no ZONEMD record to verify it by"),
        Verified::Digest { algorithm, is_signed } => {
            let signed = if is_signed { ", signed as the trust anchor has it" } else { "" };
            let name = if algorithm == 1 { "SHA-384" } else { "SHA-512" };
            tracing::info!(zone = %apex, "zone {apex}: verified by its ZONEMD record ({name}{signed})");
        }
    }
    Ok(verified != Verified::Nothing)
}

/// Whether nothing is to be looked at before a stored zone is served: its digest is not required, or was found right when its pack was made, and nothing has changed since. `has_text`: it
/// is not transferred, so that what has changed in it was changed here, as its operator allows.
pub(crate) fn is_known_as_required(view: &ZoneView<'_>, has_text: bool, digest: Digest) -> bool {
    let has = |bit: u32| view.row().bits & bit != 0;
    match (digest, has_text) {
        (Digest::Ignore | Digest::Verify, _) => true,
        (Digest::Require, true) if view.is_changed() || has(ZoneRow::BESIDE_TEXT) => true,
        (Digest::Require, _) => !view.is_changed() && has(ZoneRow::DIGESTED),
    }
}

/// Verifies the digest of a zone as it is stored, or would be: what was read or transferred some time ago, and what has changed since. `from`: where that is, for lines. The error: what
/// keeps it from being served, if it can be read, and a line that says so.
pub(crate) fn examine_digest(
    view: &ZoneView<'_>,
    from: &dyn Display,
    digest: (Digest, &Anchors),
) -> Result<(), (Option<Check>, String)> {
    let contents = view.contents().map_err(|Damaged| (None, format!("{from}: it cannot be read")))?;
    let text = ZoneText::transferred(contents, from, 0);
    let verified = look_at_digest(&text, digest, seconds());
    verified.map(drop).map_err(|finding| (Some(finding.check), line(&text, &finding)))
}

/// The time, in seconds since 1970; `None` where the clock is before that.
fn seconds() -> Option<u64> {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok().map(|since| since.as_secs())
}

/// Room for the lines of one load.
pub(crate) struct Room(AtomicUsize);

impl Default for Room {
    fn default() -> Room {
        Room(AtomicUsize::new(FINDINGS_KEPT_OCTETS_MAX))
    }
}

impl Room {
    /// Takes room; says whether there was enough. Once there was not there is none for anybody.
    fn take(&self, octets: usize) -> bool {
        let left = |room: usize| Some(room.saturating_sub(octets));
        let before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
        before.is_ok_and(|before| before >= octets)
    }

    /// Whether there is none: lines need not be made then.
    fn is_used_up(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// Looks for what is wrong with a zone that was read. `refuse`: from which severity on it is not loaded, `digest`: what becomes of its digest; the error is lines that say so.
/// `is_dated`: whether signatures are held against the clock.
pub(crate) fn examine(
    text: &ZoneText,
    (refuse, digest): (Severity, (Digest, &Anchors)),
    is_dated: bool,
    room: &Room,
) -> Result<Findings, Vec<String>> {
    let Looked { found, summary, is_digested } = look(text, digest, is_dated);
    if found.is_empty() {
        return Ok(Findings { is_digested, ..Findings::default() });
    }
    if found[0].severity >= refuse {
        return Err(refused(text, &found, refuse));
    }
    Ok(Findings { is_digested, ..findings(text, &found, &summary, room) })
}

/// Looks for what is wrong with a zone that was transferred. The error: what keeps it from being served, and lines that say so.
pub(crate) fn examine_transferred(
    text: &ZoneText,
    digest: (Digest, &Anchors),
) -> Result<Findings, (Check, Vec<String>)> {
    let Looked { found, summary, is_digested } = look(text, digest, true);
    match found.first() {
        None => Ok(Findings { is_digested, ..Findings::default() }),
        Some(first) if first.severity == Severity::Fatal => {
            Err((first.check, refused(text, &found, Severity::Fatal)))
        }
        Some(_) => Ok(Findings { is_digested, ..findings(text, &found, &summary, &Room::default()) }),
    }
}

/// What a look at a zone has found.
struct Looked {
    /// What is worth a word, the worst first.
    found: Vec<Finding>,
    summary: Summary,
    /// Whether the zone has a digest that is right, if that was looked at.
    is_digested: bool,
}

fn look(text: &ZoneText, digest: (Digest, &Anchors), is_dated: bool) -> Looked {
    let now = seconds().filter(|_| is_dated);
    let options = check::Options { level: Level::Quick, now, ..check::Options::default() };
    let mut found: Vec<Finding> = text.out_of_zone.clone();
    let summary = check::check(&text.contents, &options, &mut |finding| {
        if finding.severity > Severity::Notice {
            found.push(text.explained(finding));
        }
    });
    // What cannot be served need not be what it claims to be.
    let digested = if summary.is_fatal() { Ok(false) } else { look_at_digest(text, digest, now) };
    let is_digested = digested.unwrap_or_else(|finding| {
        found.push(finding);
        false
    });
    found.sort_by_key(|finding| Reverse(finding.severity));
    Looked { found, summary, is_digested }
}

fn findings(text: &ZoneText, found: &[Finding], summary: &Summary, room: &Room) -> Findings {
    let saturated = |number: u64| u16::try_from(number).unwrap_or(u16::MAX);
    let errors = saturated(summary.count_of(Severity::Error));
    let warnings = saturated(summary.count_of(Severity::Warning) + text.out_of_zone_count);
    Findings { errors, warnings, lines: lines(text, found, room), is_digested: false }
}

/// Why a zone is not loaded, as lines. `found`: the worst first.
fn refused(text: &ZoneText, found: &[Finding], refuse: Severity) -> Vec<String> {
    // What is fatal leaves no choice, and what else there is waits until that is mended.
    let least = if found[0].severity == Severity::Fatal { Severity::Fatal } else { refuse };
    let grave = found.iter().take_while(|finding| finding.severity >= least);
    let mut lines: Vec<String> = grave.take(REFUSED_LINES_MAX).map(|finding| line(text, finding)).collect();
    if least != Severity::Fatal {
        lines.push(format!("a zone with an {} is not loaded, as `refuse` has it", words(refuse)));
    }
    lines
}

fn words(refuse: Severity) -> &'static str {
    match refuse {
        Severity::Warning => "error or a warning",
        _ => "error",
    }
}

/// The same of a pack that was made elsewhere, whose row has numbers only.
pub(crate) fn refused_row(errors: u16, warnings: u16, refuse: Severity) -> Option<String> {
    let is_refused =
        (refuse <= Severity::Error && errors > 0) || (refuse <= Severity::Warning && warnings > 0);
    let numbers = summary(errors, warnings).filter(|_| is_refused)?;
    Some(format!(
        "{numbers} when its pack was made; a zone with an {} is not loaded, as `refuse` has it",
        words(refuse)
    ))
}

/// The first lines of each kind, as far as there is room. `found`: the worst first.
fn lines(text: &ZoneText, found: &[Finding], room: &Room) -> Box<[String]> {
    let mut kinds: Vec<(Check, usize)> = Vec::new();
    let mut lines = Vec::new();
    for finding in found {
        let kind = match kinds.iter_mut().find(|(check, _)| *check == finding.check) {
            Some((_, kind)) => kind,
            None => {
                kinds.push((finding.check, 0));
                &mut kinds.last_mut().expect("pushed above").1
            }
        };
        *kind += 1;
        if *kind > LINES_OF_A_KIND_MAX {
            continue;
        }
        if lines.len() == FINDINGS_KEPT_MAX || room.is_used_up() {
            break;
        }
        let line = line(text, finding);
        if !room.take(line.len()) {
            break;
        }
        lines.push(line);
    }
    lines.into()
}

fn line(text: &ZoneText, finding: &Finding) -> String {
    let mut line = text.line(finding);
    if line.len() > LINE_OCTETS_MAX {
        line.truncate(line.floor_char_boundary(LINE_OCTETS_MAX));
        line.push('…');
    }
    line
}

/// Lines that are kept, by the slots of their zones.
#[derive(Default)]
pub(crate) struct Kept {
    lines: HashMap<SlotNumber, Box<[String]>>,
    octets: usize,
}

impl Kept {
    /// Keeps the lines of a zone in place of those before, if there is room.
    pub(crate) fn set(&mut self, slot: SlotNumber, lines: Box<[String]>) {
        self.forget(slot);
        let octets = octets(&lines);
        if octets > 0 && self.octets + octets <= FINDINGS_KEPT_OCTETS_MAX {
            self.octets += octets;
            self.lines.insert(slot, lines);
        }
    }

    /// Forgets those of a zone.
    pub(crate) fn forget(&mut self, slot: SlotNumber) {
        if !self.lines.is_empty()
            && let Some(lines) = self.lines.remove(&slot)
        {
            self.octets -= octets(&lines);
        }
    }

    /// Those of a zone; none where nothing was found or there was no room.
    pub(crate) fn of(&self, slot: SlotNumber) -> &[String] {
        self.lines.get(&slot).map_or(&[], |lines| lines)
    }
}

fn octets(lines: &[String]) -> usize {
    lines.iter().map(String::len).sum()
}

/// What a change says of what was found.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Whether a zone has one line.
    is_brief: bool,
    zones: usize,
    untold: usize,
    /// What waits to be written to the log, which is not done under a lock.
    waiting: Vec<(NameBuf, String)>,
}

impl Told {
    /// Begins a load of so many zones.
    pub(crate) fn begin(&mut self, zones: usize) {
        self.is_brief = zones > ZONES_IN_FULL_MAX;
    }

    /// Notes what was found in a zone.
    pub(crate) fn zone(&mut self, name: &NameBuf, findings: &Findings) {
        let Some(summary) = findings.summary() else { return };
        self.zones += 1;
        if self.zones > ZONES_TOLD_MAX {
            self.untold += 1;
            return;
        }
        let mut say = |line: String| self.waiting.push((name.clone(), line));
        match (self.is_brief, findings.lines.first()) {
            (true, Some(first)) => say(format!("zone {name}: {summary}, such as {first}")),
            (true, None) => say(format!("zone {name}: {summary}")),
            (false, _) => {
                findings.lines.iter().take(FINDINGS_LOGGED_MAX).cloned().for_each(&mut say);
                let all = usize::from(findings.errors) + usize::from(findings.warnings);
                if all > findings.lines.len().min(FINDINGS_LOGGED_MAX) {
                    say(format!("zone {name}: {summary} in all; `zonda check-zone` shows each"));
                }
            }
        }
    }

    /// Writes what waits to the log, and to `warnings`.
    pub(crate) fn tell(&mut self, warnings: &mut Vec<String>) {
        for (zone, line) in self.waiting.drain(..) {
            tracing::warn!(%zone, "{line}");
            warnings.push(line);
        }
    }

    /// Ends a load: how many zones were not told of.
    pub(crate) fn end(&mut self, warnings: &mut Vec<String>) {
        self.tell(warnings);
        if self.untold > 0 {
            let more = count(self.untold, "more zone");
            let line =
                format!("{more} with errors or warnings; `zonda ctl zones --state findings` lists all");
            tracing::warn!("{line}");
            warnings.push(line);
        }
        *self = Told::default();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn lines(number: usize, octets: usize) -> Box<[String]> {
        vec!["x".repeat(octets); number].into()
    }

    /// However many zones there are, what is kept of them is bounded, and room that is given back is used again.
    #[test]
    fn what_is_kept_is_bounded() {
        let mut kept = Kept::default();
        let octets = FINDINGS_KEPT_OCTETS_MAX / 100;
        (0..1000).for_each(|slot| kept.set(SlotNumber(slot), lines(10, octets / 10)));
        assert!(kept.lines.len() >= 100 && kept.octets <= FINDINGS_KEPT_OCTETS_MAX, "{}", kept.octets);
        assert!(!kept.of(SlotNumber(0)).is_empty() && kept.of(SlotNumber(999)).is_empty());
        kept.forget(SlotNumber(0));
        kept.set(SlotNumber(999), lines(10, octets / 10));
        assert!(kept.of(SlotNumber(0)).is_empty() && !kept.of(SlotNumber(999)).is_empty());
        (0..1000).for_each(|slot| kept.set(SlotNumber(slot), Box::default()));
        assert_eq!((kept.lines.len(), kept.octets), (0, 0));
    }

    #[test]
    fn what_is_said_is_bounded() {
        let (mut told, mut warnings) = (Told::default(), Vec::new());
        let name: NameBuf = "a.example".parse().unwrap();
        let findings =
            Findings { errors: 1, warnings: 30, lines: lines(FINDINGS_KEPT_MAX, 9), is_digested: false };
        told.begin(1);
        told.zone(&name, &Findings::default());
        told.zone(&name, &findings);
        told.end(&mut warnings);
        assert_eq!(warnings.len(), FINDINGS_LOGGED_MAX + 1);
        assert!(warnings[FINDINGS_LOGGED_MAX].contains("1 error, 30 warnings in all"), "{warnings:?}");
        warnings.clear();
        told.begin(1_000_000);
        for _ in 0..1_000_000 {
            told.zone(&name, &findings);
        }
        assert!(told.waiting.len() <= ZONES_TOLD_MAX);
        told.end(&mut warnings);
        assert_eq!(warnings.len(), ZONES_TOLD_MAX + 1);
        assert!(warnings[ZONES_TOLD_MAX].starts_with("999,900 more zones"), "{warnings:?}");
        let room = Room::default();
        assert!(room.take(FINDINGS_KEPT_OCTETS_MAX - 1) && !room.is_used_up());
        assert!(!room.take(2) && room.is_used_up() && !room.take(1));
    }
}
