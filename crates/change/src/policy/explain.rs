//! Which rule decides, and why those before it do not: one by one, and in words for operators.

use super::{Asker, Misfit, Permission, Policy};
use std::fmt;
use wire::iana::rtype;
use wire::{Name, SortKey};

/// A rule that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looked<'p> {
    /// Its number, from 1 on.
    pub number: u16,
    /// As the settings have it.
    pub text: &'p str,
    /// Whether it grants what it fits; else it denies it.
    pub is_grant: bool,
    /// What of it does not fit; `None`: it decides.
    pub misfit: Option<Misfit>,
}

/// What a policy says of a change, rule by rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Whether the change may be made.
    pub is_granted: bool,
    /// A line a rule up to the one that decides, and what that means last.
    pub lines: Vec<String>,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines.join("\n"))
    }
}

impl<'p> Permission<'p> {
    /// The rules that are looked at for a change of RRsets of type `rtype` at the name with this key, counted from the root: in their order, up to the one that decides; all, if none does.
    pub fn look(&self, key: &[u8], rtype: u16) -> impl Iterator<Item = Looked<'p>> {
        let mut is_decided = false;
        self.rules.iter().zip(1..).map_while(move |(rule, number)| {
            if is_decided {
                return None;
            }
            let misfit = rule.misfit(&self.asker, key, Some(rtype));
            is_decided = misfit.is_none();
            Some(Looked { number, text: &rule.text, is_grant: rule.is_grant, misfit })
        })
    }
}

impl Policy {
    /// Says what becomes of a change of RRsets of type `rtype` at `name`, and by which rule.
    pub fn explain(&self, asker: &Asker<'_>, name: &Name, rtype: u16) -> Explanation {
        let (permission, key) = (self.of(asker), SortKey::of(name));
        let mut lines = Vec::new();
        for Looked { number, text, is_grant, misfit } in permission.look(key.octets(), rtype) {
            let why = match misfit {
                Some(Misfit::Identity) => "is about other senders",
                Some(Misfit::Name) => "is about other names",
                Some(Misfit::Type) => "is about other types",
                None => "decides",
            };
            lines.push(format!("rule {number} {why}: {text}"));
            if misfit.is_none() {
                let word = if is_grant { "granted" } else { "denied" };
                lines.push(format!("{word}: {name} {} by rule {number}", rtype::Text(rtype)));
                return Explanation { is_granted: is_grant, lines };
            }
        }
        lines.push(format!("denied: {name} {} as no rule is about it", rtype::Text(rtype)));
        Explanation { is_granted: false, lines }
    }
}
