//! Which rule decides, and why those before it do not: in words, for operators.

use super::{Asker, Known, Misfit, Policy};
use std::fmt;
use wire::iana::rtype;
use wire::{Name, SortKey};

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

impl Policy {
    /// Says what becomes of a change of RRsets of type `rtype` at `name`, and by which rule.
    pub fn explain(&self, asker: &Asker<'_>, name: &Name, rtype: u16) -> Explanation {
        let known = Known::of(asker);
        let key = SortKey::of(name);
        let mut lines = Vec::new();
        for (rule, number) in self.rules.iter().zip(1..) {
            let why = match rule.misfit(&known, key.octets(), Some(rtype)) {
                Some(Misfit::Identity) => "is about other senders",
                Some(Misfit::Name) => "is about other names",
                Some(Misfit::Type) => "is about other types",
                None => "decides",
            };
            lines.push(format!("rule {number} {why}: {}", rule.text));
            if why == "decides" {
                let word = if rule.is_grant { "granted" } else { "denied" };
                lines.push(format!("{word}: {name} {} by rule {number}", rtype::Text(rtype)));
                return Explanation { is_granted: rule.is_grant, lines };
            }
        }
        lines.push(format!("denied: {name} {} as no rule is about it", rtype::Text(rtype)));
        Explanation { is_granted: false, lines }
    }
}
