//! An ask by its key: what it may do, before anything is looked at. What a key may not see is not there.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use api::frame::{Act, Ask, Asked, FOUND_MAX, Facts, Objects, Part, Sets, Verbs, What, Who, Zones};
use api::path::id;
use change::alteration::{Fault, check_form};
use wire::{NameBuf, SortKey};

use super::explain::Question;
use super::listing::Filter;
use super::reading::Wanted;
use super::sessions::{Now, Sessions};
use super::views::View;
use super::words::{NO_ZONE, altered};
use super::{Key, Keys};
use crate::dynamic::Repeat;
use crate::why::Question as Asking;

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
    List { name: Option<NameBuf>, of: Filter, after: Option<api::frame::Cursor>, limit: u32 },
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
    /// What leads back to the one with a serial is told.
    Undo { zone: NameBuf, serial: u32 },
    /// RRsets of these zones are to be so, which are there once each; whether only to try.
    Change { zones: Arc<[NameBuf]>, is_dry: bool, repeat: Option<Repeat> },
    /// Rules that are looked at for RRsets are told.
    Explain(Vec<Question>),
    /// Something is done at once.
    Act { zone: NameBuf, act: Act },
    /// A zone is made, set or removed.
    Work { zone: NameBuf, repeat: Option<Repeat> },
    /// A session begins.
    SignIn,
    /// What a session is, or what a key may do, is told.
    Session,
    /// A session ends.
    SignOut,
    /// How the server is now is told, with lines of the log behind so many.
    Now { said: u64 },
    /// How it was in the last hour.
    Hour,
    /// What else it tells of itself.
    View(View),
    /// Why a question is answered as it is.
    Why(Asking),
    /// How a zone stands, with what only operators know or without.
    Stand { zone: NameBuf, is_all: bool },
}

/// Why nothing is done.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct No {
    pub(super) status: u16,
    pub(super) words: String,
    /// At which zones and RRsets, and what.
    pub(super) faults: Vec<(At, String)>,
    /// In how many seconds it is worth asking again, where that is known.
    pub(super) retry_after: Option<u16>,
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
        No { status, words: words.into(), faults: Vec::new(), retry_after: None }
    }

    /// The same, which may be otherwise after some seconds.
    pub(super) fn for_seconds(self, seconds: u16) -> No {
        No { retry_after: Some(seconds), ..self }
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

/// The key of an ask: of who has none, of a code that is given for anything but a session, and of a session that is over, the same is said.
pub(super) fn whose(keys: &Keys, sessions: &Sessions, ask: &Ask<'_>, now: Now) -> Result<Arc<Key>, No> {
    let is_for_that = !matches!(ask.who, Who::Code(_)) || matches!(ask.asked, Asked::SignIn { .. });
    let key = if is_for_that { sessions.whose(keys, &ask.who, now) } else { None };
    key.filter(|key| key.may_come_from(ask.address)).ok_or_else(|| No::new(401, NO_KEY))
}

/// What is to be done, if its key may have it done. Who has signed in may have nothing done but what only reads, whatever the process says.
pub(super) fn judge(keys: &Keys, key: &Key, ask: &Ask<'_>) -> Result<Task, No> {
    match (&ask.who, &ask.asked) {
        (Who::Session { .. }, Asked::Session | Asked::SignOut) => {}
        (Who::Session { .. }, Asked::SignIn { .. }) => {
            return Err(No::new(403, "a session begins with a key or a code, and with no other session"));
        }
        (Who::Session { .. }, asked) if !is_reading(asked) => {
            return Err(No::new(403, "a session only reads: this needs a key"));
        }
        (Who::Key(_) | Who::Code(_), Asked::SignOut) => {
            return Err(No::new(401, NO_KEY));
        }
        _ => {}
    }
    task(keys, key, &ask.asked)
}

/// Whether an ask changes nothing, and is no dry run of one that would.
fn is_reading(asked: &Asked<'_>) -> bool {
    matches!(
        asked,
        Asked::Who
            | Asked::List { .. }
            | Asked::Search { .. }
            | Asked::Zone { .. }
            | Asked::History { .. }
            | Asked::Facts(_)
            | Asked::View(_)
    )
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
        Asked::SignIn { .. } => Task::SignIn,
        Asked::Session => Task::Session,
        Asked::SignOut => Task::SignOut,
        Asked::List { name, account, stands, after, limit } => {
            may(Verbs::READ, "read")?;
            let name = name.map(wire::Name::to_lowercase);
            let is_nothing = name.as_deref().is_some_and(|name| !key.may_see(name));
            let of = Filter { account: account.map(Into::into), stands };
            if is_nothing { Task::ListNothing } else { Task::List { name, of, after, limit } }
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
        Asked::View(api::frame::View::Zone(zone)) => {
            let zone = see(zone)?;
            may(Verbs::READ, "read")?;
            Task::Stand { zone, is_all: key.verbs.has(Verbs::SERVER) }
        }
        Asked::View(api::frame::View::Why { name, rtype, is_tcp, dnssec_ok }) => {
            may(Verbs::READ, "read")?;
            Task::Why(Asking { name: name.to_owned(), rtype, is_tcp, dnssec_ok, from: None })
        }
        Asked::View(view) => view_task(view, may)?,
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
                Part::Page(after, limit) => Wanted::Page(after.map(wire::Name::to_lowercase), limit),
            };
            Task::Read { zone, wanted, with_dnssec }
        }
        Asked::History { zone, undo } => {
            let zone = see(zone)?;
            may(Verbs::READ, "read")?;
            match undo {
                None => Task::History { zone },
                Some(serial) => Task::Undo { zone, serial },
            }
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
        Asked::Make { zone, repeat, fields, sets } => {
            may(Verbs::MAKE, "make zones")?;
            if !key.may_see(zone) {
                return Err(No::new(403, "no zone of this name is for this key: `zones` in its section"));
            }
            look_at_contents(zone, sets)?;
            let repeat = repeat_of(key, repeat, Asked::Make { zone, repeat: None, fields, sets });
            Task::Work { zone: zone.to_lowercase(), repeat }
        }
        Asked::Set { zone, repeat, condition, fields } => {
            let repeat = repeat_of(key, repeat, Asked::Set { zone, repeat: None, condition, fields });
            let zone = see(zone)?;
            may(Verbs::SET, "set fields of zones")?;
            Task::Work { zone, repeat }
        }
        Asked::Drop { zone, repeat, condition } => {
            let repeat = repeat_of(key, repeat, Asked::Drop { zone, repeat: None, condition });
            let zone = see(zone)?;
            may(Verbs::DROP, "remove zones")?;
            Task::Work { zone, repeat }
        }
    })
}

/// What the server tells of itself: how it is by one verb, what others ask by another.
fn view_task(view: api::frame::View<'_>, may: impl Fn(Verbs, &str) -> Result<(), No>) -> Result<Task, No> {
    use api::frame::View as Wanted;
    match view {
        Wanted::Asked | Wanted::Resolver(_) => may(Verbs::OBSERVE, "see what others ask")?,
        _ => may(Verbs::SERVER, "see how the server is")?,
    }
    Ok(match view {
        Wanted::Now { said } => Task::Now { said },
        Wanted::Hour => Task::Hour,
        Wanted::Asked => Task::View(View::Asked),
        Wanted::Locks => Task::View(View::Locks),
        Wanted::Journals => Task::View(View::Journals),
        Wanted::Resolver(name) => Task::View(View::Resolver(name.map(wire::Name::to_lowercase))),
        Wanted::Zone(zone) => Task::Stand { zone: zone.to_lowercase(), is_all: false },
        Wanted::Why { name, rtype, is_tcp, dnssec_ok } => {
            Task::Why(Asking { name: name.to_owned(), rtype, is_tcp, dnssec_ok, from: None })
        }
    })
}

/// A request under a key of repeats, by all that it asks for.
fn repeat_of(key: &Key, name: Option<&str>, asked: Asked<'_>) -> Option<Repeat> {
    let mut octets = Vec::new();
    let name = name?;
    Ask { who: Who::Key(&[]), address: IpAddr::V6(Ipv6Addr::UNSPECIFIED), asked }.write(&mut octets);
    Some(Repeat::of(key, name, &octets))
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
mod tests;
