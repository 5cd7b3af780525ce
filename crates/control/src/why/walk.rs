//! The way of a question through the zones in words: the lookups that the answer is made by (`auth`, RFC 1034 4.3.2), once more, for each name that the response has come by.

use wire::iana::rtype;
use wire::name::NAME_OCTETS_MAX;
use wire::{Name, NameBuf, SortKey};
use zone::catalog::{Absence, Hit, SlotNumber, Version};
use zone::{CatalogView, Flags, Match, MatchKind, Node, ZoneView};

use super::printed::Printed;
use super::{Question, Step, step};
use crate::text::count as counted;

/// Names of a chain of aliases, as answers have them.
const CHAIN_MAX: usize = auth::limits::CHAIN_MAX;
/// Types of a node that are told.
const TYPES_MAX: usize = 20;

/// How it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Answer,
    NoData,
    NameError,
    Referral,
    /// With an alias that is not followed.
    Alias,
    TooLong,
    NotOurs,
    /// A zone without data.
    Absent,
    Damaged,
}

/// The whole way.
pub(super) struct Walked {
    pub(super) steps: Vec<Step>,
    /// `None`: with a name whose zone the asker may not see, or that is in none.
    pub(super) end: Option<End>,
    /// Whether aliases were found as the response has them.
    pub(super) is_as_sent: bool,
    /// Whether the last zone is signed.
    pub(super) is_signed: bool,
}

/// Where it goes from a name.
enum Next {
    End(End),
    Follow(NameBuf),
}

/// The zone to look in, as answers have it: the nearest, but for DS at an apex the one above (RFC 4035 3.1.4.1), and none that is a copy for a resolver.
pub(super) fn nearest<'c>(view: &CatalogView<'c>, name: &Name, of: u16) -> Option<Hit<'c>> {
    let (key, labels) = (SortKey::of(name), name.label_count());
    let mut hit = view.find(&key, usize::MAX);
    if of == rtype::DS && labels > 0 && usize::from(hit.found.labels) == labels {
        let above = view.find(&key, labels - 1);
        hit = if above.found.is_nothing() { hit } else { above };
    }
    while view.group_of(hit.found.version().slot).is_mirror() {
        hit = view.find(&key, usize::from(hit.found.labels).checked_sub(1)?);
    }
    (!hit.found.is_nothing()).then_some(hit)
}

/// Which zones names are in, and which versions of them.
pub(super) fn versions(view: &CatalogView<'_>, names: &[NameBuf], of: u16) -> Vec<Option<Version>> {
    names.iter().map(|name| nearest(view, name, of).map(|hit| hit.found.version())).collect()
}

/// Walks from name to name, as the response has them: the one asked for, and where its aliases lead. `is_within_zone`: aliases into other zones are not followed.
pub(super) fn walk(
    view: &CatalogView<'_>,
    question: &Question,
    (names, printed): (&[NameBuf], Option<&Printed>),
    is_within_zone: bool,
    may_see: &dyn Fn(&Name) -> bool,
) -> Walked {
    let steps = Vec::new();
    let mut way =
        Way { view, rtype: question.rtype, may_see, steps, is_as_sent: true, is_signed: false, slot: None };
    let last = names.len().saturating_sub(1);
    let mut end = Some(End::Damaged);
    for (at, name) in names.iter().enumerate() {
        let hit = nearest(view, name, question.rtype);
        let is_seen = match &hit {
            Some(hit) => may_see(&ancestor(name, usize::from(hit.found.labels))),
            None => may_see(Name::root()),
        };
        if !is_seen {
            end = None;
            break;
        }
        let is_new = !names[..at].iter().any(|before| **before == **name);
        let is_looked_up =
            at == 0 || at < last || is_new && printed.is_some_and(|printed| printed.goes_to(name));
        end = Some(if is_looked_up {
            way.look_up(hit, name, names.get(at + 1))
        } else {
            way.not_followed(hit, &names[..at], name, is_within_zone)
        });
    }
    Walked { steps: way.steps, end, is_as_sent: way.is_as_sent, is_signed: way.is_signed }
}

struct Way<'v, 'c> {
    view: &'v CatalogView<'c>,
    rtype: u16,
    may_see: &'v dyn Fn(&Name) -> bool,
    steps: Vec<Step>,
    is_as_sent: bool,
    is_signed: bool,
    /// Of the zone that was looked in last.
    slot: Option<SlotNumber>,
}

impl<'c> Way<'_, 'c> {
    fn say(&mut self, about: &'static str, words: String) {
        self.steps.push(step(about, words));
    }

    /// Looks a name up, from which an alias leads to the next one, if there is one.
    fn look_up(&mut self, hit: Option<Hit<'c>>, name: &Name, next: Option<&NameBuf>) -> End {
        let zone = match self.zone(hit, name) {
            Ok(zone) => zone,
            Err(end) => return end,
        };
        match (self.down(&zone, name), next) {
            (Next::Follow(target), Some(next)) => {
                self.is_as_sent &= *target == **next;
                End::Alias
            }
            (Next::End(end), None) => end,
            // The alias has no room, or leads to longer and longer names (RFC 6672 2.2): the response ends with what is before it.
            (Next::Follow(_), None) => End::Alias,
            (Next::End(end), Some(_)) => {
                self.is_as_sent = false;
                end
            }
        }
    }

    /// Says why the last alias is not followed. `before`: the names until then.
    fn not_followed(
        &mut self,
        hit: Option<Hit<'c>>,
        before: &[NameBuf],
        name: &Name,
        is_within_zone: bool,
    ) -> End {
        let words = match hit {
            None => format!("no zone here is at or above {name}: the chain ends"),
            Some(_) if before.iter().any(|before| **before == *name) => {
                format!("{name} was there before: the chain ends")
            }
            Some(_) if before.len() >= CHAIN_MAX => format!("the chain ends after {CHAIN_MAX} names"),
            Some(hit) if is_within_zone && self.slot != Some(hit.found.version().slot) => {
                format!(
                    "{name} is in another zone, into which answers do not go: `aliases-across-zones` in [server]"
                )
            }
            Some(hit) if hit.zone().is_none() => {
                let apex = ancestor(name, usize::from(hit.found.labels));
                format!("zone {apex} has no data now: the chain ends")
            }
            Some(_) => format!("the chain ends with {name}: there is no room for more proofs"),
        };
        self.say("alias", words);
        End::Alias
    }

    fn zone(&mut self, hit: Option<Hit<'c>>, name: &Name) -> Result<ZoneView<'c>, End> {
        let Some(hit) = hit else {
            self.say("zone", format!("no zone here is at or above {name}: REFUSED"));
            return Err(End::NotOurs);
        };
        self.slot = Some(hit.found.version().slot);
        let apex = ancestor(name, usize::from(hit.found.labels));
        let own = self.view.find(&SortKey::of(name), usize::MAX).found;
        let has_own = !own.is_nothing() && usize::from(own.labels) == name.label_count();
        if self.rtype == rtype::DS && has_own && *apex != *name && (self.may_see)(name) {
            self.say("zone", format!("DS of {name} is for the zone above to say"));
        }
        let Some(zone) = hit.zone() else {
            let (why, code) = match hit.absence() {
                Some(Absence::Expired) => ("has expired", 24),
                _ => ("has no data", 14),
            };
            self.say("zone", format!("zone {apex} {why}: SERVFAIL (extended error {code})"));
            return Err(End::Absent);
        };
        self.is_signed = zone.is_signed();
        self.say("zone", format!("the nearest zone is {}, serial {}", zone.apex(), zone.row().serial));
        Ok(zone)
    }

    /// Down the zone, label by label, and on from where that ends.
    fn down(&mut self, zone: &ZoneView<'c>, name: &Name) -> Next {
        let Some(found) = zone.walk(&SortKey::of(name)) else {
            self.say("walk", "the zone's pack cannot be read: SERVFAIL".to_owned());
            return Next::End(End::Damaged);
        };
        let at = ancestor(name, found.labels);
        match found.kind {
            MatchKind::Cut if self.rtype == rtype::DS && found.labels == name.label_count() => {
                self.say("walk", format!("{at} is a zone cut, of which the zone above has DS"));
                self.of_type(&found.node).unwrap_or_else(|| {
                    self.say("end", format!("{at} has no DS: no data"));
                    Next::End(End::NoData)
                })
            }
            MatchKind::Cut => self.referral(&found, &at),
            MatchKind::Dname => self.dname(zone, &found, &at, name),
            MatchKind::Exact => {
                let words = match types(&found.node) {
                    text if text.is_empty() => {
                        format!("{at} is there and has nothing: names below it have (an empty non-terminal)")
                    }
                    text => format!("{at} is there: {text}"),
                };
                self.say("walk", words);
                self.node(zone, &found.node, name)
            }
            MatchKind::Encloser => self.wildcard(zone, &found, &at, name),
        }
    }

    fn referral(&mut self, found: &Match<'c>, at: &Name) -> Next {
        let count = |rtype| found.node.rrset(rtype).map_or(0, |set| records(&set));
        let signed = match count(rtype::DS) {
            0 => "no DS: not signed".to_owned(),
            number => format!("{number} DS"),
        };
        let servers = counted(count(rtype::NS), "name server");
        self.say("walk", format!("{at} is a zone cut: {servers}, {signed}"));
        self.say("end", "a referral: the servers of the zone below know".to_owned());
        Next::End(End::Referral)
    }

    fn dname(&mut self, zone: &ZoneView<'c>, found: &Match<'c>, at: &Name, name: &Name) -> Next {
        let target = target(zone, &found.node, at, rtype::DNAME);
        let Some(target) = target else { return Next::End(End::Damaged) };
        let kept = name.octets().len() - at.octets().len();
        let octets = [&name.octets()[..kept], target.octets()].concat();
        if octets.len() > NAME_OCTETS_MAX {
            self.say("alias", format!("DNAME of {at} to {target}: the name would be too long: YXDOMAIN"));
            return Next::End(End::TooLong);
        }
        let Ok(next) = Name::from_wire(&octets).map(Name::to_lowercase) else {
            return Next::End(End::Damaged);
        };
        self.say("alias", format!("DNAME of {at} to {target}: {name} becomes {next}"));
        if matches!(self.rtype, rtype::CNAME | rtype::ANY | rtype::RRSIG) {
            self.say("end", "that is what was asked for".to_owned());
            return Next::End(End::Answer);
        }
        Next::Follow(next)
    }

    fn wildcard(&mut self, zone: &ZoneView<'c>, found: &Match<'c>, at: &Name, name: &Name) -> Next {
        let next_closer = ancestor(name, found.labels + 1);
        let is_it = *next_closer == *name;
        let beside = if is_it { String::new() } else { format!(", the next closer name {next_closer}") };
        self.say("walk", format!("{name} is not there; its closest encloser is {at}{beside}"));
        let source = if at.is_root() { "*.".to_owned() } else { format!("*.{at}") };
        match zone.wildcard_below(found) {
            Some(node) => {
                self.say("walk", format!("from {source}, which has {}", types(&node)));
                self.node(zone, &node, name)
            }
            None => {
                self.say("walk", format!("there is no {source}"));
                self.say("end", "no such name: NXDOMAIN".to_owned());
                Next::End(End::NameError)
            }
        }
    }

    /// What a node has of the type; its own name is another one where it is a wildcard.
    fn node(&mut self, zone: &ZoneView<'c>, node: &Node<'c>, name: &Name) -> Next {
        if matches!(self.rtype, rtype::ANY | rtype::RRSIG) {
            let has_some = match self.rtype {
                rtype::ANY => node.rrsets().next().is_some(),
                _ => node.rrsets().any(|set| set.is_signed()) || node.rrset(rtype::RRSIG).is_some(),
            };
            let words = match (has_some, self.rtype) {
                (false, _) => "nothing of that is there: no data",
                (true, rtype::ANY) => "ANY: one RRset, or all over TCP where that is set (RFC 8482)",
                (true, _) => "RRSIG: signatures of one RRset (RFC 8482)",
            };
            self.say("end", words.to_owned());
            return Next::End(if has_some { End::Answer } else { End::NoData });
        }
        if let Some(next) = self.of_type(node) {
            return next;
        }
        if node.flags().has(Flags::CNAME) && !rtype::may_be_at_cname(self.rtype) {
            let Some(target) = target(zone, node, name, rtype::CNAME) else { return Next::End(End::Damaged) };
            self.say("alias", format!("CNAME to {target}"));
            return Next::Follow(target.to_lowercase());
        }
        self.say("end", format!("no {}: no data", rtype::Text(self.rtype)));
        Next::End(End::NoData)
    }

    fn of_type(&mut self, node: &Node<'c>) -> Option<Next> {
        let set = node.rrset(self.rtype)?;
        let records = counted(records(&set), "record");
        self.say("end", format!("{}: {records}, TTL {}", rtype::Text(self.rtype), set.ttl()));
        Some(Next::End(End::Answer))
    }
}

fn records(set: &zone::RRset<'_>) -> usize {
    match set.data() {
        zone::Data::Inline(_) => 1,
        zone::Data::Fragment(fragment) => fragment.len(),
    }
}

/// Where an alias leads to.
fn target(zone: &ZoneView<'_>, node: &Node<'_>, owner: &Name, of: u16) -> Option<NameBuf> {
    let rdatas = node.rrset(of)?.rdata(owner, zone.apex())?;
    Name::from_wire(rdatas.first()?).ok().map(Name::to_owned)
}

/// Types of a node, in words.
fn types(node: &Node<'_>) -> String {
    let all: Vec<String> = node.rrsets().map(|set| rtype::Text(set.rtype()).to_string()).collect();
    let more = all.len().saturating_sub(TYPES_MAX);
    let told = all[..all.len() - more].join(", ");
    if more == 0 { told } else { format!("{told} and {more} more") }
}

/// The last labels of a name.
pub(super) fn ancestor(name: &Name, labels: usize) -> NameBuf {
    let mut at = name;
    while at.label_count() > labels {
        let Some(parent) = at.parent() else { break };
        at = parent;
    }
    at.to_owned()
}
