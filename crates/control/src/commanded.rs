//! Zones that commands added or removed: how the server differs from its settings, until the next start.
//!
//! ```text
//! add-zone X       X is served, until the settings have it at a reload: then as they say
//! remove-zone X    X is not served, also if the settings have it; forgotten at a reload if they do not
//! remove, then add the same as add
//! ```

use std::collections::{HashMap, HashSet};

use wire::{Name, NameBuf};

use crate::command::ByCommand;
use crate::text::count;
use crate::wanted::{Wanted, WantedZones};

/// What commands changed.
#[derive(Clone, Default)]
pub(crate) struct Commanded {
    added: Vec<Wanted>,
    /// Names in lower case. The settings have these zones, and they come from `added` instead or are not served.
    removed: HashSet<NameBuf>,
}

impl Commanded {
    /// What commands changed in another server.
    pub(crate) fn of(added: Vec<Wanted>, removed: Vec<NameBuf>) -> Commanded {
        let removed = removed.iter().map(|name| name.to_lowercase()).collect();
        Commanded { added, removed }
    }

    /// Zones that were added.
    pub(crate) fn added(&self) -> &[Wanted] {
        &self.added
    }

    /// Names of zones of the settings that were removed, in lower case.
    pub(crate) fn removed(&self) -> impl Iterator<Item = &Name> {
        self.removed.iter().map(|name| &**name)
    }

    /// Notes that a zone was added.
    pub(crate) fn add(&mut self, zone: Wanted) {
        self.added.push(zone);
    }

    /// Notes that a zone was removed, of the settings or one that was added.
    pub(crate) fn remove(&mut self, name: &Name) {
        let before = self.added.len();
        self.added.retain(|added| !added.name.eq_ignore_case(name));
        if self.added.len() == before {
            self.removed.insert(name.to_lowercase());
        }
    }

    /// Puts `wanted`, the zones of the settings, as commanded, and forgets the commands that the settings made needless. Returns
    /// lines for the operator: what is not as the settings say, and what is so again.
    pub(crate) fn apply(&mut self, wanted: &mut WantedZones) -> Vec<String> {
        let mut lines = Vec::new();
        if self.added.is_empty() && self.removed.is_empty() {
            return lines;
        }
        let mut added: HashMap<NameBuf, Wanted> =
            self.added.drain(..).map(|zone| (zone.name.to_lowercase(), zone)).collect();
        let removed = std::mem::take(&mut self.removed);
        // Of two that the settings have the first: there are no others.
        for (name, id) in wanted.iter() {
            let lower = name.to_lowercase();
            if let Some(zone) = added.remove(&lower) {
                let source = wanted.sources.get(id, name);
                if let Some(source) = source.filter(|source| *source != zone.source) {
                    let other = zone.source;
                    lines.push(format!(
                        "zone {name}: from {source}, as the settings say; by command it was from {other}"
                    ));
                }
            } else if removed.contains(&lower) {
                self.removed.insert(lower);
            }
        }
        if !self.removed.is_empty() {
            wanted.retain(|name| !self.removed.contains(&name.to_lowercase()));
            lines.push(format!(
                "{} of the settings removed by command until the next start; `zonda ctl zones` shows which",
                count(self.removed.len(), "zone")
            ));
        }
        self.added = added.into_values().collect();
        self.added.iter().for_each(|zone| wanted.add(zone));
        lines
    }

    /// The zones that are not as the settings say, by their names in lower case.
    pub(crate) fn zones(&self) -> HashMap<NameBuf, ByCommand> {
        let removed = self.removed.iter().map(|name| (name.clone(), ByCommand::Removed));
        let added = self.added.iter().map(|zone| (zone.name.to_lowercase(), ByCommand::Added));
        removed.chain(added).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::wanted::Source;

    fn zone(name: &str, file: &str) -> Wanted {
        Wanted { name: name.parse().unwrap(), source: Source::File(file.into()), listing: None }
    }

    /// The zones of settings, and what becomes of them.
    fn after(commanded: &mut Commanded, settings: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let mut wanted = WantedZones::default();
        settings.iter().for_each(|(name, file)| wanted.add(&zone(name, file)));
        let lines = commanded.apply(&mut wanted);
        let text = |(name, id): (&Name, _)| format!("{name} {}", wanted.sources.get(id, name).unwrap());
        let mut zones: Vec<String> = wanted.iter().map(text).collect();
        zones.sort();
        (zones, lines)
    }

    #[test]
    fn what_wins() {
        let mut commanded = Commanded::default();
        commanded.remove(&"A.example".parse::<NameBuf>().unwrap());
        commanded.add(zone("b.example", "b"));
        let (zones, lines) = after(&mut commanded, &[("a.example", "a"), ("c.example", "c")]);
        assert_eq!(zones, ["b.example. b", "c.example. c"]);
        assert_eq!(
            lines,
            ["1 zone of the settings removed by command until the next start; `zonda ctl zones` shows which"]
        );
        let known = |commanded: &Commanded| {
            let mut known: Vec<_> =
                commanded.zones().into_iter().map(|(name, by)| (name.to_string(), by)).collect();
            known.sort_by(|a, b| a.0.cmp(&b.0));
            known
        };
        assert_eq!(
            known(&commanded),
            [("a.example.".into(), ByCommand::Removed), ("b.example.".into(), ByCommand::Added)]
        );
        // Another file in the place of that of the settings, until these are read again.
        commanded.add(zone("a.example", "other"));
        assert_eq!(known(&commanded)[0], ("a.example.".into(), ByCommand::Added));
        let (zones, lines) = after(&mut commanded, &[("a.example", "a"), ("B.example", "b")]);
        assert_eq!(zones, ["B.example. b", "a.example. a"]);
        assert_eq!(lines, ["zone a.example.: from a, as the settings say; by command it was from other"]);
        assert_eq!(known(&commanded), []);
    }

    #[test]
    fn what_settings_do_not_have_is_forgotten() {
        let mut commanded = Commanded::default();
        let name: NameBuf = "a.example".parse().unwrap();
        commanded.remove(&name);
        assert_eq!(after(&mut commanded, &[]), (vec![], vec![]));
        assert_eq!(after(&mut commanded, &[("a.example", "a")]).0, ["a.example. a"]);
        // Removed, replaced, and that removed: it is still one of the settings.
        commanded.remove(&name);
        commanded.add(zone("a.example", "other"));
        commanded.remove(&name);
        assert_eq!(after(&mut commanded, &[("a.example", "a")]).0, Vec::<String>::new());
    }
}
