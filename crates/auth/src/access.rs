//! Who may ask for what: access lists by address, key and transport, and which of them hold for which kind of request.
//!
//! ```text
//! kind, group of the zone -> rule: all | nobody | lists      one list that lets the client in is enough
//! list: transports, keys, addresses, proved                  all of these must fit
//! ```
//!
//! Compiled from settings and published as a whole; a decision allocates nothing and takes no lock. It knows no zones: what a zone has of its own
//! goes by the number of its [`Group`]. Design: `docs/design/access.md`.

mod list;
mod prefix;
mod ranges;
#[cfg(test)]
mod tests;

use crate::rate::Limits;
use std::net::IpAddr;
use std::sync::Arc;
use wire::{Name, Transport};
use zone::catalog::Group;

pub use list::{List, ListFault, ListSource};
pub use prefix::{Prefix, PrefixFault};

/// Most lists of a server: a list a customer, and the width of their numbers.
pub const LISTS_MAX: usize = 4096;
/// Most lists of a rule: a query that is refused is looked for in each.
pub const RULE_LISTS_MAX: usize = 16;
/// Most prefixes of a list, the excluded ones included: those of countries and of known abusers have some ten thousand. A search of twice as
/// many flips takes 18 steps.
pub const PREFIXES_MAX: usize = 100_000;
/// Most keys of a list: they are compared one by one, after a MAC that costs more.
pub const KEYS_MAX: usize = 64;

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Ordinary queries.
    Query,
    /// AXFR and IXFR.
    Transfer,
    /// Dynamic updates (RFC 2136).
    Update,
    /// That a zone has changed (RFC 1996).
    Notify,
    /// Queries about zones of others.
    Recursion,
}

impl Kind {
    /// How many there are.
    pub const COUNT: usize = 5;
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker<'k> {
    /// Where from; a mapped IPv4 address is as good as the address.
    pub address: IpAddr,
    /// How the request came.
    pub transport: Transport,
    /// Whether the client was seen to receive at its address.
    pub is_proved: bool,
    /// The key of a signature that was verified.
    pub key: Option<&'k Name>,
}

/// What is decided. The order is that of what a rule of several lists says: the greatest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// The client is not let in.
    #[default]
    Denied,
    /// It would be, if it had shown that it receives at its address.
    Unproved,
    /// It is let in.
    Allowed,
}

/// Which clients may make requests of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// All.
    All,
    /// None.
    Nobody,
    /// Those whom one of these lists lets in, given by number: at most [`RULE_LISTS_MAX`]. A number without a list is one that lets nobody in.
    Lists(Box<[u16]>),
}

/// The rules of a group of zones by kind, where these have their own. There are no zones in recursion.
pub type GroupRules = [Option<Rule>; Kind::COUNT];

/// More than there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooMany {
    /// Lists: [`LISTS_MAX`].
    Lists,
    /// Lists of a rule: [`RULE_LISTS_MAX`].
    ListsOfRule,
    /// Groups: [`Group::NUMBERS_MAX`].
    Groups,
}

/// All lists and rules of a server; see the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Queries are for all, and no group says otherwise: nothing else has to be looked at.
    is_open: bool,
    /// Groups may be of mirrors.
    has_mirrors: bool,
    /// How often those may ask who have not shown where they are.
    limits: Option<Arc<Limits>>,
    /// Some group has a rule for queries.
    has_group_queries: bool,
    /// Zones are in their groups.
    is_settled: bool,
    lists: Box<[List]>,
    defaults: [Rule; Kind::COUNT],
    /// Of group 1 and those after it.
    groups: Box<[GroupRules]>,
    /// Of the same, whether updates are sent on to a primary.
    forwards: Box<[bool]>,
}

impl Default for Access {
    /// Queries from all, nothing else from anybody: behind a proxy of the same machine everybody is loopback.
    fn default() -> Access {
        use Rule::{All, Nobody};
        Access {
            is_open: true,
            has_mirrors: false,
            limits: None,
            has_group_queries: false,
            is_settled: true,
            lists: Box::default(),
            defaults: [All, Nobody, Nobody, Nobody, Nobody],
            groups: Box::default(),
            forwards: Box::default(),
        }
    }
}

impl Access {
    /// What these lists and rules say. `defaults`: by kind; `groups`: of zones that have rules of their own, group 1 first.
    pub fn new(
        lists: Vec<List>,
        defaults: [Rule; Kind::COUNT],
        groups: Vec<GroupRules>,
    ) -> Result<Access, TooMany> {
        if lists.len() > LISTS_MAX {
            return Err(TooMany::Lists);
        }
        if groups.len() > Group::NUMBERS_MAX {
            return Err(TooMany::Groups);
        }
        let is_long = |rule: &Rule| matches!(rule, Rule::Lists(lists) if lists.len() > RULE_LISTS_MAX);
        if defaults.iter().chain(groups.iter().flatten().flatten()).any(is_long) {
            return Err(TooMany::ListsOfRule);
        }
        let has_group_queries = groups.iter().any(|rules| rules[Kind::Query as usize].is_some());
        let is_open = defaults[Kind::Query as usize] == Rule::All && !has_group_queries;
        Ok(Access {
            is_open,
            has_mirrors: false,
            limits: None,
            has_group_queries,
            is_settled: true,
            lists: lists.into(),
            defaults,
            groups: groups.into(),
            forwards: Box::default(),
        })
    }

    /// The same with limits; lists of these are numbered as those of rules.
    #[must_use]
    pub fn limited(self, limits: Option<Limits>) -> Access {
        Access { limits: limits.map(Arc::new), ..self }
    }

    /// The same; `is_settled`: all zones are in their groups. If not, other requests than queries wait: a zone may have rules for them that are not known yet.
    #[must_use]
    pub fn settled(self, is_settled: bool) -> Access {
        Access { is_settled, ..self }
    }

    /// The same; `has_mirrors`: groups may be of copies of zones that only a resolver is answered from ([`Group::mirrored`]).
    #[must_use]
    pub fn mirroring(self, has_mirrors: bool) -> Access {
        Access { has_mirrors, ..self }
    }

    /// The same; `forwards`: whether updates of zones of group 1 and those after it are sent on to a primary.
    #[must_use]
    pub fn forwarding(self, forwards: Vec<bool>) -> Access {
        Access { forwards: forwards.into(), ..self }
    }

    /// Whether updates of zones of this group are sent on to a primary (RFC 2136 6).
    #[must_use]
    pub fn forwards_updates(&self, group: Group) -> bool {
        let at = group.number().checked_sub(1);
        at.and_then(|at| self.forwards.get(at)).copied().unwrap_or(false)
    }

    /// Whether all zones are in their groups.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// How often clients may ask, if anybody is limited.
    #[inline(always)]
    pub fn limits(&self) -> Option<&Arc<Limits>> {
        self.limits.as_ref()
    }

    /// Whether everybody may ask everything.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether what is found has to be looked at before it is answered from: it may be for some, or a mirror.
    #[inline(always)]
    pub(crate) fn looks_at_groups(&self) -> bool {
        !self.is_open || self.has_mirrors
    }

    /// Whether there are zones with a rule of their own for queries.
    #[must_use]
    pub fn has_group_queries(&self) -> bool {
        self.has_group_queries
    }

    /// Whether a client may make a request of a kind about a zone of this group. A group that is not known lets nobody in: who learns of a zone
    /// before the lists must not give it away.
    #[must_use]
    pub fn decide(&self, kind: Kind, group: Group, asker: &Asker<'_>) -> Decision {
        let default = &self.defaults[kind as usize];
        let rule = match group.number().checked_sub(1) {
            None => default,
            Some(at) => match self.groups.get(at) {
                Some(rules) => rules[kind as usize].as_ref().unwrap_or(default),
                None => &Rule::Nobody,
            },
        };
        self.of_rule(rule, asker)
    }

    /// What a rule says of a client.
    #[must_use]
    pub(crate) fn of_rule(&self, rule: &Rule, asker: &Asker<'_>) -> Decision {
        match rule {
            Rule::All => Decision::Allowed,
            Rule::Nobody => Decision::Denied,
            Rule::Lists(lists) => {
                let asker = Asker { address: asker.address.to_canonical(), ..*asker };
                let mut decision = Decision::Denied;
                for list in lists.iter().filter_map(|list| self.lists.get(usize::from(*list))) {
                    decision = decision.max(list.decide(&asker));
                    if decision == Decision::Allowed {
                        break;
                    }
                }
                decision
            }
        }
    }
}
