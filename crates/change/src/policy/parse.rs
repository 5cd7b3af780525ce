//! Rules from their text.

use super::{Identity, Names, Rule, Types};
use std::fmt;
use wire::iana::rtype;
use wire::{NameBuf, SortKey};

/// What is wrong with the text of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleFault {
    /// Neither `grant` nor `deny` is its first word.
    Action,
    /// Whom it is about is missing, or is no name of a key, `*.` and a name, or `*`.
    Identity,
    /// Which names it is about is missing, or none of the words for it.
    Match(String),
    /// A name is missing, or is none.
    Name(String),
    /// No type of records.
    Type(String),
    /// More rules than a policy may have.
    TooMany,
    /// It is about the name of a key or an address, of one that has neither.
    NoSelf,
}

impl fmt::Display for RuleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleFault::Action => f.write_str("a rule begins with `grant` or `deny`"),
            RuleFault::Identity => {
                f.write_str("second comes the name of a key, `*.` and a name for the keys below it, `api:` and the name of an [[api-key]], or `*`")
            }
            RuleFault::Match(found) => write!(
                f,
                "third comes `name`, `subdomain`, `wildcard`, `label`, `zonesub`, `self`, `selfsub`, `selfwild` or \
                 `tcp-self`, not `{found}`"
            ),
            RuleFault::Name(found) => write!(f, "`{found}` is not the name that is wanted here"),
            RuleFault::Type(found) => write!(f, "`{found}` is no type of records of a zone"),
            RuleFault::NoSelf => f.write_str("a key of the API has no name or address in the DNS: write `name`, `subdomain`, `wildcard`, `label` or `zonesub`"),
            RuleFault::TooMany => write!(f, "more than {} rules", super::RULES_MAX),
        }
    }
}

impl std::error::Error for RuleFault {}

/// Before the name of a key of the HTTP API, where a rule says whom it is about.
const API: &str = "api:";

/// Octets of the name of a key of the HTTP API: it stands in rules, in the log and in answers.
pub const API_NAME_OCTETS_MAX: usize = 64;

/// Whether a text may be the name of a key of the HTTP API.
pub fn is_api_name(name: &str) -> bool {
    let is_letter = |octet: u8| octet.is_ascii_alphanumeric() || b"-_.".contains(&octet);
    (1..=API_NAME_OCTETS_MAX).contains(&name.len()) && name.bytes().all(is_letter)
}

/// A rule of a key of the HTTP API, which is about that key: `grant|deny MATCH [NAME] [TYPE...]`, as the text of one about everybody. Names of keys and of addresses
/// mean nothing there.
pub fn of_api_key(text: &str) -> Result<String, RuleFault> {
    let text = text.trim();
    let (action, rest) = text.split_once(|letter: char| letter.is_ascii_whitespace()).unwrap_or((text, ""));
    let full = format!("{action} * {}", rest.trim_start());
    match rule(&full)?.names {
        Names::SelfName | Names::SelfSub | Names::SelfWild | Names::TcpSelf => Err(RuleFault::NoSelf),
        _ => Ok(full),
    }
}

/// Reads `grant|deny IDENTITY MATCH [NAME] [TYPE...]`.
pub(super) fn rule(text: &str) -> Result<Rule, RuleFault> {
    let mut words = text.split_ascii_whitespace();
    let is_grant = match words.next() {
        Some("grant") => true,
        Some("deny") => false,
        _ => return Err(RuleFault::Action),
    };
    let identity = identity(words.next().ok_or(RuleFault::Identity)?)?;
    let word = words.next().unwrap_or_default();
    let mut rest = words.clone();
    let names = match word {
        "name" => Names::Name(key(rest.next())?),
        "subdomain" => Names::Subdomain(key(rest.next())?),
        "wildcard" => wildcard(rest.next().unwrap_or_default())?,
        "label" => label(rest.next())?,
        "zonesub" => Names::Zonesub,
        "self" => Names::SelfName,
        "selfsub" => Names::SelfSub,
        "selfwild" => Names::SelfWild,
        "tcp-self" => Names::TcpSelf,
        other => return Err(RuleFault::Match(other.to_string())),
    };
    let is_own = matches!(names, Names::SelfName | Names::SelfSub | Names::SelfWild | Names::TcpSelf);
    if is_own && let Some("*" | ".") = words.next() {
        // BIND wants a name here that says nothing.
        rest.next();
    }
    Ok(Rule { text: text.trim().to_string(), is_grant, identity, names, types: types(rest)? })
}

fn identity(word: &str) -> Result<Identity, RuleFault> {
    if word == "*" {
        return Ok(Identity::Anybody);
    }
    if let Some(name) = word.strip_prefix(API) {
        return if is_api_name(name) { Ok(Identity::Api(name.into())) } else { Err(RuleFault::Identity) };
    }
    let name = NameBuf::from_text(word).map_err(|_| RuleFault::Identity)?;
    Ok(match name.parent() {
        Some(parent) if name.is_wildcard() => Identity::Below(SortKey::of(parent).octets().into()),
        Some(_) => Identity::Key(SortKey::of(&name).octets().into()),
        None => return Err(RuleFault::Identity),
    })
}

fn key(word: Option<&str>) -> Result<Box<[u8]>, RuleFault> {
    let word = word.ok_or(RuleFault::Name(String::new()))?;
    let name = NameBuf::from_text(word).map_err(|_| RuleFault::Name(word.to_string()))?;
    Ok(SortKey::of(&name).octets().into())
}

fn label(word: Option<&str>) -> Result<Names, RuleFault> {
    // Of the root all names would have it.
    key(word).and_then(|labels| match labels.is_empty() {
        true => Err(RuleFault::Name(word.unwrap_or_default().to_string())),
        false => Ok(Names::Label(labels)),
    })
}

fn wildcard(word: &str) -> Result<Names, RuleFault> {
    let fault = || RuleFault::Name(word.to_string());
    let name = NameBuf::from_text(word).map_err(|_| fault())?;
    let parent = name.parent().filter(|_| name.is_wildcard()).ok_or_else(fault)?;
    Ok(Names::Wildcard(SortKey::of(parent).octets().into()))
}

fn types<'t>(words: impl Iterator<Item = &'t str>) -> Result<Types, RuleFault> {
    let mut listed = Vec::new();
    for word in words {
        match rtype::from_text(word.as_bytes()) {
            Some(rtype::ANY) => return Ok(Types::All),
            Some(rtype) if !rtype::is_meta(rtype) && rtype != 0 => listed.push(rtype),
            _ => return Err(RuleFault::Type(word.to_string())),
        }
    }
    Ok(if listed.is_empty() { Types::Usual } else { Types::Listed(listed) })
}
