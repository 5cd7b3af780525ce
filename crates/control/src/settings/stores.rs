//! `[[store]]`: databases whose zones are served.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use toml::de::DeTable;
use transfer::catalog_zone::{Allowed, RemoveMax};
use wire::NameBuf;

use super::Settings;
use super::access::Place;
use super::catalogs::{MEMBERS_MAX, REMOVE_MAX, allowed, remove_max};
use super::declare::section;
use super::problem::Report;
use super::value::{Names, Range};
use super::zones::TemplateSettings;
use crate::sources::Rules;
use crate::stores::StoreName;

/// Stores of a server: each is a process.
pub(crate) const STORES_MAX: usize = 4;

/// What the address of a store begins with.
const SQLITE: &str = "sqlite:";

section! {
    /// A database whose zones are served: a file of `zonda store`. A zone is of one owner: what the settings have, or a catalog lists, is not taken from a store. Needs `pack-directory`.
    pub struct StoreSettings in "store" {
        /// Its name, for the log and for `zonda ctl store`.
        name: String = String::new(), Range::Any, live;
        /// Where it is: `sqlite:` and the path of its file, which the server's user must be able to write, and its folder too.
        url: String = String::new(), Range::Any, live;
        /// Which of its zones are served: `*.example.` are all below that name. Left out: all but the root and names of one label.
        zones: Names = Names::default(), Range::TextsOrNone("a domain name such as \"*.example.\""), live;
        /// The `[[template]]` with the rules of its zones: who may query and transfer them, who is told of changes. Left out: the rules of `[access]`.
        template: String = String::new(), Range::Any, live;
        /// How many zones may go in an hour, or become older than they were: a percentage of its zones (ten at least, but not all of them), a number, or `any`. More wait
        /// until they are confirmed with `zonda ctl store confirm`.
        remove_max: String = "10%".into(), Range::Any, live;
        /// How many zones it may have at most; more are not served, and it is said which. The default is what its feeder has memory for: who has fewer sets less, so that a
        /// feeder that was taken over cannot fill the server with zones that nobody has.
        zones_max: u32 = 1_000_000, Range::Number("zones", 1, 10_000_000), live;
    }
}

/// A store of settings without faults.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoreTerms {
    pub(crate) name: StoreName,
    /// As the settings have it.
    pub(crate) url: String,
    /// The file, from the root.
    pub(crate) path: PathBuf,
    /// Which of its zones are served.
    pub(crate) zones: Allowed,
    /// The same as they are written, for its feeder.
    pub(crate) patterns: Vec<NameBuf>,
    pub(crate) remove_max: RemoveMax,
    /// Most zones of it.
    pub(crate) zones_max: usize,
    /// What its zones have.
    pub(crate) rules: Rules,
}

/// What is wrong with a section: its key, the item of a list, the text.
type Fault = (&'static str, Option<usize>, String);

/// The file of an address.
fn path_of(url: &str) -> Result<&Path, String> {
    match (url.strip_prefix(SQLITE), url.split_once(':')) {
        (Some(path), _) if !path.is_empty() => Ok(Path::new(path)),
        (_, Some(("postgres" | "postgresql", _))) => {
            Err("expected \"sqlite:PATH\": PostgreSQL is not supported by this version".into())
        }
        _ => Err(format!("expected \"sqlite:PATH\", found {url:?}")),
    }
}

impl Settings {
    /// The stores of settings without faults.
    pub(crate) fn stores(&self) -> Vec<StoreTerms> {
        self.stores.iter().filter_map(|(_, store)| self.compile_store(store).ok()).collect()
    }

    fn compile_store(&self, store: &StoreSettings) -> Result<StoreTerms, Vec<Fault>> {
        let mut faults: Vec<Fault> = Vec::new();
        let name = StoreName::new(&store.name);
        if name.is_none() {
            let text = format!("expected {}, found {:?}", StoreName::EXPECTED, store.name);
            faults.push(("name", None, text));
        }
        let path = path_of(&store.url).map_err(|text| faults.push(("url", None, text)));
        let patterns = store.zones.texts();
        if patterns.len() > MEMBERS_MAX {
            let text = format!("expected at most {MEMBERS_MAX} names, found {}", patterns.len());
            faults.push(("zones", None, text));
        }
        let (zones, wrong) = allowed(patterns);
        faults.extend(wrong.into_iter().map(|(at, text)| ("zones", Some(at), text)));
        let remove_max = remove_max(&store.remove_max).unwrap_or_else(|| {
            faults.push(("remove-max", None, format!("expected {REMOVE_MAX}, found {:?}", store.remove_max)));
            RemoveMax::default()
        });
        let template = match store.template.as_str() {
            "" => None,
            name => {
                let found = self.templates.iter().find(|(_, template)| template.own.name == name);
                let wrong =
                    found.map_or(Some("expected the name of a [[template]]"), |(_, found)| fault_of(found));
                faults.extend(wrong.map(|text| ("template", None, format!("{text}, found {name:?}"))));
                found
            }
        };
        match (name, path) {
            (Some(name), Ok(path)) if faults.is_empty() => {
                let rules = template.map_or_else(Rules::default, |(_, template)| template.zone.rules());
                let path = std::path::absolute(self.path(path)).unwrap_or_else(|_| self.path(path));
                // What was served is served at the next start, with or without the database.
                let rules = Rules { incoming: Some(name), persist: Some(true), ..rules };
                let patterns = patterns.iter().filter_map(|text| NameBuf::from_text(text).ok()).collect();
                let zones_max = store.zones_max as usize;
                let url = store.url.clone();
                Ok(StoreTerms { name, url, path, zones, patterns, remove_max, zones_max, rules })
            }
            _ => Err(faults),
        }
    }

    /// Reports what is wrong with stores. `table`: of the whole file, for the places.
    pub(super) fn check_stores(&self, table: &DeTable<'_>, report: &mut Report<'_>) {
        let (mut names, mut urls) = (HashSet::new(), HashSet::new());
        for (at, (_, store)) in self.stores.iter().enumerate() {
            let place = Place { table, section: "store", at: Some(at) };
            let mut wrong = |key, item, text| place.report(report, key, item, text);
            if at == STORES_MAX {
                wrong(
                    "name",
                    None,
                    format!("expected at most {STORES_MAX} stores, found {}", self.stores.len()),
                );
            }
            if at == 0 && self.server.pack_directory.as_os_str().is_empty() {
                let text = "expected `pack-directory` in [server] too, found none: what comes from a store is kept there";
                wrong("name", None, text.into());
            }
            for (key, item, text) in self.compile_store(store).err().unwrap_or_default() {
                wrong(key, item, text);
            }
            for (key, text, known) in [("name", &store.name, &mut names), ("url", &store.url, &mut urls)] {
                if !text.is_empty() && !known.insert(text.as_str()) {
                    wrong(key, None, format!("expected each once, found {text:?} twice"));
                }
            }
        }
    }
}

/// What is wrong with a template as that of a store's zones.
fn fault_of(template: &TemplateSettings) -> Option<&'static str> {
    let zone = &template.zone;
    match () {
        () if !zone.primaries.is_empty() => {
            Some("expected one without `primaries`, as its zones come from the store")
        }
        () if zone.forward_updates => {
            Some("expected one without `forward-updates`: zones of a store have no primary")
        }
        () if zone.mirror => Some("expected one without `mirror`: zones of a store are no copies of others"),
        () => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Settings of a file in `/f`, or their problems.
    fn read(text: &str) -> Result<Settings, Vec<String>> {
        let text = format!("[server]\npack-directory = \"packs\"\n{text}");
        let read = Settings::parse(Path::new("/f/zonda.toml"), &text);
        read.map_err(|problems| problems.iter().map(ToString::to_string).collect())
    }

    #[track_caller]
    fn check_refused(text: &str, expected: &str) {
        let problems = read(text).unwrap_err();
        assert!(problems.iter().any(|problem| problem.contains(expected)), "{expected:?} in {problems:?}");
    }

    #[test]
    fn a_store() {
        let settings = read(
            "[[store]]\nname = \"customers\"\nurl = \"sqlite:zones.db\"\nzones = [\"*.customers.example.\"]\n\
             template = \"hosted\"\nremove-max = \"5\"\n[[template]]\nname = \"hosted\"\nallow-transfer = \"all\"\n",
        );
        let stores = settings.unwrap().stores();
        let [store] = &stores[..] else { panic!("{stores:?}") };
        assert_eq!((store.name.as_str(), store.path.to_str()), ("customers", Some("/f/zones.db")));
        assert_eq!((store.remove_max, store.zones_max), (RemoveMax::Members(5), 1_000_000));
        let allows = |zone: &str| store.zones.allows(&zone.parse::<NameBuf>().unwrap());
        assert!(allows("a.customers.example") && !allows("customers.example") && !allows("other.example"));
        assert_eq!((store.rules.incoming, store.rules.persist), (Some(store.name), Some(true)));
        assert!(!store.rules.lists.is_empty());
    }

    #[test]
    fn what_is_wrong_with_one() {
        let store = |more: &str| format!("[[store]]\nname = \"a\"\nurl = \"sqlite:x\"\n{more}");
        check_refused("[[store]]\nurl = \"sqlite:x\"\n", "name: expected 1 to 32 letters");
        check_refused("[[store]]\nname = \"a\"\n", "url: expected \"sqlite:PATH\", found \"\"");
        check_refused("[[store]]\nname = \"a\"\nurl = \"zones.db\"\n", "found \"zones.db\"");
        check_refused(
            "[[store]]\nname = \"a\"\nurl = \"postgres://10.0.0.5/dns\"\n",
            "PostgreSQL is not supported by this version",
        );
        check_refused(&store("zones = [\"a..b\"]\n"), "zones: expected a domain name, found \"a..b\"");
        check_refused(&store("remove-max = \"some\"\n"), "remove-max: expected a percentage");
        check_refused(
            &store("template = \"none\"\n"),
            "template: expected the name of a [[template]], found \"none\"",
        );
        let mirror = "template = \"t\"\n[[template]]\nname = \"t\"\nmirror = true\n";
        check_refused(&store(mirror), "expected one without `mirror`");
        check_refused(&(store("") + &store("")), "name: expected each once, found \"a\" twice");
        check_refused(&store("write = true\n"), "unknown key \"write\" in [store]");
        let bare = Settings::parse(Path::new("f"), &store("")).unwrap_err();
        assert!(bare[0].to_string().contains("expected `pack-directory` in [server] too"), "{bare:?}");
    }
}
