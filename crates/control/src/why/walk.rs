//! The way of a question through the zones in words: the lookups that the answer is made by (`auth`, RFC 1034 4.3.2), once more.

use wire::iana::rtype;
use wire::name::NAME_OCTETS_MAX;
use wire::{Name, NameBuf, SortKey};
use zone::catalog::Absence;
use zone::{CatalogView, Flags, Match, MatchKind, Node, ZoneView};

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

/// The whole way: each step with how many zones had been found before it.
pub(super) struct Walked {
    pub(super) steps: Vec<(Step, usize)>,
    /// Apexes, in their order.
    pub(super) zones: Vec<NameBuf>,
    pub(super) end: End,
}

/// Where it goes from a name.
enum Next {
    End(End),
    Follow(NameBuf),
}

/// Walks. `is_within_zone`: aliases into other zones are not followed.
pub(super) fn walk(view: &CatalogView<'_>, question: &Question, is_within_zone: bool) -> Walked {
    let mut way = Way { view, rtype: question.rtype, steps: Vec::new(), zones: Vec::new() };
    let mut name = question.name.to_lowercase();
    let mut before: Vec<NameBuf> = Vec::new();
    let end = loop {
        let zone = match way.zone(&name, before.is_empty()) {
            Ok(zone) => zone,
            Err(end) => break end,
        };
        let target = match way.down(&zone, &name) {
            Next::End(end) => break end,
            Next::Follow(target) => target,
        };
        before.push(name);
        if before.iter().any(|before| **before == *target) {
            way.say("alias", format!("{target} was there before: the chain ends"));
            break End::Alias;
        }
        if before.len() >= CHAIN_MAX {
            way.say("alias", format!("the chain ends after {CHAIN_MAX} names"));
            break End::Alias;
        }
        if is_within_zone && !target.is_at_or_below(zone.apex()) {
            way.say(
                "alias",
                format!("{target} is in another zone, which is not looked into: `minimal` aliases"),
            );
            break End::Alias;
        }
        name = target;
    };
    Walked { steps: way.steps, zones: way.zones, end }
}

struct Way<'v, 'c> {
    view: &'v CatalogView<'c>,
    rtype: u16,
    steps: Vec<(Step, usize)>,
    zones: Vec<NameBuf>,
}

impl<'c> Way<'_, 'c> {
    /// Says a step; it is of the zone that was found last.
    fn say(&mut self, about: &'static str, words: String) {
        self.steps.push((step(about, words), self.zones.len().saturating_sub(1)));
    }

    /// The zone to look in: the nearest, but for DS at an apex the one above (RFC 4035 3.1.4.1).
    fn zone(&mut self, name: &Name, is_first: bool) -> Result<ZoneView<'c>, End> {
        let (key, labels) = (SortKey::of(name), name.label_count());
        let mut hit = self.view.find(&key, usize::MAX);
        let is_apex = !hit.found.is_nothing() && usize::from(hit.found.labels) == labels;
        if self.rtype == rtype::DS && labels > 0 && is_apex {
            let above = self.view.find(&key, labels - 1);
            if !above.found.is_nothing() {
                self.say("zone", format!("DS of {name} is for the zone above to say"));
                hit = above;
            }
        }
        if !hit.found.is_nothing() {
            self.zones.push(ancestor(name, usize::from(hit.found.labels)));
        }
        if let Some(zone) = hit.zone() {
            self.say("zone", format!("the nearest zone is {}, serial {}", zone.apex(), zone.row().serial));
            return Ok(zone);
        }
        let apex = ancestor(name, usize::from(hit.found.labels));
        let (words, end) = match hit.absence().filter(|_| !hit.found.is_nothing()) {
            Some(Absence::Expired) => {
                (format!("zone {apex} has expired: SERVFAIL (extended error 24)"), End::Absent)
            }
            Some(Absence::NotLoaded) => {
                (format!("zone {apex} has no data: SERVFAIL (extended error 14)"), End::Absent)
            }
            None if is_first => (format!("no zone here is at or above {name}: REFUSED"), End::NotOurs),
            None => (format!("no zone here is at or above {name}: the chain ends"), End::Alias),
        };
        self.say("zone", words);
        Err(if is_first { end } else { End::Alias })
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
                self.of_type(&found.node, &at, rtype::DS).unwrap_or(Next::End(End::NoData))
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
        if let Some(next) = self.of_type(node, name, self.rtype) {
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

    fn of_type(&mut self, node: &Node<'c>, name: &Name, of: u16) -> Option<Next> {
        let Some(set) = node.rrset(of) else {
            if of == rtype::DS {
                self.say("end", format!("{name} has no DS: no data"));
                return Some(Next::End(End::NoData));
            }
            return None;
        };
        let records = counted(records(&set), "record");
        self.say("end", format!("{}: {records}, TTL {}", rtype::Text(of), set.ttl()));
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
fn ancestor(name: &Name, labels: usize) -> NameBuf {
    let mut at = name;
    while at.label_count() > labels {
        let Some(parent) = at.parent() else { break };
        at = parent;
    }
    at.to_owned()
}
