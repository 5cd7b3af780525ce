//! Access lists as they are written: texts to lists and rules, and what is wrong with them.

mod local;

pub(crate) use local::machine_addresses;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use auth::access::{
    KEYS_MAX, Kind, LISTS_MAX, List, ListFault, ListSource, PREFIXES_MAX, Prefix, PrefixFault,
    RULE_LISTS_MAX, Rule,
};
use auth::rate::Limits;
use toml::Spanned;
use toml::de::DeTable;
use wire::{NameBuf, Transport};

use super::problem::{Report, nearest};
use super::sections::{AclSettings, ZoneSettings};
use super::value::Names;
use super::{AccessSettings, Settings};
use crate::findings::{Digest, Refuse};
use crate::sources::{Listing, Rules};

/// Names of rules that are no lists.
const ALL: &str = "all";
/// Name of the list that needs no section: this machine and the networks that it is in.
const LOCAL: &str = "local";
/// Most sections: there is that list beside them.
const ACLS_MAX: usize = LISTS_MAX - 1;
pub(super) const NOBODY: &str = "nobody";

/// What an [[acl]] may call the transports.
const TRANSPORTS: [(&str, Transport); 5] = [
    ("udp", Transport::Udp),
    ("tcp", Transport::Tcp),
    ("tls", Transport::Tls),
    ("https", Transport::Https),
    ("quic", Transport::Quic),
];

/// What is wrong with a value, and with which item of it if it is a list.
type Fault = (&'static str, Option<usize>, String);

/// The lists by name.
#[derive(Default)]
pub(crate) struct Lists<'s> {
    numbers: HashMap<&'s str, u16>,
    /// In the order of the settings.
    pub(crate) lists: Vec<List>,
}

impl<'s> Lists<'s> {
    /// The lists of settings without faults; those that have some let nobody in.
    pub(crate) fn of(settings: &'s Settings) -> Lists<'s> {
        let mut lists = Lists::default();
        let keys = settings.key_names();
        for acl in settings.acls.iter().take(ACLS_MAX) {
            if let Ok(list) = compile(acl, &keys) {
                lists.numbers.insert(&acl.name, lists.lists.len() as u16);
                lists.lists.push(list);
            }
        }
        let prefixes = local::networks().into_iter().map(|network| (network, false)).collect();
        if let Ok(list) = List::new(&ListSource { prefixes, ..ListSource::default() }) {
            lists.numbers.insert(LOCAL, lists.lists.len() as u16);
            lists.lists.push(list);
        }
        lists
    }

    /// The rule that these names make; names that are not known let nobody in.
    pub(crate) fn rule(&self, names: &Names) -> Rule {
        match names.texts() {
            [one] if &**one == ALL => Rule::All,
            [one] if &**one == NOBODY => Rule::Nobody,
            names => Rule::Lists(
                names
                    .iter()
                    .filter_map(|name| self.numbers.get(&**name).copied())
                    .take(RULE_LISTS_MAX)
                    .collect(),
            ),
        }
    }
}

impl AccessSettings {
    /// The rules by kind of request, as [`auth::access::Kind`] numbers them.
    pub(crate) fn kinds(&self) -> [(&'static str, &Names); auth::access::Kind::COUNT] {
        [
            ("query", &self.query),
            ("transfer", &self.transfer),
            ("update", &self.update),
            ("notify", &self.notify),
            ("recursion", &self.recursion),
        ]
    }
}

/// Compiles a list, or says what is wrong with it. `keys`: the names of those there are, in lower case.
fn compile(acl: &AclSettings, keys: &HashSet<NameBuf>) -> Result<List, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut source = ListSource { must_be_proved: acl.proved, ..ListSource::default() };
    for (at, text) in acl.addresses.texts().iter().enumerate() {
        match prefix(text) {
            Ok(prefix) => source.prefixes.push(prefix),
            Err(fault) => faults.push(("addresses", Some(at), fault)),
        }
    }
    for (at, text) in acl.transports.texts().iter().enumerate() {
        match TRANSPORTS.iter().find(|(name, _)| **name == **text) {
            Some((_, transport)) => source.transports.push(*transport),
            None => {
                let text = one_of("transport", text, TRANSPORTS.iter().map(|(name, _)| *name));
                faults.push(("transports", Some(at), text));
            }
        }
    }
    for (at, text) in acl.keys.texts().iter().enumerate() {
        let name = NameBuf::from_text(text).ok().map(|name| name.to_lowercase());
        match name.filter(|name| keys.contains(name)) {
            Some(name) => source.keys.push(name),
            None => faults.push(("keys", Some(at), unknown_key(text, keys))),
        }
    }
    let list = List::new(&source);
    match list {
        Ok(list) if faults.is_empty() => Ok(list),
        // What was left out of it because it is wrong would make other faults.
        Ok(_) => Err(faults),
        Err(_) if !faults.is_empty() => Err(faults),
        Err(fault) => Err(vec![list_fault(fault, acl)]),
    }
}

/// The message about a name that no key has.
pub(super) fn unknown_key(text: &str, keys: &HashSet<NameBuf>) -> String {
    // In this order the nearest is always the same.
    let mut names: Vec<String> = keys.iter().map(ToString::to_string).collect();
    names.sort_unstable();
    match nearest(text, names.iter().map(String::as_str)) {
        Some(near) => format!("unknown [[key]] {text:?}; did you mean {near:?}?"),
        None if names.is_empty() => {
            format!("expected the name of a [[key]], found {text:?}; there are none")
        }
        None => format!("expected the name of a [[key]], found {text:?}"),
    }
}

fn list_fault(fault: ListFault, acl: &AclSettings) -> Fault {
    match fault {
        ListFault::TooManyPrefixes => {
            let found = acl.addresses.texts().len();
            ("addresses", None, format!("expected at most {PREFIXES_MAX} prefixes, found {found}"))
        }
        ListFault::TooManyKeys => ("keys", None, format!("expected at most {KEYS_MAX} keys")),
        ListFault::Twice(first, second) => {
            let [first, again] = [first, second].map(|at| &acl.addresses.texts()[at]);
            ("addresses", Some(second), format!("expected each prefix once, found {again:?} beside {first:?}"))
        }
        ListFault::NobodyLeft => (
            "addresses",
            None,
            "expected a prefix that is let in, found excluded ones alone; with \"0.0.0.0/0\" and \"::/0\" all others are"
                .into(),
        ),
    }
}

/// Reads `ADDRESS/LENGTH` or `ADDRESS`, and whether a `!` excludes it.
pub(super) fn prefix(text: &str) -> Result<(Prefix, bool), String> {
    let (rest, is_excluded) = text.strip_prefix('!').map_or((text, false), |rest| (rest, true));
    let (address, length) =
        rest.split_once('/').map_or((rest, None), |(address, length)| (address, Some(length)));
    let expected = || format!("expected an address or prefix such as \"192.0.2.0/24\", found {text:?}");
    let address: IpAddr = address.parse().map_err(|_| expected())?;
    let all = if address.is_ipv4() { 32 } else { 128 };
    let length: u8 = match length {
        Some(digits) if digits.bytes().all(|digit| digit.is_ascii_digit()) => {
            digits.parse().map_err(|_| expected())?
        }
        Some(_) => return Err(expected()),
        None => all,
    };
    Prefix::new(address, length).map(|prefix| (prefix, is_excluded)).map_err(|fault| match fault {
        PrefixFault::Length(bits) => format!("expected a prefix of at most {bits} bits, found {text:?}"),
        PrefixFault::HostBits(prefix) => {
            format!(
                "expected zeros after the first {} bits, found {text:?}; did you mean \"{prefix}\"?",
                prefix.length()
            )
        }
    })
}

/// The message about a word that is none of those there are.
pub(super) fn one_of<'k>(what: &str, word: &str, known: impl Iterator<Item = &'k str> + Clone) -> String {
    match nearest(word, known.clone()) {
        Some(near) => format!("unknown {what} {word:?}; did you mean {near:?}?"),
        None => format!("unknown {what} {word:?}; known are {}", known.collect::<Vec<_>>().join(", ")),
    }
}

/// What is wrong with the names that make a rule.
fn rule_faults(names: &Names, known: &HashSet<&str>) -> Vec<(Option<usize>, String)> {
    let texts = names.texts();
    let mut faults = Vec::new();
    if texts.len() > RULE_LISTS_MAX {
        // Each is compared with all before it, so that more are not looked at.
        return vec![(None, format!("expected at most {RULE_LISTS_MAX} lists, found {}", texts.len()))];
    }
    for (at, text) in texts.iter().enumerate() {
        let is_whole = matches!(&**text, ALL | NOBODY);
        if texts[..at].contains(text) {
            faults.push((Some(at), format!("expected each list once, found {text:?} twice")));
        } else if is_whole && texts.len() > 1 {
            faults.push((Some(at), format!("expected {text:?} alone, found it beside others")));
        } else if !is_whole && &**text != LOCAL && !known.contains(&**text) {
            // In this order the nearest is always the same.
            let mut names: Vec<&str> = known.iter().copied().chain([ALL, LOCAL, NOBODY]).collect();
            names.sort_unstable();
            faults.push((Some(at), one_of("[[acl]]", text, names.into_iter())));
        }
    }
    faults
}

impl Settings {
    /// Reports what is wrong with lists and with what names them. `table`: of the whole file, for the places.
    pub(super) fn check_access(&self, table: &DeTable<'_>, report: &mut Report<'_>) {
        let (mut known, keys) = (HashSet::new(), self.key_names());
        for (at, acl) in self.acls.iter().enumerate() {
            let place = Place { table, section: "acl", at: Some(at) };
            let name = &*acl.name;
            let wrong = match name {
                "" => Some("expected a name for the list, found none".into()),
                ALL | LOCAL | NOBODY => Some(format!(
                    "expected a name other than \"{ALL}\", \"{LOCAL}\" and \"{NOBODY}\", found {name:?}"
                )),
                _ => (!known.insert(name)).then(|| format!("expected each name once, found {name:?} twice")),
            };
            if let Some(text) = wrong {
                place.report(report, "name", None, text);
            }
            for (key, item, text) in compile(acl, &keys).err().unwrap_or_default() {
                place.report(report, key, item, text);
            }
        }
        if self.acls.len() > ACLS_MAX {
            let place = Place { table, section: "acl", at: Some(ACLS_MAX) };
            let text = format!("expected at most {ACLS_MAX} lists, found {}", self.acls.len());
            place.report(report, "name", None, text);
        }
        let mut check = |section, at, key, names: &Names| {
            for (item, text) in rule_faults(names, &known) {
                Place { table, section, at }.report(report, key, item, text);
            }
        };
        for (key, names) in self.access.kinds() {
            check("access", None, key, names);
        }
        check("rate-limit", None, "exempt", &self.rate_limit.exempt);
        for (section, at, zone) in self.sections_of_zones() {
            for (key, names) in zone.kinds() {
                check(section, Some(at), key, names);
            }
        }
    }

    /// What is limited, if anything is. `lists`: of these settings.
    pub(crate) fn limits(&self, lists: &Lists<'_>) -> Option<Limits> {
        let limit = &self.rate_limit;
        let most = |per_second: u32| per_second.min(Limits::PER_SECOND_MAX);
        limit.enabled.then(|| Limits {
            responses_per_second: limit.responses_per_second,
            network_per_second: limit.network_per_second,
            wide_per_second: most(limit.network_per_second.saturating_mul(limit.wide_multiple)),
            total_per_second: limit.total_per_second,
            prefixes: [limit.prefix_v4, limit.prefix_v6],
            wide_prefixes: [limit.wide_prefix_v4, limit.wide_prefix_v6],
            slip: limit.slip,
            log_only: limit.log_only,
            exempt: if limit.exempt.is_empty() { Rule::Nobody } else { lists.rule(&limit.exempt) },
            table_octets: limit.table_octets,
        })
    }

    /// The lists that sections of zones name for themselves, each time that one does.
    pub(crate) fn own_lists(&self) -> impl Iterator<Item = OwnLists> {
        self.sections_of_zones().map(|(.., zone)| zone.own_lists()).filter(|own| !own.is_empty())
    }

    /// Whether what is stored of zones may be served before it is known which sections they are of: none of these names lists for queries, says that nobody is answered, or requires
    /// digests.
    pub(crate) fn may_serve_stored(&self) -> bool {
        !self.has_own_queries() && !self.requires_digests()
    }

    /// Whether sections of zones require digests.
    pub(crate) fn requires_digests(&self) -> bool {
        self.sections_of_zones().any(|(.., zone)| zone.digest() == Digest::Require)
    }

    /// Whether sections of zones name lists for queries, or say that nobody is answered: what is kept of zones may not be served before these are known.
    pub(crate) fn has_own_queries(&self) -> bool {
        self.sections_of_zones().any(|(.., zone)| zone.mirror || !zone.allow_query.is_empty())
    }
}

/// What sections of zones name for themselves, by key.
type OwnKinds<'s> = [(&'static str, &'s Names); OwnLists::KINDS];

/// The access lists that a section of zones names for itself, by kind of request as [`Kind`] numbers them; none: what `[access]` says. And what becomes of
/// updates that they let in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OwnLists {
    names: [Names; OwnLists::KINDS],
    forwards_updates: bool,
    is_mirror: bool,
}

impl OwnLists {
    /// Kinds that zones have rules for: all but recursion, which is about zones of others.
    pub const KINDS: usize = Kind::COUNT - 1;

    /// Those of queries alone.
    #[cfg(test)]
    pub(crate) fn of_queries(names: &Names) -> OwnLists {
        let mut lists = OwnLists::default();
        lists.names[Kind::Query as usize] = names.clone();
        lists
    }

    /// Whether it names none, and says nothing else.
    pub fn is_empty(&self) -> bool {
        self.names.iter().all(Names::is_empty) && !self.forwards_updates && !self.is_mirror
    }

    /// Whether updates are sent on to a primary of the zone.
    pub fn forwards_updates(&self) -> bool {
        self.forwards_updates
    }

    /// Whether zones are for the resolver alone, which nobody may be answered from.
    pub fn is_mirror(&self) -> bool {
        self.is_mirror
    }

    /// Whether not everybody is answered who may query elsewhere.
    pub fn has_queries(&self) -> bool {
        self.is_mirror || !self.names[Kind::Query as usize].is_empty()
    }

    /// What it names for each kind.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = (usize, &Names)> {
        self.names.iter().enumerate()
    }
}

impl ZoneSettings {
    fn kinds(&self) -> OwnKinds<'_> {
        [
            ("allow-query", &self.allow_query),
            ("allow-transfer", &self.allow_transfer),
            ("allow-update", &self.allow_update),
            ("allow-notify", &self.allow_notify),
        ]
    }

    /// What it says of who may do what.
    fn own_lists(&self) -> OwnLists {
        OwnLists {
            names: self.kinds().map(|(_, names)| names.clone()),
            forwards_updates: self.forward_updates,
            is_mirror: self.mirror,
        }
    }

    /// What becomes of the digests of its zones.
    fn digest(&self) -> Digest {
        let unset = if self.mirror { Digest::Verify } else { Digest::Ignore };
        Digest::named(&self.zonemd).unwrap_or(unset)
    }

    /// What it says of its zones beside where they are.
    pub(crate) fn rules(&self) -> Rules {
        let listing = |catalog: &NameBuf| Listing {
            catalog: catalog.to_lowercase(),
            groups: self.group.clone(),
            coo: self.coo.clone(),
        };
        Rules {
            lists: self.own_lists(),
            refuse: Refuse::named(&self.refuse),
            notify: self.notify.clone(),
            update: self.update_rules(),
            ixfr: self.ixfr_rules(),
            primaries: self.primaries.clone(),
            persist: self.persist,
            digest: self.digest(),
            member_of: None,
            listing: self.catalog.as_ref().map(listing),
            is_made: self.make_catalog,
            incoming: None,
        }
    }
}

/// A section of the file, one of several if it has a number.
pub(super) struct Place<'t> {
    pub(super) table: &'t DeTable<'t>,
    pub(super) section: &'static str,
    pub(super) at: Option<usize>,
}

impl Place<'_> {
    /// Reports a problem of a key of the section, or of an item of its list, as near to it as there is something written.
    pub(super) fn report(&self, report: &mut Report<'_>, key: &str, item: Option<usize>, text: String) {
        let Some(section) = self.table.get(self.section) else { return };
        let one = self.at.and_then(|at| section.get_ref().as_array()?.get(at)).unwrap_or(section);
        let value: Option<&Spanned<_>> = one.get_ref().as_table().and_then(|table| table.get(key));
        let item = value.and_then(|value| value.get_ref().as_array()?.get(item?));
        report.add(item.or(value).unwrap_or(one).span(), format!("{key}: {text}"));
    }
}
