//! An ask by its key: what it may do, before anything is looked at. What a key may not see is not there.

use std::collections::HashSet;
use std::sync::Arc;

use api::frame::{Act, Ask, Asked, FOUND_MAX, Facts, Objects, Part, Sets, Verbs, What, Zones};
use api::path::id;
use change::alteration::{Fault, check_form};
use wire::{NameBuf, SortKey};

use super::explain::Question;
use super::reading::Wanted;
use super::words::{NO_ZONE, altered};
use super::{Key, Keys};
use crate::dynamic::Repeat;

/// RRsets that are worked out by the changer itself: more would hold up all zones.
pub(super) const SETS_MAX: usize = 1024;

/// What is said of no key, of one that is unknown and of one that has expired.
pub(super) const NO_KEY: &str = "expected a key that is known here, as X-API-Key";

/// Faults that are told of one ask: who has more has the same mistake in all.
const FAULTS_MAX: usize = 20;

/// What is to be done.
pub(super) enum Task {
    /// Which verbs it has is told.
    Who(Verbs),
    /// Zones are told: the one of a name; after a cursor; so many.
    List { name: Option<NameBuf>, account: Option<Box<str>>, after: Option<api::frame::Cursor>, limit: u32 },
    /// Nothing is told of a list, or of a search.
    ListNothing,
    /// What fits a pattern is told, so much at most.
    Search { pattern: Box<str>, objects: Objects, limit: u32 },
    /// Numbers of the server are told.
    Numbers,
    /// Names of TSIG keys are told.
    Keys(Arc<[NameBuf]>),
    /// A zone is told.
    Read { zone: NameBuf, wanted: Wanted, with_dnssec: bool },
    /// Versions of a zone are told.
    History { zone: NameBuf },
    /// RRsets of these zones are to be so, which are there once each; whether only to try.
    Change { zones: Arc<[NameBuf]>, is_dry: bool, repeat: Option<Repeat> },
    /// Rules that are looked at for RRsets are told.
    Explain(Vec<Question>),
    /// Something is done at once.
    Act { zone: NameBuf, act: Act },
    /// A zone is made, set or removed.
    Work { zone: NameBuf },
}

/// Why nothing is done.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct No {
    pub(super) status: u16,
    pub(super) words: String,
    /// At which zones and RRsets, and what.
    pub(super) faults: Vec<(At, String)>,
}

/// Where something is wrong, by numbers from 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At {
    /// The zone of the ask.
    pub(super) zone: usize,
    /// The RRset of that zone. `None`: the zone itself.
    pub(super) set: Option<usize>,
}

impl No {
    pub(super) fn new(status: u16, words: impl Into<String>) -> No {
        No { status, words: words.into(), faults: Vec::new() }
    }

    /// The same, which is about zones of an ask and not their RRsets: of several it says which is the first, of one that is known.
    pub(super) fn of_some(self, zones: &[NameBuf]) -> No {
        let first = self.faults.first().and_then(|(at, _)| zones.get(at.zone));
        match first {
            Some(zone) if zones.len() > 1 => {
                let mut text = Vec::new();
                id::put_name(zone, &mut text);
                No { words: format!("{}: {}", String::from_utf8_lossy(&text), self.words), ..self }
            }
            _ => No { faults: Vec::new(), ..self },
        }
    }
}

/// The key of an ask, and what is to be done. `now`: seconds since 1970.
pub(super) fn judge(keys: &Keys, ask: &Ask<'_>, now: u64) -> Result<(Arc<Key>, Task), No> {
    let key = keys.find(ask.key, now).ok_or_else(|| No::new(401, NO_KEY))?;
    Ok((Arc::clone(key), task(keys, key, &ask.asked)?))
}

/// What is to be done, if the key may have it done.
fn task(keys: &Keys, key: &Key, asked: &Asked<'_>) -> Result<Task, No> {
    let see = |zone: &wire::Name| match key.may_see(zone) {
        true => Ok(zone.to_lowercase()),
        false => Err(No::new(404, NO_ZONE)),
    };
    let may = |verbs: Verbs, what: &str| match key.verbs.has(verbs) {
        true => Ok(()),
        false => Err(No::new(403, format!("this key may not {what}"))),
    };
    Ok(match *asked {
        Asked::Who => Task::Who(key.verbs),
        Asked::List { name, account, after, limit } => {
            may(Verbs::READ, "read")?;
            let name = name.map(wire::Name::to_lowercase);
            let is_nothing = name.as_deref().is_some_and(|name| !key.may_see(name));
            let account = account.map(Into::into);
            if is_nothing { Task::ListNothing } else { Task::List { name, account, after, limit } }
        }
        Asked::Search { pattern, objects, limit } => {
            may(Verbs::READ, "read")?;
            match limit.min(FOUND_MAX) {
                0 => Task::ListNothing,
                _ if objects == Objects::Comments => Task::ListNothing,
                limit => Task::Search { pattern: pattern.into(), objects, limit },
            }
        }
        Asked::Facts(Facts::Numbers) => {
            may(Verbs::SERVER, "see numbers of the server")?;
            Task::Numbers
        }
        // They may be called as customers are.
        Asked::Facts(Facts::Keys) => {
            may(Verbs::SERVER, "see names of keys")?;
            Task::Keys(Arc::clone(&keys.tsig))
        }
        Asked::Zone { zone, part, with_dnssec } => {
            let zone = see(zone)?;
            may(Verbs::READ, "read")?;
            let wanted = match part {
                Part::All => Wanted::All,
                Part::Row => Wanted::Row,
                Part::Owner(owner, rtype) => Wanted::Owner(owner.to_lowercase(), rtype),
            };
            Task::Read { zone, wanted, with_dnssec }
        }
        Asked::History { zone, undo: None } => {
            let zone = see(zone)?;
            may(Verbs::READ, "read")?;
            Task::History { zone }
        }
        Asked::Change { repeat, zones, is_dry } => {
            let names = names(key, zones)?;
            may(Verbs::CHANGE, "change")?;
            // What would go is told, and that is contents.
            if is_dry {
                may(Verbs::READ, "read, as a dry run does")?;
            }
            look_at_sets(zones, rules_of(key))?;
            // Nothing is done by a dry run, so often it is made.
            let repeat = repeat.filter(|_| !is_dry).map(|name| Repeat::of(key, name, zones.octets()));
            Task::Change { zones: names, is_dry, repeat }
        }
        Asked::Explain(zones) => {
            let names = names(key, zones)?;
            may(Verbs::EXPLAIN, "have rules explained")?;
            let question = |zone: &NameBuf| Question { zone: zone.clone(), sets: Vec::new() };
            let mut questions: Vec<Question> = names.iter().map(question).collect();
            look_at_sets(zones, |zone, owner, rtype| {
                questions[zone].sets.push((owner.octets().into(), rtype));
                None
            })?;
            Task::Explain(questions)
        }
        Asked::Act { zone, act } => {
            let zone = see(zone)?;
            // Whoever may change the zone may tell of it: some clients do both, or fail.
            let has_notify = act == Act::Notify && key.verbs.has(Verbs::CHANGE);
            if !has_notify {
                may(Verbs::ACT, "act")?;
            }
            Task::Act { zone, act }
        }
        Asked::Make { zone, sets, .. } => {
            may(Verbs::MAKE, "make zones")?;
            if !key.may_see(zone) {
                return Err(No::new(403, "no zone of this name is for this key: `zones` in its section"));
            }
            look_at_contents(zone, sets)?;
            Task::Work { zone: zone.to_lowercase() }
        }
        Asked::Set { zone, .. } => {
            let zone = see(zone)?;
            may(Verbs::SET, "set fields of zones")?;
            Task::Work { zone }
        }
        Asked::Drop { zone, .. } => {
            let zone = see(zone)?;
            may(Verbs::DROP, "remove zones")?;
            Task::Work { zone }
        }
        _ => return Err(No::new(501, "this is not there yet")),
    })
}

/// Names of zones that are to change, or are asked about, lower-case, if the key may see all of them.
fn names(key: &Key, zones: Zones<'_>) -> Result<Arc<[NameBuf]>, No> {
    let names: Arc<[NameBuf]> = zones.iter().map(|zone| zone.name.to_lowercase()).collect();
    let (mut unseen, mut twice) = (No::new(404, NO_ZONE), No::new(422, "a zone is there twice"));
    let mut seen = HashSet::new();
    for (zone, name) in names.iter().enumerate() {
        let at = At { zone, set: None };
        if !key.may_see(name) {
            add(&mut unseen, at, || NO_ZONE.to_owned());
        } else if !seen.insert(name) {
            // The process has looked at it, whose word nothing hangs on.
            add(&mut twice, at, || "the zone is there twice".to_owned());
        }
    }
    match [unseen, twice].into_iter().find(|no| !no.faults.is_empty()) {
        Some(no) => Err(no.of_some(&names)),
        None if names.is_empty() => Err(No::new(422, "expected a zone")),
        None => Ok(names),
    }
}

/// Forms of all that is to be in a zone: who may make it says what that is. What is wrong with them as a zone is found by who reads it.
fn look_at_contents(zone: &wire::Name, sets: Sets<'_>) -> Result<(), No> {
    let mut wrong = No::new(422, "some RRsets cannot be so");
    for (number, set) in sets.iter().enumerate() {
        let at = At { zone: 0, set: Some(number) };
        if !matches!(set.what, What::Replace | What::Extend) {
            add(&mut wrong, at, || "there is nothing to be taken away from a zone that is new".to_owned());
        } else if let Err(fault) = check_form(zone, &altered(set)) {
            add(&mut wrong, at, || Fault::to_string(&fault));
        }
    }
    if wrong.faults.is_empty() { Ok(()) } else { Err(wrong) }
}

/// What the rules of a key have against RRsets, in words.
fn rules_of(key: &Key) -> impl FnMut(usize, &SortKey, u16) -> Option<String> {
    let permission = key.policy.of_api(key.name());
    move |_, owner, rtype| {
        let decision = permission.decide(owner.octets(), rtype);
        (!decision.is_granted).then(|| match decision.rule {
            Some(rule) => format!("denied by rule {rule} of this key: {}", key.rule(rule)),
            None => "no rule of this key grants it".to_owned(),
        })
    }
}

/// Forms of RRsets of all zones, then what `deny` has against each by the number of its zone, its owner and type: all before anything of the zones is looked at.
fn look_at_sets(
    zones: Zones<'_>,
    mut deny: impl FnMut(usize, &SortKey, u16) -> Option<String>,
) -> Result<(), No> {
    if zones.iter().flat_map(|zone| zone.sets.iter()).take(SETS_MAX + 1).count() > SETS_MAX {
        return Err(No::new(
            413,
            format!("more than {SETS_MAX} RRsets in one request: send them in several"),
        ));
    }
    let mut wrong = No::new(422, "some RRsets cannot be so");
    let mut denied = No::new(403, "some RRsets are not for this key to change");
    for (number, zone) in zones.iter().enumerate() {
        let mut seen = HashSet::new();
        for (set_number, set) in zone.sets.iter().enumerate() {
            let at = At { zone: number, set: Some(set_number) };
            let set = altered(set);
            let owner = SortKey::of(set.owner);
            // As of zones.
            if !seen.insert((Box::<[u8]>::from(owner.octets()), set.rtype)) {
                add(&mut wrong, at, || "this RRset is there twice".to_owned());
                continue;
            }
            if let Err(fault) = check_form(zone.name, &set) {
                add(&mut wrong, at, || Fault::to_string(&fault));
                continue;
            }
            if let Some(why) = deny(number, &owner, set.rtype) {
                add(&mut denied, at, || why);
            }
        }
    }
    [wrong, denied].into_iter().find(|no| !no.faults.is_empty()).map_or(Ok(()), Err)
}

fn add(no: &mut No, at: At, words: impl FnOnce() -> String) {
    if no.faults.len() < FAULTS_MAX {
        no.faults.push((at, words()));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::api::new_api_key;
    use crate::settings::Settings;
    use api::frame::{SetsBuf, ZonesBuf};
    use api::tag::Condition;
    use std::path::Path;
    use wire::iana::rtype;

    fn name(text: &str) -> NameBuf {
        text.parse().unwrap()
    }

    /// Keys with one, and its secret.
    fn keys(more: &str) -> (Keys, String) {
        let (section, secret) = new_api_key("acme").unwrap();
        let kept: Vec<&str> = section
            .lines()
            .filter(|line| line.starts_with("[[") || line.starts_with("name") || line.starts_with("hash"))
            .collect();
        let text =
            format!("[server]\npack-directory = \"p\"\n{}\nzones = [\"*.x.\"]\n{more}\n", kept.join("\n"));
        (Keys::of(&Settings::parse(Path::new("f"), &text).unwrap(), 1), secret)
    }

    /// RRsets of these owners and types, with four octets each.
    fn sets_of(sets: &[(&str, u16)]) -> SetsBuf {
        let mut buffer = SetsBuf::default();
        for (owner, rtype) in sets {
            buffer.begin(&name(owner), *rtype, What::Replace, 60);
            buffer.record(&[192, 0, 2, 1]);
        }
        buffer.end();
        buffer
    }

    fn status(keys: &Keys, key: &str, asked: Asked<'_>) -> u16 {
        let ask = Ask { key: key.as_bytes(), address: [127, 0, 0, 1].into(), asked };
        judge(keys, &ask, 0).map_or_else(|no| no.status, |_| 200)
    }

    /// Whatever the process says.
    #[test]
    fn searches_are_bounded() {
        let (reader, secret) = keys("verbs = \"read\"");
        let limit_of = |objects, limit| {
            let asked = Asked::Search { pattern: "*", objects, limit };
            let ask = Ask { key: secret.as_bytes(), address: [127, 0, 0, 1].into(), asked };
            match judge(&reader, &ask, 0).unwrap().1 {
                Task::Search { limit, .. } => Some(limit),
                _ => None,
            }
        };
        assert_eq!([limit_of(Objects::All, u32::MAX), limit_of(Objects::All, 7)], [Some(FOUND_MAX), Some(7)]);
        assert_eq!([limit_of(Objects::All, 0), limit_of(Objects::Comments, 7)], [None, None]);
    }

    /// Of which RRset of which zone something is wrong; and however many zones there are, RRsets are few.
    #[test]
    fn what_is_asked_about_is_bounded() {
        let (asker, secret) = keys("verbs = \"explain\"");
        let no = |zones: &ZonesBuf| {
            let asked = Asked::Explain(zones.zones());
            judge(&asker, &Ask { key: secret.as_bytes(), address: [127, 0, 0, 1].into(), asked }, 0).err()
        };
        let sets = |zone: &str, count: usize, owner: &str| {
            let mut sets = SetsBuf::default();
            (0..count).for_each(|at| sets.begin(&name(&format!("n{at}.{zone}")), rtype::A, What::Delete, 0));
            sets.begin(&name(owner), rtype::A, What::Delete, 0);
            sets.end();
            sets
        };
        let mut zones = ZonesBuf::default();
        zones.push(&name("a.x."), Condition::None, &sets("a.x.", 2, "w.a.x."));
        assert!(no(&zones).is_none());
        zones.push(&name("B.x."), Condition::None, &sets("b.x.", 2, "w.a.x."));
        let wrong = no(&zones).unwrap();
        let at = At { zone: 1, set: Some(2) };
        assert_eq!((wrong.status, wrong.faults.len(), wrong.faults[0].0), (422, 1, at));
        let mut zones = ZonesBuf::default();
        zones.push(&name("a.x."), Condition::None, &sets("a.x.", SETS_MAX / 2, "w.a.x."));
        zones.push(&name("b.x."), Condition::None, &sets("b.x.", SETS_MAX / 2 - 2, "w.b.x."));
        assert!(no(&zones).is_none());
        zones.push(&name("c.x."), Condition::None, &sets("c.x.", 0, "w.c.x."));
        assert_eq!(no(&zones).map(|no| no.status), Some(413));
    }

    #[test]
    fn what_a_key_may_do() {
        let (reader, secret) = keys("verbs = \"read\"");
        let (changer, other) =
            keys("verbs = [\"read\", \"change\"]\nrules = [\"deny label no A\", \"grant subdomain a.x. A\"]");
        let zone = |zone| Asked::Zone { zone, part: Part::All, with_dnssec: false };
        let (in_scope, outside) = (name("A.x."), name("x."));
        assert_eq!(status(&reader, &secret, zone(&in_scope)), 200);
        assert_eq!(status(&reader, &secret, zone(&outside)), 404);
        let history = |zone| Asked::History { zone, undo: None };
        assert_eq!(
            [status(&reader, &secret, history(&in_scope)), status(&reader, &secret, history(&outside))],
            [200, 404]
        );
        assert_eq!(status(&reader, &other, zone(&in_scope)), 401);
        assert_eq!(status(&reader, "", zone(&in_scope)), 401);
        assert_eq!(status(&reader, &secret, Asked::Who), 200);
        let search = |objects, limit, by: (&Keys, &str)| {
            status(by.0, by.1, Asked::Search { pattern: "*", objects, limit })
        };
        assert_eq!(search(Objects::All, u32::MAX, (&reader, &secret)), 200);
        assert_eq!(search(Objects::Comments, 0, (&reader, &other)), 401);
        // Numbers are told by a verb of their own: what others ask for is no customer's.
        let numbers = Asked::Facts(Facts::Numbers);
        let (observer, third) = keys("verbs = \"server\"");
        assert_eq!(
            [
                status(&reader, &secret, numbers),
                status(&observer, &third, numbers),
                search(Objects::Comments, 1, (&observer, &third))
            ],
            [403, 200, 403]
        );
        let names = Asked::Facts(Facts::Keys);
        assert_eq!([status(&reader, &secret, names), status(&observer, &third, names)], [403, 200]);
        let changes = |zone: &str, sets: &[(&str, u16)]| {
            let mut zones = ZonesBuf::default();
            zones.push(&name(zone), Condition::None, &sets_of(sets));
            zones
        };
        let change = |zones: &ZonesBuf, (keys, key): (&Keys, &str)| {
            status(keys, key, Asked::Change { repeat: None, is_dry: false, zones: zones.zones() })
        };
        let by = (&changer, &*other);
        let fine = changes("a.x.", &[("w.a.x.", rtype::A), ("A.X.", rtype::A)]);
        assert_eq!(change(&fine, by), 200);
        assert_eq!(change(&fine, (&reader, &secret)), 403);
        assert_eq!(change(&changes("a.y.", &[("w.a.y.", rtype::A)]), by), 404);
        assert_eq!(change(&changes("a.x.", &[("no.a.x.", rtype::A)]), by), 403);
        assert_eq!(change(&changes("a.x.", &[("w.a.x.", rtype::NULL)]), by), 403);
        assert_eq!(change(&changes("b.x.", &[("w.b.x.", rtype::A)]), by), 403);
        // Form goes before rules: what no key may have changed is told as such.
        assert_eq!(change(&changes("a.x.", &[("w.b.x.", rtype::A), ("no.a.x.", rtype::A)]), by), 422);
        assert_eq!(change(&changes("a.x.", &[("w.a.x.", rtype::AAAA)]), by), 422);
        assert_eq!(change(&changes("a.x.", &[("w.a.x.", rtype::A), ("W.a.x.", rtype::A)]), by), 422);
        // What would change is contents: who may not read them has it done unseen.
        let (blind, blind_key) = keys("verbs = \"change\"\nrules = [\"grant subdomain a.x. A\"]");
        let run = |is_dry, by: (&Keys, &str)| {
            status(by.0, by.1, Asked::Change { repeat: None, is_dry, zones: fine.zones() })
        };
        assert_eq!(
            [run(false, (&blind, &blind_key)), run(true, (&blind, &blind_key)), run(true, by)],
            [200, 403, 200]
        );
        // Of several zones each is looked at: one that is not for the key, or that it may not change so, and nothing is done.
        let several = |all: &[(&str, &[(&str, u16)])]| {
            let mut zones = ZonesBuf::default();
            for (zone, sets) in all {
                zones.push(&name(zone), Condition::None, &sets_of(sets));
            }
            zones
        };
        let faults = |zones: &ZonesBuf| {
            let asked = Asked::Change { repeat: None, is_dry: false, zones: zones.zones() };
            let ask = Ask { key: other.as_bytes(), address: [127, 0, 0, 1].into(), asked };
            judge(&changer, &ask, 0)
                .map(|(_, task)| matches!(task, Task::Change { zones, .. } if zones.len() == 2))
                .map_err(|no| {
                    let places: Vec<_> = no.faults.iter().map(|(at, _)| (at.zone, at.set)).collect();
                    (no.status, no.words, places)
                })
        };
        let fine: (&str, &[(&str, u16)]) = ("A.x.", &[("w.a.x.", rtype::A)]);
        assert_eq!(faults(&several(&[fine, ("c.x.", &[])])), Ok(true));
        for (zones, status, words, places) in [
            (several(&[fine, ("a.y.", &[])]), 404, "a.y.: no such zone", [(1, None)]),
            (several(&[fine, ("a.x.", &[])]), 422, "a.x.: a zone is there twice", [(1, None)]),
            (
                several(&[fine, ("c.x.", &[("w.c.x.", rtype::A)])]),
                403,
                "some RRsets are not for this key to change",
                [(1, Some(0))],
            ),
            (
                several(&[("c.x.", &[("c.x.", rtype::A), ("w.y.", rtype::A)]), fine]),
                422,
                "some RRsets cannot be so",
                [(0, Some(1))],
            ),
        ] {
            assert_eq!(faults(&zones), Err((status, words.to_owned(), places.to_vec())));
        }
        assert_eq!(change(&ZonesBuf::default(), by), 422);
        let many: Vec<String> = (0..=SETS_MAX).map(|number| format!("n{number}.a.x.")).collect();
        let many: Vec<(&str, u16)> = many.iter().map(|owner| (&**owner, rtype::A)).collect();
        let (first, rest) = many.split_at(SETS_MAX / 2);
        assert_eq!(change(&several(&[("a.x.", first), ("c.x.", rest)]), by), 413);
        // Rules are told by a verb of their own, also where they deny; of zones that are not there for the key none are.
        let (asker, asker_key) = keys("verbs = \"explain\"");
        let explain = |zones: &ZonesBuf, by: (&Keys, &str)| status(by.0, by.1, Asked::Explain(zones.zones()));
        let inquirer = (&asker, &*asker_key);
        let asked = several(&[fine]);
        assert_eq!([explain(&asked, by), explain(&asked, inquirer)], [403, 200]);
        assert_eq!(explain(&changes("a.y.", &[("w.a.y.", rtype::A)]), inquirer), 404);
        assert_eq!(explain(&changes("a.y.", &[("w.a.y.", rtype::A)]), by), 404);
        assert_eq!(explain(&changes("a.x.", &[("w.b.x.", rtype::A)]), inquirer), 422);
        let act = |act, by: (&Keys, &str)| status(by.0, by.1, Asked::Act { zone: &in_scope, act });
        assert_eq!(
            [act(Act::Notify, by), act(Act::Retrieve, by), act(Act::Notify, (&reader, &secret))],
            [200, 403, 403]
        );
    }
}
