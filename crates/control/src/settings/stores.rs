//! `[[store]]`: databases whose zones are served.

mod address;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use feed::address::Tls;
use feed::schema::PowerDns;
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

pub(crate) use address::{Listens, PostgresAddress};
use address::{StoreAddress, address_of};

/// Stores of a server: each is a process.
pub(crate) const STORES_MAX: usize = 4;

/// What is said of keys that a file has no use for.
const NETWORK_ALONE: &str = "expected with a database of PostgreSQL alone";
/// And of keys that our own tables have no use for.
const POWERDNS_ALONE: &str = "expected with `schema = \"powerdns\"` alone";

section! {
    /// A database whose zones are served: a store of `zonda store`, in a file of SQLite or in PostgreSQL, or tables of PowerDNS. A zone is of one owner: what the settings have, or a catalog lists, is not taken from a store. Needs `pack-directory`.
    pub struct StoreSettings in "store" {
        /// Its name, for the log and for `zonda ctl store`.
        name: String = String::new(), Range::Any, live;
        /// Where it is: `sqlite:` and the path of its file, which the server's user must be able to write, and its folder too (one of PowerDNS: read); or `postgres://USER@HOST/DATABASE`, with several hosts
        /// divided by commas, which are tried in this order, or the folder of a socket (`%2Frun%2Fpostgresql`).
        url: String = String::new(), Range::Any, live;
        /// Whose tables it has: `zonda`, those of `zonda store`, or `powerdns`, those of PowerDNS as they are, of which nothing is written.
        schema: String = "zonda".into(), Range::OneOf(&["zonda", "powerdns"]), live;
        /// Types that PowerDNS has and that are none of records (ALIAS, LUA): zones with such rows are refused (`refuse`), or served without these rows (`skip`). For PowerDNS's tables, as are the next two.
        unknown_types: String = "refuse".into(), Range::OneOf(&["refuse", "skip"]), live;
        /// TTL of rows that have none: `default-ttl` of PowerDNS.
        default_ttl_seconds: u32 = 3_600, Range::Number("seconds", 0, 2_147_483_647), live;
        /// Whether DNSKEY, CDS and CDNSKEY are taken from rows: `direct-dnskey` of PowerDNS.
        direct_dnskey: bool = false, Range::Any, live;
        /// File with the password, of one line, closed to others, which is read when its feeder is started and while the database is away. For PostgreSQL, as are the next four.
        password_file: PathBuf = PathBuf::new(), Range::Any, live;
        /// How the connection is kept from others, as `sslmode` of libpq has it: `disable`, `prefer`, `require`, `verify-ca` or `verify-full`. Left out: `verify-full`, and without `tls-authorities`
        /// `prefer` where all hosts are `localhost` or addresses of this machine. A socket has none.
        tls: String = String::new(), Range::Any, live;
        /// File of the authorities whose certificates are believed, in PEM. Empty: those that this system trusts.
        tls_authorities: PathBuf = PathBuf::new(), Range::Any, live;
        /// How often it is asked what is new while something comes; after ten quiet seconds it is less often. PowerDNS's tables are asked once a second.
        poll_ms: u32 = 5, Range::Number("milliseconds", 1, 60_000), live;
        /// How long a statement may take: what waits for a lock of others is given up then, and tried again.
        statement_timeout_seconds: Duration = Duration::from_secs(60), Range::Number("seconds", 1, 3_600), live;
        /// Which of its zones are served: `*.example.` are all below that name. Left out: all but the root and names of one label.
        zones: Names = Names::default(), Range::TextsOrNone("a domain name such as \"*.example.\""), live;
        /// The `[[template]]` with the rules of its zones: who may query and transfer them, who is told of changes. Left out: the rules of `[access]`.
        template: String = String::new(), Range::Any, live;
        /// Whether the HTTP API may change its zones, by the `update-policy` of its template: its changes are written into the database, and answered once they are served. Not for PowerDNS's tables.
        write: bool = false, Range::Any, live;
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
    pub(crate) place: StorePlace,
    /// How its tables are read, which are PowerDNS's; `None`: they are our own.
    pub(crate) powerdns: Option<PowerDns>,
    /// Which of its zones are served.
    pub(crate) zones: Allowed,
    /// The same as they are written, for its feeder.
    pub(crate) patterns: Vec<NameBuf>,
    /// Whether the API may change its zones.
    pub(crate) write: bool,
    pub(crate) remove_max: RemoveMax,
    /// Most zones of it.
    pub(crate) zones_max: usize,
    /// What its zones have.
    pub(crate) rules: Rules,
}

/// Where a store is, and what is needed to be let in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StorePlace {
    /// In this file, from the root.
    File(PathBuf),
    /// In a database of PostgreSQL.
    Postgres(PostgresTerms),
}

/// A database of PostgreSQL.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PostgresTerms {
    pub(crate) address: PostgresAddress,
    /// Empty: it wants none.
    pub(crate) password_file: PathBuf,
    /// `None`: as it is usual for where it is.
    pub(crate) tls: Option<Tls>,
    /// Empty: those of the system.
    pub(crate) authorities: PathBuf,
    pub(crate) poll: Duration,
    pub(crate) statement_timeout: Duration,
}

/// What is wrong with a section: its key, the item of a list, the text.
type Fault = (&'static str, Option<usize>, String);

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
        let place = self.place_of(store, &mut faults);
        let powerdns = powerdns_of(store, &mut faults);
        let patterns = store.zones.texts();
        if patterns.len() > MEMBERS_MAX {
            let text = format!("expected at most {MEMBERS_MAX} names, found {}", patterns.len());
            faults.push(("zones", None, text));
        }
        let (zones, wrong) = allowed(patterns, MEMBERS_MAX);
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
        let policy = template.is_some_and(|(_, template)| !template.zone.update_policy.is_empty());
        faults.extend(write_fault(store, policy).map(|text| ("write", None, text.to_owned())));
        match (name, place) {
            (Some(name), Some(place)) if faults.is_empty() => {
                let rules = template.map_or_else(Rules::default, |(_, template)| template.zone.rules());
                // What was served is served at the next start, with or without the database.
                let rules = Rules { incoming: Some(name), persist: Some(true), ..rules };
                let patterns = patterns.iter().filter_map(|text| NameBuf::from_text(text).ok()).collect();
                let zones_max = store.zones_max as usize;
                let (url, write) = (store.url.clone(), store.write);
                Ok(StoreTerms {
                    name,
                    url,
                    place,
                    powerdns,
                    zones,
                    patterns,
                    write,
                    remove_max,
                    zones_max,
                    rules,
                })
            }
            _ => Err(faults),
        }
    }

    /// Where a store is; `None`: what is wrong with that was added to `faults`.
    fn place_of(&self, store: &StoreSettings, faults: &mut Vec<Fault>) -> Option<StorePlace> {
        let fault = |key, text: &str| (key, None, text.to_owned());
        let tls = (!store.tls.is_empty()).then(|| Tls::of_word(&store.tls));
        if tls == Some(None) {
            let words: Vec<&str> = Tls::ALL.iter().map(|(word, _)| *word).collect();
            faults.push((
                "tls",
                None,
                format!("expected one of {}, found {:?}", words.join(", "), store.tls),
            ));
        }
        let tls = tls.flatten();
        let has_authorities = !store.tls_authorities.as_os_str().is_empty();
        if has_authorities && tls.is_some_and(|tls| !tls.verifies()) {
            faults.push(fault(
                "tls-authorities",
                "expected `tls` to be \"verify-ca\" or \"verify-full\" beside it",
            ));
        }
        match address_of(&store.url) {
            Ok(StoreAddress::File(path)) => {
                let usual = StoreSettings::default();
                let given = [
                    ("password-file", store.password_file != usual.password_file),
                    ("tls", store.tls != usual.tls),
                    ("tls-authorities", has_authorities),
                    ("poll-ms", store.poll_ms != usual.poll_ms),
                    (
                        "statement-timeout-seconds",
                        store.statement_timeout_seconds != usual.statement_timeout_seconds,
                    ),
                ];
                faults.extend(
                    given.into_iter().filter(|(_, is)| *is).map(|(key, _)| fault(key, NETWORK_ALONE)),
                );
                return Some(StorePlace::File(self.absolute(&path)));
            }
            Ok(StoreAddress::Postgres(address)) => {
                let absolute = |path: &PathBuf| {
                    if path.as_os_str().is_empty() { PathBuf::new() } else { self.absolute(path) }
                };
                return Some(StorePlace::Postgres(PostgresTerms {
                    address,
                    password_file: absolute(&store.password_file),
                    tls,
                    authorities: absolute(&store.tls_authorities),
                    poll: Duration::from_millis(store.poll_ms.into()),
                    statement_timeout: store.statement_timeout_seconds,
                }));
            }
            Err(text) => faults.push(("url", None, text)),
        }
        None
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        std::path::absolute(self.path(path)).unwrap_or_else(|_| self.path(path))
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
            let faults = self.compile_store(store).err().unwrap_or_default();
            // An address that is none may have a password.
            let is_url_none = faults.iter().any(|(key, ..)| *key == "url");
            for (key, item, text) in faults {
                wrong(key, item, text);
            }
            for (key, text, known) in [("name", &store.name, &mut names), ("url", &store.url, &mut urls)] {
                let may_say = key != "url" || !is_url_none;
                if may_say && !text.is_empty() && !known.insert(text.as_str()) {
                    wrong(key, None, format!("expected each once, found {text:?} twice"));
                }
            }
        }
    }
}

/// How tables of PowerDNS are read, if they are; what is wrong with that is added to `faults`.
fn powerdns_of(store: &StoreSettings, faults: &mut Vec<Fault>) -> Option<PowerDns> {
    let usual = StoreSettings::default();
    if store.schema != "powerdns" {
        let given = [
            ("unknown-types", store.unknown_types != usual.unknown_types),
            ("default-ttl-seconds", store.default_ttl_seconds != usual.default_ttl_seconds),
            ("direct-dnskey", store.direct_dnskey != usual.direct_dnskey),
        ];
        let given = given.into_iter().filter(|(_, is)| *is);
        faults.extend(given.map(|(key, _)| (key, None, POWERDNS_ALONE.to_owned())));
        return None;
    }
    if store.poll_ms != usual.poll_ms {
        let text = "expected without `schema = \"powerdns\"`: these tables are looked at once a second";
        faults.push(("poll-ms", None, text.into()));
    }
    Some(PowerDns {
        skips_unknown: store.unknown_types == "skip",
        default_ttl: store.default_ttl_seconds,
        direct_dnskey: store.direct_dnskey,
    })
}

/// What is wrong with letting the API write. `has_policy`: whether its template says who may.
fn write_fault(store: &StoreSettings, has_policy: bool) -> Option<&'static str> {
    match store.write {
        true if store.schema == "powerdns" => {
            Some("expected without `schema = \"powerdns\"`: nothing is written into these tables")
        }
        true if !has_policy => {
            Some("expected a `template` with `update-policy` beside it: who may change its zones")
        }
        _ => None,
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
mod tests;
