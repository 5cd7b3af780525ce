//! What kept data depend on beside time: where trust begins and ends, and whom else than the servers of the DNS is asked. Where that changes, what was learned below the
//! names that it is about does not hold any more, and nothing else is touched: over a reload and over a restart.
//!
//! ```text
//! validation on | off          anchor ZONE ds|key HEX          forward ZONE all that is set of it          negative ZONE, in files alone
//!                              insecure NAME                   stub ZONE the same
//! ```

use std::collections::BTreeSet;
use std::fmt::Write;

use cache::Flush;
use validate::Anchors;
use wire::NameBuf;

use crate::settings::Settings;
use crate::settings::resolver::names;

/// Names below which something is forgotten, one by one. More, and all is: each costs a walk through the cache, up to a second a GiB, and only so many flushes are known apart.
const NAMES_MAX: usize = 32;

/// See the module: lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Premises(BTreeSet<String>);

impl Premises {
    /// Of settings. `anchors`: what they begin with.
    pub(super) fn of(settings: &Settings, anchors: &Anchors) -> Premises {
        let resolver = &settings.resolver;
        let validation = match (resolver.validate, resolver.verify_sha1) {
            (false, _) => "validation off",
            (true, false) => "validation on",
            (true, true) => "validation on, of SHA-1 too",
        };
        let mut lines = BTreeSet::from([validation.to_owned()]);
        for (zone, ds, keys) in anchors.zones() {
            lines.extend(ds.iter().map(|rdata| format!("anchor {zone} ds {}", hex(rdata))));
            lines.extend(keys.iter().map(|rdata| format!("anchor {zone} key {}", hex(rdata))));
        }
        lines.extend(names(&resolver.insecure).iter().map(|name| format!("insecure {name}")));
        for (_, forward) in &settings.forwards {
            let Some(name) = forward.name.as_ref().map(|name| name.to_lowercase()) else { continue };
            lines.insert(format!("forward {name} {forward:?}"));
        }
        for (_, stub) in &settings.stubs {
            let Some(name) = stub.name.as_ref().map(|name| name.to_lowercase()) else { continue };
            lines.insert(format!("stub {name} {stub:?}"));
        }
        Premises(lines)
    }

    /// Of a file: lines. What is none of ours differs from all that is.
    pub(super) fn read(text: &[u8]) -> Premises {
        Premises(String::from_utf8_lossy(text).lines().map(str::to_owned).collect())
    }

    /// As lines, with names that are not validated for a while, which are not settings.
    pub(super) fn text(&self, negatives: impl IntoIterator<Item = NameBuf>) -> String {
        let negatives = negatives.into_iter().map(|name| format!("negative {name}"));
        self.0.iter().cloned().chain(negatives).fold(String::new(), |text, line| text + &line + "\n")
    }

    /// What differs from `other`, in words.
    pub(super) fn words_since(&self, other: &Premises) -> String {
        let mut words: Vec<&str> = self.0.symmetric_difference(&other.0).map(|line| words_of(line)).collect();
        words.sort_unstable();
        words.dedup();
        words.join(", ")
    }

    /// What was learned under `other` and does not hold under these.
    pub(super) fn flushes_since(&self, other: &Premises) -> Vec<Flush> {
        let mut trees: Vec<NameBuf> = Vec::new();
        for line in self.0.symmetric_difference(&other.0) {
            let Some(name) = name_of(line).filter(|name| !name.is_root()) else { return vec![Flush::All] };
            if !trees.iter().any(|tree| name.is_at_or_below(tree)) {
                trees.retain(|tree| !tree.is_at_or_below(&name));
                trees.push(name);
            }
            if trees.len() > NAMES_MAX {
                return vec![Flush::All];
            }
        }
        trees.into_iter().map(Flush::Tree).collect()
    }
}

/// What lines that begin with a word are about, for operators.
fn words_of(line: &str) -> &'static str {
    match line.split(' ').next() {
        Some("validation") => "`validate` or `verify-sha1`",
        Some("anchor") => "trust anchors",
        Some("insecure") => "`insecure`",
        Some("forward") => "forwarded zones",
        Some("stub") => "stub zones",
        Some("negative") => "negative trust anchors",
        _ => "what it was learned by",
    }
}

/// The name that a line is about; `None`: all names.
fn name_of(line: &str) -> Option<NameBuf> {
    let mut words = line.split(' ');
    let is_of_name = matches!(words.next()?, "anchor" | "insecure" | "forward" | "stub" | "negative");
    NameBuf::from_text(words.next().filter(|_| is_of_name)?).ok()
}

fn hex(octets: &[u8]) -> String {
    octets.iter().fold(String::new(), |mut text, octet| {
        let _ = write!(text, "{octet:02x}");
        text
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn premises(lines: &[&str]) -> Premises {
        Premises::read(lines.join("\n").as_bytes())
    }

    #[test]
    fn what_differs_in_words() {
        let (old, new) = (["validation on", "stub a. 1"], ["validation off", "stub a. 2", "insecure b."]);
        let words = premises(&new).words_since(&premises(&old));
        assert_eq!(words, "`insecure`, `validate` or `verify-sha1`, stub zones");
        assert_eq!(premises(&old).words_since(&premises(&old)), "");
    }

    #[track_caller]
    fn check(old: &[&str], new: &[&str], expected: &[&str]) {
        let flushes = premises(new).flushes_since(&premises(old));
        let said: Vec<String> = flushes
            .iter()
            .map(|flush| match flush {
                Flush::All => "all".into(),
                Flush::Tree(name) | Flush::Name(name) => name.to_string(),
            })
            .collect();
        assert_eq!(said, expected, "{old:?} {new:?}");
    }

    #[test]
    fn what_changes_is_forgotten_and_nothing_else() {
        let both = ["validation on", "anchor . ds 4f66"];
        let with = |more: &[&'static str]| [&both[..], more].concat();
        check(&both, &both, &[]);
        check(&both, &with(&["forward corp.example. [10.0.0.1:53]"]), &["corp.example."]);
        check(&with(&["stub a.example. x", "insecure b."]), &both, &["b.", "a.example."]);
        check(&with(&["stub a. 1"]), &with(&["stub a. 2", "insecure b.a."]), &["a."]);
        check(&with(&["negative broken.org."]), &both, &["broken.org."]);
        check(&both, &["validation off", "anchor . ds 4f66"], &["all"]);
        check(&both, &["validation on, of SHA-1 too", "anchor . ds 4f66"], &["all"]);
        check(&both, &["validation on", "anchor . ds 4f67"], &["all"]);
        check(&both, &with(&["forward . [10.0.0.1:53]", "stub a. 1"]), &["all"]);
        check(&both, &with(&["what is this"]), &["all"]);
        check(&[""], &both, &["all"]);
        let many: Vec<String> = (0..40).map(|number| format!("insecure n{number}.")).collect();
        check(&both, &many.iter().map(String::as_str).chain(both).collect::<Vec<_>>(), &["all"]);
    }

    #[test]
    fn settings_as_lines() {
        let mut settings = Settings::default();
        settings.resolver.insecure = vec![String::from("A b.Example")].into();
        let premises = Premises::of(&settings, &Anchors::built_in());
        let negative = NameBuf::from_text("broken.org").unwrap();
        let text = premises.text([negative]);
        assert!(text.contains("insecure a\\032b.example.\n") || text.contains("validation on\n"), "{text}");
        assert_eq!(premises.flushes_since(&Premises::read(text.as_bytes())).len(), 1);
        let without = text.replace("negative broken.org.\n", "");
        assert_eq!(Premises::read(without.as_bytes()), premises);
    }
}
