//! Which names a change concerns, and what becomes of the names above them: what a pack's builder finds out in one pass over all.
//!
//! ```text
//! records of the change, by owner --> names that come: parents get PARENT and WILDCARD_CHILD, or come too, upwards
//!                                 --> names that go, from below: parents lose them, or go too, upwards
//! ```
//!
//! Whether a name has children left when one goes is found beside the one that went, forwards and backwards in turn: names that are gone already are passed over, the
//! fewer of both sides, so that to remove all children of a name takes a logarithm of steps each.

use super::Refused;
use super::held::{Held, Wrong};
use crate::change::{Change, Record};
use crate::contents::Flags;
use crate::delta::Changed;
use crate::lookup::{Merged, MergedBack, Node, ZoneView};
use dnssec::nsec3::{Nsec3 as Rdata, hash_of_label};
use std::collections::{BTreeMap, BTreeSet};
use wire::iana::rtype;
use wire::sort_key::{KEY_OCTETS_MAX, name_of};
use wire::{Name, SortKey};

/// A name that the change concerns.
pub(super) struct Pending<'v> {
    pub(super) held: Held<'v>,
    /// Whether it was a name, empty non-terminals included, in the newest state.
    pub(super) was_name: bool,
    pub(super) has_child: bool,
    pub(super) has_wildcard: bool,
    /// It is put into the delta though nothing of it changes: a cut whose list of glue in the pack does.
    pub(super) is_forced: bool,
}

/// The names that a change concerns, by their keys relative to the apex.
pub(super) struct Plan<'v> {
    pub(super) view: ZoneView<'v>,
    changed: &'v Changed,
    /// Boxed, as few of the places in a leaf of the map are taken.
    pub(super) names: BTreeMap<Box<[u8]>, Box<Pending<'v>>>,
    /// Names to which children come.
    risen: BTreeSet<Box<[u8]>>,
    /// Names of which children go, and one of these.
    fallen: BTreeMap<Box<[u8]>, Box<[u8]>>,
}

/// The key one label up; `None` of the apex.
pub(crate) fn parent_of(key: &[u8]) -> Option<&[u8]> {
    let (_, labels) = key.split_last()?;
    Some(&key[..labels.iter().rposition(|octet| *octet == 0).map_or(0, |at| at + 1)])
}

/// Whether the first label of a name is `*`.
pub(crate) fn is_wildcard(key: &[u8]) -> bool {
    parent_of(key).is_some_and(|parent| key[parent.len()..] == *b"*\0")
}

/// The hash that a name one label below the apex says, if it says one.
pub(super) fn hash_of(key: &[u8]) -> Option<[u8; 20]> {
    let (0, label) = key.split_last()? else { return None };
    hash_of_label(label)
}

fn is_one_label(key: &[u8]) -> bool {
    parent_of(key).is_some_and(<[u8]>::is_empty)
}

impl Pending<'_> {
    /// Whether it is the owner of NSEC3 records and nothing else (RFC 5155 7.2.8).
    pub(super) fn is_nsec3_owner(&self, key: &[u8]) -> bool {
        !self.has_child && is_one_label(key) && self.held.is_all_nsec3()
    }

    /// Whether it is a name, empty non-terminals included, once the change is made.
    pub(super) fn is_name(&self, key: &[u8]) -> bool {
        key.is_empty() || self.has_child || self.held.has_data() && !self.is_nsec3_owner(key)
    }

    /// Whether its NSEC3 RRset belongs to the chain of the zone.
    pub(super) fn is_in_chain(&self, key: &[u8], view: &ZoneView<'_>) -> bool {
        let Some(set) = self.held.set(rtype::NSEC3) else { return false };
        if set.kept.is_some() {
            return self.held.old_record.is_some();
        }
        let Some((iterations, salt)) = view.nsec3_parameters() else { return false };
        let first = set.records.iter().min().and_then(|rdata| Rdata::parse(rdata).ok());
        let is_of_chain =
            first.is_some_and(|own| own.params.iterations() == iterations && own.params.salt() == salt);
        is_of_chain && hash_of(key).is_some()
    }

    /// The flags that its node is stored with, those that its references follow from apart.
    pub(super) fn flags(&self, key: &[u8], is_secure: bool) -> Flags {
        if self.is_nsec3_owner(key) {
            return Flags::NSEC3;
        }
        let mut flags = self.held.flags(key.is_empty(), is_secure);
        let mut set = |flag: Flags, is_set: bool| {
            if is_set {
                flags.set(flag);
            }
        };
        set(Flags::APEX, key.is_empty());
        set(Flags::PARENT, self.has_child);
        set(Flags::WILDCARD_CHILD, self.has_wildcard);
        set(Flags::WILDCARD, is_wildcard(key));
        set(Flags::EMPTY, !key.is_empty() && !self.held.has_data());
        flags
    }
}

impl From<Wrong> for Refused {
    fn from(wrong: Wrong) -> Refused {
        match wrong {
            Wrong::NotThere => Refused::NotThere(0),
            Wrong::AlreadyThere => Refused::AlreadyThere(0),
            Wrong::Damaged => Refused::Damaged,
        }
    }
}

/// A step of a change: whether the record is added, its number, and the record.
type Step<'c> = (bool, usize, Record<'c>);

impl<'v> Plan<'v> {
    /// What `change` makes of the newest state, which `changed` and its view are.
    pub(super) fn of(changed: &'v Changed, view: ZoneView<'v>, change: &Change) -> Result<Plan<'v>, Refused> {
        if !change.zone().eq_ignore_case(view.apex()) {
            return Err(Refused::OutOfZone);
        }
        let mut plan =
            Plan { view, changed, names: BTreeMap::new(), risen: BTreeSet::new(), fallen: BTreeMap::new() };
        let (steps, owners) = plan.steps(change)?;
        for (key, numbers) in owners {
            let pending = plan.load(&key)?;
            for number in numbers {
                make(&mut pending.held, &steps[number])?;
            }
            pending.held.sort();
            if plan.names.len() > super::COMMIT_NAMES_MAX {
                return Err(Refused::TooManyNames);
            }
        }
        plan.rise()?;
        plan.fall()?;
        plan.force()?;
        Ok(plan)
    }

    /// The steps of a change, and their numbers by owner: what is removed first.
    #[allow(clippy::type_complexity)]
    fn steps<'c>(
        &self,
        change: &'c Change,
    ) -> Result<(Vec<Step<'c>>, BTreeMap<Box<[u8]>, Vec<usize>>), Refused> {
        let removed = change.removed().iter().enumerate().map(|(number, record)| (false, number, record));
        let added = change.added().iter().enumerate().map(|(number, record)| (true, number, record));
        let steps: Vec<Step<'c>> = removed.chain(added).collect();
        let mut owners: BTreeMap<Box<[u8]>, Vec<usize>> = BTreeMap::new();
        let (mut key, mut last) = (SortKey::new(), None::<&Name>);
        for (at, (_, _, record)) in steps.iter().enumerate() {
            if last != Some(record.owner) {
                key.set(record.owner);
                last = Some(record.owner);
            }
            let relative = key.octets().strip_prefix(self.view.apex_key()).ok_or(Refused::OutOfZone)?;
            match owners.get_mut(relative) {
                Some(numbers) => numbers.push(at),
                None => drop(owners.insert(relative.into(), vec![at])),
            }
        }
        Ok((steps, owners))
    }

    /// What the name with this key has.
    fn load(&mut self, key: &[u8]) -> Result<&mut Pending<'v>, Refused> {
        if !self.names.contains_key(key) {
            let name = name_of(self.view.apex_key(), key).map_err(|_| Refused::Damaged)?;
            let old = self.view.find(key);
            let hash = hash_of(key).filter(|_| self.view.has_nsec3_chain());
            let record = hash.and_then(|hash| self.view.nsec3_exact(self.changed, &hash));
            let flags = old.map_or(Flags::default(), |node| node.stored_flags());
            let pending = Pending {
                held: Held::new(name, self.view.apex(), old, record)?,
                was_name: old.is_some() && !flags.has(Flags::NSEC3),
                has_child: flags.has(Flags::PARENT),
                has_wildcard: flags.has(Flags::WILDCARD_CHILD),
                is_forced: false,
            };
            self.names.insert(key.into(), Box::new(pending));
        }
        self.names.get_mut(key).map(|pending| &mut **pending).ok_or(Refused::Damaged)
    }

    /// Makes names above those that come.
    fn rise(&mut self) -> Result<(), Refused> {
        let all = self.names.iter();
        let comes = all.filter(|(key, pending)| !pending.was_name && pending.is_name(key));
        let new: Vec<Box<[u8]>> = comes.map(|(key, _)| key.clone()).collect();
        for mut key in new {
            while let Some(parent) = parent_of(&key).map(Box::<[u8]>::from) {
                let is_wildcard = is_wildcard(&key);
                self.risen.insert(parent.clone());
                let (is_name, has_child, has_wildcard) = self.present(&parent);
                if is_name && has_child && (has_wildcard || !is_wildcard) {
                    break;
                }
                let pending = self.load(&parent)?;
                pending.has_child = true;
                pending.has_wildcard |= is_wildcard;
                if pending.was_name {
                    break;
                }
                key = parent;
            }
        }
        Ok(())
    }

    /// Whether it is a name with children, and with a wildcard among them, as far as is known now.
    fn present(&self, key: &[u8]) -> (bool, bool, bool) {
        if let Some(pending) = self.names.get(key) {
            return (pending.was_name, pending.has_child, pending.has_wildcard);
        }
        let flags = self.view.find(key).map(|node| node.stored_flags());
        let Some(flags) = flags else { return (false, false, false) };
        (!flags.has(Flags::NSEC3), flags.has(Flags::PARENT), flags.has(Flags::WILDCARD_CHILD))
    }

    /// Removes names above those that go, from below.
    fn fall(&mut self) -> Result<(), Refused> {
        let were = self.names.iter().filter(|(_, pending)| pending.was_name);
        let mut work: BTreeSet<Box<[u8]>> = were.map(|(key, _)| key.clone()).collect();
        while let Some(key) = work.pop_last() {
            if let Some(child) = self.fallen.get(&key) {
                let has_child = self.risen.contains(&key) || self.has_child_beside(&key, child);
                if !has_child {
                    self.load(&key)?.has_child = false;
                }
            }
            let is_gone = match self.names.get(&key) {
                Some(pending) => pending.was_name && !pending.is_name(&key),
                None => false,
            };
            if let Some(parent) = parent_of(&key).filter(|_| is_gone) {
                if is_wildcard(&key) {
                    self.load(parent)?.has_wildcard = false;
                }
                self.fallen.entry(parent.into()).or_insert_with(|| key.clone());
                work.insert(parent.into());
            }
        }
        Ok(())
    }

    /// Takes cuts in that have addresses below them which are other: their glue is looked up then, that of other cuts is not.
    fn force(&mut self) -> Result<(), Refused> {
        let has_other_addresses =
            |pending: &Pending<'_>| [rtype::A, rtype::AAAA].iter().any(|rtype| pending.held.is_other(*rtype));
        let moved = self.names.iter().filter(|(_, pending)| has_other_addresses(pending));
        let moved: Vec<Box<[u8]>> = moved.map(|(key, _)| key.clone()).collect();
        for key in moved {
            let above = std::iter::successors(parent_of(&key), |key| parent_of(key));
            for cut in above.filter(|key| !key.is_empty()) {
                let is_cut = |node: Node<'_>| node.flags().has(Flags::CUT) && !node.is_own();
                if self.view.find(cut).is_some_and(is_cut) {
                    self.load(cut)?.is_forced = true;
                }
            }
        }
        Ok(())
    }

    /// Whether a name has names below it once the change is made; `child`: one below it that has gone. None comes.
    fn has_child_beside(&self, key: &[u8], child: &[u8]) -> bool {
        let mut forward = Some(Merged::new(self.view, self.changed, child, false));
        let mut back = Some(MergedBack::new(self.view, self.changed, child, false));
        let mut buffer = [0; KEY_OCTETS_MAX];
        while forward.is_some() || back.is_some() {
            if let Some(names) = &mut forward {
                match self.is_left(key, names.next(), &mut buffer) {
                    Some(true) => return true,
                    Some(false) => {}
                    None => forward = None,
                }
            }
            if let Some(names) = &mut back {
                match self.is_left(key, names.next(), &mut buffer) {
                    Some(true) => return true,
                    Some(false) => {}
                    None => back = None,
                }
            }
        }
        false
    }

    /// Whether `node` is still there once the change is made; `None` if it is not below `key`.
    fn is_left(&self, key: &[u8], node: Option<Node<'v>>, buffer: &mut [u8]) -> Option<bool> {
        let node = node?;
        let octets = node.copy_key(buffer);
        let own = &buffer[..octets];
        if !own.starts_with(key) || own.len() == key.len() {
            return None;
        }
        Some(match self.names.get(own) {
            Some(pending) => pending.is_name(own),
            None => !node.stored_flags().has(Flags::NSEC3),
        })
    }
}

/// Makes one step of a change.
fn make(held: &mut Held<'_>, (is_added, number, record): &Step<'_>) -> Result<(), Refused> {
    let made = match is_added {
        true => held.add(record.rtype, record.ttl, record.rdata),
        false => held.remove(record.rtype, record.rdata),
    };
    made.map_err(|wrong| match wrong {
        Wrong::NotThere => Refused::NotThere(*number),
        Wrong::AlreadyThere => Refused::AlreadyThere(*number),
        Wrong::Damaged => Refused::Damaged,
    })
}
