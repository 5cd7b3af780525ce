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
}

impl fmt::Display for RuleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleFault::Action => f.write_str("a rule begins with `grant` or `deny`"),
            RuleFault::Identity => {
                f.write_str("second comes the name of a key, `*.` and a name for the keys below it, or `*`")
            }
            RuleFault::Match(found) => write!(
                f,
                "third comes `name`, `subdomain`, `wildcard`, `zonesub`, `self`, `selfsub`, `selfwild` or \
                 `tcp-self`, not `{found}`"
            ),
            RuleFault::Name(found) => write!(f, "`{found}` is not the name that is wanted here"),
            RuleFault::Type(found) => write!(f, "`{found}` is no type of records of a zone"),
            RuleFault::TooMany => write!(f, "more than {} rules", super::RULES_MAX),
        }
    }
}

impl std::error::Error for RuleFault {}

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
