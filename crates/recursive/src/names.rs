//! Sets of names with all that is below them.

use std::collections::HashSet;
use wire::{Name, NameBuf};

/// Names; whatever is at or below one is in the set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// In lower case.
    names: HashSet<Box<[u8]>>,
    /// Labels of the shortest and the longest.
    labels: (usize, usize),
}

impl Names {
    /// The set of these and what is below them.
    pub fn new(names: &[NameBuf]) -> Names {
        let labels = |name: &NameBuf| name.label_count();
        Names {
            names: names.iter().map(|name| name.to_lowercase().octets().into()).collect(),
            labels: (
                names.iter().map(labels).min().unwrap_or(0),
                names.iter().map(labels).max().unwrap_or(0),
            ),
        }
    }

    /// Whether `name`, in lower case, is one of them itself.
    pub fn has_itself(&self, name: &Name) -> bool {
        !self.names.is_empty() && self.names.contains(name.octets())
    }

    /// Whether `name`, in lower case, is at or below one: a lookup for each of its labels.
    pub fn has(&self, name: &Name) -> bool {
        if self.names.is_empty() {
            return false;
        }
        let mut labels = name.label_count();
        let mut next = Some(name);
        while let Some(name) = next
            && labels >= self.labels.0
        {
            if labels <= self.labels.1 && self.names.contains(name.octets()) {
                return true;
            }
            (next, labels) = (name.parent(), labels.wrapping_sub(1));
        }
        false
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn at_or_below() {
        let name = |text: &str| NameBuf::from_text(text).unwrap();
        let names = Names::new(&[name("Corp"), name("a.b.example")]);
        for (text, expected) in [
            ("corp", true),
            ("www.corp", true),
            ("xcorp", false),
            ("b.example", false),
            ("a.b.example", true),
            ("x.y.a.b.example", true),
            (".", false),
        ] {
            assert_eq!(names.has(&name(text)), expected, "{text}");
        }
        assert!(names.has_itself(&name("a.b.example")) && !names.has_itself(&name("www.corp")));
        assert!(!Names::default().has(Name::root()));
        assert!(Names::new(&[NameBuf::root()]).has(&name("any")));
    }
}
