//! Who may change what in a zone: rules by key, address, name and type, of which the first that fits decides.
//!
//! ```text
//! grant dhcp-key. subdomain dyn.example. A AAAA DHCID
//!  `granted  `identity  `match  `name       `types
//! ```
//!
//! The words are those of BIND's `update-policy`. Which addresses and keys may send updates at all is for the access lists of the zone, which come
//! before. Design: `docs/design/update.md` 4.

mod explain;
mod parse;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use wire::iana::rtype;
use wire::{Name, SortKey, Transport};

pub use explain::{Explanation, Looked};
pub use parse::{API_NAME_OCTETS_MAX, RuleFault, is_api_name, of_api_key};

/// Most rules of a policy: each is looked at for each record of an update.
pub const RULES_MAX: usize = 1_024;

/// Who sends an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker<'k> {
    /// Where from.
    pub address: IpAddr,
    /// How the message came.
    pub transport: Transport,
    /// The name of the key whose signature was verified: of TSIG, or of SIG(0).
    pub key: Option<&'k Name>,
}

/// Rules in their order.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    rules: Vec<Rule>,
}

/// One rule.
#[derive(Clone, Debug)]
struct Rule {
    /// As the settings have it.
    text: String,
    is_grant: bool,
    identity: Identity,
    names: Names,
    types: Types,
}

/// Whom a rule is about. Keys of names ([`SortKey`]).
#[derive(Clone, Debug, PartialEq, Eq)]
enum Identity {
    Anybody,
    Key(Box<[u8]>),
    /// Keys with names below this one.
    Below(Box<[u8]>),
    /// The key of the HTTP API with this name.
    Api(Box<str>),
}

/// Which names a rule is about. Keys of names.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Names {
    /// This one.
    Name(Box<[u8]>),
    /// This one and what is below.
    Subdomain(Box<[u8]>),
    /// What is below this one: the wildcard's parent.
    Wildcard(Box<[u8]>),
    /// Those whose first labels are these.
    Label(Box<[u8]>),
    /// All of the zone.
    Zonesub,
    /// That of the key.
    SelfName,
    /// That of the key and what is below.
    SelfSub,
    /// What is below that of the key.
    SelfWild,
    /// That of the client's address, if it came by a stream.
    TcpSelf,
}

/// Which types a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Types {
    /// All but those by which a zone hangs together.
    Usual,
    All,
    Listed(Vec<u16>),
}

/// What a policy says of a name and a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether the change may be made.
    pub is_granted: bool,
    /// Which rule says so, from 1 on; `None`: no rule fits, which denies.
    pub rule: Option<u16>,
}

/// What of a rule does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// It is about other senders.
    Identity,
    /// It is about other names.
    Name,
    /// It is about other types.
    Type,
}

impl Policy {
    /// Compiles rules as settings have them. `Err`: which one, from 0 on, and what is wrong with it.
    pub fn new<'t>(rules: impl IntoIterator<Item = &'t str>) -> Result<Policy, (usize, RuleFault)> {
        let rules: Result<Vec<_>, _> = rules
            .into_iter()
            .enumerate()
            .map(|(number, text)| {
                let fault = |fault| (number, fault);
                if number >= RULES_MAX {
                    return Err(fault(RuleFault::TooMany));
                }
                parse::rule(text).map_err(fault)
            })
            .collect();
        Ok(Policy { rules: rules? })
    }

    /// What the policy says of this sender.
    pub fn of(&self, asker: &Asker<'_>) -> Permission<'_> {
        Permission { rules: &self.rules, asker: Known::of(asker) }
    }

    /// What it says of the key of the HTTP API with this name: rules name it `api:NAME`, and it is no TSIG key, whatever it is called. It has no address either, as
    /// nobody here knows one.
    pub fn of_api(&self, name: &str) -> Permission<'_> {
        let asker = Known { key: None, address: None, api: Some(name.into()) };
        Permission { rules: &self.rules, asker }
    }
}

/// A policy as it is for one sender.
pub struct Permission<'p> {
    rules: &'p [Rule],
    asker: Known,
}

impl Permission<'_> {
    /// Whether any rule could grant the sender anything.
    pub fn is_known(&self) -> bool {
        let asker = &self.asker;
        self.rules.iter().any(|rule| rule.is_grant && asker.is(&rule.identity) && asker.can_be(&rule.names))
    }

    /// Whether the sender may change RRsets of type `rtype` at the name with this key, counted from the root.
    pub fn decide(&self, key: &[u8], rtype: u16) -> Decision {
        self.decision(|rule| rule.misfit(&self.asker, key, Some(rtype)).is_none())
    }

    /// Whether the sender may change RRsets of some types at the name. Which ones, [`Permission::decide`] says.
    pub fn decide_any(&self, key: &[u8]) -> Decision {
        // Denied is only what a rule denies in all types, before any that grants.
        self.decision(|rule| {
            rule.misfit(&self.asker, key, None).is_none() && (rule.is_grant || rule.types == Types::All)
        })
    }

    fn decision(&self, fits: impl Fn(&Rule) -> bool) -> Decision {
        match self.rules.iter().position(fits) {
            Some(at) => Decision { is_granted: self.rules[at].is_grant, rule: Some(at as u16 + 1) },
            None => Decision { is_granted: false, rule: None },
        }
    }
}

impl Rule {
    /// What does not fit, looked at in this order; `rtype` `None`: any.
    fn misfit(&self, asker: &Known, key: &[u8], rtype: Option<u16>) -> Option<Misfit> {
        if !asker.is(&self.identity) {
            Some(Misfit::Identity)
        } else if !asker.may_name(&self.names, key) {
            Some(Misfit::Name)
        } else if rtype.is_some_and(|rtype| !self.types.have(rtype)) {
            Some(Misfit::Type)
        } else {
            None
        }
    }
}

impl Types {
    fn have(&self, rtype: u16) -> bool {
        match self {
            Types::All => true,
            Types::Listed(types) => types.contains(&rtype),
            Types::Usual => !is_structure(rtype),
        }
    }
}

/// Types by which a zone and its chain of trust hang together, or by which one record says what all names below it are: rules
/// name them or do not grant them.
fn is_structure(rtype: u16) -> bool {
    matches!(rtype, rtype::SOA | rtype::NS | rtype::DNAME | rtype::DS | rtype::DNSKEY)
        || matches!(rtype, rtype::CDS | rtype::CDNSKEY | rtype::CSYNC)
        || matches!(rtype, rtype::NSEC | rtype::NSEC3 | rtype::NSEC3PARAM | rtype::RRSIG)
}

/// A sender as rules see it.
struct Known {
    /// Key of the name of its key.
    key: Option<SortKey>,
    /// Key of the name of its address, if it came by a stream: others can be forged.
    address: Option<SortKey>,
    /// The name of its key of the HTTP API.
    api: Option<Box<str>>,
}

impl Known {
    fn of(asker: &Asker<'_>) -> Known {
        let is_stream = asker.transport != Transport::Udp;
        let address = is_stream.then(|| reverse(asker.address));
        Known { key: asker.key.map(SortKey::of), address, api: None }
    }

    fn is(&self, identity: &Identity) -> bool {
        match (identity, &self.key) {
            (Identity::Anybody, _) => true,
            (Identity::Api(name), _) => self.api.as_ref() == Some(name),
            (Identity::Key(name), Some(key)) => key.octets() == &**name,
            (Identity::Below(name), Some(key)) => is_below(key.octets(), name),
            (Identity::Key(_) | Identity::Below(_), None) => false,
        }
    }

    /// Whether there can be any name that the rule means.
    fn can_be(&self, names: &Names) -> bool {
        match names {
            Names::SelfName | Names::SelfSub | Names::SelfWild => self.key.is_some(),
            Names::TcpSelf => self.address.is_some(),
            Names::Name(_) | Names::Subdomain(_) | Names::Wildcard(_) => true,
            Names::Label(_) | Names::Zonesub => true,
        }
    }

    fn may_name(&self, names: &Names, key: &[u8]) -> bool {
        let own = self.key.as_ref().map(SortKey::octets);
        match names {
            Names::Name(name) => key == &**name,
            Names::Subdomain(name) => key.starts_with(name),
            Names::Wildcard(parent) => is_below(key, parent),
            Names::Label(labels) => begins_with(key, labels),
            Names::Zonesub => true,
            Names::SelfName => own == Some(key),
            Names::SelfSub => own.is_some_and(|own| key.starts_with(own)),
            Names::SelfWild => own.is_some_and(|own| is_below(key, own)),
            Names::TcpSelf => self.address.as_ref().is_some_and(|address| address.octets() == key),
        }
    }
}

/// Whether a name is below another: labels end in their keys, so that what begins with a key is at its name or below.
fn is_below(key: &[u8], ancestor: &[u8]) -> bool {
    key.len() > ancestor.len() && key.starts_with(ancestor)
}

/// Whether the first labels of a name are these: they are the last of its key, behind the end of another label or nothing.
fn begins_with(key: &[u8], labels: &[u8]) -> bool {
    key.strip_suffix(labels).is_some_and(|rest| rest.last().is_none_or(|octet| *octet == 0))
}

/// The name of an address: in in-addr.arpa (RFC 1035 3.5), or in ip6.arpa (RFC 3596 2.5).
fn reverse(address: IpAddr) -> SortKey {
    let mut key = SortKey::new();
    key.push_label(b"arpa");
    match address.to_canonical() {
        IpAddr::V4(address) => {
            key.push_label(b"in-addr");
            address.octets().iter().for_each(|octet| key.push_label(octet.to_string().as_bytes()));
        }
        IpAddr::V6(address) => {
            key.push_label(b"ip6");
            for octet in address.octets() {
                key.push_label(format!("{:x}", octet >> 4).as_bytes());
                key.push_label(format!("{:x}", octet & 15).as_bytes());
            }
        }
    }
    key
}
